"""Where the site is, to which links in what is shown lead."""

__all__ = ["SITE"]

SITE = "https://minigrad-kit.github.io/minigrad"
