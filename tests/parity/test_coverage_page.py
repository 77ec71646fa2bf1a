"""The page of coverage is what its command makes, and minigrad has most of what it does not leave out."""

from __future__ import annotations

import importlib

import pytest

# PyTorch warns of some of the names that are looked up.
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")]


@pytest.fixture
def maker(torch):
    """The module that makes the page, which imports PyTorch."""
    return importlib.import_module("tests.parity.coverage_page")


def test_the_page_is_what_the_command_makes(maker):
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), "run python -m tests.parity.coverage_page"


@pytest.mark.parametrize("name", ["Tensor", "autograd", "nn", "nn.functional", "nn.init", "nn.utils",
                                  "optim.lr_scheduler", "utils.checkpoint", "utils.data"])
def test_nine_names_of_ten_are_present(maker, name):
    found = maker.coverage(name)
    assert found.present >= 0.9 * (found.present + len(found.later)), found.later
