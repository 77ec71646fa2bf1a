"""Forward mode: derivatives that travel with the values. Mirrors `torch/autograd/forward_ad.py`.

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        primal, derivative = forward_ad.unpack_dual(f(dual))

A *dual* tensor carries a tangent: the direction in which its value moves. Each op that meets a dual computes the
tangent of its result beside the result, so `derivative` is the Jacobian of `f` times `tangent`, in one run of `f` and
without a graph. You need it where a function has fewer inputs than outputs, for Hessian-vector products, and for checks
of gradients. `minigrad.func.jvp` is the same as a function, and nests.

NOTE 12 (one formula for both directions). A formula of a backward pass takes the gradient `g` of a result and returns
that of an input: Jᵀg. In `g` it is linear, always. So it holds the other direction too, and no op has a second formula.
Four rules follow, and docs/ops.md says which one an op uses:

- The *formula* itself, for elementwise ops: J is diagonal, and Jᵀ = J. The tangent goes in where the gradient would.
- The *op* itself, for linear ops: J is the op. So a view of a dual has a view of its tangent, and what is written to
  one is written to the other.
- The *product* rule, for ops that are linear in each of two arguments: the op with each of the two replaced by its
  tangent, added up. (The transpose would do, in three times the time.)
- Its *transpose* for all others: the formula is run on a `g` of zeros, recorded, and then differentiated by `g`.

A level sees each op through a wrapper around its `forward` (`ops/_dispatch/op_wrappers.py`), which is installed while
the level is on; otherwise ops cost nothing extra. A node is needed even where nothing requires grad, since it has the
formula: so the op gets stand-ins for its duals, leaves or views that require grad, and the node is dropped or led to
the duals themselves once the tangent is known. A backward pass inside a level runs on tensors, so that the gradients
that it computes are duals too.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, cast

from minigrad._base.contexts import safe_exit
from minigrad._base.tensor_data import SUFFIXES
from minigrad.autograd.function import Function
from minigrad.autograd.grad_mode import _DecoratorContextManager
from minigrad.backends.batched import outside, overlap
from minigrad.backends.numpy import XP
from minigrad.core import LOCAL, UNUSUAL, Node, Tensor, edge_target, plain
from minigrad.core.engine import execute
from minigrad.core.evaluate import call_function
from minigrad.core.input_buffer import GraphTask
from minigrad.core.saved import versions_of
from minigrad.core.tensor import next_sequence_nr
from minigrad.ops._dispatch.elementwise import ByNumber, OfNumber, OfOne, OfTwo
from minigrad.ops._dispatch.op_wrappers import Lingering, is_part
from minigrad.ops.factory import zeros_like
from minigrad.ops.index.indexing import IndexPut
from minigrad.ops.index.scatter_gather import IndexCopy, Put, Scatter
from minigrad.ops.nn.embedding import Embedding
from minigrad.ops.shape.views import Alias

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

T = TypeVar("T", Tensor, Tensor | None)

NO_LEVEL = "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
NESTED = "Nested forward mode AD is not supported at the moment"
NOT_LAST = "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
NO_NUMBER = "Dual level must be a positive number."
OTHER_SIZE = ("Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
              "not supported. Tensor is of size {} while the given forward gradient is of size {}.")
TWICE = ("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level {} is not "
         "supported.")
OF_A_DUAL = "Setting a forward grad that itself has a forward gradient at the same level{} is not supported."
KIND = "Expected {} to be floating point or complex, but got: {}"
JVP_COUNT = "Function's jvp returned an invalid number of forward gradients (expected {} but got {})"

ELEMENTWISE = (OfOne, OfTwo, OfNumber, ByNumber)
POINTWISE = ("minigrad.ops.pointwise.", "minigrad.ops.activation")
NOT_POINTWISE = {"GluBackward0", "PreluKernelBackward0"}
ALSO_POINTWISE = {"LogitBackward0"}
LINEAR = ("minigrad.ops.shape.", "minigrad.func.batching", "minigrad.func.data")
LINEAR_OPS = {"CloneBackward0", "ToCopyBackward0", "CopyBackwards", "SumBackward0", "SumBackward1", "MeanBackward0",
              "MeanBackward1"}
WRITES: dict[type[Node], tuple[int, ...]] = {  # the arguments in which the op is linear
    Embedding: (0,), IndexCopy: (0, 2), IndexPut: (0, 1), Put: (0, 2), Scatter: (0, 2)}
FLAT_AT_ZERO = {"LinalgVectorNormBackward0", "StdBackward0", "StdMeanBackward0"}  # where these are 0, so is the tangent
PRODUCTS = {  # by name: which of the op's tensors is added to the product, None: none
    **dict.fromkeys(("MmBackward0", "BmmBackward0", "MvBackward0", "DotBackward0", "VdotBackward0", "ConvolveBackward0",
                     "ConvolveInputBackward0", "ConvolveWeightBackward0")),
    **dict.fromkeys(("AddmmBackward0", "AddmvBackward0", "AddrBackward0", "BaddbmmBackward0", "AddbmmBackward0"), 0),
    "ConvolutionBackward0": 2}


def rule_of(cls: type[Node]) -> str:
    """Where the tangent of an op comes from: its `"formula"`, the `"op"` itself, the `"product"` rule, or the formula's
    `"transpose"`."""
    if cls.__name__ in PRODUCTS:
        return "product"
    if cls.__name__ in LINEAR_OPS or cls in WRITES or cls.__module__.startswith(LINEAR):
        return "op"
    pointwise = issubclass(cls, ELEMENTWISE) or cls.__module__.startswith(POINTWISE)
    formula = cls.__name__ in ALSO_POINTWISE or pointwise and cls.__name__ not in NOT_POINTWISE
    return "formula" if formula else "transpose"


class Tangents:
    """The tangents of one level: of tensors, and of what nodes made, since a saved result is a new tensor each time."""

    def __init__(self) -> None:
        self.of_tensors: dict[int, tuple[Any, Tensor | None]] = {}  # by id: a weak reference, which removes the entry
        self.of_results: dict[tuple[int, int], tuple[Any, Tensor | None]] = {}  # by a node's id and an output number
        self.born, self.inputs = next_sequence_nr(), list[Tensor]()  # of a function that is transformed

    def get(self, tensor: Tensor) -> Tensor | None:
        """Return the tangent of a tensor, or None; that of a view is a view of its base's."""
        found = self.of_tensors.get(id(tensor))
        if found is not None:
            return found[1]
        node = tensor._current_grad_fn
        if node is not None and (id(node), tensor._output_nr) in self.of_results:
            return self.of_results[id(node), tensor._output_nr][1]
        base = tensor._base
        whole = None if base is None else self.of_tensors.get(id(base), (None, None))[1]
        if base is None or whole is None:
            return None
        start = tensor.storage_offset() - base.storage_offset()
        part: Tensor = whole.as_strided(tensor.shape, tensor.stride(), start)
        return self.set(tensor, part)

    def set(self, tensor: Tensor, tangent: T) -> T:
        """Keep a tangent as long as its tensor lives; None: it has none, though its base may."""
        keep(self.of_tensors, id(tensor), tensor, tangent)
        if LOCAL.observer is not None and tangent is not None:
            LOCAL.observer.tangent(tensor, tangent)
        node = tensor._current_grad_fn
        if node is not None:
            keep(self.of_results, (id(node), tensor._output_nr), node, tangent)
        return tangent


    def widen(self, tensor: Tensor, array: Any) -> None:
        """Let the tangent of a tensor, and so those of its views, differ between all examples between which an array
        does: it is about to be written there."""
        base = tensor if tensor._base is None else tensor._base
        whole = self.get(base)
        if whole is None or set(outside(array)) <= set(outside(whole.array)):
            return
        self.set(base, laid_out_as(base, whole + plain(XP.zeros(whole.array.shape, array))))
        for reference, tangent in list(self.of_tensors.values()):
            view = reference()
            if view is not None and view._base is base and tangent is not None:
                del self.of_tensors[id(view)]
                self.of_results.pop((id(view._current_grad_fn), view._output_nr), None)


def keep(table: dict[Any, Any], key: Any, owner: Any, value: Any) -> None:
    """Enter a value into a table, until its owner is freed."""
    table[key] = weakref.ref(owner, lambda _: table.pop(key, None)), value


STAND_INS: dict[int, Any] = {}  # the leaves by which nobody differentiates but a level for itself, as in `of_tensors`


class ThreadLevels(threading.local):
    """What the ops of a thread see."""

    levels: tuple[Tangents, ...] = ()  # the innermost last; an op's tangents are computed in the levels around its own
    kept: tuple[Any, ...] | None = None  # what the last custom Function saved for its `jvp`
    refused: str | None = None  # why no level can be entered now, if none can
    following: bool = False  # whether what is written now are the tangents of what an op has written to
    plain_call: bool = False  # whether the next `Function.apply` is what its wrappers call
    call: FunctionCall  # the last call of a custom Function


STATE = ThreadLevels()


@contextmanager
def within(levels: tuple[Tangents, ...], recorded: bool | None = None) -> Iterator[None]:
    """A block in which ops see these levels only; `recorded` sets the grad mode too."""
    before, mode = STATE.levels, LOCAL.grad_enabled
    STATE.levels, LOCAL.grad_enabled = levels, mode if recorded is None else recorded
    LOCAL.update()
    try:
        yield
    finally:
        STATE.levels, LOCAL.grad_enabled = before, mode
        LOCAL.update()


def tensors_in(*values: Any) -> list[Tensor]:
    """Return the tensors among arguments or results, and in lists and tuples among them."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif type(value) in (list, tuple):
            found += tensors_in(*value)
    return found


def replaced(value: Any, by: Callable[[Tensor], Any]) -> Any:
    """Return arguments or results with each tensor replaced by what `by` returns for it."""
    if isinstance(value, Tensor):
        return by(value)
    return type(value)([replaced(each, by) for each in value]) if type(value) in (list, tuple) else value


def carrying(forward: Callable[..., Any], cls: type[Node] | None) -> Callable[..., Any]:
    """Wrap the forward of an op: where a dual comes in, a dual goes out; without `cls` it is the first argument."""
    if is_part(forward):
        return forward

    @functools.wraps(forward)
    def carry(*args: Any, **options: Any) -> Any:
        levels = STATE.levels
        if not levels:
            if not CARRYING.count:
                CARRYING.unneeded()
            return forward(*args, **options)
        tensors = tensors_in(*args, *options.values())
        tangents = {id(each): tangent for each in tensors if (tangent := levels[-1].get(each)) is not None}
        if tangents and all(each.is_inference() for each in tensors):
            tangents = {}  # autograd takes no notice of such an op, in neither direction
        STATE.levels = levels[:-1]  # `within`, without the grad mode
        try:
            if not tangents:
                return carry(*args, **options)
            op = args[0] if cls is None else cls
            rule = rule_of(op)
            if rule == "op":
                call = functools.partial(carry, **options)
                if op in WRITES:
                    return moved_writes(op, call, args, tangents, levels)
                return moved_itself(named(op, call), args, tangents, levels)
            if rule == "product":
                call = functools.partial(carry, **options)
                result = named(op, call)(*args)
                with unseen() as made:
                    made.append(moved_product(call, args, tangents, PRODUCTS[op.__name__]))
                levels[-1].set(result, made[0])
                return result
            return Push(carry, (args, options), tangents, levels).results()
        finally:
            STATE.levels = levels

    return carry


CARRYING = Lingering(carrying)


@contextmanager
def unseen() -> Iterator[list[Any]]:
    """A block that computes tangents, which a recorder takes no notice of: it shows where a tangent arrives, not the
    ops that bring it there. It is told of the list of results."""
    observer, LOCAL.observer = LOCAL.observer, None
    made: list[Any] = []
    try:
        yield made
    finally:
        LOCAL.observer = observer
        for each in made if observer is not None else ():
            if each is not None:
                observer.created(each)


def named(op: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that tells a recorder which class of nodes it is of, even if it leaves no node."""
    observer = LOCAL.observer
    if observer is None:
        return call

    def run(*args: Any) -> Any:
        before, observer.moved_by = observer.moved_by, op.__name__
        try:
            return call(*args)
        finally:
            observer.moved_by = before

    return run


def moved_itself(call: Callable[..., Any], args: tuple[Any, ...], tangents: dict[int, Tensor],
                 levels: tuple[Tangents, ...]) -> Any:
    """Run a linear op on its arguments and on their tangents: zeros for a tensor without one."""
    result = call(*args)
    with unseen() as made:
        moved = call(*replaced(args, lambda each: tangents[id(each)] if id(each) in tangents else zeros_like(each)))
        made += tensors_in(moved)
    for each, tangent in zip(tensors_in(result), tensors_in(moved), strict=True):
        if each.array.dtype.kind == "f" and id(each) not in tangents:
            levels[-1].set(each, tangent)
    return result


def moved_writes(op: Any, call: Callable[..., Any], args: tuple[Any, ...], tangents: dict[int, Tensor],
                 levels: tuple[Tangents, ...]) -> Any:
    """Run an op that writes on its arguments, and on their tangents: of two writes to one place the last counts, which
    the formula does not know. It is called anew, since a batch of tangents may belong to a tensor that is none."""
    result = named(op, call)(*args)
    moved = list(args[1:] if args[0] is op else args)
    for i in WRITES[op]:
        moved[i] = tangents.get(id(moved[i]), zeros_like(moved[i])) if isinstance(moved[i], Tensor) else 0.0
    with unseen() as made:
        made.append(op.forward(*moved))
    levels[-1].set(result, made[0])
    return result


def moved_product(call: Callable[..., Any], args: tuple[Any, ...], tangents: dict[int, Tensor],
                  added: int | None) -> Tensor:
    """Return the tangent of a product: the op with each factor replaced by its tangent, added up."""
    factors = [i for i, each in enumerate(args) if isinstance(each, Tensor)]
    addend = None if added is None or added >= len(factors) else factors.pop(added)
    rest, total = list(args), None
    if addend is not None:
        rest[addend] = tangents.get(id(args[addend]), zeros_like(args[addend]))
    for i in [i for i in factors if id(args[i]) in tangents] or factors[:1]:
        moved = tangents.get(id(args[i]))
        part = call(*rest[:i], zeros_like(args[i]) if moved is None else moved, *rest[i + 1:])
        total = part if total is None else total + part
        if addend is not None:
            rest[addend] = zeros_like(args[addend])
    assert isinstance(total, Tensor)
    return total


def without_graph(tensor: Tensor, levels: tuple[Tangents, ...]) -> Tensor:
    """Return a tensor whose tangents, and theirs, have no graph either."""
    made = plain(tensor.array)
    for nr, level in enumerate(levels):
        if (tangent := level.get(tensor)) is not None:
            level.set(made, without_graph(tangent, levels[:nr]))
    return made


class Push:
    """One op that is run on stand-ins for its duals, so that it leaves a node, whose formula gives the tangents."""

    def __init__(self, call: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]],
                 tangents: dict[int, Tensor], levels: tuple[Tangents, ...]) -> None:
        self.call, (self.args, self.options), self.tangents = call, given, tangents
        self.levels, self.level = levels[:-1], levels[-1]
        inputs = tensors_in(*self.args, *self.options.values())
        self.recorded = LOCAL.recording and any(each._requires_grad for each in inputs)
        self.keeps_graph = LOCAL.recording and any(each._requires_grad for each in (*inputs, *tangents.values()))
        self.duals = {id(each): each for each in inputs if id(each) in tangents}
        self.stand_ins = {key: self.stand_in(each) for key, each in self.duals.items()}

    def stand_in(self, dual: Tensor) -> Tensor:
        """Return a tensor that requires grad in place of a dual: part of its graph, or a leaf if it has none."""
        stand_in = plain(dual.array, requires_grad=True)
        keep(STAND_INS, id(stand_in), stand_in, None)
        if dual._requires_grad:
            node = stand_in._grad_fn = Alias()
            node.fill((edge_target(dual),), next_output_nrs=(dual._output_nr,))
        for level in self.levels:
            if (tangent := level.get(dual)) is not None:
                level.set(stand_in, tangent)
        if LOCAL.observer is not None:
            LOCAL.observer.stands_in(stand_in, dual, self.recorded)
        return stand_in

    def results(self) -> Any:
        """Return what the op returns, with its tangents, and with the history that it has without a level."""
        back = {id(stand_in): self.duals[key] for key, stand_in in self.stand_ins.items()}

        def given(each: Tensor) -> Tensor:
            return self.stand_ins.get(id(each), each)

        with within(self.levels, recorded=True):
            options = {name: replaced(value, given) for name, value in self.options.items()}
            found = self.call(*replaced(self.args, given), **options)
            results = [each for each in tensors_in(found) if id(each) not in back]
            with unseen() as pushed:
                pushed += [self.pushed(each) if each._current_grad_fn is not None else None for each in results]
        for each, tangent in zip(results, pushed, strict=True):
            self.restore(each)
            if tangent is not None:
                self.level.set(each, tangent)
            if not LOCAL.recording:  # it was forced above, and the levels around have taken that for the program's mode
                self.cut_outer_tangents(each)
        return replaced(found, lambda each: back.get(id(each), each))

    def cut_outer_tangents(self, result: Tensor) -> None:
        """Take the graph away from the tangents that a result has in the levels around."""
        for nr, level in enumerate(self.levels):
            if (tangent := level.get(result)) is not None:
                level.set(result, without_graph(tangent, self.levels[:nr]))

    def pushed(self, result: Tensor) -> Tensor | None:
        """Return the tangent of a result; None if it does not depend on a dual."""
        node = result._current_grad_fn
        tangent = None
        if rule_of(type(node)) == "formula" and node.outputs == 1:
            tangent = self.by_formula(result, node)
        if tangent is None:
            tangent = self.by_transpose(result)
        if tangent is not None and any(overlap(tangent.array, each.array) for each in self.tangents.values()):
            tangent = tangent.clone()  # `y = x + 1` has the tangent of `x`, which a write to `y` must not change
        if tangent is not None and type(node).__name__ in FLAT_AT_ZERO and not result._output_nr:
            tangent = Tensor.backward_namespace.masked(cast(Any, result) != 0, tangent)
        if tangent is None or self.keeps_graph:
            return tangent
        return without_graph(tangent, self.levels)  # of stand-ins, if anything

    def by_formula(self, result: Tensor, node: Node) -> Tensor | None:
        """The sum of what the formula makes of each tangent; None where a dual does not lead to the node at once."""
        xp, total = Tensor.backward_namespace, None
        for key, dual in self.stand_ins.items():
            target = edge_target(dual)
            edges = [i for i, each in enumerate(node.next) if each is target]
            if not edges:
                return None
            tangent = xp.cast(self.tangents[key], result.array.dtype)
            if tangent.array.shape != result.array.shape:
                tangent = tangent + zeros_like(result)  # no view: `has_views` says whether others share its memory
            grads = call_function(GraphTask(True, True), node, [tangent], sum_broadcast=False)
            for part in [grads[i] for i in edges if grads[i] is not None]:
                total = part if total is None else total + part
        return total

    def by_transpose(self, result: Tensor) -> Tensor | None:
        """Differentiate Jᵀg, which is linear in `g`, by `g`."""
        gradient = zeros_like(result)
        gradient._requires_grad = True
        keep(STAND_INS, id(gradient), gradient, None)
        duals = list(self.stand_ins.values())
        columns = execute([result], [gradient], True, True, duals, accumulate_grad=False)
        rows = [(column, tangent) for column, tangent in zip(columns, self.tangents.values(), strict=True)
                if column is not None and column._requires_grad]
        if not rows:
            return None
        found = execute([row for row, _ in rows], [tangent for _, tangent in rows], True, True, [gradient],
                        accumulate_grad=False)
        tangent: Tensor | None = found[0]
        return tangent

    def restore(self, result: Tensor) -> None:
        """Lead the node of a result to the duals themselves, or take it away where nothing requires grad."""
        node = result._current_grad_fn
        if node is None:
            return
        if not self.recorded:
            result._grad_fn, result._requires_grad, result._output_nr = None, False, 0
            if LOCAL.observer is not None:
                LOCAL.observer.dropped(result)
            if result._extras is not None and result._extras.view is not None:
                result._extras.view.grad_fn = None
            return
        nodes, output_nrs = list(node.next), list(node.output_nrs())
        for key, stand_in in self.stand_ins.items():
            dual, own = self.duals[key], edge_target(stand_in)
            for i in [i for i, each in enumerate(nodes) if each is own]:
                nodes[i], output_nrs[i] = edge_target(dual), dual._output_nr
            node.replace_saved(stand_in, dual)
        node.next, node.next_output_nrs = tuple(nodes), tuple(output_nrs) if any(output_nrs) else None
        if any(isinstance(each, Tensor) and each._extras is not None for each in node.saved or ()):
            node.extras().versions = versions_of(node.saved or ())


class Following:
    """What the rest of minigrad tells the levels: writes in place, custom Functions, and new backward passes."""

    @staticmethod
    def lend(tensor: Tensor, stand_in: Tensor, *, shared: bool = False) -> None:
        """Let what an in-place op gets for a tensor have copies of its tangents, which the op is about to write to: a
        node may save the stand-in, and with it the old tangent. With `shared` it has the tangents themselves.
        """
        for nr, level in enumerate(STATE.levels):
            if (tangent := level.get(tensor)) is not None:
                with within(STATE.levels[:nr]):
                    level.set(stand_in, tangent if shared else tangent.clone())

    @staticmethod
    def refuse_out(name: str, tensors: tuple[Tensor, ...]) -> None:
        """Raise PyTorch's error if a dual is given to a function that writes its result into `out`."""
        if any(level.get(each) is not None for level in STATE.levels for each in tensors):
            raise NotImplementedError(f"Trying to use forward AD with {name}_out that does not support it because it "
                                      "is an out= function")

    @staticmethod
    def written(tensor: Tensor, result: Tensor) -> None:
        """Write the tangents of a result to those of the tensor into which it was written."""
        levels, STATE.following = STATE.levels, True
        try:
            for nr, level in enumerate(levels):
                new = level.get(result)
                with within(levels[:nr]):
                    old, base = level.get(tensor), tensor._base
                    if old is None and new is not None and base is not None:
                        level.set(base, laid_out_as(base, plain(XP.zeros(base.array.shape, new.array))))
                        old = level.get(tensor)
                    new = None if new is None else laid_out_as(tensor, new)
                    if new is not None and old is not None:
                        level.widen(tensor, new.array)
                        old = level.get(tensor)
                    if new is not None and (old is None or not (base is not None or has_views(old))):
                        level.set(tensor, new.clone() if new._is_view() else new)
                    elif old is not None:
                        level.set(tensor, old.zero_() if new is None else old.copy_(new))
        finally:
            STATE.following = False

    @staticmethod
    def turned(tensor: Tensor, result: Tensor) -> None:
        """Give a tensor that became a view of itself the view of its tangent."""
        for level in STATE.levels:
            if (new := level.get(result)) is not None:
                level.set(tensor, new)

    @staticmethod
    def kept(tensors: tuple[Any, ...] | None) -> None:
        """Remember what the forward of a custom Function has saved for its `jvp`."""
        STATE.kept = tensors

    @staticmethod
    def called(function: Any, ctx: Any, args: tuple[Any, ...], outputs: Sequence[Any]) -> None:
        """Push the tangents of the arguments of a custom Function, now or when `applied` has turned the levels on."""
        STATE.call = FunctionCall(function, ctx, args, tensors_in(*outputs), STATE.kept)
        STATE.call.push()

    @staticmethod
    def new_pass(task: GraphTask) -> None:
        """Let a backward pass run on tensors, whose tangents the ops of its formulas carry along."""
        if not STATE.levels or not task.first_order:
            return
        task.first_order, task.xp = False, Tensor.backward_namespace
        evaluate = task.evaluate

        def unrecorded(task: GraphTask, buffer: Any) -> Any:
            with within(STATE.levels, recorded=False):
                return evaluate(task, buffer)

        task.evaluate = unrecorded


class FunctionCall(NamedTuple):
    """A call of a custom Function whose outputs are known; `kept` is what it saved for forward mode."""

    function: Any
    ctx: Any
    args: tuple[Any, ...]
    outputs: list[Tensor]
    kept: tuple[Any, ...] | None

    def push(self) -> None:
        """Call `jvp` for each level in which an argument is dual. Raises RuntimeError if it returns the wrong number of
        tangents, or one of another size."""
        for nr, level in enumerate(STATE.levels):
            given = [level.get(each) if isinstance(each, Tensor) else None for each in self.args]
            if all(each is None for each in given):
                continue
            if self.ctx.materialize_grads:
                given = [zeros_like(each) if tangent is None and isinstance(each, Tensor)
                         and each.array.dtype.kind == "f" else tangent
                         for each, tangent in zip(self.args, given, strict=True)]
            self.ctx.saved_for_forward = self.kept
            with within(STATE.levels[:nr]):
                found = self.function.jvp(self.ctx, *given)
            self.ctx.saved_for_forward = None
            found = found if isinstance(found, tuple) else (found,)
            if len(found) != len(self.outputs):
                raise RuntimeError(JVP_COUNT.format(len(self.outputs), len(found)))
            for output, tangent in zip(self.outputs, found, strict=True):
                if tangent is not None:
                    level.set(output, checked(output, tangent))


APPLY_WRAPPERS: list[Callable[..., Any]] = []  # the innermost first


def wrap_apply(wrapper: Callable[..., Any], on: bool) -> None:
    """Put a wrapper around what `Function.apply` does, or remove it. One with an attribute `innermost` stays inside."""
    if (wrapper in APPLY_WRAPPERS) == on:
        return
    (APPLY_WRAPPERS.append if on else APPLY_WRAPPERS.remove)(wrapper)
    apply: Callable[..., Any] = plainly
    for each in sorted(APPLY_WRAPPERS, key=lambda each: not hasattr(each, "innermost")):
        apply = each(apply)

    def decide(cls: type[Function], args: Any, kwargs: Any) -> list[Any] | None:
        if STATE.plain_call:
            STATE.plain_call = False
            return None
        return [apply(cls, *args, **kwargs)]

    Function._transformed = decide if APPLY_WRAPPERS else None


def plainly(cls: type[Function], *args: Any, **kwargs: Any) -> Any:
    """`Function.apply` without the wrappers."""
    STATE.plain_call = Function._transformed is not None
    try:
        return cls.apply(*args, **kwargs)
    finally:
        STATE.plain_call = False  # also if the last transform of another thread has just ended


def applied(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Function.apply` while a level is on: what runs inside `forward` sees no level."""
    def call(cls: type[Function], *args: Any, **kwargs: Any) -> Any:
        if not STATE.levels:
            return apply(cls, *args, **kwargs)
        with within(()):
            result = apply(cls, *args, **kwargs)
        STATE.call.push()
        return result

    return call


applied.innermost = True  # type: ignore[attr-defined]  # transforms decide first which levels there are


class AllLevels:
    """The levels that are on in the process: the first wraps all ops, which are unwrapped some ops after the last."""

    @classmethod
    def push(cls) -> Tangents:
        """Enter one more level in this thread. Raises RuntimeError while `minigrad.compile` traces a step."""
        if STATE.refused is not None:
            raise RuntimeError(STATE.refused)
        level = Tangents()
        STATE.levels = (*STATE.levels, level)
        CARRYING.need(1)
        cls.update()
        return level

    @classmethod
    def pop(cls) -> None:
        """Leave the innermost level of this thread."""
        STATE.levels = STATE.levels[:-1]
        CARRYING.need(-1)
        cls.update()
        if LOCAL.observer is not None and not STATE.levels:
            LOCAL.observer.at_rest()

    @classmethod
    def update(cls) -> None:
        """Install what a level needs besides, or remove it."""
        on = CARRYING.count > 0
        UNUSUAL.set("dual levels", on)
        UNUSUAL.tangents = Following if on else None
        SUFFIXES[:] = [shown] if on else []
        wrap_apply(applied, on)
        if on != (Following.new_pass in UNUSUAL.pass_wrappers):
            (UNUSUAL.pass_wrappers.append if on else UNUSUAL.pass_wrappers.remove)(Following.new_pass)


def has_views(tangent: Tensor) -> bool:
    """Whether others may share the memory of a tangent; then it is written to, as its tensor is."""
    return tangent._is_view() or tangent._version_counter is not None


def shown(tensor: Tensor) -> str | None:
    """What a dual shows after its value."""
    for level in reversed(STATE.levels):
        if (tangent := level.get(tensor)) is not None:
            with within(()):
                return f"tangent={tangent}"
    return None


def checked(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a tangent. Raises RuntimeError, PyTorch's, if its size is not that of its tensor."""
    if tangent.array.shape != tensor.array.shape:
        raise RuntimeError(OTHER_SIZE.format(list(tensor.shape), list(tangent.shape)))
    return tangent


# ---- What users call. As in PyTorch only one such level can be on; those of `minigrad.func` nest.
class UnpackedDualTensor(NamedTuple):
    """A value and its tangent; None for a tensor that is not dual."""

    primal: Tensor
    tangent: Tensor | None


class Current:
    """The level that `enter_dual_level` made."""

    level: Tangents | None = None


def enter_dual_level() -> int:
    """Begin a level and return its number, 0. Raises RuntimeError inside another one."""
    if Current.level is not None:
        raise RuntimeError(NESTED)
    Current.level = AllLevels.push()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: all its tangents are dropped. Raises RuntimeError if there is none, or it is not the last."""
    if level not in (None, 0 if Current.level is not None else -1):
        raise RuntimeError(NOT_LAST)
    if Current.level is None:
        raise RuntimeError(NO_NUMBER)
    Current.level = None
    AllLevels.pop()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """Return a view of `tensor` that carries `tangent`, a tensor of the same shape; in inference mode, one without.

    Raises RuntimeError outside of a level, if the shapes differ, or if one of the two is dual already; ValueError if
    one is not of floating point dtype.
    """
    current = Current.level
    if current is None or (level is not None and level < 0):
        raise RuntimeError(NO_LEVEL)
    for name, each in (("primal", tensor), ("tangent", tangent)):
        if not each.is_floating_point():
            raise ValueError(KIND.format(name, each.dtype))
    if current.get(tensor) is not None:
        raise RuntimeError(TWICE.format(0))
    if current.get(tangent) is not None:
        raise RuntimeError(OF_A_DUAL.format(0))
    checked(tensor, tangent)
    return dual_of(current, tensor, tangent) if not LOCAL.inference else tensor.view_as(tensor)


def dual_of(level: Tangents, tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a view of a tensor with this tangent, laid out in memory as the tensor is."""
    dual: Tensor = tensor.view_as(tensor)
    level.set(dual, laid_out_as(tensor, tangent))
    return dual


def laid_out_as(tensor: Tensor, tangent: Tensor) -> Tensor:
    """Return a tangent that lies in memory as its tensor does: parts of the one are found as parts of the other."""
    sizes, steps = tensor.shape, tensor.stride()
    if tangent.stride() == steps or not tensor.numel():
        return tangent
    span = 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    made: Tensor = zeros_like(tangent).new_zeros(span).as_strided(sizes, steps).copy_(tangent)
    return made


def cut_loose(tensor: Tensor) -> Tensor:
    """Return a tensor without its graph, but with its tangents, unlike `detach`."""
    made = tensor.detach()
    Following.lend(tensor, made, shared=True)
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value of a tensor, without its tangent, and the tangent, or None; None in inference mode. Outside of a
    level: the tensor."""
    current = Current.level
    if current is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    tangent = current.get(tensor) if current in STATE.levels and not LOCAL.inference else None
    with within(()):
        primal = tensor.view_as(tensor)
    current.set(primal, None)
    return UnpackedDualTensor(primal, tangent)


class dual_level(_DecoratorContextManager):
    """A block that is a level; its value is the level's number."""

    def __enter__(self) -> int:
        number, self._entered = enter_dual_level(), True
        return number

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        exit_dual_level()


def _is_fwd_grad_enabled() -> bool:
    return bool(STATE.levels) or Current.level is None


class _set_fwd_grad_enabled(_DecoratorContextManager):
    """A block in which ops carry no tangents if `mode` is False."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.prev = mode, STATE.levels
        if not mode:
            STATE.levels = ()

    def __enter__(self) -> None:
        self._entered = True

    @safe_exit
    def __exit__(self, *error: Any) -> None:
        STATE.levels = self.prev

    def clone(self) -> _set_fwd_grad_enabled:
        return self.__class__(self.mode)
