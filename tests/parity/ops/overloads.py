"""Writes `minigrad/ops/_dispatch/overloads.txt`: what PyTorch calls the ops of minigrad.

`python -m tests.parity.ops.overloads`.

A row is the word in an op's node, the op's name, and its overloads, the one that is printed first. The names are
PyTorch's own: of its ops those whose name gives the node's word, and which are not put together of others.
`test_selective_checkpoint.py` holds the table to what this says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import torch

import minigrad.nn.functional  # it loads the ops that no function of `minigrad` uses
from minigrad.core.graph import Node
from minigrad.ops._dispatch.elementwise import BackwardOf
from minigrad.ops._dispatch.overloads import TABLE

FIRST = ("default", "Tensor")


def classes(cls: type[Node] = Node) -> Iterator[type[Node]]:
    """All kinds of nodes but those of `backward_of`, which are made when a recorded pass first needs them."""
    for each in cls.__subclasses__():
        if each is not BackwardOf:
            yield each
            yield from classes(each)


def word(name: str) -> str:
    """The word in the node of an op: LogSoftmax for _log_softmax."""
    joined = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return re.sub(r"(?<=\d)[a-z]", lambda found: found.group().upper(), joined)


def written() -> str:
    """The table."""
    assert minigrad.nn.functional
    words = {cls.op for cls in classes() if cls.op and cls.__module__.startswith("minigrad.ops.")}
    found: dict[str, dict[str, list[str]]] = {each: {} for each in words}
    for full in torch._C._dispatch_get_all_op_names():
        space, _, rest = full.partition("::")
        name, _, overload = rest.partition(".")
        together = torch._C._dispatch_has_kernel_for_dispatch_key(full, "CompositeImplicitAutograd")
        if space == "aten" and not name.endswith("_") and not together and word(name) in words:
            if not any(x.is_out for x in torch._C._get_schema(f"aten::{name}", overload).arguments):
                found[word(name)].setdefault(name, []).append(overload or "default")
    rows = []
    for each, names in sorted(found.items()):
        if names:
            name = min(names, key=len)
            overloads = sorted(names[name], key=lambda o: (FIRST.index(o) if o in FIRST else len(FIRST), o))
            rows.append(" ".join((each, name, *overloads)))
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    Path(TABLE).write_text(written(), encoding="utf-8")
