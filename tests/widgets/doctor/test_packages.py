"""Findings about lines of installed packages: the user's line that led there comes first, the package's beside it."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from minigrad_widgets import checkup, explain

PACKAGE = """
import {library} as torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 3)

    def forward(self, x):
        h = torch.relu(self.first(x)).detach()
        return self.scored(h)

    def scored(self, h):
        return torch.softmax(self.last(h), 1)

def loss_of(p, y):
    return torch.nn.functional.cross_entropy(p, y)

def train(model, x, y):
    model.zero_grad()
    loss_of(model(x), y).backward()

def doubled(h):
    return h.mul_(2)

def distance(p, y):
    return torch.nn.functional.mse_loss(p, y)
"""
CUT, SOFTMAX = "h = torch.relu(self.first(x)).detach()", "return torch.softmax(self.last(h), 1)"
LOSS = "return torch.nn.functional.cross_entropy(p, y)"
BESIDE = "the line of the package"


@pytest.fixture
def package(torch: Any, tmp_path: Path) -> Any:
    """A package that is installed, with a model and a loss."""
    path = tmp_path / "site-packages" / "package" / "__init__.py"
    path.parent.mkdir(parents=True)
    path.write_text(PACKAGE.format(library=torch.__name__))
    names: dict[str, Any] = {"__name__": "package"}
    exec(compile(path.read_text(), path, "exec"), names)
    return SimpleNamespace(**names)


def places(finding: Any) -> list[tuple[str, str]]:
    return [(each.source, each.role) for each in finding.where]


def batch(torch: Any) -> tuple[Any, Any]:
    return torch.randn(16, 8), torch.randint(3, (16,))


def test_the_users_line_comes_before_the_package_that_it_calls(torch: Any, package: Any) -> None:
    model, (x, y) = package.Net(), batch(torch)

    def step() -> None:
        model.zero_grad()
        scores = model(x)
        loss = package.loss_of(scores, y)
        loss.backward()

    report = checkup(step, model=model)
    cut, twice = report.findings
    assert places(cut) == [("scores = model(x)", "cut here"), (CUT, BESIDE),
                           ("loss.backward()", "backward starts here")]
    assert places(twice) == [("scores = model(x)", "softmax here"), (SOFTMAX, BESIDE),
                             ("loss = package.loss_of(scores, y)", "and again here"), (LOSS, BESIDE)]
    assert cut.where[0].file == "test_packages.py" and cut.where[1].file == "__init__.py"
    assert str(report).index("scores = model(x)  # cut here") < str(report).index(f"{CUT}  # {BESIDE}")
    page = report.to_html()
    assert page.index("<td>cut here</td>") < page.index(f"<td>{BESIDE}</td>")


def test_a_line_that_led_to_two_of_the_package_is_said_once(torch: Any, package: Any) -> None:
    model, (x, y) = package.Net(), batch(torch)

    def step() -> None:
        model.zero_grad()
        package.loss_of(model(x), y).backward()

    _, twice = checkup(step, model=model).findings
    assert places(twice) == [("package.loss_of(model(x), y).backward()", "softmax here"), (SOFTMAX, BESIDE),
                             (LOSS, "and again here")]


def test_all_of_the_users_lines_that_led_to_one(torch: Any, package: Any) -> None:
    model, (x, y) = package.Net(), batch(torch)

    def step() -> None:
        model.zero_grad()
        one = model(x)
        two = model(-x)
        torch.nn.functional.nll_loss((one + two).log(), y).backward()

    cut = next(each for each in checkup(step, model=model).findings if each.rule == "cut-graph")
    assert places(cut)[:3] == [("one = model(x)", "cut here"), ("two = model(-x)", "cut here"), (CUT, BESIDE)]


def test_a_step_of_the_package_alone_has_its_own_lines(torch: Any, package: Any) -> None:
    model = package.Net()
    cut, twice = checkup(functools.partial(package.train, model, *batch(torch)), model=model).findings
    assert places(cut) == [(CUT, "cut here"), ("loss_of(model(x), y).backward()", "backward starts here")]
    assert places(twice) == [(SOFTMAX, "softmax here"), (LOSS, "and again here")]


def test_an_error_that_a_package_prepared(torch: Any, package: Any) -> None:
    def program() -> None:
        h = torch.ones(3, requires_grad=True).exp()
        package.doubled(h)
        h.sum().backward()

    got = explain(program)
    assert got.rule == "inplace-on-saved"
    assert places(got)[:2] == [("package.doubled(h)", "changed here"), ("return h.mul_(2)", BESIDE)]


@pytest.mark.filterwarnings("ignore:Using a target size")  # which is explained, and shown again
def test_a_warning_about_a_line_of_a_package(torch: Any, package: Any) -> None:
    p = torch.ones(4, 1, requires_grad=True)
    (warning,) = explain(lambda: package.distance(p, torch.ones(4))).warnings
    assert warning.rule == "broadcast-loss" and warning.where[0].file == "test_packages.py"
    assert places(warning)[1] == ("return torch.nn.functional.mse_loss(p, y)", BESIDE)
