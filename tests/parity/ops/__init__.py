"""Operators: values, derivatives, dtypes, errors."""
