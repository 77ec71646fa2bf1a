"""The arithmetic of PyTorch's nodes: their formulas are C++, so those of minigrad's nodes of the same names stand in.

A PyTorch node shows what its formula needs: the shapes of what it receives and sends on, what it has saved, and its
constants (`_saved_dim`). If minigrad's formula needs something else, the node has no arithmetic. tests/parity/trace
checks the expressions against the gradients that PyTorch computes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from minigrad.recorder import FORMULAS

__all__ = ["formula_of"]

Shape = tuple[int, ...]
Meta = tuple[Shape, str]  # shape and dtype
WRAPPED = 1 << 63  # PyTorch shows a negative dimension as an unsigned number
DTYPES = {"bfloat16": "float32"}  # like their previews


class Facts:
    """What a PyTorch node shows of itself."""

    def __init__(self, node: Any) -> None:
        self.node = node
        self.outputs = tuple([shape_and_dtype(each) for each in node._input_metadata])
        self.edges = tuple([fn is not None for fn, _ in node.next_functions])
        self.inputs = tuple([self.sent(fn, nr) for fn, nr in node.next_functions])
        self.ndim = max([len(shape) for shape, _ in (*self.outputs, *filter(None, self.inputs))], default=0)

    def sent(self, fn: Any, nr: int) -> Meta | None:
        """Return what goes along an edge."""
        expected = () if fn is None else fn._input_metadata
        return shape_and_dtype(expected[nr]) if nr < len(expected) else None

    def constant(self, name: str) -> Any:
        """Return a constant by PyTorch's name; a dimension counts from the left.

        Raises:
            AttributeError: if the node has none of this name.
            TypeError: if it does not consist of numbers.
        """
        value = plain(getattr(self.node, f"_saved_{name}"))
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
        dim = plain(self.node._saved_dim)
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


def formula_of(node: Any, name: str, saved: Collection[str]) -> Any:
    """The substitute for the formula of a node that has saved arrays under these names; None if there is none."""
    if not FORMULAS or not hasattr(node, "_input_metadata"):
        return None
    known = CONSTANTS.get(name)
    try:
        facts = Facts(node)
        constants = None if known is None else known(facts)
    except (AttributeError, RuntimeError, TypeError):  # the node shows less than the formula needs
        return None
    return FORMULAS[-1](name, facts.outputs, facts.edges, facts.inputs, saved, facts.constant, constants)


def shape_and_dtype(metadata: Any) -> Meta:
    """Return shape and dtype of a gradient, as a node describes it."""
    dtype = str(metadata.dtype).removeprefix("torch.")
    return tuple(metadata.shape), DTYPES.get(dtype, dtype)


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
