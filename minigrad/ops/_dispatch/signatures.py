"""Matches arguments with PyTorch's signatures, and words the error if none fits, as `python_arg_parser.cpp` and
`invalid_arguments.cpp` do.

`signatures.txt` holds the signatures in the notation of PyTorch's `native_functions.yaml`, for instance
`sum(Tensor input, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)`: `int[1]?` is a list of ints or one
int, or None. Nothing here is read before a call fails (see arg_parser.py).

If exactly one signature takes that many arguments, the error is specific to it (`Signature.match`). Otherwise the
error lists all signatures, and for each of suitable length the arguments that do not fit.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.device import device as device_type
from minigrad._base.device import layout as layout_type
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.type_name import type_name
from minigrad.core import Tensor

TABLE = os.path.join(os.path.dirname(__file__), "signatures.txt")
PARAMETER = r"(?P<kind>\w+)(?P<many>\[(?P<size>\d*)\])?(?P<none>\?)? (?P<name>\w+)(?:=(?P<default>.+))?$"
ALIASES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}  # NumPy's names
# Functions of tensors that also accept Python numbers.
NUMBERS_TOO = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "copy"}
PRINTED = {"Scalar": "Number", "ScalarType": "torch.dtype", "Layout": "torch.layout", "Device": "torch.device",
           "Generator": "torch.Generator", "MemoryFormat": "torch.memory_format", "Any": "object"}
MATCHING = {"float": ("float", "int"), "int": ("int",)}
Options = Mapping[str, Any]


class Misfit(Exception):
    """Why arguments do not fit a signature: PyTorch's sentence."""


class Parameter:
    """One parameter of a signature."""

    def __init__(self, text: str, keyword: bool) -> None:
        match = next(re.finditer(PARAMETER, text))
        self.kind, self.name, self.default = match["kind"], match["name"], match["default"]
        self.many, self.size = match["many"] is not None, match["size"]
        self.keyword, self.none = keyword, match["none"] is not None or self.default == "None"

    @property
    def type(self) -> str:
        """The type as PyTorch prints it."""
        printed = PRINTED.get(self.kind, self.kind)
        return f"tuple of {printed}s" if self.many else printed

    def __str__(self) -> str:
        return f"{self.type} {self.name}" + ("" if self.default is None else f" = {self.default}")

    def takes(self, value: Any, numbers: bool) -> bool:
        """Whether a value is of this type; a list is judged by its first element."""
        if not self.many:
            return (numbers and self.kind == "Tensor" and is_number(value)) or is_one(self.kind, value)
        if self.size and self.kind == "int" and is_one("int", value):
            return True
        if not isinstance(value, (tuple, list)):
            return False
        return not value or self.kind == "Tensor" or is_one(self.kind, value[0])


class Signature(NamedTuple):
    """One way to call a function."""

    function: str
    parameters: list[Parameter]
    deprecated: bool = False

    @classmethod
    def read(cls, text: str) -> Signature:
        """Parse PyTorch's notation; a deprecated signature ends in `(deprecated)`."""
        now = text.removesuffix(" (deprecated)")
        function, _, inside = now.removesuffix(")").partition("(")
        parts = inside.split(", ") if inside else []
        star = parts.index("*") if "*" in parts else len(parts)
        parameters = [Parameter(part, i > star) for i, part in enumerate(parts) if i != star]
        return cls(function, parameters, now != text)

    def as_method(self, name: str) -> Signature:
        """The signature of the method: the first tensor is `self`, and there is no `out`."""
        return Signature(name, [p for p in self.parameters[1:] if p.name != "out"], self.deprecated)

    @property
    def positional(self) -> list[Parameter]:
        """The parameters that may be passed by position."""
        return [p for p in self.parameters if not p.keyword]

    @property
    def parameter_texts(self) -> list[str]:
        """The parameters as PyTorch prints them, with the star."""
        texts = [str(p) for p in self.parameters]
        count = len(self.positional)
        return texts if count == len(texts) else [*texts[:count], "*", *texts[count:]]

    def __str__(self) -> str:
        return f"({', '.join(self.parameter_texts)})"

    @property
    def least(self) -> int:
        """The number of required arguments, including keyword-only ones."""
        return len([p for p in self.parameters if p.default is None])

    def match(self, args: tuple[Any, ...], options: Options) -> dict[str, Any]:
        """The arguments by parameter name; those left out, or None where that is allowed, are missing.

        Raises:
            Misfit: with PyTorch's message, if they do not fit.
            TypeError: the same, for lists of which only the first element fits.
        """
        positional, remaining, values = self.positional, dict(options), {}
        numbers = self.function.removesuffix("_") in NUMBERS_TOO
        # `f(2, 3)` is `f((2, 3))`
        sizes = len(positional) == 1 and positional[0].kind == "int" and positional[0].many and not positional[0].size
        if len(args) > len(positional) and not sizes:
            raise self.too_many(len(args))
        for i, parameter in enumerate(self.parameters):
            if i < len(args) and not parameter.keyword:
                value, position = args[i], f" (position {i + 1})"
            else:
                name = next((n for n in (parameter.name, *ALIASES.get(parameter.name, ())) if n in remaining), None)
                if name is None:
                    if parameter.default is None:
                        raise self.missing(i)
                    continue
                value, position = remaining.pop(name), ""
            if value is None and parameter.none:
                continue
            if sizes and i == 0 and position and is_one("int", value):
                value = args
            elif i == 0 and len(args) > len(positional):
                raise self.too_many(len(args))
            elif not parameter.takes(value, numbers):
                raise self.wrong(parameter, value, position)
            if parameter.many and parameter.kind == "Tensor":
                check_tensors(value, i)
            values[parameter.name] = value
        if remaining:
            raise self.unexpected(next(iter(remaining)), len(args))
        self.check_ints(values)
        return values

    def check_ints(self, values: Mapping[str, Any]) -> None:
        """Raise a TypeError for lists of ints of which only the first element is one."""
        for parameter in self.parameters:
            value = values.get(parameter.name)
            if parameter.many and parameter.kind == "int" and isinstance(value, (tuple, list)):
                for i, element in enumerate(value):
                    if not is_one("int", element):
                        raise TypeError(f"{self.function}(): argument '{parameter.name}' failed to unpack the object "
                                        f"at pos {i + 1} with error \"type must be {parameter.type},but got "
                                        f"{printed_type(element)}\"")

    def missing(self, index: int) -> Misfit:
        """The error for missing required parameters, from this one on."""
        names = [f'"{p.name}"' for p in self.parameters[index:] if p.default is None]
        arguments = "arguments" if len(names) == 1 else "argument"  # as in PyTorch
        return Misfit(f"{self.function}() missing {len(names)} required positional {arguments}: {', '.join(names)}")

    def too_many(self, count: int) -> Misfit:
        """The error for too many positional arguments."""
        most = len(self.positional)
        if self.least != most:  # which counts keywords too, as in PyTorch
            return Misfit(f"{self.function}() takes from {self.least} to {most} positional arguments but {count} were "
                          "given")
        return Misfit(f"{self.function}() takes {most} positional argument{'' if most == 1 else 's'} but {count} "
                      f"{'was' if count == 1 else 'were'} given")

    def wrong(self, parameter: Parameter, value: Any, position: str) -> Misfit:
        """The error for an argument of the wrong type."""
        argument = f"{self.function}(): argument '{parameter.name}'{position} must be {parameter.type}"
        if parameter.many and parameter.kind == "int" and isinstance(value, (tuple, list)):
            return Misfit(f"{argument}, but found element of type {printed_type(value[0])} at pos 0")
        return Misfit(f"{argument}, not {printed_type(value)}")

    def unexpected(self, name: str, count: int) -> Misfit:
        """The error for an unknown keyword, or one that was also passed by position."""
        if name in [p.name for p in self.parameters[:count]]:
            return Misfit(f"{self.function}() got multiple values for argument '{name}'")
        return Misfit(f"{self.function}() got an unexpected keyword argument '{name}'")


def check_tensors(value: Any, index: int) -> None:
    """Raise a TypeError for a list of tensors with something else in it: then no other signature is tried."""
    for i, element in enumerate(value):
        if not isinstance(element, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument {index}, but got {printed_type(element)}")


def is_number(value: Any) -> bool:
    """Whether a value is a Python or NumPy number."""
    return isinstance(value, (int, float, complex, np.number, np.bool_))


def is_one(kind: str, value: Any) -> bool:
    """Whether a value is of this kind."""
    if isinstance(value, Tensor) and kind in ("int", "float", "Scalar"):
        plain = not value.requires_grad and value.array.ndim == 0
        return plain and (kind != "int" or value.array.dtype.kind in "iu")
    test = TESTS.get(kind)
    return True if test is None else test(value)


TESTS: dict[str, Any] = {
    "Tensor": lambda v: isinstance(v, Tensor),
    "Scalar": is_number,
    "int": lambda v: isinstance(v, (int, np.integer)) and not isinstance(v, bool),
    "float": lambda v: is_number(v) and not isinstance(v, complex),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "ScalarType": lambda v: isinstance(v, dtype_type) or any(v is each for each in (bool, int, float, complex)),
    "Layout": lambda v: isinstance(v, layout_type),
    "Device": lambda v: isinstance(v, (str, int, device_type)) and not isinstance(v, bool),
    "Generator": lambda v: hasattr(v, "initial_seed"),
    "MemoryFormat": lambda v: type(v).__name__ == "memory_format",
}


def printed_type(value: Any) -> str:
    """The name of a value's type in PyTorch's errors about signatures."""
    for ours, theirs in ((dtype_type, "torch.dtype"), (device_type, "torch.device"), (layout_type, "torch.layout")):
        if isinstance(value, ours):
            return theirs
    name = type_name(value)
    return {"Size": "torch.Size", "Generator": "torch._C.Generator"}.get(name, name)


@functools.cache
def table() -> list[str]:
    """The lines of `signatures.txt`."""
    with open(TABLE, encoding="utf-8") as file:
        return file.read().splitlines()


@functools.cache
def signatures_of(name: str, method: bool) -> tuple[Signature, ...]:
    """The signatures of a function or a method; none where PyTorch has none in C++.

    The table lists those of a method only if they differ from the function's (`Signature.as_method`); an in-place
    method uses those of the method out of place.
    """
    written = [line for line in table() if line.startswith(f"{'Tensor.' if method else ''}{name}(")]
    if written or not method:
        return tuple([Signature.read(line.removeprefix("Tensor.")) for line in written])
    if name.endswith("_"):
        return tuple([s._replace(function=name) for s in signatures_of(name[:-1], True)])
    return tuple([s.as_method(name) for s in signatures_of(name, False)])


def matched(signatures: Sequence[Signature], args: tuple[Any, ...],
            options: Options) -> tuple[Signature, dict[str, Any]]:
    """The first signature that the arguments fit, and the arguments by its names. Raises PyTorch's TypeError if they
    fit none."""
    try:
        for signature in signatures:
            try:
                return signature, signature.match(args, options)
            except Misfit:
                if len(signatures) == 1:
                    raise
        count = len(args) + len(options)
        plausible = [s for s in signatures if s.least <= count <= len(s.parameters) and not s.deprecated]
        if len(plausible) == 1:
            plausible[0].match(args, options)
    except Misfit as misfit:
        raise TypeError(str(misfit)) from None
    raise TypeError(refusal([s for s in signatures if not s.deprecated], args, options))


def refusal(signatures: Sequence[Signature], args: tuple[Any, ...], options: Options) -> str:
    """PyTorch's message that shows all signatures."""
    start = f"{signatures[0].function}() received an invalid combination of arguments - got "
    types = [*map(printed_type, args), *[f"{name}={printed_type(value)}" for name, value in options.items()]]
    got = parenthesized(types, args, options)
    if len(signatures) > 1:
        lines = [f" * {signature}\n{why_not(signature, args, options)}" for signature in signatures]
        return f"{start}{got}, but expected one of:\n{''.join(lines)}"
    unknown = [name for name in options if name not in names_of(signatures[0])]
    if unknown:
        return f"{start}unrecognized keyword arguments: {', '.join(unknown)}"
    return f"{start}{compared(signatures[0], args, options) or got}, but expected {signatures[0]}"


def parenthesized(types: list[str], args: tuple[Any, ...], options: Options) -> str:
    """The types of arguments, separated by commas; after keywords alone PyTorch prints one comma too many."""
    return f"({', '.join(types)}{', ' if options and not args else ''})"


def names_of(signature: Signature) -> list[str]:
    """The last word of each shown parameter; as in PyTorch, that is not the name if the parameter has a default."""
    return [parameter.rpartition(" ")[2] for parameter in signature.parameter_texts or [""]]


def why_not(signature: Signature, args: tuple[Any, ...], options: Options) -> str:
    """What is wrong with the arguments, where a signature shows as many parameters."""
    names = names_of(signature)
    if len(names) != len(args) + len(options):
        return ""
    wrong = [name for name in options if name not in names[len(names) - len(options):]]
    if wrong:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(wrong)}\n"
    types = compared(signature, args, options)
    return f"      didn't match because some of the arguments have invalid types: {types}\n"


def compared(signature: Signature, args: tuple[Any, ...], options: Options) -> str:
    """The arguments' types, between exclamation marks where a type differs from the parameter's."""
    shown, names = signature.parameter_texts or [""], names_of(signature)
    if len(shown) != len(args) + len(options) or set(options) - set(names):
        return ""
    arguments = [("", v) for v in args] + [(f"{name}=", options[name]) for name in names[len(args):]]
    types = []
    for parameter, (name, value) in zip(shown, arguments, strict=True):
        expected, actual = parameter.rpartition(" ")[0], name + nested_type(value)
        types.append(actual if printed_type(value) in MATCHING.get(expected, (expected,)) else f"!{actual}!")
    return parenthesized(types, args, options)


def nested_type(value: Any) -> str:
    """The type of a value; for lists and tuples with the types of their elements."""
    if not isinstance(value, (tuple, list)):
        return printed_type(value)
    inside = ", ".join(map(printed_type, value))
    if isinstance(value, list):
        return f"{printed_type(value)} of [{inside}]"
    return f"{printed_type(value)} of ({inside}{',' if len(value) == 1 else ''})"
