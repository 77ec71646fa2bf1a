"""Transforms of functions that write into tensors and their views: the views, old and new, follow in all directions."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad
from tests.groups import has_torch, require

require("torch", has_torch(), "PyTorch 2.13 is not installed")

import torch as pytorch


def write_to_part(m: Any, d: Any) -> Any:
    made = d.clone()
    made[0].pow_(3)
    return made[0] * 1


def multiply_part(m: Any, d: Any) -> Any:
    made = d.clone()
    made[0].mul_(d[1])
    return made[0] * 1


def write_through_view(m: Any, d: Any) -> Any:
    made = d.clone()
    made.view(-1).pow_(3)
    return made.sum()


def write_under_view(m: Any, d: Any) -> Any:
    made = d.clone()
    part = made[0]
    made.pow_(3)
    return part * 1


def multiply_shifted(m: Any, d: Any) -> Any:
    made = d.clone()
    made[1:] *= made[:2].clone()
    return made.sum()


def add_transposed(m: Any, d: Any) -> Any:
    made = d.repeat(3, 1) * 0
    row = made[0]
    made.add_(d[:, None] * m.arange(3.0))
    made.add_((d[:, None] * d).t())
    return (row * row).sum()


def copy_expanded(m: Any, d: Any) -> Any:
    made = d.repeat(2, 1) * 0
    column, row = made[:, 1], made[1]
    made.copy_(d)
    column.mul_(2)
    return (row * row).sum()


PROGRAMS = (write_to_part, multiply_part, write_through_view, write_under_view, multiply_shifted, add_transposed,
            copy_expanded)
WAYS = {
    "hessian": lambda m, f: m.func.hessian(f),
    "backward over forward": lambda m, f: m.func.jacrev(m.func.jacfwd(f)),
    "forward over backward": lambda m, f: m.func.jacfwd(m.func.jacrev(f)),
    "backward twice": lambda m, f: m.func.jacrev(m.func.jacrev(f)),
    "vmap of jvp": lambda m, f: lambda x: m.vmap(lambda t: m.func.jvp(f, (x,), (t,))[1])(m.eye(3)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_derivatives_are_pytorchs(program: Any, way: str) -> None:
    ours, theirs = (WAYS[way](m, lambda d, m=m: program(m, d))(m.tensor([2.0, 3.0, 4.0])) for m in (minigrad, pytorch))
    assert ours.flatten().tolist() == pytest.approx(theirs.flatten().tolist()), (ours, theirs)


def test_a_view_that_its_base_makes_require_grad_belongs_to_its_example() -> None:
    def pulled(m: Any) -> Any:
        def scaled(x: Any, t: Any) -> Any:
            made = t.clone()
            part = made[0]
            made.mul_(x)
            return part * 1

        return m.func.jacrev(lambda x: m.vmap(lambda t: scaled(x, t))(m.eye(2)))(m.tensor([2.0, 3.0]))

    assert pulled(minigrad).tolist() == pulled(pytorch).tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("n", [0, 1, 5])
def test_randperm_is_a_permutation_for_each_example(n: int) -> None:
    def drawn(m: Any) -> Any:
        m.manual_seed(3)
        return m.vmap(lambda x: m.randperm(n), randomness="different")(m.zeros(4, 3)).tolist(), m.rand(2).tolist()

    assert drawn(minigrad) == drawn(pytorch)


def test_a_lazy_layer_loads_the_state_of_a_lazy_layer() -> None:
    for m in (minigrad, pytorch):
        layer = m.nn.LazyLinear(4)
        assert str(layer.load_state_dict(m.nn.LazyLinear(4).state_dict())) == "<All keys matched successfully>"
        assert layer.has_uninitialized_params()
