"""CUDA graphs on the stand-in: a replay does what the code would have done, on the same memory."""

from __future__ import annotations

import pytest

import minigrad
from minigrad import nn, optim
from minigrad.nn import functional as F
from tests.device.strict import COUNTS

DRAWS = {
    "rand": lambda: minigrad.rand(5, device="cuda"),
    "rand in float64": lambda: minigrad.rand(5, device="cuda", dtype=minigrad.float64),
    "many": lambda: minigrad.rand(300_000, device="cuda")[-7:],
    "randn": lambda: minigrad.randn(2, 3, device="cuda"),
    "randint": lambda: minigrad.randint(0, 1000, (5,), device="cuda"),
    "twice": lambda: minigrad.rand(5, device="cuda") + minigrad.randn(5, device="cuda"),
    "bernoulli": lambda: minigrad.full((9,), 0.5, device="cuda").bernoulli(),
    "bernoulli_": lambda: minigrad.zeros(9, device="cuda").bernoulli_(0.5),
    "exponential_": lambda: minigrad.zeros(5, device="cuda").exponential_(),
    "dropout": lambda: F.dropout(minigrad.ones(8, device="cuda")),
    "dropout of 7": lambda: F.dropout(minigrad.ones(7, device="cuda")),
    "dropout in float16": lambda: F.dropout(minigrad.ones(16, device="cuda", dtype=minigrad.float16)),
    "dropout2d": lambda: F.dropout2d(minigrad.ones(2, 3, 4, 4, device="cuda"))[:, :, 0, 0],
    "rand_like": lambda: minigrad.rand_like(minigrad.ones(2, 3, device="cuda").t()),
    "multinomial": lambda: minigrad.multinomial(minigrad.ones(6, device="cuda"), 3),
}


def captured(work):
    """A graph of some work, and its result, which each replay overwrites."""
    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        result = work()
    return graph, result


def check_draws(work):
    minigrad.manual_seed(7)
    expected = [work().tolist() for _ in range(3)]
    after = minigrad.cuda.get_rng_state().tolist()
    minigrad.manual_seed(7)
    state = minigrad.cuda.get_rng_state().tolist()
    graph, result = captured(work)
    assert minigrad.cuda.get_rng_state().tolist() == state  # nothing is drawn by a capture
    found = []
    for _ in range(3):
        graph.replay()
        found.append(result.tolist())
    assert found == expected
    assert found[0] != found[1]
    assert minigrad.cuda.get_rng_state().tolist() == after


@pytest.mark.parametrize("name", DRAWS)
def test_a_replay_draws_what_comes_next(cuda, name):
    check_draws(DRAWS[name])


@pytest.mark.parametrize("name", ["many", "twice", "dropout", "randint"])
def test_a_replay_draws_what_comes_next_by_the_kernel(fused, name):
    check_draws(DRAWS[name])
    assert "philox" in fused.ran


def test_replays_and_other_draws_take_turns(cuda):
    def draw():
        return minigrad.rand(4, device="cuda")

    minigrad.manual_seed(1)
    expected = [draw().tolist() for _ in range(4)]
    minigrad.manual_seed(1)
    one, first = captured(draw)
    two, second = captured(draw)
    one.replay()
    found = [first.tolist(), draw().tolist()]
    two.replay()
    one.replay()
    assert [*found, second.tolist(), first.tolist()] == expected
    minigrad.manual_seed(1)
    two.replay()
    assert second.tolist() == expected[0]


def test_a_generator_of_ones_own_is_registered(cuda):
    generator = minigrad.Generator("cuda").manual_seed(3)

    def draw():
        return minigrad.rand(4, device="cuda", generator=generator)

    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph), pytest.raises(RuntimeError, match="for a CUDA generator not in capture mode."):
        draw()
    expected = [draw().tolist() for _ in range(2)]
    generator.manual_seed(3)
    graph.reset()
    graph.register_generator_state(generator)
    with minigrad.cuda.graph(graph):
        result = draw()
    for numbers in expected:
        graph.replay()
        assert result.tolist() == numbers
    assert generator.get_offset() == 8
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        minigrad.cuda.CUDAGraph().register_generator_state(minigrad.Generator())


def test_after_an_error_the_generator_draws_as_before(cuda):
    with pytest.raises(KeyError), minigrad.cuda.graph(minigrad.cuda.CUDAGraph()):
        minigrad.rand(3, device="cuda")
        raise KeyError("x")
    minigrad.manual_seed(0)
    first = minigrad.rand(3, device="cuda").tolist()
    minigrad.manual_seed(0)
    assert minigrad.rand(3, device="cuda").tolist() == first


def test_a_capture_on_the_second_device_draws_from_its_generator(cuda):
    minigrad.manual_seed(2)
    expected = minigrad.rand(3, device="cuda:1").tolist()
    minigrad.manual_seed(2)
    with minigrad.cuda.device(1):
        graph, result = captured(lambda: minigrad.rand(3, device="cuda"))
    graph.replay()
    assert result.tolist() == expected
    assert COUNTS.current == 0


def model():
    minigrad.manual_seed(4)
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1)).to("cuda")


def trained(optimizer_of, with_graph, steps=4):
    """The parameters after some steps: each run, or all but the first replayed."""
    net = model()
    optimizer = optimizer_of(net.parameters())
    x, y = (minigrad.linspace(-1, 1, 3 * n, device="cuda").reshape(3, n) for n in (3, 1))

    def step():
        optimizer.zero_grad(set_to_none=False)
        F.mse_loss(net(x), y).backward()
        optimizer.step()

    step()
    if with_graph:
        graph, _ = captured(step)
        for _ in range(steps - 1):
            graph.replay()
    else:
        for _ in range(steps - 1):
            step()
    return [p.detach().cpu().tolist() for p in net.parameters()]


def test_a_step_with_dropout(cuda):
    def sgd(params):
        return optim.SGD(params, lr=0.1, momentum=0.9)

    assert trained(sgd, True) == trained(sgd, False)
    assert trained(sgd, True, 4) != trained(sgd, True, 3)
