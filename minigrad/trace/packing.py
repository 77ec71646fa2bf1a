"""Packs a trace into a small file: all numbers in one base64 text, and rows without the names of their fields.

Half of the size as JSON comes from repeating the names of the fields, and from superfluous digits of floats. `packed`
leaves both out, `unpacked` restores them: docs/trace.md, *As a file*. The front end reads the same in
`frontend/src/trace/file.ts`.
"""

import json
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping
from math import isinf, isnan, prod
from typing import Any

__all__ = ["packed", "unpacked", "written"]

FORMS = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "uint8": "B", "bool": "?"}
TABLES = ("values", "tensors", "nodes", "scopes", "events", "bindings", "links", "runs")
XP = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def packed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dict of a trace with its tables and previews packed."""
    numbers = bytearray()
    values = [put(value, numbers) for value in data["values"]]
    tables = {name: table(values if name == "values" else data[name]) for name in TABLES if name in data}
    return {**data, **tables, "numbers": b64encode(numbers).decode("ascii")}


def written(data: Mapping[str, Any]) -> str:
    """Return the dict of a trace as JSON, packed."""
    text = json.dumps(packed(data), separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: no file can hold it, but JSON can write it
        return json.dumps(json.loads(text), separators=(",", ":"))
    return text


def unpacked(data: Mapping[str, Any]) -> dict[str, Any]:
    """Undo `packed`; a trace that is not packed is returned unchanged. Raises ValueError if the data is malformed."""
    whole = dict(data)
    try:
        for name in TABLES:
            if isinstance(whole.get(name), dict) and "rows" in whole[name]:
                whole[name] = rows(**whole[name])
        if "numbers" in whole:
            numbers = b64decode(whole.pop("numbers"), validate=True)
            check_room(whole["values"], len(numbers))
            whole["values"] = [take(value, numbers) for value in whole["values"]]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, struct.error) as error:
        raise ValueError(f"this is not a whole trace: it cannot be unpacked ({error})") from error
    return whole


def table(entries: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return entries as rows, each of which begins with the number of its list of fields."""
    known: dict[tuple[str, ...], int] = {}
    rows = [[known.setdefault(tuple(entry), len(known)), *entry.values()] for entry in entries]
    return {"fields": [list(names) for names in known], "rows": rows}


def rows(fields: list[list[str]], rows: list[list[Any]]) -> list[dict[str, Any]]:
    """Turn the rows of a `table` back into dicts."""
    return [dict(zip(fields[kind], entry, strict=True)) for kind, *entry in rows]


def put(value: Mapping[str, Any], numbers: bytearray) -> Mapping[str, Any]:
    """Move a preview's numbers into the buffer, from `at` on; return it unchanged if its dtype cannot hold them."""
    name = name_of(value)
    data, form = value.get(name), FORMS.get(value["dtype"])
    if data is None or form is None:
        return value
    form = f"<{len(data)}{form}"
    try:
        raw = struct.pack(form, *[XP.get(x, x) if isinstance(x, str) else x for x in data])
    except (OverflowError, struct.error):
        return value
    read = [*struct.unpack(form, raw)]
    if read != data and [json_number(x) for x in read] != data:  # the second is slow, and for nan and infinities
        return value
    at = len(numbers)
    numbers += raw
    return {**{key: x for key, x in value.items() if key != name}, "at": at}


def name_of(value: Mapping[str, Any]) -> str:
    """Return the field with the numbers of a preview: all there is for a small array, else beside the statistics."""
    return "entries" if "stats" in value else "data"


def check_room(values: list[Mapping[str, Any]], room: int) -> None:
    """Refuse previews that read the same numbers again and again: a small file could fill the memory."""
    packed = [value for value in values if "at" in value]
    size = sum([abs(prod(value["shape"])) * struct.calcsize(f"<{FORMS[value['dtype']]}") for value in packed])
    if size > room:
        raise ValueError(f"its previews hold {size} bytes, of which the file has {room}")


def take(value: Mapping[str, Any], numbers: bytes) -> Mapping[str, Any]:
    """Undo `put`: return a preview with its numbers."""
    if "at" not in value:
        return value
    count = prod(value["shape"])
    if count < 0 or value["at"] < 0:
        raise ValueError("a preview has no valid offset")
    data = struct.unpack_from(f"<{count}{FORMS[value['dtype']]}", numbers, value["at"])
    return {**{key: x for key, x in value.items() if key != "at"}, name_of(value): [json_number(x) for x in data]}


def json_number(x: Any) -> Any:
    """Return a number as JSON can hold it."""
    if isinstance(x, float) and (isnan(x) or isinf(x)):
        return "nan" if isnan(x) else "inf" if x > 0 else "-inf"
    return x
