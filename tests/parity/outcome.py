"""What a program comes to under a library: its values, or its error, and its warnings. Two libraries are alike where
these are equal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

Program = Callable[[ModuleType], Any]


def plain(value: Any) -> Any:
    """A result without anything of the library in it: tensors as numbers and flags, nodes as names."""
    if hasattr(value, "grad_fn") and hasattr(value, "tolist"):
        values = value.detach().tolist()
        maker = None if value.grad_fn is None else value.grad_fn.name()
        return ("tensor", str(value.dtype).split(".")[-1], rounded(values), value.requires_grad, maker)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *map(plain, value)]
    if hasattr(value, "next_functions"):
        return value.name()
    return rounded(value)


def rounded(value: Any) -> Any:
    """Numbers to six digits, since the libraries may round differently."""
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def sentence(text: str) -> str:
    """The first sentence of an error or a warning, without places in PyTorch's own source and without what we add."""
    text = text.split("\n\n")[0].split(" (Triggered")[0].split("\nException raised")[0]
    return text.replace("torch.", "").replace("minigrad.", "")


def tried(program: Program, lib: ModuleType) -> tuple[Any, list[warnings.WarningMessage]]:
    """What a program returns, or the error that it raises; and all warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return program(lib), caught
        except NameError:  # a slip in the program, which would be equal on both sides
            raise
        except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
            return error.with_traceback(None), caught  # its frames would keep tensors alive


def outcome(program: Program, lib: ModuleType) -> tuple[Any, list[tuple[str, str]]]:
    """What a program returns, or its error; and its warnings."""
    result, caught = tried(lambda m: plain(program(m)), lib)
    if isinstance(result, Exception):
        result = (type(result).__name__, sentence(str(result)))
    return result, [(each.category.__name__, sentence(str(each.message))) for each in caught]


class Programs(dict[str, Program]):
    """A table of programs by name; `@programs` adds a function that is longer than a line."""

    def __call__(self, program: Program) -> Program:
        name = program.__name__.replace("_", " ")
        assert name not in self, name
        self[name] = program
        return program
