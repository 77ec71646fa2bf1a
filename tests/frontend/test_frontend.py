"""The inspector's TypeScript: its own tests, its types, and that the bundle in the repository is the one it builds."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.groups import has_node, require

ROOT = Path(__file__).resolve().parent.parent.parent
FRONTEND = ROOT / "widgets" / "frontend"
BUILT = [*(ROOT / "widgets" / "minigrad_widgets" / "static").iterdir(), ROOT / "website" / "static" / "player.js"]

require("node", has_node(), "node and npm are not installed")


def npm(*words: str) -> str:
    """Run npm in the front end's folder; fail with what it printed."""
    done = subprocess.run(
        [str(shutil.which("npm")), *words], cwd=FRONTEND, capture_output=True, text=True, encoding="utf-8"
    )
    output = f"npm {' '.join(words)}\n{done.stdout}{done.stderr}"
    assert done.returncode == 0, output
    return output


@pytest.fixture(scope="module", autouse=True)
def packages() -> None:
    """What package-lock.json names, installed once."""
    if not (FRONTEND / "node_modules").is_dir():
        npm("ci")


def digests() -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in BUILT}


def test_types() -> None:
    npm("run", "typecheck")


def test_unit_tests() -> None:
    output = npm("test")
    print(output)
    assert "passed" in output


def test_the_bundle_is_what_the_sources_build() -> None:
    before = digests()
    npm("run", "build")
    assert len(before) == 4 and digests() == before, "The bundle was out of date and is now built anew: commit it."
