"""Programs that run on any device, which the reader follows there as on the CPU.

`python -m tests.parity.trace.device_stories DEVICE FILE` records them on the CPU and on the device, and writes for each
what differs; the tests and `benchmarks.gpu` run it, in a process of its own, since the stand-in must be made first.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from minigrad_widgets import checkup, explain, inspect
from minigrad_widgets.torch_reader import arrivals
from minigrad_widgets.torch_reader.previews import DETAILS
from minigrad_widgets.torch_reader.reader import record
from tests.parity.trace import python_device

__all__ = ["CROSSING", "STORIES"]

ABORTED = "error_in_a_hook"  # PyTorch's guard for devices in Python ends the process when a hook raises
REPEATS = 10
STORED = ("nodes", "tensors", "values", "scopes", "storages", "bindings", "notes")
STORIES: dict[str, Callable[[Any], Any]] = {}
CROSSING: dict[str, Callable[[Any], Any]] = {}  # graphs on two devices, which two threads run: in no certain order


def story(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a story."""
    STORIES[function.__name__] = function
    return function


def crossing(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Add a story on two devices."""
    CROSSING[function.__name__] = function
    return function


def leaf(device: Any, *shape: int) -> Any:
    """A leaf whose numbers are the same everywhere; how it is made is no part of the program."""
    with torch._C._DisableTorchDispatch():
        numbers = torch.arange(float(torch.Size(shape).numel())) % 7 / 4 - 0.6
        return numbers.reshape(shape).to(device, copy=True).requires_grad_()


def network(device: Any) -> Any:
    """A small model with the same weights everywhere."""
    with torch._C._DisableTorchDispatch():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))
        for layer in model:
            for name, p in [*layer.named_parameters()]:  # without those that initialized them in place
                setattr(layer, name, nn.Parameter(p.detach().to(device, copy=True)))
        return model


class Cube(torch.autograd.Function):
    """A Function of the user's, whose backward is Python."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        x, = ctx.saved_tensors
        return 3 * grad * x * x


class Failing(torch.autograd.Function):
    """A Function whose backward raises."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        raise ValueError("not today")


@story
def numbered_twice(device: Any) -> Any:
    """Both threads number their nodes from 0. This comes first, so that some that are alive have the same number."""
    x = leaf(device, 3)
    y = x
    for _ in range(20):
        y = y.cos()
    first, = torch.autograd.grad(y.sum(), x, create_graph=True)
    first.sum().backward()
    return x.grad


@story
def plain(device: Any) -> Any:
    x = leaf(device, 3)
    (x * x.exp()).sum().backward()
    return x.grad


@story
def large(device: Any) -> Any:
    x, w = leaf(device, 20, 30), leaf(device, 30, 20)
    y = (x @ w).tanh()
    y.retain_grad()
    (y * y[:, :1]).mean().backward()
    return x.grad, w.grad, y.grad


@story
def accumulation(device: Any) -> Any:
    x = leaf(device, 3)
    for _ in range(2):
        (x * 3).sum().backward()
    return x.grad


@story
def two_passes_over_one_graph(device: Any) -> Any:
    x = leaf(device, 3)
    y = x.exp()
    y.sum().backward(retain_graph=True)
    (y * y).sum().backward()
    return x.grad


@story
def changed_in_place(device: Any) -> Any:
    x = leaf(device, 6)
    y = x * 2
    y[1:3] *= y[3:5].detach().clone()
    y.add_(1)
    y.sum().backward()
    with torch.no_grad():
        x -= x.grad
    return x


@story
def training(device: Any) -> Any:
    model, given = network(device), leaf(device, 5, 4).detach()
    target = torch.tensor([0, 1, 2, 1, 0], device=device)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(given), target).backward()
        optimizer.step()
    return list(model.parameters())


@story
def error_in_a_function(device: Any) -> Any:
    x = leaf(device, 3)
    y = Failing.apply(x.exp())
    try:
        (y * y).sum().backward()
    except ValueError as error:
        print(error)
    return (x * 2).sum().backward(), x.grad


@story
def error_in_a_hook(device: Any) -> Any:
    x = leaf(device, 3)
    y = x.exp()
    hooked = y.register_hook(lambda grad: grad / torch.zeros(2, device=device)[5])
    loss = (y * 2).sum()
    try:
        loss.backward(retain_graph=True)
    except IndexError as error:
        print(error)
    hooked.remove()
    loss.backward()
    return x.grad


@story
def error_that_ends_the_block(device: Any) -> Any:
    Failing.apply(leaf(device, 3)).sum().backward()


@story
def hooks(device: Any) -> Any:
    x, calls = leaf(device, 3), []
    x.register_hook(lambda grad: calls.append("leaf") or grad * 2)
    x.register_post_accumulate_grad_hook(lambda t: calls.append("accumulated"))
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda grad: grad + 1)
    y.grad_fn.register_prehook(lambda grads: calls.append("pre"))
    y.grad_fn.register_hook(lambda made, received: calls.append("post"))
    (y * y).sum().backward()
    return x.grad, y.grad, calls


@story
def ops_in_a_hook(device: Any) -> Any:
    x, kept = leaf(device, 3), []
    layer = network(device)[2]
    y = x * 3
    y.register_hook(lambda grad: kept.append((grad * 2).sum().item()))
    y.register_hook(lambda grad: kept.append(layer(torch.ones(8, device=device)).sum()))
    y.sum().backward()
    return x.grad, kept


@story
def second_derivatives(device: Any) -> Any:
    x = leaf(device, 3)
    first, = torch.autograd.grad(Cube.apply(x.sin()).sum(), x, create_graph=True)
    (first * first).sum().backward()
    return x.grad


@story
def grad_of_inputs(device: Any) -> Any:
    x, w = leaf(device, 3), leaf(device, 3)
    y = x * w
    z = (y.exp() + w).sum()
    torch.autograd.backward(z, inputs=[w], retain_graph=True)
    return torch.autograd.grad(z, [y, x]), w.grad


@story
def custom_function(device: Any) -> Any:
    x = leaf(device, 3)
    Cube.apply(x * 2).sum().backward()
    return x.grad


@story
def checkpointed(device: Any) -> Any:
    model, x = network(device), leaf(device, 2, 4)
    y = checkpoint(model, x, use_reentrant=False, preserve_rng_state=False)
    y.pow(2).sum().backward()
    return [p.grad for p in model.parameters()]


@story
def checkpointed_reentrant(device: Any) -> Any:
    model, x = network(device), leaf(device, 2, 4)
    y = checkpoint(model, x * 2, use_reentrant=True, preserve_rng_state=False)
    y.pow(2).sum().backward()
    return [p.grad for p in model.parameters()]


@story
def checkpoint_in_a_checkpoint(device: Any) -> Any:
    x = leaf(device, 3)

    def inner(t: Any) -> Any:
        return (t * 2).exp()

    def outer(t: Any) -> Any:
        return checkpoint(inner, t.sin(), use_reentrant=False, preserve_rng_state=False).cos()

    checkpoint(outer, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
    return x.grad


@story
def nested_passes(device: Any) -> Any:
    x, w = leaf(device, 3), leaf(device, 3)

    @torch.enable_grad()
    def inner(grad: Any) -> Any:
        (w * grad).exp().sum().backward()
        return grad * w.grad

    y = x * 2
    y.register_hook(inner)
    (y * y).sum().backward()
    return x.grad, w.grad


@story
def pass_within_a_pass_that_fails(device: Any) -> Any:
    x = leaf(device, 3)

    @torch.enable_grad()
    def inner(grad: Any) -> Any:
        try:
            Failing.apply(x.detach().requires_grad_() * 2).sum().backward()
        except ValueError:
            return grad * 2

    y = x * 2
    y.register_hook(inner)
    y.sum().backward()
    return x.grad


@crossing
def to_the_device_and_back(device: Any) -> Any:
    x, w = leaf("cpu", 3), leaf(device, 3)
    y = (x * 2).to(device) * w
    (y.cpu().exp() + x).sum().backward()
    return x.grad, w.grad


@crossing
def branches(device: Any) -> Any:
    x, w = leaf("cpu", 40, 40), leaf(device, 40, 40)
    here, there = x, w
    for _ in range(6):
        here, there = (here @ x).tanh(), (there @ w).tanh()
    (here.sum() + there.sum().cpu()).backward()
    return x.grad, w.grad


@crossing
def offloaded(device: Any) -> Any:
    x = leaf(device, 3)
    with torch.autograd.graph.save_on_cpu():
        y = x.exp() * x
    y.sum().backward()
    return x.grad


def outcome(program: Callable[[Any], Any], device: Any, block: Any = None) -> Any:
    """Run a program in a block; return what it computes, as lists of numbers, or its error."""
    try:
        with block or nullcontext():
            result = program(device)
    except ValueError as error:
        return str(error)
    return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.detach().cpu().tolist(), result)


class Kept(record):
    """A recording that keeps its trace."""

    def __enter__(self) -> Any:
        self.trace = super().__enter__()
        return self.trace


def recorded(program: Callable[[Any], Any], device: Any, detail: str) -> tuple[Any, dict[str, Any]]:
    """The same while it is recorded; and the trace, without PyTorch's numbers of nodes, which depend on the thread."""
    block = Kept(names={}, detail=detail)
    found, trace = outcome(program, device, block), block.trace
    told = trace.to_dict() | {"notes": trace.notes}
    for node in told["nodes"]:
        node.pop("sequence_nr", None)
    for scope in told["scopes"]:  # a function that runs again in the engine's thread sees no variable of the program's
        scope["name"] = scope["name"] and scope["name"].removeprefix("model") or None
    failed = [i for i, event in enumerate(told["events"]) if event["kind"] == "error"]
    for event in told["events"][failed[0]:] if failed else ():  # the engine's thread frees later what an error has held
        for name in ("bytes", "held", "dropped"):
            event.pop(name, None)
    return found, told


def alike(a: Any, b: Any) -> bool:
    """Return whether what two devices have computed is the same but for rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-5)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


def differences(program: Callable[[Any], Any], device: Any, detail: str) -> list[str]:
    """Record a program on the CPU and on a device; return what differs, and what a recording changes."""
    plain, (expected, there), (found, here) = outcome(program, device), recorded(program, "cpu", detail), recorded(
        program, device, detail)
    wrong = [f"{name} differs" for name in there if name not in ("events", *STORED) and there[name] != here[name]]
    for name in ("events", *STORED):
        rows = zip_longest(there[name], here[name])
        wrong += [f"{name} {i}: {a} on the CPU, {b} here" for i, (a, b) in enumerate(rows) if not alike(a, b)][:3]
    return wrong + [f"{what} computes {a}, not {b}" for what, a, b in (
        ("the recorded program", found, plain), ("the program on the CPU", expected, plain)) if not alike(a, b)]


def flat(values: Any) -> Iterator[float]:
    """Yield the numbers in nested lists."""
    if isinstance(values, list):
        for each in values:
            yield from flat(each)
    else:
        yield values


def crossed(program: Callable[[Any], Any], device: Any, detail: str) -> list[str]:
    """Record a program whose graph is on two devices several times, with threads that take turns as often as they can;
    return what is wrong: each node of a pass runs once, and what arrives at a leaf is what the program computes."""
    plain, wrong, usual = outcome(program, device), list[str](), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(REPEATS):
            found, told = recorded(program, device, detail)
            kinds = Counter(event["kind"] for event in told["events"])
            ran = Counter(event["node"] for event in told["events"] if event["kind"] == "run")
            needed = [node for event in told["events"] if event["kind"] == "backward_start"
                      for node, _ in event["needs"]]
            leaves = sorted(told["nodes"][event["node"]]["variable"] for event in told["events"]
                            if event["kind"] == "accumulate")
            arrived = [told["values"][event["grad"]].get("data") for event in told["events"]
                       if event["kind"] == "accumulate"]
            grads = [[*flat(each)] for each in (plain if isinstance(plain, tuple) else (plain,))]
            wrong += [f"{what}: {a}, not {b}" for what, a, b in (
                ("result", found, plain), ("notes", told["notes"], []), ("ran", ran, Counter(needed)),
                ("begun and ended", kinds["backward_start"], kinds["backward_end"]),
                ("errors", kinds["error"], 0), ("leaves", leaves, sorted(set(leaves))),
                ("gradients", all(each is None or any(alike(each, grad) for grad in grads) for each in arrived), True))
                if not alike(a, b)]
    finally:
        sys.setswitchinterval(usual)
    return wrong


def told_by_the_tools(device: Any) -> dict[str, str]:
    """What the inspector and the doctor say about programs on a device."""
    model, given, target = network(device), leaf(device, 5, 4).detach(), torch.tensor([0, 1, 2, 1, 0], device=device)
    told = {"inspector": inspect(model, given, target=target, loss_fn=nn.functional.cross_entropy).text}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)

    def faulty() -> Any:
        loss = nn.functional.cross_entropy(model(given), target)
        loss.backward()
        optimizer.step()
        return loss

    def healthy() -> Any:
        optimizer.zero_grad()
        return faulty()

    for step in (healthy, faulty):
        told[step.__name__] = str(checkup(step, model=model, optimizer=optimizer))

    def twice() -> None:
        loss = leaf(device, 3).exp().sum()
        loss.backward()
        loss.backward()

    def written() -> None:
        y = leaf(device, 3).exp()
        y.add_(1)
        y.sum().backward()

    told |= {program.__name__: str(explain(program)) for program in (twice, written)}
    return told


def counted(program: Callable[[Any], Any], device: Any, detail: str) -> dict[str, int]:
    """How often a recording of a program waits for the stand-in more often than the program, and what it copies."""
    counts = []
    for block in (nullcontext(), record(detail=detail)):
        python_device.COUNTS.clear()
        with block:
            program(device)
        counts.append(python_device.COUNTS.copy())
    return {name: counts[1][name] - counts[0][name] for name in ("waits", "synchronize", "queued")}


def profile_afterwards(device: Any) -> str:
    """Record passes, of which one fails; return what profile function is left in the engine's thread."""
    for program in (STORIES["checkpointed"], STORIES["error_that_ends_the_block"]):
        recorded(program, device, "values")
    found = []
    y = leaf(device, 3).exp()
    y.register_hook(lambda grad: found.append(str(sys.getprofile())))
    for _ in range(2):
        y.sum().backward(retain_graph=True)
    return str(found[-1])


def in_small_portions(device: Any) -> list[str]:
    """What differs if the device is waited for after every 100 bytes."""
    usual, arrivals.MOST = arrivals.MOST, 100
    try:
        return [each for name in ("large", "training") for each in differences(STORIES[name], device, "values")]
    finally:
        arrivals.MOST = usual


def while_capturing(device: Any) -> dict[str, Any]:
    """What a recording notes, and asks of the stand-in, while it only notes what it will do."""
    python_device.Module.capturing = True
    try:
        notes = recorded(STORIES["training"], device, "values")[1]["notes"]
        return {"notes": notes, **counted(STORIES["training"], device, "values")}
    finally:
        python_device.Module.capturing = False


def with_a_device_that_fails(device: Any) -> list[dict[str, Any]]:
    """The notes of a trace whose values never arrive."""
    python_device.Module.failing = True
    try:
        return list(recorded(STORIES["plain"], device, "values")[1]["notes"])
    finally:
        python_device.Module.failing = False
        python_device.arrived()


def main(device: str, file: str) -> None:
    """Write what differs, by story and level of detail."""
    library = python_device.set_up() if device == python_device.NAME else None
    result = {
        "stories": {f"{name} {detail}": differences(program, device, detail) for name, program in STORIES.items()
                    for detail in DETAILS if library is None or name != ABORTED},
        "crossing": {f"{name} {detail}": crossed(program, device, detail) for name, program in CROSSING.items()
                     for detail in DETAILS}}
    result["tools"] = {where: told_by_the_tools(where) for where in ("cpu", device)}
    result["profile"] = profile_afterwards(device)
    if library is not None:
        others = (in_small_portions, while_capturing, with_a_device_that_fails)
        result |= {each.__name__: each(device) for each in others}
        result["counts"] = {f"{name} {detail}": counted(STORIES[name], device, detail)
                            for name in ("large", "training", "second_derivatives") for detail in DETAILS}
    Path(file).write_text(json.dumps(result), encoding="utf-8")
    del library


if __name__ == "__main__":
    main(*sys.argv[1:])
