"""The scripts of examples/, run under both libraries: one file each, and the same losses with the same seed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch
EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(script, lib, *options):
    """What an example prints; warnings are errors there too."""
    command = [sys.executable, "-W", "error", EXAMPLES / script, "--lib", lib, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(text):
    """The losses of the first steps as they are printed, to three digits."""
    return re.findall(r"^step +\d+  loss (\S+)$", text, re.MULTILINE)


@pytest.mark.parametrize("script, options", [
    ("digits.py", ("--model", "mlp", "--epochs", 3)),
    ("digits.py", ("--model", "cnn", "--epochs", 3)),
    ("characters.py", ("--steps", 50, "--write", 0)),
])
def test_both_libraries_print_the_same_losses(torch, script, options):
    mine, reference = (losses(printed(script, lib, *options)) for lib in ("minigrad", "torch"))
    assert len(mine) == 50
    assert mine == reference


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_digits_are_learned(model):
    text = printed("digits.py", "minigrad", "--model", model)
    assert float(re.search(r"^test accuracy (\S+)$", text, re.MULTILINE)[1]) >= 0.97
