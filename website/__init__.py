"""The site: the pages of docs/, the lessons with live inspectors, the API. `python -m website` builds it."""
