"""PyTorch's own samples of its ops, run through PyTorch and minigrad: `python -m tests.parity.opinfo.run NAME...`

    python -m tests.parity.opinfo.run softmax nn.functional.gelu 'linalg.*'   # these ops (patterns too)
    python -m tests.parity.opinfo.run                                         # all that minigrad has
    python -m tests.parity.opinfo.run --missing                               # what minigrad has not

Options: `--all` shows every kind of failure of an op (else three), `--texts` the errors whose sentence differs,
`--most N` takes N samples of each op (evenly chosen), `--bad` prints only the ops that fail.

For each sample in float64 it compares shapes, dtypes, values (1e-12 of max(1, |b|), 1e-9 for the ops in
`skips.LOOSE`), flags, the name of grad_fn, first gradients on arrays, first and second gradients on tensors
(1e-8); in float32, int64 and bool the results alone. The method, the in-place method, operators and aliases are tried
on some of the samples. Inputs that PyTorch refuses must raise the same type. `skips.py` lists what is left out.
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import torch

import minigrad
from tests.parity.compare import derivatives, numbers
from tests.parity.opinfo.samples import (
    OPS,
    Leaf,
    Sample,
    built,
    evenly,
    full_name,
    function_of,
    in_words,
    looked_up,
    refused,
    samples,
    translated,
)
from tests.parity.opinfo.skips import LOOSE, ONCE, PLACES, PROCESSED, SAMPLES, SKIPS, UNDEFINED
from tests.parity.tensors import said

TIGHT, WIDE, OF_GRADIENTS, SINGLE = 1e-12, 1e-9, 1e-8, 1e-4
OTHERS = (torch.float32, torch.int64, torch.bool)
Call = Callable[..., Any]


class Mismatch(Exception):
    """The two libraries do not agree."""


@dataclass
class Report:
    """What was found out about one op."""

    name: str
    tried: int = 0
    values: float = 0.0  # worst error of values
    gradients: float = 0.0  # of gradients and second gradients
    failures: dict[str, str] = field(default_factory=dict)  # by kind: the first sample in full
    failed: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)  # errors of the right type with another sentence

    def line(self) -> str:
        """The op in one line."""
        out = "".join(f"; left out: {n} of {why}" for why, n in self.left_out.items())
        said_otherwise = f"; {len(self.texts)} errors with other texts" if self.texts else ""
        state = f"FAIL {self.failed:4}" if self.failed else "ok       "
        return (f"{state} {self.name:42} {self.tried:5} samples, worst {self.values:.1e} (values) "
                f"{self.gradients:.1e} (gradients){out}{said_otherwise}")


@dataclass
class Seen:
    """What a call gave."""

    results: list[Any]
    processed: list[Any]
    grads: list[Any]


def flat(result: Any) -> list[Any]:
    """All that a call returned, in order."""
    if isinstance(result, (tuple, list)):
        return [v for part in result for v in flat(part)]
    return [result]


def called(lib: ModuleType, call: Call, sample: Sample, order: int) -> Seen:
    """A call with fresh leaves, and its derivatives up to an order."""
    memo: dict[int, Any] = {}
    args, kwargs = built(sample.args, lib, memo), built(sample.kwargs, lib, memo)
    lib.default_generator.manual_seed(0)
    result = call(*args, **kwargs)
    names = getattr(type(result), "__match_args__", ()) if type(result).__module__.endswith("return_types") else ()
    processed = flat(translated(sample.process, lib)(result))
    ready = [v for v in processed if getattr(v, "requires_grad", False)]
    leaves = [v for v in memo.values() if v.requires_grad]
    grads = derivatives(lib, ready, leaves, order) if order and ready else []
    return Seen([*flat(result), *names], processed, grads)


def attempt(lib: ModuleType, call: Call, sample: Sample, order: int) -> Seen | Exception:
    """A call, or its error."""
    try:
        return called(lib, call, sample, order)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is compared)
        return error


def difference(ours: Any, theirs: Any) -> float:
    """How far two tensors of one shape are apart, of max(1, |theirs|)."""
    a, b = numbers(ours), numbers(theirs)
    if a.dtype.kind in "biu":
        return 0.0 if np.array_equal(a, b) else float("inf")
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    apart = np.where(same, 0.0, abs(a - b) / np.maximum(1, abs(b)))
    return float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0.0))


def facts(value: Any) -> Any:
    """What is equal of two tensors but their values."""
    maker = value.grad_fn.name() if value.grad_fn is not None else None
    return str(value.dtype).split(".")[-1], tuple(value.shape), value.requires_grad, maker


def open_places(name: str, sample: Sample) -> Sequence[int]:
    """Which results are places of values that stand in several places: each of these is right."""
    first = sample.args[0]
    if name in PLACES and not sample.kwargs.get("stable") and isinstance(first, Leaf):
        if len(np.unique(first.array)) < first.array.size:
            return (PLACES[name],)
    return ()


def compare_results(ours: list[Any], theirs: list[Any], tolerance: float, open_: Sequence[int] = ()) -> float:
    """The worst error of some results, but for the values of those in `open_`; raises where they do not agree."""
    if len(ours) != len(theirs):
        raise Mismatch(f"{len(ours)} results, not {len(theirs)}")
    worst = 0.0
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if not isinstance(b, torch.Tensor):
            if str(a) != str(b) and not (isinstance(b, float) and abs(a - b) <= tolerance * max(1, abs(b))):
                raise Mismatch(f"result {index} is {a!r}, not {b!r}")
            continue
        if not isinstance(a, minigrad.Tensor):
            raise Mismatch(f"result {index} is a {type(a).__name__}, not a tensor")
        if facts(a) != facts(b):
            raise Mismatch(f"result {index} is {facts(a)}, not {facts(b)}")
        if index not in open_:
            worst = max(worst, near(a, b, tolerance, f"result {index}"))
    return worst


def near(a: Any, b: Any, tolerance: float, what: str) -> float:
    """The error of a tensor; raises where it is too large."""
    error = difference(a, b)
    if error > tolerance:
        raise Mismatch(f"{what} is off by {error:.2g}\n    minigrad {short(a)}\n    PyTorch  {short(b)}")
    return error


def short(value: Any) -> str:
    """The first values of a tensor."""
    array = numbers(value)
    return f"{array.ravel()[:12].tolist()}{'...' if array.size > 12 else ''} {array.shape}"


def compare_gradients(ours: list[Any], theirs: list[Any], tolerance: float) -> float:
    """The worst error of gradients, order by order; none and zeros are the same from the second order on."""
    worst = 0.0
    for order in range(max(len(ours), len(theirs))):
        mine, wanted = (side[order] if order < len(side) else None for side in (ours, theirs))
        count = len(mine if mine is not None else wanted)
        for index in range(count):
            a, b = (None if side is None else side[index] for side in (mine, wanted))
            what = f"gradient {index} of order {order + 1}"
            if a is None or b is None:
                if (order == 0 and a is not b) or any((abs(numbers(v)) > tolerance).any() for v in (a, b)
                                                     if v is not None):
                    raise Mismatch(f"{what} is {a if a is None else short(a)}, not {b if b is None else short(b)}")
                continue
            if facts(a)[:2] != facts(b)[:2]:
                raise Mismatch(f"{what} is {facts(a)[:2]}, not {facts(b)[:2]}")
            worst = max(worst, near(a, b, tolerance, what))
    return worst


def refuses(ours: Seen | Exception, theirs: Exception, report: Report, sample: Sample) -> None:
    """What PyTorch refuses must be refused with the same type."""
    if not isinstance(ours, Exception):
        raise Mismatch(f"nothing is raised, not {type(theirs).__name__}: {said(str(theirs))}")
    if type(ours).__name__ != type(theirs).__name__:
        raise Mismatch(f"{type(ours).__name__} is raised, not {type(theirs).__name__}: {said(str(theirs))}\n"
                       f"    it says: {ours}\n"
                       f"{trace(ours)}")
    a, b = said(str(ours)), said(str(theirs))
    if a != b:
        report.texts.append(f"{a!r}\n    not {b!r}\n    {in_words(sample)}")


def trace(error: Exception) -> str:
    """The last places that an error came from."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return "    raised in " + ", ".join(f"{f.filename.split('/')[-1]}:{f.lineno} {f.name}" for f in frames)


def check(report: Report, calls: tuple[Call, Call], sample: Sample, order: int, tolerance: float) -> None:
    """Run a sample through both libraries and compare all there is."""
    ours, theirs = attempt(minigrad, calls[0], sample, min(order, 1)), attempt(torch, calls[1], sample, order)
    if isinstance(theirs, Exception) and order == 2:  # PyTorch has no second derivative of it
        order, theirs = 1, attempt(torch, calls[1], sample, 1)
    if isinstance(theirs, Exception) and order == 1:
        order, theirs = 0, attempt(torch, calls[1], sample, 0)
        ours = attempt(minigrad, calls[0], sample, 0)
    if isinstance(theirs, Exception):
        return refuses(ours, theirs, report, sample)
    again = attempt(minigrad, calls[0], sample, 2) if order == 2 and not isinstance(ours, Exception) else ours
    for each in (ours, again):
        if isinstance(each, Exception):
            raise Mismatch(f"minigrad raises {type(each).__name__}: {each}\n{trace(each)}")
        name = report.name.split(" ")[0]
        open_ = range(9) if name in UNDEFINED or name in PROCESSED else open_places(name, sample)
        worst = compare_results(each.results, theirs.results, tolerance, open_)
        if name in PROCESSED:
            worst = compare_results(each.processed, theirs.processed, tolerance)
        report.values = max(report.values, worst if tolerance < SINGLE else 0.0)
    worst = compare_gradients(ours.grads, theirs.grads[:1], max(tolerance, OF_GRADIENTS))
    if order == 2:
        worst = max(worst, compare_gradients(again.grads, theirs.grads, max(tolerance, OF_GRADIENTS)))
    report.gradients = max(report.gradients, worst if tolerance < SINGLE else 0.0)
    return None


def methods(op: Any) -> Iterator[tuple[str, Call | None, Call]]:
    """Other ways to call an op: what it is called, minigrad's (None: it has none) and PyTorch's."""
    name = op.name.split(".")[-1]
    if op.method_variant is not None and hasattr(torch.Tensor, name):
        call = _method(name)
        yield f"Tensor.{name}", call if hasattr(minigrad.Tensor, name) else None, call
    inplace = getattr(op.inplace_variant, "__name__", "")
    if hasattr(torch.Tensor, inplace):
        call = _method(inplace, copy=True)
        yield f"Tensor.{inplace}", call if hasattr(minigrad.Tensor, inplace) else None, call
    for each in (op.operator_variant, op.inplace_operator_variant):
        if each is not None:
            call = _on_a_copy(each) if each is op.inplace_operator_variant else each
            yield f"operator.{each.__name__}", call, call
    for alias in op.aliases:
        theirs = looked_up(torch, alias.name)
        if theirs is not None and isinstance(looked_up(torch, op.name), type(theirs)):
            yield alias.name, looked_up(minigrad, alias.name), theirs


def _method(name: str, copy: bool = False) -> Call:
    return lambda x, *args, **kwargs: getattr(x.clone() if copy else x, name)(*args, **kwargs)


def _on_a_copy(call: Call) -> Call:
    return lambda x, *args, **kwargs: call(x.clone(), *args, **kwargs)


class Checker:
    """All checks of one op."""

    def __init__(self, op: Any, most: int | None, few: int) -> None:
        self.op, self.most, self.few = op, most, few
        self.report = Report(full_name(op))
        self.tolerance = WIDE if op.name in LOOSE else TIGHT

    def tried(self, what: str, calls: tuple[Call, Call], sample: Sample, order: int, tolerance: float) -> None:
        """Try one sample and note how it went."""
        leave, why = SAMPLES.get(self.op.name, (None, ""))
        if leave is not None and leave(what, sample):
            self.report.left_out[why] = self.report.left_out.get(why, 0) + 1
            return
        self.report.tried += 1
        tolerance = SINGLE if sample.single() else tolerance
        try:
            check(self.report, calls, sample, order, tolerance)
        except Mismatch as why:
            self.fails(what, sample, str(why))
        except Exception as error:  # noqa: BLE001 (a result that cannot be looked at is one more finding)
            self.fails(what, sample, f"{type(error).__name__} where results are compared: {error}\n{trace(error)}")

    def fails(self, what: str, sample: Sample, why: str) -> None:
        """Note what went wrong."""
        self.report.failed += 1
        self.report.failures.setdefault(f"{what}: {kind(why)}", f"{what}({in_words(sample)})\n    {why}")

    def run(self) -> Report:
        """Try everything."""
        name, calls = self.report.name, (function_of(self.op, minigrad), function_of(self.op, torch))
        chosen: list[Sample] = []
        if self.op.supports_dtype(torch.float64, "cpu"):
            chosen = list(samples(self.op, torch.float64, self.most, self.report.left_out))
        for sample in chosen:
            self.tried(name, calls, sample, 1 if name in ONCE else 2, self.tolerance)
        for dtype in OTHERS:
            if self.op.supports_dtype(dtype, "cpu"):
                kinds = samples(self.op, dtype, self.few, self.report.left_out)
                for sample in kinds:
                    self.tried(f"{name} of {dtype}", calls, sample, 0, SINGLE)
        for other, ours, theirs in methods(self.op):
            if ours is None and other not in SKIPS:
                self.report.failed += 1
                self.report.failures[other] = f"minigrad has no {other}"
            for sample in evenly(chosen, self.few) if ours is not None else ():
                self.tried(other, (ours, theirs), sample, 1, self.tolerance)
        self.errors(name, calls)
        return self.report

    def errors(self, name: str, calls: tuple[Call, Call]) -> None:
        """Try what must be refused."""
        for sample in refused(self.op, self.most, self.report.left_out):
            if not name.startswith("__") or isinstance(sample.args[0], Leaf):  # else it is Python that refuses
                self.tried(f"{name}, refused", calls, sample, 0, self.tolerance)


def kind(why: str) -> str:
    """Mismatches of one kind have this in common."""
    return "".join(" " if letter.isdigit() else letter for letter in why.split("\n")[0])[:60]


def report_of(name: str, most: int | None = None, few: int = 12) -> Report:
    """What is found out about the op of this name."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return Checker(OPS[name], most, few).run()


def present() -> list[str]:
    """The ops of PyTorch's table that minigrad has and that are not skipped."""
    return [name for name, op in OPS.items()
            if name not in SKIPS and op.name not in SKIPS and function_of(op, minigrad) is not None]


def missing() -> list[str]:
    """The ops of PyTorch's table that minigrad has not, or that are skipped."""
    return [name for name in OPS if name not in set(present())]


def named(patterns: list[str]) -> list[str]:
    """The ops that some patterns name: by full name, by name, by its last part or by an alias."""
    found = []
    for name, op in OPS.items():
        names = {name, op.name, op.name.split(".")[-1], *[alias.name for alias in op.aliases]}
        if any(fnmatch.fnmatchcase(each, pattern) for each in names for pattern in patterns):
            found.append(name)
    return found


def main(argv: list[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity.opinfo.run")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--most", type=int)
    for flag in ("--all", "--texts", "--missing", "--bad"):
        parser.add_argument(flag, action="store_true")
    chosen = parser.parse_args(argv)
    if chosen.missing:
        print("\n".join(f"{name:42} {SKIPS.get(name) or SKIPS.get(OPS[name].name, '')}" for name in missing()))
        return 0
    names = named(chosen.names) if chosen.names else present()
    reports = []
    for name in names:
        if function_of(OPS[name], minigrad) is None:
            print(f"missing   {name}")
            continue
        reports.append(report_of(name, chosen.most))
        show(reports[-1], chosen)
    print(f"{len(reports)} ops, {sum(r.tried for r in reports)} samples; {sum(r.failed > 0 for r in reports)} ops fail "
          f"in {sum(r.failed for r in reports)} samples; {sum(len(r.texts) for r in reports)} errors with other texts")
    return int(any(r.failed for r in reports))


def show(report: Report, chosen: argparse.Namespace) -> None:
    """Print what was found out."""
    if report.failed or not chosen.bad:
        print(report.line(), flush=True)
    for text in list(report.failures.values())[:None if chosen.all else 3]:
        print(f"  {text}")
    if chosen.texts:
        for text in dict.fromkeys(report.texts):
            print(f"  says {text}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
