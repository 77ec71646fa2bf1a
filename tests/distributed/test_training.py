"""Several ranks train as one process does, and as PyTorch's ranks do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minigrad
from tests.distributed.jobs import need_mpi, start_with
from tests.distributed.models import HOOKS, OPTIONS, RANKS, trained
from tests.groups import has_torch, require

need_mpi()
Trained = dict[str, list[dict[str, np.ndarray]]]
CLOSE = {"rtol": 0, "atol": 1e-6}


def job(lib: str, folder: Path) -> dict[int, Trained]:
    """The parameters of each model on each rank, by the number of ranks."""
    done = start_with(lib, max(RANKS), "models.py", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return {ranks: {name: [dict(np.load(folder / f"{name}.{ranks}.{rank}.npz")) for rank in range(ranks)]
                    for name in [*OPTIONS, HOOKS]} for ranks in RANKS}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Trained]:
    return job("minigrad", tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Trained]:
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return job("torch", tmp_path_factory.mktemp("theirs"))


@pytest.mark.parametrize("name", OPTIONS)
def test_as_one_process_on_the_whole_batch(ours: dict[int, Trained], name: str) -> None:
    for key, value in trained(minigrad, name).items():
        for ranks in RANKS:
            np.testing.assert_allclose(ours[ranks][name][0][key], value, err_msg=f"{ranks} ranks", **CLOSE)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", OPTIONS)
def test_ranks_are_equal_bit_for_bit(ours: dict[int, Trained], name: str, ranks: int) -> None:
    first, *others = ours[ranks][name]
    assert len(others) == ranks - 1
    for other in others:
        assert {key: value.tobytes() for key, value in first.items()} == {
            key: value.tobytes() for key, value in other.items()}


@pytest.mark.torch
@pytest.mark.parametrize("name", OPTIONS)
def test_as_pytorch(ours: dict[int, Trained], theirs: dict[int, Trained], name: str) -> None:
    for ranks in RANKS:
        for key, value in theirs[ranks][name][0].items():
            np.testing.assert_allclose(ours[ranks][name][0][key], value, err_msg=f"{ranks} ranks", **CLOSE)


@pytest.mark.torch
@pytest.mark.parametrize("ranks", RANKS)
def test_a_hook_that_compresses(ours: dict[int, Trained], theirs: dict[int, Trained], ranks: int) -> None:
    """PowerSGD of lesson 14 gives in both libraries what PyTorch's own hook gives, on every rank."""
    for a, b in zip(ours[ranks][HOOKS], theirs[ranks][HOOKS], strict=True):
        np.testing.assert_allclose(a["of the lesson"], b["of the lesson"], **CLOSE)
        np.testing.assert_allclose(a["of the lesson"], b["of PyTorch"], **CLOSE)
        assert a["of the lesson"].tobytes() == ours[ranks][HOOKS][0]["of the lesson"].tobytes()
