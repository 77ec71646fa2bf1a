"""A name that minigrad does not have: Python's sentence first, then what to do."""

from __future__ import annotations

import pytest

import minigrad

MISSING = {
    "module 'minigrad' has no attribute 'stft'": lambda: minigrad.stft,
    "module 'minigrad.nn' has no attribute 'Nothing'": lambda: minigrad.nn.Nothing,
    "module 'minigrad.nn.functional' has no attribute 'nothing'": lambda: minigrad.nn.functional.nothing,
    "module 'minigrad.nn.utils' has no attribute 'nothing'": lambda: minigrad.nn.utils.nothing,
    "module 'minigrad.optim' has no attribute 'SparseAdam'": lambda: minigrad.optim.SparseAdam,
    "module 'minigrad.linalg' has no attribute 'eig'": lambda: minigrad.linalg.eig,
    "module 'minigrad.autograd' has no attribute 'forward_mode'": lambda: minigrad.autograd.forward_mode,
    "module 'minigrad.utils' has no attribute 'tensorboard'": lambda: minigrad.utils.tensorboard,
    "'Tensor' object has no attribute 'to_sparse'": lambda: minigrad.ones(2).to_sparse(),
    "'Parameter' object has no attribute 'nothing'": lambda: minigrad.nn.Parameter(minigrad.ones(2)).nothing,
}


@pytest.mark.parametrize("sentence", MISSING)
def test_the_error_says_what_to_do(sentence):
    with pytest.raises(AttributeError) as raised:
        MISSING[sentence]()
    advice = "If PyTorch has it, minigrad does not: docs/coverage.md says why. "
    assert str(raised.value).startswith(f"{sentence}\n\n{advice}")


def test_what_is_missing_for_a_reason_names_it():
    with pytest.raises(AttributeError, match="has no attribute 'complex64'\n\nminigrad has no complex numbers"):
        minigrad.complex64  # noqa: B018 (reading it raises)
    assert not hasattr(minigrad.ones(2), "nothing")
    assert getattr(minigrad, "nothing", 3) == 3
