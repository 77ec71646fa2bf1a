"""`ranks`: what a function in several processes is given and gives back, how failures are told, and what is left."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.jobs import ROOT, need_mpi

need_mpi()

import minigrad as torch
import minigrad.distributed as dist
from minigrad.recorder import Trace, record
from minigrad_lessons import ranks
from minigrad_lessons.processes.ranks import RankError
from minigrad_widgets import inspect
from tests.groups import has_torch, require
from tests.packaging.lab import heed_interrupts

FACTOR = 3.0
DATA = torch.tensor([1.0, 2.0])
Becomes = Callable[[int, float], bool]


@pytest.fixture(autouse=True)
def becomes(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Becomes:
    """Whether ranks has so many processes running within some seconds: at least so many, or none.

    A folder of the test's own, for temporary files, is in their command lines: other tests have ranks running, too.
    """
    folder = str(tmp_path_factory.mktemp("ranks"))
    monkeypatch.setenv("TMPDIR", folder)
    monkeypatch.setattr(tempfile, "tempdir", folder)

    def reached(count: int) -> bool:
        listed = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        running = sum(folder in line for line in listed.splitlines())  # `ww`: no line is cut, whatever COLUMNS says
        return running >= count if count else running == 0

    def within(count: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not (found := reached(count)) and time.monotonic() < end:
            time.sleep(0.1)
        return found

    return within


def doubled(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*given: Any) -> Any:
        return 2 * function(*given)
    return wrapper


@doubled
def scaled(x: Any) -> Any:
    return x * FACTOR


class Layer(torch.nn.Module):
    """Named by a function, not handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(DATA.clone())

    def forward(self, x: Any) -> Any:
        return scaled(x) * self.w


def program(x: Any, function: Any, offset: float = FACTOR) -> list[float]:
    print("rank", dist.get_rank(), "of", dist.get_world_size())
    total = Layer()(x).detach() + offset
    dist.all_reduce(total)
    result: list[float] = function(total).tolist()
    return result


def test_a_function_gets_what_it_names_and_the_results_come_by_rank(capsys: pytest.CaptureFixture[str]) -> None:
    given = torch.tensor([1.0, 1.0])
    assert ranks(2, program, given, scaled) == [[108.0, 180.0]] * 2
    assert capsys.readouterr().out == "[0] rank 0 of 2\n[1] rank 1 of 2\n"


def test_functions_inside_of_functions_and_recordings() -> None:
    start = 5.0

    def inner() -> Any:
        w = torch.full((1,), start, requires_grad=True)
        with record(times=True) as trace:
            (w * torch.randn(1)).sum().backward()
            dist.all_reduce(w.detach())
        return trace, torch.rand(1).item()

    found = ranks(2, inner)
    traces = [trace for trace, _ in found]
    assert all(isinstance(trace, Trace) for trace in traces)
    assert traces[0].files[0]["name"] == "cell.py"
    assert found[0][1] != found[1][1]  # each rank has a seed of its own
    wanted = "RankLanes, 2 ranks\nrank 0: all_reduce(float32 [1], SUM)\nrank 1: all_reduce(float32 [1], SUM)"
    assert repr(inspect(traces)) == wanted
    with pytest.raises(ValueError, match="write it with def"):
        ranks(1, lambda: 7)


def fails(how: str) -> None:
    if dist.get_rank() == 1:
        print("until here")
        if how == "raises":
            raise ValueError("no such thing\nand more")
        if how == "leaves":
            return
        while how == "hangs":
            time.sleep(0.1)
    dist.barrier()


@pytest.mark.parametrize(("how", "said"), [
    ("raises", 'Rank 1 raised ValueError: no such thing\n    raise ValueError("no such thing\\nand more")'),
    ("leaves", "Rank 0 raised DistBackendError: Rank 1 has left the process group"),
    ("hangs", "Rank 0 raised DistBackendError"),
])
def test_a_failure_is_one_sentence_and_leaves_nothing(how: str, said: str, capsys: pytest.CaptureFixture[str],
                                                      becomes: Becomes) -> None:
    with pytest.raises(RankError) as caught:
        ranks(2, fails, how, seconds=15.0 if how == "hangs" else 120.0)
    assert capsys.readouterr().out == ("[1] until here\n" if how == "raises" else "")
    assert said in str(caught.value) and caught.value._render_traceback_() == [str(caught.value)]
    assert becomes(0, 60)


def test_a_loop_without_end_is_ended(becomes: Becomes) -> None:
    def busy() -> None:
        while True:
            pass

    with pytest.raises(RankError, match=r"^The ranks did not end within 2 seconds\.$"):
        ranks(2, busy, seconds=2.0)
    assert becomes(0, 60)


FOREVER = """from minigrad_lessons import ranks
def forever():
    while True: pass
ranks(2, forever, seconds=20)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_when_the_kernel_is_stopped_or_killed_nothing_is_left(tmp_path: Path, number: signal.Signals,
                                                              becomes: Becomes) -> None:
    (tmp_path / "forever.py").write_text(FOREVER, encoding="utf-8")
    kernel = subprocess.Popen([sys.executable, str(tmp_path / "forever.py")], cwd=ROOT, stderr=subprocess.DEVNULL,
                              preexec_fn=heed_interrupts if os.name == "posix" else None)
    assert becomes(6, 60)  # the launcher, mpiexec, and two processes for each rank
    kernel.send_signal(number)
    kernel.wait(60)
    assert becomes(0, 60)


def test_in_a_browser_one_sentence_says_where_to_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "is_available", lambda: False)
    monkeypatch.setattr(sys, "platform", "emscripten")
    with pytest.raises(RankError, match="no browser can. Run the lesson in JupyterLab"):
        ranks(2, scaled, 1.0)


def test_without_mpi_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "is_available", lambda: False)
    with pytest.raises(RankError, match=r'pip install "minigrad-kit\[mpi\]"$'):
        ranks(2, scaled, 1.0)


def test_programs_for_pytorch_run_over_gloo() -> None:
    require("torch", has_torch(), "PyTorch 2.13 is not installed")

    def summed(torch: Any) -> Any:
        t = torch.full((2,), 1.0 + torch.distributed.get_rank())
        torch.distributed.all_reduce(t)
        return torch.distributed.get_backend(), t.tolist()

    import torch as pytorch  # noqa: PLC0415 (where it is installed)

    assert ranks(2, summed, pytorch) == [("gloo", [3.0, 3.0])] * 2


@pytest.mark.parametrize("times", [1, 2])
def test_what_fails_in_gloo_gets_a_second_try(times: int, tmp_path: Path) -> None:
    def fails_as_gloo_does(folder: str, times: int) -> int:
        tries = len(os.listdir(folder)) + 1
        dist.barrier()
        if dist.get_rank() == 1 and tries <= times:
            open(f"{folder}/{tries}", "w").close()
            print("  what():  Resource deadlock avoided", file=sys.stderr, flush=True)
            os.abort()
        dist.barrier()
        return tries

    if times == 1:
        assert ranks(2, fails_as_gloo_does, str(tmp_path), times) == [2, 2]
        return
    with pytest.raises(RankError, match=r"^A rank of PyTorch's ended in gloo: Resource deadlock avoided\.$"):
        ranks(2, fails_as_gloo_does, str(tmp_path), times)
