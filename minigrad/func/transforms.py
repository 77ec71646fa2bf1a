"""Transforms that differentiate a function: `grad`, `vjp`, `jvp`, `linearize`. Mirrors `eager_transforms.py`.

NOTE 13 (levels). A transform has a level of its own: what it differentiates by is seen by nobody outside, and what
others differentiate by it passes on. In reverse mode an input is entered as an alias, a view if somebody outside
differentiates by it, else a new leaf. Results are then looked at: if their graph leads to leaves other than the level's
own, they keep it, since somebody outside wants it; otherwise they are cut loose, and also if grad mode was off where
the transform was called, which concerns those outside only. In forward mode the level is one of
`autograd/forward_ad.py`: the tangents of an inner level are computed by ops that carry those of the outer ones.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from minigrad._base.nested import leaves, mapped
from minigrad.autograd._api import run_backward
from minigrad.autograd.forward_ad import STAND_INS, AllLevels, Tangents, checked, cut_loose, dual_of, keep
from minigrad.autograd.grad_mode import inference_mode
from minigrad.autograd.graph import disable_saved_tensors_hooks
from minigrad.backends.batched import overlap
from minigrad.core import LOCAL, Tensor, edge_target
from minigrad.core.engine import start_grads
from minigrad.core.tensor import extras_of, next_sequence_nr
from minigrad.func.levels import entered_on_stack, require_grad
from minigrad.ops.factory import zeros_like
from minigrad.ops.shape.views import View

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]
JVP, VJP, GRAD = "jvp(f, primals, tangents)", "vjp(f, *primals)", "grad_and_value(f)(*args)"

HOOKS = ("torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your "
         "use case.")


# ---- Arguments and results.
def positions(argnums: Any, count: int) -> list[int]:
    """Return the positions that `argnums` names among so many arguments. Raises RuntimeError, PyTorch's."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    for each in chosen:
        if not isinstance(each, int):
            raise RuntimeError(f"argnum must be int, got: {type(each)}")
        if not -count <= each < count:
            raise RuntimeError(f"Got argnum={each}, but only {count} positional inputs")
    found = [each % count for each in chosen]
    if not found:
        raise RuntimeError("argnums must be non-empty")
    if len(set(found)) != len(found):
        raise RuntimeError(f"argnums elements must be unique, got {tuple(found)}")
    return found


def only_tensors(tree: Any) -> list[Tensor]:
    """Return the leaves of a tree. Raises ValueError if one is not a tensor."""
    found = list(leaves(tree))
    for each in found:
        if not isinstance(each, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(each)}")
    return found


def with_aux(result: Any, has_aux: bool, api: str) -> tuple[Any, Any]:
    """Split what a function returned into its output and the rest. Raises RuntimeError if it is no pair, or the rest
    is no tree of tensors."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True")
    for each in leaves(result[1]):
        if not isinstance(each, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(each)}")
    return result


def outputs_of(output: Any, api: str) -> list[Tensor]:
    """Return the tensors of an output. Raises RuntimeError if there is none, or something else is among them."""
    found = list(leaves(output))
    if not found or (len(found) == 1 and found[0] is None):
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {found})")
    for each in found:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(each)}")
    return found


def structure(tree: Any, indent: int = 2) -> str:
    """The form of a tree, as PyTorch writes its `TreeSpec`; trees of one form have equal texts."""
    if not isinstance(tree, (dict, tuple, list)):
        return "*"
    context = list(tree) if isinstance(tree, dict) else type(tree) if hasattr(tree, "_fields") else None
    kind = "namedtuple" if hasattr(tree, "_fields") else type(tree).__name__
    children = [structure(each, indent + 2) for each in (tree.values() if isinstance(tree, dict) else tree)]
    joined = f",\n{' ' * indent}".join(children)
    return f"TreeSpec({kind}, {context}, [{joined}])"


class Star:
    """Stands for a leaf where a tree is printed."""

    def __repr__(self) -> str:
        return "*"


def refilled(tree: Any, values: Iterator[Any]) -> Any:
    """The same tree with the next of `values` for each leaf."""
    return mapped(lambda _: next(values), tree)


# ---- Reverse mode.
class ThreadLevels(threading.local):
    """What a thread does for the levels of reverse mode: `level` is the one whose function is running."""

    level: "Reverse | None" = None
    passing: "Reverse | None" = None  # the one that a backward pass is for


STATE = ThreadLevels()
OWNERS: dict[int, Any] = {}  # the levels that made leaves, by the ids of these


class Reverse:
    """A level of reverse mode: what it differentiates by, and whose graph its results keep."""

    def __init__(self) -> None:
        self.inputs: list[Tensor] = []
        self.sources: list[Tensor] = []  # of which these are aliases
        self.outer, self.recorded = STATE.level, LOCAL.grad_enabled
        self.born = next_sequence_nr()

    @contextmanager
    def running(self, name: str) -> Iterator[None]:
        """A block in which the function runs: recorded, and with the levels that it enters inside of this one."""
        before, STATE.level = STATE.level, self
        try:
            with entered_on_stack(self, name), disable_saved_tensors_hooks(HOOKS), inference_mode(False):
                yield
        finally:
            STATE.level = before

    def owns(self, leaf: Tensor) -> bool:
        """Whether this level made a leaf, or one inside of it."""
        level = OWNERS[id(leaf)][1] if id(leaf) in OWNERS else None
        while level is not None and level is not self:
            level = level.outer
        return level is not None

    def entered(self, tree: Any) -> Any:
        """Return a tree of tensors to differentiate by; each stands for the given one, and shares its memory."""
        only_tensors(tree)

        def alias(tensor: Tensor) -> Tensor:
            made: Tensor = View.forward(tensor, tensor.array.shape)
            if not tensor._requires_grad:
                keep(OWNERS, id(made), require_grad(made), self)
            else:
                extras_of(made).view.lasts = True
            self.inputs.append(made)
            self.sources.append(tensor)
            return made

        return mapped(alias, tree)

    def reaches_out(self, tensors: Sequence[Tensor]) -> bool:
        """Whether somebody outside differentiates by what some tensors were computed from."""
        stack = [edge_target(each) for each in tensors if each._requires_grad]
        seen: set[int] = set()
        while stack:
            target = stack.pop()
            if target is None or id(target) in seen:
                continue
            seen.add(id(target))
            if not isinstance(target, Tensor):
                stack += target.next
            elif not (self.owns(target) or id(target) in STAND_INS):
                return True
        return False

    def left(self, tree: Any) -> Any:
        """Return results as those outside see them: without a graph, if it leads to this level's inputs only, or if
        those outside do not record."""
        return mapped(lambda each: cut_loose(each) if isinstance(each, Tensor) and each._requires_grad
                      and not (self.recorded and self.reaches_out([each])) else each, tree)

    def gradients(self, outputs: Sequence[Tensor], vectors: Sequence[Any], keep_graph: bool) -> list[Tensor]:
        """Return the gradients of some outputs by the inputs, zeros where they do not depend on them."""
        pairs = [(output, vector) for output, vector in zip(outputs, vectors, strict=True) if output._requires_grad]
        found: Sequence[Any] = (None,) * len(self.inputs)
        if pairs:
            roots, given = zip(*pairs, strict=True)
            recorded = self.recorded and self.reaches_out([*roots, *[each for each in given if each is not None]])
            before, STATE.passing = STATE.passing, self
            try:
                found = run_backward(roots, start_grads(roots, given), keep_graph or recorded, recorded, self.inputs,
                                     True)
            finally:
                STATE.passing = before
        return [zeros_like(each) if got is None else got
                for got, each in zip(found, self.inputs, strict=True)]


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of a scalar function, and its value.

    Args:
        argnums: the position of the argument to differentiate by, a tensor or a tree of them; or several.
        has_aux: `func` returns a pair, of which only the first is differentiated: the result is
            `(gradient, (value, aux))`.

    The function raises RuntimeError if the output is not a tensor of no dimensions.
    """
    @wrapped(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        level, places, given = Reverse(), positions(argnums, len(args)), list(args)
        with level.running("grad"):
            for place in places:
                given[place] = level.entered(args[place])
            output, aux = with_aux(func(*given, **kwargs), has_aux, GRAD)
            if not isinstance(output, Tensor):
                raise RuntimeError(f"{GRAD}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.array.ndim:
                raise RuntimeError(f"{GRAD}: Expected f(*args) to return a scalar Tensor, got tensor with "
                                   f"{output.array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
            found = iter(level.left(level.gradients([output], [None], keep_graph=False)))
            grads = tuple([refilled(args[place], found) for place in places])
            value = level.left(output)
        result = grads[0] if isinstance(argnums, int) else grads
        return (result, (value, level.left(aux))) if has_aux else (result, value)

    return transformed


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of a scalar function; with `has_aux` the pair `(gradient, aux)`.

    The arguments are those of `grad_and_value`.
    """
    both = grad_and_value(func, argnums, has_aux)

    @wrapped(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return transformed


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> Any:
    """Run a function and return its output and a function of a cotangent: the vector-Jacobian products, one per input.

    Returns `(output, vjp_fn)`, with `has_aux` `(output, vjp_fn, aux)`; `vjp_fn(cotangent)` takes a tree like the output
    and returns a tuple. Raises RuntimeError if the output is not of floating point tensors only.
    """
    level = Reverse()
    with level.running("vjp"):
        given = level.entered(primals)
        output, aux = with_aux(func(*given), has_aux, VJP)
        outputs = outputs_of(output, VJP)
    for each in outputs:
        if each.array.dtype.kind != "f":
            raise RuntimeError("vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor "
                               f"with dtype {each.dtype}")

    def vjp_fn(cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        if structure(cotangents) != structure(output):
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs "
                               "to the function. cotangents: "
                               f"{mapped(lambda _: Star(), cotangents)}, primal output: "
                               f"{mapped(lambda _: Star(), output)}")
        level.recorded = LOCAL.grad_enabled
        with inference_mode(False):
            found = level.left(level.gradients(outputs, list(leaves(cotangents)), keep_graph=True))
        return refilled(primals, iter(found))

    result = level.left(output)
    return (result, vjp_fn, level.left(aux)) if has_aux else (result, vjp_fn)


# ---- Forward mode.
def jvp(func: Function, primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Run a function and return its output and the Jacobian-vector product, in one pass and without a graph.

    Args:
        primals: a tuple of arguments, tensors or trees of them.
        tangents: the same, of the same shapes: the direction in which the arguments move.
        strict: raise RuntimeError if an output does not depend on the inputs, instead of returning zeros.
        has_aux: `func` returns a pair, of which only the first is differentiated; aux comes last in the result.
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{JVP}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    if structure(primals) != structure(tangents):
        raise RuntimeError(f"{JVP}: Expected primals and tangents to have the same python structure. For example, if "
                           "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{structure(primals)} and tangents with structure {structure(tangents)}")
    for name, tree in (("primals", primals), ("tangents", tangents)):
        check_tensors(list(leaves(tree)), name)
    level = AllLevels.push()
    try:
        moving = leaves(tangents)
        with entered_on_stack(level, "jvp"):
            duals = mapped(lambda each: dual_of(level, each, apart(checked(each, next(moving)), each)), primals)
            level.inputs += leaves(duals)
            output, aux = with_aux(func(*duals), has_aux, JVP)
        outputs_of(output, JVP)
        pushed = mapped(lambda each: tangent_of(level, each, strict), output)
    finally:
        AllLevels.pop()
    return (output, pushed, aux) if has_aux else (output, pushed)


def apart(tangent: Tensor, primal: Tensor) -> Tensor:
    """A tangent that a write to its primal does not change, even if it was given as its own tangent."""
    if overlap(tangent.array, primal.array):
        tangent = tangent.clone()
    return tangent


def check_tensors(values: list[Any], name: str) -> None:
    """Raise PyTorch's RuntimeError unless these are tensors, and some."""
    for each in values:
        if not isinstance(each, Tensor):
            raise RuntimeError(f"{JVP}: Expected {name} to only contain Tensors, got {type(each)}")
    if not values:
        raise RuntimeError(f"{JVP}: Expected {name} to contain at least one Tensor.")


def tangent_of(level: Tangents, output: Tensor, strict: bool) -> Tensor:
    """Return the tangent of an output, or zeros. Raises RuntimeError for none if `strict`."""
    tangent = level.get(output)
    if tangent is None:
        if strict:
            raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
                               "This is not allowed with strict=True.")
        return zeros_like(output)
    return tangent


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Run a function and return its output and a function of tangents: the Jacobian-vector products at these inputs.

    You need it for many products at one point. The function is run once; what is kept is its graph, and each product
    transposes a vector-Jacobian product. Raises RuntimeError for tangents of another form, shape or dtype.
    """
    rows, given = Reverse(), only_tensors(primals)
    with rows.running("linearize"):
        level = Reverse()
        with level.running("vjp"):
            output = func(*level.entered(primals))
        outputs = outputs_of(output, "linearize(f, *primals)")
        cotangents = rows.entered([zeros_like(each) for each in outputs])
        columns = level.gradients(outputs, cotangents, keep_graph=True)

    def jvp_fn(*tangents: Any) -> Any:
        if structure(tangents) != structure(primals):
            raise RuntimeError(f"Expected the tangents {structure(tangents)} to have the same argspec as the primals "
                               f"{structure(primals)}")
        moving = list(leaves(tangents))
        for index, (tangent, primal) in enumerate(zip(moving, given, strict=True)):
            for what in ("shape", "device", "dtype"):
                if getattr(tangent, what) != getattr(primal, what):
                    raise RuntimeError(f"tangent:{index} with {what} {getattr(tangent, what)} in flattened pytree "
                                       f"doesn't match the {what} {getattr(primal, what)} of the corresponding primal.")
        rows.recorded = LOCAL.grad_enabled
        with inference_mode(False):
            found = rows.left(rows.gradients(columns, moving, keep_graph=True))
        return refilled(output, iter(found))

    return rows.left(level.left(output)), jvp_fn


def wrapped(func: Function) -> Callable[[Function], Function]:
    """`functools.wraps`, also of a function without a name, such as a partial."""
    return (lambda made: wraps(func)(made)) if hasattr(func, "__name__") else (lambda made: made)
