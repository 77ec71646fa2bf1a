"""What goes through a model: examples that mix, numbers of a wild scale, targets that learn with it.

NOTE (what a target is). That both sides of a loss learn is no fault by itself: two views of an image may meet, centres
may follow their features. It is one where the weights that make the prediction also make what it is compared with, and
either nothing else holds them, so that the same output for everything is best, or data is added to it, so that it is
an estimate to be learned; and where nothing but the comparison trains a copy of what makes the prediction. The names
in the program are words of the sentence only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.rules.cuts import listed
from minigrad_widgets.doctor.rules.losses import trains
from minigrad_widgets.doctor.teaching import CUT
from minigrad_widgets.doctor.watch import Loss

__all__ = ["batch_leak", "input_scale", "not_detached"]

PRODUCTS = frozenset({"addmm", "mm", "linear", "convolution", "conv1d", "conv2d", "conv3d"})
REGRESSIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
LARGE, SMALL = 20.0, 0.01  # the root of the mean square of data, far from 1
FAR = 100.0  # how much larger targets are than predictions
ASSIGNED = re.compile(r"(\w+)\s*=[^=]")
LOGARITHMS = frozenset({"log", "log_", "log_softmax", "_log_softmax", "logsigmoid", "log_sigmoid",
                        "log_sigmoid_forward", "logsumexp"})


def batch_leak(facts: Facts) -> Iterator[Finding]:
    """`batch-leak`: a view that takes sizes in another order, and so mixes examples; a model of sequences that reads
    the batch as time."""
    told: set[Any] = set()
    for _, event in facts.forwards:
        if event["op"] not in ("view", "reshape", "_unsafe_view") or event["inputs"][0] is None:
            continue
        before, after = (facts.tensors[t]["shape"] for t in (event["inputs"][0], event["outputs"][0]))
        old, new = ([n for n in shape if n > 1] for shape in (before, after))
        at = at_of(event)
        if old == new or sorted(old) != sorted(new) or at in told or not trains(facts, event["outputs"]):
            continue
        told.add(at)
        yield Finding("batch-leak", "warning", f"{tuple(before)} is viewed as {tuple(after)}: the sizes change places, "
                      "the numbers do not, so that each row gets parts of several examples.",
                      line_at(facts.trace, at, "mixes examples here"), {},
                      [Mend("Exchange the dimensions themselves.", "h = h.transpose(0, 1)   # not view or reshape")])
    targets = [loss.shape for loss in facts.recording.losses if loss.shape]
    for at, name, shape in facts.recording.sequences:
        if at in told or shape[0] == shape[1] or not any(
                t[0] == shape[0] and math.prod(t) == t[0] for t in targets):
            continue
        told.add(at)
        yield Finding("batch-leak", "warning", f"{name} reads the first dimension of {shape} as time, since it has "
                      f"batch_first=False; the loss has {shape[0]} examples, which then see each other.",
                      line_at(facts.trace, at, "called here"), {},
                      [Mend("Say that the batch comes first.", f"nn.{name}(…, batch_first=True)")])


def rms(facts: Facts, tensor: int) -> tuple[float, float] | None:
    """The root of the mean square of a tensor, and its largest entry; None where its values are unknown."""
    record = facts.tensors[tensor]
    value, norm = facts.value(record["value"]), facts.norm(record["value"])
    size = math.prod(record["shape"])
    if value is None or not norm or not math.isfinite(norm) or not size:
        return None
    numbers = [abs(x) for x in value.get("data", ()) if not isinstance(x, str)]
    largest = max(numbers, default=0.0) if "data" in value else max(abs(value["stats"][k]) for k in ("min", "max"))
    return norm / math.sqrt(size), largest


def input_scale(facts: Facts) -> Iterator[Finding]:
    """`input-scale`: data, or targets, far from unit scale, where nothing normalises them."""
    mend = Mend("Normalise them with numbers of the training data.", "x = (x - mean) / std")
    for _, event in facts.forwards:
        given = [t for t in event["inputs"] if t is not None]
        data = [t for t in given if not facts.in_graph(t) and "float" in facts.tensors[t]["dtype"]]
        if event["op"] not in PRODUCTS or not data or len(data) == len(given):
            continue
        size = rms(facts, data[0])
        if size is not None and (size[0] > LARGE or size[1] < SMALL):
            yield Finding("input-scale", "warning", f"{facts.name(data[0])} goes into the first layer with entries of "
                          f"about {size[0]:.2g}: layers are initialised for entries of about 1.",
                          line_at(facts.trace, at_of(event), "used here"), {"rms": size[0], "largest": size[1]}, [mend])
            break
    for loss in facts.recording.losses:
        found = None if loss.target is None else rms(facts, loss.target)
        guess = rms(facts, loss.input)
        if loss.name in REGRESSIONS and found is not None and guess is not None and found[0] > FAR * max(guess[0], 1):
            yield Finding("input-scale", "warning", f"The targets of {loss.name} are about {found[0]:.2g}, and the "
                          f"predictions {guess[0]:.2g}: it takes long to get there.",
                          line_at(facts.trace, loss.at, "compared here"), {"targets": found[0],
                                                                           "predictions": guess[0]},
                          [Mend("Learn the normalised target.", "y = (y - y.mean()) / y.std()")])
            return


def not_detached(facts: Facts) -> Iterator[Finding]:
    """`not-detached`: a target that learns from being compared with the prediction, or an advantage that learns from
    weighting it. NOTE (what a target is) says how the graph shows that."""
    for loss in facts.recording.losses:
        if loss.target is not None and loss.target_learns and facts.in_graph(loss.input) and (
                found := target_found(facts, loss)):
            yield found
            return
    for _, event in facts.forwards:
        factors = [t for t in event["inputs"] if t is not None and facts.in_graph(t)]
        if event["op"] != "mul" or len(factors) != 2 or not trains(facts, event["outputs"]):
            continue
        for weight, other in (factors, factors[::-1]):
            if any(e["op"] in LOGARITHMS for e in behind(facts, other)) and is_difference(facts, weight):
                yield flowing(facts, weight, "the weight of log-probabilities",
                              "it is changed to make the loss small, where it should say which actions were good")
                return


def target_found(facts: Facts, loss: Loss) -> Finding | None:
    """The finding about one loss whose target learns; None where that is as it should be."""
    target, guess = loss.target or 0, loss.input
    what, moves = f"the target of {loss.name}", ("it moves towards the prediction, where the prediction should move "
                                                 "towards it")
    if not trains(facts, [target]):
        return None
    trained = {number for identity, number in facts.recording.numbers.items()
               if identity in facts.trained or not facts.optimizers} & facts.leaves_with_gradient
    behind_target, behind_guess = (trained & facts.sources_of([t]) for t in (target, guess))
    alone, both = behind_target - behind_guess, behind_target & behind_guess
    if both and (alone_in(facts, loss) or is_difference(facts, target)):
        return flowing(facts, target, f"{what}, made by the weights that make the prediction", moves)
    if alone and not both and not reaches_without(facts, alone, target):
        shapes = [sorted(facts.tensors[t]["shape"] for t in each) for each in (alone, behind_guess - behind_target)]
        if shapes[0] == shapes[1]:
            return flowing(facts, target, f"{what}, and nothing else trains {listed(map(facts.name, sorted(alone)))}, "
                           "a copy of what makes the prediction", moves)
    return None


def flowing(facts: Facts, tensor: int, what: str, moves: str) -> Finding:
    """The finding about a tensor that gradients flow through."""
    where = line_at(facts.trace, at_of(facts.made_by[tensor][1]), "computed here, in the graph")
    name = ASSIGNED.match(where[0].source) if where else None
    called, code = (name[1], f"{name[1]} = {name[1]}.detach()") if name else ("this", "target = target.detach()")
    return Finding("not-detached", "warning", f"Gradients flow through {called}, {what}: {moves}.", where, {},
                   [Mend("Take it out of the graph.", code)], CUT)


def behind(facts: Facts, tensor: int) -> Iterator[dict[str, Any]]:
    """Yield the ops that made a tensor from the results of the layers next to it."""
    waiting, seen = [tensor], {tensor}
    while waiting:
        _, event = facts.made_by.get(waiting.pop(), (0, None))
        if event is None or event["op"] in PRODUCTS:
            continue
        yield event
        fresh = {t for t in event["inputs"] if t is not None and facts.in_graph(t)} - seen
        seen |= fresh
        waiting += fresh


def is_difference(facts: Facts, tensor: int) -> bool:
    """Whether a tensor was made of the results of a layer and of data, added or subtracted, and of no logarithm: a
    reward and what a critic says of the next state."""
    made = list(behind(facts, tensor))
    return not any(e["op"] in LOGARITHMS for e in made) and any(
        e["op"] in ("add", "sub", "rsub") and len({facts.in_graph(t) for t in e["inputs"] if t is not None}) == 2
        for e in made)


def alone_in(facts: Facts, loss: Loss) -> bool:
    """Whether the pass begins at a loss alone, not at its sum with something else that learns."""
    roots = first_roots(facts)
    path = facts.reached_from([loss.input]) & facts.reached_from([loss.target or 0]) & facts.sources_of(roots)
    return not any(path.intersection(e["outputs"]) and path.intersection(e["inputs"]) and any(
        t is not None and t not in path and facts.in_graph(t) for t in e["inputs"]) for _, e in facts.forwards)


def first_roots(facts: Facts) -> set[int]:
    """Return where the passes of the first iteration begin, from which the losses are that were looked at."""
    return {t for p in facts.passes if not p.iteration for n in p.roots for t in facts.outputs_of(n)}


def reaches_without(facts: Facts, leaves: set[int], target: int) -> bool:
    """Whether gradients come to some leaves by another way than through a target."""
    roots = first_roots(facts)
    waiting, seen = list(leaves), set(leaves) | {target}
    while waiting:
        fresh = facts.graph_moves.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return bool(roots & (seen - {target}))
