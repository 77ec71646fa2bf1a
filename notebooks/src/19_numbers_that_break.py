"""The source of lesson 19. `python -m minigrad_lessons.build 19` makes the notebook."""

# %% [markdown] id=title
# # Lesson 19: Numbers that break
#
# A loss goes down for an hour, and then every weight is NaN. Often no value of the forward pass was ever wrong: a
# slope was infinite where nobody looked. And in 16 bits, gradients are lost without a trace.
#
# Run the next cell (Shift+Enter), and press **next →** until the gradients arrive.

# %% id=setup tags=opening
import warnings

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    x = torch.tensor([4.0, 0.0], requires_grad=True)
    root = torch.where(x > 0, x.sqrt(), 0.0)
    root.sum().backward()
Inspector(first)

# %% [markdown] id=still
# `root` is [2, 0]: the square root where `x` is positive, and 0 where it is not. At which node does a number appear
# that is not a number?
#
# This lesson takes about 45 minutes. It is read after lesson 11.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 11, 10 and 8, from memory.

# %% id=recall tags=recall,answer
recall("q11.2")
recall("q11.4")
recall("q10.1")
recall("q10.3")
recall("q8.3")

# %% [markdown] id=belief-where tags=belief
# ## A belief: what is not chosen does not count
#
# > "`where` takes the 0 for the second entry. The square root of 0 is not used, so its slope does not matter."

# %% id=belief-where-run tags=refutation
print("root:  ", root.tolist())
print("x.grad:", x.grad.tolist())

# %% [markdown] id=where-note
# `where` sends the gradient 0 into the branch that was not chosen. There the formula goes on: the node of the root
# divides it by 2 · √0, and 0 / 0 is NaN. (The slope is infinite there, and 0 · ∞ is NaN, too.) So choose **before** the
# operation, not after it: give `sqrt` only numbers that it can take. Then its slope is finite, and 0 times that is 0.

# %% id=before
x = torch.tensor([4.0, 0.0], requires_grad=True)
good = torch.where(x > 0, x, 1.0)
root = torch.where(x > 0, good.sqrt(), 0.0)
root.sum().backward()
print("root:", root.tolist(), " x.grad:", x.grad.tolist())

# %% [markdown] id=kinks-intro
# Where two entries are equal, `max` has no slope, and `relu` and `abs` have none at 0. Nothing becomes NaN: each
# operation has a rule. Some share the gradient, some give it to one entry, some give 0:

# %% id=kinks
kinks = {"x.max()": lambda x: x.max(), "x.max(0).values": lambda x: x.max(0).values,
         "torch.maximum(x[0], x[1])": lambda x: torch.maximum(x[0], x[1]),
         "(x - 2).relu().sum()": lambda x: (x - 2).relu().sum(),
         "(x - 2).abs().sum()": lambda x: (x - 2).abs().sum()}
for code, at_kink in kinks.items():
    x = torch.tensor([2.0, 2.0], requires_grad=True)
    print(f"{code:25}", torch.autograd.grad(at_kink(x), x)[0].tolist())

# %% [markdown] id=belief-formula tags=belief
# ## A second belief: the same formula gives the same number
#
# > "`log_softmax(x)` is only a short way to write `log(softmax(x))`."

# %% id=belief-formula-run tags=refutation
x = torch.tensor([0.0, -200.0], requires_grad=True)
for loss in (-torch.softmax(x, 0)[1].log(), -torch.log_softmax(x, 0)[1]):
    print(loss.item(), torch.autograd.grad(loss, x)[0].tolist())

# %% [markdown] id=formula-note
# exp(-200) is smaller than any positive number that float32 has, so the probability becomes 0, and its logarithm -∞.
# `log_softmax` never takes the logarithm of that probability. It computes x - m - log(sum(exp(x - m))), where m is the
# largest entry: the sum is at least 1, so its logarithm is safe, and the -200 is still there. That is why
# `cross_entropy` takes **logits**, the numbers before the softmax.

# %% [markdown] id=belief-digits tags=belief
# ## A third belief: 16 bits only have fewer digits
#
# > "In `float16` a gradient is a little less exact, and that is all."

# %% id=belief-digits-run tags=refutation
for dtype in (torch.float32, torch.float16):
    x = torch.tensor(1.0, dtype=dtype, requires_grad=True)
    (x * 1e-4 * 1e-4).backward()
    state = "lost" if x.grad.item() == 0 else "there"
    print(f"{dtype}: the gradient is {state}; the largest number is {torch.finfo(dtype).max:.3g}")

# %% [markdown] id=digits-note
# The smallest positive number of `float16` is 0.00000006, and less than half of that becomes 0; the largest is 65504.
# (`bfloat16` has the range of `float32`, so for it the belief is true.) So the weights stay in `float32`, and
# `torch.autocast` computes in 16 bits. In which dtype is the gradient of a weight?

# %% id=autocast
layer = torch.nn.Linear(2, 2)
with torch.autocast("cpu", torch.float16):
    out = layer(torch.ones(1, 2))
out.sum().backward()
print("output:", out.dtype, " weight:", layer.weight.dtype, " weight.grad:", layer.weight.grad.dtype)
node = out.grad_fn
while node is not None:     # the last pair of each node: the way to the weight
    print(node.name())
    node = node.next_functions[-1][0] if node.next_functions else None

# %% [markdown] id=autocast-note
# The weight was cast to 16 bits for the product, and the cast is recorded like any operation. Its node,
# `ToCopyBackward0`, casts the gradient back to `float32`. But by then it may have become 0. So before backward the loss
# is multiplied by a large number, the scale, and the gradients are divided by it before the step.

# %% [markdown] id=scaler
# That is what a **GradScaler** does. It looks for the largest scale that works. If a gradient becomes infinite, it
# leaves the step out and tries half the scale; after 2,000 good steps in a row it tries twice the scale.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer,section:predict
# x is [4, 0] and requires grad. The root is multiplied by a mask, without where:
#     y = x.sqrt() * (x > 0)
#     y.sum().backward()
# Is an entry of x.grad NaN?
predict("19.1")

# %% id=r1 tags=reveal,answer
x = torch.tensor([4.0, 0.0], requires_grad=True)
y = x.sqrt() * (x > 0)
y.sum().backward()
reveal("19.1", x.grad.isnan().any().item())

# %% id=p2 tags=predict,answer
# x is [1000, 0] and requires grad.
#     torch.logsumexp(x, 0).backward()
# Are all entries of x.grad finite?
predict("19.2")

# %% id=r2 tags=reveal,answer
x = torch.tensor([1000.0, 0.0], requires_grad=True)
torch.logsumexp(x, 0).backward()
reveal("19.2", x.grad.isfinite().all().item())

# %% id=p3 tags=predict,answer
# w.grad is [3, 4], and then
#     torch.nn.utils.clip_grad_norm_([w], 1.0)
# What is w.grad? Give a list.
predict("19.3")

# %% id=r3 tags=reveal,answer
w = torch.ones(2, requires_grad=True)
w.grad = torch.tensor([3.0, 4.0])
torch.nn.utils.clip_grad_norm_([w], 1.0)
reveal("19.3", w.grad.tolist())

# %% id=p4 tags=predict,answer
# x is 1, in float16. The loss is scaled before backward:
#     (x * 1e-4 * 1e-4 * 1024).backward()
# Is x.grad different from 0?
predict("19.4")

# %% id=r4 tags=reveal,answer
x = torch.tensor(1.0, dtype=torch.float16, requires_grad=True)
(x * 1e-4 * 1e-4 * 1024).backward()
reveal("19.4", x.grad.item() != 0)

# %% id=p5 tags=predict,answer
# w is 1, the scale is 1024, and the gradient of w is infinite.
#     scaler.step(optimizer)
#     scaler.update()
# What is the scale now?
predict("19.5")

# %% id=r5 tags=reveal,answer
w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
scaler.scale(w * float("inf")).backward()
scaler.step(optimizer)
scaler.update()
reveal("19.5", scaler.get_scale())

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Where a NaN is born
#
# The length of a vector, at zero. No operation is hidden by `where`, and the loss is 0.
#
# - Which node turns a good gradient into an infinite one, and which makes NaN of it?
# - What would the gradient of `(x * x).sum()` be at this point?

# %% id=inspector tags=inspector
with record() as trace:
    x = torch.zeros(2, requires_grad=True)
    length = (x * x).sum().sqrt()
    length.backward()
Inspector(trace, step=trace.steps("backward")[-1])

# %% [markdown] id=worked-intro
# ## Worked example: let PyTorch search
#
# In a large model you cannot look at every node. Anomaly mode looks at each gradient as it is made, stops at the first
# that has a NaN, and warns with the line of the forward pass that made the node. It does not stop at ∞: for `length`
# above it would name `MulBackward0`, which was handed the ∞. It is slow: use it to search, not to train.

# %% id=worked tags=worked,section:exercises
x = torch.tensor([4.0, 0.0], requires_grad=True)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with torch.autograd.detect_anomaly():
        try:
            torch.where(x > 0, x.sqrt(), 0.0).sum().backward()
        except RuntimeError as error:
            print(error)
print(str(told[-1].message).splitlines()[-1].strip())

# %% [markdown] id=faded-intro
# ## Faded example: the entropy of probabilities, some of them 0
#
# `-(p * p.log()).sum()` is NaN as soon as an entry is 0, and so is the gradient of that entry. Let an entry that is 0
# add 0, and have the gradient 0. (The true slope there is infinite; 0 is a choice with which one can train.) Fill in
# two blanks: what the logarithm gets in the place of a 0, and what such an entry adds.
# (`hint("entropy")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def entropy(p):
    good = torch.where(p > 0, p, ...)
    return -torch.where(p > 0, good * good.log(), ...).sum()


check.entropy(entropy)

# %% [markdown] id=open1-intro
# ## Open exercise: log-sum-exp
#
# Return log(exp(x₁) + exp(x₂) + …) of a vector `x`. Try it without `torch.logsumexp`. It must be right for [1000, 0],
# for [0, 1000] and for [-1000, -1001], and so must its gradient.

# %% id=open1 tags=open,answer,check
def log_sum_exp(x):
    return ...


check.log_sum_exp(log_sum_exp)

# %% [markdown] id=open2-intro
# ## Open exercise: a step with a scale and a limit
#
# Write the training step: scale the loss, go backward, clip the gradients to the norm `limit`, step, update the scale.
# The limit is meant for the gradients themselves, not for the scaled ones: find the place where
# `scaler.unscale_(optimizer)` belongs. Where a gradient is infinite, the step must be left out.

# %% id=open2 tags=open,answer,check
def scaled_step(loss, parameters, optimizer, scaler, limit):
    optimizer.zero_grad()
    ...


check.scaled_step(scaled_step)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# The same NaNs, the same lost gradient, and the same scale after a step that was left out.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    x = torch.tensor([4.0, 0.0], requires_grad=True)
    print(torch.autograd.grad(torch.where(x > 0, x.sqrt(), 0.0).sum(), x)[0])
    print(torch.autograd.grad(-torch.softmax(x * 50, 0)[1].log(), x)[0])
    print(torch.autograd.grad(-torch.log_softmax(x * 50, 0)[1], x)[0])
    small = torch.tensor(1.0, dtype=torch.float16, requires_grad=True)
    print(torch.autograd.grad(small * 1e-4 * 1e-4, small)[0])
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD([x], lr=0.1)
    scaler.scale(x[0] * float("inf")).backward()
    scaler.step(optimizer)
    scaler.update()
    print(x.tolist(), scaler.get_scale())

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# Each at the point where it may break: the value, and the gradient. `norm` is one operation, with a rule for 0.

# %% id=summary tags=summary
ways = {"where(x > 0, x.sqrt(), 0)": lambda x: torch.where(x > 0, x.sqrt(), 0.0),
        "where(x > 0, good.sqrt(), 0)":
            lambda x: torch.where(x > 0, torch.where(x > 0, x, 1.0).sqrt(), 0.0),
        "(x * x).sqrt()": lambda x: (x * x).sqrt(),
        "x.norm()": lambda x: x.norm(),
        "softmax([x, 200])[0].log()": lambda x: torch.softmax(torch.stack([x, x.detach() + 200]), 0)[0].log(),
        "log_softmax([x, 200])[0]": lambda x: torch.log_softmax(torch.stack([x, x.detach() + 200]), 0)[0]}


def at_zero(way):
    x = torch.tensor(0.0, requires_grad=True)
    return [f"{each.item():g}" for each in (way(x), torch.autograd.grad(way(x), x)[0])]


table(["at x = 0", "value", "gradient"], [[name, *at_zero(way)] for name, way in ways.items()])

# %% [markdown] id=next
# **NaN in a gradient** comes from 0 · ∞: choose before an operation, not after it. **One operation** for a logarithm of
# exponentials. **float16** needs a scale; unscale before you clip; a step with infinite gradients is left out.
#
# Next, lesson 12: gradients of gradients.
