"""The source of lesson 14. `python -m minigrad_lessons.build 14` makes the notebook."""

# %% [markdown] id=title
# # Lesson 14: Many processes: what DDP does in backward
#
# One GPU is too slow, so you take four. You wrap the model in `DistributedDataParallel`, DDP for short, and the rest
# of your script hardly changes. So where do the four processes communicate? Inside `backward()`, through hooks that
# you could have written yourself.
#
# Run the next cell (Shift+Enter), then press **next →** and watch the first of two processes.

# %% id=setup tags=opening
import minigrad as torch
import minigrad.distributed as dist
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, ranks, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector, inspect

DDP = torch.nn.parallel.DistributedDataParallel
def step():
    model = DDP(torch.nn.Linear(1, 1, bias=False))
    with record() as trace:  # x is 1 in process 0, and 3 in process 1
        model(torch.tensor([[1.0 + 2 * dist.get_rank()]])).sum().backward()
    print("weight.grad:", model.module.weight.grad.item())
    return trace
Inspector(ranks(2, step)[0])

# %% [markdown] id=still
# In process 0, `x` is 1, so the gradient of the weight is 1, and that is what arrives in the picture. Yet both
# processes print 2. Which step in the picture involves the other process?
#
# This lesson takes about 90 minutes; without the open exercises, about 35. It needs the extra `mpi`:
# `python -m pip install "minigrad-kit[lessons,mpi]"`.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lesson 10, from memory.

# %% id=recall tags=recall,answer
recall("q10.1")
recall("q10.2")
recall("q10.3")
recall("q10.4")
recall("q10.5")

# %% [markdown] id=processes
# ## Ranks
#
# `ranks(2, step)` starts two processes, runs the function in each, and ends them again, as `minigrad run -n 2
# train.py` does with a script. The number of a process is its **rank**. Ranks share no memory: each gets the source
# of the function and a copy of what it uses, and `ranks` returns a list of their results.
#
# Tensors travel by **collectives**: calls that all ranks have to make. `all_reduce` sums a tensor over the ranks, in
# place, on every rank:

# %% id=total
def total():
    t = torch.tensor([1.0, 10.0]) * (dist.get_rank() + 1)
    before = t.tolist()
    dist.all_reduce(t)
    return before, t.tolist()

for rank, (before, after) in enumerate(ranks(3, total)):
    print(f"rank {rank}: {before} becomes {after}")

# %% [markdown] id=belief-data tags=belief
# ## A belief: every rank must see the same data
#
# > "The copies of the model stay equal because they all see the same batch."
#
# Here is a batch of four samples, first in one process, then divided between two:

# %% id=belief-data-run tags=refutation
def part_of_a_batch():
    x = torch.arange(8.0).reshape(4, 2)[dist.get_rank()::dist.get_world_size()]
    model = DDP(torch.nn.Linear(2, 1))
    model(x).mean().backward()
    print("samples:", x.tolist(), " weight.grad:", model.module.weight.grad.tolist())

for count in (1, 2):
    ranks(count, part_of_a_batch)

# %% [markdown] id=data-note
# The gradient is the same, and each rank did half of the work. Had both seen the same samples, the second rank would
# only have repeated what the first one did. So each rank gets its own samples: `DistributedSampler` distributes them.
#
# DDP averages over the ranks, which fits a loss that is a mean. With a sum, `.grad` on four ranks would be a quarter of
# what one process gets from the whole batch.

# %% [markdown] id=belief-differ tags=belief
# ## A second belief: different losses, different models
#
# > "My ranks print different losses, so by now their weights have drifted apart."

# %% id=belief-differ-run tags=refutation
def train():
    model = DDP(torch.nn.Linear(1, 1, bias=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.tensor([[1.0 + dist.get_rank()]])
    for _ in range(3):
        loss = (model(x) - 3.0).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"loss {loss.item():.2g}")
    return model.module.weight.item()

weights = ranks(2, train)
print("equal weights, bit for bit:", weights[0] == weights[1])

# %% [markdown] id=belief-after tags=belief
# ## A third belief: gradients are averaged after backward
#
# > "First `backward()` computes all gradients, then DDP averages them."
#
# A loss belongs to a rank's own samples and is never sent. Gradients are. But when? This is what happens on rank 0,
# in a network of three layers. The first pass only finds the order in which gradients arrive, so you see the second
# one:

# %% id=belief-after-run tags=refutation
def second_pass():
    layers = [torch.nn.Linear(64, 64) for _ in range(3)]
    model = DDP(torch.nn.Sequential(*layers), bucket_cap_mb=0.01)
    for _ in range(2):
        with record() as trace:
            model(torch.ones(8, 64)).sum().backward()
    return trace

trace = ranks(2, second_pass)[0]
for event in trace.events:
    if event["kind"] == "accumulate":
        print("gradient of", trace.tensors[event["tensor"]]["name"].removeprefix("model.module."))
    elif "bucket" in event:
        print("    all_reduce of", event["label"])

# %% [markdown] id=buckets
# The last layer's gradients were already being sent before the first layer's existed: the network sends while the
# processor computes.
#
# DDP puts a hook on each `AccumulateGrad` node. The hook copies all that is in `.grad` by then, divided by the number
# of ranks, into a **bucket**. A full bucket is summed over the ranks while `backward()` goes on. At the end of the
# pass, DDP waits for the sums and writes them into `.grad`. That is why 1 arrived in the picture, but 2 was printed.

# %% [markdown] id=predict-intro tags=section:predict
# So `torch.autograd.grad` sends nothing: it runs no `AccumulateGrad`, and returns this rank's own gradients. And if one
# rank alone skips a layer, the others wait for its part of the bucket: the program hangs.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason. Unless the question says otherwise, the
# model multiplies by a single weight, `w`.

# %% id=p1 tags=predict,answer
# Each rank creates its own model, with weight 5 on rank 0 and 8 on rank 1.
#     model = DDP(layer(5.0 + 3 * rank))
# What is the weight on rank 1 now?
predict("14.1")

# %% id=r1 tags=reveal,answer
def layer(w):
    made = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(made.weight, w)
    return made

def wrapped():
    return DDP(layer(5.0 + 3 * dist.get_rank())).module.weight.item()

reveal("14.1", ranks(2, wrapped)[1])

# %% id=p2 tags=predict,answer
# Four samples: 1, 2 and 3 on rank 0, and 10 on rank 1. On each rank the loss is the mean of w * x.
# What is w.grad after backward, on both ranks?
predict("14.2")

# %% id=r2 tags=reveal,answer
def uneven():
    batches = [[1.0], [2.0], [3.0]], [[10.0]]
    model = DDP(layer(1.0))
    model(torch.tensor(batches[dist.get_rank()])).mean().backward()
    return model.module.weight.grad.item()

reveal("14.2", ranks(2, uneven)[0])

# %% id=p3 tags=predict,answer
# After DDP(model), a line of your script adds 1 to the weight, on rank 1 only. Ten training steps follow.
# Are the two copies equal at the end?
predict("14.3")

# %% id=r3 tags=reveal,answer
def repaired():
    model = DDP(layer(1.0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.no_grad():
        model.module.weight += dist.get_rank()
    for _ in range(10):
        optimizer.zero_grad()
        (model(torch.ones(1, 1)) - 3.0).square().sum().backward()
        optimizer.step()
    return model.module.weight.item()

first, second = ranks(2, repaired)
reveal("14.3", first == second)

# %% id=p4 tags=predict,answer
# Three linear layers of 64 numbers each, with biases: six parameters, about 50 kB.
# How many all-reduces does a step make, with DDP's default buckets?
predict("14.4")

# %% id=r4 tags=reveal,answer
def all_reduces():
    model = DDP(torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(3)]))
    for _ in range(2):
        with record() as trace:
            model(torch.ones(8, 64)).sum().backward()
    return len([event for event in trace.events if event.get("op", "").startswith("all_reduce")])

reveal("14.4", ranks(2, all_reduces)[0])

# %% id=p5 tags=predict,answer
# Two backward passes without zero_grad, the first one inside `with model.no_sync():`.
# The samples are 1, then 10 on rank 0, and 3, then 30 on rank 1; the loss is w * x.
# What is w.grad on rank 0 at the end?
predict("14.5")

# %% id=r5 tags=reveal,answer
def two_passes():
    model, factor = DDP(layer(1.0)), 1.0 + 2 * dist.get_rank()
    with model.no_sync():
        model(torch.tensor([[1.0 * factor]])).sum().backward()
    model(torch.tensor([[10.0 * factor]])).sum().backward()
    return model.module.weight.grad.item()

reveal("14.5", ranks(2, two_passes)[0])

# %% [markdown] id=scripts
# ## In a training script
#
# - Four ranks with 32 samples each are one step with a batch of 128. Choose the learning rate for 128.
# - A rank with fewer samples counts as much as the others, so `DistributedSampler` pads: all get the same number.
# - Seeds may differ between ranks, and for dropout they should. The initial weights are always rank 0's.
# - Whatever changes a weight outside of `optimizer.step()` has to happen on all ranks: clipping to a range, loading a
#   checkpoint, resetting a layer.

# %% id=skipped
# The forward pass skips a layer, so the bucket never fills, and the sum is never made. When is it noticed?
def skips():
    class Half(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.skipped = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
        def forward(self, x):
            return self.used(x)
    model = DDP(Half())   # DDP(Half(), find_unused_parameters=True) looks for skipped layers in each pass
    model(torch.ones(1, 1)).sum().backward()
    try:
        model(torch.ones(1, 1))
    except RuntimeError as error:
        return str(error).split(". ")[0]
print("In the next forward pass:", ranks(2, skips)[0])

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Who waits for whom
#
# The picture shows two ranks on one time axis; rank 1 has 32 times as many samples. The grey bar is `backward()`, and
# its orange parts are spent waiting. Below are the buckets: a thin line while gradients arrive, pale from the rank's
# call until all have called, then full. The arrow keys select one.
#
# - Which rank waits, and for what?
# - Which buckets cost rank 1 no time at all?
# - Would a third rank with few samples make the step faster?

# %% id=inspector tags=inspector
def unequal():
    model = DDP(torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(6)]), bucket_cap_mb=0.4)
    x = torch.ones(32 + 992 * dist.get_rank(), 256)
    for _ in range(3):
        with record(times=True) as trace:
            model(x).sum().backward()
    return trace

inspect(ranks(2, unequal))

# %% [markdown] id=own
# ## DDP of your own
#
# The simplest version is that of the third belief: average after `backward()`. The gradients are right, but while the
# network works, the processors wait.

# %% id=worked tags=worked,section:exercises
def average(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)

def by_hand():
    model = torch.nn.Linear(2, 1)
    x = torch.arange(8.0).reshape(4, 2)[dist.get_rank()::dist.get_world_size()]
    model(x).mean().backward()
    average(model)
    return model.weight.grad.tolist()

print(ranks(2, by_hand))

# %% [markdown] id=faded-intro
# ## Faded example: average inside backward
#
# You know the right hook from lesson 6: `register_post_accumulate_grad_hook` calls a function with the parameter as
# soon as its `.grad` is complete. Fill in two blanks: what does every rank get from rank 0, and what does the hook
# do?
#
# The check runs your function on 2 and on 3 ranks, and compares it with one process that has the whole batch.
# (`hint("hooks")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def parallel(model):
    for p in model.parameters():
        dist.broadcast(..., src=0)
        p.register_post_accumulate_grad_hook(lambda p: ...)


check.hooks(parallel)

# %% [markdown] id=open1-intro
# ## Open exercise: DDP in 30 lines
#
# That hook holds `backward()` up at every gradient. Now let `size` gradients travel together as one flat tensor, in
# the order in which they arrive. The last bucket may hold fewer.
#
# `all_reduce(flat, async_op=True)` returns a `work` at once; after `work.wait()` the result is in `flat`. Wait only
# after the last gradient has arrived. Then copy the results back into each `.grad`, and be ready for the next pass.

# %% id=open1 tags=open,long,answer,check
def parallel(model, size):
    ...


check.parallel(parallel)

# %% [markdown] id=open2-intro
# ## Open exercise: accumulate, then send
#
# `model` is a `DDP`, and `batches` a list of pairs `(x, y)`, all of the same size, that do not fit into memory
# together. The loss is `torch.nn.functional.mse_loss`. Leave in each `.grad` what one large batch would produce, with
# a single all-reduce.

# %% id=open2 tags=open,answer,check
def accumulate(model, batches):
    ...


check.accumulate(accumulate)

# %% [markdown] id=open3-intro
# ## Open exercise: a weight in pieces
#
# With DDP each rank holds the whole model. With `fully_shard` (FSDP) each rank holds some rows of each weight. Write
# one step of it. Gather the rows of all ranks with `dist.all_gather_into_tensor(whole, rows)`, call `loss_of(whole)`,
# and run backward. Then give each rank the mean gradient of its own rows and no others, with
# `dist.reduce_scatter_tensor(mine, whole.grad, op=…)`, and change `rows` in place by `lr` times that.

# %% id=open3 tags=open,answer,check
def sharded_step(rows, loss_of, lr):
    ...


check.sharded(sharded_step)

# %% [markdown] id=open4-intro
# ## Open exercise: send less than the gradient
#
# After `model.register_comm_hook(state, hook)` DDP calls `hook(state, bucket)` instead of its all-reduce:
# `fp16_compress_hook` sends float16. PowerSGD replaces a gradient M of n rows and m columns by P Qᵀ: P = M Q and Q =
# Mᵀ P have 2 columns each, so 2 (n + m) numbers travel, not n m.
#
# Both products are linear in M, so their means over the ranks are those for the mean gradient. `qr`, which makes the
# columns of P orthonormal, is not linear.

# %% [markdown] id=open4-task
# This hook compresses the gradient of a single weight, but it sends nothing, and forgets what P Qᵀ misses. Complete
# it: each rank adds what was missed to its next M. At the start, `state["q"]` is equal on all ranks, and
# `state["error"]` is all zeros.

# %% id=open4 tags=open,long,answer,check
def power_sgd(state, bucket):
    m = bucket.gradients()[0]
    p = m @ state["q"]
    p = torch.linalg.qr(p).Q
    q = m.T @ p
    ...  # the missing lines belong in several places
    state["q"] = q
    future = torch.futures.Future()
    future.set_result((p @ q.T).reshape(-1))
    return future


check.power_sgd(power_sgd)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# The same function runs in two processes, with each library. minigrad sends through MPI, PyTorch through gloo, which
# it includes for CPUs.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    def accumulated():
        layer = torch.nn.Linear(1, 1, bias=False)
        model = torch.nn.parallel.DistributedDataParallel(layer)
        factor = 1.0 + 2 * torch.distributed.get_rank()
        with model.no_sync():
            model(torch.tensor([[1.0 * factor]])).sum().backward()
        print("after no_sync:", layer.weight.grad.item())
        model(torch.tensor([[10.0 * factor]])).sum().backward()
        print("after backward:", layer.weight.grad.item())

    ranks(2, accumulated)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# This is what the ranks call together in each part of a script, found by running it. The layer has two parameters.

# %% id=summary tags=summary
def called(part):
    with record() as trace:
        value = part()
    ops = [event["op"].partition("(")[0] for event in trace.events if event["kind"] == "collective_start"]
    return value, ", ".join(ops) or "nothing"

def parts():
    made = {"DDP(model)": called(lambda: DDP(torch.nn.Linear(8, 8)))}
    model = made["DDP(model)"][0]
    made["forward"] = called(lambda: model(torch.ones(1, 8)).sum())
    made["backward"] = called(made["forward"][0].backward)
    made["optimizer.step()"] = called(torch.optim.SGD(model.parameters(), lr=0.1).step)
    return [[name, ops] for name, (_, ops) in made.items()]
table(["what runs", "called by all ranks"], ranks(2, parts)[0])

# %% [markdown] id=next
# Equal weights at the start, equal gradients in each step, and the same arithmetic in the optimizer: nothing else
# keeps the copies equal. What one rank alone does to its weights stays on that rank, and nothing reports it.
#
# `docs/scale.md` says what an all-reduce costs on 8, 64 and 1,024 ranks. DDP and `fully_shard` are 250 lines each, in
# `minigrad/nn/parallel/distributed.py` and `minigrad/distributed/fsdp`. Read them: you have written the core of both.
