"""Ops by name: `torch.ops.aten.mm.default` is the op that `torch.mm` ends in. Mirrors `torch/_ops.py`.

A mode (`minigrad.utils._python_dispatch`) sees each op as an `OpOverload`, and a checkpointing policy decides on one.
Where PyTorch has several of one name, `aten.add.Tensor` and `aten.add.Scalar`, these are one op here and compare
equal. What PyTorch composes of other ops (`aten.matmul`) is not an op here either; nor is an op without a derivative,
which has no node. `overloads.txt` lists the names; an op that PyTorch lacks is called `minigrad.lstm_layer.default`.
"""

import functools
import os
from collections.abc import Callable
from typing import Any

from minigrad.core import Node
from minigrad.ops._dispatch.op_wrappers import op_nodes
from minigrad.trace.format import op_name

TABLE = os.path.join(os.path.dirname(__file__), "overloads.txt")


class OpOverload:
    """One op. Calling it runs the op's `forward` on the arguments; two overloads of one name are equal."""

    __slots__ = ("_forward", "_overloadname", "_packet")

    def __init__(self, packet: str, overload: str, forward: Callable[..., Any]) -> None:
        self._packet, self._overloadname, self._forward = packet, overload, forward

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._forward(*args, **options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpOverload) and self._packet == other._packet

    def __hash__(self) -> int:
        return hash(self._packet)

    def __str__(self) -> str:
        return f"{self._packet}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def name(self) -> str:
        """The name as PyTorch's dispatcher writes it: `aten::mm`, `aten::add.Tensor`."""
        end = "" if self._overloadname == "default" else f".{self._overloadname}"
        return self._packet.replace(".", "::") + end


class OpOverloadPacket:
    """The overloads of one name, as attributes: `aten.add` has `Tensor` and `Scalar`."""

    def __init__(self, word: str, name: str, overloads: list[str]) -> None:
        self._word, self._name, self._overloads = word, f"aten.{name}", overloads
        for each in overloads:
            setattr(self, each, OpOverload(self._name, each, functools.partial(by_word, word)))

    def __call__(self, *args: Any, **options: Any) -> Any:
        return by_word(self._word, *args, **options)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._name}')>"

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return list(self._overloads)


@functools.cache
def packets() -> dict[str, OpOverloadPacket]:
    """The table, by the word in an op's nodes."""
    with open(TABLE, encoding="utf-8") as file:
        rows = [row.split() for row in file.read().splitlines()]
    return {word: OpOverloadPacket(word, name, overloads) for word, name, *overloads in rows}


class Namespace:
    """`torch.ops.aten`: packets as attributes. The table is read on first access."""

    def __getattr__(self, name: str) -> Any:
        packet = next((each for each in packets().values() if each._name == f"aten.{name}"), None)
        if packet is None:
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        setattr(self, name, packet)
        return packet


@functools.cache
def class_of(word: str) -> Any:
    """The class whose nodes have this word in their names; of several, the first with a forward."""
    return next(each for each in op_nodes() if each.op == word and hasattr(each, "forward"))


def by_word(word: str, *args: Any, **options: Any) -> Any:
    """Run the op whose nodes have this word in their names."""
    return class_of(word).forward(*args, **options)


def of_class(cls: type[Node], forward: Callable[..., Any]) -> OpOverload:
    """The op of a class of nodes; calling it runs `forward`. It is the one in `torch.ops` if that runs this class."""
    packet = packets().get(cls.op)
    if packet is None:
        return OpOverload(f"minigrad.{op_name(cls.op)}", "default", forward)
    if cls is class_of(cls.op):
        overload: OpOverload = getattr(packet, packet._overloads[0])
        return overload
    return OpOverload(packet._name, packet._overloads[0], forward)


aten = Namespace()
