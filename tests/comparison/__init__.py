"""Makes docs/comparison.md: the same six models in other tools and in the inspector, `python -m tests.comparison`."""
