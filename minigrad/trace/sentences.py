"""Has the sentence of each kind of event, in one table for Python and for the browser.

A sentence has slots, `{node}`, and choices, `[node|yes|no]`: `yes` if the event has that field and it is not null,
false or empty, else `no`, which may be left out. How a slot is written follows from its name: NODES, TENSORS and VALUES
are indices in a trace, each entry of a list of PARTS has a sentence of its own, all others are written as they are.

`python -m tests.trace_page` writes these tables for the browser, where frontend/src/trace/describe.ts fills them in as
`describe` does here.
"""

import re
from collections.abc import Mapping
from typing import Any

from minigrad.trace.format import Names, listed

__all__ = ["NODES", "PARTS", "SENTENCES", "TENSORS", "TERMS", "UNKNOWN", "VALUES", "describe"]

SENTENCES = {
    "forward": "{op}([inputs|{inputs}]) [inplace|writes to|makes] {results}"
               "[kept|; recorded as {node}][passed|; {node} passes the tangent on, and is not kept]"
               "[node||; no node is recorded][rebased|; {rebased}]",
    "save": "{node} saves {saved}",
    "version": "{tensor} is changed in place: version {version}[value|, now {value}]",
    "grad": "{tensor}.grad is now {grad}",
    "mode": "{mode} mode is [on|on|off]",
    "checkpoint_begin": "checkpoint {call}, [reentrant|reentrant|non-reentrant]: the first run of {name} begins",
    "checkpoint_end": "checkpoint {call}: the first run ends",
    "backward_start": "backward starts at {roots}[create_graph|, create_graph=True][retain_graph|, retain_graph=True]"
                      "; the engine counts the gradients to come",
    "ready": "{node} has all its gradients and joins the ready queue",
    "run": "{node} runs with {gradient}",
    "hook": "{node}: {hook}[name| ({name})][gradient|; the gradient is {gradient}]",
    "release": "{node} lets go of its saved tensors",
    "flow": "{node} sends {gradient} along edge {index} to {to}[output_nr|, output {output_nr}]"
            "[sum|; the sum there is {sum}]",
    "accumulate": "{tensor}.grad [grad|receives {gradient} and is now {grad}|becomes {gradient}]",
    "capture": "autograd.grad keeps {gradient} for {tensor}",
    "backward_end": "backward ends",
    "call": "{node} is called by hand with {gradient} and gives {result}",
    "error": "{type}: {message}",
    "recompute_begin": "checkpoint {call} runs its function again",
    "holder_filled": "checkpoint {call} has saved tensor {index} again: {value}",
    "early_stop": "checkpoint {call} has all that is needed and stops early",
    "recompute_end": "checkpoint {call}: the recomputation ends",
    "collective_start": "call {call} of several ranks: {op}[label| for {label}]",
    "collective_wait": "this rank waits for call {call}",
    "collective_end": "call {call} is over",
}
UNKNOWN = "{kind}: an event of a kind that this version does not know"

NODES = ("node", "to", "before", "after")
TENSORS = ("tensor", "base", "inputs")
VALUES = ("gradient", "sum", "grad", "value", "result", "tangent")
TERMS = {"tensor": "a hook of its tensor runs", "retain_grad": "retain_grad keeps the gradient",
         "pre": "a pre-hook runs", "post": "a post-hook runs", "post_accumulate": "a post-accumulate-grad hook runs"}
PARTS = {  # by the name of a list: the fields of an entry, and its sentence
    "results": (("tensor", "base", "value", "tangent"),
                "{tensor}[base| (a view of {base})][value| = {value}][tangent|, moved by {tangent}]"),
    "rebased": (("tensor", "before", "after"), "{tensor}.grad_fn was {before} and is {after} now"),
    "saved": (("name", "tensor", "value"), "{name}[value| = {value}]"),
    "roots": (("node", "output_nr", "value"), "{node} with {value}"),
}
FEW, SHORT, LONG = 3, 48, 96  # the parts of a list, and the characters of a value beside others, or of its own
CHOICE, SLOT = re.compile(r"\[(\w+)\|([^|\]]*)\|?([^\]]*)\]"), re.compile(r"\{(\w+)\}")


def describe(names: Names, event: Mapping[str, Any]) -> str:
    """Return what happened at an event, in plain words."""
    return filled(names, SENTENCES.get(event["kind"], UNKNOWN), {**event, **derived(names, event)})


def derived(names: Names, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a sentence has beside those of its event, or in their place."""
    match event["kind"]:
        case "forward":
            inplace, tensors = event["op"].endswith("_"), names.data["tensors"]  # what is there now, `version` says
            moves = [(t, tensors[t].get("tangent")) for t in event["outputs"]]
            results = [(t, None, None, None) if inplace else (t, tensors[t].get("base"), tensors[t]["value"],
                                                              None if at is None else tensors[at]["value"])
                       for t, at in moves]
            node = event["node"]  # in forward mode it is dropped, unless something requires grad
            passing = node is not None and not inplace and any(
                at is not None and tensors[t]["node"] is None for t, at in moves)
            first = (None, node)  # a first node is the one that was recorded
            rebased = [row for row in event.get("rebased", ()) if tuple(row[1:]) != first]
            return {"inplace": inplace, "results": results, "rebased": rebased,
                    "kept": node is not None and not passing, "passed": passing}
        case "save":
            return {"saved": names.data["nodes"][event["node"]]["saved"]}
        case "hook":
            return {"hook": TERMS.get(event["hook"], f"a hook ({event['hook']}) runs")}
        case "flow":
            return {"output_nr": event["output_nr"] or None,
                    "sum": None if event["sum"] == event["gradient"] else event["sum"]}
        case "accumulate":
            return {"grad": None if names.value(event["grad"]) == names.value(event["gradient"]) else event["grad"]}
        case "error":
            return {"message": event["message"].partition("\n")[0]}
    return {}


def filled(names: Names, sentence: str, fields: Mapping[str, Any]) -> str:
    """Return a sentence with its choices made and its slots written."""
    chosen = CHOICE.sub(lambda found: found[2] if fields.get(found[1]) or type(fields.get(found[1])) is int
                        else found[3], sentence)  # the index 0 is as good as any
    return SLOT.sub(lambda found: slot(names, found[1], fields[found[1]]), chosen)


def slot(names: Names, name: str, x: Any) -> str:
    """Return a field of an event as its name says that it is written."""
    if name in PARTS:
        labels, sentence = PARTS[name]
        return listed([filled(names, sentence, dict(zip(labels, part, strict=True))) for part in x], FEW)
    if isinstance(x, (list, tuple)):
        return listed([slot(names, name, each) for each in x])
    if name in NODES:
        return names.node(x)
    if name in TENSORS:
        return names.tensor(x)
    return names.text(x, SHORT if name in ("value", "tangent") else LONG) if name in VALUES else str(x)
