"""The key of lesson 14."""

from tests.lessons.answers.kinds import Key, Wrong


def hooks(start: str, hook: str) -> str:
    """The cell of the averaging hooks."""
    return ("def parallel(model):\n    for p in model.parameters():\n"
            f"        dist.broadcast({start}, src=0)\n"
            f"        p.register_post_accumulate_grad_hook(lambda p: {hook})\n\n\ncheck.hooks(parallel)")


def buckets(*, start: bool = True, op: str = "op=dist.ReduceOp.AVG, ", at: str = "len(bucket) == size", wait: str = "",
            reset: str = "        sent.clear()\n", back: str = "p.grad.copy_(part.view_as(p.grad))") -> str:
    """The cell of DDP in buckets."""
    return ("def parallel(model, size):\n    params, bucket, sent = list(model.parameters()), [], []\n"
            + ("    for p in params:\n        dist.broadcast(p.detach(), src=0)\n" if start else "") +
            "\n    def send():\n        flat = torch.cat([p.grad.reshape(-1) for p in bucket])\n"
            f"        work = dist.all_reduce(flat, {op}async_op=True)\n{wait}"
            "        sent.append((list(bucket), flat, work))\n        bucket.clear()\n"
            "\n    def hook(p):\n        bucket.append(p)\n"
            "        done = sum(len(each) for each, _, _ in sent) + len(bucket) == len(params)\n"
            f"        if {at} or done:\n            send()\n        if done:\n            finish()\n"
            "\n    def finish():\n        for each, flat, work in sent:\n            work.wait()\n"
            "            for p, part in zip(each, flat.split([p.numel() for p in each])):\n"
            f"                {back}\n{reset}"
            "\n    for p in params:\n        p.register_post_accumulate_grad_hook(hook)\n\n\ncheck.parallel(parallel)")


def accumulate(*lines: str) -> str:
    """The cell of gradient accumulation."""
    body = "".join(f"    {line}\n" for line in lines)
    return ("def accumulate(model, batches):\n    mse = torch.nn.functional.mse_loss\n"
            f"{body}\n\ncheck.accumulate(accumulate)")


def sharded(*lines: str) -> str:
    """The cell of the sharded step."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def sharded_step(rows, loss_of, lr):\n{body}\n\ncheck.sharded(sharded_step)"


def power_sgd(*lines: str) -> str:
    """The cell of the hook that compresses."""
    body = "".join(f"    {line}\n" for line in lines)
    return ("def power_sgd(state, bucket):\n"
            f"{body}    future = torch.futures.Future()\n    future.set_result((p @ q.T).reshape(-1))\n"
            "    return future\n\n\ncheck.power_sgd(power_sgd)")


AVERAGE = "dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)"
HOOKS_WRONG: tuple[Wrong, ...] = (
    (hooks("p.detach()", "dist.all_reduce(p.grad)"), "is the sum over the ranks, 2 times"),
    (hooks("p.detach()", "None"), "is the gradient of this rank's own data"),
    (hooks("p.clone().detach()", AVERAGE), "rank 1 starts with its own weights"),
    (hooks("p.grad", AVERAGE), "on 2 ranks: Rank"),
)
BUCKETS_WRONG: tuple[Wrong, ...] = (
    (buckets(at="True"), "make 3 all-reduces, not 6"),
    (buckets(wait="        work.wait()\n"), "backward waits for the first bucket before it goes on"),
    (buckets(op=""), "is the sum over the ranks, 2 times"),
    (buckets(back="pass"), "is the gradient of this rank's own data"),
)
PART = "(mse(model(x), y) / len(batches)).backward()"
ACCUMULATE_WRONG: tuple[Wrong, ...] = (
    (accumulate("for x, y in batches:", f"    {PART}"), "after 4 all-reduces; one is enough"),
    (accumulate("with model.no_sync():", "    for x, y in batches:", f"        {PART}"),
     "Run the last batch outside of no_sync"),
    (accumulate("for i, (x, y) in enumerate(batches):", "    model.require_backward_grad_sync = i == len(batches) - 1",
                "    mse(model(x), y).backward()"), "is 4 times that of the whole"),
    (accumulate("for x, y in batches:", "    loss = mse(model(x), y) / len(batches)", "    with model.no_sync():",
                "        loss.backward()"), "has to run inside no_sync, too"),
)
GATHER = ("whole = torch.empty(len(rows) * dist.get_world_size(), *rows.shape[1:])",
          "dist.all_gather_into_tensor(whole, rows)", "whole.requires_grad_()", "loss_of(whole).backward()")
HERE = "len(rows) * dist.get_rank():len(rows) * (dist.get_rank() + 1)"
SHARDED_WRONG: tuple[Wrong, ...] = (
    (sharded(*GATHER, f"rows -= lr * whole.grad[{HERE}]"), "follow the loss of this rank alone"),
    (sharded(*GATHER, "mine = torch.empty_like(rows)", "dist.reduce_scatter_tensor(mine, whole.grad)",
             "rows -= lr * mine"), "moved 2 times too far"),
    (sharded(*GATHER, "dist.all_reduce(whole.grad, op=dist.ReduceOp.AVG)", f"rows -= lr * whole.grad[{HERE}]"),
     "dist.reduce_scatter_tensor sends half as much"),
    (sharded(*GATHER, "mine = torch.empty_like(rows)",
             "dist.reduce_scatter_tensor(mine, whole.grad, op=dist.ReduceOp.AVG)", "rows = rows - lr * mine"),
     "have not changed: change them in place"),
)
WITH_ERROR, P, QR, Q = ('m = bucket.gradients()[0] + state["error"]', 'p = m @ state["q"]', "p = torch.linalg.qr(p).Q",
                        "q = m.T @ p")
KEPT = 'state["q"], state["error"] = q, m - p @ q.T'
MEAN_OF_P, MEAN_OF_Q = (f"dist.all_reduce({each}, op=dist.ReduceOp.AVG)" for each in "pq")
POWER_SGD_WRONG: tuple[Wrong, ...] = (
    (power_sgd(WITH_ERROR, P, MEAN_OF_P, QR, Q, KEPT), "P is the same on all ranks, but Q is this rank's own"),
    (power_sgd(WITH_ERROR, P, QR, MEAN_OF_P, Q, MEAN_OF_Q, KEPT), "P was averaged after qr"),
    (power_sgd("m = bucket.gradients()[0]", P, MEAN_OF_P, QR, Q, MEAN_OF_Q, 'state["q"] = q'),
     "what P Qᵀ missed in it was not added to the next gradient"),
    (power_sgd(WITH_ERROR, P, "dist.all_reduce(p)", QR, Q, "dist.all_reduce(q)", KEPT), "is 2 times what it should be"),
    (power_sgd(WITH_ERROR, P, QR, Q, MEAN_OF_Q, KEPT), "each rank computed Q with its own P"),
    (power_sgd(WITH_ERROR, P, QR, Q, KEPT), "P and Q were not averaged"),
    (power_sgd(WITH_ERROR, "dist.all_reduce(m, op=dist.ReduceOp.AVG)", P, QR, Q, KEPT),
     "right, but 2560 bytes were sent"),
)

KEY = Key(
    recall={"q10.1": "2", "q10.2": "True", "q10.3": "True", "q10.4": "1", "q10.5": "False"},
    recall_wrong={
        "q10.1": (("1", "checkpoint keeps what it needs"),),
        "q10.2": (("False", "the output follows the inputs"),),
        "q10.3": (("False", "every run draws a new mask"),),
        "q10.4": (("3", "not what is kept"),),
        "q10.5": (("True", "in backward the whole block runs again"),),
    },
    predict={"14.1": "5", "14.2": "6", "14.3": "False", "14.4": "1", "14.5": "22"},
    predict_wrong={
        "14.1": (("8", "each rank keeps its own weights"), ("6.5", "the weights are averaged")),
        "14.2": (("4", "of one process on the whole batch"), ("12", "are added")),
        "14.3": (("True", "keeps the copies equal"),),
        "14.4": (("6", "sent as soon as it is ready"), ("3", "each layer sends")),
        "14.5": (("21", "stays with its rank"), ("20", "only the last pass counts")),
    },
    why={"14.1": "c", "14.2": "b", "14.3": "a", "14.4": "c", "14.5": "a"},
    exercises={"faded": hooks("p.detach()", AVERAGE), "open1": buckets(),
               "open2": accumulate("with model.no_sync():", "    for x, y in batches[:-1]:", f"        {PART}",
                                   "x, y = batches[-1]", PART),
               "open3": sharded(*GATHER, "mine = torch.empty_like(rows)",
                                "dist.reduce_scatter_tensor(mine, whole.grad, op=dist.ReduceOp.AVG)",
                                "rows -= lr * mine"),
               "open4": power_sgd(WITH_ERROR, P, MEAN_OF_P, QR, Q, MEAN_OF_Q, KEPT)},
    exercises_wrong={"faded": HOOKS_WRONG, "open1": BUCKETS_WRONG, "open2": ACCUMULATE_WRONG, "open3": SHARDED_WRONG,
                     "open4": POWER_SGD_WRONG},
)
