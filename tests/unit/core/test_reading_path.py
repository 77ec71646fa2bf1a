"""What runs in `z = x * y; z.backward()` of two scalars is no more than it was."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

from minigrad.core import engine
from tests.reading_path import reading_path

ROOT = Path(__file__).parents[3]

# Not to be raised.
FILES, LINES, FUNCTION_LINES, EXECUTED = 8, 1800, 350, 160
LOOP_LINES, LOOP_NAMES = 50, 15


def test_the_reading_path_does_not_grow():
    """In a process of its own: other tests may have left a second device, or a warning filter."""
    done = subprocess.run([sys.executable, "-m", "tests.reading_path"], capture_output=True, text=True, check=True,
                          cwd=ROOT)
    files, lines, _, function_lines, executed = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert executed > 100
    assert files <= FILES, done.stdout
    assert lines <= LINES, done.stdout
    assert function_lines <= FUNCTION_LINES, done.stdout
    assert executed <= EXECUTED, done.stdout


def test_the_loop_of_a_backward_pass_is_short():
    lines, _ = inspect.getsourcelines(engine.run)
    assert len(lines) <= LOOP_LINES
    assert len(engine.run.__code__.co_varnames) <= LOOP_NAMES


def test_what_runs_is_counted(tmp_path: Path) -> None:
    """A file, a function and its lines are seen; what does not run is not."""
    file, scope = tmp_path / "planted.py", {}
    file.write_text("def f(n):\n    if n:\n        return 1\n    return 2\n\n\ndef g():\n    pass\n")
    exec(compile(file.read_text(), str(file), "exec"), scope)
    path = reading_path(lambda: scope["f"](1), str(tmp_path))
    assert path.files == {"planted.py": 8}
    assert path.functions == {"planted.py: f": 4}
    assert path.executed == 2
