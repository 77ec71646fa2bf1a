"""Tangents of PyTorch's own samples, in both libraries: `python -m tests.parity.opinfo.tangents NAME...`

Each sample in float64 is run with duals in place of the leaves that want a gradient. In order 1 the tangents of the
results are compared, in order 2 those of gradients (forward over reverse). Reverse over forward is not compared:
PyTorch does not test it, and 2.13 is wrong where a rule for tangents uses a saved statistic, as in `layer_norm`.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import torch
import torch.autograd.forward_ad

import minigrad
import minigrad.autograd.forward_ad
from tests.parity.opinfo.run import (
    OF_GRADIENTS,
    SINGLE,
    Mismatch,
    Report,
    flat,
    function_of,
    in_words,
    kind,
    named,
    near,
    present,
    show,
    trace,
)
from tests.parity.opinfo.samples import OPS, Sample, built, samples, translated
from tests.parity.opinfo.skips import SAMPLES

LEFT_OUT = {  # ops whose tangents PyTorch has, and why they differ
    "nn.functional.max_unpool1d": "where two values go to one place, either tangent may win",
    "nn.functional.max_unpool2d": "where two values go to one place, either tangent may win",
    "nn.functional.max_unpool3d": "where two values go to one place, either tangent may win",
}
LOOSE = {"cholesky_inverse": 1e-4, "logcumsumexp": 1e-4}  # ill-conditioned samples; PyTorch's rule takes logarithms


def pushed(lib: ModuleType, op: Any, sample: Sample, order: int) -> list[Any]:
    """The tangents of the results of a call on duals, or in order 2 those of the gradients of a sum over results."""
    memo: dict[int, Any] = {}
    args, kwargs = built(sample.args, lib, memo), built(sample.kwargs, lib, memo)
    leaves = [(key, leaf) for key, leaf in memo.items() if leaf.requires_grad]
    draws = np.random.default_rng(0)
    forward = lib.autograd.forward_ad
    with forward.dual_level():
        duals = {}
        for key, leaf in leaves:
            tangent = lib.from_numpy(draws.normal(size=tuple(leaf.shape))).to(leaf.dtype)
            duals[key] = forward.make_dual(leaf if order == 2 else leaf.detach(), tangent)
        args, kwargs = built_with(sample, lib, {**memo, **duals})
        lib.default_generator.manual_seed(0)
        results = flat(translated(sample.process, lib)(function_of(op, lib)(*args, **kwargs)))
        if order == 2:
            ready = [v for v in results if isinstance(v, lib.Tensor) and v.requires_grad]
            total = sum((v * lib.from_numpy(draws.normal(size=tuple(v.shape))).to(v.dtype)).sum() for v in ready)
            results = list(lib.autograd.grad(total, list(duals.values()), create_graph=True,
                                             allow_unused=True)) if ready else []
        return [None if v is None else forward.unpack_dual(v).tangent for v in results
                if v is None or isinstance(v, lib.Tensor)]


def built_with(sample: Sample, lib: ModuleType, memo: dict[int, Any]) -> tuple[Any, Any]:
    """The arguments of a sample with these tensors for its leaves."""
    return built(sample.args, lib, memo), built(sample.kwargs, lib, memo)


def attempt(lib: ModuleType, op: Any, sample: Sample, order: int) -> Any:
    """The same, or its error."""
    try:
        return pushed(lib, op, sample, order)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is compared)
        return error


def check(report: Report, op: Any, sample: Sample, order: int) -> None:
    """Compare the tangents of one sample. What PyTorch does not push is left out."""
    theirs = attempt(torch, op, sample, order)
    if isinstance(theirs, Exception):
        why = f"order {order}, of which PyTorch has no tangent"
        report.left_out[why] = report.left_out.get(why, 0) + 1
        return
    ours = attempt(minigrad, op, sample, order)
    report.tried += 1
    if isinstance(ours, Exception):
        raise Mismatch(f"minigrad raises {type(ours).__name__}: {ours}\n{trace(ours)}")
    error, tolerance = 0.0, SINGLE if sample.single() else LOOSE.get(report.name, OF_GRADIENTS)
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None or b is None:
            left = a if b is None else b
            if left is not None and not left.detach().abs().sum().item() < OF_GRADIENTS:
                raise Mismatch(f"tangent {index} is {a}, not {b}")
            continue
        if str(a.dtype) != str(b.dtype) or tuple(a.shape) != tuple(b.shape):
            raise Mismatch(f"tangent {index} is {a.dtype} {a.shape}, not {b.dtype} {b.shape}")
        error = max(error, near(a, b, tolerance, f"tangent {index}"))
    report.gradients = max(report.gradients, error)


def report_of(name: str, most: int | None = 6, order: int = 2) -> Report:
    """What is found out about the tangents of an op."""
    op, report = OPS[name], Report(name)
    leave = SAMPLES.get(op.name, (None, ""))[0]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for sample in samples(op, torch.float64, most, report.left_out) if op.supports_autograd else ():
            if leave is not None and leave(name, sample):
                continue
            for each_order in [n for n, pushes in enumerate((op.supports_forward_ad, op.supports_fwgrad_bwgrad), 1)
                               if pushes and n <= order]:
                try:
                    check(report, op, sample, each_order)
                except Mismatch as why:
                    report.failed += 1
                    report.failures.setdefault(f"order {each_order}: {kind(str(why))}",
                                               f"{name}({in_words(sample)})\n    order {each_order}: {why}")
    return report


def main(names: list[str]) -> int:
    """The command."""
    chosen = argparse.Namespace(all=False, texts=False, bad=True)
    reports = []
    for name in named(names) if names else present():
        if name in present() and OPS[name].supports_dtype(torch.float64, "cpu"):
            reports.append(report_of(name))
            show(reports[-1], chosen)
    print(f"{len(reports)} ops, {sum(r.tried for r in reports)} samples; {sum(r.failed > 0 for r in reports)} ops fail")
    return int(any(r.failed for r in reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
