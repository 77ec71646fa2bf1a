"""The check of lesson 14 in which a communication hook compresses gradients: PowerSGD.

A rank knows the batches of all ranks, so it computes by itself what the hook should give, and what it would give with
one mistake in it. Each step is judged from the state to which right steps have led.
"""

from collections.abc import Callable
from typing import Any

import minigrad as torch
import minigrad.distributed as dist
from minigrad.nn.parallel import DistributedDataParallel
from minigrad.recorder import record
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.lesson14 import is_wrong, near

ROWS, COLUMNS, WIDTH = 16, 20, 2  # of the weight, and the columns of P and Q
COMPARED, STEPS, LR = 3, 30, 1.0  # the steps that are compared one by one, and all
BYTES = 8 * WIDTH * (ROWS + COLUMNS)  # of P and Q in float64
MISTAKES = {
    "forgotten": 'the first step is right, but what P Qᵀ missed in it was not added to the next gradient. Add '
                 'state["error"] to m, and keep m - p @ q.T there.',
    "alone": "{} is computed from this rank's own data: P and Q were not averaged.",
    "own P": "{} is wrong: each rank computed Q with its own P. Average P, too.",
    "own Q": "{} is wrong: P is the same on all ranks, but Q is this rank's own. Average Q, too.",
    "late": "{} is wrong: P was averaged after qr. The mean of orthonormal columns is not orthonormal: average m @ Q, "
            "then call qr.",
    "summed": "{} is {} times what it should be: all_reduce adds, unless you ask for AVG.",
}
Found = dict[str, Any]


def _random(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _samples(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A batch of twelve, the same on all ranks: inputs, and what a right weight makes of them."""
    x = _random(12, COLUMNS, seed=seed)
    return x, x @ _random(ROWS, COLUMNS, seed=1000).T


def _gradient(weight: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The gradient of the loss on some samples."""
    leaf = weight.detach().clone().requires_grad_()
    gradient: torch.Tensor = torch.autograd.grad(torch.nn.functional.mse_loss(x @ leaf.T, y), leaf)[0]
    return gradient


def _grad(layer: torch.nn.Module) -> Any:
    """What backward and the hook have left in `.grad`."""
    return layer.get_parameter("weight").grad


def _loss(weight: torch.Tensor) -> float:
    """The loss on samples that no step has seen."""
    x, y = _samples(STEPS)
    return float(torch.nn.functional.mse_loss(x @ weight.detach().T, y).item())


def _mean(tensors: list[torch.Tensor]) -> Any:
    return torch.stack(tensors).mean(0)


def _one_process(compresses: bool) -> float:
    """The loss after all steps of one process on whole batches: with PowerSGD but no memory of errors, or without."""
    weight, q = torch.zeros(ROWS, COLUMNS, dtype=torch.float64), _random(COLUMNS, WIDTH, seed=1001)
    for step in range(STEPS):
        change = _gradient(weight, *_samples(step))
        if compresses:
            p = torch.linalg.qr(change @ q).Q
            q = change.T @ p
            change = p @ q.T
        weight -= LR * change
    return _loss(weight)


def _averaged(to_send: list[torch.Tensor], bases: list[torch.Tensor]) -> Any:
    """The mean of Q, where these are the matrices of the ranks, and the P of each."""
    return _mean([m.T @ p for m, p in zip(to_send, bases)])


def _results(to_send: list[torch.Tensor], q: torch.Tensor, rank: int) -> dict[str, torch.Tensor]:
    """P Qᵀ on a rank, where these are the matrices of all ranks: as it should be, and with one mistake."""
    count, own = len(to_send), [torch.linalg.qr(m @ q).Q for m in to_send]
    p, late, mine = torch.linalg.qr(_mean([m @ q for m in to_send])).Q, _mean(own), to_send[rank].T
    right = p @ _averaged(to_send, [p] * count).T
    return {"right": right, "alone": own[rank] @ (mine @ own[rank]).T, "own P": own[rank] @ _averaged(to_send, own).T,
            "own Q": p @ (mine @ p).T, "late": late @ _averaged(to_send, [late] * count).T, "summed": count * right}


def _trained(student: Callable[..., Any]) -> Found:
    """All steps of a model whose gradients a student's hook compresses: what a rank has seen."""
    rank, count, found = dist.get_rank(), dist.get_world_size(), Found(steps=[])
    layer = torch.nn.Linear(COLUMNS, ROWS, bias=False).double()
    torch.nn.init.zeros_(layer.weight)
    q, nothing = _random(COLUMNS, WIDTH, seed=1001), torch.zeros(ROWS, COLUMNS, dtype=torch.float64)
    model, errors = DistributedDataParallel(layer), [nothing] * count
    model.register_comm_hook({"q": q.clone(), "error": nothing.clone()}, student)
    found["losses"] = [_loss(layer.weight)]
    for step in range(STEPS):
        x, y = _samples(step)
        layer.weight.grad = None
        loss = torch.nn.functional.mse_loss(model(x[rank::count]), y[rank::count])
        if step < COMPARED:
            grads = [_gradient(layer.weight, x[each::count], y[each::count]) for each in range(count)]
            to_send = [grad + error for grad, error in zip(grads, errors)]
            results = _results(to_send, q, rank) | {"forgotten": _results(grads, q, rank)["right"]}
            with record() as trace:
                loss.backward()
            found["steps"].append({name: each.tolist() for name, each in results.items()} | {
                "grad": _grad(layer).tolist(), "sent": sum(event.get("size", 0) for event in trace.events)})
            p = torch.linalg.qr(_mean([m @ q for m in to_send])).Q
            q, errors = _averaged(to_send, [p] * count), [m - results["right"] for m in to_send]
        else:
            loss.backward()
        with torch.no_grad():
            layer.weight.sub_(LR * _grad(layer))
    found["losses"] += [_loss(layer.weight), _one_process(compresses=True), _one_process(compresses=False)]
    return found


def power_sgd(student: Callable[..., Any]) -> None:
    """Judge `power_sgd(state, bucket)`: what one process would get from the mean gradient, and few bytes sent."""
    name, seen = "check.power_sgd", list[Found]()
    if not report.to_judge(name, "power_sgd", "Complete power_sgd.", student):
        return

    def why(found: list[Found], count: int) -> str:
        seen.append(found[0])
        return _why(found, count)

    if is_wrong(name, _trained, student, why):
        return
    before, after, forgetful, whole = seen[-1]["losses"]
    report.passed(name, "on 2 and 3 ranks each step is that of PowerSGD in one process on the whole batch",
                  f"a step sends {BYTES} bytes; the gradient has {8 * ROWS * COLUMNS}",
                  f"{STEPS} steps bring the loss from {before:.2g} to {after:.2g}. Whole gradients bring it to "
                  f"{whole:.2g}, and without state[\"error\"] it would be {forgetful:.2g}")


def _why(found: list[Found], count: int) -> str:
    """What is wrong with the steps that were compared."""
    for number in range(COMPARED):
        for rank in range(count):
            step, said = found[rank]["steps"][number], f"weight.grad on rank {rank}"
            if not near(step["grad"], step["right"]):
                known = (text for mistake, text in MISTAKES.items() if near(step["grad"], step[mistake]))
                return next(known, f"{{}} is not P Qᵀ of the mean gradient, in step {number + 1}.").format(said, count)
            if step["sent"] > BYTES:
                return f"right, but {step['sent']} bytes were sent. P and Q together have {BYTES}: send nothing else."
    return ""


HINTS = {
    "power_sgd": (
        "Both p and q have to be the same on all ranks, and the mean gradient would have to give the same p and q. "
        "After which lines does a mean over the ranks give just that?",
        "dist.all_reduce(p, op=dist.ReduceOp.AVG) comes before qr, and one for q after it. What was missed is m - p @ "
        "q.T, where m is what you began with.",
        'm = bucket.gradients()[0] + state["error"]; average p, then qr; q = m.T @ p; average q; '
        'state["error"] = m - p @ q.T.',
    ),
}
