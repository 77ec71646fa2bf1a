"""What ops ask of the stand-in device, and what they leave alone: errors that need its values, and others."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad.nn import functional as F
from tests.device.strict import COUNTS

POSITIVE = [[4.0, 2.0, 0.6], [2.0, 5.0, 1.5], [0.6, 1.5, 3.0]]


def on(device, values=POSITIVE):
    return minigrad.tensor(values, device=device)


FAILURES = {
    "cholesky": lambda x: minigrad.linalg.cholesky(-x),
    "inv": lambda x: minigrad.linalg.inv(x * 0),
    "solve": lambda x: minigrad.linalg.solve(x * 0, x),
    "cholesky_inverse": lambda x: minigrad.cholesky_inverse(x * 0),
}


@pytest.mark.parametrize("name", FAILURES)
def test_no_result(cuda, name):
    said = []
    for device in ("cpu", "cuda"):
        with pytest.raises(minigrad.linalg.LinAlgError) as error:
            FAILURES[name](on(device))
        said.append(str(error.value))
    assert said[0] == said[1]


TOLD = {
    "cholesky_ex": lambda x: minigrad.linalg.cholesky_ex(minigrad.stack([x, -x])).info,
    "inv_ex": lambda x: minigrad.linalg.inv_ex(minigrad.stack([x, x * 0])).info,
    "solve_ex": lambda x: minigrad.linalg.solve_ex(x * 0, x).info,
    "lu_factor_ex": lambda x: minigrad.linalg.lu_factor_ex(x * 0).info,
    "matrix_rank": lambda x: minigrad.linalg.matrix_rank(x[:2, :2] * 0 + 1),
}


@pytest.mark.parametrize("name", TOLD)
def test_told_without_an_error(cuda, name):
    here, there = TOLD[name](on("cpu")), TOLD[name](on("cuda"))
    assert there.device.type == "cuda" and there.dtype is here.dtype
    assert there.tolist() == here.tolist()


UNCHECKED = {  # what PyTorch's kernels assert, some time later: to ask would wait
    "cross_entropy": lambda x: F.cross_entropy(x, minigrad.tensor([0, 2, 1], device="cuda")),
    "nll_loss ignoring": lambda x: F.nll_loss(x, minigrad.tensor([0, -100, 1], device="cuda")),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, minigrad.tensor([0, 2, 1], device="cuda")),
    "floor_divide by 0": lambda x: x.long() // 0,
    "remainder by 0": lambda x: x.long() % minigrad.zeros(3, dtype=minigrad.int64, device="cuda"),
    "rrelu": lambda x: F.rrelu(-x, training=True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True),
}


@pytest.mark.parametrize("name", UNCHECKED)
def test_does_not_wait(cuda, name):
    made = UNCHECKED[name](on("cuda").requires_grad_())
    if made.requires_grad:
        made.sum().backward()
    assert made.device.type == "cuda"
    assert COUNTS.to_host == 0


def test_targets_that_are_ignored(cuda):
    x, t = on("cpu"), minigrad.tensor([1, -100, 0])
    here = F.cross_entropy(x, t, label_smoothing=0.1)
    there = F.cross_entropy(x.cuda(), t.cuda(), label_smoothing=0.1)
    assert there.item() == pytest.approx(here.item())


def test_rrelu_draws_from_its_bounds(cuda):
    x = minigrad.full((1000,), -1.0, device="cuda")
    slopes = -F.rrelu(x, 0.25, 0.5, training=True)
    assert 0.25 <= slopes.min().item() < 0.27 and 0.48 < slopes.max().item() <= 0.5
    assert F.rrelu(-x, training=True).tolist() == [1] * 1000


def test_half_by_a_number(cuda):
    x = minigrad.tensor([1.0, 3.0], dtype=minigrad.float16)
    made = (x.cuda() * 0.1 / 0.3).cpu()
    assert made.dtype is minigrad.float16
    np.testing.assert_allclose(made.numpy(), (x * 0.1 / 0.3).numpy(), rtol=2e-3)


def test_what_is_not_there(cuda):
    logs, texts = minigrad.zeros(4, 1, 3, device="cuda"), minigrad.ones(1, 2, dtype=minigrad.int64, device="cuda")
    with pytest.raises(NotImplementedError, match=r"ctc_loss on the CPU only: pass log_probs\.cpu\(\)"):
        F.ctc_loss(logs, texts, (4,), (2,))
    assert F.ctc_loss(logs.log_softmax(2).cpu(), texts.cpu(), (4,), (2,)).isfinite()


@pytest.mark.parametrize("where", ["cuda", "cuda:1", "default"])
def test_numbers_in_a_row_are_made_on_the_device(cuda, where, monkeypatch):
    def refuse(array, index):
        raise AssertionError("a copy")

    calls = (lambda **at: minigrad.arange(5, **at), lambda **at: minigrad.arange(1, 0, -0.1, **at),
             lambda **at: minigrad.linspace(-1, 2, 7, **at), lambda **at: minigrad.linspace(0, 9, 1, **at),
             lambda **at: minigrad.linspace(0, 9, 4, dtype=minigrad.int32, **at),
             lambda **at: minigrad.logspace(0, 2, 5, 2.0, dtype=minigrad.float64, **at))
    expected = [call() for call in calls]
    monkeypatch.setattr(cuda, "from_host", refuse)
    before = minigrad.get_default_device()
    if where == "default":
        minigrad.set_default_device("cuda")
    try:
        found = [call(**({} if where == "default" else {"device": where})) for call in calls]
        here = minigrad.arange(3, device="cpu"), minigrad.eye(2, device="cpu")
    finally:
        minigrad.set_default_device(before)
    for a, b in zip(found, expected, strict=True):
        assert str(a.device) == ("cuda:1" if where == "cuda:1" else "cuda:0") and a.dtype is b.dtype
        np.testing.assert_array_equal(a.cpu().numpy(), b.numpy())
    assert {v.device.type for v in here} == {"cpu"}


MAKERS = {
    "zeros": lambda x, **at: minigrad.zeros(2, **at), "ones": lambda x, **at: minigrad.ones(2, **at),
    "empty": lambda x, **at: minigrad.empty(2, **at), "full": lambda x, **at: minigrad.full((2,), 1.0, **at),
    "eye": lambda x, **at: minigrad.eye(2, **at), "tensor": lambda x, **at: minigrad.tensor([1.0], **at),
    "rand": lambda x, **at: minigrad.rand(2, **at), "arange": lambda x, **at: minigrad.arange(2, **at),
    "zeros_like": lambda x, **at: minigrad.zeros_like(x, **at),
    "full_like": lambda x, **at: minigrad.full_like(x, 1, **at),
    "rand_like": lambda x, **at: minigrad.rand_like(x, **at), "new_ones": lambda x, **at: x.new_ones(2, **at),
    "new_tensor": lambda x, **at: x.new_tensor([1.0], **at),
    "scalar_tensor": lambda x, **at: minigrad.scalar_tensor(1, **at),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_device_that_is_named_comes_before_the_default(cuda, name):
    x, make = minigrad.ones(3), MAKERS[name]
    minigrad.set_default_device("cuda")
    try:
        here, default = make(x, device="cpu"), make(x)
    finally:
        minigrad.set_default_device("cpu")
    assert here.device.type == "cpu"
    assert default.device.type == ("cpu" if "_like" in name or "new_" in name else "cuda")


def test_the_old_constructor_makes_tensors_on_the_cpu(cuda):
    x = minigrad.ones(3, device="cuda")
    for given in (x, minigrad.ones(3)):
        with pytest.raises(RuntimeError, match="Legacy tensor constructor of the form"):
            minigrad.Tensor(given, device="cuda")
    for given in ([1.0], 2):
        with pytest.raises(RuntimeError, match="legacy constructor expects device type: cpu but device type: cuda was"):
            minigrad.Tensor(given, device="cuda")
    minigrad.set_default_device("cuda")
    try:
        made = minigrad.Tensor(2), minigrad.Tensor([1.0]), minigrad.Tensor(x)
    finally:
        minigrad.set_default_device("cpu")
    assert [v.device.type for v in made] == ["cpu", "cpu", "cuda"]
