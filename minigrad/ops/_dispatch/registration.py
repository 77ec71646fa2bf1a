"""Registers an op beside its definition: `@op` and `@tensor_method` mark what `torch` and `Tensor` offer.

NOTE: The decorators return the function unchanged. PyTorch's `torch.add` parses Python's arguments and then calls
`at::add`; here too the public function and the method are wrappers (`parses_arguments`), and inside minigrad one op
calls another without them. A wrapper around every inner call would cost a small op a tenth of its time, and an inner
call with private arguments would be checked against PyTorch's signatures. Operators and direct methods have no
wrapper for the same reason.
"""

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, overload

from minigrad.core import Tensor
from minigrad.history.inplace import in_place as write_in_place
from minigrad.ops._dispatch.arg_parser import parses_arguments

F = TypeVar("F", bound=Callable[..., Any])
FUNCTIONS: dict[str, Any] = {}  # of `minigrad`, as called from outside
METHODS: dict[str, Any] = {}  # of Tensor, including the in-place ones
DIRECT_METHODS: dict[str, Any] = {}  # methods without argument parsing; a wrong type raises Python's errors


@overload
def op(function: F, /) -> F: ...


@overload
def op(*, method: bool = False, in_place: bool = False, in_place_function: bool = False, direct_method: bool = False,
       aliases: tuple[str, ...] = (), name: str = "") -> Callable[[F], F]: ...


def op(function: Any = None, /, **options: Any) -> Any:
    """Publish a function of Tensors as `torch.name`; the function itself is returned unchanged.

    Args:
        method: it is also `Tensor.name`.
        in_place: it is also `Tensor.name_`, which writes its result into the tensor.
        in_place_function: `torch.name_` does so too.
        direct_method: the method is the function itself: for ops so small that parsing would cost a tenth.
        aliases: other names for all of these; an assignment under the function shows them to the reader.
        name: PyTorch's name, if it is not the function's.
    """
    return functools.partial(register, **options) if function is None else register(function, **options)


@overload
def tensor_method(function: F, /) -> F: ...


@overload
def tensor_method(*, aliases: tuple[str, ...] = (), name: str = "") -> Callable[[F], F]: ...


def tensor_method(function: Any = None, /, **options: Any) -> Any:
    """Publish as `Tensor.name` a function that PyTorch has as a method only."""
    return op(function, is_function=False, method=True, **options)  # type: ignore[call-overload]  # for here alone


def register(function: F, *, is_function: bool = True, method: bool = False, in_place: bool = False,
             in_place_function: bool = False, direct_method: bool = False, aliases: tuple[str, ...] = (),
             name: str = "") -> F:
    """Register a function under its names, as `op` and `tensor_method` say."""
    if is_function and name and "<locals>" in function.__qualname__:  # one template created several functions
        function.__name__ = function.__qualname__ = name
    for own_name in (name or function.__name__, *aliases):
        if is_function:
            add_function(own_name, function)
        if direct_method:
            DIRECT_METHODS[own_name] = METHODS[own_name] = function
            setattr(Tensor, own_name, function)
        elif method:
            add_method(own_name, function)
        if in_place or in_place_function:
            add_in_place(own_name, function, in_place_function)
    return function


def tensor_properties(properties: dict[str, property]) -> None:
    """Give Tensor these properties, with PyTorch's error for who sets or deletes one that can only be read."""
    for name, value in properties.items():

        def refused(*_: Any, name: str = name) -> NoReturn:
            raise AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")

        setattr(Tensor, name, property(value.fget, value.fset or refused, value.fdel or refused, value.__doc__))


def add_function(name: str, function: Callable[..., Any], written: Callable[..., Any] | None = None) -> None:
    """Let `torch.name` parse its arguments and call a function; `written` has the parameters if `function` does not."""
    wrapper = FUNCTIONS[name] = parses_arguments(function, name, signature_of=written)
    wrapper.__module__ = "minigrad"  # where pickle finds it


def add_method(name: str, function: Callable[..., Any], written: Callable[..., Any] | None = None) -> None:
    """Let `Tensor.name` parse its arguments and call a function."""
    METHODS[name] = parses_arguments(function, name, method=True, signature_of=written)
    setattr(Tensor, name, METHODS[name])


def add_in_place(name: str, function: Callable[..., Any], is_function: bool) -> None:
    """Create `Tensor.name_` from the out-of-place function, and `torch.name_` if PyTorch has it."""
    method = functools.partial(write_in_place, function)
    add_method(f"{name}_", method, function)
    METHODS[f"{name}_"].__doc__ = f"`{name}`, in place."
    if is_function:
        add_function(f"{name}_", method, function)
        FUNCTIONS[f"{name}_"].__doc__ = f"`{name}`, in place."
