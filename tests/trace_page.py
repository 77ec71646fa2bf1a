"""Writes what the schema of a trace says, where it is read: `python -m tests.trace_page`.

The tables of docs/trace.md and the front end's types of records and events are made of `minigrad.trace.schema`, and its
sentences of `minigrad.trace.sentences` and `expression`. tests/unit/trace/test_trace_page.py holds the files to what
comes out here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from textwrap import wrap

from minigrad.trace.expression import INFIX, NAMES, OPPOSITES
from minigrad.trace.format import WORDS
from minigrad.trace.schema import (
    BINDING,
    COMMON,
    COMMUNICATION,
    DERIVED,
    EVENTS,
    FORMAT,
    FORWARD,
    NODE,
    OTHER,
    PASS,
    SCOPE,
    TENSOR,
    VERSION,
    Record,
)
from minigrad.trace.sentences import NODES, PARTS, SENTENCES, TENSORS, TERMS, UNKNOWN, VALUES
from tests.links import ROOT

PAGE = ROOT / "docs" / "trace.md"
TYPES = ROOT / "widgets" / "frontend" / "src" / "trace" / "events.ts"
TOLD = TYPES.with_name("sentences.ts")
BEGIN, END = "<!-- {}: made by `python -m tests.trace_page` -->\n", "<!-- the end of {} -->\n"
RECORDS = {"TensorRecord": TENSOR, "NodeRecord": NODE, "Scope": SCOPE, "Binding": BINDING, "Common": COMMON}
GROUPS = {"What the user's code runs": FORWARD, "What a backward pass does": PASS,
          "Checkpoints that run again, calls by hand, errors": OTHER,
          "What several processes do together": COMMUNICATION}
SCALARS = {"str": "string", "bool": "boolean"}  # all others are numbers
WIDTH = 110  # of a comment in TypeScript


def entries(kind: str) -> list[tuple[str, str]]:
    """Of the type of a list of a certain length: the label and the type of each entry."""
    parts = [part.rpartition(":") for part in kind[1:-1].split(",")]
    return [(label or part.removesuffix("?"), part) for label, _, part in parts]


# the tables of docs/trace.md
def in_words(kind: str) -> str:
    """A type as the page writes it: `[[node, output_nr] or null, …]`."""
    if kind.endswith("?"):
        return f"{in_words(kind[:-1])} or null"
    if kind.startswith("["):
        return f"[{in_words(kind[1:-1])}, …]"
    if kind.startswith("("):
        return f"[{', '.join(label + (' or null' if part.endswith('?') else '') for label, part in entries(kind))}]"
    return "int" if kind == "nr" else kind


def field_rows(record: Record) -> list[str]:
    """The fields of a record as rows of a table."""
    return [f"| `{name}` | {in_words(field.type)}{', or absent' if field.optional else ''} | {field.meaning} |"
            for name, field in record.fields.items()]


def table(first: str, rows: Iterable[str]) -> str:
    """A table of fields."""
    return "\n".join([f"| {first} | type | meaning |", "|---|---|---|", *rows]) + "\n"


def record_tables() -> str:
    """What the records of tensors, nodes, scopes and bindings hold."""
    parts = {"Tensor record": TENSOR, "Node record": NODE, "Scope": SCOPE, "Binding": BINDING}
    return "\n".join(f"**{name}**: {record.meaning}\n\n{table('field', field_rows(record))}"
                     for name, record in parts.items())


def event_tables() -> str:
    """What events hold, by group."""
    texts = [f"{COMMON.meaning}\n\n{table('field', field_rows(COMMON))}"]
    for title, group in GROUPS.items():
        rows = []
        for kind, record in group.items():
            rows.append(f"| **`{kind}`** | {'derived' if kind in DERIVED else 'observed'} | **{record.meaning}** |")
            rows += field_rows(record)
        texts.append(f"### {title}\n\n{table('event, field', rows)}")
    return "\n".join(texts)


def page() -> str:
    """The page with the tables that it should have."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in (("records", record_tables()), ("events", event_tables())):
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{made}\n{end}{rest.partition(end)[2]}"
    return text


# the types of the front end
def in_typescript(kind: str) -> str:
    """A type in TypeScript."""
    if kind.endswith("?"):
        inner = in_typescript(kind[:-1])
        return "Maybe" if inner == "number" else f"{inner} | null"
    if kind.startswith("["):
        inner = in_typescript(kind[1:-1])
        return f"({inner})[]" if inner.endswith(" | null") else f"{inner}[]"
    if kind.startswith("("):
        return f"[{', '.join(f'{label}: {in_typescript(part)}' for label, part in entries(kind))}]"
    return SCALARS.get(kind, "number")


def comment(text: str) -> str:
    """A sentence as a comment, with a capital letter and a full stop."""
    text = text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
    lines = wrap(text, WIDTH)
    if len(lines) == 1:
        return f"/** {text} */\n"
    return "/**\n" + "".join(f" * {line}\n" for line in lines) + " */\n"


def interface(name: str, record: Record, kind: str | None = None) -> str:
    """A record as an interface; of an event with its kind. What a field means is told once, in the schema."""
    fields = "".join(f"  {key}{'?' if field.optional else ''}: {in_typescript(field.type)};\n"
                     for key, field in record.fields.items())
    head = f'  kind: "{kind}";\n' if kind else ""
    return f"{comment(record.meaning)}export interface {name} {{\n{head}{fields}}}\n"


def constant(name: str, kinds: Mapping[str, Record], text: str) -> str:
    """A set of kinds of events."""
    lines = wrap(", ".join(f'"{kind}"' for kind in kinds) + ",", WIDTH)
    return (f"{comment(text)}export const {name}: ReadonlySet<string> = new Set([\n"
            + "".join(f"  {line}\n" for line in lines) + "]);\n")


def fields(records: Mapping[str, Record], name: str, text: str) -> str:
    """The fields of records as data, `field=type` or `field?=type`: what a reader checks."""
    def row(record: Record) -> str:
        return " ".join(f"{key}{'?' * field.optional}={field.type}" for key, field in record.fields.items())

    rows = "".join(f'  {key}: "{row(record)}",\n' for key, record in records.items())
    return f"{comment(text)}export const {name}: Readonly<Record<string, string>> = {{\n{rows}}};\n"


def types() -> str:
    """The whole module of types."""
    names = {kind: "".join(word.capitalize() for word in kind.split("_")) + "Event" for kind in EVENTS}
    union = "".join(f"\n    | {name}" for name in names.values())
    return "\n".join([
        comment("the records and events of a trace, made of minigrad/trace/schema.py by `python -m tests.trace_page`; "
                "docs/trace.md says what each field means"),
        f'export const FORMAT = "{FORMAT}";\nexport const VERSION = {VERSION};\nexport type Maybe = number | null;\n',
        *[interface(name, record) for name, record in RECORDS.items()],
        *[interface(names[kind], record, kind) for kind, record in EVENTS.items()],
        f"export type TraceEvent = Common &\n  ({union}\n  );\n",
        constant("FORWARD", FORWARD, "what the user's code runs: the forward lens stops at these"),
        constant("OF_A_PASS", PASS, "what a backward pass does"),
        fields({"tensors": TENSOR, "nodes": NODE, "scopes": SCOPE, "bindings": BINDING, "common": COMMON},
               "RECORD_FIELDS",
               "the fields of each record, and of every event: `field=type` or, where it may be absent, `field?=type`"),
        fields(EVENTS, "EVENT_FIELDS", "the fields of each kind of event")])


# the sentences of the front end
def literal(value: object) -> str:
    """A table in TypeScript, its entries on lines of their own."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "{\n" + "".join(f"  {key}: {literal(entry)},\n" for key, entry in value.items()) + "}"


def sentences() -> str:
    """The whole module of sentences."""
    words = "Readonly<Record<string, string>>"
    tables = [("SENTENCES", words, SENTENCES), ("UNKNOWN", "string", UNKNOWN), ("TERMS", words, TERMS),
              ("PARTS", "Readonly<Record<string, readonly [readonly string[], string]>>", PARTS),
              *[(name, "readonly string[]", names)
                for name, names in (("NODES", NODES), ("TENSORS", TENSORS), ("VALUES", VALUES))]]
    lines = [("INFIX", "Readonly<Record<string, readonly [symbol: string, level: number]>>", INFIX),
             ("OPPOSITES", words, OPPOSITES), ("NAMES", words, NAMES)]
    return comment("what each kind of event says, made of minigrad/trace/sentences.py by `python -m tests.trace_page`"
                   ) + "".join(f"export const {name}: {kind} = {literal(value)};\n" for name, kind, value in tables
                   ) + comment("how expressions are written, made of minigrad/trace/expression.py"
                   ) + "".join(f"export const {name}: {kind} = {literal_line(value)};\n" for name, kind, value in lines
                   ) + comment("where a word begins in the name of an op, made of minigrad/trace/format.py"
                   ) + f"export const WORDS = /{WORDS.pattern}/g;\n"


def literal_line(table: Mapping[str, object]) -> str:
    """A table in TypeScript, on one line."""
    return "{ " + ", ".join(f"{key}: {literal(value)}" for key, value in table.items()) + " }"


def main() -> None:
    """Write the three files."""
    TOLD.write_text(sentences(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    TYPES.write_text(types(), encoding="utf-8")


if __name__ == "__main__":
    main()
