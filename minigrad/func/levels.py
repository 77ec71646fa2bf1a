"""The transforms that run in a thread, in the order in which the program entered them.

Ops need no such list: tangents, graphs and batches each have levels of their own. A custom Function needs it, since it
has a rule for each kind of transform, and the innermost one comes first (`custom_functions.py`).
"""

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

from minigrad._base.locks import new_lock
from minigrad.autograd.forward_ad import wrap_apply
from minigrad.backends.batched import CONTROL_FLOW, CURRENT, EITHER, ITEM, OF_PASSES, Level, NoRule, outside
from minigrad.core import LOCAL, UNUSUAL, Tensor

__all__ = ["STACK", "entered_on_stack", "lowered", "of_batch", "require_grad"]


class Stack(threading.local):
    """The levels that are on, the outermost first: of `vmap`, of forward mode and of reverse mode."""

    levels: tuple[Any, ...] = ()


class AllTransforms:
    """How many levels are on in the process, and what custom Functions do then."""

    count = 0
    lock = new_lock()
    refuse_pass: Callable[[Sequence[Any], bool], None]  # what the engine asks before each pass,
    refuse_write: Callable[[Tensor, Any, Any], None]  # before each write in place (`captured.py`),
    refuse_step: Callable[[Any], None]  # and before a step of an optimizer
    rule: Callable[..., Any]  # a wrapper around `Function.apply`, set by `custom_functions.py`
    changes: ClassVar[dict[str, Callable[[Any], Any]]] = {}  # what becomes of attributes of Tensor, by name
    changed: ClassVar[dict[str, tuple[Any, Any]]] = {}  # what each was, and is

    @classmethod
    def add(cls, number: int) -> None:
        """Count one more level, or with -1 one less; the first installs what all need, the last removes it."""
        with cls.lock:
            before, cls.count = cls.count, cls.count + number
            if before and cls.count:
                return
            wrap_apply(cls.rule, cls.count > 0)
            UNUSUAL.transforms = cls if cls.count else None
            for name, change in cls.changes.items():
                attribute = vars(Tensor)[name]
                if cls.count:
                    cls.changed[name] = attribute, change(attribute)
                    setattr(Tensor, name, cls.changed[name][1])
                elif attribute is cls.changed[name][1]:  # else somebody has wrapped it since, and it does as before
                    setattr(Tensor, name, cls.changed[name][0])


STACK = Stack()
require_grad = Tensor.requires_grad_  # for the transforms themselves, to which it is not refused
UNSUPPORTED = ("You are attempting to call Tensor.{0}() {1}inside of a function being transformed by a functorch "
               "transform. This is unsupported, please attempt to use the functorch transforms (e.g. grad, vjp, "
               "jacrev, jacfwd, hessian) or call {0}() outside of a function being transformed instead.")
REFUSED = {
    "requires_grad_": UNSUPPORTED.format("requires_grad_", "(or perhaps using torch.autograd.functional.* APIs) "),
    "retain_grad": UNSUPPORTED.format("retain_grad", "")}
BACKWARD = ("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
            "functorch.vjp instead or call backward() outside of functorch transforms.")
IN_PASSES = ("backward() called inside torch.vmap. This is not supported, please call backward() outside torch.vmap or "
             "instead use torch.autograd.grad inside torch.vmap")
OF_BATCH = ("torch.autograd.grad(outputs, inputs, grad_outputs) called inside torch.vmap. We do not support the case "
            "where any outputs are vmapped tensors (output {} is being vmapped over). Please call autograd.grad() "
            "outside torch.vmap or file a bug report with your use case.")


def refuse_pass(roots: Sequence[Any], accumulates: bool) -> None:
    """Raise PyTorch's RuntimeError for a pass that the user's program starts: one that adds to `.grad`, inside of a
    transform or of a batch of passes; or one from what differs between the passes of a batch."""
    if accumulates and STACK.levels:
        raise RuntimeError(BACKWARD)
    passes = [level for level in CURRENT.inside if level.randomness == OF_PASSES]
    if accumulates and passes:
        raise RuntimeError(IN_PASSES)
    for i, root in enumerate(roots if passes else ()):
        if isinstance(root, Tensor) and any(level in passes for level in outside(root.array)):
            raise RuntimeError(OF_BATCH.format(i))


AllTransforms.refuse_pass = staticmethod(refuse_pass)


def refuse_call(message: str) -> None:
    """Raise PyTorch's RuntimeError inside of a transform."""
    if STACK.levels:
        raise RuntimeError(message)


def after(refuse: Callable[[], None], method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of Tensor that first asks whether it may run."""
    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        refuse()
        return method(*args, **options)

    return call


AllTransforms.changes.update({
    "backward": functools.partial(after, functools.partial(refuse_pass, (), True)),
    **{name: functools.partial(after, functools.partial(refuse_call, message)) for name, message in REFUSED.items()}})


@contextmanager
def refusing_passes() -> Iterator[None]:
    """A block in which `refuse_pass` is asked."""
    AllTransforms.add(1)
    try:
        yield
    finally:
        AllTransforms.add(-1)


@contextmanager
def entered_on_stack(level: Any, name: str) -> Iterator[None]:
    """A block in which one more transform runs; a recorder draws a frame of this name around what runs in it."""
    before, STACK.levels = STACK.levels, (*STACK.levels, level)
    births, LOCAL.births = LOCAL.births, True
    LOCAL.update()
    observer, done = LOCAL.observer, False
    if observer is not None:
        observer.seen.transform_begin(name)
    try:
        with refusing_passes():
            yield
        done = True
    except NoRule as error:
        if type(level) is Level or error.args[0] not in (ITEM, CONTROL_FLOW):
            raise
        raise NoRule(EITHER) from error  # of a `vmap` around this level: PyTorch does not tell then who asked
    finally:
        STACK.levels, LOCAL.births = before, births
        LOCAL.update()
        if observer is not None:
            observer.seen.transform_end(not done)


def of_batch(level: Level) -> AbstractContextManager[None]:
    """A block in which `vmap` runs a function, or a batch of passes, which is no transform."""
    name = f"vmap ×{level.size}"
    return entered_on_stack(level, name) if level.randomness != OF_PASSES else refusing_passes()


@contextmanager
def lowered(levels: tuple[Any, ...]) -> Iterator[None]:
    """A block in which only these of the levels are on, as far as custom Functions and batches are concerned."""
    before, STACK.levels = STACK.levels, levels
    inside, CURRENT.inside = CURRENT.inside, tuple([each for each in levels if type(each) is Level])
    try:
        yield
    finally:
        STACK.levels, CURRENT.inside = before, inside
