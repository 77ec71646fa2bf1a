"""Runs a function of a lesson in several processes: `ranks(2, program)` gives what each of them returned.

`minigrad run` starts the processes and ends all of them when one fails. They do not share the notebook's memory: each
gets the text of the function, of the functions and classes that it names, the modules that it names, and a copy of the
data. There each runs the function as a rank of a process group, and sends back what it returned and printed.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import pickle
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from minigrad import distributed
from minigrad.distributed import launch

__all__ = ["RankError", "ranks"]

WORKER = Path(__file__).with_name("program.py")
NO_MPI = ("This cell starts several processes, which need mpi4py and an MPI. Both come with: "
          'python -m pip install "minigrad-kit[mpi]"')
IN_BROWSER = ("This cell starts several processes, which no browser can. Run the lesson in JupyterLab, in an "
              'environment with: python -m pip install "minigrad-kit[lessons,mpi]"')
SECONDS, GRACE = 60.0, 15.0  # what a rank may take, and what it may take to start and to end it
ALARM = "was ended by signal 14 (SIGALRM)"
GLOO = "Resource deadlock avoided"  # what C++ says then, before the process ends
CELL = "__main__"


class RankError(RuntimeError):
    """A rank failed, or there are none. In a notebook its sentence is all that is shown."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints."""
        return [str(self)]


class GlooError(RankError):
    """A rank of PyTorch's ended in gloo, as on a busy machine one does now and then: they are worth a second try."""


@dataclass
class Job:
    """What each rank needs to run the function, by name."""

    own: str  # the module of the function itself; what else stands in it is sent as text, too
    modules: dict[str, str] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, value: Any) -> None:
        """Put in a value that is known by this name, and what it needs in turn."""
        if isinstance(value, ModuleType):
            self.modules[name] = value.__name__
        elif (found := home(value, self.own)) is not None:
            self.imported[name] = found
        elif isinstance(value, FunctionType | type):
            if value.__name__ not in self.sources:
                self.sources[value.__name__] = ""  # it may name itself
                text = source_of(value)
                for each, around in needed(value, text).items():
                    if each not in self.known():
                        self.add(each, around)
                del self.sources[value.__name__]  # what it needs stands above it
                self.sources[value.__name__] = text
            if name != value.__name__:
                self.sources[name] = f"{name} = {value.__name__}\n"
        else:
            self.data[name] = value

    def known(self) -> set[str]:
        """The names that are there."""
        return self.modules.keys() | self.imported.keys() | self.sources.keys() | self.data.keys()


def home(value: Any, own: str) -> tuple[str, str] | None:
    """The module and the name by which a rank can import it; the lessons' own functions are sent instead."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if not isinstance(module, str) or module in (CELL, own) or module.startswith("minigrad_lessons."):
        return None
    return (module, name) if getattr(sys.modules.get(module), name, None) is value else None


def functions(value: Any) -> list[FunctionType]:
    """The function itself, or the methods of a class."""
    found = list(vars(value).values()) if isinstance(value, type) else [value]
    return [inspect.unwrap(each) for each in found if isinstance(each, FunctionType)]


def needed(value: Any, text: str) -> dict[str, Any]:
    """What a function or a class names outside of itself, by name."""
    names = {node.id for node in ast.walk(outside(ast.parse(text))) if isinstance(node, ast.Name)}
    around: dict[str, Any] = {}
    for each in functions(value):
        around |= {**each.__globals__, **inspect.getclosurevars(each).nonlocals}
        names.update(names_in(each.__code__))
    return {name: around[name] for name in sorted(names) if name in around}


def outside(tree: ast.AST) -> ast.AST:
    """The tree without the bodies of its functions, and without annotations."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body, node.returns = [], None
            for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
                each.annotation = None
    return tree


def names_in(code: CodeType) -> Iterator[str]:
    """All names that code looks up outside of itself, functions in it included."""
    yield from (name for name in code.co_freevars if name != "__class__")
    yield from (each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def source_of(value: Any) -> str:
    """The text of a function or a class, also of one in a cell.

    Raises:
        ValueError: for a lambda.
    """
    if isinstance(value, FunctionType):
        if value.__name__ == "<lambda>":
            raise ValueError("ranks needs the text of a function: write it with def, not with lambda")
        return textwrap.dedent(inspect.getsource(value))
    text = "".join(linecache.getlines(functions(value)[0].__code__.co_filename))
    tree = next(node for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.ClassDef) and node.name == value.__name__)
    return textwrap.dedent(ast.get_source_segment(text, tree, padded=True) or "")


def ranks(count: int, program: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> list[Any]:
    """Run `program(*arguments)` in so many processes; gives what each returned, by rank.

    What they print is printed when all have ended, rank by rank. The seed of each rank's random numbers is its rank.

    Raises:
        RankError: if one of them fails, or takes longer than `seconds`; or without MPI.
        ValueError: for a lambda.
    """
    if not distributed.is_available() or launch.mpiexec() is None:
        raise RankError(IN_BROWSER if sys.platform == "emscripten" else NO_MPI)
    job = Job(program.__module__)
    job.add(program.__name__, program)
    given = [value.__name__ if isinstance(value, FunctionType | type) else f"argument {number}"
             for number, value in enumerate(arguments)]
    for name, value in zip(given, arguments):
        job.add(name, value)
    call = job, program.__name__, given
    try:
        return run(count, *call, seconds)
    except GlooError:
        return run(count, *call, seconds)


def run(count: int, job: Job, program: str, given: list[str], seconds: float) -> list[Any]:
    """Run the program of a job in so many processes, in a folder of their own; gives what each returned, by rank."""
    with tempfile.TemporaryDirectory(prefix="minigrad-ranks-") as folder:
        text = "\n\n".join(job.sources.values())
        Path(folder, "cell.py").write_text(text, encoding="utf-8")
        Path(folder, "job").write_bytes(pickle.dumps(
            (job.modules, job.imported, job.data, program, given, seconds)))
        Path(folder, "program.py").write_text(WORKER.read_text(encoding="utf-8"), encoding="utf-8")
        said = start(count, folder, seconds)
        return results(count, Path(folder), text, said, seconds)


def start(count: int, folder: str, seconds: float) -> str:
    """Start the ranks and wait for them; gives what the launcher said. Whatever happens, they end."""
    command = [sys.executable, launch.__file__, "-n", str(count), str(Path(folder, "program.py")), folder]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True, encoding="utf-8", errors="replace", start_new_session=True)
    try:
        return process.communicate(timeout=seconds + GRACE)[1]
    except subprocess.TimeoutExpired:
        return ALARM
    finally:
        if process.poll() is None:
            process.terminate()  # the launcher then ends the ranks
            process.wait()


def results(count: int, folder: Path, text: str, said: str, seconds: float) -> list[Any]:
    """What the ranks returned; prints what they printed.

    Raises:
        RankError: if one of them failed.
    """
    found = [folder / f"returned.{rank}" for rank in range(count)]
    if GLOO in said and not all(path.exists() for path in found):
        raise GlooError(f"A rank of PyTorch's ended in gloo: {GLOO}.")
    if failed := sorted(folder.glob("raised.*"), key=lambda path: path.stat().st_mtime_ns):
        raised, line, printed = pickle.loads(failed[0].read_bytes())
        which, lines = failed[0].suffix[1:], text.splitlines()
        show(which, printed)
        where = f"\n    {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""
        raise RankError(f"Rank {which} raised {raised}{where}")
    if not all(path.exists() for path in found):
        if ALARM in said:
            raise RankError(f"The ranks did not end within {seconds:g} seconds.")
        raise RankError("The ranks failed: " + (said.strip().splitlines() or ["nobody says why"])[-1])
    pairs = [pickle.loads(path.read_bytes()) for path in found]
    for rank, (printed, _) in enumerate(pairs):
        show(rank, printed)
    return [returned for _, returned in pairs]


def show(rank: object, printed: str) -> None:
    """Print what a rank has printed, with its number in front."""
    for line in printed.splitlines():
        print(f"[{rank}] {line}")
