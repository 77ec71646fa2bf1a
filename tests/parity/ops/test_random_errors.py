"""Bad arguments of what draws random numbers: PyTorch's errors and warnings, word for word."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.alike import ending

pytestmark = pytest.mark.torch

ERRORS = {
    # factories
    "rand of integers": lambda m: m.rand(3, dtype=m.int64),
    "rand of bools": lambda m: m.rand(3, dtype=m.bool),
    "randn of integers": lambda m: m.randn(3, dtype=m.int64),
    "rand, negative": lambda m: m.rand(-1),
    "rand, text": lambda m: m.rand("a"),
    "rand, float": lambda m: m.rand(2.5),
    "rand, a bad generator": lambda m: m.rand(2, generator=3),
    "rand, nothing": lambda m: m.rand(),
    "rand, two sizes": lambda m: m.rand(2, size=(2,)),
    "rand, unknown": lambda m: m.rand(2, sighs=(2,)),
    "rand on cuda": lambda m: m.rand(2, device="cuda"),
    "rand_like of a number": lambda m: m.rand_like(3),
    "rand_like of integers": lambda m: m.rand_like(m.arange(3)),
    "randn_like of integers": lambda m: m.randn_like(m.arange(3)),
    "randint, no size": lambda m: m.randint(5),
    "randint, empty": lambda m: m.randint(0, (2,)),
    "randint, backwards": lambda m: m.randint(5, 3, (2,)),
    "randint, uint8": lambda m: m.randint(0, 300, (2,), dtype=m.uint8),
    "randint, negative uint8": lambda m: m.randint(-1, 3, (2,), dtype=m.uint8),
    "randint, bool": lambda m: m.randint(0, 3, (2,), dtype=m.bool),
    "randint, half": lambda m: m.randint(0, 70000, (2,), dtype=m.float16),
    "randint, half with gaps": lambda m: m.randint(0, 4096, (2,), dtype=m.float16).dtype,
    "randint, float with gaps": lambda m: m.randint(0, 2**25, (2,), dtype=m.float32).dtype,
    "randint, double with gaps": lambda m: m.randint(0, 2**54, (2,), dtype=m.float64).dtype,
    "randint, too long": lambda m: m.randint(0, 2**63, (2,)),
    "randint, requires_grad": lambda m: m.randint(5, (2,), requires_grad=True),
    "randint_like, no end": lambda m: m.randint_like(m.zeros(2)),
    "randperm, negative": lambda m: m.randperm(-1),
    "randperm, float": lambda m: m.randperm(2.5),
    "randperm, bool": lambda m: m.randperm(4, dtype=m.bool),
    "randperm, uint8": lambda m: m.randperm(300, dtype=m.uint8),
    "randperm, int8": lambda m: m.randperm(300, dtype=m.int8),
    "randperm, half": lambda m: m.randperm(3000, dtype=m.float16),
    "randperm, requires_grad": lambda m: m.randperm(3, requires_grad=True),
    "normal, no size": lambda m: m.normal(0.0, 1.0),
    "normal, negative": lambda m: m.normal(m.zeros(3), -1.0),
    "normal, negative tensor": lambda m: m.normal(m.zeros(3), m.tensor([-1.0, 1, 1])),
    "normal, negative size": lambda m: m.normal(0.0, -1.0, (2,)),
    "normal, shapes": lambda m: m.normal(m.zeros(3), m.ones(2)),
    # filling
    "uniform_, backwards": lambda m: m.zeros(2).uniform_(3, 1),
    "uniform_, backwards on nothing": lambda m: m.zeros(0).uniform_(3, 1),
    "uniform_, infinite": lambda m: m.zeros(2).uniform_(0, float("inf")),
    "uniform_, nan": lambda m: m.zeros(2).uniform_(float("nan")),
    "uniform_, too far": lambda m: m.zeros(2).uniform_(-3e38, 3e38),
    "uniform_, half": lambda m: m.zeros(2, dtype=m.float16).uniform_(0, 1e6),
    "uniform_, integers": lambda m: m.zeros(2, dtype=m.int64).uniform_(),
    "uniform_, bools": lambda m: m.zeros(2, dtype=m.bool).uniform_(),
    "normal_, negative": lambda m: m.zeros(2).normal_(0, -1),
    "normal_, integers": lambda m: m.zeros(2, dtype=m.int64).normal_(),
    "exponential_ 0": lambda m: m.zeros(2).exponential_(0),
    "exponential_ -1": lambda m: m.zeros(2).exponential_(-1.0),
    "exponential_, integers": lambda m: m.zeros(2, dtype=m.int64).exponential_(),
    "log_normal_ 0": lambda m: m.zeros(2).log_normal_(0, 0),
    "log_normal_, integers": lambda m: m.zeros(2, dtype=m.int64).log_normal_(),
    "cauchy_ 0": lambda m: m.zeros(2).cauchy_(0, 0),
    "cauchy_, integers": lambda m: m.zeros(2, dtype=m.int64).cauchy_(),
    "cauchy_, shorts": lambda m: m.zeros(2, dtype=m.int16).cauchy_(),
    "geometric_ 0": lambda m: m.zeros(2).geometric_(0),
    "geometric_ 1.5": lambda m: m.zeros(2).geometric_(1.5),
    "geometric_": lambda m: m.zeros(2).geometric_(),
    "geometric_, bools": lambda m: m.zeros(2, dtype=m.bool).geometric_(0.5),
    "random_, uint8": lambda m: m.zeros(2, dtype=m.uint8).random_(300),
    "random_, int8": lambda m: m.zeros(2, dtype=m.int8).random_(-200, 3),
    "random_, backwards": lambda m: m.zeros(2).random_(5, 3),
    "random_ 0": lambda m: m.zeros(2).random_(0),
    "random_ 2.5": lambda m: m.zeros(2).random_(2.5),
    "random_, uint8 from": lambda m: m.zeros(2, dtype=m.uint8).random_(256, None),
    "random_, bool": lambda m: m.zeros(2, dtype=m.bool).random_(3),
    "random_, half": lambda m: m.zeros(2, dtype=m.float16).random_(0, 70000),
    "random_, gaps": lambda m: m.zeros(2).random_(2**24 + 1, 2**25).dtype,
    "bernoulli_ 2": lambda m: m.zeros(2).bernoulli_(2.0),
    "bernoulli_, tensor of 2": lambda m: m.zeros(2).bernoulli_(m.tensor([2.0, 1])),
    "bernoulli_, tensor of integers": lambda m: m.zeros(2).bernoulli_(m.tensor([1, 1])),
    "bernoulli_, shapes": lambda m: m.zeros(2).bernoulli_(m.ones(3)),
    "bernoulli_, dimensions": lambda m: m.zeros(2).bernoulli_(m.zeros(3, 2)),
    "bernoulli_, text": lambda m: m.zeros(2).bernoulli_("a"),
    "bernoulli of 2": lambda m: m.bernoulli(m.tensor([2.0])),
    "bernoulli of nan": lambda m: m.bernoulli(m.tensor([float("nan")])),
    "bernoulli of integers": lambda m: m.bernoulli(m.tensor([1, 0])),
    "bernoulli, p of 2": lambda m: m.bernoulli(m.tensor([0.5]), p=2.0),
    "bernoulli of a number": lambda m: m.bernoulli(0.5),
    "poisson, negative": lambda m: m.poisson(m.tensor([-1.0])),
    "poisson, nan": lambda m: m.poisson(m.tensor([float("nan")])),
    "poisson, integers": lambda m: m.poisson(m.tensor([1])),
    "multinomial, too many": lambda m: m.multinomial(m.ones(3), 4),
    "multinomial, none": lambda m: m.multinomial(m.ones(3), 0),
    "multinomial, zeros": lambda m: m.multinomial(m.zeros(3), 2),
    "multinomial, zeros again": lambda m: m.multinomial(m.zeros(3), 2, True),
    "multinomial, negative": lambda m: m.multinomial(m.tensor([1.0, -1, 0]), 1),
    "multinomial, nan": lambda m: m.multinomial(m.tensor([1.0, float("nan")]), 1, True),
    "multinomial, infinite": lambda m: m.multinomial(m.tensor([1.0, float("inf")]), 1),
    "multinomial, integers": lambda m: m.multinomial(m.tensor([1, 2]), 1),
    "multinomial, three dimensions": lambda m: m.multinomial(m.ones(2, 2, 2), 1),
    "multinomial, a number": lambda m: m.multinomial(m.tensor(1.0), 1),
    "multinomial, nothing": lambda m: m.multinomial(m.ones(0), 1),
    "multinomial, no rows": lambda m: m.multinomial(m.ones(0, 3), 2).shape,
    "multinomial, float": lambda m: m.multinomial(m.ones(3), 2.0),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(torch, name):
    (theirs, warned), (ours, warned_here) = (ending(ERRORS[name], lib) for lib in (torch, minigrad))
    told = [list(end) if isinstance(end, list) else end for end in (theirs, ours)]
    for end in told:
        if isinstance(end, list) and isinstance(end[1], str):
            end[1] = end[1].split(", but expected one of:")[0].split("\n")[0]
    assert told[1] == told[0]
    assert warned_here == warned
