"""The checks of lesson 14: gradients averaged in hooks, DDP in buckets, accumulation with no_sync, sharded rows.

Each runs on 2 and on 3 real ranks. A rank trains a twin of its model on the whole batch, by itself, and tells how the
student's copy compares with it; here the ranks are compared with each other, and with what was sent.
"""

import inspect
from collections.abc import Callable
from typing import Any

import minigrad as torch
import minigrad.distributed as dist
from minigrad.nn.parallel import DistributedDataParallel
from minigrad.recorder import record
from minigrad_lessons.exercises import report
from minigrad_lessons.processes.ranks import RankError, ranks

COUNTS, SECONDS = (2, 3), 20.0
PARAMETERS, BATCHES = 6, 4
STARTS = ("rank {} starts with its own weights. Before the first step, all need those of rank 0: all ranks call "
          "dist.broadcast for each parameter.")
UNTOUCHED = "{} is the gradient of this rank's own data: it was not averaged."
SUMMED = ("{} is the sum over the ranks, {} times the gradient of the whole batch: all_reduce adds, unless you ask for "
          "AVG.")
Found = dict[str, Any]


def _mlp() -> torch.nn.Module:
    """Three layers, of six parameters."""
    layers = [torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1)]
    return torch.nn.Sequential(*layers).double()


def _batch(seed: int) -> torch.Tensor:
    """Six samples of four numbers, the same on all ranks."""
    return torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _gradient(model: torch.nn.Module, x: torch.Tensor) -> list[Any]:
    """The gradients that a batch gives to a model that is nobody's copy."""
    twin = _mlp()
    twin.load_state_dict({name: value.detach() for name, value in model.state_dict().items()})
    (twin(x) ** 2).mean().backward()
    return [_listed(p.grad) for p in twin.parameters()]


def _listed(tensor: torch.Tensor | None) -> Any:
    """Its numbers, which can be sent and compared."""
    return None if tensor is None else tensor.tolist()


def _sent(trace: Any) -> list[Found]:
    """What was called together with other ranks, and waited for, in order."""
    return [{"kind": event["kind"], "op": event.get("op", "").partition("(")[0]}
            for event in trace.events if event["kind"].startswith("collective")]


def _trained(student: Callable[..., Any], *options: int) -> Found:
    """Two steps of a model that the student has made parallel: what a rank has seen."""
    model, rank, count = _mlp(), dist.get_rank(), dist.get_world_size()
    student(model, *options)
    names = [name for name, _ in model.named_parameters()]
    found: Found = {"start": [p.tolist() for p in model.parameters()], "steps": [], "names": names}
    for step in range(2):
        x = _batch(step)
        mine = x[rank::count]
        each = {"whole": _gradient(model, x), "own": _gradient(model, mine)}
        for p in model.parameters():
            p.grad = None
        with record() as trace:
            (model(mine) ** 2).mean().backward()
        each |= {"grad": [_listed(p.grad) for p in model.parameters()],
                 "sent": _sent(trace), "kinds": [event["kind"] for event in trace.events]}
        found["steps"].append(each)
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(0.1 * p.grad if p.grad is not None else 0.0)
    found["end"] = [p.tolist() for p in model.parameters()]
    return found


def _added_up(student: Callable[..., Any]) -> Found:
    """One step of a student's loop over parts of a batch, under DistributedDataParallel."""
    rank, count = dist.get_rank(), dist.get_world_size()
    model = DistributedDataParallel(_mlp())
    parts = [_batch(number) for number in range(BATCHES)]
    target = torch.zeros(6 // count, 1, dtype=torch.float64)
    found: Found = {"whole": _gradient(model.module, torch.cat(parts)),
                    "own": _gradient(model.module, torch.cat([part[rank::count] for part in parts])),
                    "names": [name for name, _ in model.module.named_parameters()]}
    with record() as trace:
        student(model, [(part[rank::count], target) for part in parts])
    return found | {"grad": [_listed(p.grad) for p in model.module.parameters()], "sent": _sent(trace)}


def _divided(student: Callable[..., Any]) -> Found:
    """Two steps on a weight of which each rank has two rows."""
    rank, count = dist.get_rank(), dist.get_world_size()
    whole = torch.arange(2.0 * count * 3).reshape(2 * count, 3) / 10
    rows, alone, found = whole[2 * rank:2 * rank + 2].clone(), whole.clone(), Found()
    found["steps"] = []
    for step in range(2):
        x = torch.randn(2 * count, 3, generator=torch.Generator().manual_seed(step))
        losses = [lambda weight, x=x, scale=2.0 ** each: scale * ((weight - x) ** 2).sum() for each in range(count)]
        before = rows.clone()
        gradients = [2.0 ** each * 2 * (alone - x) for each in range(count)]
        with record() as trace:
            student(rows, losses[rank], 0.1)
        mean = sum(gradients[1:], gradients[0]) / count
        here = slice(2 * rank, 2 * rank + 2)
        alone = alone - 0.1 * mean
        found["steps"].append({
            "rows": rows.tolist(), "right": alone[here].tolist(), "before": before.tolist(), "sent": _sent(trace),
            "own": (before - 0.1 * gradients[rank][here]).tolist(),
            "summed": (before - 0.1 * count * mean[here]).tolist()})
        rows = alone[here].clone()
    return found


def is_wrong(name: str, program: Callable[..., Any], student: Callable[..., Any], why: Callable[..., str],
             sizes: tuple[int, ...] = ()) -> bool:
    """Run a program on 2 and on 3 ranks, and say what `why` finds wrong in what they have found; whether it did.

    `sizes` of buckets, one for each number of ranks, go to the program and to `why`, too.
    """
    for at, count in enumerate(COUNTS):
        options, where = sizes[at:at + 1], f"on {count} ranks"
        if options:
            where += f", with buckets of {options[0]}"
        try:
            wrong = why(ranks(count, program, student, *options, seconds=SECONDS), count, *options)
        except RankError as error:
            where, wrong = f"on {count} ranks", str(error)
        if wrong:
            report.misconception(name, f"{where}: {wrong}")
            return True
    return False


def near(a: Any, b: Any) -> bool:
    """Whether two nested lists hold the same numbers."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(i, j) for i, j in zip(a, b))
    return isinstance(a, int | float) and isinstance(b, int | float) and abs(a - b) <= 1e-5 * max(1.0, abs(b))


def _times(a: Any, factor: float) -> Any:
    return [_times(each, factor) for each in a] if isinstance(a, list) else a * factor


def _calls(sent: list[Found], op: str = "all_reduce") -> int:
    return sum(each["kind"] == "collective_start" and each["op"] == op for each in sent)


def _why_gradients(step: Found, names: list[str], count: int, rank: int) -> str:
    """What is wrong with the gradients of a step on one rank."""
    for name, grad, whole, own in zip(names, step["grad"], step["whole"], step["own"]):
        if near(grad, whole):
            continue
        said = f"{name}.grad on rank {rank}"
        if grad is None:
            return f"{said} is None."
        if near(grad, own):
            return UNTOUCHED.format(said)
        if near(grad, _times(whole, count)):
            return SUMMED.format(said, count)
        return f"{said} is neither this rank's gradient nor that of the whole batch."
    return ""


def hooks(student: Callable[..., Any]) -> None:
    """Judge `parallel(model)`: the same start, and the gradient of the whole batch after backward."""
    name = "check.hooks"
    if not report.to_judge(name, "parallel", "Fill in the two blanks of parallel.", student):
        return
    if is_wrong(name, _trained, student, _why_trained):
        return
    report.passed(name, "on 2 and 3 ranks, each with its own data, two steps leave the copies equal, bit for bit",
                  "each gradient is that of one process on the whole batch")


def _why_trained(found: list[Found], count: int) -> str:
    for rank in range(1, count):
        if found[rank]["start"] != found[0]["start"]:
            return STARTS.format(rank)
    for number in range(2):
        for rank in range(count):
            if wrong := _why_gradients(found[rank]["steps"][number], found[0]["names"], count, rank):
                return ("in the second step " if number else "") + wrong
    if any(each["end"] != found[0]["end"] for each in found):
        return "the copies differ after two steps."
    return ""


def parallel(student: Callable[..., Any]) -> None:
    """Judge `parallel(model, size)`: as `hooks`, in buckets that are sent while backward goes on."""
    name = "check.parallel"
    if not report.to_judge(name, "parallel", "Write parallel(model, size).", student):
        return
    if is_wrong(name, _trained, student, _why_in_buckets, sizes=(2, 4)):
        return
    lines = len(inspect.getsource(student).rstrip().splitlines())
    report.passed(name, "on 2 and 3 ranks each gradient is that of one process on the whole batch",
                  "the copies are equal, bit for bit, after two steps",
                  f"buckets travel while backward goes on, {lines} lines")


def _why_in_buckets(found: list[Found], count: int, size: int) -> str:
    return _why_trained(found, count) or _why_buckets(found[0]["steps"][-1], size)


def _why_buckets(step: Found, size: int) -> str:
    asked, calls = -(-PARAMETERS // size), _calls(step["sent"])
    if calls != asked:
        return f"{PARAMETERS} parameters in buckets of {size} make {asked} all-reduces, not {calls}."
    kinds = step["kinds"]
    if kinds.index("collective_start") > max(i for i, kind in enumerate(kinds) if kind == "accumulate"):
        return "the first bucket is sent after the last gradient has arrived. Send it as soon as it is full."
    waits = [i for i, each in enumerate(step["sent"]) if each["kind"] == "collective_wait"]
    starts = [i for i, each in enumerate(step["sent"]) if each["kind"] == "collective_start"]
    if waits[0] < starts[-1]:
        return ("backward waits for the first bucket before it goes on. With async_op=True, all_reduce returns a "
                "work; call work.wait() after the last gradient has arrived.")
    return ""


def accumulate(student: Callable[..., Any]) -> None:
    """Judge `accumulate(model, batches)`: the gradient of all batches together, and one all-reduce."""
    name = "check.accumulate"
    if not report.to_judge(name, "accumulate", "Write accumulate(model, batches).", student):
        return
    if is_wrong(name, _added_up, student, _why_any_added):
        return
    report.passed(name, f"on 2 and 3 ranks the gradient is that of one process on all {BATCHES} batches",
                  "one all-reduce was called, by the last backward")


def _why_any_added(found: list[Found], count: int) -> str:
    return next(filter(None, (_why_added(each, rank, count) for rank, each in enumerate(found))), "")


def _why_added(found: Found, rank: int, count: int) -> str:
    calls = _calls(found["sent"])
    if calls == 0 and near(found["grad"], found["own"]):
        return f"rank {rank} has the gradient of its own data. Run the last batch outside of no_sync."
    if near(found["grad"], _times(found["whole"], BATCHES)):
        return (f"the gradient is {BATCHES} times that of the whole: each loss is a mean, so divide it by the number "
                "of batches.")
    if wrong := _why_gradients(found, found["names"], count, rank):
        return wrong
    if calls > 1:
        return (f"the gradient is right, but after {calls} all-reduces; one is enough. DDP decides in forward, so "
                "forward "
                "has to run inside no_sync, too.")
    return ""


def sharded(student: Callable[..., Any]) -> None:
    """Judge `sharded_step(rows, loss_of, lr)`: each rank updates its rows, after one gather and one scatter."""
    name = "check.sharded"
    if not report.to_judge(name, "sharded_step", "Write sharded_step(rows, loss_of, lr).", student):
        return
    if is_wrong(name, _divided, student, _why_any_rows):
        return
    report.passed(name, "on 2 and 3 ranks the rows are those that one process with the whole weight would have",
                  "sent: one all-gather of rows, one reduce-scatter of gradients")


def _why_any_rows(found: list[Found], count: int) -> str:
    steps = ((rank, step) for rank, each in enumerate(found) for step in each["steps"])
    return next(filter(None, (_why_rows(step, rank, count) for rank, step in steps)), "")


def _why_rows(step: Found, rank: int, count: int) -> str:
    said = f"the rows of rank {rank}"
    if near(step["rows"], step["before"]):
        return f"{said} have not changed: change them in place, rows -= …"
    if near(step["rows"], step["own"]):
        return f"{said} follow the loss of this rank alone. The other ranks have gradients for these rows, too."
    if near(step["rows"], step["summed"]):
        return f"{said} moved {count} times too far: reduce_scatter_tensor adds, unless you ask for AVG."
    if not near(step["rows"], step["right"]):
        return f"{said} are not those that one process with the whole weight would have."
    if _calls(step["sent"]):
        return ("right, but all_reduce gives each rank the whole gradient, when it needs only its own rows: "
                "dist.reduce_scatter_tensor sends half as much.")
    return ""


HINTS = {
    "hooks": (
        "The hook is called with p when p.grad is complete. What do all ranks have to do with it?",
        "dist.all_reduce changes the tensor that it is given. Its op can be dist.ReduceOp.AVG.",
        "dist.broadcast(p.detach(), src=0), and lambda p: dist.all_reduce(p.grad, op=dist.ReduceOp.AVG).",
    ),
    "parallel": (
        "One hook for all parameters: it puts p into a list. When the list is long enough, or p is the last one, all "
        "gradients in it travel as one tensor.",
        "flat = torch.cat([p.grad.reshape(-1) for p in bucket]); work = dist.all_reduce(flat, "
        "op=dist.ReduceOp.AVG, async_op=True). Keep flat, work and the parameters until the last gradient has arrived.",
        "After the last gradient: for params, flat, work in sent: work.wait(), then for p, part in zip(params, "
        "flat.split([p.numel() for p in params])): p.grad.copy_(part.view_as(p.grad)). Then empty the list, for the "
        "next pass.",
    ),
    "accumulate": (
        "All batches but the last one only add to .grad on their rank.",
        "Put forward and backward of these under with model.no_sync(). The last one runs outside.",
        "for x, y in batches[:-1]: with model.no_sync(): (mse_loss(model(x), y) / len(batches)).backward(); then the "
        "same for batches[-1], without no_sync.",
    ),
    "sharded": (
        "The loss needs the whole weight: the rows of all ranks, in rank order.",
        "dist.all_gather_into_tensor(whole, rows) fills whole. After backward whole.grad has rows for every rank.",
        "mine = torch.empty_like(rows); dist.reduce_scatter_tensor(mine, whole.grad, op=dist.ReduceOp.AVG); "
        "rows -= lr * mine.",
    ),
}
