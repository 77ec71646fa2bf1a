"""Lesson 14: its predictions. The cases run on real ranks, those of all questions in one job."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import minigrad as torch
import minigrad.distributed as dist
from minigrad.nn.parallel import DistributedDataParallel
from minigrad.recorder import record
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why
from minigrad_lessons.processes.ranks import ranks

QUESTIONS: tuple[Question, ...] = ()
MOST = 3  # ranks of a case


def _layer(value: float) -> torch.nn.Module:
    """A layer that multiplies by one number."""
    layer = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(layer.weight, value)
    return layer


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _averaged(group: Any, rank: int, *batches: list[float]) -> float:
    """The gradient of w after backward; the loss of a rank is the mean of w * x over its batch."""
    model = DistributedDataParallel(_layer(1.0), process_group=group)
    model(torch.tensor(batches[rank]).unsqueeze(1)).mean().backward()
    return float(model.module.weight.grad.item())


def _wrapped(group: Any, rank: int, *starts: float) -> float:
    """What the weight is after DDP(model)."""
    return float(DistributedDataParallel(_layer(starts[rank]), process_group=group).module.weight.item())


def _equal_after(group: Any, rank: int, what: str) -> bool:
    """Whether three steps leave the copies equal, if this is different on rank 1."""
    model = DistributedDataParallel(_layer(1.0), process_group=group)
    if rank == 1 and what == "the weight":
        torch.nn.init.constant_(model.module.weight, 2.0)
    rate = 0.2 if rank == 1 and what == "the learning rate" else 0.1
    x = torch.ones(1, 1) * (5.0 if rank == 1 and what == "the data" else 1.0)
    for _ in range(3):
        loss = model(x).sum() ** 2 * (7.0 if rank == 1 and what == "the loss" else 1.0)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            model.module.weight -= rate * model.module.weight.grad / 100
    both = torch.empty(2)
    dist.all_gather_into_tensor(both, model.module.weight.detach().reshape(1), group=group)
    return bool(both[0] == both[1])


def _calls(group: Any, rank: int, layers: int, bucket: str) -> int:
    """How many all-reduces the second step makes."""
    mlp = torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(layers)])
    model = DistributedDataParallel(mlp, process_group=group, bucket_cap_mb=25 if bucket == "25 MiB" else 1e-5)
    model(torch.ones(1, 8)).sum().backward()
    with record() as trace:
        model(torch.ones(1, 8)).sum().backward()
    return sum(event.get("bucket") is not None for event in trace.events)


def _accumulated(group: Any, rank: int, *passes: str) -> float:
    """The gradient of w on rank 0 after passes with the data 1, 10 on rank 0 and 3, 30 on rank 1."""
    model = DistributedDataParallel(_layer(1.0), process_group=group)
    for x, how in zip((1.0, 10.0) if rank == 0 else (3.0, 30.0), passes):
        model.require_backward_grad_sync = how == "outside"  # what no_sync sets
        model(torch.full((1, 1), x)).sum().backward()
    return float(model.module.weight.grad.item())


def _all() -> dict[str, list[Any]]:
    """What this rank finds, by question: the program of each for its cases, in a group of so many ranks."""
    programs: dict[str, Callable[..., Any]] = {
        "averaged": _averaged, "wrapped": _wrapped, "equal_after": _equal_after, "calls": _calls,
        "accumulated": _accumulated}
    groups = {count: dist.new_group(list(range(count))) for count in range(2, MOST + 1)}
    rank = dist.get_rank()
    return {name: [program(groups[count], rank, *given) if rank < count else None for count, given in CASES[name]]
            for name, program in programs.items()}


CASES: dict[str, tuple[tuple[int, tuple[Any, ...]], ...]] = {
    "averaged": ((2, ([1.0, 3.0], [8.0])), (2, ([2.0], [4.0])), (2, ([1.0, 1.0, 1.0], [5.0])),
                 (3, ([3.0], [3.0, 3.0], [6.0]))),
    "wrapped": ((2, (5.0, 8.0)), (2, (8.0, 5.0)), (3, (2.0, 1.0, 6.0))),
    "equal_after": ((2, ("the data",)), (2, ("the loss",)), (2, ("the weight",)), (2, ("the learning rate",))),
    "calls": ((2, (2, "25 MiB")), (2, (5, "25 MiB")), (2, (2, "10 bytes")), (2, (5, "10 bytes"))),
    "accumulated": ((2, ("no_sync", "outside")), (2, ("outside", "no_sync")), (2, ("outside", "outside")),
                    (2, ("no_sync", "no_sync"))),
}
LAST = {"wrapped"}  # where the answer is that of the last rank; of the others, rank 0 tells it


@cache
def _every() -> list[dict[str, list[Any]]]:
    """What the ranks have found, by rank and question. To start them takes far longer than all cases do."""
    return ranks(MOST, _all)


def _found(name: str) -> dict[str, Any]:
    """What the ranks have found, by case."""
    every = _every()
    return {repr(given): every[count - 1 if name in LAST else 0][name][place]
            for place, (count, given) in enumerate(CASES[name])}


def averaged(*batches: list[float]) -> Any:
    """w.grad after backward, where these are the batches of the ranks and the loss is the mean of w * x."""
    return _found("averaged")[repr(batches)]


def wrapped(*starts: float) -> Any:
    """What the last rank's weight is after DDP(model), where these are the weights of the ranks."""
    return _found("wrapped")[repr(starts)]


def equal_after(what: str) -> Any:
    """Whether the copies are equal after three steps, if this is different on rank 1."""
    return _found("equal_after")[repr((what,))]


def calls(layers: int, bucket: str) -> Any:
    """How many all-reduces a step makes, by the number of linear layers and the size of a bucket."""
    return _found("calls")[repr((layers, bucket))]


def accumulated(*passes: str) -> Any:
    """w.grad on rank 0 after two passes: the data are 1 and 10 on rank 0, 3 and 30 on rank 1."""
    return _found("accumulated")[repr(passes)]


def _names() -> Names:
    return {"averaged": averaged, "wrapped": wrapped, "equal_after": equal_after, "calls": calls,
            "accumulated": accumulated}


def _written(name: str) -> tuple[str, ...]:
    """The cases of a question as expressions."""
    return tuple(f"{name}({', '.join(map(repr, given))})".replace("'", '"') for _, given in CASES[name])


def _expected(passes: Sequence[object]) -> float:
    """Passes in which everything that is there is averaged, unless they are in no_sync."""
    grads = [0.0, 0.0]
    for values, how in zip(((1.0, 3.0), (10.0, 30.0)), passes):
        grads = [grad + value for grad, value in zip(grads, values)]
        grads = [_mean(grads)] * 2 if how == "outside" else grads
    return grads[0]


def _batches(case: Case) -> list[list[float]]:
    return [batch for batch in case.arguments() if isinstance(batch, list)]


def _starts(case: Case) -> list[float]:
    return [start for start in case.arguments() if isinstance(start, float)]


def _samples(*batches: list[float]) -> list[float]:
    return [x for batch in batches for x in batch]


UNEVEN = ([1.0, 2.0, 3.0], [10.0])
PREDICTIONS = (
    Prediction(
        "14.1",
        (Belief("each rank keeps its own weights", lambda: 8.0),
         Belief("the weights are averaged, as gradients are", lambda: _mean([5.0, 8.0]))),
        Why("What does the last rank's weight become?", _names, _written("wrapped"), lambda value: value, {
            "a": Reason("the smallest of all", lambda case: min(_starts(case))),
            "b": Reason("the mean of all", lambda case: _mean(_starts(case))),
            "c": Reason("what it is on rank 0", lambda case: _starts(case)[0])})),
    Prediction(
        "14.2",
        (Belief("the result is that of one process on the whole batch", lambda: _mean(_samples(*UNEVEN))),
         Belief("the gradients of the ranks are added", lambda: sum(map(_mean, UNEVEN)))),
        Why("What is w.grad afterwards?", _names, _written("averaged"), lambda value: value, {
            "a": Reason("the mean of x over all samples", lambda case: _mean(_samples(*_batches(case)))),
            "b": Reason("the mean over the ranks of each rank's own mean",
                        lambda case: _mean([_mean(batch) for batch in _batches(case)])),
            "c": Reason("the sum over the ranks of each rank's own mean",
                        lambda case: sum(map(_mean, _batches(case))))})),
    Prediction(
        "14.3",
        (Belief("DDP keeps the copies equal, whatever happens", lambda: True),),
        Why("What may differ between ranks while the copies stay equal?", _names, _written("equal_after"),
            lambda value: value, {
                "a": Reason("whatever only changes gradients: only gradients are exchanged",
                            lambda case: case.arguments()[0] in ("the data", "the loss")),
                "b": Reason("nothing at all", lambda case: False),
                "c": Reason("everything but the weights", lambda case: case.arguments()[0] != "the weight")})),
    Prediction(
        "14.4",
        (Belief("each parameter's gradient is sent as soon as it is ready", lambda: 6),
         Belief("each layer sends its gradients", lambda: 3)),
        Why("How many all-reduces does a step make?", _names, _written("calls"), lambda value: value, {
            "a": Reason("one for each parameter", lambda case: 2 * _layers(case)),
            "b": Reason("one, at the end of the pass", lambda case: 1),
            "c": Reason("one for each bucket: as many gradients as fit travel together",
                        lambda case: 1 if case.arguments()[1] == "25 MiB" else 2 * _layers(case))})),
    Prediction(
        "14.5",
        (Belief("what a pass in no_sync adds stays with its rank", lambda: 1.0 + _mean([10.0, 30.0])),
         Belief("only the last pass counts", lambda: _mean([10.0, 30.0]))),
        Why("What is w.grad on rank 0 afterwards?", _names, _written("accumulated"), lambda value: value, {
            "a": Reason("a pass outside of no_sync averages everything that is in .grad by then",
                        lambda case: _expected(case.arguments())),
            "b": Reason("each pass is averaged; no_sync only delays it", lambda case: _mean([1.0 + 10, 3.0 + 30])),
            "c": Reason("each pass outside of no_sync averages what it adds itself",
                        lambda case: sum(value if how == "no_sync" else 2 * value
                                         for value, how in zip((1.0, 10.0), case.arguments())))})),
)


def _layers(case: Case) -> int:
    return int(str(case.arguments()[0]))
