"""What the browser is handed with a trace: links of nodes, runs of checkpointed functions, gradients from before."""

from __future__ import annotations

import json

import minigrad as torch
from minigrad.recorder import record
from minigrad.trace.packing import unpacked
from minigrad_widgets import Inspector
from minigrad_widgets.graph.derived import derived
from tests.widgets.programs import blocks


def test_a_write_into_a_view_links_its_nodes() -> None:
    x = torch.ones(2, 2, requires_grad=True)
    with record() as trace:
        base = x * 1
        row = base[0]
        row.mul_(2)
    assert [(link["kind"], link["from"], link["to"], link["label"]) for link in derived(trace.to_dict())["links"]] == [
        ("view", 2, 1, "view of base"), ("rebased", 3, 1, "was base’s"), ("rebased", 4, 2, "was row’s"),
        ("view", 4, 3, "view of base")]


def test_a_run_says_itself() -> None:
    (first, *_, last) = derived(blocks(False).to_dict())["runs"]
    assert first["told"].startswith("checkpoint 0 (block, non-reentrant): first run, steps ")
    assert last["told"].startswith("checkpoint 0 (block, non-reentrant): runs again, steps ")
    assert last["told"].endswith(f", stops early at {last['stop']}")


def test_a_gradient_from_before_is_told_of_its_leaf_only() -> None:
    old, new = (torch.ones(2, requires_grad=True) for _ in range(2))
    (old * 2).sum().backward()
    with record() as trace:
        (old * new).sum().backward()
    assert {tensor["name"] for tensor in derived(trace.to_dict())["tensors"] if "filled" in tensor} == {"old"}
    assert not any("filled" in tensor for tensor in trace.tensors), "the trace itself stays as recorded"
    sent = unpacked(json.loads(Inspector(trace).trace))
    assert [tensor.get("filled", False) for tensor in sent["tensors"]].count(True) == 1


def test_nothing_is_added_where_nothing_is_found() -> None:
    with record() as trace:
        torch.ones(2, requires_grad=True).exp().sum().backward()
    assert derived(trace.to_dict()) == {"tensors": trace.tensors}
