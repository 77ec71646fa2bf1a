"""The sdist and the wheel: what they hold, and that a clean environment can use them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from minigrad_lessons.folder import shipped
from tests.lessons.answers import KEYS
from tests.packaging.lab import lab

ROOT = Path(__file__).resolve().parent.parent.parent
ANSWERS = "tests/lessons/answers/"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def in_wheel(wheel: Path) -> dict[str, int]:
    """The size of each file in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist()}


@pytest.fixture(scope="module")
def in_sdist(built: Path) -> set[str]:
    (found,) = built.glob("*.tar.gz")
    with tarfile.open(found) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_wheel_is_small_and_pure(wheel: Path, in_wheel: dict[str, int]) -> None:
    print(f"wheel: {wheel.stat().st_size / 1000:.0f} kB, {len(in_wheel)} files")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert wheel.stat().st_size < 2_135_000  # lessons, distributions, vmap, tangents and the doctor took it over 2 MB


def test_the_wheel_holds_the_front_ends_bundle(in_wheel: dict[str, int]) -> None:
    bundle = ROOT / "widgets" / "minigrad_widgets" / "static"
    expected = {f"minigrad_widgets/static/{path.name}": path.stat().st_size for path in bundle.iterdir()}
    assert {name: in_wheel.get(name) for name in expected} == expected
    assert any(name.endswith(".js") for name in expected) and all(expected.values())


def test_the_wheel_holds_every_lesson(in_wheel: dict[str, int]) -> None:
    lessons = {f"minigrad_lessons/notebooks/{name}" for name in shipped()}
    assert lessons == {name for name in in_wheel if name.endswith(".ipynb")}


def test_the_wheel_holds_the_marks_of_types_the_licence_and_the_settings(in_wheel: dict[str, int]) -> None:
    for package in ("minigrad", "minigrad_widgets", "minigrad_lessons"):
        assert f"{package}/py.typed" in in_wheel
    assert {"minigrad_lessons/lab_settings/overrides.json", "minigrad_lessons/bank/beliefs.json"} <= set(in_wheel)
    assert any(name.endswith("licenses/LICENSE") for name in in_wheel)


def test_answers_are_in_the_sdist_and_never_in_the_wheel(
    wheel: Path, in_sdist: set[str], in_wheel: dict[str, int]
) -> None:
    answers = [path for path in (ROOT / ANSWERS).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert answers and all(path.relative_to(ROOT).as_posix() in in_sdist for path in answers)
    tops = {name.partition("/")[0] for name in in_wheel if ".dist-info/" not in name}
    assert tops == {"minigrad", "minigrad_widgets", "minigrad_lessons"}
    # By their content: a copy under another name would be found too.
    with zipfile.ZipFile(wheel) as archive:
        shipped_texts = {archive.read(name) for name in in_wheel if in_wheel[name]}
    assert not [path for path in answers if path.read_bytes() in shipped_texts]
    assert not [name for name in in_wheel if "answers" in name]
    solutions = [answer.encode() for key in KEYS.values() for answer in key.exercises.values()]
    solutions += [json.dumps(answer.decode())[1:-1].encode() for answer in solutions]  # as a notebook would hold it
    assert not [answer for answer in solutions for text in shipped_texts if answer in text]


def test_the_sdist_holds_what_the_tests_need(in_sdist: set[str]) -> None:
    needed = {"pyproject.toml", "README.md", "LICENSE", "tests/__main__.py", "widgets/frontend/package-lock.json"}
    assert needed <= in_sdist
    assert not [name for name in in_sdist if "node_modules" in name]


def test_the_core_installs_and_runs_with_numpy_alone(wheel: Path, tmp_path: Path) -> None:
    python = clean_environment(tmp_path / "core", wheel)
    listed = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True).stdout
    names = {line.partition("==")[0] for line in listed.split()}
    assert names - {"pip", "setuptools", "wheel"} == {"numpy", "minigrad-kit"}
    program = "import minigrad; x = minigrad.ones(2, requires_grad=True); (x * 3).sum().backward(); print(x.grad)"
    done = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "tensor([3., 3.])\n", done.stderr
    refused = subprocess.run([python.with_name("minigrad"), "lab"], cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 1 and 'pip install "minigrad-kit[lessons]"' in refused.stderr
    assert "Traceback" not in refused.stderr and not (tmp_path / "minigrad-lessons").exists()


@pytest.fixture(scope="module")
def wheels(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of all that the lessons need: what a teacher carries to a room without a network."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", str(folder)]
    done = subprocess.run([*command, f"{wheel}[lessons]"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def without_network(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command in a network of its own with nothing in it, or else with a proxy that is not there."""
    alone = ["unshare", "--map-root-user", "--net"]
    able = shutil.which(alone[0]) and subprocess.run([*alone, "true"], capture_output=True).returncode == 0
    dead = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **dead, "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}
    return subprocess.run([*(alone if able else ()), *command], env=environment, capture_output=True, text=True)


def test_without_network_the_lessons_install_from_a_folder_and_open(wheels: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "room", with_pip=True)
    python = tmp_path / "room" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    assert without_network([python, "-m", "pip", "download", "--no-deps", "six"]).returncode != 0, "there is a network"
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--find-links", wheels, "minigrad-kit[lessons]"]
    done = without_network(install)
    assert done.returncode == 0, done.stderr
    with lab([python.with_name("minigrad"), "lab", "--allow-root", "--no-browser"], tmp_path) as running:
        assert "started" in running.json("/api/status")
        assert running.json(f"/api/contents/{running.lesson}")["type"] == "notebook"
    assert {path.name for path in (tmp_path / "minigrad-lessons").glob("*.ipynb")} == set(shipped())


def clean_environment(folder: Path, install: Path | str) -> Path:
    """A new environment with one thing installed; its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    done = subprocess.run([python, "-m", "pip", "install", "--quiet", str(install)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python
