"""Views, and ops that put elements elsewhere without changing them."""
