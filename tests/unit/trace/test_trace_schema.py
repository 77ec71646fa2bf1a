"""docs/trace.md, the schema in code and what is recorded are one; whatever else is read is refused with a clear error.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import minigrad
from minigrad.recorder import NOWHERE, Builder, Encoder, Log, Trace, record
from minigrad.trace.frame import RULES
from minigrad.trace.schema import COMMON, EVENTS, NODE, SCOPE, TENSOR
from minigrad.utils.checkpoint import checkpoint
from tests.parity.trace.programs_traced import PROGRAMS

DOCS = (Path(__file__).parents[3] / "docs" / "trace.md").read_text(encoding="utf-8")
FRAME = re.findall(r"^\| (`.*?`) \|", DOCS.split("## Frames")[1].split("The rules of the fold")[0], re.MULTILINE)


def test_the_fold_and_the_sentences_know_the_kinds() -> None:
    assert set(RULES) <= set(EVENTS)


def test_the_page_has_the_keys_of_a_frame() -> None:
    keys = [key for cell in FRAME for key in re.findall(r"`(\w+)`", cell)]
    assert sorted(keys) == sorted(small().frame(0))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_what_is_recorded_has_these_fields_and_no_others(program: Any) -> None:
    minigrad.manual_seed(0)
    with record() as trace:
        program(minigrad)
    for event in trace.events:
        assert set(event) <= {"kind", *COMMON.fields, *EVENTS[event["kind"]].fields}
    for records, schema in ((trace.tensors, TENSOR), (trace.nodes, NODE), (trace.scopes, SCOPE)):
        assert {name for entry in records for name in entry} <= set(schema.fields)
    assert Trace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize(("kind", "fields", "says"), [
    ("ready", {"node": 0, "turn": 1}, "an event 'ready' has the fields node, not node, turn"),
    ("flow", {"node": 0}, "an event 'flow' has the fields node, index, to, output_nr, gradient, sum, not node")])
def test_an_event_that_the_schema_does_not_have_is_an_error(kind: str, fields: dict[str, Any], says: str) -> None:
    log = Log()
    trace = Trace("nobody", Encoder(Builder(), log))
    log.event(kind, NOWHERE, 0, **fields)
    with pytest.raises(TypeError, match=re.escape(says)):
        len(trace)


# ---- what others made
def small() -> Trace:
    """Most kinds of events in few steps."""
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with record() as trace:
        y = x * 2
        y[0].mul_(3)
        z = checkpoint(minigrad.sin, y, use_reentrant=False)
        z.retain_grad()
        z.sum().backward()
    return trace


TEXT = small().to_json()
PLAIN = json.dumps(small().to_dict())


def use(trace: Trace) -> None:
    """All that can be asked of a trace."""
    assert isinstance(trace.text(), str)
    for lens in ("all", "forward", "backward"):
        trace.steps(lens)
    for step in range(len(trace)):
        trace.frame(step)
        assert trace.text(step).encode()
        assert trace.held_text(step).encode() if trace.storages else True
    assert Trace.from_json(trace.to_json()) == trace


def read(text: str) -> None:
    """A trace, or an error that says what is wrong."""
    try:
        trace = Trace.from_json(text)
    except ValueError as error:
        assert str(error)
        return
    use(trace)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.sampled_from([TEXT, PLAIN]), at=st.floats(0, 0.9999), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_shown(text: str, at: float, bit: int) -> None:
    raw = bytearray(text.encode())
    raw[int(at * len(raw))] ^= 1 << bit
    read(raw.decode("utf-8", "surrogateescape"))


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything inside of a trace."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *[place for key, each in inner for place in places(each, (*path, key))]] if path else [
        place for key, each in inner for place in places(each, (key,))]


PLACES = places(json.loads(PLAIN))
STRANGE = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 400), st.sampled_from([10**18, -(10**400), 1.5]), st.text(max_size=4),
    st.sampled_from(["<script>alert(1)</script>", "$\\frac{", "\ud800", "x" * 1_000_000, [], {}, [[]], "nan"]))


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.sampled_from(PLACES), strange=STRANGE)
@example(place=("values", 10, "data", 0), strange="\ud800")  # text in the place of a number, and no file holds it
def test_anything_anywhere_is_refused_or_shown(place: tuple[Any, ...], strange: Any) -> None:
    data = json.loads(PLAIN)
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = strange
    read(json.dumps(data))


@pytest.mark.parametrize("holder", [[6, 0], [5, 10**6], [1, 10**6], [2, 10**6], [0, None], [4, None]], ids=str)
def test_a_holder_that_is_not_there_is_refused(holder: list[Any]) -> None:
    data = json.loads(PLAIN)
    held = next(event["held"] for event in data["events"] if event.get("held"))
    held[0][1:] = holder
    with pytest.raises(ValueError, match="as the holder of a storage"):
        Trace.from_dict(data)


def test_a_node_that_leads_to_itself_is_refused() -> None:
    data = json.loads(PLAIN)
    leaf = next(at for at, node in enumerate(data["nodes"]) if "variable" in node)
    data["nodes"][leaf]["next"] = [[leaf, 0]]
    with pytest.raises(ValueError, match="a node of it leads to itself"):
        Trace.from_dict(data)


def test_names_are_text_and_strange_values_are_told() -> None:
    data = json.loads(PLAIN)
    name = "<b onclick='x'>$\\alpha$\n</b>" + "y" * 1_000_000
    data["tensors"][0]["name"] = name
    for shape, numbers in (([0, 3], []), ([1_000_000_000, 0], []), ([], ["nan"]), ([2], ["inf", "-inf"])):
        data["values"][0] = {"shape": shape, "dtype": "float32", "data": numbers}
        trace = Trace.from_dict(data)
        use(trace)
        assert name in trace.text()


def test_half_of_a_pair_of_surrogates_is_shown_as_an_escape() -> None:
    data = json.loads(PLAIN)
    data["tensors"][1]["name"] = "\ud800"
    data["files"][0]["lines"] = ["\udcf8"] * len(data["files"][0]["lines"])
    trace = Trace.from_dict(data)
    use(trace)
    assert r"writes to \ud800" in trace.text() and r"\udcf8" in trace.text(0)
