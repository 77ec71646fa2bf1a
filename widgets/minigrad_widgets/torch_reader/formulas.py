"""The arithmetic of PyTorch's nodes: their formulas are C++, so those of minigrad's nodes of the same names stand in.

A PyTorch node shows what its formula needs: the shapes of what it receives and sends on, what it has saved, and its
constants (`_saved_dim`). They are noted when the node is made, and make a formula when the trace is read. If minigrad's
formula needs something else, the node has no arithmetic. tests/parity/trace checks the expressions against the
gradients that PyTorch computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

from minigrad.recorder import FORMULAS
from minigrad_widgets.torch_reader.private import PRIVATE

__all__ = ["Metas"]

Shape = tuple[int, ...]
Meta = tuple[Shape, str]  # shape and dtype
Noted = tuple[Shape, Any]  # the same, with PyTorch's dtype
WRAPPED = 1 << 63  # PyTorch shows a negative dimension as an unsigned number
DTYPES = {"bfloat16": "float32"}  # like their previews


class Facts:
    """What a PyTorch node has shown of itself."""

    def __init__(self, note: FormulaNote) -> None:
        self.constants = note.constants
        self.outputs = tuple([shape_and_dtype(each) for each in note.outputs])
        self.edges = note.edges
        self.inputs = tuple([each and shape_and_dtype(each) for each in note.inputs])
        self.ndim = max([len(shape) for shape, _ in (*self.outputs, *filter(None, self.inputs))], default=0)

    def constant(self, name: str) -> Any:
        """Return a constant by PyTorch's name; a dimension counts from the left.

        Raises:
            KeyError: if the node has none of this name.
            TypeError: if it does not consist of numbers.
        """
        value = plain(self.constants[f"_saved_{name}"])
        return value + self.ndim if name.startswith("dim") and isinstance(value, int) and value < 0 else value

    def input(self) -> Meta:
        """Return shape and dtype of the gradient of the only input."""
        found, = self.inputs
        if found is None:
            raise TypeError("an input of an unknown shape")
        return found

    def dims(self) -> tuple[Shape, Shape]:
        """Return the dimensions of a reduction, and the shape that its result would have with them kept."""
        shape = self.input()[0]
        dim = plain(self.constants["_saved_dim"])
        dims = tuple(range(len(shape))) if not dim and dim != 0 else dim if isinstance(dim, tuple) else (dim,)
        dims = tuple([each % len(shape) for each in dims]) if shape else ()
        return dims, tuple([1 if i in dims else n for i, n in enumerate(shape)])

    def index(self, part: Any) -> tuple[Any, ...]:
        """Return an index that takes a part of one dimension, and the shape that it is taken from."""
        return (*[slice(None)] * self.constant("dim"), part, ...), self.constant("self_sym_sizes")


def permute(facts: Facts) -> Any:
    dims = [dim % facts.ndim for dim in facts.constant("dims")]
    return tuple(sorted(range(facts.ndim), key=dims.__getitem__)),


def select(facts: Facts) -> Any:
    return facts.index(facts.constant("index") % facts.constant("self_sym_sizes")[facts.constant("dim")])


def slice_of(facts: Facts) -> Any:
    size = facts.constant("self_sym_sizes")[facts.constant("dim")]
    return facts.index(slice(*slice(*[facts.constant(name) for name in ("start", "end", "step")]).indices(size)))


def cat(facts: Facts) -> Any:
    dim, shapes = facts.constant("dim"), [meta[0] for meta in facts.inputs if meta is not None]
    if len(shapes) < len(facts.inputs) or (0,) in shapes:
        raise TypeError("an input of an unknown shape")
    return dim, tuple(accumulate([shape[dim] for shape in shapes])), (False,) * len(shapes)


def mean(facts: Facts) -> Any:
    shape, small = facts.input()[0], facts.dims()[1]
    return shape, small, prod(shape) // max(prod(small), 1)


def mse_loss(facts: Facts) -> Any:
    size = prod(next(meta[0] for meta in facts.inputs if meta is not None))
    reduction = facts.constant("reduction")
    return 1 / max(size, 1) if reduction == 1 else 1., reduction


def gelu(facts: Facts) -> Any:
    if facts.constant("approximate") != "none":
        raise TypeError("another formula")
    return ()


# The constants of minigrad's formulas that PyTorch's nodes have in another form.
CONSTANTS: dict[str, Callable[[Facts], Any]] = {
    "AmaxBackward0": Facts.dims,
    "AminBackward0": Facts.dims,
    "CatBackward0": cat,
    "ExpandBackward0": lambda facts: ((facts.input()[0], np.dtype(facts.input()[1])),),
    "GeluBackward0": gelu,
    "LinalgVectorNormBackward0": lambda facts: (facts.constant("ord"), *facts.dims()),
    "MeanBackward1": mean,
    "MseLossBackward0": mse_loss,
    "PermuteBackward0": permute,
    "SelectBackward0": select,
    "SliceBackward0": slice_of,
    "StdBackward0": lambda facts: (facts.constant("correction"), *facts.dims()),
    "SumBackward1": lambda facts: (facts.input()[0], facts.dims()[1]),
    "ToCopyBackward0": lambda facts: (np.dtype(facts.input()[1]),),
    "UnsqueezeBackward0": lambda facts: (facts.input()[0],),
    "UnsqueezeBackward1": lambda facts: (facts.input()[0],),
    "VarBackward0": lambda facts: (facts.constant("correction"), *facts.dims()),
}


class FormulaNote(NamedTuple):
    """What the formula of a node may need: shapes and dtypes of the gradients that the node receives, and of those that
    it sends on, as far as known; which edges it has; the names of the arrays that it has saved; its constants."""

    name: str
    outputs: Sequence[Noted]
    inputs: Sequence[Noted | None]
    edges: tuple[bool, ...]
    saved: Sequence[str]
    constants: Mapping[str, Any]

    def derivatives(self, saved: dict[str, Meta]) -> Any:
        """Return the expression of the gradient of each input, as the formula that stands in for the node's gives it;
        None if there is none. `saved`: shape and dtype of each saved array."""
        known = CONSTANTS.get(self.name)
        try:
            facts = Facts(self)
            constants = None if known is None else known(facts)
        except (KeyError, TypeError):  # the node has shown less than the formula needs
            return None
        found = FORMULAS[-1](self.name, facts.outputs, facts.edges, facts.inputs, self.saved, facts.constant, constants)
        return found and found.derivatives(saved)


class Metas:
    """Reads what nodes show of themselves. `known`: what is expected of the gradients of a node, by its number."""

    def __init__(self) -> None:
        self.known: dict[int, Sequence[Noted]] = {}
        self.names: dict[type, list[str]] = {}  # by class: the attributes that hold constants

    def note(self, node: Any, name: str, number: int, edges: Sequence[tuple[int, int] | None],
             saved: Sequence[str]) -> FormulaNote | None:
        """Note what the formula of a new node may need; None if the node does not show it. `saved`: the names of the
        arrays that it has saved."""
        if not FORMULAS or not PRIVATE.metadata:
            return None
        try:
            outputs = self.known[number] = expected_of(node)
            inputs = [self.sent(edge, node, i) for i, edge in enumerate(edges)]
            constants = {each: getattr(node, each) for each in self.constants(type(node))}
        except (AttributeError, RuntimeError, TypeError):
            return None
        return FormulaNote(name, outputs, inputs, tuple([edge is not None for edge in edges]), saved, constants)

    def sent(self, edge: tuple[int, int] | None, node: Any, index: int) -> Noted | None:
        """Return what goes along an edge of a node."""
        if edge is None:
            return None
        expected = self.known.get(edge[0])
        if expected is None:
            expected = self.known[edge[0]] = expected_of(node.next_functions[index][0])
        return expected[edge[1]] if edge[1] < len(expected) else None

    def constants(self, kind: type) -> list[str]:
        """Return the attributes of a class of nodes that hold constants."""
        names = self.names.get(kind)
        if names is None:
            names = self.names[kind] = [each for each in dir(kind) if each.startswith("_saved_")
                                        and not hasattr(kind, f"_raw{each}")]
        return names


def expected_of(node: Any) -> list[Noted]:
    """Return shape and dtype of the gradients that a node expects."""
    return [(tuple(each.shape), each.dtype) for each in node._input_metadata]


def shape_and_dtype(noted: Noted) -> Meta:
    """Return shape and dtype of a gradient, as minigrad's formulas have them."""
    dtype = str(noted[1]).removeprefix("torch.")
    return noted[0], DTYPES.get(dtype, dtype)


def plain(value: Any) -> Any:
    """Return a constant as minigrad's formulas have it.

    Raises:
        TypeError: if it does not consist of numbers.
    """
    if isinstance(value, (tuple, list)):
        return tuple([plain(each) for each in value])
    if isinstance(value, int) and not isinstance(value, bool) and value >= WRAPPED:
        return value - 2 * WRAPPED
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a constant of type {type(value).__name__}")
