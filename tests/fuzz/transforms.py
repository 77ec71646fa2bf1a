"""Random compositions of transforms, under minigrad and PyTorch: functions with writes in place, views, modules and
random draws, inside up to four transforms. Each function takes a vector of three numbers to one.

A composition is the names of its parts, so that what differs can be told and run again. Where both give numbers, and
others, a third opinion decides: PyTorch's reverse mode, one row and one example after the other. It knows no forward
mode and no `vmap`, which are where PyTorch's own answers differ from each other (docs/func.md).
"""

from __future__ import annotations

import importlib
import random
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Composition", "Outcome", "compared", "drawn"]

Function = Callable[[Any], Any]


def written(m: Any, x: Any) -> Any:
    y = m.zeros(4, dtype=x.dtype)
    y[1:] = x
    y[0] = x[0] * 2
    return (y * y)[:3]


def written_view(m: Any, x: Any) -> Any:
    y = x * 2
    y[1:].mul_(x[:2])
    y.view(3, 1)[0].add_(x[2])
    return y


def by_hand(m: Any, x: Any) -> Any:
    """A custom Function, with a rule for each direction."""
    class Scaled(m.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a, b):
            return a * b.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b.sum(), (g * a).sum().expand(b.shape)

        @staticmethod
        def jvp(ctx, s, t):
            a, b = ctx.saved_tensors
            return s * b.sum() + a * t.sum()

    return Scaled.apply(x, x.cos())


def through_module(m: Any, x: Any) -> Any:
    """A module as a function of parameters that depend on the input."""
    layer = m.nn.Sequential(m.nn.Linear(3, 3), m.nn.Tanh()).double()
    given = {"0.weight": x.outer(x.cos()), "0.bias": m.ones(3, dtype=x.dtype)}
    return functions(m).functional_call(layer, given, (x,))


def in_pieces(m: Any, x: Any) -> Any:
    first, second = x[:2].clone(), x[2:] * x[0]
    first[1] = second[0]
    return m.cat([second, first]) * m.stack([x.sum(), x.prod(), x[1]])


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "cube": lambda m, x: x ** 3 / 3, "product": lambda m, x: x * x.sum(), "sin": lambda m, x: x.sin() + 1,
    "in place": lambda m, x: (x * 1).mul_(x).add_(x.roll(1)),
    "written": written, "written view": written_view, "in pieces": in_pieces, "by hand": by_hand,
    "module": through_module,
    "matrix": lambda m, x: (x.outer(x) @ x).tanh(),
    "views": lambda m, x: m.cat([x[1:], x[:1]]).flip(0) * x.view(1, -1).expand(2, -1).sum(0),
    "softmax": lambda m, x: x.softmax(0) * x.exp(),
    "gelu": lambda m, x: m.nn.functional.gelu(m.nn.functional.linear(x, x.outer(x.cos()))) + x.cumsum(0),
    "statistics": lambda m, x: (x - x.mean()) / (x.var() + 1),
    "norm": lambda m, x: x / (1 + x.norm()),
    "detached": lambda m, x: x.detach() * x.sin(),
    "data": lambda m, x: x.sin().data * x,
    "no grad": lambda m, x: unrecorded(m, x) * x,
    "sorted": lambda m, x: x.sort()[0] * x.amax() + x.cummax(0)[0],
    "chosen": lambda m, x: m.where(x > 0, x * x, x.exp()) + x.clamp(-0.5, 1),
    "indexed": lambda m, x: x[m.tensor([2, 0, 0])] * x.index_select(0, m.tensor([1, 1, 2])),
    "scattered": lambda m, x: m.zeros(3, dtype=x.dtype).scatter_add(0, m.tensor([0, 2, 2]), x * x) + x,
    "masked": lambda m, x: x.masked_fill(x > 0.6, 2.0) * x.sigmoid(),
    "solved": lambda m, x: m.linalg.solve(x.outer(x) + 2 * m.eye(3, dtype=x.dtype), x.exp()),
    "einsum": lambda m, x: m.einsum("i,j,ij->i", x, x.cos(), x.outer(x.exp())),
    "conv": lambda m, x: m.nn.functional.conv1d(x.view(1, 1, 3), x[:2].view(1, 1, 2), padding=1).view(-1)[:3],
    "drawn": lambda m, x: x * m.rand(3, dtype=x.dtype),
    "drawn like it": lambda m, x: x * m.randn_like(x),
    "dropout": lambda m, x: m.nn.functional.dropout(x, 0.5) * x,
    "a copy": lambda m, x: m.zeros_like(x).copy_(x).mul_(x[0]),
    "unfolded": lambda m, x: x.unfold(0, 2, 1).sum(0).sum() * x,
}
DRAWS = {"drawn", "drawn like it", "dropout"}
WRONG_IN_PYTORCH = {"solved", "by hand"}  # in nested transforms: docs/func.md
LIKE_A_TENSOR = {"drawn like it", "dropout"}  # in PyTorch the numbers fill the batch in the order of its memory


def unrecorded(m: Any, x: Any) -> Any:
    with m.no_grad():
        return x * x


def functions(m: Any) -> Any:
    return importlib.import_module(f"{m.__name__}.func")


def aux_of(m: Any, f: Any, inner: Function) -> Function:
    """What comes along with a gradient, times it."""
    def around(x: Any) -> Any:
        gradient, aux = f.grad(lambda y: ((inner(y) * y).sum(), inner(y)), has_aux=True)(x)
        return gradient * aux

    return around


def batch(m: Any, x: Any) -> Any:
    return m.stack([x, x.cos(), x * 0.5])


AROUND: dict[str, Callable[[Any, Any, Function], Function]] = {
    "grad": lambda m, f, inner: f.grad(lambda x: (inner(x) * x.cos()).sum()),
    "grad and aux": aux_of,
    "grad with what is outside": lambda m, f, inner: lambda x: f.grad(lambda y: (inner(y) * x).sum())(x.sin()),
    "value": lambda m, f, inner: lambda x: f.grad_and_value(lambda y: inner(y).sum())(x)[1] * x,
    "vjp": lambda m, f, inner: lambda x: f.vjp(inner, x)[1](x.sin())[0],
    "vjp by the cotangent": lambda m, f, inner: lambda x: f.vjp(lambda v: f.vjp(inner, x)[1](v)[0], x)[1](x)[0],
    "jvp": lambda m, f, inner: lambda x: f.jvp(inner, (x,), (x.cos(),))[1],
    "jvp and value": lambda m, f, inner: lambda x: sum(f.jvp(inner, (x,), (m.ones_like(x),))),
    "jvp with what is outside": lambda m, f, inner: lambda x: f.jvp(lambda y: inner(y) * x, (x,), (x,))[1],
    "jacrev": lambda m, f, inner: lambda x: f.jacrev(inner)(x).sum(0),
    "jacfwd": lambda m, f, inner: lambda x: f.jacfwd(inner, randomness="different")(x) @ x,
    "jacfwd of the same": lambda m, f, inner: lambda x: f.jacfwd(inner, randomness="same")(x) @ x,
    "vmap": lambda m, f, inner: lambda x: f.vmap(inner, randomness="different")(batch(m, x)).sum(0),
    "vmap of the same": lambda m, f, inner: lambda x: f.vmap(inner, randomness="same")(batch(m, x)).sum(0),
    "vmap of columns": lambda m, f, inner: lambda x: f.vmap(inner, in_dims=1, out_dims=1, randomness="different")(
        batch(m, x)).sum(0),
    "vmap of a factor": lambda m, f, inner: lambda x: f.vmap(lambda c: inner(x * c), randomness="different")(
        x[:2]).sum(0),
    "vmap of pieces": lambda m, f, inner: lambda x: f.vmap(inner, chunk_size=2, randomness="different")(
        batch(m, x)).sum(0),
}


class Composition(NamedTuple):
    """A function of some steps, and the transforms around it, the innermost first; both by name."""

    steps: tuple[str, ...]
    around: tuple[str, ...]

    def run(self, m: Any, f: Any = None) -> Any:
        """The numbers that it gives, with PyTorch's random numbers; `f`: with these transforms in place of the
        library's."""
        m.manual_seed(7)
        f = functions(m) if f is None else f
        function: Function = lambda x: self.base(m, x)  # noqa: E731 (transforms replace it below)
        for name in self.around:
            function = AROUND[name](m, f, function)
        return np.array(function(m.tensor([0.5, -0.7, 1.1], dtype=m.float64)).tolist())

    def base(self, m: Any, x: Any) -> Any:
        for name in self.steps:
            x = STEPS[name](m, x)
        return x


class Outcome(NamedTuple):
    """What came out: `kind` is `"equal"`, `"different"` (silent), `"PyTorch is alone"` with its numbers, `"refused"` by
    both, `"only PyTorch"` runs it, or `"only minigrad"`; `what` tells more."""

    kind: str
    what: str


def drawn(seed: int) -> Composition:
    """The composition of this seed. Where PyTorch may be wrong, all steps are such that the third opinion holds: it
    does not draw the same numbers, and in it `no_grad` stops tangents."""
    pick = random.Random(seed)
    steps = tuple([pick.choice(sorted(STEPS)) for _ in range(pick.randint(1, 2))])
    around = [pick.choice(sorted(AROUND)) for _ in range(pick.randint(1, 4))]
    if WRONG_IN_PYTORCH.intersection(steps):
        steps = tuple(["sin" if each in DRAWS | {"no grad"} else each for each in steps])
    if LIKE_A_TENSOR.intersection(steps):
        around = ["vmap" if each == "vmap of columns" else each for each in around]
    return Composition(steps, tuple(around))


def reverse_mode(torch: Any) -> Any:
    """The transforms of PyTorch's reverse mode, and what follows from it: tangents by differentiating a row twice,
    columns from rows, and examples one by one."""
    f = functions(torch)

    def jvp(function: Function, primals: Any, tangents: Any) -> Any:
        output, _ = f.vjp(function, *primals)
        _, pull = f.vjp(lambda v: f.vjp(function, *primals)[1](v), torch.zeros_like(output))
        return output, pull(tuple(tangents))[0]

    def jacobian(function: Function, **options: Any) -> Function:
        def rows(x: Any) -> Any:
            _, pull = f.vjp(function, x)
            return torch.stack([pull(unit)[0] for unit in torch.eye(3, dtype=x.dtype)])

        return rows

    def vmap(function: Function, in_dims: int = 0, out_dims: int = 0, **options: Any) -> Function:
        return lambda x: torch.stack([function(each) for each in x.unbind(in_dims)], out_dims)

    return SimpleNamespace(grad=f.grad, grad_and_value=f.grad_and_value, vjp=f.vjp, jvp=jvp, jacrev=jacobian,
                           jacfwd=jacobian, vmap=vmap)


def tried(composition: Composition, m: ModuleType, f: Any = None) -> Any:
    """The numbers, or the error as a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return composition.run(m, f)
        except (RuntimeError, NotImplementedError, ValueError) as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"


def equal(a: Any, b: Any) -> bool:
    """Whether two outcomes are the same numbers."""
    return not isinstance(a, str) and not isinstance(b, str) and a.shape == b.shape and bool(
        np.allclose(a, b, rtol=1e-7, atol=1e-8, equal_nan=True))


def compared(composition: Composition, torch: ModuleType, minigrad: ModuleType) -> Outcome:
    """Run a composition under both."""
    theirs, ours = tried(composition, torch), tried(composition, minigrad)
    if isinstance(ours, str) or isinstance(theirs, str):
        if isinstance(ours, str) and isinstance(theirs, str):
            return Outcome("refused", "in the same words" if ours == theirs else f"{ours} / {theirs}")
        return Outcome("only PyTorch", ours) if isinstance(ours, str) else Outcome("only minigrad", str(theirs))
    if equal(ours, theirs):
        return Outcome("equal", "")
    alone = equal(ours, tried(composition, torch, reverse_mode(torch)))
    return Outcome("PyTorch is alone" if alone else "different", f"{ours.tolist()} / {theirs.tolist()}")
