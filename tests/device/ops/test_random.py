"""Random tensors, seeds and states on a device: which generator is asked, and what the others keep."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from minigrad.nn import functional
from minigrad.ops.random import OnDevices
from minigrad.utils.checkpoint import checkpoint
from tests.device.backends.test_philox import NEXT_RAND, RAND, RANDN
from tests.device.strict import COUNTS


@pytest.fixture(autouse=True)
def fresh(cuda):
    """No device has been used, and seeded."""
    OnDevices.generators.clear()
    OnDevices.seed = None
    minigrad.manual_seed(0)
    yield
    OnDevices.generators.clear()
    OnDevices.seed = None


def near(tensor, values):
    assert tensor.device.type == "cuda"
    assert tensor.flatten().tolist() == pytest.approx(values, abs=6e-5)


def test_the_numbers_that_pytorch_prints_on_a_gpu():
    near(minigrad.rand(4, device="cuda"), RAND[:4])
    near(minigrad.rand(4, device="cuda"), NEXT_RAND)
    minigrad.manual_seed(0)
    near(minigrad.randn(3, 8, device="cuda"), RANDN)
    minigrad.manual_seed(0)
    near(minigrad.zeros(2, 2, device="cuda").t().uniform_(), [RAND[i] for i in (0, 2, 1, 3)])  # as memory lies


FILLED = {
    "uniform_": lambda x: x.uniform_(2, 3), "normal_": lambda x: x.normal_(), "cauchy_": lambda x: x.cauchy_(),
    "exponential_": lambda x: x.exponential_(), "log_normal_": lambda x: x.log_normal_(),
    "geometric_": lambda x: x.geometric_(0.3), "random_": lambda x: x.random_(), "random_ to": lambda x: x.random_(9),
    "bernoulli_": lambda x: x.bernoulli_(0.4), "bernoulli": lambda x: x.uniform_().bernoulli(),
    "bernoulli_ of": lambda x: x.bernoulli_(minigrad.full((4,), 0.3, device="cuda")),
    "rand_like": minigrad.rand_like, "randn_like": minigrad.randn_like,
    "randint_like": lambda x: minigrad.randint_like(x, 5), "normal": lambda x: minigrad.normal(x, 2.0),
    "normal std": lambda x: minigrad.normal(1.0, x + 1), "normal both": lambda x: minigrad.normal(x, x + 1),
    "dropout": lambda x: functional.dropout(x + 1), "dropout_": lambda x: minigrad.dropout_(x + 1, 0.5, True),
    "dropout1d": lambda x: functional.dropout1d(x + 1), "alpha": lambda x: functional.alpha_dropout(x + 1, 0.3, True),
}


@pytest.mark.parametrize("name", FILLED)
def test_what_lies_on_a_device_is_filled_there(name):
    cpu, here = minigrad.get_rng_state(), minigrad.zeros(3, 4, device="cuda")
    COUNTS.to_host = 0
    results = []
    for _ in range(2):
        minigrad.manual_seed(1)
        results.append(FILLED[name](here.zero_() if name != "bernoulli" else here))
    assert COUNTS.to_host == 0
    assert all(x.device.type == "cuda" and x.shape == (3, 4) for x in results)
    assert results[0].tolist() == results[1].tolist()
    minigrad.set_rng_state(cpu)


def test_other_samples():
    assert sorted(minigrad.randperm(9, device="cuda").tolist()) == list(range(9))
    rows = minigrad.tensor([[1.0, 0, 0, 1], [0, 1, 1, 0]], device="cuda")
    for replacement, count in ((True, 50), (False, 2), (False, 1)):
        drawn = minigrad.multinomial(rows, count, replacement)
        assert drawn.device.type == "cuda" and drawn.shape == (2, count)
        assert {*drawn[0].tolist()} <= {0, 3} and {*drawn[1].tolist()} <= {1, 2}
        assert replacement or len({*drawn[0].tolist()}) == count
    with pytest.raises(NotImplementedError, match=r"poisson is not implemented for tensors on a GPU\n\n.*\.cpu\(\)"):
        minigrad.poisson(rows)


def test_each_device_has_a_generator_and_a_seed_is_for_all():
    first, second = (minigrad.rand(4, device=f"cuda:{i}") for i in (0, 1))
    assert (str(first.device), str(second.device)) == ("cuda:0", "cuda:1")
    assert first.tolist() == second.tolist()
    assert minigrad.rand(4, device="cuda:0").tolist() != first.tolist()
    minigrad.manual_seed(0)
    assert minigrad.rand(4, device="cuda:1").tolist() == first.tolist()
    minigrad.seed()
    assert minigrad.rand(4, device="cuda:1").tolist() != first.tolist()


def test_generators():
    own = minigrad.Generator("cuda").manual_seed(0)
    assert own.device == minigrad.device("cuda", 0) and own.initial_seed() == 0
    near(minigrad.rand(4, generator=own, device="cuda"), RAND[:4])
    assert own.get_offset() == 4 and own.get_state().shape == (16,) and own.get_state().device.type == "cpu"
    twins = own.clone_state(), copy.deepcopy(own), pickle.loads(pickle.dumps(own))
    shared = own.graphsafe_get_state()
    near(minigrad.rand(4, generator=own, device="cuda"), NEXT_RAND)
    assert shared.get_offset() == 8
    for twin in twins:
        near(minigrad.rand(4, generator=twin, device="cuda"), NEXT_RAND)
    own.set_offset(0)
    near(minigrad.rand(4, generator=own, device="cuda"), RAND[:4])
    twins[0].graphsafe_set_state(own)
    assert twins[0].get_offset() == 4
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        minigrad.rand(2, generator=own)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        minigrad.rand(2, generator=minigrad.Generator(), device="cuda")


@pytest.mark.parametrize("devices", [None, [0], ["cuda:0"]])
def test_fork_rng(devices):
    minigrad.rand(4, device="cuda")
    with minigrad.random.fork_rng(devices=devices):
        inside = minigrad.rand(4, device="cuda"), minigrad.rand(4, device="cuda:1")
    near(inside[0], NEXT_RAND)
    near(minigrad.rand(4, device="cuda"), NEXT_RAND)
    near(minigrad.rand(4, device="cuda:1"), NEXT_RAND if devices else RAND[:4])


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_draws_the_same_again(reentrant):
    x = minigrad.ones(64, device="cuda", requires_grad=True)
    out = checkpoint(lambda v: functional.dropout(v, 0.5) * minigrad.rand(64, device="cuda"), x,
                     use_reentrant=reentrant)
    after = minigrad.default_generator.get_state(), minigrad.rand(4, device="cuda")
    minigrad.manual_seed(3)
    out.backward(minigrad.ones(64, device="cuda"))
    assert x.grad.tolist() == out.tolist()
    minigrad.manual_seed(3)
    assert minigrad.rand(4, device="cuda").tolist() != after[1].tolist()


def test_dropout_on_a_device_is_an_op_of_its_own():
    x = minigrad.full((8, 4), 2.0, device="cuda", requires_grad=True)
    for y, name in ((functional.dropout(x, 0.25), "NativeDropoutBackward0"),
                    (functional.dropout1d(x, 0.25), "SqueezeBackward1"),
                    (functional.dropout(x * 1, 0.25, inplace=True), "MulBackward0")):
        assert y.grad_fn.name() == name
    y = functional.dropout(x, 0.25)
    assert sorted({*y.flatten().tolist()}) == [0, pytest.approx(8 / 3)]
    (y * y).sum().backward()
    assert x.grad.flatten().tolist() == pytest.approx([2 * v * 4 / 3 for v in y.flatten().tolist()])
