"""Random programs of the functions that the front end computes, run twice: with the numbers that are recorded, and with
others."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from typing import Any

from minigrad.recorder import Trace, record

__all__ = ["pair", "run"]

Tensor = Any
UNARY: list[Callable[[Any, Tensor], Tensor]] = [
    lambda m, x: x.tanh(), lambda m, x: x.exp().clamp(max=5.), lambda m, x: x.sigmoid(), lambda m, x: x.sin(),
    lambda m, x: x.cos(), lambda m, x: x.relu(), lambda m, x: -x, lambda m, x: x.abs(), lambda m, x: x * 0.5,
    lambda m, x: x + 1, lambda m, x: 2 - x, lambda m, x: x / 3, lambda m, x: x ** 2, lambda m, x: (x * x + 1).sqrt(),
    lambda m, x: (x * x + 0.5).log(), lambda m, x: 1 / (x * x + 1), lambda m, x: x.softmax(-1),
    lambda m, x: x.log_softmax(-1), lambda m, x: m.nn.functional.gelu(x), lambda m, x: m.nn.functional.silu(x),
    lambda m, x: m.nn.functional.leaky_relu(x, 0.1), lambda m, x: m.nn.functional.softplus(x),
    lambda m, x: m.nn.functional.layer_norm(x, x.shape[-1:]), lambda m, x: x.clamp(-1., 1.),
    lambda m, x: x - x.mean(-1, keepdim=True), lambda m, x: x.cumsum(-1), lambda m, x: x.flip(-1),
    lambda m, x: x * x.detach(), lambda m, x: x.clone(), lambda m, x: x - x.amax(-1, keepdim=True),
    lambda m, x: x + x.max(-1, keepdim=True)[0], lambda m, x: x.sort(-1)[0], lambda m, x: m.atan(x),
    lambda m, x: x * (x > 0.3).to(m.float32), lambda m, x: m.where((x < 0.1) | (x > 1.1), x, 0.5 * x),
    lambda m, x: (2 * x).detach() + x, lambda m, x: (x + 1).data * x, lambda m, x: x + (10 * x).long(),
    lambda m, x: x.masked_fill(x <= -0.2, 0.1), lambda m, x: x * (x == x.amax(-1, keepdim=True)),
]
BINARY: list[Callable[[Any, Tensor, Tensor], Tensor]] = [
    lambda m, x, y: x + y, lambda m, x, y: x - y, lambda m, x, y: x * y, lambda m, x, y: x / (y * y + 1),
    lambda m, x, y: m.maximum(x, y), lambda m, x, y: m.minimum(x, y), lambda m, x, y: m.add(x, y, alpha=0.5),
    lambda m, x, y: m.lerp(x, y, 0.25), lambda m, x, y: m.addcmul(x, x, y), lambda m, x, y: m.hypot(x, y + 3),
]
SHAPED: list[Callable[[Any, Tensor, Tensor], Tensor]] = [
    lambda m, x, y: x @ y.T @ x, lambda m, x, y: m.cat([x, y], 1)[:, 1:4], lambda m, x, y: m.stack([x, y]).sum(0),
    lambda m, x, y: x.T.reshape(2, 3), lambda m, x, y: x.sum(0, keepdim=True) + y, lambda m, x, y: x[[1, 0]],
    lambda m, x, y: x[:, -1:] * y, lambda m, x, y: x.unsqueeze(0).expand(2, 2, 3).mean(0),
    lambda m, x, y: m.einsum("ij,kj->ik", x, y) @ x, lambda m, x, y: x.gather(1, m.tensor([[0, 2, 1], [1, 1, 0]])),
    lambda m, x, y: m.addmm(x, x @ y.T, y), lambda m, x, y: x.var(1, keepdim=True) * y,
    lambda m, x, y: m.nn.functional.linear(x, y[:, :3].repeat(2, 1)[:3]), lambda m, x, y: x.tril() + y,
    lambda m, x, y: x.unbind(0)[0] + y, lambda m, x, y: sum(x.split(1, 1)) * y, lambda m, x, y: x.diagonal().sum() * y,
]


def written(m: Any, draw: random.Random, x: Tensor) -> Tensor:
    """A tensor that an op in place has changed."""
    made = x.clone()
    kind = draw.randrange(4)
    if kind == 0:
        made.mul_(2)
    elif kind == 1:
        made.add_(x)
    elif kind == 2:
        made.tanh_()
    else:
        made.clamp_(min=-0.5)
    return made


def losses(m: Any, draw: random.Random, x: Tensor) -> Tensor:
    """A number at the end."""
    kind = draw.randrange(4)
    if kind == 0:
        return x.sum()
    if kind == 1:
        return m.nn.functional.mse_loss(x, m.full((2, 3), 0.5))
    if kind == 2:
        return m.nn.functional.cross_entropy(x, m.tensor([2, 0]))
    return (x * x).mean()


def run(m: Any, seed: int, leaves: dict[str, Tensor]) -> None:
    """One program: some ops on the leaves, a backward pass, and sometimes a step of gradient descent and another."""
    draw = random.Random(seed)

    def forward() -> Tensor:
        made = [leaves["a"], leaves["b"], leaves["a"] + leaves["c"]]
        for _ in range(draw.randrange(2, 6)):
            x, y = draw.choice(made), draw.choice(made)
            kind = draw.random()
            if kind < 0.45:
                made.append(draw.choice(UNARY)(m, x))
            elif kind < 0.65:
                made.append(draw.choice(BINARY)(m, x, y))
            elif kind < 0.9:
                made.append(draw.choice(SHAPED)(m, x, y))
            else:
                made.append(written(m, draw, x))
        return losses(m, draw, made[-1])

    forward().backward()
    if draw.random() < 0.4:
        with m.no_grad():
            for leaf in leaves.values():
                if leaf.grad is not None:
                    leaf -= 0.1 * leaf.grad
                    leaf.grad = None if draw.random() < 0.5 else leaf.grad
        forward().backward()


def pair(m: Any, seed: int, recorder: Any = record,
         nan: tuple[str, int] | None = None) -> tuple[Trace, Trace, dict[str, list[Any]]]:
    """The traces of a program with some numbers and with others, and these; with `nan` the others are the same, but for
    an entry of a leaf, which is NaN: one in the first row."""
    draw = random.Random(1000 + seed)

    def numbers() -> dict[str, list[Any]]:
        rows = [[round(draw.uniform(-2, 2), 2) for _ in range(3)] for _ in range(5)]
        return {"a": rows[:2], "b": rows[2:4], "c": rows[4]}

    def traced(given: dict[str, list[Any]]) -> Trace:
        leaves = {name: m.tensor(rows, requires_grad=True) for name, rows in given.items()}
        with recorder(leaves) as trace:
            run(m, seed, leaves)
        return trace

    first, second = numbers(), numbers()
    if nan is not None:
        second = copy.deepcopy(first)
        row = second[nan[0]][0] if nan[0] != "c" else second["c"]
        row[nan[1]] = math.nan
    return traced(first), traced(second), second
