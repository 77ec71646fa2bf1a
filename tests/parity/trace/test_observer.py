"""A recording never changes what a program does, whatever goes wrong in the recorder or cannot be looked at."""

from __future__ import annotations

import copy
import gc
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from opcode import opmap
from types import CodeType, FrameType
from typing import Any

import pytest

from minigrad.recorder import Trace
from minigrad_widgets import checkup, explain, inspect

pytestmark = pytest.mark.torch

RECORDING = ("bindings", "builder", "names", "tracker")  # what the reader shares with minigrad's recorder
DOORS = {  # where the program would be told, or Python: they call nothing that can fail
    "Reader.start", "record.__init__", "record._new_observer", "record._stop",
    "Tracker.grad_gone", "Tracker.kept_gone", "Tracker.state_gone", "Tracker.tensor_gone"}
BEGINNING = bytes((opmap["RESUME"], 0))  # the instruction at which a generator begins; it also goes on, or is closed
RUNS = 20  # for each program: how many calls of the reader fail, one in each run, besides the first and last EDGE
EDGE = 5
EVERY = os.environ.get("MINIGRAD_INJECTIONS") == "all"  # then each call of the reader fails once, which takes minutes


HOOKED: dict[Any, list[tuple[Callable[[], Any], Any]]] = {}  # the program's hooks, by what they are on


class Injected(Exception):
    """What is raised in the reader."""


def leaf(torch, *shape):
    return torch.randn(*shape, requires_grad=True)


def arithmetic(torch):
    x = leaf(torch, 3)
    (x * x.exp()).sum().backward()
    return x.grad


def training(torch):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(2, 3)).square().mean().backward()
        optimizer.step()
    return [*model.parameters(), *(p.grad for p in model.parameters())]


def hooks(torch):
    x = leaf(torch, 3)
    calls = []
    hooked(x.register_hook, lambda g: calls.append("tensor") or g * 2)
    hooked(x.register_hook, lambda g: calls.append("tensor again"))
    hooked(x.register_post_accumulate_grad_hook, lambda t: calls.append("post"))
    y = x * 3
    y.retain_grad()
    hooked(y.register_hook, lambda g: calls.append("of a result"))
    hooked(y.grad_fn.register_hook, lambda made, received: calls.append("node"))
    hooked(y.grad_fn.register_hook, lambda made, received: calls.append("node again"))
    hooked(y.grad_fn.register_prehook, lambda received: calls.append("before"))
    y.sum().backward()
    assert calls == ["of a result", "before", "node", "node again", "tensor", "tensor again", "post"]
    return [x.grad, y.grad, y, x]


def hooked(register: Callable[[Any], Any], hook: Any) -> None:
    """Put a hook of the program's somewhere, and note that it belongs there."""
    HOOKED.setdefault(register.__self__, []).append((register(hook).hooks_dict_ref, hook))


def checkpointed(torch):
    x = leaf(torch, 3)
    torch.utils.checkpoint.checkpoint(lambda t: t.tanh().exp(), x, use_reentrant=False).sum().backward()
    return x.grad


def reentrant(torch):
    x = leaf(torch, 3)
    torch.utils.checkpoint.checkpoint(lambda t: t.tanh().exp(), x, use_reentrant=True).sum().backward()
    return x.grad


def in_place(torch):
    x = leaf(torch, 4)
    y = x * 2
    y[1:].mul_(3)
    y.detach().zero_()
    y.sum().backward()
    return [x.grad, y]


def functions(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            ctx.save_for_backward(t)
            return t * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + ctx.saved_tensors[0] * 0

    x = leaf(torch, 3)
    Twice.apply(x).sum().backward()
    return x.grad


def second_order(torch):
    x = leaf(torch, 3)
    g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    g.sum().backward()
    return [g, x.grad]


def packed(torch):
    x = leaf(torch, 3)
    calls = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: calls.append(1) or t, lambda t: calls.append(2) or t):
        y = x.exp() * x
    y.sum().backward()
    return [x.grad, torch.tensor(calls)]


def failing(torch):
    x = leaf(torch, 3)
    try:
        x.view(2, 2)
    except RuntimeError as error:
        text = str(error)
    return [x, torch.tensor(len(text))]


def transforms(torch):
    return torch.func.vmap(torch.func.grad(lambda t: (t * t).sum()))(torch.randn(3, 2))


def read(torch):
    x = leaf(torch, 3)
    y = x.sum()
    return [x, torch.tensor(y.item() + sum(x.tolist())), torch.from_numpy(x.detach().numpy().copy())]


PROGRAMS = [arithmetic, training, hooks, checkpointed, reentrant, in_place, functions, second_order, packed, failing,
            transforms, read]


def outcome(torch: Any, program: Callable[[Any], Any]) -> tuple[list[Any], Any]:
    """Run a program from the same random state; return its tensors, and the state afterwards."""
    HOOKED.clear()
    torch.manual_seed(0)
    made = program(torch)
    return [t.detach().clone() for t in (made if isinstance(made, list) else [made])], torch.get_rng_state()


def equal(torch: Any, a: tuple[list[Any], Any], b: tuple[list[Any], Any]) -> bool:
    return torch.equal(a[1], b[1]) and all(torch.equal(s, t) for s, t in zip(a[0], b[0], strict=True))


def hooks_are_as_they_were() -> bool:
    """Return whether there are the program's own hooks, in their order, and no others."""
    places: dict[int, tuple[Any, list[Any]]] = {}
    for reference, hook in [each for found in HOOKED.values() for each in found]:
        there = reference()
        places.setdefault(id(there), (there, []))[1].append(hook)
    return all([*there.values()] == expected and all(type(key) is int for key in there)
               for there, expected in places.values())


def surroundings(torch: Any) -> tuple[Any, ...]:
    """Return what a recording sets for its time in the whole thread or process."""
    modes = importlib.import_module("torch.utils._python_dispatch")
    return (sys.getprofile(), modes._get_current_dispatch_mode(), gc.get_threshold(), gc.isenabled(),
            torch.is_grad_enabled(), torch.is_anomaly_enabled(), threading.active_count())


class Bomb:
    """Counts calls of the reader's functions, and raises in one of them, where it begins. A trace function does it, so
    that the stack, which the reader looks at, is as always."""

    def __init__(self) -> None:
        self.count, self.at = 0, -1
        self.known: dict[CodeType, bool] = {}

    def entering(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        mined = self.known[code] if code in self.known else self.known.setdefault(code, is_mined(code))
        if mined and (not code.co_flags & CO_GENERATOR or code.co_code[frame.f_lasti:][:2] == BEGINNING):
            self.count += 1
            if self.count == self.at:
                raise Injected

    @contextmanager
    def placed(self, at: int) -> Iterator[None]:
        """A block in which the call number `at` fails."""
        self.count, self.at = 0, at
        sys.settrace(self.entering)
        try:
            yield
        finally:
            sys.settrace(None)


def is_mined(code: CodeType) -> bool:
    """Return whether a function is one of the reader's, and no door (guard.py)."""
    folder, name = os.path.split(code.co_filename)
    if code.co_qualname in DOORS or name == "guard.py":
        return False
    return folder.endswith("torch_reader") or folder.endswith("recording") and name.removesuffix(".py") in RECORDING


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_an_error_in_the_reader_reaches_no_program(torch, program) -> None:
    """Wherever it comes: while a recording begins, in its block, or while it ends."""
    record, bomb = importlib.import_module("minigrad_widgets.torch_reader").record, Bomb()
    plain = outcome(torch, program)
    assert hooks_are_as_they_were()
    before = surroundings(torch)

    def run(at: int) -> Trace:
        with bomb.placed(at), record() as trace:
            found = outcome(torch, program)
        assert equal(torch, plain, found), f"call {at}"
        assert hooks_are_as_they_were(), f"hooks after call {at}"
        assert surroundings(torch) == before, f"left behind after call {at}"
        assert trace.text() is not None
        return trace

    for _ in range(3):  # what is asked for once has been asked for by now
        assert run(-1).notes == []
    total = bomb.count
    edges = (*range(1, EDGE + 1), *range(total - EDGE + 1, total + 1))
    chosen = range(1, total + 1) if EVERY else sorted({*range(1, total + 1, total // RUNS), *edges})
    unnoted = [at for at in chosen if not any("Injected" in note["text"] for note in run(at).notes)]
    assert unnoted == []
    assert equal(torch, plain, outcome(torch, program)), "something was left behind"


@pytest.mark.parametrize("part", ["passes.Passes", "ops.Ops", "seen.Seen", "stack.Stack", "collectives.Collectives"])
def test_a_reader_that_cannot_be_made_is_no_error_of_the_program(torch, part, monkeypatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise Injected("always")

    record = importlib.import_module("minigrad_widgets.torch_reader").record
    module, _, name = part.partition(".")
    plain, before = outcome(torch, hooks), surroundings(torch)
    owner = getattr(importlib.import_module(f"minigrad_widgets.torch_reader.{module}"), name)
    with monkeypatch.context() as patch:
        patch.setattr(owner, "__init__", broken)
        with record() as trace:
            found = outcome(torch, hooks)
    assert equal(torch, plain, found) and hooks_are_as_they_were() and surroundings(torch) == before
    assert any("Injected: always" in note["text"] for note in trace.notes) and trace.text()
    with record() as trace:
        assert equal(torch, plain, outcome(torch, hooks))
    assert trace.notes == [] and len(trace) > 5


def nested(torch, layout):
    rows = [torch.ones(2, 3), torch.ones(4, 3)]
    x = torch.nested.nested_tensor(rows, requires_grad=True, layout=layout)
    torch.nested.to_padded_tensor(x * 3, 0.).sum().backward()


def fake(torch):
    with importlib.import_module("torch._subclasses.fake_tensor").FakeTensorMode():
        (torch.ones(3, requires_grad=True) * 2).sum().backward()


def dual(torch):
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(3, requires_grad=True), torch.ones(3))
        torch.autograd.forward_ad.unpack_dual(x.sin()).tangent.sum().backward()


KINDS = {
    "coo": lambda torch: torch.sparse.mm(torch.eye(3).to_sparse().requires_grad_(), torch.ones(3, 2)).sum().backward(),
    "csr": lambda torch: torch.eye(3).to_sparse_csr() @ torch.ones(3, 2, requires_grad=True),
    "mkldnn": lambda torch: torch.ones(3, 3).to_mkldnn().relu().to_dense(),
    "nested": lambda torch: nested(torch, torch.strided),
    "jagged": lambda torch: nested(torch, torch.jagged),
    "meta": lambda torch: (torch.ones(3, device="meta", requires_grad=True) * 2).sum().backward(),
    "fake": fake,
    "quantized": lambda torch: torch.quantize_per_tensor(torch.ones(3), .1, 0, torch.quint8).dequantize() * 2,
    "subclass": lambda torch: (torch.ones(3).as_subclass(type("Sub", (torch.Tensor,), {})).requires_grad_() * 2).sum(),
    "functorch": lambda torch: torch.func.hessian(lambda x: (x ** 3).sum())(torch.ones(2)),
    "vmap": lambda torch: torch.vmap(lambda x: (x * 2).sum())(torch.ones(3, 2, requires_grad=True)).sum().backward(),
    "forward mode": lambda torch: torch.func.jvp(torch.sin, (torch.ones(3),), (torch.ones(3),)),
    "dual": dual,
    "copy": lambda torch: copy.deepcopy(torch.nn.Linear(2, 2)),
}


@pytest.mark.parametrize("detail", ["values", "modules"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_looked_at_stops_nothing(torch, kind, detail) -> None:
    record = importlib.import_module("minigrad_widgets.torch_reader").record
    with warnings.catch_warnings(), record(detail=detail) as trace:
        warnings.simplefilter("ignore")  # prototypes say so
        KINDS[kind](torch)
    assert trace.text() and type(trace).from_dict(trace.to_dict()) is not None


def test_kinds_are_said(torch) -> None:
    record = importlib.import_module("minigrad_widgets.torch_reader").record
    with record() as trace:
        torch.ones(3, device="meta") * 2
        torch.eye(2000).to_sparse() * 2
    assert {"float32 meta", "float32 sparse_coo"} <= {value["dtype"] for value in trace.values}
    assert trace.notes == []


def test_sparse_gradients_can_be_checked_up(torch) -> None:
    table = torch.nn.Embedding(5, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(table.parameters()), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        table(torch.tensor([1, 2, 3])).square().sum().backward()
        optimizer.step()

    assert checkup(step, model=table, optimizer=optimizer) is not None


def test_a_note_is_a_line_of_the_text_and_survives_a_file(torch, tmp_path, monkeypatch) -> None:
    reader = importlib.import_module("minigrad_widgets.torch_reader.ops")

    def broken(*unused: Any) -> Any:
        raise Injected("by the test")

    monkeypatch.setattr(reader.Ops, "call_of", broken)
    x = torch.ones(3)
    with importlib.import_module("minigrad_widgets.torch_reader").record() as trace:
        assert torch.equal(x * 2 + 1, torch.full((3,), 3.))
    assert [(note["text"], note["count"]) for note in trace.notes] == [
        ("the recorder has missed something: Injected: by the test", 2)]
    assert trace.text().splitlines()[-1].startswith("Note: the recorder has missed something: Injected: by the test (")
    trace.save(tmp_path / "trace.json")
    assert type(trace).load(tmp_path / "trace.json").notes == trace.notes


def test_notes_are_counted_up_to_a_bound(torch) -> None:
    guard, trace = importlib.import_module("minigrad_widgets.torch_reader.guard"), Trace()
    notes = guard.Notes(trace)
    for i in range(2 * guard.MOST):
        for _ in range(2):
            notes.add(f"text {i}", "here")
    assert len(trace.notes) == guard.MOST + 1
    assert {note["count"] for note in trace.notes[:-1]} == {2}
    assert (trace.notes[-1]["text"], trace.notes[-1]["count"]) == ("and more of the kind", 2 * guard.MOST)


def test_an_error_of_which_nothing_can_be_said_is_noted(torch) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise self

    guard, trace = importlib.import_module("minigrad_widgets.torch_reader.guard"), Trace()
    notes = guard.Notes(trace)
    notes.failure(Mute())
    notes.close()
    assert [note["text"] for note in trace.notes] == ["the recorder has missed something, and could not say what"]


def test_notes_are_one_line_wherever_a_trace_is_shown(torch) -> None:
    x, function = torch.ones(3, requires_grad=True), torch.compile(lambda x: x.sum(), backend="eager")
    line = "Note: what torch.compile was given runs eagerly while it is recorded (torch.compile)"

    def step() -> None:
        function(x).backward()

    told = explain(step)
    for text in (inspect(function, x).text, str(checkup(step)), str(told)):
        assert text.splitlines()[-1] == line
    for page in (inspect(function, x).to_html(), checkup(step).to_html(), told.to_html()):
        assert "runs eagerly while it is recorded" in page
    told.trace.notes.append({"text": "<b>", "where": "here", "count": 2})
    assert str(told).splitlines()[-1] == f"{line}; 1 more in trace.text()"


def built(torch: Any) -> None:
    """A model that runs an op before it has been set up, so that the search for names meets half of it."""
    class Half(torch.nn.Module):
        def __init__(self) -> None:
            w = torch.zeros(3) * 2
            super().__init__()
            self.w = torch.nn.Parameter(w)

    Half()


def test_a_step_that_copies_or_builds_a_model_is_recorded_like_any_other(torch) -> None:
    """As for the average of a model's parameters, the target of a policy, or the best model so far."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> Any:
        average = copy.deepcopy(model)
        built(torch)
        optimizer.zero_grad()
        model(torch.ones(2, 3)).square().mean().backward()
        optimizer.step()
        return average(torch.ones(2, 3)).sum()

    inspector, told, report = inspect(step), explain(step), checkup(step, model=model, optimizer=optimizer)
    assert told.rule == "no-error" and report.ok
    assert inspector._trace.notes == told.trace.notes == report.trace.notes == []
    assert "model.0.weight" in report.gradients
