"""How a step becomes statements: it runs once on arrays that note what is done with them."""
