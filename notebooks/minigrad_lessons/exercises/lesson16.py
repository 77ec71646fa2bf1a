"""The check of "Build the engine": a student's `backward(loss)`, compared call by call with the real pass."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import minigrad as torch
from minigrad._base.optional import MissingExtra, optional
from minigrad.recorder import Trace, record
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import without_recording
from minigrad_lessons.values import show

NAME = "check.engine"
Built = tuple[torch.Tensor, list[torch.Tensor]]  # a loss, and the leaves that it was computed from
LINKS = 3000  # more than Python's recursion goes

HINTS = {
    "engine": ("A node can be called when a gradient has arrived along every edge that leads to it. Count the edges "
               "first, as the worked example does.",
               "Keep a list of gradients for each node, takes(node) long and filled with None, and a list of the nodes "
               "that are ready. Start with the loss's node and a 1.",
               "For each (below, slot) and its result: add the result to what is in slot, or put it there if that is "
               "None; lower needs[below] by 1; at 0 the node below is ready."),
}


def _leaf(*values: float) -> torch.Tensor:
    return torch.tensor(list(values) if len(values) > 1 else values[0], requires_grad=True)


def _chain() -> Built:
    a = _leaf(0.5)
    b = a * 3
    c = b.exp()
    return c, [a]


def _fan_out() -> Built:
    a = _leaf(1.0)
    b = a + a
    c = b * b
    return c, [a]


def _diamond() -> Built:
    a = _leaf(0.5)
    b = a * a
    c = b * 3
    d = b.exp()
    e = c * d
    f = e + b
    return f, [a]


def _constant() -> Built:
    w, bias = _leaf(1.0, 2.0), _leaf(0.5, -0.5)
    data = torch.tensor([3.0, 4.0])
    h = w * data
    loss = (h + bias).sum()
    return loss, [w, bias]


def _several() -> Built:
    x = _leaf(1.0, 2.0, 3.0)
    p, q, _ = x.unbind()
    s = p * q
    loss = s + p
    return loss, [x]


def _random() -> Built:
    """Twenty steps of two operations on whatever was there before; the seed is fixed, and the values stay small."""
    choose = random.Random(16)
    leaves = [_leaf(0.5), _leaf(-0.25), _leaf(1.0)]
    made: list[torch.Tensor] = list(leaves)
    for _ in range(20):
        one, other = choose.choice(made[-6:]), choose.choice(made)
        made.append(choose.choice((torch.add, torch.sub, torch.mul))(one, other).sin())
    return torch.stack(made).sum(), leaves


GRAPHS: tuple[tuple[str, Callable[[], Built]], ...] = (
    ("a chain", _chain), ("fan-out: b = a + a; c = b * b", _fan_out),
    ("a diamond: b = a * a; f = (b * 3) * b.exp() + b", _diamond),
    ("a constant: (w * data + bias).sum()", _constant),
    ("several outputs, one unused: p, q, _ = x.unbind(); p * q + p", _several),
    ("20 steps, put together at random", _random),
)


@dataclass
class Replay:
    """A student's calls on one graph, in the same trace as the real pass."""

    trace: Trace
    error: str = ""
    deep: bool = False  # Python's recursion came to its end
    grads: list[Any] = field(default_factory=list)
    wanted: list[Any] = field(default_factory=list)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The student's calls of nodes."""
        return [dict(event) for event in self.trace.events if event["kind"] == "call"]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """What the engine ran."""
        return [dict(event) for event in self.trace.events if event["kind"] == "run"]

    def node(self, number: int) -> str:
        """A node's name, with its leaf where it has one."""
        record = self.trace.nodes[number]
        leaf = record.get("variable")
        name = None if leaf is None else self.trace.tensors[leaf]["name"]
        return f"{record['name']}({name})" if name else str(record["name"])

    def number(self, value: int | None) -> Any:
        """A recorded value as plain numbers; zeros where there is none."""
        return None if value is None else self.trace.values[value].get("data")


@dataclass
class Parting:
    """Where a student's pass and the real one part: at which call, and what happened."""

    at: int
    text: str


def engine(student: Callable[[torch.Tensor], object]) -> Any:
    """Judge `backward(loss)` on six graphs and on a long chain; an Inspector of where it parts from the engine."""
    if not report.to_judge(NAME, "backward", "Write backward(loss), which calls every node once.", student):
        return None
    same_order = 0
    for text, build in GRAPHS:
        replay = _replay(student, build)
        parting = _parting(replay)
        if parting is not None:
            report.misconception(NAME, parting.text, f"The graph: {text}",
                                 "The picture shows the moment at which your pass and the engine's diverge.")
            return _picture(replay, parting.at)
        same_order += [c["node"] for c in replay.calls] == [r["node"] for r in replay.runs]
    fault = _long_chain(student)
    if fault:
        report.misconception(NAME, fault)
        return None
    report.passed(NAME, f"{len(GRAPHS)} graphs and a chain of {LINKS} nodes: every node once, with its whole gradient",
                  f"in the order of the engine on {same_order} of {len(GRAPHS)} graphs"
                  + ("" if same_order == len(GRAPHS) else "; any order in which no node runs too early is right"))
    return None


def _replay(student: Callable[[torch.Tensor], object], build: Callable[[], Built]) -> Replay:
    """Run the student's backward and then the real one on one graph, in one trace."""
    error, deep = "", False
    with record() as trace:
        loss, leaves = build()
        try:
            without_recording(lambda: student(loss))
        except RecursionError:
            deep = True
        except Exception as raised:  # noqa: BLE001 (whatever a student's code raises is reported)
            error = report.raised(raised, student)
        grads = _taken(leaves)
        loss.backward()
    return Replay(trace, error, deep, grads, _taken(leaves))


def _taken(leaves: list[torch.Tensor]) -> list[Any]:
    """The gradients of the leaves as numbers; they are None afterwards."""
    grads = [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    return grads


def _picture(replay: Replay, at: int) -> Any:
    """The inspector after the calls before that one; None where no inspector is installed."""
    try:
        inspector = optional("minigrad_widgets", "lessons").Inspector(replay.trace, lens="traversal")
    except MissingExtra:
        return None
    inspector.calls = [call["node"] for call in replay.calls[:at]]
    return inspector


def _parting(replay: Replay) -> Parting | None:
    """The first call that the engine would not make, or what is missing at the end."""
    calls, real = replay.calls, {run["node"]: run for run in replay.runs}
    start = next(event for event in replay.trace.events if event["kind"] == "backward_start")
    times = Counter(call["node"] for call in calls)
    for at, (call, arrived) in enumerate(_with_arrivals(replay, calls)):
        if times[call["node"]] > 1:
            return Parting(at, _why_again(replay, call, times[call["node"]], real))
        fault = _why_call(replay, call, arrived, dict(start["needs"]), real, first=at == 0)
        if fault:
            return Parting(at, fault)
    if replay.error:
        return Parting(len(calls), _why_error(replay, real))
    if replay.deep:
        return Parting(len(calls), "it calls itself endlessly.")
    if not calls:
        return Parting(0, "it called no node. A node is called like a function: node(gradient).")
    missing = [n for n in real if n not in {c["node"] for c in calls}]
    if missing and replay.grads != replay.wanted:
        return Parting(len(calls), f"{replay.node(missing[0])} was never called: {len(real)} nodes run in the engine, "
                                   f"{len(real) - len(missing)} in yours.")
    if not all(_equal(found, wanted) for found, wanted in zip(replay.grads, replay.wanted)):
        return Parting(len(calls), f".grad is {show(replay.grads)} at the end, but {show(replay.wanted)} after the "
                                   "real pass: call a leaf's node once, and let it fill .grad.")
    return None


Arrived = dict[int, list[Any]]  # for each output of a node, the gradients that came; None for an edge without one


def _with_arrivals(replay: Replay, calls: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], Arrived]]:
    """Each call with what the calls before it had delivered to its node, in full."""
    delivered: dict[int, Arrived] = {}
    for call in calls:
        yield call, delivered.get(call["node"], {})
        edges = replay.trace.nodes[call["node"]]["next"]
        for edge, result in zip(edges, call["result"]):
            if edge is not None and edge[0] is not None:
                delivered.setdefault(edge[0], {}).setdefault(edge[1], []).append(replay.number(result))


def _why_call(replay: Replay, call: dict[str, Any], arrived: Arrived, needs: dict[int, int],
              real: dict[int, dict[str, Any]], first: bool) -> str:
    """What is wrong with a call; empty if the engine makes the same one."""
    node = call["node"]
    name, count = replay.node(node), sum(map(len, arrived.values()))
    if node not in real:
        return f"{name} is called, but the engine does not run it: no gradient arrives there."
    given, wanted = ([replay.number(value) for value in each] for each in (call["gradient"], real[node]["gradient"]))
    if arrived and count < needs.get(node, 1):
        return (f"{name} is called too early, with the partial sum {show(_one(given))}: {count} of its "
                f"{needs[node]} gradients have arrived. The engine waits, and calls it with {show(_one(wanted))}.")
    if first and not all(map(_equal, given, wanted)):
        return f"the pass starts at {name} with {show(_one(given))}; backward() starts with 1."
    for slot, (mine, theirs) in enumerate(zip(given, wanted)):
        if not _equal(mine, theirs):
            return _why_value(name, mine, theirs, slot, arrived)
    return ""


def _why_again(replay: Replay, call: dict[str, Any], times: int, real: dict[int, dict[str, Any]]) -> str:
    name, part = replay.node(call["node"]), show(_one([replay.number(value) for value in call["gradient"]]))
    if call["node"] not in real:
        return f"{name} is called {times} times, but the engine does not run it: no gradient arrives there."
    whole = show(_one([replay.number(value) for value in real[call["node"]]["gradient"]]))
    return (f"{name} is called {times} times, the first time with the partial sum {part}. A recursion calls a node "
            f"once for each path that leads to it; the engine waits, and calls it once, with {whole}.")


def _why_value(name: str, mine: Any, theirs: Any, slot: int, arrived: Arrived) -> str:
    came = [each for each in arrived.get(slot, []) if each is not None]
    if len(came) > 1 and any(_equal(mine, each) for each in came):
        return (f"{name} is called with {show(mine)}. That is only one of the {len(came)} gradients that arrived; the "
                f"engine adds them up to {show(theirs)}. Add up what arrives.")
    everything = [sum(parts) for parts in zip(*(_flat(each) for values in arrived.values() for each in values))]
    if len(arrived) > 1 and _equal(mine, everything):
        return (f"{name} gets {show(mine)} for its output {slot}, the sum of all that arrived; the engine gives it "
                f"{show(theirs)}. The number in next_functions says which output a gradient is for: keep one sum for "
                "each.")
    return f"{name} is called with {show(mine)}, but the engine calls it with {show(theirs)}."


def _why_error(replay: Replay, real: dict[int, dict[str, Any]]) -> str:
    if "arguments, got" in replay.error:
        return (f"backward(loss) {replay.error} A node with several outputs takes one gradient for each of them, and "
                "None for those that got none: takes(node) says how many.")
    if "NoneType" in replay.error:
        return (f"backward(loss) {replay.error} Something is None here. A pair (None, 0) is an input that does not "
                "require grad: skip it.")
    return f"backward(loss) {replay.error}"


def _one(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _equal(one: Any, other: Any) -> bool:
    """Whether two gradients are the same numbers; None is as good as zeros."""
    if one is None or other is None:
        return not any(map(abs, _flat(one))) and not any(map(abs, _flat(other)))
    a, b = _flat(one), _flat(other)
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 * max(1.0, abs(y)) for x, y in zip(a, b))


def _flat(value: Any) -> list[float]:
    if value is None:
        return []
    return [number for each in value for number in _flat(each)] if isinstance(value, list) else [float(value)]


def _long_chain(student: Callable[[torch.Tensor], object]) -> str:
    """What goes wrong on a chain that is longer than Python's recursion; empty if nothing does."""
    a = _leaf(1.0)
    b = a
    for _ in range(LINKS):
        b = b + 1
    try:
        without_recording(lambda: student(b))
    except RecursionError:
        return (f"a chain of {LINKS} nodes is too deep for Python's recursion. Use a list of nodes that are ready, "
                "and a loop.")
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        return f"on a chain of {LINKS} nodes backward(loss) {report.raised(error, student)}"
    right = a.grad is not None and a.grad.item() == 1.0
    return "" if right else f"on a chain of {LINKS} nodes .grad is {show(a.grad)}, not 1."
