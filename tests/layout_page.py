"""Writes docs/layout.md: by which rule a reader finds the file of a PyTorch name. `python -m tests.layout_page`.

The rule is the text of the page, its table of families is read by `predicted`, and the index is made from the source.
tests/test_layout.py holds each to the others.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections import defaultdict
from pathlib import Path

import minigrad
import minigrad.nn
from minigrad import ops
from tests.links import ROOT
from tests.ops_page import plain

PAGE = ROOT / "docs" / "layout.md"
HEAD = """# Where a PyTorch name is

Two steps lead to the file of a name.

1. **The namespace and the kind give the folder.** `torch.nn.Name` is in `minigrad/nn/modules`, `torch.optim.Name` in
   `minigrad/optim`. A function or a method is in a folder or a file of `minigrad/ops`: `pointwise`, `reduce`,
   `shape`, `index`, `linalg`, `activation`, `nn` (layers and losses as functions), `factory` (new tensors), `random`,
   `special`, or `tensor` (what a tensor is and how it is copied). Real parts and conjugates are in
   `minigrad/compat/complex.py`; what `torch.linalg` and `torch.special` compose from ops is in `minigrad/linalg.py`
   and `minigrad/special.py`.
2. **The name or its family gives the file.** If the folder has a file with the name of the op (`einsum.py`), it is that
   one. Otherwise, it is the file of the family, in the index below: `cos` is with the other functions of one tensor, in
   `pointwise/unary.py`.

An in-place form, `add_`, is in the file of `add`. In the file, `@op` or
`@tensor_method` is above the function; the class of its node has the derivative right under its `forward`. [The
ops](ops.md) lists the nodes of each function.

`python -m tests.layout_page` generates the index; `tests/test_layout.py` checks it against the source.

## Names by file

"""


def source_of(function: object) -> str:
    """The path of the file that defines a function or a class, from minigrad/ on."""
    module = getattr(inspect.unwrap(plain(function)), "__module__", "")
    path = Path(importlib.import_module(module).__file__ or "")
    return path.resolve().relative_to(ROOT).as_posix()


@functools.cache
def files_of_names() -> dict[str, str]:
    """Each public name of PyTorch that minigrad has, as `torch.add` or `Tensor.add_`, with its file in the source."""
    files = {f"torch.{name}": source_of(function) for name, function in ops.FUNCTIONS.items()}
    files |= {f"Tensor.{name}": source_of(method) for name, method in ops.METHODS.items()}
    spaces = {"nn": minigrad.nn, "optim": minigrad.optim, "nn.functional": minigrad.nn.functional,
              "linalg": minigrad.linalg, "special": minigrad.special}
    for space, module in spaces.items():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                files[f"{space}.{name}"] = source_of(value)
    return files


def index() -> dict[str, list[str]]:
    """By file: its names. A method has no entry beside its function, nor a form in place beside the other, if both are
    in one file."""
    files, groups = files_of_names(), defaultdict(list)
    for name, file in files.items():
        space, _, base = name.rpartition(".")
        others = [f"torch.{base}"] if space != "torch" else []
        if base.endswith("_"):
            others += [f"torch.{base[:-1]}", f"{space}.{base[:-1]}"]
        if not any(files.get(other) == file for other in others):
            groups[file].append(name)
    return groups


def page() -> str:
    """The text of the page."""
    rows = [f"| [{file.removeprefix('minigrad/')}](../{file}) | {', '.join(f'`{name}`' for name in sorted(names))} |"
            for file, names in sorted(index().items())]
    return HEAD + "| file in minigrad | names |\n| --- | --- |\n" + "\n".join(rows) + "\n"


def index_on(text: str) -> dict[str, str]:
    """The index of a page: the file of each name."""
    files = {}
    for row in text.splitlines():
        if row.startswith("| [") and row.count(" | ") == 1:
            link, names = row.removeprefix("| ").removesuffix(" |").split(" | ")
            file = link.partition("](../")[2].removesuffix(")")
            files |= {name.strip("`"): file for name in names.split(", ")}
    return files


def predicted(name: str, text: str) -> str | None:
    """The file in which the rule of the page tells a reader to look for a name."""
    files, (space, _, base) = index_on(text), name.rpartition(".")
    out_of_place = base.removesuffix("_")
    same_name = [file for file in sorted(set(files.values())) if file.startswith("minigrad/ops/")
                 and file.endswith((f"/{base}.py", f"/{out_of_place}.py"))]
    for other in (name, f"torch.{base}", f"{space}.{out_of_place}", f"torch.{out_of_place}"):
        if other in files:
            return files[other]
    return same_name[0] if same_name else None


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
