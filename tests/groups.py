"""What a test may need beyond Python and NumPy: PyTorch, a browser, node, MPI, public models, Pyodide.

A test that needs one of them says so once, at the top of its file or fixture:

    require("torch", has_torch(), "PyTorch 2.13 is not installed")

Where it is missing, the tests skip with that one line. The environment variable `MINIGRAD_REQUIRE` names the groups
that must not be missing (`MINIGRAD_REQUIRE=torch,browser,node,mpi`): a skip is then a failure, so that a broken
installation cannot look like a passing run.
"""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, version

import pytest

from minigrad.distributed.launch import mpiexec

GROUPS = ("torch", "browser", "node", "mpi", "models", "wasm")
OLDEST_TORCH = (2, 6)
MODELS = ("accelerate", "lightning", "peft", "torch_geometric", "transformers", "x-transformers")  # the extra `models`
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")


def required() -> frozenset[str]:
    """The groups that `MINIGRAD_REQUIRE` names."""
    named = frozenset(word.strip() for word in os.environ.get("MINIGRAD_REQUIRE", "").split(",") if word.strip())
    unknown = named - set(GROUPS)
    if unknown:
        raise ValueError(f"MINIGRAD_REQUIRE names {', '.join(sorted(unknown))}; the groups are {', '.join(GROUPS)}")
    return named


def require(group: str, ok: object, why: str) -> None:
    """Skip the test (or the whole file) unless `ok`; fail instead where the group is required."""
    if group not in GROUPS:
        raise ValueError(f"no test group is named {group!r}; the groups are {', '.join(GROUPS)}")
    if ok:
        return
    if group in required():
        pytest.fail(f"{group} is required, but {why}", pytrace=False)
    pytest.skip(f"{group}: {why}", allow_module_level=True)


def has_torch() -> bool:
    """Whether the PyTorch that minigrad is compared with is installed: other versions have other error texts."""
    return installed("torch").startswith("2.13.")


def has_any_torch() -> bool:
    """Whether a PyTorch is installed that the reader and the doctor support, as docs/differences.md lists them."""
    return torch_version() >= OLDEST_TORCH


def torch_version() -> tuple[int, int]:
    """The version of the installed PyTorch, as (2, 13); zeros without one."""
    major, _, rest = installed("torch").partition(".")
    return (int(major), int(rest.partition(".")[0])) if major else (0, 0)


def has_models() -> bool:
    """Whether PyTorch and the extra `models` are installed."""
    return has_any_torch() and all(map(installed, MODELS))


def has_mpi() -> bool:
    """Whether mpi4py is installed, and there is an mpiexec."""
    return bool(installed("mpi4py") and mpiexec())


def has_node() -> bool:
    """Whether node and npm can be run."""
    return all(shutil.which(program) for program in ("node", "npm"))


def chromium() -> str | None:
    """The browser to drive: the path in `MINIGRAD_CHROMIUM`, or a Chromium or Chrome on the search path.

    The one without windows, which Playwright drives by default too, takes half the time of the others.
    """
    named = os.environ.get("MINIGRAD_CHROMIUM")
    return named or next((path for name in BROWSERS if (path := shutil.which(name))), None)


def has_browser() -> bool:
    """Whether there is a browser, and playwright to drive it."""
    return bool(chromium() and installed("playwright"))


def installed(distribution: str) -> str:
    """The version of an installed distribution, or an empty string."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
