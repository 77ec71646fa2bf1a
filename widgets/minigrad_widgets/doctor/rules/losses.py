"""Losses that compute something other than intended, and modules in the wrong mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from minigrad_widgets.doctor.facts import Facts, at_of
from minigrad_widgets.doctor.findings import Finding, Mend, line_at
from minigrad_widgets.doctor.teaching import EVAL
from minigrad_widgets.doctor.watch import Call

__all__ = ["broadcast", "modes", "twice_normalised"]

# Ops that only show the same numbers in another shape.
SHAPES = frozenset({"view", "reshape", "squeeze", "unsqueeze", "t", "transpose", "permute", "flatten", "select",
                    "slice", "index", "unsafe_view", "expand", "contiguous", "clone", "alias", "to_copy", "unflatten"})
MODAL = ("BatchNorm", "Dropout", "AlphaDropout", "FeatureAlphaDropout")
ARITHMETIC = frozenset({"sub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "mul", "rsub"})


def twice_normalised(facts: Facts) -> Iterator[Finding]:
    """`softmax-before-cross-entropy` and `sigmoid-before-bce-with-logits`."""
    told = set()
    for _, event in facts.forwards:
        if event["op"] in ("log_softmax", "_log_softmax"):
            before = origin(facts, event, ("softmax", "_softmax", "log_softmax", "_log_softmax"))
            rule, by = "softmax-before-cross-entropy", "softmax"
            into = "cross_entropy, which applies the softmax itself"
            mend = Mend("Pass cross_entropy the raw scores.", "loss = F.cross_entropy(scores, y)")
        elif "binary_cross_entropy_with_logits" in event["op"]:
            before = origin(facts, event, ("sigmoid", "sigmoid_"))
            rule, by = "sigmoid-before-bce-with-logits", "sigmoid"
            into = "binary_cross_entropy_with_logits, which applies the sigmoid itself"
            mend = Mend("Pass it the raw scores.", "loss = F.binary_cross_entropy_with_logits(scores, y)")
        else:
            continue
        if before is None or at_of(before) == at_of(event) and before["op"].endswith("log_softmax"):
            continue
        where = line_at(facts.trace, at_of(before), f"{by} here") + line_at(facts.trace, at_of(event), "and again here")
        if (rule, tuple(where)) in told:
            continue
        told.add((rule, tuple(where)))
        yield Finding(rule, "warning", f"A {by} goes into {into}: the scores are squeezed twice, and gradients are "
                      "small.", where, {}, [mend])


def origin(facts: Facts, event: dict[str, Any], ops: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the op among `ops` that made the first operand of an op, ignoring changes of shape."""
    tensor = next((t for t in event["inputs"] if t is not None), None)
    while tensor is not None and tensor in facts.made_by:
        _, maker = facts.made_by[tensor]
        if maker["op"] in ops:
            return maker
        if maker["op"] not in SHAPES:
            return None
        tensor = next((t for t in maker["inputs"] if t is not None), None)
    return None


def broadcast(facts: Facts) -> Iterator[Finding]:
    """`broadcast-loss`: (N, 1) against (N,), which broadcasts to (N, N)."""
    told = set()
    for _, event in facts.forwards:
        if event["op"] not in ARITHMETIC:
            continue
        given = [unexpanded(facts, t) for t in event["inputs"] if t is not None][:2]
        shapes = [facts.tensors[t]["shape"] for t in given]
        # Of two tensors of integers the whole table is meant: the distance of each position from each other one.
        if sorted(map(len, shapes)) != [1, 2] or not any("float" in facts.tensors[t]["dtype"] for t in given):
            continue
        (flat, column) = sorted(shapes, key=len)
        at = at_of(event)
        if column[1] != 1 or column[0] != flat[0] or flat[0] < 2 or at in told or not compares(facts, event, given):
            continue
        told.add(at)
        names = " and ".join(f"{facts.name(t)} {tuple(s)}" if facts.tensors[t]["name"] else facts.name(t)
                             for t, s in zip(given, shapes))
        yield Finding("broadcast-loss", "error", f"{names} broadcast to ({flat[0]}, {flat[0]}): every prediction is "
                      "compared with every target.", line_at(facts.trace, at, "broadcast here"),
                      {"entries": flat[0] ** 2, "meant": flat[0]},
                      [Mend("Give both the same shape.", "loss = F.mse_loss(model(x).squeeze(1), y)")])


def unexpanded(facts: Facts, tensor: int) -> int:
    """Return the tensor that was expanded to this one, as a loss does with its input and target; else this one."""
    maker = facts.made_by.get(tensor)
    if maker is not None and maker[1]["op"] in ("expand", "broadcast_to") and maker[1]["inputs"][0] is not None:
        source: int = maker[1]["inputs"][0]
        return source
    return tensor


def compares(facts: Facts, event: dict[str, Any], given: list[int]) -> bool:
    """Return whether an op lies between a prediction and the loss.

    Exactly one of its two operands is a prediction, with a graph; the losses of the library take nothing else. From
    its result a backward pass starts, and no weight is used on the way there: a feature would meet one.
    """
    predictions = [t for t in given if facts.in_graph(t)]
    if not predictions or len(predictions) == 2 and not event["op"].endswith("loss"):
        return False
    if any(facts.tensors[t]["is_leaf"] and facts.tensors[t]["parameter"] for t in predictions):
        return False
    roots = {t for p in facts.passes for n in p.roots for t in facts.outputs_of(n)}
    reached = facts.reached_from(event["outputs"], graph_only=True)
    return bool(roots & reached) and not any(
        reached.intersection(e["inputs"]) and any(is_weight(facts, t) for t in e["inputs"] if t is not None)
        for _, e in facts.forwards)


def is_weight(facts: Facts, tensor: int) -> bool:
    """Return whether a tensor of several entries is a parameter, or another form of one."""
    record, maker = facts.tensors[tensor], facts.made_by.get(tensor)
    if record["shape"] == [] or not facts.in_graph(tensor):
        return False
    return record["is_leaf"] if maker is None else maker[1]["op"] in SHAPES and is_weight(facts, maker[1]["inputs"][0])


def modes(facts: Facts) -> Iterator[Finding]:
    """`mode-mismatch`: BatchNorm or Dropout in eval mode while training, or in train mode while evaluating."""
    told: set[Any] = set()
    outer: Call | None = None
    spans = outermost(facts)
    for call in facts.calls:
        if call.kind != "module":
            continue
        if not isinstance(call.subject, tuple):
            outer, name, training = call, type(call.subject).__name__, call.training
            own = [p.requires_grad for p in call.subject.parameters()]
        else:
            name, training, own = call.subject
        if outer is None or not name.startswith(MODAL) or outer.at in told:
            continue
        trained = trains(facts, next((end.subject for begin, end in spans if begin is outer), ()))
        learns = any(own) or (name.startswith(("Dropout", "Alpha", "Feature")) and any(
            p.requires_grad for p in outer.subject.parameters()))
        if call.mode and not training and trained and learns:
            told.add(outer.at)
            yield mismatch(facts, outer, name, "eval", "in a step that trains")
        elif (not call.mode and training and outer.training and not trained and not in_checkpoint(facts, call)
              and not (name.startswith("BatchNorm") and is_thrown_away(facts, outer.at))):
            told.add(outer.at)
            yield mismatch(facts, outer, name, "train", "in a pass without gradients")


def is_thrown_away(facts: Facts, at: Any) -> bool:
    """Return whether a line calls a module and ignores the result, `model(x)`: that updates the running statistics."""
    lines = line_at(facts.trace, at, "")
    source = re.sub(r"^with .*?:\s+", "", lines[0].source) if lines else ""
    try:
        (statement,) = ast.parse(source).body
    except (SyntaxError, ValueError):  # a part of a statement
        return False
    return (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            and isinstance(statement.value.func, (ast.Name, ast.Attribute)) and "(" not in ast.unparse(
                statement.value.func) and not any(isinstance(each, ast.Call) for each in ast.walk(statement.value)
                                                  if each is not statement.value))


def outermost(facts: Facts) -> list[tuple[Call, Call]]:
    """Return the calls of modules that are not inside another one, with their ends."""
    begins: Call | None = None
    found = []
    for call in facts.calls:
        if call.kind == "module" and not isinstance(call.subject, tuple):
            begins = call
        elif call.kind == "module_end" and begins is not None:
            found.append((begins, call))
            begins = None
    return found


def trains(facts: Facts, tensors: Iterable[int]) -> bool:
    """Return whether a backward pass starts at something that was computed from one of these."""
    roots = {t for p in facts.passes for n in p.roots for t in facts.outputs_of(n)}
    return bool(roots & facts.reached_from(tensors))


def in_checkpoint(facts: Facts, call: Call) -> bool:
    """Whether gradients are off because a reentrant checkpoint runs its function, and not by a block of the user's."""
    reentrant = any(e["kind"] == "checkpoint_begin" and e["reentrant"] for e in facts.events)
    block = facts.without_grad(call.order)
    begun = {at_of(e) for e in facts.events if e["kind"] == "checkpoint_begin"}
    return reentrant and (block is None or block in begun)


def mismatch(facts: Facts, call: Call, name: str, mode: str, when: str) -> Finding:
    """Return the finding about a module in the wrong mode."""
    other = "train" if mode == "eval" else "eval"
    return Finding("mode-mismatch", "warning", f"{name} runs in {mode} mode {when}.",
                   line_at(facts.trace, call.at, "called here"), {"mode": mode},
                   [Mend(f"Switch the mode before it: model.{other}().",
                         "model.train()\nloss = loss_fn(model(x), y)" if mode == "eval" else
                         "model.eval()\nwith torch.no_grad():\n    scores = model(x)\nmodel.train()")],
                   EVAL)
