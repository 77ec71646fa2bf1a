"""Writes the golden fixtures: real programs, recorded, with what Python says of every step.

    python widgets/frontend/scripts/golden.py

The front end's tests then hold its fold, its sentences, its traversal and its geometry equal to Python's.
`tests/widgets/test_golden.py` fails when the files are out of date.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from inspect import getsourcelines
from pathlib import Path
from typing import Any

import minigrad as torch
import minigrad.distributed as dist
from minigrad.nn.parallel import DistributedDataParallel
from minigrad.recorder import Trace, record
from minigrad.recorder import written as packed
from minigrad.trace.format import Names
from minigrad.trace.sentences import describe
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets.graph.derived import derived
from minigrad_widgets.graph.geometry import wires
from minigrad_widgets.graph.labels import label_spots, link_spots
from minigrad_widgets.graph.layout import compute_layout

FIXTURES = Path(__file__).parents[1] / "test" / "fixtures"


def diamond() -> Trace:
    """Two paths to one leaf: a node that is called too early holds a partial sum."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    c = torch.tensor(3.0)
    with record() as trace:
        y = x * x
        loss = (y * c + y).sum()
        loss.backward()
    return trace


def outputs() -> Trace:
    """A node with several outputs: the integers on the edges are not all zero."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
    with record() as trace:
        a, b, _ = x.unbind(0)
        product = b * a
        product.backward(torch.tensor([1.0, -0.5]))
    return trace


def hooks() -> Trace:
    """Hooks on tensors and nodes, retain_grad, two passes over one graph, a gradient that is captured."""
    x = torch.tensor(2.0, requires_grad=True)
    with record() as trace:
        y = x * 3
        y.retain_grad()
        y.register_hook(lambda grad: grad * 10)
        z = y * y
        z.backward(retain_graph=True)
        torch.autograd.grad(z, [y, x])
    return trace


def twice() -> Trace:
    """The second derivative: the first pass records a graph of its own."""
    x = torch.tensor([0.5, -1.5], requires_grad=True)
    with record() as trace:
        (first,) = torch.autograd.grad((x * x * x).sum(), x, create_graph=True)
        first.sum().backward()
    return trace


def nested() -> Trace:
    """A backward pass inside a hook of another one."""
    x = torch.tensor(2.0, requires_grad=True)
    w = torch.tensor(5.0, requires_grad=True)

    def inner(grad: torch.Tensor) -> None:
        with torch.enable_grad():
            (w * w).backward()

    with record() as trace:
        y = x * 4
        y.register_hook(inner)
        (y * y).backward()
    return trace


def reentrant() -> Trace:
    """A leaf that gets a gradient in a pass of its own, inside of the one that reaches it too."""
    w = torch.tensor([2.0], requires_grad=True)
    with record() as trace:
        checkpoint(lambda h: h * w, w * 1, use_reentrant=True).sum().backward()
    return trace


def failing() -> Trace:
    """A pass that an error ends, then one that works; an in-place op and a grad mode."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        y = x.relu()
        with torch.no_grad():
            y.add_(1)
        try:
            y.sum().backward()
        except RuntimeError:
            (x * 2).sum().backward()
    return trace


def by_hand() -> Trace:
    """Nodes called by hand, then the engine."""
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with record() as trace:
        y = (x * 2).sum()
        assert y.grad_fn is not None
        node, _ = y.grad_fn.next_functions[0]
        node(y.grad_fn(torch.tensor(1.0)))
        y.backward()
    return trace


def pattern(size: int, period: int) -> torch.Tensor:
    """Quarters around zero."""
    return torch.tensor([(at % period - period // 2) / 4 for at in range(size)])


def network() -> Trace:
    """Two linear layers on a small batch; values that are too large to be listed."""
    layers = torch.nn.Linear(8, 12), torch.nn.Linear(12, 1)
    with torch.no_grad():  # quarters: sums are exact, so every machine writes the same file
        for layer in layers:
            for parameter in layer.parameters():
                parameter.copy_(pattern(parameter.numel(), 5).reshape(parameter.shape))
    x = pattern(128, 7).reshape(16, 8)
    with record() as trace:
        hidden = torch.nn.functional.relu(layers[0](x))
        loss = torch.nn.functional.mse_loss(layers[1](hidden), torch.zeros(16, 1))
        loss.backward()
    return trace


def _inner(x: torch.Tensor) -> torch.Tensor:
    return (x * x).relu()


def checkpointed() -> Trace:
    """One checkpoint inside another, reentrant around non-reentrant, then two levels that both stop early."""
    x = torch.tensor([1.0, -2.0], requires_grad=True)

    def outer(given: torch.Tensor) -> torch.Tensor:
        return checkpoint(_inner, given * 2, use_reentrant=False) * given

    with record() as trace:
        for way in (True, False):
            checkpoint(outer, x, use_reentrant=way).sum().backward()
    return trace


def views() -> Trace:
    """Views that are written to: versions that go up together, nodes that give way to others."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with record() as trace:
        y = x * 2
        row = y[1]
        row.mul_(3)
        column = y[:, 0]
        column.add_(x[0, 0])
        y.relu_()
        (y.sum() + row.sum()).backward()
    return trace


def zeroed() -> Trace:
    """A `.grad` that the program changes in place, sets and takes off between two passes."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with record() as trace:
        (w * w).sum().backward()
        assert w.grad is not None
        with torch.no_grad():
            w.grad.mul_(0.5)
        w.grad = torch.tensor([3.0, 4.0])
        w.grad = None
        (w * 3).sum().backward()
    return trace


def data_parallel() -> Trace:
    """A pass of DistributedDataParallel on a single rank: its bucket is sent, waited for, and comes back."""
    dist.init_process_group("mpi")
    try:
        layer = torch.nn.Linear(2, 1)
        layer.load_state_dict({"weight": torch.tensor([[2.0, 3.0]]), "bias": torch.tensor([1.0])})
        model = DistributedDataParallel(layer)
        with record() as trace:
            model(torch.tensor([[1.0, 2.0]])).sum().backward()
            layer.bias.grad.numpy()[:] = 5.0  # as if another rank had a part in the sum
            dist.all_reduce(layer.bias.grad)
    finally:
        dist.destroy_process_group()
    return trace


def first_write() -> Trace:
    """Writes into tensors and views that were not recorded before: they get their first node."""
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    plain = torch.zeros(2, 2)
    with record() as trace:
        row = plain[0]
        row.add_(x)
        (plain.sum() + row.sum()).backward()
    return trace


PROGRAMS: list[Callable[[], Trace]] = [
    diamond, outputs, hooks, twice, nested, reentrant, failing, by_hand, network, checkpointed, views, zeroed,
    first_write, *([data_parallel] if dist.is_available() else []),
]


def walks(trace: Trace) -> list[list[int]]:
    """Lists of calls to play: the engine's order, its reverse, depth first, and each node again and again."""
    order = [event["node"] for event in trace.events if event["kind"] == "run"]
    engine = [node for node in order if node is not None]
    depth: list[int] = []
    stack = engine[:1]
    while stack and len(depth) < 40:
        depth.append(stack.pop())
        edges = trace.nodes[depth[-1]]["next"]
        stack += [edge[0] for edge in reversed(edges) if edge is not None]
    again = [node for node in engine for _ in range(2)]
    return [[], engine[:1], engine[:3], engine, engine[::-1], depth, again, engine + engine]


def settled(data: dict[str, Any], program: Callable[[], Trace]) -> dict[str, Any]:
    """A trace with positions, without what changes from run to run or with edits elsewhere."""
    source, first = getsourcelines(program)
    for file in data["files"]:
        file.update(name="program", lines=[""] * (first - 1) + [line.rstrip() for line in source])
    oldest = min(node["sequence_nr"] for node in data["nodes"] if node["sequence_nr"] is not None)
    for node in data["nodes"]:
        if node["sequence_nr"] is not None:
            node["sequence_nr"] -= oldest
    data["formulas"] = {}
    data["layout"] = compute_layout(data)
    return data


def fixture(program: Callable[[], Trace]) -> dict[str, Any]:
    """A recorded program, and all that Python says of it."""
    data = settled(json.loads(json.dumps(program().to_dict())), program)
    trace = Trace.from_dict(data)
    words = Names(data)
    steps, drawn = range(len(data["events"])), wires(data)
    return {
        "trace": {**data, **derived(data)},
        "frames": [trace.frame(step) for step in steps],
        "held": [trace.held(step) for step in steps],
        "file": packed({**data, **derived(data)}),
        "texts": [describe(words, event) for event in data["events"]],
        "steps": {lens: trace.steps(lens) for lens in ("forward", "backward", "checkpoint")},
        "wires": {wire.key: wire.points for wire in drawn if wire.to is not None},
        "spots": label_spots(data, drawn, dict.fromkeys((wire.key for wire in drawn), 100.0)),
        "links": [[link["from"], link["to"], *spot] for link, spot in link_spots(data)],
        "walks": [{"calls": calls, "gives": trace.traverse(calls)} for calls in walks(trace)],
    }


def written(program: Callable[[], Trace]) -> str:
    """A fixture as the text of its file."""
    return json.dumps(fixture(program), separators=(",", ":"), ensure_ascii=False) + "\n"


def main() -> None:
    """Writes all fixtures."""
    FIXTURES.mkdir(parents=True, exist_ok=True)
    for program in PROGRAMS:
        path = FIXTURES / f"{program.__name__}.json"
        path.write_text(written(program), encoding="utf-8")
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
