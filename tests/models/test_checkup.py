"""The doctor finds nothing in healthy loops of public models, and leaves everything as it was."""

from __future__ import annotations

import pytest

from tests.groups import has_models, require

require("models", has_models(), "the extra `models` is not installed, or PyTorch is missing")

from minigrad_widgets import checkup
from tests.models.observed import state_of
from tests.models.zoo import ZOO, loop_of


@pytest.mark.parametrize("name", ZOO)
def test_a_checkup(name: str) -> None:
    with loop_of(name) as loop:
        loop.step()
        before = state_of(loop)
        report = checkup(loop.step, model=list(loop.models.values()), optimizer=loop.optimizers or None)
        after = state_of(loop)
        assert report.findings == []
        assert report.trace.notes == []
        assert {key: after[key] for key in before if after[key] != before[key]} == {}
        assert after.keys() == before.keys()
