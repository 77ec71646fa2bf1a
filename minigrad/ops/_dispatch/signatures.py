"""PyTorch's signatures, and whether arguments fit them: mirrors `python_arg_parser.cpp`.

`signatures.txt` holds them in the notation of PyTorch's `native_functions.yaml`, for instance
`sum(Tensor input, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)`: `int[1]?` is a list of ints or one
int, or None. Nothing here is read before a call fails (see arg_parser.py); a reader finds here why a call was refused.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from minigrad._base.device import device as device_type
from minigrad._base.device import layout as layout_type
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.type_name import type_name
from minigrad.core import Tensor

TABLE = os.path.join(os.path.dirname(__file__), "signatures.txt")
PARAMETER = (r"(?P<kind>\w+)(?P<holes>\?(?=\[))?(?P<many>\[(?P<size>\d*)\])?(?P<none>\?)? (?P<name>\w+)"
             r"(?:=(?P<default>.+))?$")
ALIASES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}  # NumPy's names
# Functions of tensors that take Python's numbers in their place.
NUMBERS_TOO = {"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "copy"}
PRINTED = {"Scalar": "Number", "ScalarType": "torch.dtype", "Layout": "torch.layout", "Device": "torch.device",
           "Generator": "torch.Generator", "MemoryFormat": "torch.memory_format", "Any": "object"}


class Misfit(Exception):
    """Why arguments do not fit a signature: PyTorch's sentence."""


class Parameter:
    """One parameter of a signature."""

    __slots__ = ("default", "holes", "keyword", "kind", "many", "name", "none", "size")

    def __init__(self, text: str, keyword: bool) -> None:
        found = re.match(PARAMETER, text)
        if found is None:
            raise ValueError(f"{text} is no parameter")
        self.kind, self.name, self.default = found["kind"], found["name"], found["default"]
        self.many, self.size = found["many"] is not None, found["size"]
        self.keyword, self.none = keyword, found["none"] is not None or self.default == "None"
        self.holes = found["holes"] is not None  # a list in which None may stand

    @property
    def type(self) -> str:
        """The type as PyTorch prints it."""
        printed = PRINTED.get(self.kind, self.kind)
        return f"tuple of {printed}s" if self.many else printed

    def __str__(self) -> str:
        return f"{self.type} {self.name}" + ("" if self.default is None else f" = {self.default}")

    def takes(self, value: Any, numbers: bool) -> bool:
        """Whether a value is of this type; of a list the first element speaks for the others."""
        if not self.many:
            return (numbers and self.kind == "Tensor" and is_number(value)) or is_one(self.kind, value)
        if self.size and self.kind == "int" and is_one("int", value):
            return True
        if not isinstance(value, (tuple, list)):
            return False
        return not value or self.kind == "Tensor" or is_one(self.kind, value[0])


class Signature:
    """One way to call a function."""

    __slots__ = ("deprecated", "function", "parameters")

    def __init__(self, function: str, parameters: list[Parameter], deprecated: bool = False) -> None:
        self.function, self.parameters, self.deprecated = function, parameters, deprecated

    @classmethod
    def read(cls, text: str) -> Signature:
        """From PyTorch's notation; one that PyTorch advises against ends in `(deprecated)`."""
        now = text.removesuffix(" (deprecated)")
        function, _, inside = now.removesuffix(")").partition("(")
        parts = inside.split(", ") if inside else []
        star = parts.index("*") if "*" in parts else len(parts)
        parameters = [Parameter(each, i > star) for i, each in enumerate(parts) if i != star]
        return cls(function, parameters, now != text)

    def as_method(self, name: str) -> Signature:
        """That of the method, which has its first tensor before the dot and takes no `out`."""
        return Signature(name, [p for p in self.parameters[1:] if p.name != "out"], self.deprecated)

    @property
    def positional(self) -> list[Parameter]:
        """The parameters that may be given without a name."""
        return [p for p in self.parameters if not p.keyword]

    @property
    def shown(self) -> list[str]:
        """The parameters as PyTorch prints them, with the star."""
        texts = [str(p) for p in self.parameters]
        count = len(self.positional)
        return texts if count == len(texts) else [*texts[:count], "*", *texts[count:]]

    def __str__(self) -> str:
        return f"({', '.join(self.shown)})"

    def could_take(self, count: int) -> bool:
        """Whether it takes this number of arguments at all."""
        return len([p for p in self.parameters if p.default is None]) <= count <= len(self.parameters)

    def match(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by the names of the parameters; what was left out, or is None where it may be, is missing.

        Raises:
            Misfit: PyTorch's sentence, if they do not fit.
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
                check_tensors(parameter, value, i)
            values[parameter.name] = value
        if remaining:
            raise self.unexpected(next(iter(remaining)), len(args))
        self.check_ints(values)
        return values

    def check_ints(self, values: Mapping[str, Any]) -> None:
        """A TypeError for lists of ints of which only the first element is one."""
        for parameter in self.parameters:
            value = values.get(parameter.name)
            if parameter.many and parameter.kind == "int" and isinstance(value, (tuple, list)):
                for i, each in enumerate(value):
                    if not is_one("int", each):
                        raise TypeError(f"{self.function}(): argument '{parameter.name}' failed to unpack the object "
                                        f"at pos {i + 1} with error \"type must be {parameter.type},but got "
                                        f"{printed_type(each)}\"")

    def missing(self, index: int) -> Misfit:
        """For parameters that cannot be left out, from this one on."""
        names = [f'"{p.name}"' for p in self.parameters[index:] if p.default is None]
        arguments = "arguments" if len(names) == 1 else "argument"  # as PyTorch has it
        return Misfit(f"{self.function}() missing {len(names)} required positional {arguments}: {', '.join(names)}")

    def too_many(self, count: int) -> Misfit:
        """For too many positional arguments."""
        most = len(self.positional)
        least = len([p for p in self.parameters if p.default is None])  # also of keywords, as in PyTorch
        if least != most:
            return Misfit(f"{self.function}() takes from {least} to {most} positional arguments but {count} were given")
        return Misfit(f"{self.function}() takes {most} positional argument{'' if most == 1 else 's'} but {count} "
                      f"{'was' if count == 1 else 'were'} given")

    def wrong(self, parameter: Parameter, value: Any, position: str) -> Misfit:
        """For an argument of the wrong type."""
        argument = f"{self.function}(): argument '{parameter.name}'{position} must be {parameter.type}"
        if parameter.many and parameter.kind == "int" and isinstance(value, (tuple, list)):
            return Misfit(f"{argument}, but found element of type {printed_type(value[0])} at pos 0")
        return Misfit(f"{argument}, not {printed_type(value)}")

    def unexpected(self, name: str, count: int) -> Misfit:
        """For a keyword that is none, or that was given by its place."""
        if name in [p.name for p in self.parameters[:count]]:
            return Misfit(f"{self.function}() got multiple values for argument '{name}'")
        return Misfit(f"{self.function}() got an unexpected keyword argument '{name}'")


def check_tensors(parameter: Parameter, value: Any, place: int) -> None:
    """A TypeError for a list of tensors with something else in it: then no other signature is tried."""
    for i, each in enumerate(value):
        if not isinstance(each, Tensor) and not (parameter.holes and each is None):
            raise TypeError(f"expected Tensor as element {i} in argument {place}, but got {printed_type(each)}")


def is_number(value: Any) -> bool:
    """Python's numbers and NumPy's."""
    return isinstance(value, (int, float, complex, np.number, np.bool_))


def is_one(kind: str, value: Any) -> bool:
    """Whether a value is one of this kind."""
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
    """The lines of the table."""
    with open(TABLE, encoding="utf-8") as file:
        return file.read().splitlines()


@functools.cache
def signatures_of(name: str, method: bool) -> tuple[Signature, ...]:
    """The ways to call a function or a method; none where PyTorch has none in C++.

    The table has those of methods only where they are not the function's (`Signature.as_method`), or those of the
    method that is not in place.
    """
    written = [line for line in table() if line.startswith(f"{'Tensor.' if method else ''}{name}(")]
    if written or not method:
        return tuple([Signature.read(line.removeprefix("Tensor.")) for line in written])
    if name.endswith("_"):
        return tuple([Signature(name, s.parameters, s.deprecated) for s in signatures_of(name[:-1], True)])
    return tuple([s.as_method(name) for s in signatures_of(name, False)])
