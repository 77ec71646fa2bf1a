"""Parses the arguments of the public functions and methods by PyTorch's signatures, and raises PyTorch's errors.

An op is a plain function, and is first called with the arguments as they are. Only if that fails are they matched
against PyTorch's signatures (signatures.py). If they match but were written differently (NumPy's names, `out=`, a
number in place of a tensor), the function is called again with its own parameters. If they do not match, PyTorch's
TypeError is raised. If they matched as they were, the op itself raised the error, and it propagates.

Every function with `out` in PyTorch has it here, by the rule in out_argument.py.
"""

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from minigrad._base.contexts import SIGNALS, silently
from minigrad._base.dtype import from_numpy_dtype
from minigrad._base.tensor_errors import check_tensor
from minigrad._base.warnings import warn_once
from minigrad.backends.registry import MultiDevice
from minigrad.core import Tensor
from minigrad.ops._dispatch.device_guard import guarded
from minigrad.ops._dispatch.out_argument import delivered, dtype_of_out
from minigrad.ops._dispatch.signatures import Signature, is_number, matched, printed_type, signatures_of
from minigrad.ops._dispatch.torch_function import FUNCTIONS_IN_PYTHON, WITHOUT, Overriding, follow, overridable, to_ask
from minigrad.ops._dispatch.type_promotion import as_operand

Function = Callable[..., Any]
# What Python, NumPy and the ops raise for arguments of a wrong type, and for other mistakes, whose errors propagate.
MISFITS = (TypeError, AttributeError, ValueError, IndexError, RuntimeError)
PYTHONS = {bool: from_numpy_dtype("bool"), int: from_numpy_dtype("int64"), float: from_numpy_dtype("float64")}

# Plain functions that accept more than PyTorch's do: their arguments are checked against the signatures first.
TAKE_MORE = {"index_put", "index_put_", "isin", "linalg_svd", "normal", "qr", "selu", "split_with_sizes", "svd", "tile"}
# Functions that accept a number as their first operand; their methods do not.
OF_TENSORS = {"float_power", "floor_divide", "pow", "remainder", "size", "xlogy"}
UNGUARDED = {"cuda"}  # without an argument it means the current device


def parses_arguments(function: Function, name: str, method: bool = False,
                     signature_of: Function | None = None) -> Function:
    """Wrap a function or a method so that arguments it does not accept are parsed by PyTorch's signatures.

    `name` is the name of PyTorch's operator, e.g. `linalg_norm`. `signature_of` is the function whose parameters are
    those of `function`, where `function` does not show them.
    """
    shown = function if signature_of is None else signature_of
    first, parse = plain = checked_first(function, name, method), parse_and_retry

    @functools.wraps(shown)
    def call(*args: Any, **options: Any) -> Any:
        try:
            try:
                result = first(*args, **options)
            except MISFITS as error:
                return parse(error, function, shown, name, method, args, options)
            if result is NotImplemented:
                return parse(TypeError(name), function, shown, name, method, args, options)
            return result
        except SIGNALS as error:
            return silently(error, call, *args, **options)

    def update(*on: bool) -> None:
        nonlocal first, parse
        first, parse = map(guarded, plain) if MultiDevice.active and name not in UNGUARDED else plain
        if Overriding.active and not method and name not in WITHOUT:  # methods of Tensor check this earlier
            first = overridable(first, call, in_python=name in FUNCTIONS_IN_PYTHON)
            parse = unless_overridden(parse)

    MultiDevice.on_change(update)
    follow(update)
    call.__name__ = call.__qualname__ = name
    return call


@functools.lru_cache(maxsize=4096)
def unless_overridden(parse: Function) -> Function:
    """`parse_and_retry`, except that the error of a `__torch_function__` propagates."""
    def call(error: Exception, function: Function, shown: Function, name: str, method: bool, args: tuple[Any, ...],
             options: dict[str, Any]) -> Any:
        if to_ask(args, options) is not None:
            raise error
        return parse(error, function, shown, name, method, args, options)

    return call


def checked_first(function: Function, name: str, method: bool) -> Function:
    """The same function; if it accepts more than PyTorch's, one that raises a TypeError for the difference."""
    if method and name in OF_TENSORS:
        def of_tensor(*args: Any, **options: Any) -> Any:
            if not (args and isinstance(args[0], Tensor)):
                raise TypeError(name)
            return function(*args, **options)
        return of_tensor
    if name in TAKE_MORE:
        def matching(*args: Any, **options: Any) -> Any:
            matched(signatures_of(name, method), args[method:], options)
            return function(*args, **options)
        return matching
    return function


def parse_module_functions(names: Iterable[str], namespace: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Wrap the functions of a module; `prefix` precedes their names in PyTorch's operators."""
    wrappers = {name: parses_arguments(function, prefix + name, signature_of=inspect.unwrap(function))
                for name in names if isinstance(function := namespace.get(name), FunctionType)}
    for name, wrapper in wrappers.items():
        wrapper.__module__, wrapper.__qualname__ = namespace["__name__"], name  # where pickle finds it
    return wrappers


def guardable(function: Function, name: str, module: str, *error_of: Any) -> Function:
    """Wrap a function that parses no arguments, but computes on arrays: with several devices it needs a guard.

    `module` is where pickle finds it under this name. `error_of` is the operator to which the function passes its
    first argument, as `check_tensor` takes it, and whose error it raises if that is not a tensor.
    """
    plain = function

    @functools.wraps(plain)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except SIGNALS as error:
            return silently(error, call, *args, **options)
        except AttributeError:
            if error_of:
                check_tensor(args[0] if args else next(iter(options.values())), *error_of)
            raise

    def update(*on: bool) -> None:
        nonlocal function
        function = guarded(plain) if MultiDevice.active else plain
        if Overriding.active:
            function = overridable(function, call, in_python=True)

    MultiDevice.on_change(update)
    follow(update)
    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call


def parse_and_retry(error: Exception, function: Function, signature_of: Function, name: str, method: bool,
                    args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Match the arguments of a call that failed, then call again with the function's own, or raise PyTorch's error."""
    signatures = signatures_of(name, method)
    if not signatures:
        raise error
    if method:
        check_method(name, signatures, args, options)
    signature, values = matched(signatures, args[method:], options)
    if signature.deprecated:
        warn_once(advice(signature, signatures))
    out = values.pop("out", None)
    positional, keywords = own_arguments(signature_of, signature, values, args[method:])
    positional[:0] = args[:method]
    if out is not None:
        keywords |= dtype_of_out(name, out, values)
        return delivered(name, out, [*positional, *keywords.values()], lambda: function(*positional, **keywords))
    unchanged = len(positional) == len(args) and keywords.keys() == options.keys()
    if unchanged and all(map(operator.is_, positional, args)) and all(keywords[k] is options[k] for k in keywords):
        raise error
    return function(*positional, **keywords)


def check_method(name: str, signatures: tuple[Signature, ...], args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Raise the errors of a method that is written in C."""
    if not args:
        raise TypeError(f"unbound method TensorBase.{name}() needs an argument")
    if not isinstance(args[0], Tensor):
        raise TypeError(f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a "
                        f"'{printed_type(args[0])}' object")
    if not any(s.parameters for s in signatures):
        if options:
            raise TypeError(f"TensorBase.{name}() takes no keyword arguments")
        if len(args) > 1:
            raise TypeError(f"TensorBase.{name}() takes no arguments ({len(args) - 1} given)")


def advice(signature: Signature, signatures: tuple[Signature, ...]) -> str:
    """PyTorch's warning about a deprecated signature."""
    name = signature.function
    others = "".join(f"\n\t{name}{each}" for each in signatures if not each.deprecated)
    return (f"This overload of {name} is deprecated:\n\t{name}{signature}\nConsider using one of the following "
            f"signatures instead:{others}")


def own_arguments(function: Function, signature: Signature, matched_values: dict[str, Any],
                  args: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as a plain function takes them: positional ones stay positional, the others use its names.

    An option that the function lacks is dropped if it changes nothing (`layout=torch.strided`, `pin_memory=False`).
    """
    code = inspect.unwrap(function).__code__
    known = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    positional: list[Any] = []
    values, contiguous = plain_values(signature, matched_values), True
    for i, parameter in enumerate(signature.positional):
        is_positional = i < len(args) and not signature.deprecated
        if is_positional and matched_values.get(parameter.name) is args:  # f(2, 3), where f((2, 3)) would do
            values.pop(parameter.name)
            positional += args
        elif is_positional or (contiguous and parameter.name in values and parameter.name not in known):
            positional.append(values.pop(parameter.name, None))
        else:
            contiguous = False
    return positional, {name: value for name, value in values.items()
                        if name in known or not (value is None or value is False or str(value) == "torch.strided")}


def plain_values(signature: Signature, found: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with numbers as tensors, 0-d tensors as numbers, and types as dtypes, where the signature asks."""
    kinds = {p.name: p for p in signature.parameters}
    values = dict(found)
    tensors = [v for v in found.values() if isinstance(v, Tensor)]
    for name, value in found.items():
        kind = kinds[name].kind
        if kind == "Tensor" and name == "input" and is_number(value):
            values[name] = as_operand(value, tensors[0] if tensors else found.get("other"))
        elif kind in ("Scalar", "int", "float") and isinstance(value, Tensor):
            values[name] = value.item()
        elif kind == "ScalarType" and value in PYTHONS:
            values[name] = PYTHONS[value]
    return values
