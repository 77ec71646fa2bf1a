"""The source of lesson 10. `python -m minigrad_lessons.build 10` makes the notebook."""

# %% [markdown] id=title
# # Lesson 10: Activation checkpointing
#
# Your model does not fit into memory, and most of that memory holds values kept for the backward pass.
# `checkpoint(block, x)` does not keep them: when they are needed, the block runs a second time. You save memory and
# pay with time.
#
# Run the next cell (Shift+Enter), then press **next →**. Both rows show the same three blocks.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad.utils.checkpoint import checkpoint
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector, compare

block, first = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.Tanh()), {}
for name in ("plain", "checkpoint"):
    x = torch.ones(1000, requires_grad=True)
    with record() as first[name]:
        for _ in range(3):
            x = checkpoint(block, x, use_reentrant=False) if name == "checkpoint" else block(x)
        x.sum().backward()
compare(first)

# %% [markdown] id=still
# Time goes to the right, and the curve shows how many bytes are held. Both rows compute the same gradient. Which one
# holds less at its peak, and what does it do more often?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![Two runs on one axis](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 9, 8 and 6, from memory.

# %% id=recall tags=recall,answer
recall("q9.1")
recall("q9.4")
recall("q8.2")
recall("q8.4")
recall("q6.2")

# %% [markdown] id=belief-gradients tags=belief
# ## A belief: checkpoint leaves out gradients
#
# > "checkpoint omits the gradients in the forward pass and computes them later."
#
# Here are eight layers, plain and with `checkpoint` around each pair. (`use_reentrant=False` chooses one of two
# kinds; more on that below.) What takes up memory when backward begins? **Saved** is what nodes keep; **activations**
# are other results that are still referenced.

# %% id=belief-gradients-run tags=refutation,answers:s0.6,contradicts:c0.1
from minigrad.memory import Account

net = torch.nn.Sequential(*[part for _ in range(8) for part in (torch.nn.Linear(64, 64), torch.nn.Tanh())])
def step(run):
    x = torch.ones(32, 64, requires_grad=True)
    net.zero_grad()
    with record() as trace:
        for start in range(0, 16, 4):
            x = run(net[start:start + 4], x)
        x.sum().backward()
    return trace
both = {"plain": step(lambda block, x: block(x)),
        "checkpoint": step(lambda block, x: checkpoint(block, x, use_reentrant=False))}
table(["bytes", "parameters", "activations", "saved", "gradients"],
      [[name, *map(str, Account(trace).at_backward())] for name, trace in both.items()])

# %% [markdown] id=plot-intro
# A forward pass has no gradients to leave out: the 4 bytes of gradients are one number, the 1 with which backward
# starts. What checkpoint leaves out is **saved** values: of 9 tensors only 4 are left, the input of each block. (Each
# tensor has 32 × 64 numbers, 8192 bytes: 73728 is 9 of them, 32768 is 4. The last output, which the plain run has
# saved, counts as an activation in the checkpointed run.) Over time:

# %% id=plot
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 2.6), sharey=True, layout="constrained")
for ax, (name, trace) in zip(axes, both.items()):
    Account(trace).plot(ax)
    ax.set_title(name)
    ax.get_legend().remove()
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
plt.show()

# %% [markdown] id=own-intro
# The pink part is what checkpointing reduces. On the right it rises four more times: each block runs again and is
# released before the next. (Here the peak is the same in both, because parameters, counted from their first use, and
# gradients dominate. Only the pink part shrinks.)
#
# Here is a checkpoint written by hand. `quiet` says whether the block runs under a `no_grad` of its own:

# %% id=own
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, quiet, x):
        ctx.block = block
        ctx.save_for_backward(x)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not quiet):
            return block(x)
    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.block(x)
        torch.autograd.backward(y, grad)
        return None, None, x.grad

# %% [markdown] id=belief-mode tags=belief
# ## A second belief: the `no_grad` inside saves the memory
#
# PyTorch has such a Function too: `CheckpointFunction`.
#
# > "CheckpointFunction runs the block `with torch.no_grad()`. That is its trick."

# %% id=belief-mode-run tags=refutation,answers:row13,answers:s0.7,answers:s0.5
class ctx:      # stands in for the real one, where forward is called directly
    save_for_backward = staticmethod(lambda *tensors: None)

rows = []
for name, quiet in {"with no_grad": True, "without": False}.items():
    held = Account(step(lambda block, x, quiet=quiet: Again.apply(block, quiet, x))).at_backward()
    direct = Again.forward(ctx, torch.exp, quiet, torch.ones(2, requires_grad=True))
    rows.append([name, str(held.saved), str(direct.requires_grad)])
table(["in forward", "bytes saved", "recorded, if one calls forward directly"], rows)

# %% [markdown] id=belief-flag tags=belief
# The memory does not change, because `apply` had already switched recording off. The `no_grad` matters only if you
# call `forward` directly. Memory is saved because **only the input is saved**. Any Function runs `forward` unrecorded
# and saves what it needs; checkpoint saves the input and runs the block twice.
#
# ## A third belief: made under `no_grad`, so it does not require grad
#
# > "The block ran under `no_grad`, so its output should not require grad. But it does!"

# %% id=belief-flag-run tags=refutation,answers:s1.1,answers:s1.4,contradicts:c1.1,contradicts:c1.3,contradicts:c1.4
import warnings

rows, inside, layer = [], [], torch.nn.Linear(4, 4)
def block(x):
    inside.append(layer(x).requires_grad)
    return layer(x)

for reentrant, wanted in ((True, True), (True, False), (False, True), (False, False)):
    with warnings.catch_warnings(action="ignore"):      # "None of the inputs have requires_grad=True"
        out = checkpoint(block, torch.ones(1, 4, requires_grad=wanted), use_reentrant=reentrant)
    node = "None" if out.grad_fn is None else out.grad_fn.name()
    rows.append([*map(str, (reentrant, wanted, inside[-1], out.requires_grad)), node])
table(["reentrant", "x requires grad", "inside", "output", "its node"], rows)

# %% [markdown] id=predict-intro tags=section:predict
# There are **two kinds** of checkpoint. The **reentrant** one is a Function as above. The **non-reentrant** one,
# which PyTorch recommends, is not. The table shows that they differ; the predictions show how.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# The non-reentrant kind. The block's first line is:  seen.append(torch.is_grad_enabled())
# Is grad mode on in the block's first run?
predict("10.1")

# %% id=r1 tags=reveal,answer
def block(x):
    seen.append(torch.is_grad_enabled())
    return x.exp()


seen = []
checkpoint(block, torch.ones(2, requires_grad=True), use_reentrant=False).sum().backward()
reveal("10.1", seen[0])

# %% id=p2 tags=predict,answer
# The block appends a mark to a list before each of its three steps:  exp, sin, + 1.
# Only exp and sin save a value. Non-reentrant: how many marks are added during backward?
predict("10.2")

# %% id=r2 tags=reveal,answer
def marked(x):
    marks.append("exp")
    a = x.exp()
    marks.append("sin")
    b = a.sin()
    marks.append("+ 1")
    return b + 1


marks = []
checkpoint(marked, torch.ones(2, requires_grad=True), use_reentrant=False).sum().backward()
reveal("10.2", len(marks) - 3)

# %% id=p3 tags=predict,answer
# Reentrant. The block detaches its own result, and x requires grad:
#     out = checkpoint(lambda x: (x * 2).detach(), x, use_reentrant=True)
# Does out require grad?
predict("10.3")

# %% id=r3 tags=reveal,answer,answers:row14
x = torch.ones(2, requires_grad=True)
out = checkpoint(lambda x: (x * 2).detach(), x, use_reentrant=True)
reveal("10.3", out.requires_grad)

# %% [markdown] id=kinds-note
# So the two kinds differ. In the **reentrant** one, `apply` attaches one node if an *input* requires grad. The
# layer's weights are not inputs, so if `x` does not require grad, they get no gradient. The **non-reentrant** one
# records as usual, and a hook takes away what is saved. So the flag and the node are the block's own.

# %% id=p4 tags=predict,answer
# Dropout sets random entries to 0; the mask says which ones. Here the random state is not preserved:
#     checkpoint(dropped, x, use_reentrant=False, preserve_rng_state=False)
# Does the second run draw the same mask?
predict("10.4")

# %% id=r4 tags=reveal,answer
def dropped(x):
    y = torch.nn.functional.dropout(x, 0.5)
    masks.append((y.detach() != 0).tolist())
    return y.exp() * x


masks = []
x = torch.ones(64, requires_grad=True)
checkpoint(dropped, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
reveal("10.4", masks[0] == masks[1])

# %% [markdown] id=detached-note
# If the masks differ, the gradient belongs to a different function from the one that ran forward, and no error tells
# you. That is why the random state is preserved by default. And what does the flag of prediction 3 promise? Nothing:

# %% id=detached tags=raises-exception,answers:row14
out.sum().backward()

# %% [markdown] id=inspector-intro tags=section:inspector
# The node is there, but nothing was recorded behind it.
#
# ## Three runs on one axis
#
# Now the picture shows both kinds of checkpoint. Look for the spans in which a block runs again, the point where one
# of them stops early, and the height of the curve.

# %% id=inspector tags=inspector
def three_blocks(run):
    x = torch.ones(1000, requires_grad=True)
    with record() as trace:
        for _ in range(3):
            x = run(lambda x: x.exp().sin().tanh() + 1, x)
        x.sum().backward()
    return trace

traces = {"plain": three_blocks(lambda block, x: block(x)),
          "reentrant": three_blocks(lambda block, x: checkpoint(block, x, use_reentrant=True)),
          "non-reentrant": three_blocks(lambda block, x: checkpoint(block, x, use_reentrant=False))}
compare(traces)

# %% id=inspector-one tags=inspector
trace = traces["non-reentrant"]
stop = next(step for step, event in enumerate(trace.events) if event["kind"] == "early_stop")
Inspector(trace, lens="checkpoint", step=stop)

# %% [markdown] id=worked-intro
# ## Worked example: what a pack hook sees
#
# Non-reentrant checkpointing needs one tool: `saved_tensors_hooks(pack, unpack)`. Whenever a value is saved, `pack`
# gets it, and what `pack` returns is kept **instead**. When the value is needed, `unpack` gets what was kept and
# returns the value.

# %% id=worked tags=worked,section:exercises
def pack(value):
    print("pack  ", value.tolist())
    return value.tolist()

def unpack(kept):
    print("unpack", kept)
    return torch.tensor(kept)

x = torch.tensor([0.0], requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    y = x.exp() * 2
y.backward()
print("x.grad", x.grad.tolist())

# %% [markdown] id=faded-intro
# ## Faded example: checkpoint in 15 lines
#
# `pack` returns a number instead of the value. When a value is first needed, the block runs again, with hooks that
# collect the values. Fill in three blanks. (The `unpack` of `collect` is never called: that run has no backward.
# `hint("by_hooks")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def my_checkpoint(block, x):
    numbers, kept = [], []

    def pack(value):
        numbers.append(len(numbers))
        return ...

    def unpack(number):
        if not kept:
            collect = torch.autograd.graph.saved_tensors_hooks(
                lambda value: kept.append(...), lambda nothing: None)
            with torch.enable_grad(), collect:
                block(x.detach().requires_grad_())
        return ...

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        return block(x)


check.by_hooks(my_checkpoint)

# %% [markdown] id=open1-intro
# ## Open exercise: how many segments?
#
# `n` equal layers are cut into `k` **segments**, blocks with a checkpoint around each. Few segments keep few inputs,
# but then each is long, and when it runs again all its values are held at once. Which `k` has the lowest **peak**?
# Let `segments(n)` return that `k`. The check measures it.

# %% id=open1 tags=open,answer,check
def segments(n):
    return ...


check.segments(segments)

# %% [markdown] id=open2-intro
# ## Open exercise: make the two runs differ
#
# checkpoint assumes that the second run does the same as the first. Break that: make the second run save tensors of
# **a different shape**, and read the error. (In the second run, `again` is True.)

# %% id=open2 tags=open,answer,check
def unstable(x, again):
    ...
    return x.exp().sin()


check.unstable(unstable)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# In which grad mode do the three segments of `checkpoint_sequential` run? Its documentation says only: "All segments
# except the last will not store the intermediate activations." The grad mode depends on the kind. The last segment is
# not checkpointed, and runs once.

# %% id=torch tags=torch,answers:s1.2,contradicts:c1.2
@same_in_torch
def program(torch):
    def part(x):
        modes.append(torch.is_grad_enabled())
        return x.exp()
    for reentrant in (True, False):
        modes, x = [], torch.zeros(2, requires_grad=True)
        out = torch.utils.checkpoint.checkpoint_sequential([part] * 3, 3, x, use_reentrant=reentrant)
        forward = len(modes)
        out.sum().backward()
        print(reentrant, modes[:forward], modes[forward:], out.grad_fn.name())
    try:
        torch.utils.checkpoint.checkpoint(lambda x: x.detach(), x, use_reentrant=True).sum().backward()
    except RuntimeError as error:
        print(error)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary: which of the two?
#
# This table was made by running each case. Most failures are errors. One is not: with a trainable layer after the
# block, backward runs, and the block's weights get no gradient. All you see is a warning in the forward pass.

# %% id=summary tags=summary,answers:row15
def works(run, reentrant):
    try:
        with warnings.catch_warnings(action="ignore"):
            return "works" if run(reentrant) is not None else "no gradient"
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
def weights_learn(reentrant, after=torch.sigmoid):
    layer = torch.nn.Linear(2, 2)
    after(checkpoint(layer, torch.ones(1, 2), use_reentrant=reentrant)).sum().backward()
    return layer.weight.grad
rows = [("autograd.grad", lambda r: torch.autograd.grad(checkpoint(torch.exp, x, use_reentrant=r).sum(), x)),
        ("only weights need a gradient", weights_learn),
        ("the same, and a layer comes after", lambda r: weights_learn(r, torch.nn.Linear(2, 2))),
        ("arguments by name", lambda r: checkpoint(lambda x, by: x * by, x, by=2.0, use_reentrant=r))]
table(["", "reentrant", "non-reentrant"], [[name, works(run, True), works(run, False)] for name, run in rows])

# %% [markdown] id=next
# **Kept**: the inputs of each block. **Run again**: each block, once, in backward; the non-reentrant kind stops as
# soon as it has what it needs. **Use** `use_reentrant=False`. **Cut** n layers into about √n segments.
#
# Next, lesson 11: modules, parameters, optimizers, real data.
