"""The rules of the house hold here, and each of them fails where somebody breaks it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import house

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = "https://example.org/some-owner/some-name"
FILES = ["pyproject.toml", "minigrad/__init__.py"]
EXCEPTIONS = ("LONG_FILES", "LONG_FUNCTIONS", "FULL_FOLDERS", "KNOWN_CIRCLES")
Rule = Callable[[Path, list[str]], list[str]]

RULES: list[Rule] = [
    house.long_files,
    house.long_functions,
    house.full_folders,
    house.large_parts,
    house.many_imports,
    house.import_circles,
    house.long_cells,
    house.registry_addresses,
    house.machine_paths,
    house.unexplained_ignores,
    house.stray_versions,
    house.stray_addresses,
    house.dead_links,
    house.private_names,
    house.modules_without_a_floor,
]


@pytest.fixture(scope="module")
def names() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    return house.tracked(ROOT)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds(rule: Rule, names: list[str]) -> None:
    assert len(names) > 50
    assert rule(ROOT, names) == []


def test_the_floors_hold() -> None:
    assert house.broken_floors(ROOT) == []


def notebook(lines: int, tags: list[str] | None = None) -> str:
    cell = {"cell_type": "code", "metadata": {"tags": tags or []}, "source": ["x = 1\n"] * lines}
    return json.dumps({"cells": [cell]})


PLANTED: list[tuple[Rule, str, str]] = [
    (house.long_files, "minigrad/a.py", "x = 1\n" * 801),
    (house.long_files, "widgets/frontend/src/a.ts", "f();\n" * 801),
    (house.long_functions, "minigrad/a.py", "def f():\n" + "    x = 1\n" * 40),
    (house.long_functions, "minigrad/a.py", "class A:\n    async def f():\n" + "        x = 1\n" * 40),
    (house.long_cells, "notebooks/01_a.ipynb", notebook(16)),
    (house.registry_addresses, "package-lock.json", '"resolved": "https://registry.npm' + 'js.org/a/-/a-1.0.0.tgz"'),
    (house.registry_addresses, ".ci/run", "pip install -i https://py" + "pi.org/simple a"),
    (house.machine_paths, "docs/a.md", "It is in /ho" + "me/somebody/minigrad."),
    (house.machine_paths, "notebooks/01_a.ipynb", '"File /t' + 'mp/ipykernel_1/1.py"'),
    (house.unexplained_ignores, "minigrad/a.py", "import a  # no" + "qa: F401\n"),
    (house.unexplained_ignores, "minigrad/a.py", "a = b  # type: ign" + "ore[attr-defined]\n"),
    (house.unexplained_ignores, "widgets/frontend/src/a.ts", "// eslint-dis" + "able-next-line\n"),
    (house.stray_versions, "CITATION.cff", "version: 1.2.3\n"),
    (house.stray_versions, "README.md", "https://mybinder.org/v2/gh/some-owner/some-name/v1.2.2?urlpath=lab"),
    (house.stray_addresses, "docs/a.md", ADDRESS),
    (house.stray_addresses, "README.md", "https://mybinder.org/v2/gh/another-owner/some-name/v1.2.3"),
    (house.dead_links, "README.md", "See [that](docs/nowhere.md#part)."),
    (house.dead_links, "README.md", '<img src="docs/nowhere.png">'),
    (house.private_names, "notebooks/minigrad_lessons/a.py", "from minigrad.core.tensor import Tensor\n"),
    (house.private_names, "notebooks/minigrad_lessons/a.py", "from minigrad.autograd import _api\n"),
    (house.modules_without_a_floor, "minigrad/a.py", "x = 1\n"),
]

ALLOWED: list[tuple[Rule, str, str]] = [
    (house.long_files, "minigrad/a.py", "x = 1\n" * 800),
    (house.long_functions, "minigrad/a.py", 'def f():\n    """Say.\n\n    More.\n    """\n' + "    x = 1\n" * 39),
    (house.long_cells, "notebooks/01_a.ipynb", notebook(15)),
    (house.long_cells, "notebooks/01_a.ipynb", notebook(30, ["answer"])),
    (house.machine_paths, "docs/a.md", "See https://example.org/ho" + "me/page and ../wo" + "rk/a."),
    (house.unexplained_ignores, "minigrad/a.py", "a = b  # type: ign" + "ore[attr-defined]  # CuPy has no types\n"),
    (house.unexplained_ignores, "minigrad/a.py", 'text = "# no' + 'qa"\n'),
    (house.stray_versions, "README.md", "https://mybinder.org/v2/gh/some-owner/some-name/v1.2.3?urlpath=lab"),
    (house.stray_addresses, "README.md", f"[here]({ADDRESS}/issues)"),
    (house.dead_links, "README.md", "See [that](pyproject.toml) and [this](https://example.org)."),
    (house.private_names, "notebooks/minigrad_lessons/a.py", "from minigrad.autograd import graph\n"),
    (house.modules_without_a_floor, "minigrad/low/a.py", "x = 1\n"),
]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that keeps every rule, without exceptions."""
    for name in EXCEPTIONS:
        monkeypatch.setattr(house, name, {})
    (tmp_path / "minigrad").mkdir()
    (tmp_path / "minigrad" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    contract = '[[tool.importlinter.contracts]]\ntype = "layers"\nlayers = ["(minigrad.high)", "minigrad.low"]\n'
    (tmp_path / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{ADDRESS}"\n{contract}')
    return tmp_path


def plant(tree: Path, name: str, text: str) -> list[str]:
    (tree / name).parent.mkdir(parents=True, exist_ok=True)
    (tree / name).write_text(text)
    return [*FILES, name]


@pytest.mark.parametrize(("rule", "name", "text"), PLANTED)
def test_a_planted_violation_is_found(rule: Rule, name: str, text: str, tree: Path) -> None:
    assert rule(tree, FILES) == []
    (found,) = rule(tree, plant(tree, name, text))
    assert found.startswith(name) or found == name.removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize(("rule", "name", "text"), ALLOWED)
def test_what_keeps_the_rule_is_let_pass(rule: Rule, name: str, text: str, tree: Path) -> None:
    assert rule(tree, plant(tree, name, text)) == []


def planted(tree: Path, texts: dict[str, str]) -> list[str]:
    """Plant several files; the names of all."""
    return [*FILES, *[plant(tree, name, text)[-1] for name, text in texts.items()]]


@pytest.mark.parametrize(("folder", "files", "found"), [
    ("minigrad/low", 31, ["minigrad/low: 31 files"]),
    ("minigrad/low", 30, []),
    ("docs/images", 31, ["docs/images: 31 files"]),
    ("tests/parity/programs", 31, []),  # compared line by line
    ("widgets/minigrad_widgets/static", 31, []),  # a program makes them
])
def test_a_full_folder_is_found(folder: str, files: int, found: list[str], tree: Path) -> None:
    assert house.full_folders(tree, planted(tree, {f"{folder}/a{i}.md": "" for i in range(files)})) == found


@pytest.mark.parametrize("what", house.PARTS)
def test_a_part_that_grows_is_found(what: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders, lines, files = part = house.PARTS[what]
    monkeypatch.setattr(house, "PARTS", {what: part})
    texts = {f"{folders[0]}a.py": "x = 1\n" * (lines - 1), f"{folders[-1]}b.py": "x = 1\n"}
    texts |= {f"{folders[0]}c{number}.py": "" for number in range((files or 2) - 2)}
    planted(tree, texts)
    assert house.large_parts(tree, list(texts)) == []
    plant(tree, f"{folders[-1]}b.py", "x = 1\n" * 2)
    plant(tree, f"{folders[-1]}d.py", "")
    more = [f"{what}: {files + 1} files"] if files else []
    assert house.large_parts(tree, [*texts, f"{folders[-1]}d.py"]) == [f"{what}: {lines + 1} lines", *more]


def test_many_imports_are_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "IMPORTS", 0.05)
    text = "from a import (\n    b,\n)\n\ndef f():\n    import c\n\n"  # four lines of imports, three others
    name = "minigrad/a.py"
    plant(tree, name, text + "x = 1\n" * 73)
    assert house.many_imports(tree, [name]) == []
    plant(tree, name, text + "x = 1\n" * 72)
    assert house.many_imports(tree, [name]) == ["minigrad: 4 of 79 lines are imports"]


FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
CIRCLES = {
    "of two": {"a": "from minigrad.b import x", "b": "import minigrad.a"},
    "of three": {"a": "from minigrad import b", "b": "from minigrad import c", "c": "from minigrad import a"},
    "for types": {"a": "from minigrad.b import x", "b": f"{FOR_TYPES}from minigrad.a import y"},
    "in a function": {"a": "from minigrad.b import x", "b": "def f():\n    from minigrad.a import y"},
    "relative": {"a": "from .b import x", "b": "from . import a"},
    "handed on": {"a": "from minigrad.low import x", "low/__init__": "from minigrad.low.b import x",
                  "low/b": "from minigrad.a import y"},
    "from below a package": {"a": "from minigrad.low import x", "low/__init__": "x = 1", "low/b": "import minigrad.a",
                             "c": "from minigrad.low.b import y"},
    "of one's own package": {"low/__init__": "from minigrad.low.a import x", "low/a": "from minigrad.low import b",
                             "low/b": ""},
    "none": {"a": "from minigrad.b import x", "b": "import os", "c": "from minigrad import a, b"},
}
NO_CIRCLE = ("from below a package", "of one's own package", "none")


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_of_imports_is_found(name: str, tree: Path) -> None:
    files = planted(tree, {f"minigrad/{module}.py": f"{text}\n" for module, text in CIRCLES[name].items()})
    found = house.import_circles(tree, files)
    assert found == [] if name in NO_CIRCLE else found[0].startswith("minigrad/a.py: imported in a circle: minigrad.a,")


SCRIPT_CIRCLES = {
    "of two": {"a": 'import { x } from "./b";', "b": 'import { y } from "./a";'},
    "for types": {"a": 'import { x } from "./b";', "b": 'import type { Y } from "./a";'},
    "of three, in folders": {"a": 'import { x } from "./low/b";', "low/b": 'import {\n  y,\n} from "../low/c.js";',
                             "low/c": 'export { z } from "../a";'},
    "late": {"a": 'import "./b";', "b": 'const y = await import("./a");'},
    "of an index": {"a": 'import { x } from "./low";', "low/index": 'type Y = import("../a").Y;'},
    "none": {"a": 'import { x } from "./b";\nimport "./a.css";', "b": 'import { y } from "a";'},
}


@pytest.mark.parametrize("name", SCRIPT_CIRCLES)
def test_a_circle_of_typescript_is_found(name: str, tree: Path) -> None:
    folder = "widgets/frontend/src"
    files = planted(tree, {f"{folder}/{module}.ts": text for module, text in SCRIPT_CIRCLES[name].items()})
    found = house.import_circles(tree, files)
    assert found == [] if name == "none" else found[0].startswith(f"{folder}/a.ts: imported in a circle: {folder}/a,")


@pytest.mark.parametrize("package", ["widgets/minigrad_widgets", "notebooks/minigrad_lessons"])
def test_a_circle_of_another_package_is_found(package: str, tree: Path) -> None:
    own = package.partition("/")[2]
    files = planted(tree, {f"{package}/a.py": f"from {own} import b", f"{package}/b.py": f"import {own}.a"})
    assert house.import_circles(tree, files) == [f"{package}/a.py: imported in a circle: {own}.a, {own}.b"]


EXCUSED: list[tuple[Rule, str, str, str]] = [
    (house.long_files, "LONG_FILES", "minigrad/a.py", "x = 1\n" * 801),
    (house.long_functions, "LONG_FUNCTIONS", "minigrad/a.py: A.f",
     "class A:\n    def f():\n" + "        x = 1\n" * 40),
    (house.full_folders, "FULL_FOLDERS", "minigrad", ""),
    (house.import_circles, "KNOWN_CIRCLES", "minigrad.b -> minigrad.a", "import minigrad.b\n"),
]


@pytest.mark.parametrize(("rule", "table", "key", "text"), EXCUSED)
def test_an_exception_needs_its_violation(
    rule: Rule, table: str, key: str, text: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {f"minigrad/b{i}.py": "" for i in range(29 if rule is house.full_folders else 0)}
    files = planted(tree, {"minigrad/a.py": text, "minigrad/b.py": "import minigrad.a\n", **others})
    assert len(rule(tree, files)) == 1
    monkeypatch.setattr(house, table, {key: "a reason"})
    assert rule(tree, files) == []
    (tree / "minigrad/a.py").write_text("x = 1\n")
    assert rule(tree, planted(tree, {"minigrad/a.py": "x = 1\n"})) == [f"{key}: the exception is not needed"]


def test_every_exception_has_a_reason() -> None:
    assert all(len(reason.split()) > 2 for table in EXCEPTIONS for reason in getattr(house, table).values())


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("minigrad/backends/numpy.py", "from minigrad.core import tensor"),
        ("minigrad/core/graph.py", "import minigrad.core.engine"),
        ("minigrad/core/engine.py", "import minigrad.autograd.graph"),
        ("minigrad/nn/module.py", "import minigrad"),
        ("minigrad/nn/module.py", "import ipywidgets"),
        ("minigrad/nn/module.py", "import torch"),
        ("widgets/minigrad_widgets/widget/base.py", "import minigrad.nn"),
    ],
)
def test_an_import_from_above_is_found(file: str, line: str, tmp_path: Path) -> None:
    for folder in ("minigrad", "widgets/minigrad_widgets", "notebooks/minigrad_lessons"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "static"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / file).open("a") as changed:
        changed.write(f"\n{line}\n")
    assert any("BROKEN" in said for said in house.broken_floors(tmp_path))


def test_only_what_git_keeps_is_looked_at(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("b.py\n")
    (tmp_path / "a.py").touch()
    (tmp_path / "b.py").touch()
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    assert house.tracked(tmp_path) == [".gitignore", "a.py"]


def test_every_lesson_has_its_line_in_the_wheel() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    lessons = sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert lessons
    assert wheel["force-include"] == {f"notebooks/{name}": f"minigrad_lessons/notebooks/{name}" for name in lessons}


def test_binder_pins_what_the_lessons_ask_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = house.pins(ROOT / "binder" / "requirements.txt")
    extras = project["optional-dependencies"]
    asked = [Requirement(line) for line in project["dependencies"] + extras["lessons"] + extras["widgets"]
             + extras["mpi"]]
    assert len(asked) > 5
    assert [str(each) for each in asked if not each.specifier.contains(pins.get(each.name, "0"))] == []


@pytest.mark.parametrize("name", ["binder/requirements.txt", ".ci/requirements.txt"])
def test_every_locked_package_has_hashes_and_no_address(name: str) -> None:
    assert [each.name for each in house.locked(ROOT / name) if not each.hashes] == []
    assert len(house.locked(ROOT / name)) > 50
    assert "://" not in (ROOT / name).read_text()


def test_ci_locks_what_the_tests_ask_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pins = house.pins(ROOT / ".ci" / "requirements.txt")
    wanted = ("test", "torch", "lessons", "widgets", "site", "io", "fast", "mpi")
    asked = [Requirement(line) for extra in wanted for line in extras[extra]]
    assert [str(each) for each in asked if each.name != "minigrad-kit"
            and not each.specifier.contains(pins.get(each.name.lower(), "0"))] == []


def test_every_action_is_named_by_its_commit() -> None:
    flows = {path.name: path.read_text() for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
    assert {"ci.yml", "release.yml", "audit.yml"} <= flows.keys()
    assert [line for text in flows.values() for line in house.loose_actions(text)] == []
    assert house.loose_actions("- uses: actions/checkout@v4\n- uses: a/b@" + 40 * "0") == [
        "actions/checkout@v4", "a/b@" + 40 * "0"]  # the second lacks its version


def test_the_core_depends_on_numpy_alone() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [Requirement(line).name for line in project["dependencies"]] == ["numpy"]
    assert {"lessons", "test", "cuda12x", "cuda13x"} <= project["optional-dependencies"].keys()
