"""The table of sentences: complete, as the schema has the fields, and filled in."""

from __future__ import annotations

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.trace.format import Names
from minigrad.trace.schema import EVENTS
from minigrad.trace.sentences import CHOICE, NODES, PARTS, SENTENCES, SLOT, TENSORS, VALUES, derived, describe
from tests import trace_page

ADDED = {"forward": {"results", "inplace", "kept", "passed"}, "save": {"saved"}}  # by `derived`


def told(trace: Trace) -> list[str]:
    data = trace.to_dict()
    return [describe(Names(data), event) for event in data["events"]]


def test_every_kind_of_event_has_a_sentence_of_its_fields() -> None:
    assert list(SENTENCES) == list(EVENTS)
    for kind, sentence in SENTENCES.items():
        used = {*SLOT.findall(sentence), *(name for name, _, _ in CHOICE.findall(sentence))}
        assert used <= EVENTS[kind].fields.keys() | ADDED.get(kind, set()), kind
    for labels, sentence in PARTS.values():
        assert {*SLOT.findall(sentence), *(name for name, _, _ in CHOICE.findall(sentence))} <= set(labels)


def test_a_slot_is_written_as_its_type_says() -> None:
    types = {**dict.fromkeys(NODES, "node"), **dict.fromkeys(TENSORS, "tensor"), **dict.fromkeys(VALUES, "value")}
    for kind, sentence in SENTENCES.items():
        for name in {*SLOT.findall(sentence)} - PARTS.keys():
            bare = EVENTS[kind].fields[name].type.strip("[]?")
            assert types.get(name, bare) == bare
            assert name in types or bare in ("str", "int", "nr", "bool"), (kind, name)


def test_the_browsers_table_is_what_the_command_makes() -> None:
    assert trace_page.TOLD.read_text(encoding="utf-8") == trace_page.sentences(), "run python -m tests.trace_page"


def test_a_pass() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with record() as trace:
        y = x * x
        y.backward()
    assert told(trace) == [
        "mul(x, x) makes y = tensor(9.); recorded as MulBackward0 #1",
        "MulBackward0 #1 saves self = tensor(3.), other = tensor(3.)",
        "backward starts at MulBackward0 #1 with tensor(1.); the engine counts the gradients to come",
        "MulBackward0 #1 has all its gradients and joins the ready queue",
        "MulBackward0 #1 runs with tensor(1.)",
        "MulBackward0 #1 lets go of its saved tensors",
        "MulBackward0 #1 sends tensor(3.) along edge 0 to AccumulateGrad(x)",
        "MulBackward0 #1 sends tensor(3.) along edge 1 to AccumulateGrad(x); the sum there is tensor(6.)",
        "AccumulateGrad(x) has all its gradients and joins the ready queue",
        "AccumulateGrad(x) runs with tensor(6.)",
        "x.grad becomes tensor(6.)",
        "backward ends"]


def test_the_node_with_index_0_is_one() -> None:
    names = Names({"nodes": [{"name": "MulBackward0"}], "tensors": [{"name": "a", "value": 0}], "values": [None]})
    event = {"kind": "forward", "op": "mul", "inputs": [], "outputs": [0], "node": 0}
    assert describe(names, event) == "mul() makes a = None; recorded as MulBackward0 #0"


def test_a_first_node_is_said_once() -> None:
    """The node that an op records is not told again of its result; a view that got one of its own is told."""
    x, plain = torch.tensor([1.0, 2.0], requires_grad=True), torch.zeros(2, 2)
    with record() as trace:
        row = plain[0]
        row.add_(x)
    assert told(trace)[0].endswith("makes row (a view of plain) = tensor([0., 0.]); no node is recorded")
    assert told(trace)[1].startswith("add_(row, x) writes to plain; recorded as CopySlices #")
    assert "; row.grad_fn was None and is AsStridedBackward0 #" in told(trace)[1]
    assert "plain.grad_fn" not in told(trace)[1]


def test_what_a_later_version_adds_is_named() -> None:
    names = Names({})
    assert describe(names, {"kind": "dream"}) == "dream: an event of a kind that this version does not know"
    assert derived(names, {"kind": "hook", "hook": "new"}) == {"hook": "a hook (new) runs"}
