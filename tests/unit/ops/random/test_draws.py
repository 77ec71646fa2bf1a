"""Random tensors: sizes, dtypes, generators and errors are PyTorch's; the draws are tested in backends/."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import random

FACTORIES = {
    "rand": lambda m: m.rand(2, 3),
    "rand of a tuple": lambda m: m.rand((2, 3)),
    "rand of a list": lambda m: m.rand([4]),
    "rand of a size": lambda m: m.rand(m.Size([4])),
    "rand double": lambda m: m.rand(3, dtype=m.float64),
    "rand leaf": lambda m: m.rand(3, requires_grad=True),
    "rand nothing": lambda m: m.rand(0, 3),
    "randn": lambda m: m.randn(20),
    "randn small": lambda m: m.randn(2, 2),
    "randn half": lambda m: m.randn(20, dtype=m.float16),
    "randint": lambda m: m.randint(10, (5,)),
    "randint from": lambda m: m.randint(-3, 4, (2, 2)),
    "randint named": lambda m: m.randint(low=2, high=5, size=(3,)),
    "randint float": lambda m: m.randint(5, (2,), dtype=m.float32),
    "randperm": lambda m: m.randperm(7),
    "randperm int32": lambda m: m.randperm(7, dtype=m.int32),
    "rand_like": lambda m: m.rand_like(m.ones(2, 2, dtype=m.float64)),
    "randn_like": lambda m: m.randn_like(m.ones(3), requires_grad=True),
    "randint_like": lambda m: m.randint_like(m.ones(3), 5),
    "own generator": lambda m: m.rand(3, generator=m.Generator().manual_seed(42)),
    "fresh generator": lambda m: m.randn(3, generator=m.Generator()),
    "two calls": lambda m: m.randn(3) + m.randn(2, 3),
    "seed": lambda m: m.initial_seed(),
    "negative seed": lambda m: (m.manual_seed(-1).initial_seed(), m.rand(1)),
    "float seed": lambda m: (m.manual_seed(7.9).initial_seed(), m.rand(1)),
    "state": lambda m: m.get_rng_state()[:64],
}


@pytest.mark.torch
@pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
def test_same_seed_same_tensors(torch, make):
    minigrad.manual_seed(3)
    torch.manual_seed(3)
    assert repr(make(minigrad)) == repr(make(torch))


@given(seed=st.integers(0, 2**32), n=st.integers(0, 40))
def test_a_state_that_was_kept_brings_the_numbers_back(seed, n):
    minigrad.manual_seed(seed)
    minigrad.randn(n)
    state = minigrad.get_rng_state()
    first = [minigrad.randn(3), minigrad.rand(3)]
    minigrad.set_rng_state(state)
    again = [minigrad.randn(3), minigrad.rand(3)]
    assert all(minigrad.equal(a, b) for a, b in zip(first, again, strict=True))


def test_a_generator_of_ones_own_leaves_the_default_one_alone():
    minigrad.manual_seed(0)
    expected = minigrad.rand(3)
    minigrad.manual_seed(0)
    minigrad.rand(100, generator=minigrad.Generator())
    assert minigrad.equal(minigrad.rand(3), expected)


def test_the_state_is_a_copy():
    generator = minigrad.Generator().manual_seed(1)
    state = generator.get_state()
    minigrad.rand(1000, generator=generator)
    other = minigrad.Generator()
    other.set_state(state)
    assert minigrad.equal(minigrad.rand(5, generator=other),
                          minigrad.rand(5, generator=minigrad.Generator().manual_seed(1)))


def test_seed_gives_the_seed_that_it_set():
    chosen = minigrad.seed()
    assert minigrad.initial_seed() == chosen == random.default_generator.initial_seed()
    drawn = minigrad.rand(2)
    minigrad.manual_seed(chosen)
    np.testing.assert_array_equal(minigrad.rand(2).numpy(), drawn.numpy())


ERRORS = {
    "a word": lambda m: m.rand("a"),
    "a float": lambda m: m.rand(2.0),
    "negative size": lambda m: m.randn(2, -1),
    "integers": lambda m: m.rand(2, dtype=m.int64),
    "normal integers": lambda m: m.randn(2, dtype=m.int64),
    "like integers": lambda m: m.rand_like(m.ones(2, dtype=m.int64)),
    "empty range": lambda m: m.randint(5, 5, (2,)),
    "no size": lambda m: m.randint(5),
    "integers with grad": lambda m: m.randint(5, (2,), requires_grad=True),
    "order with grad": lambda m: m.randperm(3, requires_grad=True),
    "a word for a seed": lambda m: m.manual_seed("a"),
    "a word for a generator's seed": lambda m: m.Generator().manual_seed("a"),
    "a long seed": lambda m: m.manual_seed(2**65),
    "state of floats": lambda m: m.set_rng_state(m.zeros(3)),
    "short state": lambda m: m.set_rng_state(m.zeros(3, dtype=m.uint8)),
    "no state": lambda m: m.Generator().set_state(m.zeros(5056, dtype=m.uint8)),
    "no cuda": lambda m: m.rand(2, device="cuda"),
}


@pytest.mark.torch
@pytest.mark.parametrize("call", ERRORS.values(), ids=ERRORS)
def test_bad_arguments_raise_what_pytorch_raises(torch, call):
    if torch.cuda.is_available():
        pytest.skip("this PyTorch can use cuda")
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises(theirs.type) as ours:
        call(minigrad)
    assert first_sentence(ours) == first_sentence(theirs)


def first_sentence(caught):
    """The text up to the first line that lists signatures or explains."""
    return str(caught.value).split("\n")[0].removesuffix(", but expected one of:")


def test_a_block_goes_back_where_a_lock_could_not_be_made(monkeypatch):
    """CPython says so with a RuntimeError, where memory is lacking."""
    real, failed = np.random.MT19937, []

    def lacking(seed):
        if not failed:
            failed.append(seed)
            raise RuntimeError("can't allocate lock")
        return real(seed)

    before = minigrad.get_rng_state()
    with pytest.raises(MemoryError, match="can't allocate lock"), random.fork_rng():
        minigrad.rand(3)
        monkeypatch.setattr(np.random, "MT19937", lacking)
    assert failed
    assert minigrad.equal(minigrad.get_rng_state(), before)
