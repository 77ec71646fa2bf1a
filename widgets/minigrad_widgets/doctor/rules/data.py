"""What goes through a model: examples that mix, numbers of a wild scale, targets that learn with it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.rules.losses import trains
from minigrad_widgets.doctor.teaching import CUT

__all__ = ["batch_leak", "input_scale", "not_detached"]

PRODUCTS = frozenset({"addmm", "mm", "linear", "convolution", "conv1d", "conv2d", "conv3d"})
REGRESSIONS = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
LARGE, SMALL = 20.0, 0.01  # the root of the mean square of data, far from 1
FAR = 100.0  # how much larger targets are than predictions
TARGET = re.compile(r"\w*(target|teacher|soft|goal)\w*\s*=[^=]")
ADVANTAGE = re.compile(r"\w*(advantage|td_error)\w*\s*=[^=]")


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
    """`not-detached`: what the program calls a target or an advantage, and gradients flow through."""
    wanted = [(loss.target, TARGET, f"the target of {loss.name}") for loss in facts.recording.losses
              if loss.target_learns]
    wanted += [(t, ADVANTAGE, "a factor of the loss") for _, event in facts.forwards if event["op"] == "mul"
               for t in event["inputs"] if t is not None and facts.in_graph(t)]
    for tensor, pattern, what in wanted:
        maker = None if tensor is None else facts.made_by.get(tensor)
        where = line_at(facts.trace, at_of(maker[1]), "computed here, in the graph") if maker is not None else []
        name = pattern.match(where[0].source) if where else None
        if name is None or maker is None or not trains(facts, maker[1]["outputs"]):
            continue
        called = name[0].partition("=")[0].strip()
        yield Finding("not-detached", "warning", f"Gradients flow through {called}, {what}: it moves towards the "
                      "prediction, where the prediction should move towards it.", where, {},
                      [Mend("Take it out of the graph.", f"{called} = {called}.detach()")], CUT)
        return
