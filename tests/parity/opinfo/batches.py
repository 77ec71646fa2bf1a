"""`vmap` of every op on PyTorch's own samples, against a loop: `python -m tests.parity.opinfo.batches NAME...`

Each sample in float64 becomes a batch of three: floats are scaled, the elements of integers and masks are shifted by
one. The op runs by `vmap` on batches of all its tensors, of the first only, and of all others, and so do its gradients:
those inside of `vmap`, and those of `vmap`. The loop is what the other tests of samples compare with PyTorch.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

import minigrad
from minigrad.backends.batched import Batched
from minigrad.func import vjp, vmap
from tests.parity.compare import copied
from tests.parity.opinfo.run import Mismatch, Report, flat, function_of, in_words, kind, named, present, show, trace
from tests.parity.opinfo.samples import OPS, Leaf, Named, Sample, each, samples, translated
from tests.parity.opinfo.skips import SAMPLES

EXAMPLES, TOLERANCE = 3, 1e-8
ALLOWED = ("dynamic shape", "data-dependent", ".item()", "running_mean or running_var", "differently shaped",
           "called random operation", "we do not yet support aten::rrelu")
LEFT_OUT = {
    **dict.fromkeys(("empty_like", "new_empty", "new_empty_strided"), "whatever was in memory"),
    **dict.fromkeys(("resize_", "resize_as_"), "a batch has no storage of its own to change"),
    "nn.functional.ctc_loss": "runs text by text, on numbers",
    **dict.fromkeys(("allclose", "equal"), "refused, as in PyTorch"),
}


class Batch:
    """A sample as a function of its tensors, and examples of these."""

    def __init__(self, op: Any, sample: Sample) -> None:
        self.op, self.sample = op, sample
        self.leaves: list[Leaf] = []
        each(lambda v: self.leaves.append(v) if isinstance(v, Leaf) and v not in self.leaves else None,
             (sample.args, sample.kwargs))

    def run(self, *tensors: Any) -> tuple[Any, ...]:
        """The tensors that the op returns."""
        def given(part: Any) -> Any:
            if isinstance(part, Named):
                return getattr(minigrad, part.name)
            return tensors[self.leaves.index(part)] if isinstance(part, Leaf) else part

        minigrad.manual_seed(0)
        result = translated(self.sample.process, minigrad)(
            function_of(self.op, minigrad)(*each(given, self.sample.args), **each(given, self.sample.kwargs)))
        return tuple([v for v in flat(result) if isinstance(v, minigrad.Tensor)])

    def example(self, leaf: Leaf, number: int) -> Any:
        """One tensor of one example."""
        array = copied(leaf.array)
        if array.dtype.kind == "f":
            return minigrad.from_numpy(np.asarray(array * (1 - 0.07 * number)))
        return minigrad.from_numpy(np.roll(array.ravel(), number).reshape(array.shape) if number else array)

    def differentiable(self) -> list[int]:
        """The tensors by which to differentiate."""
        return [i for i, leaf in enumerate(self.leaves) if leaf.grad]

    def gradients(self, vectors: Sequence[Any], *tensors: Any) -> tuple[Any, ...]:
        """The vector-Jacobian products of one example."""
        chosen = self.differentiable()

        def of(*by: Any) -> Any:
            given = list(tensors)
            for i, value in zip(chosen, by, strict=True):
                given[i] = value
            return tuple([v for v in self.run(*given) if v.is_floating_point()])

        return vjp(of, *[tensors[i] for i in chosen])[1](tuple(vectors))


def stacked(rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The results of several runs."""
    return [minigrad.stack([v.detach() for v in column]) for column in zip(*rows, strict=True)]


def choices(count: int) -> Iterator[list[int | None]]:
    """Which tensors are batches."""
    yield [0] * count
    if count > 1:
        yield [0] + [None] * (count - 1)
        yield [None] + [0] * (count - 1)


def compare(ours: Sequence[Any], expected: Sequence[Any], what: str, tolerance: float = TOLERANCE) -> None:
    """Raise Mismatch unless these tensors are equal."""
    if len(ours) != len(expected):
        raise Mismatch(f"{what}: {len(ours)} results, not {len(expected)}")
    for index, (a, b) in enumerate(zip(ours, expected, strict=True)):
        if a.dtype != b.dtype or a.shape != b.shape:
            raise Mismatch(f"{what} {index} is {a.dtype} {a.shape}, not {b.dtype} {b.shape}")
        if type(a.array) is Batched:
            raise Mismatch(f"{what} {index} is still a batch")
        x, y = a.detach().numpy(), b.detach().numpy()
        near = (x == y) | (abs(x - y) <= tolerance * np.maximum(1, abs(y))) if y.dtype.kind == "f" else x == y
        if y.dtype.kind == "f":
            near |= np.isnan(x) & np.isnan(y)
        if not near.all():
            raise Mismatch(f"{what} {index} is {x.ravel()[:8]}, not {y.ravel()[:8]}")


def looped(batch: Batch, dims: Sequence[int | None], rows: list[list[Any]]) -> Any:
    """What a loop gives: the results, and vectors with their gradients. None if an example is refused, or results have
    several shapes."""
    try:
        results = [batch.run(*row) for row in rows]
        expected = stacked(results)
    except Exception:  # noqa: BLE001 (whatever it is: there is nothing to compare with)
        return None
    draws = np.random.default_rng(0)
    vectors = [minigrad.from_numpy(draws.normal(size=tuple(v.shape))).to(v.dtype)
               for v in expected if v.is_floating_point()]
    grads = None
    if vectors and batch.differentiable():
        try:
            grads = stacked([batch.gradients([v[i] for v in vectors], *row) for i, row in enumerate(rows)])
        except Exception:  # noqa: BLE001 (an op without a derivative)
            grads = None
    return expected, vectors, grads


def check(report: Report, batch: Batch, dims: list[int | None]) -> None:
    """Compare `vmap` of one sample with a loop."""
    numbers = range(EXAMPLES)
    whole = [[batch.example(leaf, i if dim == 0 else 0) for i in numbers]
             for leaf, dim in zip(batch.leaves, dims, strict=True)]
    rows = [[values[i].clone() for values in whole] for i in numbers]
    found = looped(batch, dims, rows)
    if found is None:
        return
    expected, vectors, grads = found
    given = [minigrad.stack(values) if dim == 0 else values[0] for values, dim in zip(whole, dims, strict=True)]
    report.tried += 1
    try:
        ours = vmap(batch.run, tuple(dims))(*[v.clone() for v in given])
    except Exception as error:
        if any(text in str(error) for text in ALLOWED):
            report.left_out["refused: " + str(error)[:60]] = 1
            return
        raise Mismatch(f"vmap raises {type(error).__name__}: {error}\n{trace(error)}") from error
    compare(ours, expected, "result")
    if grads is not None:
        check_gradients(report, batch, dims, given, vectors, grads)


def check_gradients(report: Report, batch: Batch, dims: list[int | None], given: list[Any], vectors: list[Any],
                    grads: list[Any]) -> None:
    """Compare gradients that `vmap` computes, and those of what it computes, with those of a loop."""
    try:
        inner = vmap(batch.gradients, (0, *dims))(vectors, *[v.clone() for v in given])
    except Exception as error:
        if any(text in str(error) for text in ALLOWED):
            report.left_out["refused gradient: " + str(error)[:60]] = 1
            return
        raise Mismatch(f"vmap of vjp raises {type(error).__name__}: {error}\n{trace(error)}") from error
    tolerance = 1e-4 if batch.sample.single() else 1e-7
    compare(inner, grads, "gradient inside", tolerance)
    leaves = [v.clone().requires_grad_(i in batch.differentiable()) for i, v in enumerate(given)]
    try:
        outputs = [v for v in vmap(batch.run, tuple(dims))(*leaves) if v.is_floating_point()]
        outputs, vectors = zip(*[(v, g) for v, g in zip(outputs, vectors, strict=True) if v.requires_grad],
                               strict=True) if any(v.requires_grad for v in outputs) else ((), ())
        by = [leaves[i] for i in batch.differentiable()]
        outer = minigrad.autograd.grad(outputs, by, vectors, materialize_grads=True,
                                       allow_unused=True) if outputs else []
    except Exception as error:
        raise Mismatch(f"the gradient of vmap raises {type(error).__name__}: {error}\n{trace(error)}") from error
    compare(outer, [g if dims[i] == 0 else g.sum(0) for i, g in zip(batch.differentiable(), grads, strict=True)][
        :len(outer)], "gradient outside", tolerance)


def report_of(name: str, most: int | None = 4) -> Report:
    """What is found out about `vmap` of an op."""
    op, report = OPS[name], Report(name)
    leave = SAMPLES.get(op.name, (None, ""))[0]
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        for sample in samples(op, torch.float64, most, report.left_out):
            if (leave is not None and leave(name, sample)) or "out" in sample.kwargs:
                continue
            batch = Batch(op, sample)
            for dims in choices(len(batch.leaves)) if batch.leaves else ():
                try:
                    check(report, batch, dims)
                except Mismatch as why:
                    report.failed += 1
                    report.failures.setdefault(kind(str(why)), f"{name}({in_words(sample)})\n    {dims} {why}")
    for each_warning in caught:
        if "performance drop" in str(each_warning.message):
            report.left_out[str(each_warning.message)[70:110]] = 1
    return report


def main(names: list[str]) -> int:
    """The command."""
    chosen = argparse.Namespace(all=False, texts=False, bad=True)
    reports = []
    for name in named(names) if names else present():
        if name in present() and name not in LEFT_OUT and OPS[name].supports_dtype(torch.float64, "cpu"):
            reports.append(report_of(name))
            show(reports[-1], chosen)
    print(f"{len(reports)} ops, {sum(r.tried for r in reports)} samples; {sum(r.failed > 0 for r in reports)} ops fail")
    return int(any(r.failed for r in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
