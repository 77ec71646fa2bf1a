"""`depends`, compared with what changes in the output when each element of the input is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from minigrad_widgets import depends


def changed(torch: Any, program: Callable[[Any], Any], x: Any) -> np.ndarray[Any, Any]:
    """Which elements of the output change when each element of the input does: the slow way, without a graph."""
    with torch.no_grad():
        before = program(x)
        found = np.zeros((*before.shape, *x.shape), bool)
        for index in np.ndindex(*x.shape):
            other = x.detach().clone()
            other[index] += 0.25
            found[(..., *index)] = (program(other) - before).abs().numpy() > 1e-7
    return found


def attention(torch: Any, mask: str) -> Callable[[Any], Any]:
    q, k, v = (torch.nn.Linear(4, 4).double() for _ in range(3))
    ahead = torch.ones(5, 5).triu(1).bool()

    def program(x: Any) -> Any:
        if mask == "sdpa":
            return torch.nn.functional.scaled_dot_product_attention(q(x), k(x), v(x), is_causal=True)
        scores = q(x) @ k(x).transpose(-2, -1) / 2
        if mask == "filled":
            scores = scores.masked_fill(ahead, float("-inf"))
        if mask == "added":
            scores = scores + torch.zeros(5, 5).double().masked_fill(ahead, float("-inf"))
        return scores.softmax(-1) @ v(x)
    return program


@pytest.mark.parametrize("mask", ["filled", "added", "sdpa", "none"])
def test_causal_attention(torch: Any, mask: str) -> None:
    program = attention(torch, mask)
    x = torch.randn(2, 5, 4).double().requires_grad_()
    found = depends(program(x), x)
    assert np.array_equal(found.table, changed(torch, program, x))
    assert found.is_causal(1) == (mask != "none")
    assert found.mixes(0) == []
    few = depends(program(x), x, dims=[1])
    assert few.table.shape == (5, 2, 5, 4) and np.array_equal(few.matrix(1), found.matrix(1))


def test_receptive_fields(torch: Any) -> None:
    layers = torch.nn.Sequential(torch.nn.Conv1d(1, 2, 3, padding=1), torch.nn.Tanh(),
                                 torch.nn.Conv1d(2, 1, 3, padding=2, dilation=2)).double()
    x = torch.randn(1, 1, 9).double().requires_grad_()
    found = depends(layers(x), x)
    assert np.array_equal(found.table, changed(torch, layers, x))
    assert found.field(2) == [(max(i - 3, 0), min(i + 3, 8)) for i in range(9)]


def test_strides_in_two_dimensions(torch: Any) -> None:
    layer = torch.nn.Conv2d(1, 1, 2, stride=2).double()
    x = torch.randn(1, 1, 6, 6).double().requires_grad_()
    found = depends(layer(x), x)
    assert np.array_equal(found.table, changed(torch, layer, x))
    assert found.field(3) == [(0, 1), (2, 3), (4, 5)] == found.field(2)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_leaks_while_it_trains(torch: Any, training: bool) -> None:
    norm = torch.nn.BatchNorm1d(2).double().train(training)
    x = torch.randn(3, 2).double().requires_grad_()
    found = depends(norm(x), x)
    assert np.array_equal(found.table, changed(torch, norm, x))
    assert found.mixes(0) == ([(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] if training else [])
    assert not depends(torch.nn.LayerNorm(2).double()(x), x, dims=[0]).mixes(0)


def test_a_view_that_mixes_examples(torch: Any) -> None:
    x = torch.randn(4, 3).double().requires_grad_()
    assert depends(x.reshape(3, 4).t() * 2, x, dims=[0]).mixes(0) != []
    assert depends(x * 2, x, dims=[0]).mixes(0) == []


def test_several_inputs(torch: Any) -> None:
    a, b, c = (torch.randn(3).double().requires_grad_() for _ in range(3))
    first, second, unused = depends(a * b.flip(0), a, b, c)
    assert first.table.tolist() == np.eye(3, dtype=bool).tolist()
    assert second.table.tolist() == np.eye(3, dtype=bool)[::-1].tolist()
    assert not unused.table.any() and unused.field(0) == [None] * 3


def test_nothing_is_left_behind(torch: Any) -> None:
    x = torch.randn(3).double().requires_grad_()
    y = x.exp()
    before = torch.get_rng_state()
    depends(y, x)
    assert x.grad is None and torch.equal(torch.get_rng_state(), before)
    y.sum().backward()  # the graph is still there
    assert np.allclose(x.grad.numpy(), y.detach().numpy())


def test_pictures(torch: Any) -> None:
    x = torch.randn(1, 3).double().requires_grad_()
    found = depends(x.cumsum(1), x)
    assert found.text(1).splitlines()[1:] == ["    0 #..", "    1 ##.", "    2 ###"]
    assert "Columns: dimension 1 of the input, of shape (1, 3)." in str(found.text(1))
    page = found._repr_html_()
    assert page.count("var(--mgd-bar)'><title>") == 1 + 6 and page.count("<svg") == 2
    long = torch.randn(200).double().requires_grad_()
    large = depends(long * 2, long)
    assert "A mark stands for 4 by 4 places." in large.text(0)
    assert [line.index("#") for line in large.text(0).splitlines()[1:]] == [6 + i for i in range(50)]


def test_what_it_cannot_answer(torch: Any) -> None:
    x = torch.randn(3).double().requires_grad_()
    with pytest.raises(TypeError, match="an output and at least one input"):
        depends(x * 2)
    with pytest.raises(ValueError, match="the output has no graph"):
        depends(x.detach(), x)
    with pytest.raises(ValueError, match="input 0 does not require grad"):
        depends(x * 2, torch.ones(3))
    with pytest.raises(ValueError, match=r"would take 90,000 backward passes. Name the dimensions"):
        depends(x[:1].expand(300, 300) * 2, x)
    with pytest.raises(ValueError, match="the output has 1 dimensions, and none has the number 1"):
        depends(x * 2, x).matrix(1)
    with pytest.raises(ValueError, match="was not told apart"):
        depends(x.view(1, 3) * 2, x, dims=[0]).matrix(1, 0)
