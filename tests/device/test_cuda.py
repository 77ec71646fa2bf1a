"""minigrad.cuda, minigrad.accelerator and minigrad.memory where there is a device: on the stand-in."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import minigrad
from minigrad import accelerator, memory
from minigrad._base.device import out_of_memory
from minigrad.backends import registry
from minigrad.nn import functional
from minigrad.ops.nn import resample
from minigrad.ops.random import OnDevices


@pytest.fixture(autouse=True)
def fresh(cuda):
    OnDevices.generators.clear()
    OnDevices.seed = None
    yield
    OnDevices.generators.clear()
    OnDevices.seed = None


def test_what_is_there():
    cuda = minigrad.cuda
    assert cuda.is_available() and cuda.is_initialized() and cuda.device_count() == 2
    assert minigrad.backends.cuda.is_built() and not cuda.is_bf16_supported()
    assert not minigrad.backends.cudnn.is_available()
    assert accelerator.is_available() and accelerator.device_count() == 2
    assert accelerator.current_accelerator() == minigrad.device("cuda")
    assert cuda.get_device_name() == cuda.get_device_name("cuda:1") == "stand-in"
    assert cuda.get_device_capability(1) == (9, 0)
    assert cuda.get_device_properties(minigrad.device("cuda", 0)).multi_processor_count == 132
    assert cuda.get_device_properties().max_threads_per_multi_processor == 2048


def test_the_device_in_use():
    cuda = minigrad.cuda
    assert cuda.current_device() == accelerator.current_device_index() == 0
    with cuda.device(1):
        assert cuda.current_device() == 1 and str(minigrad.zeros(2, device="cuda").device) == "cuda:1"
        with cuda.device("cuda:0"):
            assert cuda.current_device() == 0
        with cuda.device(-1), cuda.device(None):
            assert cuda.current_device() == 1
    assert cuda.current_device() == 0
    cuda.set_device("cuda:1")
    cuda.set_device(-1)
    assert cuda.current_device() == 1
    accelerator.set_device_index(0)
    assert cuda.current_device() == 0
    for where in (None, 0, "cuda:1", minigrad.device("cuda")):
        cuda.synchronize(where)
        accelerator.synchronize(where)


@pytest.mark.parametrize("ask", [minigrad.cuda.synchronize, minigrad.cuda.memory_allocated, minigrad.cuda.set_device,
                                 minigrad.cuda.get_device_name, minigrad.cuda.get_rng_state])
def test_devices_that_are_not_there(ask):
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        ask("cpu")
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal\n\nThere are 2 devices"):
        ask(2)


def test_memory(cuda):
    cuda.allocated = 640
    for module in (minigrad.cuda, accelerator, memory):
        assert module.memory_allocated("cuda") == module.max_memory_allocated("cuda:1") == 640
        module.reset_peak_memory_stats(0)
        assert module.memory_allocated("cuda") == 0
        cuda.allocated = 640
    assert minigrad.cuda.memory_reserved() == minigrad.cuda.max_memory_reserved() == 640
    assert accelerator.memory_reserved() == accelerator.max_memory_reserved() == 640
    assert minigrad.cuda.mem_get_info() == accelerator.get_memory_info(1) == (1 << 30, 2 << 30)
    minigrad.cuda.empty_cache()
    assert minigrad.cuda.memory_reserved() == 0


def test_the_account_of_tensors_is_that_of_one_device():
    before = memory.held("cuda:0").total, memory.held().total
    kept = minigrad.zeros(1000, device="cuda:0")
    assert (memory.held("cuda:0").total, memory.held().total) == (before[0] + 4000, before[1])
    assert memory.held("cuda:1").total == 0
    assert (1000,) in memory.snapshot("cuda:0")[0].shapes and kept is not None


def test_no_memory_left():
    error = out_of_memory(3 << 30, 1, {"allocated": 1 << 30, "reserved": 3 << 29, "free": 1 << 20, "total": 2 << 30})
    assert isinstance(error, minigrad.OutOfMemoryError) and minigrad.OutOfMemoryError is minigrad.cuda.OutOfMemoryError
    assert issubclass(minigrad.OutOfMemoryError, RuntimeError)
    assert str(error).startswith("CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total capacity of 2.00 ")


def test_seeds_and_states():
    cuda = minigrad.cuda
    cuda.manual_seed(5)
    assert cuda.initial_seed() == 5
    state, drawn = cuda.get_rng_state(), minigrad.rand(3, device="cuda").tolist()
    assert state.shape == (16,) and state.dtype is minigrad.uint8
    cuda.set_rng_state(state, "cuda:1")
    assert minigrad.rand(3, device="cuda:1").tolist() == drawn
    cuda.set_rng_state_all([state, state])
    assert [each.tolist() for each in cuda.get_rng_state_all()] == [state.tolist()] * 2
    cuda.manual_seed_all(6)
    with cuda.device(1):
        assert cuda.initial_seed() == 6
    cuda.seed()
    assert cuda.initial_seed() != 6
    cuda.seed_all()
    seeds = []
    for index in (0, 1):
        with cuda.device(index):
            seeds.append(cuda.initial_seed())
    assert seeds[0] == seeds[1]
    minigrad.manual_seed(7)
    assert cuda.initial_seed() == 7


def test_events():
    start, end = (minigrad.cuda.Event(enable_timing=True) for _ in "ab")
    start.record()
    end.record()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="Both events must be created with argument 'enable_timing=True'"):
        start.elapsed_time(minigrad.cuda.Event())
    with pytest.raises(NotImplementedError, match="Omit `interprocess`"):
        minigrad.cuda.Event(interprocess=True)
    new = minigrad.cuda.Event(enable_timing=True)
    for first, second in ((start, new), (new, start)):
        with pytest.raises(ValueError, match="^Both events must be recorded before calculating elapsed time.$"):
            first.elapsed_time(second)
    with pytest.raises(NotImplementedError, match="Omit `stream`"):
        new.record(object())
    assert not new.recorded
    end.event.done = False
    for first, second in ((start, end), (end, start)):
        with pytest.raises(ValueError, match="Both events must be completed before calculating elapsed time.\n\nCall"):
            first.elapsed_time(second)


def test_graphs(cuda):
    graph = minigrad.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="capture_end was called without capture_begin"):
        graph.capture_end()
    x = minigrad.ones(3, device="cuda")
    with minigrad.cuda.graph(graph):
        assert minigrad.cuda.is_current_stream_capturing()
        x * 2
        with pytest.raises(RuntimeError, match="a CUDA graph is being captured already"):
            minigrad.cuda.CUDAGraph().capture_begin()
        with pytest.raises(RuntimeError, match="without a preceding successful capture"):
            graph.replay()
    assert not minigrad.cuda.is_current_stream_capturing()
    graph.replay()
    graph.replay()
    assert cuda.replays == 2
    with pytest.raises(RuntimeError, match="already owns a captured graph"), minigrad.cuda.graph(graph):
        pass
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()


def test_an_optimiser_that_counts_its_steps_is_refused_in_a_graph():
    p = minigrad.ones(3, device="cuda", requires_grad=True)
    p.grad = minigrad.ones(3, device="cuda")
    with minigrad.cuda.graph(minigrad.cuda.CUDAGraph()):
        minigrad.optim.SGD([p], 0.1).step()
        with pytest.raises(RuntimeError, match="Attempting CUDA graph capture of step.. for an instance of Adam but"):
            minigrad.optim.Adam([p], 0.1).step()


def test_after_an_error_nothing_is_noted():
    graph = minigrad.cuda.CUDAGraph()
    with pytest.raises(KeyError), minigrad.cuda.graph(graph):
        raise KeyError("x")
    assert not minigrad.cuda.is_current_stream_capturing()
    with minigrad.cuda.graph(graph):
        pass
    graph.replay()


def test_after_an_error_of_the_end_nothing_is_noted(cuda, monkeypatch):
    def fails():
        with capture() as again:
            yield again
        raise OSError("invalidated")

    graph, capture = minigrad.cuda.CUDAGraph(), cuda.capture
    monkeypatch.setattr(cuda, "capture", contextmanager(fails))
    with pytest.raises(OSError, match="invalidated"), minigrad.cuda.graph(graph):
        pass
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    monkeypatch.undo()
    with minigrad.cuda.graph(graph):
        pass
    graph.replay()
    assert cuda.replays == 1


COPIES = {
    "tensor": lambda x: minigrad.tensor([1.0], device="cuda"), "to": lambda x: minigrad.ones(3).to("cuda"),
    "copy_": lambda x: x.copy_(minigrad.ones(3)), "a list as an index": lambda x: x[[0, 2]],
    "a new size": lambda x: functional.interpolate(x.reshape(1, 1, 3), size=5, mode="linear"),
    "as NumPy's array": lambda x: np.asarray([1.0], like=registry.device_like(x.array)),
}


@pytest.mark.parametrize("name", COPIES)
def test_no_copy_from_the_host_in_a_graph(name):
    x = minigrad.ones(3, device="cuda")
    with minigrad.cuda.graph(minigrad.cuda.CUDAGraph()), pytest.raises(RuntimeError) as error:
        COPIES[name](x)
    assert str(error.value).startswith("CUDA error: operation not permitted when stream is capturing\n\nCPU values")
    COPIES[name](x)


def test_what_copies_nothing_in_a_graph():
    lstm = minigrad.nn.LSTM(3, 4).to("cuda")
    x, image = minigrad.ones(2, 1, 3, device="cuda"), minigrad.ones(1, 1, 4, 4, device="cuda", requires_grad=True)

    def step():
        lstm(x)[0].sum().backward()
        y = functional.interpolate(image, scale_factor=2, mode="bilinear") + functional.interpolate(image, size=8)
        functional.adaptive_avg_pool2d(y, 3).sum().backward()
        minigrad.arange(4, device="cuda"), minigrad.linspace(0, 1, 4, device="cuda")
        minigrad.linalg.cross(x, 2 * x).sum(), minigrad.cross(image[0, 0, :3], image[0, 0, :3], dim=0).sum().backward()

    step()
    first = image.grad.sum().item()
    held, graph = len(resample.GRAPHS), minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        step()
    assert image.grad.sum().item() == pytest.approx(first)
    graph.replay()
    assert image.grad.sum().item() == pytest.approx(2 * first)
    assert len(resample.GRAPHS) > held
