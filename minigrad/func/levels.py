"""The transforms that run in a thread, in the order in which the program entered them.

Ops need no such list: tangents, graphs and batches each have levels of their own. A custom Function needs it, since it
has a rule for each kind of transform, and the innermost one comes first (`custom_functions.py`).
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from minigrad._base.locks import new_lock
from minigrad.autograd.forward_ad import wrap_apply
from minigrad.backends.batched import CURRENT, Level
from minigrad.core import Tensor

__all__ = ["STACK", "entered_on_stack", "lowered", "require_grad"]


class Stack(threading.local):
    """The levels that are on, the outermost first: of `vmap`, of forward mode and of reverse mode."""

    levels: tuple[Any, ...] = ()


class AllTransforms:
    """How many levels are on in the process, and what custom Functions do then."""

    count = 0
    lock = new_lock()
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
    "retain_grad": UNSUPPORTED.format("retain_grad", ""),
    "backward": "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                "functorch.vjp instead or call backward() outside of functorch transforms."}


def refusing(method: Callable[..., Any], message: str) -> Callable[..., Any]:
    """A method of Tensor that raises PyTorch's RuntimeError inside of a transform."""
    @functools.wraps(method)
    def call(*args: Any, **options: Any) -> Any:
        if STACK.levels:
            raise RuntimeError(message)
        return method(*args, **options)

    return call


AllTransforms.changes.update({name: functools.partial(refusing, message=message) for name, message in REFUSED.items()})


@contextmanager
def entered_on_stack(level: Any) -> Iterator[None]:
    """A block in which one more transform runs."""
    before, STACK.levels = STACK.levels, (*STACK.levels, level)
    AllTransforms.add(1)
    try:
        yield
    finally:
        STACK.levels = before
        AllTransforms.add(-1)


@contextmanager
def lowered(levels: tuple[Any, ...]) -> Iterator[None]:
    """A block in which only these of the levels are on, as far as custom Functions and batches are concerned."""
    before, STACK.levels = STACK.levels, levels
    inside, CURRENT.inside = CURRENT.inside, tuple([each for each in levels if type(each) is Level])
    try:
        yield
    finally:
        STACK.levels, CURRENT.inside = before, inside
