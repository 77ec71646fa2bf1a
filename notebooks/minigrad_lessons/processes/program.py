"""What each process of `ranks` runs: its text is copied into the folder of a job, and started there.

It imports nothing of the lessons, and minigrad only where the program needs it, since two processes that start on two
cores have to start fast.
"""

import __future__

import contextlib
import importlib
import io
import os
import pickle
import signal
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any


class Pickler(pickle.Pickler):
    """Sends recordings as plain data."""

    def reducer_override(self, value: Any) -> Any:
        """How a recording is made again; nothing else is special."""
        recorder = sys.modules.get("minigrad.recorder")  # without it there is no recording
        if recorder is None or not isinstance(value, recorder.Trace):
            return NotImplemented
        return recorder.Trace.from_dict, (value.to_dict(),)


def pickled(value: Any) -> bytes:
    """A value as bytes."""
    out = io.BytesIO()
    Pickler(out).dump(value)
    return out.getvalue()


def begin(folder: Path, seconds: float) -> tuple[int, Any]:
    """Join the other ranks, through gloo where the program is one for PyTorch, and seed the random numbers.

    Gives the rank, and the module to leave them with.
    """
    limit, rank = timedelta(seconds=seconds), int(os.environ["RANK"])
    if "torch" in sys.modules:
        library, group = importlib.import_module("torch"), importlib.import_module("torch.distributed")
        group.init_process_group("gloo", init_method=f"file://{folder}/store", timeout=limit, rank=rank,
                                 world_size=int(os.environ["WORLD_SIZE"]))
    else:
        library, group = importlib.import_module("minigrad"), importlib.import_module("minigrad.distributed")
        group.init_process_group("mpi", timeout=limit)
    library.manual_seed(rank)
    return rank, group


def main(folder: Path) -> None:
    """Run the function of a job as one rank."""
    modules, imported, data, program, given, seconds = pickle.loads((folder / "job").read_bytes())
    if hasattr(signal, "setitimer"):  # ends this process, whatever it does then
        signal.setitimer(signal.ITIMER_REAL, seconds)
    names: dict[str, Any] = {"__name__": "cell"}
    names |= {name: importlib.import_module(module) for name, module in modules.items()}
    names |= {name: getattr(importlib.import_module(module), attribute)
              for name, (module, attribute) in imported.items()}
    names |= data
    cell = folder / "cell.py"
    rank, group = begin(folder, seconds / 3)
    printed = io.StringIO()
    try:
        exec(compile(cell.read_text(encoding="utf-8"), str(cell), "exec", __future__.annotations.compiler_flag), names)
        with contextlib.redirect_stdout(printed):
            returned = names[program](*[names[each] for each in given])
        told = pickled((printed.getvalue(), returned))
    except BaseException as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(cell)]
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        leave(folder / f"raised.{rank}", pickled((text, lines[-1] if lines else 0, printed.getvalue())))
        raise
    leave(folder / f"returned.{rank}", told)
    group.destroy_process_group()


def leave(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole, or not at all."""
    path.with_name(f"part.{path.name}").write_bytes(content)
    path.with_name(f"part.{path.name}").rename(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
