"""Cuts very long strings of a trace for display: nobody could read or draw a name of a megabyte.

The trace itself keeps them. A name keeps its start and its end, which identify it; a line keeps its start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NAME, LINE = 80, 2_000
NAMES = {"files": ("name",), "tensors": ("name", "dtype"), "nodes": ("name",), "scopes": ("name", "module"),
         "events": ("name", "op", "hook", "type", "mode"), "values": ("dtype",)}


def name(text: str) -> str:
    """Return a name of at most 80 characters."""
    return text if len(text) <= NAME else f"{text[:NAME - 30]}…{text[-29:]}"


def line(text: str) -> str:
    """Return a line of at most 2,000 characters."""
    return text if len(text) <= LINE else f"{text[:LINE - 1]}…"


def shorten(data: dict[str, Any]) -> dict[str, Any]:
    """Return a trace as plain data with records of its own, in which everything too long is cut."""
    data = {part: [{**record} for record in records] if part in NAMES else records for part, records in data.items()}
    for key, names in NAMES.items():
        for record in data.get(key, ()):
            cut(record, names)
    for file in data["files"]:
        file["lines"] = [line(each) for each in file["lines"]]
    for event in data["events"]:
        if "message" in event:
            event["message"] = line(event["message"])
    for node in data["nodes"]:
        node["saved"] = [[name(str(each[0])), *each[1:]] for each in node["saved"]]
    data["library"] = name(data["library"])
    data["formulas"] = {name(key): line(text) for key, text in data["formulas"].items()}
    data["expressions"] = [names_cut(each) for each in data.get("expressions", ())]
    return data


def names_cut(expression: Any) -> Any:
    """Return an expression with its names cut."""
    if isinstance(expression, list):
        return [names_cut(each) for each in expression]
    return name(expression) if isinstance(expression, str) else expression


def cut(record: dict[str, Any], keys: Iterable[str]) -> None:
    """Cut these names of a record."""
    for key in keys:
        text = record.get(key)
        if isinstance(text, str) and len(text) > NAME:
            record[key] = name(text)
