"""Random numbers: the same seed gives PyTorch's numbers, whatever was drawn before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minigrad.backends.draws import Stream, bernoulli, normal, randint, randperm, uniform

SIZES = st.sampled_from([0, 1, 2, 3, 7, 15, 16, 17, 20, 31, 32, 33, 100, 700])
DTYPES = st.sampled_from(["float32", "float64", "float16"])
SEEDS = st.one_of(st.integers(0, 100), st.integers(-(2**63), 2**64 - 1))
RANGES = st.sampled_from([(0, 10), (-5, 70), (0, 2**28 - 1), (0, 2**28), (-5, 2**40), (0, 2**62)])


# Each draws the same with PyTorch and here: (PyTorch's, ours).
DRAWS = {
    "rand": (lambda torch, g, n, d, r: torch.rand(n, dtype=d, generator=g),
             lambda s, n, d, r: uniform(s, (n,), d)),
    "uniform": (lambda torch, g, n, d, r: torch.empty(n, dtype=d).uniform_(-3, 7.5, generator=g),
                lambda s, n, d, r: uniform(s, (n,), d, -3, 7.5)),
    "randn": (lambda torch, g, n, d, r: torch.randn(n, dtype=d, generator=g),
              lambda s, n, d, r: normal(s, (n,), d)),
    "normal": (lambda torch, g, n, d, r: torch.empty(n, dtype=d).normal_(2, 0.5, generator=g),
               lambda s, n, d, r: normal(s, (n,), d, 2, 0.5)),
    "randint": (lambda torch, g, n, d, r: torch.randint(*r, (n,), generator=g),
                lambda s, n, d, r: randint(s, *r, (n,))),
    "randperm": (lambda torch, g, n, d, r: torch.randperm(n, generator=g),
                 lambda s, n, d, r: randperm(s, n)),
    "bernoulli": (lambda torch, g, n, d, r: torch.bernoulli(torch.linspace(0, 1, n, dtype=d), generator=g),
                  lambda s, n, d, r: bernoulli(s, np.linspace(0, 1, n, dtype=d), (n,), d)),
}
CALLS = st.lists(st.tuples(st.sampled_from(sorted(DRAWS)), SIZES, DTYPES, RANGES), min_size=1, max_size=8)


@pytest.mark.torch
@given(seed=SEEDS, calls=CALLS)
def test_any_sequence_of_draws_is_pytorchs(torch, seed, calls):
    generator, stream = torch.Generator().manual_seed(seed), Stream()
    stream.manual_seed(seed)
    for name, n, dtype, span in calls:
        theirs_of, ours_of = DRAWS[name]
        theirs = theirs_of(torch, generator, n, getattr(torch, dtype), span).numpy()
        ours = ours_of(stream, n, dtype, span)
        assert ours.dtype == theirs.dtype
        tolerance = 2e-3 if dtype == "float16" else 1e-6
        with np.errstate(under="ignore"):  # of NumPy's own comparison
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=f"{name} of {n} {dtype}")
        assert stream.state_bytes() == generator.get_state().numpy().tobytes()


@pytest.mark.torch
@given(seed=SEEDS, n=SIZES)
def test_a_state_can_be_handed_over_from_pytorch(torch, seed, n):
    generator, stream = torch.Generator().manual_seed(seed), Stream()
    torch.randn(n, generator=generator)
    stream.set_state_bytes(generator.get_state().numpy().tobytes())
    assert stream.initial_seed() == generator.initial_seed()
    np.testing.assert_allclose(normal(stream, (5,)), torch.randn(5, generator=generator).numpy(), atol=1e-6)


@given(seed=SEEDS, calls=CALLS)
def test_going_back_to_a_state_repeats_the_draws(seed, calls):
    stream = Stream()
    stream.manual_seed(seed)
    normal(stream, (3,))
    state = stream.state_bytes()

    def draw():
        return [DRAWS[name][1](stream, n, dtype, span).tobytes() for name, n, dtype, span in calls]

    first = draw()
    stream.set_state_bytes(state)
    assert stream.state_bytes() == state
    assert draw() == first


def test_shapes_and_ends():
    stream = Stream()
    stream.manual_seed(0)
    assert uniform(stream, (2, 0, 3)).shape == (2, 0, 3)
    assert normal(stream, ()).shape == ()
    assert set(randint(stream, -1, 2, (200,)).tolist()) == {-1, 0, 1}
    assert sorted(randperm(stream, 50).tolist()) == list(range(50))
    many = uniform(stream, (100_000,), np.float16)
    assert many.min() >= 0
    assert many.max() < 1
    assert bernoulli(stream, 0.0, (50,)).sum() == 0
    assert bernoulli(stream, 1.0, (50,)).sum() == 50
    assert abs(bernoulli(stream, 0.3, (100_000,)).mean() - 0.3) < 0.01


def test_a_new_seed_is_not_foreseen():
    stream = Stream()
    assert stream.initial_seed() == 67280421310721
    assert len({stream.seed() for _ in range(5)}) == 5


BAD = {
    "negative std": (lambda s: normal(s, (2,), std=-1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
    "empty range": (lambda s: uniform(s, (2,), low=3, high=1), RuntimeError, "found from=3 > to=1"),
    "integer normal": (lambda s: normal(s, (2,), np.int64), NotImplementedError, "not implemented for 'Long'"),
    "integer uniform": (lambda s: uniform(s, (2,), np.bool_), NotImplementedError, "not implemented for 'Bool'"),
    "empty integers": (lambda s: randint(s, 5, 5, (2,)), RuntimeError, "got from=5 >= to=5"),
    "too wide": (lambda s: randint(s, 0, 300, (2,), np.uint8), RuntimeError, "to - 1 is out of bounds for unsigned"),
    "no chance": (lambda s: bernoulli(s, 2.0, (2,)), RuntimeError, r"p to be in \[0, 1\], but got p=2"),
    "no chances": (lambda s: bernoulli(s, np.array([2.0]), (1,)), RuntimeError, "Expected p_in >= 0 && p_in <= 1"),
    "short state": (lambda s: s.set_state_bytes(b"abc"), RuntimeError, "of size 5056 but found .* to be 3"),
    "no state": (lambda s: s.set_state_bytes(bytes(5056)), RuntimeError, "Invalid mt19937 state"),
    "long seed": (lambda s: s.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
}


@pytest.mark.parametrize(("call", "error", "text"), BAD.values(), ids=BAD)
def test_bad_arguments_raise_and_draw_nothing(call, error, text):
    stream = Stream()
    before = stream.state_bytes()
    with pytest.raises(error, match=text):
        call(stream)
    assert stream.state_bytes() == before
