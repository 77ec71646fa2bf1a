"""Where the stack has no room left: blocks are left, the random state is kept, and what PyTorch nests is nested."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

import minigrad
from minigrad import nn
from minigrad.random import fork_rng
from minigrad.utils.checkpoint import checkpoint
from tests.reliability.state import modes

BLOCKS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "no_grad": minigrad.no_grad, "enable_grad": minigrad.enable_grad, "inference_mode": minigrad.inference_mode,
    "set_grad_enabled": lambda: minigrad.set_grad_enabled(True), "fork_rng": lambda: fork_rng(devices=[]),
    "detect_anomaly": lambda: minigrad.autograd.detect_anomaly(check_nan=False),
    "saved_tensors_hooks": lambda: minigrad.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    "save_on_cpu": minigrad.autograd.graph.save_on_cpu,
}


def deep(frames: int, act: Callable[[], None]) -> bool:
    """Act so many frames further down; whether there was room."""
    try:
        if not frames:
            act()
            return True
        return deep(frames - 1, act)
    except RecursionError:
        return False


@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")  # what it says is not what is tried
@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_at_any_depth_is_left(name: str) -> None:
    def act() -> None:
        with BLOCKS[name]():
            minigrad.rand(1) if name == "fork_rng" else None

    before, state, limit = modes(), minigrad.get_rng_state(), sys.getrecursionlimit()
    worked = [deep(frames, act) for frames in range(limit)]
    assert True in worked and False in worked
    assert modes() == before
    assert minigrad.get_rng_state().equal(state)
    with minigrad.no_grad():  # here is room to set the limit again, if there was none before
        pass
    assert sys.getrecursionlimit() == limit


def test_no_other_thread_lowers_the_limit_while_it_is_needed() -> None:
    """It stays raised where a block was left at the end of the stack, and the next may be entered even further down."""
    inside, outside, over = _thread.allocate_lock(), _thread.allocate_lock(), list[bool]()

    def other() -> None:
        while inside.acquire() and not over:
            with minigrad.no_grad():
                pass
            outside.release()

    def act() -> None:
        with minigrad.no_grad():
            inside.release()
            outside.acquire()

    inside.acquire()
    outside.acquire()
    thread, before, limit = threading.Thread(target=other), modes(), sys.getrecursionlimit()
    thread.start()
    worked = [deep(frames, act) for frames in range(limit)]
    over.append(True)
    inside.release()
    thread.join()
    assert True in worked and False in worked and modes() == before
    with minigrad.no_grad():  # here is room to set the limit again, if there was none before
        pass
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("name", ["no_grad", "inference_mode", "saved_tensors_hooks"])
def test_endless_recursion_under_a_block(name: str) -> None:
    def endless() -> None:
        with BLOCKS[name]():
            endless()

    before = modes()
    for _ in range(20):
        with pytest.raises(RecursionError):
            endless()
        assert modes() == before


def test_a_network_of_300_levels_is_printed() -> None:
    net: nn.Module = nn.Linear(1, 1)
    for _ in range(300):
        net = nn.Sequential(net)
    lines = repr(net).splitlines()
    assert len(lines) == 601
    assert lines[300].strip() == "(0): Linear(in_features=1, out_features=1, bias=True)"


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_nested_too_deep_raise_pythons_error_and_leave_nothing_on(use_reentrant: bool) -> None:
    def nested(levels: int) -> Callable[[minigrad.Tensor], minigrad.Tensor]:
        def function(x: minigrad.Tensor) -> minigrad.Tensor:
            if not levels:
                return x.sin()
            out: minigrad.Tensor = checkpoint(nested(levels - 1), x, use_reentrant=use_reentrant)
            return out

        return function

    before = modes()
    for levels in (100, 400):
        x = minigrad.zeros(2, requires_grad=True)
        if levels == 100:
            nested(levels)(x).sum().backward()
            assert x.grad is not None and x.grad.tolist() == [1, 1]
        else:
            with pytest.raises(RecursionError):
                nested(levels)(x).sum().backward()
        assert modes() == before
