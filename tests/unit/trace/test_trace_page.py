"""The tables of docs/trace.md and the front end's types are what their command makes of the schema."""

from __future__ import annotations

import re

import pytest

from minigrad.trace.schema import COMMON, EVENTS, NODE, SCOPE, TENSOR, Field, Record
from tests import trace_page

ROW = re.compile(r"^\| \*\*`(\w+)`\*\* \| (observed|derived) \|", re.MULTILINE)


def test_the_page_is_what_the_command_makes() -> None:
    assert trace_page.PAGE.read_text(encoding="utf-8") == trace_page.page(), "run `python -m tests.trace_page`"


def test_the_types_are_what_the_command_makes() -> None:
    assert trace_page.TYPES.read_text(encoding="utf-8") == trace_page.types(), "run `python -m tests.trace_page`"


def test_the_page_has_every_kind_and_every_field() -> None:
    text = trace_page.PAGE.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    assert [kind for kind, _ in rows] == list(EVENTS)
    assert {kind for kind, how in rows if how == "derived"} == {"ready", "release"}
    for record in (TENSOR, NODE, SCOPE, COMMON, *EVENTS.values()):
        assert all(f"| `{name}` | " in text and field.meaning in text for name, field in record.fields.items())


@pytest.mark.parametrize(("record", "name", "field"), [
    (EVENTS["flow"], "sum", Field("value", False, "what has piled up")),
    (EVENTS["mode"], "on", Field("bool", True, "whether it is on now")),
    (EVENTS["ready"], "turn", Field("int", False, "its place in the queue")),
    (TENSOR, "base", Field("node", True, "its base"))])
def test_another_schema_is_noticed(monkeypatch: pytest.MonkeyPatch, record: Record, name: str, field: Field) -> None:
    monkeypatch.setitem(record.fields, name, field)
    assert trace_page.PAGE.read_text(encoding="utf-8") != trace_page.page()
    assert trace_page.TYPES.read_text(encoding="utf-8") != trace_page.types()


@pytest.mark.parametrize(("kind", "words", "typescript"), [
    ("nr", "int", "number"), ("str?", "str or null", "string | null"), ("[value?]", "[value or null, …]", "Maybe[]"),
    ("[(node,output_nr:nr)?]", "[[node, output_nr] or null, …]", "([node: number, output_nr: number] | null)[]"),
    ("[tensor]?", "[tensor, …] or null", "number[] | null")])
def test_types_in_words_and_in_typescript(kind: str, words: str, typescript: str) -> None:
    assert (trace_page.in_words(kind), trace_page.in_typescript(kind)) == (words, typescript)
