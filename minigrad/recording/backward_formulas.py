"""Notes the arithmetic of a node: for each input the expression of its gradient, as the inspectors show it.

It mirrors nothing in PyTorch. The formula of a node runs over symbols (`minigrad.backends.symbolic`) after the program
has ended, once for all nodes that were called alike.
"""

import functools
import importlib
import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.dtype import BFloat16, numpy_dtype_of
from minigrad.backends.registry import is_array, serving
from minigrad.backends.symbolic import BACKEND, SYMBOLS, Symbol
from minigrad.core import ManyOutputs, Node, sum_to
from minigrad.recording.encoder import FORMULAS

__all__ = ["Formula", "Meta", "calls_formula", "constant_names", "fitted", "formula_named", "formula_of", "new",
           "saved_names"]

Meta = tuple[tuple[int, ...], Any]  # shape and dtype of a tensor
ARRAY = "array"  # in place of a saved value that is an array
new = tuple.__new__  # makes a named tuple in a third of the time of its own `__new__`, which is written in Python
PLAIN = (bool, int, float, str, type(None), slice, type(...), np.dtype, np.generic, BFloat16)


class Constant(NamedTuple):
    """Stands for an array among the constants of a formula."""

    shape: tuple[int, ...]
    dtype: Any


class Formula(NamedTuple):
    """The formula of a node, and what it is called with."""

    cls: type[Node]
    outputs: tuple[Meta, ...]
    edges: tuple[bool, ...]  # whether there is one, for each input
    input_metadata: tuple[Any, ...] | None  # the node's: what the gradient of each input is summed to
    saved: tuple[Any, ...]  # each a number, None or `ARRAY`
    const: tuple[Any, ...]

    def derivatives(self, saved: dict[str, Meta]) -> Any:
        """Return the expression of the gradient of each input, None for an input without an edge.

        Returns None instead of the list if the formula cannot be written as expressions.

        Args:
            saved: shape and dtype of each saved array, by its name.
        """
        try:
            return derivatives(self, tuple(saved.items()))
        except TypeError:  # a slice cannot be looked up in Python 3.11
            return derivatives.__wrapped__(self, tuple(saved.items()))


def formula_of(node: Node, results: tuple[Meta, ...]) -> Formula | None:
    """The formula of a node with these results; None where its gradients are computed in another way, or with objects
    that are not arrays.

    It holds no array, so it can be kept as long as a trace.
    """
    if not calls_formula(type(node)):
        return None
    saved = () if node.saved is None else tuple([
        kept if kept is None or type(kept) in (bool, int, float) else ARRAY for kept in node.saved])
    try:
        const = tuple([without_arrays(value) for value in node.const]) if node.const else ()
    except TypeError:
        return None
    metadata = None if node._extras is None else node._extras.input_metadata
    return new(Formula, (type(node), results, tuple([edge is not None for edge in node.next]), metadata, saved, const))


def calls_formula(cls: type[Node]) -> bool:
    """Return whether the nodes of a class compute their gradients by their formula alone, called with all gradients."""
    return cls.fills_missing if issubclass(cls, ManyOutputs) else not cls.own_input_grads


def formula_named(name: str, outputs: tuple[Meta, ...], edges: tuple[bool, ...], inputs: tuple[Any, ...],
                  saved: Collection[str], constant: Callable[[str], Any], constants: Any = None) -> Formula | None:
    """Return the formula of a PyTorch node: that of minigrad's node of the same name. None if none fits.

    Args:
        name: the node's, such as `MulBackward0`.
        outputs: shape and dtype of each gradient that it receives.
        edges: for each input, whether there is an edge.
        inputs: shape and dtype of the gradient of each input, or None.
        saved: the names of the arrays that it has saved.
        constant: returns a constant by PyTorch's name; raises AttributeError or TypeError if there is none.
        constants: all constants of the formula, if they are known.
    """
    for cls in classes().get(name, ()):
        if not set(saved) <= set(cls.saves):
            continue
        try:
            found = tuple([constant(each) for each in cls.constants if each]) if constants is None else constants
        except (AttributeError, TypeError):  # PyTorch's node lacks something that this formula needs
            continue
        if not takes(cls, len(cls.saves) + len(found)):
            continue
        values = tuple([ARRAY if each in saved else None for each in cls.saves])
        metadata = tuple([like and (like[0], numpy_dtype_of(like[1])) for like in inputs])
        return Formula(cls, outputs, edges, metadata, values, found)
    return None


@functools.cache
def takes(cls: type[Node], count: int) -> bool:
    """Return whether the formula of a class takes `count` saved values and constants."""
    try:
        inspect.signature(cls.backward).bind(None, SYMBOLS, None, *[None] * count)
    except TypeError:
        return False
    return True


@functools.cache
def classes() -> dict[str, list[type[Node]]]:
    """Return the classes of nodes that have a formula, by their names."""
    importlib.import_module("minigrad.nn.functional")  # some ops are loaded only with it
    found: dict[str, list[type[Node]]] = {}
    for cls in subclasses(Node):
        if calls_formula(cls) and hasattr(cls, "backward"):
            found.setdefault(cls.__name__, []).append(cls)
    return found


def subclasses(cls: type[Node]) -> Iterator[type[Node]]:
    """Yield all classes derived from a class, directly or not."""
    for below in cls.__subclasses__():
        yield below
        yield from subclasses(below)


def without_arrays(value: Any) -> Any:
    """Return a constant of a formula with each array in it replaced. Raises TypeError for an object that may hold
    arrays."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple):
        parts = tuple([without_arrays(part) for part in value])
        return value if hasattr(value, "_fields") and parts == tuple(value) else parts
    if is_array(value):
        return Constant(value.shape, value.dtype)
    raise TypeError(f"a constant of type {type(value).__name__}")


def saved_names(cls: type[Node], count: int) -> list[str]:
    """Return what the saved values of a node are called."""
    return [cls.saves[i] if i < len(cls.saves) else f"saved{i}" for i in range(count)]


def constant_names(cls: type[Node], saved: int, count: int) -> list[str]:
    """Return what the parameters of a formula after its `saved` saved values are called."""
    names = list(inspect.signature(cls.backward).parameters)[3 + saved:]
    return [name or "constant" for _, name in zip_longest(range(count), names[:count])]


def constants_of(formula: Formula) -> list[Any]:
    """Return the constants, with symbols for arrays, named after the parameters of the formula."""
    names = constant_names(formula.cls, len(formula.saved), len(formula.const))
    return [symbols_of(value, name) for value, name in zip(formula.const, names, strict=True)]


def symbols_of(value: Any, name: str) -> Any:
    """Return a constant with symbols for its arrays."""
    if isinstance(value, Constant):
        return symbol(name, value)
    if type(value) is tuple:
        return tuple([symbols_of(part, f"{name}[{i}]") for i, part in enumerate(value)])
    return value


def symbol(name: str, meta: Meta) -> Symbol:
    return Symbol(name, meta[0], numpy_dtype_of(meta[1]))


@functools.lru_cache(1024)
def derivatives(formula: Formula, saved: tuple[tuple[str, Meta], ...]) -> Any:
    """`Formula.derivatives`, once for all nodes that are alike.

    A formula that fails over bare symbols runs again where symbols count as arrays: computing indices may need that.
    """
    for place in (nullcontext(), serving(BACKEND)):
        try:
            with place, np.errstate(all="ignore"):
                return noted(formula, dict(saved))
        except Exception:  # noqa: BLE001, S112 (a formula may do what no symbol can; then there is nothing to show)
            continue
    return None


def noted(formula: Formula, known: dict[str, Meta]) -> list[Any]:
    """Return the expressions that a formula returns for symbols."""
    values = [symbol(name, known[name]) if kept is ARRAY else kept
              for kept, name in zip(formula.saved, saved_names(formula.cls, len(formula.saved)), strict=True)]
    grads: Any = ([symbol(f"grads[{i}]", meta) for i, meta in enumerate(formula.outputs)]
                  if issubclass(formula.cls, ManyOutputs) else symbol("grad", formula.outputs[0]))
    node = formula.cls()
    node.next = tuple([edge or None for edge in formula.edges])  # formulas ask which inputs have one
    results = node.backward(SYMBOLS, grads, *values, *constants_of(formula))
    results = results if isinstance(results, tuple) else (results,)
    likes = formula.input_metadata or (None,) * len(results)
    return [fitted(result, like).expression if edge and result is not None else None
            for edge, result, like in zip(formula.edges, results, likes, strict=True)]


def fitted(gradient: Symbol, like: Any) -> Symbol:
    """Return a gradient summed to the shape of its input where that was broadcast, as the engine does.

    One of an unknown shape is returned unchanged: ops with such gradients broadcast nothing.
    """
    return gradient if like is None or gradient.known_shape is None else sum_to(gradient, like, SYMBOLS)


FORMULAS.append(formula_named)
