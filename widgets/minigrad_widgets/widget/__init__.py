"""What all widgets have in common, in a notebook and on a page of their own."""
