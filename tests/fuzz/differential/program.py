"""Runs a program statement by statement under both libraries and says where they part."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from random import Random
from types import ModuleType
from typing import Any

from tests.fuzz.differential.facts import HARD, close, facts, memory_of, seen, sharing, unlike
from tests.fuzz.differential.training import TRAINING
from tests.parity.outcome import sentence

# Of PyTorch: it breaks, or recorded what it cannot differentiate.
FAULTS = ("INTERNAL ASSERT", "Autograd not support dtype", "with a bool tensor is not supported",
          "Inference tensors do not track version counter")
HEADER = '''
import copy

log = []

def noted(g):
    log.append(g.detach().clone())

def doubled(g):
    return g * 2

def written(g):
    g.mul_(2)

def of_leaf(t):
    log.append(t.grad.detach().clone())

def square(t):
    return (t * t).sin()

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        log.append(g.detach().clone())
        return g * 3 * x ** 2

class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        positive = x > 0
        ctx.mark_non_differentiable(positive)
        return x * factor, x.exp(), positive

    @staticmethod
    def backward(ctx, first, second, third):
        return first * ctx.factor + second, None

class Negated(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.neg_()

    @staticmethod
    def backward(ctx, g):
        return -g

class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].sign()
'''


@dataclass(frozen=True)
class Difference:
    """Where the libraries part: the number of the statement, what differs, and both sides of it."""

    at: int
    kind: str
    name: str
    mine: Any
    theirs: Any

    @property
    def hard(self) -> bool:
        """Whether such a difference is never allowed."""
        return self.kind in HARD


class Side:
    """The variables of a program under one library."""

    def __init__(self, lib: ModuleType, seed: int) -> None:
        self.lib, self.variables = lib, {"torch": lib}
        exec(compiled(HEADER + TRAINING.replace("from torch.utils import", f"from {lib.__name__}.utils import")),
             self.variables)
        self.hidden = set(self.variables)
        lib.manual_seed(seed)

    def run(self, statement: str) -> tuple[str, str, list[tuple[str, str]]]:
        """Run a statement: the type of its error and its first sentence, both empty if it ends, and its warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minigrad\.")  # as minigrad does itself
            error = ("", "")
            try:
                exec(compiled(statement), self.variables)
            except Exception as raised:  # noqa: BLE001 (whichever it is, it is compared)
                error = (type(raised).__name__, bare(str(raised)))
        return (*error, [(each.category.__name__, bare(str(each.message))) for each in caught])

    def look(self) -> None:
        """Ask each tensor for its node: a view makes a new one then, and without, PyTorch crashes at a hook on it."""
        for name, value in self.variables.items():
            if name not in self.hidden and hasattr(type(value), "grad_fn"):
                seen(lambda v=value: v.grad_fn)

    @property
    def tensors(self) -> dict[str, Any]:
        """The tensors, and the gradients that they hold, by name."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reading .grad of a tensor that is not a leaf warns
            own = {name: v for name, v in self.variables.items()
                   if name not in self.hidden and hasattr(type(v), "grad_fn")}
            return own | {f"{name}.grad": v.grad for name, v in own.items() if v.grad is not None}

    @property
    def log(self) -> list[Any]:
        """The gradients that hooks have noted."""
        return [None if v is None else v.detach().numpy(force=True) for v in self.variables["log"]]


def compiled(text: str, known: dict[str, Any] = {}) -> Any:  # noqa: B006 (kept: the same text comes twice)
    """The code of a text."""
    if len(known) > 5000:
        known.clear()
    if text not in known:
        known[text] = compile(text, "<program>", "exec")
    return known[text]


def bare(text: str) -> str:
    """The first sentence of a text, without addresses and the names of the libraries."""
    return re.sub(r"0x[0-9a-f]+", "0x", sentence(text)).strip()


@dataclass
class Pair:
    """A program on both sides."""

    mine: Side
    theirs: Side
    statements: list[str] = field(default_factory=list)
    ended: bool = False  # after some errors: PyTorch has written a part, or all, before it raises them
    uncounted: set[int] = field(default_factory=set)  # memory that PyTorch's own formulas write to, and count it

    def step(self, statement: str) -> Difference | None:
        """Run one more statement on both sides, and say how they differ after it."""
        at = len(self.statements)
        self.statements.append(statement)
        self.theirs.look()
        self.mine.look()
        error, text, warned = self.theirs.run(statement)
        own_error, own_text, own_warned = self.mine.run(statement)
        if any(each in text for each in FAULTS) or "nference tensor" in own_text:  # which `.data` lets through
            self.ended = True
            return None
        if error != own_error:
            kind = "which error" if error and own_error else "error"
            return Difference(at, kind, "", f"{own_error}: {own_text}", f"{error}: {text}")
        self.ended |= bool(error) and any([error == "IndexError", "Negated" in statement, "dropout" in statement])
        if text != own_text:
            return Difference(at, "text", "", own_text, text)
        if warned != own_warned:
            return Difference(at, "warnings", "", own_warned, warned)
        for name in assigned(statement):
            if name in self.theirs.variables and not self.ended:
                value = self.theirs.variables[name]
                if re.search(r"\.grad\b|@|matmul|linear|addmm", statement):
                    self.uncounted.add(memory_of(value))
                if found := self.compared(at, name, self.mine.variables.get(name), value):
                    return found
        return None

    @property
    def tolerance(self) -> float:
        """How closely values are compared: a part of the largest, for the smallest dtype of the program."""
        return 2e-2 if any("float16" in statement for statement in self.statements) else 2e-4

    def compared(self, at: int, name: str, mine: Any, theirs: Any) -> Difference | None:
        """How two values differ."""
        counted = memory_of(theirs) not in self.uncounted and not any("inference" in s for s in self.statements)
        kind = unlike(own := facts(mine), expected := facts(theirs), self.tolerance, counted)
        if kind == "grad_fn" and "create_graph" in " ".join(self.statements):
            kind = "recorded graph"  # a gradient's formula may be written in another way
            return Difference(at, kind, name, own["grad_fn"], expected["grad_fn"])
        return Difference(at, kind, name, own.get(kind), expected.get(kind)) if kind else None

    def end(self) -> Difference | None:
        """How the sides differ at the end: every tensor, every gradient, who shares memory, what hooks have seen."""
        at = len(self.statements)
        mine, theirs = self.mine.tensors, self.theirs.tensors
        if self.ended:
            return None
        if mine.keys() != theirs.keys():
            return Difference(at, "values", "tensors that hold gradients", sorted(mine), sorted(theirs))
        for name, value in theirs.items():
            if name.endswith(".grad"):
                self.uncounted.add(memory_of(value))
            if found := self.compared(at, name, mine[name], value):
                return found
        if (own_shares := sharing(mine)) != (shares := sharing(theirs)):
            return Difference(at, "shares", "", own_shares, shares)
        own_log, log = self.mine.log, self.theirs.log
        alike = len(own_log) == len(log) and all(
            close(*each, self.tolerance) for each in zip(own_log, log, strict=True))
        return None if alike else Difference(at, "log", "", own_log, log)


def assigned(statement: str) -> list[str]:
    """The variables that a statement gives a value, or changes in place."""
    return re.findall(r"\bv\d+\b", statement.split("\n")[-1].split("(")[0])


def started(mine: ModuleType, theirs: ModuleType, seed: int) -> Pair:
    """An empty program on both sides."""
    return Pair(Side(mine, seed), Side(theirs, seed))


def replayed(mine: ModuleType, theirs: ModuleType, seed: int, statements: list[str]) -> Difference | None:
    """The first difference in a program that is written down."""
    pair = started(mine, theirs, seed)
    for statement in statements:
        if found := pair.step(statement):
            return found
        if pair.ended:
            return None
    return pair.end()


def can_be_moved(value: Any) -> bool:
    """Whether the elements of a value can be changed each by itself."""
    return (hasattr(type(value), "grad_fn") and value.is_floating_point() and not value.is_inference()
            and not any(s == 0 and n > 1 for s, n in zip(value.stride(), value.shape, strict=True)))


def shaky(lib: ModuleType, seed: int, statements: list[str]) -> bool:
    """Whether values of a program jump when those on the way change in their last digits, as `floor(1.)` does.

    Rounding alone may then make them differ.
    """
    pair, noise = started(lib, lib, seed), Random(seed)
    for statement in statements:
        if pair.step(statement) or pair.ended:
            return True
        for name in assigned(statement):
            value = pair.mine.variables.get(name)
            if can_be_moved(value):
                waves = (lib.arange(value.numel()) + 1).reshape(value.shape).sin()  # another number for each element
                value.data.mul_(1 + max(4 * lib.finfo(value.dtype).eps, 1e-6) * noise.choice((-1, 1)) * waves)
    return pair.end() is not None


def shortened(mine: ModuleType, theirs: ModuleType, seed: int, statements: list[str]) -> list[str]:
    """A program that differs in the same way, as short as it becomes by leaving out single statements."""
    kind = found.kind if (found := replayed(mine, theirs, seed, statements)) else ""
    smaller = True
    while smaller:
        smaller = False
        for i in reversed(range(len(statements))):
            shorter = statements[:i] + statements[i + 1:]
            found = replayed(mine, theirs, seed, shorter)
            if found and found.kind == kind and "NameError" not in f"{found.mine} {found.theirs}":
                statements, smaller = shorter, True
    return statements
