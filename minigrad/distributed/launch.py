"""Starts a program in several processes: `minigrad run -n 4 train.py`, as `torchrun` and `mpiexec` do.

It calls MPI's `mpiexec`, the one beside this Python if there is one. The output of each rank is prefixed with its
number. When one rank fails, all end, and the last line says which one it was; nothing is left running.
"""

import argparse
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

__all__ = ["main", "mpiexec"]

NO_MPI = 'there is no mpiexec. One comes with: python -m pip install "minigrad-kit[mpi]"'
PREFIXES = {"HYDRA": ["-prepend-rank"], "Open MPI": ["--tag-output"], "OpenRTE": ["--tag-output"]}
GRACE = 1.0  # seconds in which ranks may end by themselves after one has failed
PAUSE = 0.05


def mpiexec() -> str | None:
    """Return the path of `mpiexec`: beside Python, or on the search path."""
    beside = Path(sys.executable).parent / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status is 0 if every rank's was, else 1, or 2 if it cannot begin."""
    parser = argparse.ArgumentParser(prog="minigrad run", description="Starts a program in several processes.")
    parser.add_argument("-n", type=positive, default=2, metavar="N", help="how many (default: 2)")
    parser.add_argument("program", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets in sys.argv")
    options = parser.parse_args(arguments)
    if not Path(options.program).is_file():
        return complain(f"there is no file {options.program}")
    if (path := mpiexec()) is None:
        return complain(NO_MPI)
    with tempfile.TemporaryDirectory(prefix="minigrad-run-") as folder:
        return Job(path, options.n, folder, [options.program, *options.arguments]).run()


def positive(text: str) -> int:
    """Parse a number of processes."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of processes: it is 1 or more")
    return int(text)


def complain(text: str) -> int:
    """Say why the command cannot begin."""
    print(f"minigrad run: {text}", file=sys.stderr)
    return 2


class Job:
    """The processes of one run."""

    def __init__(self, path: str, count: int, folder: str, program: list[str]) -> None:
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        prefix = next((options for name, options in PREFIXES.items() if name in version), [])
        rank = [sys.executable, str(Path(__file__).with_name("rank.py")), folder, *program]
        self.command, self.folder = [path, "-n", str(count), *prefix, *rank], Path(folder)

    def run(self) -> int:
        """Start the processes, and wait until all have ended."""
        environment = {"OMP_NUM_THREADS": "1", **os.environ}
        previous = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGINT)}
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                   text=True, encoding="utf-8", errors="replace", start_new_session=True)
        readers = [threading.Thread(target=copy, args=streams)
                   for streams in ((process.stdout, sys.stdout), (process.stderr, sys.stderr))]
        for reader in readers:
            reader.start()
        try:
            while process.poll() is None and not self.failures():
                time.sleep(PAUSE)
            if process.poll() is None:
                wait_until(lambda: process.poll() is not None, GRACE)
        except KeyboardInterrupt:
            return complain("interrupted") and 130
        finally:
            self.end(process)
            for reader in readers:
                reader.join()
            for number, handler in previous.items():
                signal.signal(number, handler)
        return self.report(process.returncode)

    def failures(self) -> dict[str, str]:
        """Return what has gone wrong, by rank, in order of time."""
        notes = sorted(self.folder.glob("failed.*"), key=lambda path: path.stat().st_mtime_ns)
        return {path.suffix[1:]: path.read_text(encoding="utf-8") for path in notes}

    def pids(self) -> list[int]:
        return [int(word) for path in self.folder.glob("rank.*") for word in path.read_text(encoding="utf-8").split()]

    def end(self, process: subprocess.Popen[Any]) -> None:
        """End what is still running: politely through MPI, then one by one."""
        if process.poll() is None:
            process.terminate()
            if not wait_until(lambda: process.poll() is not None, 5 * GRACE):
                process.kill()
                process.wait()
        left = [pid for pid in self.pids() if alive(pid)]
        wait_until(lambda: not any(map(alive, left)), GRACE)
        for pid in filter(alive, left):
            os.kill(pid, signal.SIGKILL)

    def report(self, status: int) -> int:
        """Say which rank failed, if one did."""
        for rank, why in self.failures().items():
            return complain(f"all ranks were ended, since rank {rank} {why}") and 1
        return complain(f"mpiexec ended with status {status}") and 1 if status else 0


def copy(output: IO[str], to: IO[str]) -> None:
    """Print what the ranks print, but not MPI's long note about a process that has failed: `report` is shorter.

    A rank that is killed may leave half a line; a line break is added, so that what follows has its own line.
    """
    for line in itertools.takewhile(lambda line: not line.startswith("====="), output):
        print(line.removesuffix("\n"), file=to, flush=True)
    for _ in output:
        pass


def interrupt(number: int, frame: Any) -> None:
    """Treat SIGTERM like Ctrl-C."""
    raise KeyboardInterrupt


def wait_until(over: Callable[[], bool], seconds: float) -> bool:
    """Return whether something was over within `seconds` seconds."""
    end = time.monotonic() + seconds
    while not over() and time.monotonic() < end:
        time.sleep(PAUSE)
    return over()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
