"""Numbers that stop being finite, gradients that vanish or explode, units that are dead or saturated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise, takewhile
from typing import Any, NamedTuple

from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.rules.updates import overshoots
from minigrad_widgets.doctor.watch import Activation

__all__ = ["Layer", "activations", "depth", "layers", "nan"]

MASKS = frozenset({"masked_fill", "masked_fill_", "where", "fill_", "full", "tril", "triu", "copy_", "index_put_",
                   "masked_scatter", "scatter_", "scatter", "max_pool2d", "max_pool1d", "constant_pad_nd", "detach",
                   "index_fill_", "clone", "view", "expand", "to_copy", "pad", "masked_fill_tensor"})
RATIO = 1e4  # between the gradients of two layers: more is a fault
PLAIN = 1e3  # a norm of a layer's gradient per entry: more is a fault in itself
ALONE = 0.8  # the share of a change that one layer makes by itself
DEAD, SATURATED = 0.5, 0.9  # shares of units, in every step
MENDS = {"log": ("Take the logarithm of the softmax in one op.", "F.log_softmax(scores, dim=1)"),
         "div": ("Keep the divisor away from 0.", "z = x / (deviation + 1e-5)"),
         "exp": ("Bound the argument of exp.", "ratio = torch.exp((new - old).clamp(max=10))"),
         "sqrt": ("Keep the argument away from 0, where the slope is infinite.", "torch.sqrt(x + 1e-12)"),
         "pow": ("Keep the base away from 0, where the slope is infinite.", "(x + 1e-12) ** 0.5")}
SKIPPED = (", and the scaler skipped this step: in its first steps, it lowers its scale until none is made. If it "
           "never ends, this is the place: let more steps run.")
EMPTY = [Mend("Skip empty batches.", "if len(x) == 0:\n    return")]


def nan(facts: Facts) -> Iterator[Finding]:
    """`nan-forward` and `nan-backward`: the first op that made a NaN or Inf from finite numbers."""
    forward = next(((step, event) for step, event in facts.forwards if starts(facts, event)), None)
    backward = next(((step, event) for step, event in facts.walk() if event["kind"] == "flow"
                     and event["gradient"] in facts.not_finite and clean_run(facts, step, event["node"])), None)
    spoilt = any(e["kind"] in ("accumulate", "capture") and e["gradient"] in facts.not_finite
                 for e in facts.events) or any(spoilt_first(facts, t)
                                               for p in facts.passes for n in p.roots for t in facts.outputs_of(n))
    if forward is not None and (backward is None or forward[0] < backward[0]):
        step, event = forward
        worst = next(t for t in event["outputs"] if spoilt_first(facts, t))
        shown = what_is(value_of(facts, worst))
        inputs = ", ".join(range_of(facts, t) for t in event["inputs"] if t is not None)
        empty = any(0 in facts.tensors[t]["shape"] for t in event["inputs"] if t is not None)
        given = "an empty tensor: the mean of no entries is NaN" if empty else "finite numbers"
        skipped = backs_off(facts, step, shown)
        said = SKIPPED if skipped else "." if spoilt else ", which reached neither the loss nor a gradient."
        yield Finding("nan-forward", "error" if spoilt and not skipped else "note",
                      f"{event['op']} made {shown} of {given}{said}",
                      line_at(facts.trace, at_of(event), f"{event['op']} of {inputs or 'numbers'}"),
                      {"iteration": facts.iteration(step) + 1, "made": shown},
                      EMPTY if empty else mends_for(event["op"]))
        if spoilt:
            return
    if backward is not None:
        step, event = backward
        record = facts.nodes[event["node"]]
        saved = ", ".join(f"{name} {shown_value(facts, value)}" for name, _, value in record["saved"]
                          if value is not None)
        where = line_at(facts.trace, facts.node_at(event["node"]), f"its derivative, with {saved or 'nothing saved'}")
        where += line_at(facts.trace, at_of(event), "backward starts here")
        shown = what_is(facts.value(event["gradient"]))
        skipped = backs_off(facts, step, shown)
        yield Finding("nan-backward", "note" if skipped else "error", f"{record['name']} made {shown} of finite "
                      f"gradients{SKIPPED if skipped else '.'}", where, {"iteration": facts.iteration(step) + 1},
                      mends_for(record["name"].lower()))


def backs_off(facts: Facts, step: int, made: str) -> bool:
    """Return whether a gradient scaler looks for its scale: a loss was multiplied by more than 1 in this iteration,
    that made an Inf, and the optimizer did not step. A NaN comes from elsewhere."""
    calls = [call for call in facts.calls if call.iteration == facts.iteration(step)]
    return (made == "Inf" and any(call.kind == "scale" and call.subject > 1 for call in calls)
            and not any(call.kind == "step" for call in calls))


def starts(facts: Facts, event: dict[str, Any]) -> bool:
    """Return whether an op made a NaN or Inf from finite numbers, and not on purpose as a mask does."""
    return (event["op"] not in MASKS and any(spoilt_first(facts, t) for t in event["outputs"])
            and not any(spoilt_first(facts, t) for t in event["inputs"] if t is not None)
            and not (event["op"] in ("mul", "div") and from_infinity(facts, event)) and matters(facts, event))


def matters(facts: Facts, event: dict[str, Any]) -> bool:
    """Return whether what is not finite in an op's results goes on into a graph. The logarithm of a distance of 0, from
    which T5 makes the number of a bucket, does not."""
    written = {e["tensor"] for e in facts.events if e["kind"] == "version"}  # their values may be any by now
    forth, waiting = facts.moves[0], [t for t in event["outputs"] if spoilt_first(facts, t)]
    found = set(waiting)
    while waiting:
        fresh = {t for t in forth.get(waiting.pop(), ()) if t in written or spoilt_first(facts, t)} - found
        found |= fresh
        waiting += fresh
    return any(facts.in_graph(t) for t in found)


def from_infinity(facts: Facts, event: dict[str, Any]) -> bool:
    """Return whether the user wrote the infinity: `mask * float("-inf")`."""
    shown = line_at(facts.trace, at_of(event), "")
    return bool(shown) and ("inf" in shown[0].source)


def spoilt_first(facts: Facts, tensor: int) -> bool:
    """Return whether a tensor held a NaN or Inf when it was first seen."""
    return facts.tensors[tensor]["value"] in facts.not_finite


def value_of(facts: Facts, tensor: int) -> dict[str, Any] | None:
    """Return what a tensor held when it was first seen."""
    return facts.value(facts.tensors[tensor]["value"])


def clean_run(facts: Facts, step: int, node: int) -> bool:
    """Return whether the gradients that a node received in this pass are finite."""
    for i in range(step, -1, -1):
        event = facts.events[i]
        if event["kind"] == "run" and event["node"] == node:
            return facts.not_finite.isdisjoint(event["gradient"])
    return False


def what_is(preview: dict[str, Any] | None) -> str:
    """Return which of NaN and Inf an array has."""
    if preview is None:
        return "NaN"
    if "data" in preview:
        return "NaN" if "nan" in preview["data"] else "Inf"
    return "NaN" if preview["stats"]["nan"] else "Inf"


def range_of(facts: Facts, tensor: int) -> str:
    """Return a tensor as its name and the range of its values."""
    if 0 in facts.tensors[tensor]["shape"]:
        return facts.name(tensor)
    return f"{facts.name(tensor)} {shown_value(facts, facts.tensors[tensor]['value'])}"


def shown_value(facts: Facts, value: int | None) -> str:
    """Return the range of an array's values."""
    preview = facts.value(value)
    if preview is None:
        return "unknown"
    numbers = [x for x in preview.get("data", ()) if not isinstance(x, str)]
    stats = preview.get("stats", {"min": min(numbers, default=None), "max": max(numbers, default=None)})
    if stats["min"] is None:
        return "without a finite entry"
    return f"in [{stats['min']:.3g}, {stats['max']:.3g}]"


def mends_for(op: str) -> list[Mend]:
    """Return the remedies for an op."""
    return [Mend(*text) for key, text in MENDS.items() if key in op][:1] or [
        Mend("Keep its inputs away from points where its value or slope is infinite.", "x = x.clamp(min=1e-6)")]


class Layer(NamedTuple):
    """The gradient of one parameter, by its distance from the loss: the norm, and the norm per entry."""

    name: str
    norm: float
    scale: float
    tensor: int
    step: int


def layers(facts: Facts, iteration: int | None = None) -> list[Layer]:
    """The gradients of the weights (two dimensions or more), from the loss down, of one iteration or the last one."""
    found: dict[int, Layer] = {}
    last = (facts.passes[-1].iteration if facts.passes else 0) if iteration is None else iteration
    for i, e in facts.walk():
        if e["kind"] != "accumulate" or e["tensor"] is None or facts.iteration(i) != last:
            continue
        record = facts.tensors[e["tensor"]]
        norm = facts.norm(e["gradient"])
        if len(record["shape"]) < 2 or norm is None or (facts.parameter_names and not record["parameter"]):
            continue
        found[e["tensor"]] = Layer(facts.name(e["tensor"]), norm, norm / math.sqrt(max(math.prod(record["shape"]), 1)),
                                   e["tensor"], i)
    return list(found.values())


def depth(facts: Facts) -> Iterator[Finding]:
    """`exploding-gradient` and `vanishing-gradient`."""
    before = 0 if overshoots(facts) else None  # later gradients say nothing about the model
    found = [layer for layer in layers(facts, before) if math.isfinite(layer.norm) and layer.norm > 0]
    if not found or facts.recording.error is not None:
        return
    top = found[0].scale
    evidence = {layer.name: layer.norm for layer in found[:12]}
    highest = max(found, key=lambda each: each.scale)
    faded = deepest_faded(untied(facts, found), top)
    faded = faded and deepest_faded(beside(facts, untied(facts, found)), top)
    factor = max([call.subject for call in facts.of_kind("scale")], default=1.0)
    if highest.scale > PLAIN * factor or highest.scale > top * RATIO:
        where = line_at(facts.trace, line_of(facts, jump(found, 1)), "it begins here")
        said = f"grows from {top:.2g} per entry at {found[0].name} to {highest.scale:.2g} at {highest.name}"
        if highest is found[0]:
            said = f"is {top:.2g} per entry at {highest.name}, the layer next to the loss, and no larger further down"
        yield Finding("exploding-gradient", "warning", f"The gradient {said}.", where, evidence,
                      [Mend("Initialise the layer for its width, or normalise its input.",
                            "nn.init.kaiming_normal_(layer.weight)"),
                       Mend("Clip the gradients.", "nn.utils.clip_grad_norm_(model.parameters(), 1.0)")])
    elif faded:
        deepest = min(faded, key=lambda each: each.scale)
        where = line_at(facts.trace, line_of(facts, jump(found, -1)), "it begins here")
        yield Finding("vanishing-gradient", "warning", f"The gradient fades from {top:.2g} per entry at {found[0].name}"
                      f" to {deepest.scale:.2g} at {deepest.name}.", where, evidence,
                      [Mend("Use an activation whose slope stays near 1, or a residual connection.",
                            "h = h + torch.relu(layer(h))"),
                       Mend("Initialise for the depth, or normalise between the layers.", "nn.LayerNorm(width)")])


def deepest_faded(found: list[Layer], top: float) -> list[Layer]:
    """Return the layers from the deepest one up whose gradient is far smaller than that next to the loss."""
    return list(takewhile(lambda each: each.scale * RATIO < top, reversed(found)))


def untied(facts: Facts, found: list[Layer]) -> list[Layer]:
    """Return the layers without those whose weight is used at both ends of the model, as an embedding is in its head.

    A gradient that fades along the depth is small in everything that lies deeper. A branch in which it is small,
    beside a way around, is healthy: the queries and keys of an attention that is still even, or a scaled branch.
    """
    uses: dict[str, set[int | None]] = {"": set(), "embedding": set()}
    for _, e in facts.forwards:
        if e["node"] is not None:
            uses[e["op"] if e["op"] in uses else ""].update(e["inputs"])
    return [each for each in found if each.tensor not in uses["embedding"] & uses[""]]


def beside(facts: Facts, found: list[Layer]) -> list[Layer]:
    """Return the layers without those in a branch that has a way around it, if the gradient has not faded where the
    two meet: LayerScale, ReZero and blocks whose last layer begins at 0 are small in the branch alone."""
    meetings = [(e, scale) for e, scale in gradients_at(facts) if is_meeting(facts, e)]
    top = max((scale for _, scale in meetings), default=0.0)
    whole = [e for e, scale in meetings if scale * RATIO >= top]
    reached = {layer: facts.reached_from([layer.tensor]) for layer in found}
    return [layer for layer in found if not any(len(reached[layer].intersection(e["inputs"])) == 1 for e in whole)]


def gradients_at(facts: Facts) -> Iterator[tuple[dict[str, Any], float]]:
    """Yield each sum of two tensors with the gradient per entry that it got in the last iteration."""
    sums = {e["node"]: e for _, e in facts.forwards if e["op"] in ("add", "add_", "iadd") and e["node"] is not None}
    for e in facts.events:
        if e["kind"] == "run" and e["node"] in sums and (norm := facts.norm(e["gradient"][0])) is not None:
            shape = facts.tensors[sums[e["node"]]["outputs"][0]]["shape"]
            yield sums[e["node"]], norm / math.sqrt(max(math.prod(shape), 1))


def is_meeting(facts: Facts, event: dict[str, Any]) -> bool:
    """Return whether two ways from one tensor, other than a parameter, meet in an op."""
    ways = [facts.sources_of([t]) for t in event["inputs"] if t is not None][:2]
    return len(ways) == 2 and any(not facts.tensors[t]["parameter"] for t in ways[0] & ways[1])


def jump(found: list[Layer], sign: int) -> Layer:
    """The layer at which the gradient, coming from the loss, begins to change: if one jump makes most of the change,
    the layer that it passed through; else the first one after the largest jump."""
    changes = [(sign * math.log(after.scale / before.scale), before, after) for before, after in pairwise(found)]
    if not changes:
        return found[0]
    most, before, after = max(changes, key=lambda change: change[0])
    return before if most > ALONE * sum(max(change[0], 0) for change in changes) else after


def line_of(facts: Facts, layer: Layer) -> Any:
    """Return the user's line that used a parameter."""
    return next((at_of(e) for _, e in facts.forwards if layer.tensor in e["inputs"]), None)


def activations(facts: Facts) -> Iterator[Finding]:
    """`dead-relu` and `saturated`: the same activation in every iteration."""
    by_place: dict[Any, list[Activation]] = defaultdict(list)
    for iteration in range(len(facts.recording.starts)):
        counts: dict[Any, int] = defaultdict(int)
        for each in facts.recording.activations:
            if each.iteration == iteration:
                key = each.at, each.kind, counts[each.at, each.kind]
                counts[each.at, each.kind] += 1
                by_place[key].append(each)
    told: set[Any] = set()
    for (at, kind, _), runs in by_place.items():
        if len(runs) < len(facts.recording.starts) or at in told:
            continue
        if kind == "relu":
            yield from dead(facts, at, runs, told)
        elif min(run.saturated for run in runs) >= SATURATED:
            told.add(at)
            share = min(run.saturated for run in runs)
            yield Finding("saturated", "warning", f"{share:.0%} of what this {kind} gave lie where its slope is 0: "
                          "hardly any gradient passes.", line_at(facts.trace, at, "saturated here"), {"share": share},
                          [Mend("Keep its inputs near 0: scale the data, or normalise before it.",
                                "x = (x - x.mean(0)) / x.std(0)")])


def dead(facts: Facts, at: Any, runs: list[Activation], told: set[Any]) -> Iterator[Finding]:
    """`dead-relu` of one activation."""
    masks = [run.dead for run in runs]
    if any(mask is None or mask.shape != masks[0].shape for mask in masks):
        return
    always = masks[0]
    for mask in masks[1:]:
        always = always & mask
    if always.mean() < DEAD:
        return
    told.add(at)
    yield Finding("dead-relu", "warning", f"{int(always.sum())} of {always.size} units of this relu were 0 for the "
                  "whole batch in every step: no gradient passes through them.",
                  line_at(facts.trace, at, "dead here"), {"units": int(always.sum()), "of": always.size},
                  [Mend("Lower the learning rate or the bias, and scale the inputs.",
                        "nn.init.zeros_(layer.bias)"),
                   Mend("Or let a small gradient through.", "F.leaky_relu(h, 0.01)")])
