"""The scripts of examples/, run under both libraries: one file each, and the same losses with the same seed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch
EXAMPLES = Path(__file__).parents[2] / "examples"


def printed(script, *options):
    """What an example prints; warnings are errors there too."""
    command = [sys.executable, "-W", "error", EXAMPLES / script, *map(str, options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(text):
    """The losses of the first steps as they are printed, to three digits."""
    return re.findall(r"^step +\d+  loss (\S+)$", text, re.MULTILINE)


@pytest.mark.parametrize("script, options, count", [
    ("digits.py", ("--model", "mlp", "--epochs", 3), 50),
    ("digits.py", ("--model", "cnn", "--epochs", 3), 50),
    ("characters.py", ("--steps", 20, "--write", 0), 20),
])
def test_both_libraries_print_the_same_losses(torch, script, options, count):
    mine, reference = (losses(printed(script, "--lib", lib, *options)) for lib in ("minigrad", "torch"))
    assert len(mine) == count
    assert mine == reference


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_a_compiled_step_prints_the_same_losses(model):
    options = ("digits.py", "--lib", "minigrad", "--model", model, "--epochs", 3)
    assert losses(printed(*options, "--compile")) == losses(printed(*options))


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_digits_are_learned(model):
    text = printed("digits.py", "--lib", "minigrad", "--model", model)
    assert float(re.search(r"^test accuracy (\S+)$", text, re.MULTILINE)[1]) >= 0.97


def test_saved_tensors_are_elsewhere():
    rows = re.findall(r"^(in the graph|save_on_cpu|on disk) +(\S+) +(\S+) +(\S+)  (\S+)$", printed("offload.py"),
                      re.MULTILINE)
    held = {name: tuple(int(number.replace(",", "")) for number in numbers) for name, *numbers, _ in rows}
    least = 9 * 512 * 256 * 4  # the input and eight results
    assert held["in the graph"] == held["save_on_cpu"] == (least, 0, 0)
    assert held["on disk"][0] == held["on disk"][2] == 0 and held["on disk"][1] > least
    assert [same for *_, same in rows] == ["True"] * 3
