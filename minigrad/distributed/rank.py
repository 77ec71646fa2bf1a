"""Runs a program as one rank, and notes how it ended: what `minigrad run` starts through MPI.

    python .../rank.py FOLDER program.py ...

The notes in FOLDER are for the launcher, which can then say who failed. The program runs in a child of this process,
which imports only modules of the standard library: so even a rank that is killed leaves a note.
"""

import ctypes
import io
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path

__all__ = ["main"]

VARIABLES = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMIX_RANK", "PMIX_SIZE"))
OURS = {str(Path(__file__)), runpy.__file__, "<frozen runpy>"}


def rank_and_size() -> tuple[str, str]:
    """Return the rank and size from MPI's launcher; without a launcher, rank 0 of 1."""
    for rank, size in VARIABLES:
        if rank in os.environ:
            return os.environ[rank], os.environ.get(size, "")
    return "0", "1"


def main(arguments: list[str]) -> int:
    """Run the program; the exit status is its own, or 1 after an error."""
    folder, program, *rest = arguments
    rank, size = rank_and_size()
    os.environ.update(RANK=rank, WORLD_SIZE=size)  # programs for PyTorch's launcher read these
    parent = os.getpid()
    if hasattr(os, "fork") and (child := os.fork()) != 0:
        Path(folder, f"rank.{rank}").write_text(f"{parent} {child}", encoding="utf-8")
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0:
            note(folder, rank, f"was ended by signal {-status} ({signal.Signals(-status).name})")
        return status if status >= 0 else 128 - status
    end_with(parent)
    sys.argv, sys.path[0] = [program, *rest], str(Path(program).resolve().parent)
    return run(folder, program, rank)


def end_with(parent: int) -> None:
    """Make Linux end this process when its parent ends, for whatever reason; elsewhere the launcher does so, later."""
    if sys.platform == "linux":
        set_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(1)


def run(folder: str, program: str, rank: str) -> int:
    """Run the program in this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a rank's lines appear at once and whole, PYTHONUNBUFFERED or not
            stream.reconfigure(line_buffering=True, write_through=False)
    try:
        runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            note(folder, rank, f"ended with sys.exit({end.code!r})")
        raise
    except BaseException as error:  # noqa: BLE001 (printed as Python would, without the frames of this file)
        text = "".join(traceback.format_exception_only(error)).strip().partition("\n")[0]
        note(folder, rank, f"raised {text}")
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in OURS:
            frames = frames.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)  # ends all ranks of a process group
        return 1
    return 0


def note(folder: str, rank: str, text: str) -> None:
    """Leave a note for the launcher, which reads whole notes only."""
    path = Path(folder, f"note.{rank}")
    path.write_text(text, encoding="utf-8")
    path.rename(Path(folder, f"failed.{rank}"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
