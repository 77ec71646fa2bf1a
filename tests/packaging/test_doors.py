"""Every promised door opens with what its extra installs; a closed one says in a sentence which extra opens it."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import minigrad_widgets

pytestmark = pytest.mark.slow

# What no open door may need, and what the environment has besides NumPy and the wheel: linked, not installed again.
HEAVY = {"IPython", "PIL", "anywidget", "fast_sugiyama", "ipykernel", "ipywidgets", "jinja2", "matplotlib", "traitlets"}
TORCH = ("torch", "torchgen", "functorch", "filelock", "fsspec", "mpmath", "networkx", "nvidia", "sympy", "triton",
         "typing_extensions.py")
PYTEST = ("pytest", "_pytest", "iniconfig", "packaging", "pluggy", "py.py", "pygments")
RECORDERS = {"minigrad": "minigrad.recorder", "torch": "minigrad_widgets.torch_reader"}
SCRIPT = """
import sys

import {library} as torch
from {recorder} import record
from minigrad_widgets.doctor import checkup, explain

x = torch.tensor([1.0, 2.0], requires_grad=True)
with record() as trace:
    (x * x).sum().backward()
assert x.grad.tolist() == [2.0, 4.0]
assert "MulBackward0" in trace.text() and trace.to_json().startswith("{{")

model = torch.nn.Linear(2, 1)
report = checkup(lambda: model(torch.ones(3, 2)).sum().detach(), model=model)
assert not report.ok and "no-backward" in str(report)
assert "no-backward" in report.to_html("report.html") == open("report.html").read()

def twice():
    loss = (torch.ones(2, requires_grad=True) ** 2).sum()
    loss.backward()
    loss.backward()

told = explain(twice)
assert "retain_graph" in str(told) and "retain_graph" in told._repr_html_()

import minigrad_widgets

assert minigrad_widgets.checkup is checkup and minigrad_widgets.explain(twice).rule == told.rule
assert {{"Inspector", "checkup", "inspect"}} <= set(dir(minigrad_widgets))
print(minigrad_widgets.state_card(x=x))
"""
TEST = """
import {library} as torch
from minigrad_widgets.doctor import checkup
from {recorder} import record

def test_a_step():
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        (model(torch.ones(3, 2)) ** 2).sum().backward()
        optimizer.step()

    report = checkup(step, model=model, optimizer=optimizer)
    assert report.ok, str(report)
    with record() as trace:
        step()
    assert trace.events
"""
CLOSED = {
    "from minigrad_widgets import Inspector": ("traitlets", "widgets"),
    "from minigrad_widgets import inspect": ("traitlets", "widgets"),
    "from minigrad_widgets import state_card; state_card().to_png()": ("PIL", "widgets"),
    "from minigrad_widgets.torch_reader import record": ("torch", "torch"),
}


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with NumPy and the wheel."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "numpy", wheel]
    done = subprocess.run(install, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder; of what is set around it, it sees nothing."""
    return subprocess.run([python, "-I", *arguments], cwd=folder, capture_output=True, text=True)


def link(python: Path, *names: str) -> None:
    """Make packages of this environment, and no others, importable in that one."""
    (site,) = (python.parent.parent).glob("[Ll]ib/**/site-packages")
    for name in names:
        found = importlib.util.find_spec(name.removesuffix(".py"))
        if found is not None and not (site / name).exists():
            places = [found.origin] if name.endswith(".py") else list(found.submodule_search_locations or ())
            (site / name).symlink_to(str(places[0]))


@pytest.mark.parametrize("code", CLOSED)
def test_a_closed_door_names_its_extra_in_one_sentence(code: str, bare: Path, tmp_path: Path) -> None:
    package, extra = CLOSED[code]
    done = run(bare, tmp_path, "-c", code)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith(f'{package} is not installed. It comes with: python -m pip install "minigrad-kit[{extra}]"')


@pytest.mark.parametrize("library", RECORDERS)
def test_the_recorder_and_the_doctor_need_no_jupyter(library: str, bare: Path, tmp_path: Path) -> None:
    if library == "torch":
        pytest.importorskip("torch")
        link(bare, *TORCH)
    link(bare, *PYTEST)
    names = {"library": library, "recorder": RECORDERS[library]}
    (tmp_path / "test_training.py").write_text(TEST.format(**names))
    loaded = f"print(sorted({HEAVY} & sys.modules.keys()))"
    done = run(bare, tmp_path, "-W", "error", "-c", SCRIPT.format(**names) + loaded)
    assert done.returncode == 0, done.stderr
    *card, heavy = done.stdout.splitlines()
    assert heavy == "[]" and card[-1].startswith("x  [2] float32")
    tested = run(bare, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_training.py")
    assert tested.returncode == 0, tested.stdout


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, minigrad_widgets; print(sorted({HEAVY} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_type_checkers_see_the_names_that_are_loaded_later() -> None:
    stub = ast.parse(Path(minigrad_widgets.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    told = {alias.asname: f"{line.module}" for line in stub.body if isinstance(line, ast.ImportFrom)
            for alias in line.names if alias.asname}
    assert told == {name: f"minigrad_widgets.{module}" for name, module in minigrad_widgets.MODULES.items()}
