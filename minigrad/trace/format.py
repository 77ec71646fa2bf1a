"""Writes numbers, values and the names of tensors and nodes, the same in all texts.

`frontend/src/trace/format.ts` does the same in the browser. Nothing here differs between two runs of one program, so
that the outputs of lessons can be compared.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any

__all__ = ["Data", "Maybe", "Names", "brief", "broken", "few", "inline", "listed", "memory_text", "number",
           "op_name", "piled", "shape_text", "tensor_text"]

Data = dict[str, Any]  # a trace or one of its records, as `Trace.to_dict` gives it
Maybe = int | None
Value = Mapping[str, Any]  # a preview
SHORT = 6  # how many entries of an operand are listed
LISTED = 8
# Where a word begins in the name of an op: in MaxPool2DWithIndices before With, in SmoothL1Loss before Loss, in Deg2Rad
# nowhere. GridSampler2D is the only one that PyTorch writes with _2d.
WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z][0-9])(?=[A-Z][a-z])|(?<=Sampler)(?=[23]D)")


def listed(texts: Sequence[str], limit: int = LISTED, empty: str = "nothing") -> str:
    """Return texts as a list; of a long one the first, and how many more there are."""
    more = [f"and {len(texts) - limit} more"] if len(texts) > limit else []
    return ", ".join([*texts[:limit], *more]) or empty


@functools.cache
def op_name(name: str) -> str:
    """Return the name of an op as that of its function: `log_softmax` for LogSoftmax, `smooth_l1_loss` for
    SmoothL1Loss."""
    return WORDS.sub("_", name).lower()


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as it is written on a node."""
    return f"[{', '.join(map(str, shape))}]" if shape else "scalar"


def number(entry: Any, dtype: str = "float32") -> str:
    """Return one number, with at most four decimals and six digits, and a point after a whole float.

    float32 has about seven digits, of which the last differs from machine to machine.
    """
    if entry is None:
        return "none"
    if isinstance(entry, str):
        return entry if entry == "nan" or entry.endswith("inf") else f"'{entry}'"
    if isinstance(entry, bool) or not any(kind in dtype for kind in ("float", "complex")):
        return str(entry)
    size = abs(entry)
    if float(entry).is_integer() and size < 1e7:
        return f"{int(entry)}."
    if size >= 1e5 or size < 1e-3:
        digits, exponent = f"{entry:.2e}".split("e")
        return f"{digits}e{int(exponent)}"
    places = 4 - sum(size >= limit for limit in (1e2, 1e3, 1e4))
    return repr(float(f"{entry:.{places}f}")).removesuffix(".0")


def _nested(texts: Sequence[str], shape: Sequence[int], indent: int) -> str:
    if not shape:
        return texts[0] if texts else ""
    first, *rest = shape
    step = 1
    for size in rest:
        step *= size
    rows = [_nested(texts[at * step:(at + 1) * step], rest, indent + 1) for at in range(first)]
    gap = "," + "\n" * len(rest) + " " * (indent + 1) if rest else ", "
    return f"[{gap.join(rows)}]"


def _statistics(stats: Value) -> str:
    parts = [f"{key} {number(stats[key])}" for key in ("min", "max", "mean", "norm") if stats[key] is not None]
    parts += [f"{stats[key]} {key}" for key in ("nan", "inf") if stats[key]]
    return ", ".join(parts) or "values not kept"


def tensor_text(value: Value | None) -> str:
    """Return a value roughly as PyTorch prints a tensor; a large one by its statistics."""
    if value is None:
        return "None"
    if "data" not in value:
        return f"tensor of {shape_text(value['shape'])}: {_statistics(value['stats'])}"
    texts = [number(entry, value["dtype"]) for entry in value["data"]]
    if not texts:
        return "tensor([])" if len(value["shape"]) == 1 else f"tensor([], size=({', '.join(map(str, value['shape']))}))"
    width = max(map(len, texts), default=0) if len(value["shape"]) > 1 else 0
    return f"tensor({_nested([text.rjust(width) for text in texts], value['shape'], 7)})"


def inline(value: Value | None, limit: int = 96) -> str:
    """Return the same on one line, cut if it is long."""
    text = " ".join(tensor_text(value).split()).replace("[ ", "[")
    return text if len(text) <= limit else text[:limit - 1] + "…"


def broken(value: Value | None) -> str:
    """Return what a value holds that is not a finite number: "nan", else "inf", else an empty string."""
    if value is None:
        return ""
    entries = {each for each in value.get("data", ()) if isinstance(each, str)}
    stats = value.get("stats", {"nan": 0, "inf": 0})
    if stats["nan"] or "nan" in entries:
        return "nan"
    return "inf" if stats["inf"] or entries & {"inf", "-inf"} else ""


def brief(value: Value | None) -> str:
    """Return a gradient in a few characters, for an edge: the number, up to three numbers, or shape and norm."""
    if value is None:
        return "None"
    data, shape = value.get("data"), value["shape"]
    if data is not None and len(data) <= 3 and len(shape) <= 1:
        texts = [_rounded(entry, value["dtype"]) for entry in data]
        return f"[{', '.join(texts)}]" if shape else texts[0]
    norm = broken(value) or (hypot(*data) if data is not None else value["stats"]["norm"])
    size = "×".join(map(str, shape))
    return f"{size}, not kept" if norm is None else f"{size} ‖{_rounded(norm, 'float32')}‖"


def few(value: Value | None) -> str:
    """Return a value in a line of arithmetic: the entries of a small one, shape and norm of a larger one."""
    if value is None or "data" not in value or len(value["data"]) > SHORT:
        return brief(value)
    return inline(value).removeprefix("tensor(").removesuffix(")")


def piled(texts: Sequence[str]) -> str:
    """Return what is pending at a node, one text per output; for many outputs, only how many have something."""
    if len(texts) <= 3:
        return " | ".join(texts)
    return f"{sum(text != '–' for text in texts)} of {len(texts)} outputs"


def memory_text(count: int) -> str:
    """Return a number of bytes as all parts of this project write it: `512 B`, `1.5 KiB`, `282 MiB`.

    At most three digits after rounding, or the whole number; in powers of 1024, under the names that PyTorch's errors
    and `torch.cuda.memory_summary` give them. (Its profiler writes the same numbers as KB and MB.)
    """
    for unit, size in (("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            found = count / size
            return f"{f'{found:.3g}' if found < 100 else round(found)} {unit}"
    return f"{count} B"


def _rounded(entry: Any, dtype: str) -> str:
    if entry is None or isinstance(entry, (str, bool)) or float(entry).is_integer():
        return number(entry, dtype)
    return number(float(f"{entry:.3g}"), dtype)


class Names:
    """What the tensors, nodes and values of one trace are called, by its lists."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def value(self, index: int | None) -> Data | None:
        """Return the preview with this index."""
        preview: Data | None = None if index is None else self.data["values"][index]
        return preview

    def text(self, index: int | None, limit: int = 96) -> str:
        """Return a value on one line."""
        return inline(self.value(index), limit)

    def tensor(self, index: int | None) -> str:
        """Return a tensor's name in the program, else its number in the trace; None is an operand that is no tensor."""
        return "a constant" if index is None else self.data["tensors"][index]["name"] or f"tensor {index}"

    def node(self, index: int | None) -> str:
        """Return a node's name and its number in the trace; an AccumulateGrad or a Dual by its tensor."""
        if index is None:
            return "None"
        record = self.data["nodes"][index]
        leaf = record.get("variable")
        return f"{record['name']} #{index}" if leaf is None else f"{record['name']}({self.tensor(leaf)})"
