"""Writes `minigrad/ops/_dispatch/signatures.txt`: how PyTorch's functions may be called.

`python -m tests.parity.ops.signatures`.

PyTorch ships the description of its operators, and the program that makes its Python bindings of it: that program is
asked. `test_wrong_types.py` holds the table to what it says.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import minigrad
import minigrad.nn.functional
from minigrad._base.optional import LeftOut
from minigrad.ops._dispatch.signatures import TABLE, Signature

# What is not made by that program; as its errors print it.
BY_HAND = {
    "tensor": ["tensor(Any data, *, ScalarType? dtype=None, Device? device=None, bool pin_memory=False, "
               "bool requires_grad=False)"],
    "as_tensor": ["as_tensor(Any data, *, ScalarType? dtype=None, Device? device=None)"],
    "numel": ["numel(Tensor input)"],
    "Tensor.numpy": ["numpy(*, bool force=False)"],
    "Tensor.size": ["size(int? dim=None)"],
    "Tensor.stride": ["stride(int? dim=None)"],
    "Tensor.item": ["item()"],
    "Tensor.is_contiguous": ["is_contiguous(*, MemoryFormat memory_format=None)"],
    "Tensor.contiguous": ["contiguous(*, MemoryFormat memory_format=None)"],
    "Tensor.new_tensor": ["new_tensor(Any data, *, ScalarType? dtype=None, Device? device=None, "
                          "bool requires_grad=False)"],
    "Tensor.copy_": ["copy_(Tensor other, bool non_blocking=False)",
                     "copy_(Tensor other, bool async=False) (deprecated)"],
}
SPELLED = ((r"c10::List<::std::optional<Tensor>>", "Tensor[]"),  # the parser takes no None in them
           (r"\bc10::string_view\b", "str"), (r"\b(?:SymIntArrayRef|IntArrayRef)\b(\[\d+\])?", r"int\1[]"),
           (r"\b(?:int64_t|SymInt)\b", "int"), (r"\bdouble\b", "float"), (r"\bTensorList\b(\[\d+\])?", r"Tensor\1[]"),
           (r"\bArrayRef<double>(\[\d+\])?", r"float\1[]"), (r"\bArrayRef<Scalar>(\[\d+\])?", r"Scalar\1[]"),
           (r"(\[\d+\])\[\]", r"\1"), (r"\(\*\)", "()"), (r", \*\)", ")"))


def generator() -> Any:
    """PyTorch's program, as it lies beside `torch`."""
    torchgen = importlib.import_module("torchgen")
    packaged = Path(torchgen.__file__).parent / "packaged"
    sys.path.append(str(packaged))
    return packaged, importlib.import_module("autograd.gen_python_functions")


def overloads() -> Iterator[tuple[str, list[str]]]:
    """Every function, and every method as `Tensor.name`, with its signatures in the order in which they are tried."""
    packaged, made = generator()
    native = packaged / "ATen" / "native"
    parsed = importlib.import_module("torchgen.gen").parse_native_yaml(
        native / "native_functions.yaml", native / "tags.yaml").native_functions
    bound = [f for f in parsed if made.should_generate_py_binding(f)]
    kinds: dict[str, Callable[[Any], bool]] = {
        "": lambda f: not made.is_py_variable_method(f) or made.is_py_torch_function(f), "Tensor.":
        made.is_py_variable_method}
    for prefix, wanted in kinds.items():
        table = defaultdict(list)
        for pair in made.load_signatures(bound, packaged / "autograd" / "deprecated.yaml", method=bool(prefix)):
            if wanted(pair.function):
                table[str(pair.function.func.name.name)].append(pair)
        for name, pairs in table.items():
            grouped = [group.signature for group in made.group_overloads(pairs, symint=True)]
            spelled = [respelled(s.signature_str(symint=True)) + " (deprecated)" * s.deprecated for s in grouped]
            yield prefix + name, sorted(spelled, key=lambda s: s.endswith("(deprecated)"))


def respelled(text: str) -> str:
    """A signature with the types as `native_functions.yaml` spells them."""
    text = text.removesuffix("|deprecated")
    for pattern, new in SPELLED:
        text = re.sub(pattern, new, text)
    return text


def places(lib: ModuleType) -> Iterator[tuple[str, str, Any]]:
    """Everything public that is called: where it lies, its name, itself."""
    for place in ("", "Tensor", "nn.functional", "linalg", "special", "fft"):
        owner = functools.reduce(lambda owner, name: getattr(owner, name, None), filter(None, place.split(".")), lib)
        for name in dir(owner):
            each = getattr(owner, name)
            if not name.startswith("_") and not (isinstance(each, type) and issubclass(each, LeftOut)):
                yield place, name, each


def names() -> set[str]:
    """What minigrad has and PyTorch has in C++: functions that are written in Python have Python's errors."""
    ours = {(place, name) for place, name, _ in places(minigrad)}
    methods = {f"Tensor.{name}" for place, name, each in places(torch)
               if place == "Tensor" and isinstance(each, types.MethodDescriptorType) and (place, name) in ours}
    return methods | {each.__name__ for place, name, each in places(torch)
                      if isinstance(each, types.BuiltinFunctionType) and (place, name) in ours}


def lines() -> Iterator[str]:
    """The table."""
    wanted, found = names(), dict(overloads()) | BY_HAND
    for name in sorted(found):
        if name not in wanted or (name.startswith("Tensor.") and is_derived(name, found)):
            continue
        prefix = "Tensor." * name.startswith("Tensor.")
        yield from [prefix + each for each in found[name]]


def is_derived(method: str, found: dict[str, list[str]]) -> bool:
    """Whether a method's signatures follow from the function's, or from those of the method that is not in place."""
    name = method.removeprefix("Tensor.")
    source = found.get(f"Tensor.{name[:-1]}") if name.endswith("_") else found.get(name)
    if source is None:
        return False
    follow = [Signature.read(each) for each in source]
    follow = follow if name.endswith("_") else [s.as_method(name) for s in follow]
    own = [Signature.read(each) for each in found[method]]
    return [(str(s), s.deprecated) for s in follow] == [(str(s), s.deprecated) for s in own]


def table() -> str:
    """The text of the file."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    Path(TABLE).write_text(table(), encoding="utf-8")
