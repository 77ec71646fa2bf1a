"""Views, and ops that rearrange elements without changing them."""
