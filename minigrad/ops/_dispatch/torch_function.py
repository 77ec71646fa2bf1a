"""Lets subclasses of Tensor intercept each function called on them: `__torch_function__`. Mirrors `torch/overrides.py`
and the corresponding part of `python_arg_parser.cpp`.

A class that derives from Tensor is asked first, whatever is called on one of its tensors: a function, a method, an
operator or a property. The default (`Tensor.__torch_function__`) runs the function and returns results of the class
too. You need this for a tensor that carries extra data, such as a unit or a label.

NOTE: A program without such a class pays nothing. The first one puts a wrapper around the attributes of Tensor and the
public functions (`Overriding`); when the last one is gone, the wrappers are removed. Functions of `nn.functional` that
PyTorch has in Python are replaced in their module: one that was imported by name before then handles plain tensors
only.
"""

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from minigrad._base.device import device
from minigrad._base.dtype import Size, dtype
from minigrad._base.tensor_data import TensorData
from minigrad._base.warnings import warn_once
from minigrad.core import Tensor
from minigrad.ops._dispatch.op_wrappers import OPS

__all__ = ["DisableTorchFunction", "DisableTorchFunctionSubclass", "Overriding", "TorchFunctionMode", "disabled",
           "follow", "handle", "overloaded", "overridable", "overridable_module"]

Function = Callable[..., Any]
PLAIN = {Tensor, int, float, bool, str, complex, type(None), np.ndarray, slice, type(...), dtype, device, Size}
# Methods that share C code: an operator reaches `__torch_function__` as the method that does the same.
SAME_METHOD = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__rtruediv__": "__rdiv__", "__pow__": "pow", "__mod__": "remainder", "__neg__": "neg", "__pos__": "positive",
    "__abs__": "abs", "__matmul__": "matmul", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__rand__": "bitwise_and", "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__iadd__": "add_",
    "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_", "__ipow__": "pow_", "__imod__": "remainder_",
    "__ifloordiv__": "floor_divide_"}
OPERATORS = {"__eq__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__", "__rlshift__", "__rrshift__",
             "__rsub__", "__rdiv__", "__rpow__", "__floordiv__", "__rfloordiv__", "__rmod__", "__iand__", "__ior__",
             "__ixor__", "__ilshift__", "__irshift__"} | {*SAME_METHOD}
OWN = OPERATORS | {
    "__len__", "__bool__", "__index__", "__int__", "__float__", "__complex__", "__contains__", "__repr__", "__format__",
    "__reversed__", "__getitem__", "__setitem__", "__array__", "__deepcopy__", "__reduce_ex__", "__invert__", "_base",
    "_version"}
NOT_ASKED = {"array", "as_subclass", "backward_namespace"}  # of Tensor's public names
# What PyTorch has in Python: there, arguments with a default are passed on as keywords, whether given or not.
IN_PYTHON = {"__contains__", "__deepcopy__", "__floordiv__", "__format__", "__ipow__", "__len__", "__pow__", "__rdiv__",
             "__reduce_ex__", "__reversed__", "__rfloordiv__", "__rlshift__", "__rmod__", "__rpow__", "__rrshift__",
             "__rsub__", "__rtruediv__", "backward", "register_hook", "split"}
FUNCTIONS_IN_PYTHON = {"broadcast_tensors", "einsum", "meshgrid", "split"}
WITHOUT = {"as_tensor", "asarray", "is_tensor", "tensor"}  # public functions that are never intercepted
AS_METHOD = (
    "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define "
    "it as a classmethod.")


class ThreadState(threading.local):
    """The state of one thread's calls."""

    disabled = False  # subclasses are not asked
    modes: tuple[Any, ...] = ()  # the active TorchFunctionModes, the innermost last


STATE = ThreadState()


class Overriding:
    """Whether any class or mode intercepts calls, and how many do."""

    active = False
    users = 0
    callbacks: ClassVar[list[Callable[[], None]]] = []

    @classmethod
    def add(cls, n: int) -> None:
        """Count one more, or one less."""
        cls.users += n
        if cls.active is not (cls.users > 0):
            cls.active = cls.users > 0
            for callback in cls.callbacks:
                callback()


def follow(update: Callable[[], None]) -> None:
    """Call `update()` whenever `Overriding.active` changes, and now if it is set."""
    Overriding.callbacks.append(update)
    if Overriding.active:
        update()


def disabled(func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class that is never asked, and whose tensors give plain ones."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class DisableTorchFunctionSubclass:
    """A block in which this thread's calls go to the functions themselves, whatever the class of their tensors."""

    def __enter__(self) -> None:
        self.before, STATE.disabled = STATE.disabled, True

    def __exit__(self, *error: object) -> None:
        STATE.disabled = self.before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A block in which modes are not asked either."""

    def __enter__(self) -> None:
        super().__enter__()
        self.modes, STATE.modes = STATE.modes, ()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        STATE.modes = self.modes


class TorchFunctionMode:
    """A block in which each call of a public function goes to `__torch_function__`, whatever the class of its tensors.

    Of nested modes the innermost is asked; what it calls goes to the next one.
    """

    __module__ = "minigrad.overrides"

    def __torch_function__(self, func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        Overriding.add(1)
        STATE.modes = (*STATE.modes, self)
        return self

    def __exit__(self, *error: object) -> None:
        STATE.modes = STATE.modes[:-1]
        Overriding.add(-1)


def overloaded(values: Iterable[Any]) -> list[Any]:
    """The arguments whose classes are asked, one per class: a subclass before its base, otherwise in their order."""
    found: list[Any] = []
    for value in values:
        cls = type(value)
        if cls in PLAIN:
            continue
        for each in value if cls is list or cls is tuple else (value,):
            cls = type(each)
            if cls not in PLAIN and is_asked(cls) and cls not in map(type, found):
                at = next((i for i, other in enumerate(found) if issubclass(cls, type(other))), len(found))
                found.insert(at, each)
    return found


def is_asked(cls: type) -> bool:
    """Whether a class has a `__torch_function__` to call, also when it inherits that of Tensor."""
    own = getattr(cls, "__torch_function__", None)
    return own is not None and own is not disabled and cls is not Tensor


def to_ask(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, list[Any]] | None:
    """The mode and the arguments to hand a call to; None if it goes to the function itself."""
    modes = STATE.modes
    found = [] if STATE.disabled else overloaded((*args, *options.values()) if options else args)
    return (modes[-1] if modes else None, found) if modes or found else None


def answer_of(public: Function, asked: tuple[Any, list[Any]], args: tuple[Any, ...], options: Any,
              in_python: bool = False) -> Any:
    """Hand a call of a public function to each in turn until one answers; otherwise NotImplemented.

    A function that PyTorch has in Python counts Tensor among the types if it is given one.
    """
    mode, found = asked
    types = tuple([type(each) for each in found])
    if in_python and found and Tensor in map(type, (*args, *(options or {}).values())):
        types = (*types, Tensor)
    if mode is not None:
        outer, STATE.modes = STATE.modes, STATE.modes[:-1]
        try:
            answer = mode.__torch_function__(public, types, args, options)
        finally:
            STATE.modes = outer
        if answer is not NotImplemented:
            return answer
    for each in found:
        own = each.__torch_function__
        if getattr(own, "__self__", None) is each:
            warn_once(AS_METHOD)
        answer = own(public, types, args, options)
        if answer is not NotImplemented:
            return answer
    return NotImplemented


def handle(public: Function, asked: tuple[Any, list[Any]], args: tuple[Any, ...], options: Any,
           in_python: bool = False, is_method: bool = False) -> Any:
    """`answer_of`, but raise PyTorch's error if nobody answers; functions in Python have a different error. Raises
    TypeError if nobody answers."""
    answer = answer_of(public, asked, args, options, in_python)
    if answer is not NotImplemented:
        return answer
    types = [type(each) for each in asked[1]]
    if in_python and not is_method:
        raise TypeError(f"no implementation found for '{path_of(public)}' on types that implement __torch_function__: "
                        f"{types}")
    lines = [f"\n  - {'tensor subclass' if issubclass(cls, Tensor) else 'class'} {cls}" for cls in types]
    raise TypeError(f"Multiple dispatch failed for '{path_of(public)}'; all __torch_function__ handlers returned "
                    f"NotImplemented:\n{''.join(lines)}")


def path_of(public: Function) -> str:
    """The path of a function, for an error: `torch.sin`, `torch.Tensor.add`, `torch.Tensor.grad.__get__`."""
    owner = getattr(public, "__self__", None)
    if isinstance(owner, property):
        return f"torch.Tensor.{getattr(owner, 'name', '')}.{public.__name__}"
    name = public.__name__
    if vars(Tensor).get(name) is public:
        return f"torch.Tensor.{name}"
    return f"{public.__module__.replace('minigrad', 'torch')}.{name}"


def default(cls: type, /, func: Function, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Run a function and convert its results to this class: what `Tensor.__torch_function__` does.

    NotImplemented if this class does not derive from each class among `types`. A gradient and a `_base` are not
    converted.
    """
    if not all(issubclass(cls, each) for each in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property) and getattr(owner, "name", "") in ("grad", "_base", "_grad"):
        return result
    return converted(result, cls)


def converted(result: Any, cls: type) -> Any:
    """A result with its tensors, including those in tuples and lists, converted to a class."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        return type(result)([converted(each, cls) for each in result])
    return result


@functools.lru_cache(maxsize=4096)  # autocast and modes are turned on and off in each step of a training loop
def overridable(function: Function, public: Function | None = None, name: str = "", in_python: bool = False,
                is_operator: bool = False, shown_as: str = "") -> Function:
    """Wrap a function so that it first asks the `__torch_function__` of its arguments.

    Args:
        public: the function passed to them; by default the wrapper returned here.
        name: alternatively that of a method of Tensor, which is looked up when needed.
        in_python: PyTorch has the function in Python, and passes arguments with a default as keywords.
        is_operator: return NotImplemented if nobody answers, so that Python tries the other operand.
        shown_as: the `__name__` of the wrapper; by default that of the function.
    """
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        asked = to_ask(args, options)
        if asked is None:
            return function(*args, **options)
        func = public or (getattr(Tensor, name) if name else call)
        given = bound(function, args, options) if in_python else (args, options or None)
        return (answer_of(func, asked, *given, in_python) if is_operator else
                handle(func, asked, *given, in_python, bool(name)))

    call.__name__ = shown_as or call.__name__
    return call


def bound(function: Function, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call: the required ones, and the others by name, with their defaults."""
    try:
        found = inspect.signature(function).bind(*args, **options)
    except (TypeError, ValueError):  # the function itself reports what is wrong with them
        return args, options
    found.apply_defaults()
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, value in found.arguments.items():
        parameter = found.signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            keywords.update(value)
        elif parameter.default is parameter.empty:
            positional.append(value)
        else:
            keywords[name] = value
    return tuple(positional), keywords


class OverridableProperty(property):
    """A property of Tensor that first asks the class of its tensor; the function passed is `__get__` or `__set__`."""

    def __init__(self, plain: property, name: str) -> None:
        def get(tensor: Any) -> Any:
            asked = to_ask((tensor,), {})
            return plain.__get__(tensor) if asked is None else handle(self.__get__, asked, (tensor,), None)

        def put(tensor: Any, value: Any) -> None:
            asked = to_ask((tensor,), {})
            if asked is None:
                plain.__set__(tensor, value)
            else:
                handle(self.__set__, asked, (tensor, value), None)

        def remove(tensor: Any) -> None:
            asked = to_ask((tensor,), {})
            if asked is None:
                plain.__delete__(tensor)
            else:
                handle(self.__delete__, asked, (tensor,), None)

        super().__init__(get, put if plain.fset else None, remove if plain.fdel else None, plain.__doc__)
        self.name = self.__name__ = name


class Wrapped:
    """The attributes of Tensor, with and without wrappers."""

    plain: ClassVar[dict[str, Any]] = {}  # by name: what the class had; None for what it inherits
    wrappers: ClassVar[dict[str, Any]] = {}
    property_of = staticmethod(functools.lru_cache(maxsize=256)(OverridableProperty))

    @classmethod
    def update(cls) -> None:
        """Install the wrappers, also around what was rebound in between, or remove them."""
        own = vars(Tensor)
        if Overriding.active:
            for name in {**vars(TensorData), **own}:
                if is_offered(name) and (name not in cls.wrappers or own.get(name) is not cls.wrappers[name]):
                    cls.wrap(name)
            return
        for name, plain in cls.plain.items():
            if own.get(name) is cls.wrappers[name]:
                delattr(Tensor, name) if plain is None else setattr(Tensor, name, plain)
        cls.plain.clear()
        cls.wrappers.clear()

    @classmethod
    def wrap(cls, name: str) -> None:
        """Put a wrapper around one attribute of Tensor, if it is a property or can be called."""
        plain = vars(Tensor).get(name)
        shown = vars(TensorData)[name] if plain is None else plain
        if isinstance(shown, property):
            wrapper: Any = cls.property_of(shown, name)
        elif isinstance(shown, (FunctionType, functools.partial)):
            wrapper = overridable(shown, None, SAME_METHOD.get(name, name), name in IN_PYTHON, name in OPERATORS, name)
        else:
            return
        cls.plain[name], cls.wrappers[name] = plain, wrapper
        setattr(Tensor, name, wrapper)


def is_offered(name: str) -> bool:
    """Whether the class of a tensor is asked about an attribute."""
    return name in OWN if name.startswith("_") else name not in NOT_ASKED


def overridable_module(namespace: dict[str, Any], names: Iterable[str], in_c: Iterable[str] = ()) -> None:
    """Let functions of a module ask first while anything intercepts calls. `in_c`: those that PyTorch has in C."""
    plain: dict[str, Any] = {}

    def update() -> None:
        if Overriding.active and not plain:
            plain.update({name: namespace[name] for name in names if isinstance(namespace[name], FunctionType)})
            namespace.update({name: overridable(each, in_python=name not in in_c) for name, each in plain.items()})
        elif not Overriding.active:
            namespace.update(plain)
            plain.clear()

    follow(update)


def begin(cls: Any, /, **options: Any) -> None:
    """Count a class derived from Tensor (`Tensor.__init_subclass__`): it is asked from now on, unless it opts out."""
    super(Tensor, cls).__init_subclass__(**options)
    if is_asked(cls):
        Overriding.add(1)
        weakref.finalize(cls, Overriding.add, -1).atexit = False


follow(Wrapped.update)
OPS.after.append(Wrapped.update)
