"""Sums and prints what a profiler measured: mirrors `torch/autograd/profiler_util.py`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any

from minigrad._base.files import replace_file

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

COLUMNS = ("Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls")
WIDTH, SHAPES_WIDTH, GAP = 12, 80, "  "


def in_words(microseconds: float) -> str:
    """Return a time in s, ms or us, in the largest unit that it reaches."""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def share(part: float, whole: float) -> str:
    """Return a part of a whole in percent."""
    return f"{part * 100 / whole:.2f}%" if whole else "NaN"


class Interval:
    """A start and an end, in microseconds since the profiler was turned on."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """Return how long it took."""
        return self.end - self.start


class Times:
    """What one event and a sum of several share: times in microseconds, with and without what ran inside."""

    count: int
    key: str
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        """The mean time of one call, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def cpu_time_str(self) -> str:
        """`cpu_time` with its unit."""
        return in_words(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """`cpu_time_total` with its unit."""
        return in_words(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """`self_cpu_time_total` with its unit."""
        return in_words(self.self_cpu_time_total)


class FunctionEvent(Times):
    """One call of an op, one evaluation of a node, or one `record_function` block."""

    count = 1

    def __init__(self, number: int, name: str, thread: int, start: float, parent: FunctionEvent | None,
                 input_shapes: list[Any], sequence_nr: int = -1, is_user_annotation: bool = False) -> None:
        self.id, self.name, self.thread, self.sequence_nr = number, name, thread, sequence_nr
        self.key = re.sub(r"^ProfilerStep#\d+$", "ProfilerStep*", name)  # events with one key are added up
        self.time_range, self.cpu_parent, self.input_shapes = Interval(start, start), parent, input_shapes
        self.is_user_annotation = is_user_annotation
        self.cpu_children: list[FunctionEvent] = []
        if parent is not None:
            parent.cpu_children.append(self)

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]  # not stored for one event
        """How long it took, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]  # as above
        """How long it took without what ran inside, in microseconds."""
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    def __repr__(self) -> str:
        return (f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} "
                f"start_us={self.time_range.start} end_us={self.time_range.end} "
                f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
                f"input_shapes={self.input_shapes} seq_nr={self.sequence_nr}>")


class FunctionEventAvg(Times):
    """The events of one name, added up."""

    def __init__(self, key: str = "Total", input_shapes: Any = "") -> None:
        self.key, self.input_shapes, self.count = key, input_shapes, 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.is_user_annotation = False
        self.cpu_children: list[FunctionEvent] = []

    def add(self, event: Any) -> FunctionEventAvg:
        """Add one event, or a sum of several."""
        self.count += event.count
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.is_user_annotation = self.is_user_annotation or event.is_user_annotation
        self.cpu_children += event.cpu_children
        return self

    def __repr__(self) -> str:
        return (f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
                f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes}>")


class EventList(list[Any]):
    """Events, or sums of them, as a list that knows how to print and add itself up."""

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events, none counted twice, in microseconds."""
        return float(sum([event.self_cpu_time_total for event in self]))

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Return the events of each name added up; with `group_by_input_shape`, of each name and list of shapes."""
        sums: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = (event.key, str(event.input_shapes)) if group_by_input_shape else event.key
            shapes = event.input_shapes if group_by_input_shape else ""
            sums.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """Return all events added up."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:
        """Return a table with one line for each element. `sort_by`: an attribute of the events, such as
        `self_cpu_time_total`; the largest comes first. `row_limit`: the greatest number of lines, -1 for all.

        Raises AttributeError if there is no such attribute.
        """
        shown = [e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None]
        if sort_by is not None:
            shown.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        if row_limit >= 0:
            shown = shown[:row_limit]
        with_shapes = any(event.input_shapes for event in shown)
        names = [shortened(event.key, max_name_column_width) for event in shown]
        widths = [min(max([len(event.key) for event in self], default=0) + 4, max_name_column_width), *[WIDTH] * 6]
        rows = [self.row(name, event) for name, event in zip(names, shown, strict=True)]
        heads = list(COLUMNS)
        if with_shapes:
            heads.append("Input Shapes")
            widths.append(min(max([len(str(event.input_shapes)) for event in shown]) + 4, max_shapes_column_width))
            for row, event in zip(rows, shown, strict=True):
                row.append(shortened(str(event.input_shapes), max_shapes_column_width))
        rule = line(["-" * width for width in widths], widths)
        title = [] if header is None else ["=" * len(rule), header]
        return "\n".join([*title, rule, line(heads, widths), rule, *[line(row, widths) for row in rows], rule,
                          f"Self CPU time total: {in_words(self.self_cpu_time_total)}", ""])

    def row(self, name: str, event: Any) -> list[str]:
        """Return the cells of one line."""
        whole = self.self_cpu_time_total
        return [name, share(event.self_cpu_time_total, whole), event.self_cpu_time_total_str,
                share(event.cpu_time_total, whole), event.cpu_time_total_str, event.cpu_time_str, str(event.count)]

    def __str__(self) -> str:
        return self.table()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events as a file for `chrome://tracing`, Perfetto and their like."""
        replace_file(path, json.dumps({"traceEvents": [
            {"ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op", "name": event.name,
             "pid": os.getpid(), "tid": event.thread, "ts": event.time_range.start, "dur": event.cpu_time_total,
             "args": {"Input Dims": event.input_shapes, "Sequence number": event.sequence_nr}} for event in self]}))


def shortened(text: str, width: int) -> str:
    """Shorten a text to fit into a column."""
    return text if len(text) <= width or width < 4 else text[:width - 3] + "..."


def line(cells: Iterable[str], widths: list[int]) -> str:
    """Cells in columns of these widths."""
    return "".join([f"{cell:>{width}}{GAP}" for cell, width in zip(cells, widths, strict=True)])
