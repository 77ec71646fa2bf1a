"""A package that the lab has in a smaller form: without what is left out, if it is the one of Pyodide's lock."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from tests.groups import installed, require

require("wasm", installed("jupyterlite-core"), "jupyterlite is not installed")

from website.lab import LEFT_OUT, STAND_INS, _slim

KEPT = ["numpy/linalg/_linalg.py", "numpy/linalg/_umath_linalg.so", "numpy-2.dist-info/METADATA"]
LEFT = ["numpy/f2py/crackfortran.py", "numpy/linalg/lapack_lite.so", "numpy/__init__.pyi", "numpy/_core/include/a.h",
        "numpy/random/lib/libnpyrandom.a", "numpy-2.dist-info/RECORD"]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "numpy-2.whl", "w") as packed:
        for name in [*KEPT, *LEFT, *STAND_INS]:
            packed.writestr(name, name)
    return tmp_path / "numpy-2.whl"


def test_what_is_left_out_is_not_there_and_the_lock_has_the_new_hash(wheel: Path) -> None:
    package = {"file_name": wheel.name, "sha256": digest(wheel)}
    _slim(wheel.parent, package, LEFT_OUT["numpy"])
    with zipfile.ZipFile(wheel) as slim:
        assert {name: slim.read(name).decode() for name in slim.namelist()} == {name: name for name in KEPT} | STAND_INS
    assert package["sha256"] == digest(wheel)
    assert list(wheel.parent.iterdir()) == [wheel]


def test_a_wheel_that_is_not_the_one_of_the_lock_is_refused(wheel: Path) -> None:
    with pytest.raises(ValueError, match="not the one that Pyodide's lock names"):
        _slim(wheel.parent, {"file_name": wheel.name, "sha256": "0" * 64}, LEFT_OUT["numpy"])
