"""The fixtures of the browser tests, where there is a browser; elsewhere each file of tests says so and skips."""

from __future__ import annotations

import pytest

from tests.groups import has_browser, installed

LONGEST = ("test_lessons.py", "test_site.py")  # a process that begins with one of them does not end with it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


if has_browser() and installed("jupyterlab"):
    from tests.browser.fixtures import (
        arranged,
        axe,
        book,
        browser,
        lessons,
        opened,
        page,
        pages,
        read_book,
        seen,
        server,
        tab,
    )

    __all__ = ["arranged", "axe", "book", "browser", "lessons", "opened", "page", "pages", "read_book", "seen",
               "server", "tab"]
