"""The libraries of this group have warnings of their own; those of this project stay errors."""

from __future__ import annotations

import pytest

from tests.groups import has_browser, installed

if has_browser() and installed("jupyterlab"):
    from tests.browser.fixtures import browser, opened, page

    __all__ = ["browser", "opened", "page"]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let other libraries warn."""
    item.add_marker(pytest.mark.filterwarnings("ignore"))
    item.add_marker(pytest.mark.filterwarnings("error:::minigrad"))
