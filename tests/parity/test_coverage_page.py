"""The page of coverage is what its command makes, and minigrad has most of what it does not leave out."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of names that PyTorch looks up
def test_the_page_is_what_the_command_makes(torch):
    from tests.parity.coverage_page import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.parity.coverage_page"


@pytest.mark.parametrize("name", ["Tensor", "autograd", "nn", "nn.functional", "nn.init", "nn.utils",
                                  "optim.lr_scheduler", "utils.checkpoint", "utils.data"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # as above
def test_nine_names_of_ten_are_present(torch, name):
    from tests.parity.coverage_page import coverage

    found = coverage(name)
    assert found.present >= 0.9 * (found.present + len(found.later)), found.later
