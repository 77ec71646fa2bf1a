"""The PyTorch reader: one program, recorded with both libraries, tells the same story.

What is compared is what can be observed in both; DIFFERENCES is all that may differ, and docs/trace.md says why.
"""

from __future__ import annotations

import cProfile
import gc
import importlib
import math
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

import minigrad
from minigrad import recorder
from minigrad.recording import builder
from tests.parity.trace.programs_traced import PROGRAMS

pytestmark = pytest.mark.torch

OBSERVED = ("forward", "save", "version", "backward_start", "run", "hook", "flow", "accumulate", "capture",
            "backward_end", "checkpoint_begin", "checkpoint_end", "recompute_begin", "holder_filled", "early_stop",
            "recompute_end")
DERIVED = ("ready", "release")


@pytest.fixture
def reader(torch):
    return importlib.import_module("minigrad_widgets.torch_reader")  # it asks for PyTorch


class Told:
    """A trace without what differs from library to library: nodes and tensors by the order in which they are named."""

    def __init__(self, trace: recorder.Trace) -> None:
        self.trace = trace
        self.numbers: dict[int, int] = {}

    def node(self, index: int | None) -> Any:
        if index is None:
            return None
        return self.trace.nodes[index]["name"], self.numbers.setdefault(index, len(self.numbers))

    def value(self, index: int | None) -> Any:
        if index is None:
            return None
        value = self.trace.values[index]
        numbers = value["data"] if "data" in value else [value["stats"][key] for key in ("min", "max", "norm")]
        return value["shape"], value["dtype"], [x if isinstance(x, str) or x is None else float(x) for x in numbers]

    def values(self, indices: Any) -> Any:
        return [self.value(index) for index in indices]

    def made(self, index: int) -> Any:
        return self.value(self.trace.tensors[index]["value"])

    def scope(self, record: Any) -> str:
        """The calls of modules inside of which something was made, the outermost first."""
        path, scope = "", record.get("scope")
        while scope is not None:
            of = self.trace.scopes[scope]
            path, scope = f"{of['name'] or ''} {of['module']}/{path}", of["parent"]
        return path

    def scopes(self) -> list[tuple[Any, ...]]:
        """All calls of modules, and inside of which of them each leaf was met."""
        return [(s["name"], s["module"], s["parent"]) for s in self.trace.scopes] + [
            (node["name"], self.scope(node)) for node in self.trace.nodes if node["name"] == "AccumulateGrad"]

    def fields(self, e: Any) -> tuple[Any, ...]:
        """What an event says, in words that both libraries share."""
        kind = e["kind"]
        if kind == "forward":
            outputs = [t for t in e["outputs"] if e["node"] is None or self.trace.tensors[t]["node"] is not None]
            maker = e if e["node"] is None else self.trace.nodes[e["node"]]
            return e["op"], self.node(e["node"]), [self.made(t) for t in outputs], self.scope(maker)
        if kind == "backward_start":
            return ([(self.node(n), nr, self.value(v)) for n, nr, v in e["roots"]],
                    [(self.node(n), count) for n, count in e["needs"]], e["create_graph"], e["retain_graph"])
        if kind == "flow":
            return (self.node(e["node"]), e["index"], self.node(e["to"]), e["output_nr"], self.value(e["gradient"]),
                    self.value(e["sum"]))
        if kind in ("run", "hook"):
            return (self.node(e["node"]), e.get("hook"), e.get("name"), self.values(e["gradient"]),
                    self.value(e.get("grad")))
        if kind in ("accumulate", "capture"):
            return ("", self.value(e["gradient"]), self.value(e.get("grad")))
        if kind in ("save", "ready", "release"):
            return (self.node(e["node"]),)
        return tuple(e.get(key) for key in ("version", "call", "name", "reentrant", "index"))

    def events(self) -> list[tuple[Any, ...]]:
        return [(e["kind"], e.get("depth", 0), e.get("line"), *self.fields(e)) for e in self.trace.events
                if e["kind"] in OBSERVED + DERIVED]


def alike(a: Any, b: Any) -> bool:
    """Whether two things that were told are the same, numbers nearly."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=2e-4, abs_tol=2e-6)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))
    return bool(a == b)


def recorded(lib: Any, record: Any, program: Callable[..., Any]) -> recorder.Trace:
    lib.manual_seed(0)
    with record() as trace:
        program(lib)
    return trace


class Difference(NamedTuple):
    """What may differ in some programs: `change` takes it out of the events of either library."""

    programs: tuple[str, ...]
    why: str
    change: Callable[[list[Any]], list[Any]]


def without(*kinds: str, of: Iterable[str] = ()) -> Callable[[list[Any]], list[Any]]:
    """Leave out events of these kinds: all, or those of the ops or nodes `of`."""
    def change(events: list[Any]) -> list[Any]:
        return [e for e in events if e[0] not in kinds
                or of and not any(x in of or isinstance(x, tuple) and x and x[0] in of for x in e[3:])]

    return change


def renamed(names: dict[str, str]) -> Callable[[list[Any]], list[Any]]:
    """Exchange names of ops and nodes."""
    def change(told: Any) -> Any:
        if isinstance(told, (list, tuple)):
            return type(told)([change(x) for x in told])
        return names.get(told, told) if isinstance(told, str) else told

    return change


def unordered(events: list[Any]) -> list[Any]:
    """The events by kind and node, without the nodes' numbers."""
    def plain(told: Any) -> Any:
        if isinstance(told, (list, tuple)):
            node = len(told) == 2 and isinstance(told[0], str) and isinstance(told[1], int)
            return told[0] if node else [plain(x) for x in told]
        return round(told, 4) + 0.0 if isinstance(told, float) else told

    return sorted([plain(e) for e in events], key=repr)


DIFFERENCES = (
    Difference(("transformer",), "PyTorch's dropout draws its mask by ops, minigrad's at once",
               lambda events: without("version")(without("forward", of=("bernoulli_", "div_"))(events))),
    Difference(("transformer",), "where somebody watches, PyTorch reshapes by view",
               renamed({"reshape_alias": "view", "ReshapeAliasBackward0": "ViewBackward0",
                        "unsafe_view": "view", "UnsafeViewBackward0": "ViewBackward0"})),
    Difference(("views_in_place",), "what a CopySlices has saved cannot be looked at in PyTorch",
               without("save", "release", of=("CopySlices",))),
    Difference(("rnn",), "PyTorch's cell adds in place, to a tensor that is known already",
               lambda events: without("version")([e[:5] if e[3:4] == ("add",) else e for e in
                                                  renamed({"add_": "add"})(events)])),
    Difference(("frozen_layer",), "an optimizer's arithmetic is its own",
               lambda events: without("version")(without("forward", of=("mul", "sub_", "add_"))(events))),
    Difference(("double_backward",), "the formulas of a recorded pass run their ops in another order", unordered),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_same_story(torch, reader, program):
    told = Told(recorded(minigrad, recorder.record, program)), Told(recorded(torch, reader.record, program))
    assert told[0].scopes() == told[1].scopes()
    ours, theirs = told[0].events(), told[1].events()
    for difference in DIFFERENCES:
        if program.__name__ in difference.programs:
            assert not alike(ours, theirs), f"needless: {difference.why}"
            ours, theirs = difference.change(ours), difference.change(theirs)
    for a, b in zip(ours, theirs):
        assert alike(a, b), f"minigrad: {a}\nPyTorch: {b}"
    assert len(ours) == len(theirs)


def flat(found: Any) -> list[Any]:
    return [x for each in found for x in flat(each)] if isinstance(found, (list, tuple)) else [found]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_results_and_random_numbers_are_unchanged(torch, reader, program):
    torch.manual_seed(0)
    plain, state = flat(program(torch)), torch.get_rng_state()
    torch.manual_seed(0)
    with reader.record():
        watched = flat(program(torch))
    assert torch.equal(state, torch.get_rng_state())
    assert len(plain) == len(watched)
    for a, b in zip(plain, watched):
        assert a is b is None or torch.equal(a, b) and a.stride() == b.stride()


def called(lib: Any) -> list[str]:
    """Which hook is called when, with and without the reader."""
    calls: list[str] = []

    def hook(name: str) -> Callable[..., None]:
        return lambda *given: calls.append(name)

    x = lib.ones(2, requires_grad=True)
    y = x * 3
    z = y.exp()
    for i in range(2):
        for t, name in ((x, "x"), (y, "y"), (z, "z")):
            t.register_hook(hook(f"{name} tensor {i}"))
            if t is not x:
                t.grad_fn.register_prehook(hook(f"{name} pre {i}"))
                t.grad_fn.register_hook(hook(f"{name} post {i}"))
        x.register_post_accumulate_grad_hook(hook(f"accumulated {i}"))
    z.backward(lib.ones(2), retain_graph=True)
    handle = y.register_hook(hook("late"))
    z.sum().backward(retain_graph=True)
    handle.remove()
    lib.autograd.grad(z, x, lib.ones(2))
    return calls


def test_hooks_are_called_in_the_same_order(torch, reader):
    plain = called(torch)
    with reader.record() as trace:
        watched = called(torch)
    assert watched == plain
    told = [e["hook"] for e in trace.events if e["kind"] == "hook"]
    kinds = {"tensor": "tensor", "pre": "pre", "post": "post", "accumulated": "post_accumulate"}
    assert told == [kinds[name.split()[1] if " " in name and name.split()[0] != "accumulated" else
                          "accumulated" if name != "late" else "tensor"] for name in plain]


def test_nothing_is_kept_alive_or_left_behind(torch, reader):
    x = torch.ones(100, requires_grad=True)
    x.register_hook(lambda g: None)
    hooks = dict(x._backward_hooks)
    gc.disable()
    try:
        with reader.record() as trace:
            y = (x * 2).exp()
            gone = weakref.ref(y), weakref.ref(y.grad_fn.next_functions[0][0].next_functions[0][0].variable)
            node = y.grad_fn
            y.sum().backward(retain_graph=True)
            node_hooks = [h.hooks_dict_ref() for h in [node.register_hook(lambda *given: None)]]
            del y, node
            x + 1  # before Python 3.13 a profile function keeps what a variable has held until the next op
            assert gone[0]() is None and gone[1]() is x
        assert dict(x._backward_hooks) == hooks
        assert len(node_hooks[0]) == 2  # the node is gone, nobody looks at its hooks any more
    finally:
        gc.enable()
    assert [event["kind"] for event in trace.events[-2:]] == ["backward_end", "forward"]
    loss = (x * 2).sum()
    with reader.record():
        loss.backward(retain_graph=True)
    probe = loss.grad_fn.register_hook(lambda *given: None)
    assert len(probe.hooks_dict_ref()) == 1


def test_a_graph_that_was_made_before_is_told(torch, reader):
    x = torch.ones(3, requires_grad=True)
    loss = (x * 2).sum()
    with reader.record() as trace:
        loss.backward()
    assert [trace.nodes[e["node"]]["name"] for e in trace.events if e["kind"] == "run"] == [
        "SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert trace.to_json() and trace.frame(len(trace) - 1)["status"]


def test_a_pass_from_what_has_no_graph_raises_pytorchs_own_error(torch, reader):
    with reader.record() as trace, pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        (torch.ones(()) * 2).backward()
    assert [e["op"] for e in trace.events if e["kind"] == "forward"] == ["mul"]


def test_errors_are_told(torch, reader):
    def fail(g):
        raise ValueError("stop here")

    def program(lib, record):
        x = lib.ones(3, requires_grad=True)
        y = x * 2
        y.register_hook(fail)
        with pytest.raises(ValueError, match="stop here"), record() as trace:
            y.sum().backward()
        return trace

    ours, theirs = program(minigrad, recorder.record), program(torch, reader.record)
    assert theirs.events[-1]["kind"] == "error"
    assert Told(theirs).trace.events[-1]["message"] == ours.events[-1]["message"] == "stop here"
    assert theirs.events[-1]["type"] == ours.events[-1]["type"] == "ValueError"


def test_a_pass_that_the_program_saved_itself_from(torch, reader):
    x = torch.ones(3, requires_grad=True)
    y = x * 2
    handle = y.register_hook(lambda g: 1 / 0)
    with reader.record() as trace:
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()
        handle.remove()
        (x * 3).sum().backward()
    kinds = [e["kind"] for e in trace.events if e["kind"] in ("backward_start", "error", "backward_end")]
    assert kinds == ["backward_start", "error", "backward_start", "backward_end"]
    assert not any(e.get("depth") for e in trace.events)
    assert x.grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize("make", [
    lambda torch: (torch.ones(3, dtype=torch.bfloat16), lambda x: x * x),
    lambda torch: (torch.ones(3, dtype=torch.complex64), lambda x: (x * x.conj()).real),
    lambda torch: (torch.ones(5, 3), lambda x: torch.nn.functional.embedding(torch.tensor([1, 2]), x, sparse=True)),
    lambda torch: (torch.ones(3, device="meta"), lambda x: x * 2),
], ids=["bfloat16", "complex", "sparse", "meta"])
def test_values_that_numpy_has_not(torch, reader, make):
    start, f = make(torch)
    x = start.requires_grad_()
    with reader.record() as trace:
        f(x).sum().backward()
    assert trace.events[-1]["kind"] == "backward_end"
    assert recorder.Trace.from_json(trace.to_json()) == trace
    assert x.grad is not None


def left(lib: Any) -> None:
    """Modules that are left by an error, stopped when they run again, called by others' hooks, and called twice."""
    nn, checkpoint = lib.nn, lib.utils.checkpoint.checkpoint
    inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    model = nn.Sequential(inner, inner, nn.ModuleList([nn.Linear(3, 3)])[0])
    x = lib.ones(1, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        model(x)
    for how in (True, False):
        checkpoint(model[0], x, use_reentrant=how).sum().backward()
        checkpoint(lib.sin, checkpoint(lambda t: t.exp(), x, use_reentrant=how), use_reentrant=how).sum().backward()
    inner[1].register_forward_hook(lambda module, args, result: inner[0](result) * 2)
    inner[0].register_forward_pre_hook(lambda module, args: args[0].sin())
    model[:2](x).exp().sum().backward()


def test_modules_that_are_left_in_every_way(torch, reader):
    ours, theirs = (Told(recorded(lib, record, left)) for lib, record in (
        (minigrad, recorder.record), (torch, reader.record)))
    assert ours.scopes() == theirs.scopes()
    assert len(ours.trace.scopes) == 29
    for a, b in zip(ours.events(), theirs.events(), strict=True):
        assert alike(a, b), f"minigrad: {a}\nPyTorch: {b}"


def test_a_recording_that_begins_inside_of_a_module(torch, reader):
    traces = []

    class Inside(torch.nn.Linear):
        def forward(self, x):
            with reader.record() as trace:
                y = torch.nn.Tanh()(super().forward(x))
            traces.append(trace)
            return y

    Inside(2, 2)(torch.ones(1, 2))
    assert [scope["module"] for scope in traces[0].scopes] == ["Tanh"]
    names = {node["name"]: node.get("scope") for node in traces[0].nodes}
    assert names["AddmmBackward0"] is None and names["TanhBackward0"] == 0


LOADED = """import torch
doubled = torch.ones(2) * 2
linear = torch.nn.Linear(2, 2)
linear(doubled).sum().backward()
made = torch.utils.checkpoint.checkpoint(torch.exp, doubled, use_reentrant=False)
"""


@pytest.mark.parametrize("detail", ["values", "modules"])
def test_what_a_library_does_while_it_is_imported_is_not_the_programs(torch, reader, tmp_path, monkeypatch, detail):
    """As when the first checkpoint loads PyTorch's compiler; a module of the user's is the program's own."""
    for name in ("library", "own"):
        (tmp_path / f"{name}_{detail}.py").write_text(LOADED, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(builder, "LIBRARIES", [*builder.LIBRARIES, str(tmp_path / "library")])

    class Late(torch.nn.Module):
        def forward(self, x):
            importlib.import_module(f"library_{detail}")
            return x.exp()

    x = torch.ones(2, requires_grad=True)
    with reader.record(detail=detail) as trace:
        Late()(x).sum().backward()
    assert [event["op"] for event in trace.events if event["kind"] == "forward"] == ["exp", "sum"]
    assert [event["kind"] for event in trace.events].count("backward_start") == 1
    with reader.record(detail=detail) as trace:
        importlib.import_module(f"own_{detail}")
    files = {trace.files[event["file"]]["name"] for event in trace.events if event["kind"] == "forward"}
    assert files == {f"own_{detail}.py"}


def test_under_a_profiler_in_c(torch, reader):
    profile = cProfile.Profile()
    x = torch.ones(3, requires_grad=True)
    with reader.record() as plain:
        (x * 2).sum().backward()
    profile.enable()
    with reader.record() as trace:
        (x * 2).sum().backward()
    profile.disable()
    assert [e["kind"] for e in trace.events] == [e["kind"] for e in plain.events]


def test_one_at_a_time(reader):
    with reader.record(), pytest.raises(RuntimeError, match="a recorder is on already"), reader.record():
        pass
