"""In Colab `pip install "minigrad-kit[widgets]"` adds packages, and leaves those that are there as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LIST = Path(__file__).with_name("colab.txt")
NEW = {"fast-sugiyama"}  # what Colab does not have, and pip therefore adds


def runtime() -> dict[str, Version]:
    """The version of each package that Colab's runtime has."""
    lines = [line.split("==") for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {canonicalize_name(name.partition("[")[0]): Version(version) for name, version in lines}


def asked(lines: list[str]) -> Iterator[Requirement]:
    """What pip is asked for on Colab's Python, without extras; and what each package asks for that it has to add."""
    colab = {**default_environment(), "python_version": "3.13", "python_full_version": "3.13.15", "extra": "",
             "sys_platform": "linux", "platform_system": "Linux"}
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate(colab):
            yield requirement
            if canonicalize_name(requirement.name) not in runtime():
                yield from asked(requires(requirement.name) or [])


def test_nothing_that_colab_has_is_changed() -> None:
    has = runtime()
    wanted = list(asked([*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["widgets"]]))
    assert {"numpy", "anywidget", "ipywidgets", "matplotlib", "pillow"} < {each.name for each in wanted}
    changed = [f"{each}, and Colab has {has[name]}" for each in wanted
               if (name := canonicalize_name(each.name)) in has and has[name] not in each.specifier]
    assert changed == []
    assert {each.name for each in wanted} - has.keys() == NEW


def test_a_bound_above_colabs_version_is_found() -> None:
    assert runtime()["ipywidgets"] not in next(asked(["ipywidgets>=8.1.0"])).specifier


def test_colabs_python_is_supported() -> None:
    assert "3.13.15" in Requirement(f"minigrad-kit{PROJECT['requires-python']}").specifier
