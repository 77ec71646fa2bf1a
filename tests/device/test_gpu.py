"""On a real GPU, where there is one: the table of ops, training, memory, random numbers, graphs.

    python -m pytest tests/device/test_gpu.py

Its skip is one line. What passes here is what docs/gpu.md may say that a GPU has shown.
"""

from __future__ import annotations

import gc
import json

import numpy as np
import pytest

import minigrad
from minigrad.backends import registry
from minigrad.nn import functional
from tests.device import test_graphs
from tests.device.backends.test_philox import NEXT_RAND, RAND, RANDN
from tests.device.ops import test_ops
from tests.parity.tables import all_cases
from tests.parity.tables.cases_shape import NOT_COMPARABLE as OVERWRITTEN

if not minigrad.cuda.is_available():
    pytest.skip("gpu: there is no NVIDIA GPU here, or CuPy does not find it", allow_module_level=True)
pytestmark = pytest.mark.gpu
CUDA = registry.BACKENDS["cuda"]


@pytest.fixture(autouse=True)
def seeded():
    minigrad.manual_seed(0)
    yield
    minigrad.cuda.synchronize()  # what a kernel did wrong is said here at the latest


# Which of the values stays where an element is named twice is left to the GPU, in PyTorch too.
@pytest.mark.parametrize("name", [name for name in all_cases() if name not in OVERWRITTEN])
def test_op(name):
    test_ops.test_op(CUDA, name)


def model(device):
    minigrad.manual_seed(1)
    made = minigrad.nn.Sequential(minigrad.nn.Linear(20, 30), minigrad.nn.GELU(), minigrad.nn.LayerNorm(30),
                                  minigrad.nn.Linear(30, 5))
    return made.to(device)


OPTIMIZERS = {"sgd": lambda p: minigrad.optim.SGD(p, 0.1, momentum=0.9), "adam": lambda p: minigrad.optim.Adam(p, 0.01),
              "adamw": lambda p: minigrad.optim.AdamW(p, 0.01, weight_decay=0.1)}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_as_on_the_cpu(name):
    make, losses = OPTIMIZERS[name], []
    for device in ("cpu", "cuda"):
        net = model(device)
        optimizer = make(net.parameters())
        x, y = (v.to(device) for v in (minigrad.randn(64, 20), minigrad.randint(0, 5, (64,))))
        seen = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        losses.append(seen)
    np.testing.assert_allclose(*losses, rtol=1e-3)
    assert losses[0][-1] < losses[0][0]


def test_the_numbers_that_pytorch_prints_on_a_gpu():
    for draw, wanted in ((lambda: minigrad.rand(12, device="cuda"), RAND),
                         (lambda: minigrad.rand(4, device="cuda"), NEXT_RAND)):
        np.testing.assert_allclose(draw().tolist(), wanted, atol=6e-5)
    minigrad.manual_seed(0)
    np.testing.assert_allclose(minigrad.randn(24, device="cuda").tolist(), RANDN, atol=6e-5)


def drawn(n, dtype):
    """By name, how to draw `n` numbers in one library."""
    return {
        "rand": lambda m: m.rand(n, device="cuda", dtype=getattr(m, dtype)),
        "randint": lambda m: m.randint(-5, 10**9, (n,), device="cuda"),
        "randint, few": lambda m: m.randint(0, 10, (n,), device="cuda"),
        "randperm": lambda m: m.randperm(n, device="cuda"),
        "bernoulli_": lambda m: m.zeros(n, device="cuda", dtype=getattr(m, dtype)).bernoulli_(0.3),
        "bernoulli": lambda m: m.full((n,), 0.3, device="cuda").bernoulli(),
        "dropout": lambda m: m.nn.functional.dropout(m.ones(n, device="cuda", dtype=getattr(m, dtype)), 0.3),
        "random_": lambda m: m.zeros(n, device="cuda", dtype=getattr(m, dtype)).random_(),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("n", [1, 1000, 1_000_003, 4_000_000])
@pytest.mark.parametrize("name", drawn(1, "float32"))
def test_every_bit_is_that_of_pytorch(name, n, dtype):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("gpu: this PyTorch cannot use it")
    results = []
    for lib in (minigrad, torch):
        lib.manual_seed(7)
        draw = drawn(n, dtype)[name]
        results.append([draw(lib).cpu().numpy() for _ in range(2)] + [lib.cuda.get_rng_state().numpy()])
    for ours, theirs in zip(*results, strict=True):
        assert np.array_equal(ours, theirs)


def test_memory():
    cuda = minigrad.cuda
    before = cuda.memory_allocated()
    cuda.reset_peak_memory_stats()
    x = minigrad.zeros(1 << 20, device="cuda")
    assert cuda.memory_allocated() - before == 4 << 20
    y = x + 1
    del y
    assert cuda.memory_allocated() - before == 4 << 20
    assert cuda.max_memory_allocated() - before >= 8 << 20
    assert cuda.memory_reserved() >= cuda.memory_allocated()
    free, total = cuda.mem_get_info()
    assert 0 < free < total == cuda.get_device_properties().total_memory


def test_the_peak_is_that_of_the_pool():
    """Drawn sizes are allocated and freed in a drawn order; the pool counts in blocks of 512 bytes."""
    draw = np.random.default_rng(0)
    gc.collect()
    before = minigrad.memory.memory_allocated("cuda")
    for _ in range(5):
        held, now, most = [], 0, 0
        minigrad.memory.reset_peak_memory_stats("cuda")
        for size in draw.integers(1, 5000, 300):
            held.append(minigrad.empty(int(size), device="cuda"))
            now += -(-4 * int(size) // 512) * 512
            most = max(most, now)
            assert held[-1].untyped_storage().nbytes() == 4 * size
            while held and draw.random() < 0.45:
                gone = held.pop(draw.integers(len(held)))
                now -= -(-gone.untyped_storage().nbytes() // 512) * 512
                del gone
        assert minigrad.memory.memory_allocated("cuda") - before == now
        assert minigrad.memory.max_memory_allocated("cuda") - before == most


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 1000, 1_000_003])
def test_normal_numbers_are_those_of_pytorch_but_for_rounding(n, dtype):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("gpu: this PyTorch cannot use it")
    ours, theirs = [], []
    for lib, found in ((minigrad, ours), (torch, theirs)):
        lib.manual_seed(7)
        found += [lib.randn(n, device="cuda", dtype=getattr(lib, dtype)).cpu().numpy() for _ in range(2)]
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_no_memory_left_and_work_goes_on():
    x = minigrad.ones(1000, device="cuda")
    with pytest.raises(minigrad.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        minigrad.empty(1 << 44, device="cuda")
    assert x.sum().item() == 1000


def test_a_graph_is_done_again_on_what_is_there_then():
    x = minigrad.ones(1000, device="cuda")
    x * 2 + 1
    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        y = x * 2 + 1
    for value in (3.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert y.sum().item() == 1000 * (2 * value + 1)


@pytest.mark.parametrize("name", test_graphs.DRAWS)
def test_a_graph_draws_what_comes_next(name):
    test_graphs.check_draws(test_graphs.DRAWS[name])


def test_a_step_of_training_in_a_graph():
    nets = model("cuda"), model("cuda")
    x, y = minigrad.randn(64, 20, device="cuda"), minigrad.randint(0, 5, (64,), device="cuda")

    def step(net, optimizer):
        optimizer.zero_grad(set_to_none=False)
        functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    optimizers = [minigrad.optim.SGD(net.parameters(), 0.1) for net in nets]
    for _ in range(6):
        step(nets[0], optimizers[0])
    step(nets[1], optimizers[1])
    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        step(nets[1], optimizers[1])
    for _ in range(5):
        graph.replay()
    for a, b in zip(nets[0].parameters(), nets[1].parameters(), strict=True):
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().cpu().numpy(), rtol=1e-5)


def layers():
    """Models with all kinds of products, and the shape of what they take."""
    nn = minigrad.nn
    return {
        "mlp": (nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5)), (32, 40)),
        "cnn": (nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 6, 3, stride=2),
                              nn.Flatten(), nn.Linear(54, 5)), (9, 3, 16, 16)),
        "transformer": (nn.TransformerEncoderLayer(24, 4, 48, 0.0, "gelu", batch_first=True), (3, 7, 24)),
        "lstm": (nn.LSTM(6, 8, 2, batch_first=True), (3, 5, 6)),
    }


@pytest.mark.parametrize("name", ["mlp", "cnn", "transformer", "lstm"])
def test_gradients_are_those_of_the_cpu(name):
    found = []
    for device in ("cpu", "cuda"):
        minigrad.manual_seed(2)
        model, shape = layers()[name]
        x = minigrad.randn(*shape).to(device).requires_grad_()
        out = model.to(device)(x)
        out = out[0] if isinstance(out, tuple) else out
        (out * minigrad.randn(out.shape).to(device)).sum().backward()  # the mean of squares has none behind a norm
        found.append([v.grad.cpu().numpy() for v in (x, *model.parameters())])
    for here, there in zip(*found, strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-5 * max(1e-3, abs(here).max()))


SHAPES = [((4, 3), (3, 5)), ((2, 4, 3), (2, 3, 5)), ((6, 1, 4, 3), (1, 2, 3, 5)), ((2, 4, 3), (3, 5)),
          ((2, 1, 3), (2, 3, 1))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_products_of_what_lies_in_any_way_also_in_a_graph(left, right, dtype):
    def views(shape):
        x = minigrad.randn(*shape).to(getattr(minigrad, dtype))
        yield x
        yield minigrad.randn(*shape[:-2], shape[-1], shape[-2]).to(x.dtype).mT
        yield minigrad.cat([x, x], -1)[..., :shape[-1]]

    for x in views(left):
        for y in views(right):
            there = [v.to("cuda") for v in (x, y)]
            rtol, wanted = {"float16": 1e-2}.get(dtype, 1e-5), (x.double() @ y.double()).numpy()
            made = minigrad.matmul(*there)
            np.testing.assert_allclose(made.cpu().double().numpy(), wanted, rtol=rtol, atol=rtol)
            graph = minigrad.cuda.CUDAGraph()
            with minigrad.cuda.graph(graph):
                made = minigrad.matmul(*there)
            graph.replay()
            np.testing.assert_allclose(made.cpu().double().numpy(), wanted, rtol=rtol, atol=rtol)


def test_the_memory_of_a_graph_goes_back_with_it():
    x = minigrad.rand(1000, 1000, device="cuda")
    x @ x
    gc.collect()
    before = minigrad.cuda.memory_allocated()
    for _ in range(3):
        graph = minigrad.cuda.CUDAGraph()
        with minigrad.cuda.graph(graph):
            y = (x @ x).softmax(1)
        graph.replay()
        np.testing.assert_allclose(y.sum(1).cpu().numpy(), 1, rtol=1e-4)
        assert minigrad.cuda.memory_allocated() - before >= 4_000_000
        del graph, y
        gc.collect()
        assert minigrad.cuda.memory_allocated() == before


def test_events_measure():
    start, end = (minigrad.cuda.Event(enable_timing=True) for _ in "ab")
    x = minigrad.rand(2000, 2000, device="cuda")
    start.record()
    x @ x
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0


def test_a_second_gpu_is_used_where_it_is_named():
    if minigrad.cuda.device_count() < 2:
        pytest.skip("gpu: there is one alone")
    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    for _ in range(2):
        (x * 2).sum().backward()
    assert json.dumps(x.grad.tolist()) == "[4.0, 4.0, 4.0]" and str(x.grad.device) == "cuda:1"
    assert str((x.to("cuda:0") @ minigrad.ones(3, device="cuda:0")).device) == "cuda:0"
    assert minigrad.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        minigrad.cat([x, minigrad.ones(3, device="cuda:0")])
