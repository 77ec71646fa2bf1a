"""The source of lesson 17. `python -m minigrad_lessons.build 17` makes the notebook."""

# %% [markdown] id=title
# # Lesson 17: What broadcasting does to a gradient
#
# A bias of 3 numbers is added to each of 1,000 rows; one weight scales a whole image. Broadcasting makes the shapes
# fit, and backward has to undo it. Forget that, and you expect the wrong size of a gradient, or train with a loss that
# raises no error and learns nothing.
#
# This lesson comes between lessons 3 and 4. Run the next cell (Shift+Enter), press **next →** to
# the end, then drag `w`.

# %% id=setup tags=opening,inspector
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    w = torch.tensor(2.0, requires_grad=True)
    x = torch.tensor([1.0, 2.0, 3.0])
    loss = (w * x).sum()
    loss.backward()
Inspector(first, lens="values", parts=["leaves", "outputs"])

# %% [markdown] id=still
# `w` is one number, and it meets three. Before you step: how many gradients come back through ×, and what is the
# gradient of `w`?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From memory. The first two are about arrays, as in NumPy.

# %% id=recall tags=recall,answer
recall("q0.1")
recall("q0.3")
recall("q2.4")
recall("q3.3")
recall("q3.5")

# %% [markdown] id=belief-once tags=belief
# ## A belief: used once, one gradient
#
# > "`w` stands in the formula once, so one gradient comes back to it."
#
# Give each entry of `x` a weight of its own, all equal to 2, and compare:

# %% id=belief-once-run tags=refutation
copies = [torch.tensor(2.0, requires_grad=True) for _ in range(3)]
(torch.stack(copies) * x).sum().backward()
print("three weights:  ", [copy.grad.item() for copy in copies])

w = torch.tensor(2.0, requires_grad=True)
(w * x).sum().backward()
print("one, broadcast: ", w.grad.item())

# %% [markdown] id=belief-copies tags=belief
# `w` is written once but **used three times**, once for each entry of `x`. Slopes along different paths add up:
# 1 + 2 + 3 = 6. That is the whole rule: **what is broadcast forward is summed backward.**
#
# ## A second belief: broadcasting copies
#
# > "To multiply them, `w` is first copied three times."
#
# `expand` is broadcasting by hand. If it copied, the result would be somewhere else in memory. (The *stride* says how
# far apart neighbours are in memory.)

# %% id=belief-copies-run tags=refutation
wide = w.expand(3)
print("its values:", wide.tolist())
print("where w is:", wide.data_ptr() == w.data_ptr())
print("stride:    ", wide.stride())

# %% [markdown] id=predict-intro tags=section:predict
# All three entries are the same number in memory: the stride is 0. Only the *gradients* are three, until they are
# added up.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# A batch of 4 rows, and a bias of 3 numbers that is added to each row.
#     m = torch.ones(4, 3)
#     b = torch.zeros(3, requires_grad=True)
#     (m + b).sum().backward()
# What is b.grad? Give a list.
predict("17.1")

# %% id=r1 tags=reveal,answer
m = torch.ones(4, 3)
b = torch.zeros(3, requires_grad=True)
(m + b).sum().backward()
reveal("17.1", b.grad)

# %% id=p2 tags=predict,answer
# A column: one number for each row.
#     c = torch.ones(4, 1, requires_grad=True)
#     (m * c).sum().backward()
# Which shape does c.grad have? Give a tuple.
predict("17.2")

# %% id=r2 tags=reveal,answer
c = torch.ones(4, 1, requires_grad=True)
(m * c).sum().backward()
reveal("17.2", c.grad.shape)

# %% id=p3 tags=predict,answer
# Call the node of a product by hand, as in lesson 3. w has one number, x has three.
#     dw, _ = (w * x).grad_fn(torch.ones(3))
# Which shape does dw have? Give a tuple.
predict("17.3")

# %% id=r3 tags=reveal,answer
dw, _ = (w * x).grad_fn(torch.ones(3))
reveal("17.3", dw.shape)

# %% id=p4 tags=predict,answer
# A layer with one output gives a column; the targets are a plain list of numbers.
#     pred = torch.zeros(3, 1, requires_grad=True)
#     target = torch.tensor([1.0, 2.0, 6.0])
# Which shape does pred - target have? Give a tuple.
predict("17.4")

# %% id=r4 tags=reveal,answer
pred = torch.zeros(3, 1, requires_grad=True)
target = torch.tensor([1.0, 2.0, 6.0])
reveal("17.4", (pred - target).shape)

# %% id=p5 tags=predict,answer
# The same pred and target. Each of the three predictions should go to its own target: 1, 2 and 6.
#     ((pred - target) ** 2).mean().backward()
# How many different numbers are in pred.grad?
predict("17.5")

# %% id=r5 tags=reveal,answer
((pred - target) ** 2).mean().backward()
reveal("17.5", len(set(pred.grad.flatten().tolist())))

# %% [markdown] id=belief-runs tags=belief
# ## A third belief: it runs, so the shapes are right
#
# > "If the shapes did not fit, PyTorch would raise an error. It trains, and the loss falls, so they fit."
#
# The targets below are exactly 3 · x + 1. A straight line is fitted to them twice: first with targets of the shape
# (8,), then with the same targets as a column, (8, 1), like the predictions.

# %% id=belief-runs-run tags=refutation
inputs = torch.linspace(-1, 1, 8).unsqueeze(1)
targets = (3 * inputs + 1).squeeze(1)
for wanted in (targets, targets.unsqueeze(1)):
    line, losses = torch.zeros(2, requires_grad=True), []
    for _ in range(100):
        loss = ((line[0] * inputs + line[1] - wanted) ** 2).mean()
        losses.append(loss.item())
        slopes, = torch.autograd.grad(loss, line)
        with torch.no_grad():
            line -= 0.3 * slopes
    slope, start = map(round, line.tolist())
    print(f"targets {tuple(wanted.shape)}: the loss goes from {losses[0]:.1f} to {losses[-1]:.1f},"
          f" learned {slope} x + {start}")

# %% [markdown] id=runs-note tags=section:inspector
# The loss falls in both. With (8,), every prediction is compared with **every** target: 64 differences, whose best
# answer is the mean of all targets. The slope is never learned. Print the shape of the difference before you trust a
# loss.
#
# ## See it happen
#
# A row `b` and a column `c` meet a matrix. Step to the end. Which entries of the big boxes end up in which entry of
# `b`'s gradient, and which in `c`'s? Then drag one entry of `c`: which gradients follow?

# %% id=inspector tags=inspector
with record() as trace:
    m = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    b = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
    c = torch.tensor([[1.0], [2.0]], requires_grad=True)
    loss = ((m + b) * c).sum()
    loss.backward()
Inspector(trace, lens="values", parts=["leaves", "outputs"])

# %% [markdown] id=inspector-note
# Now the same program as a graph of nodes. The inspector stops and asks **which shape arrives**.

# %% id=inspector-backward tags=inspector
Inspector(trace, lens="backward", ask=["shape"], parts=["source", "details", "leaves", "outputs"])

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: sum it back by hand
#
# A node applies its formula as if nothing had been broadcast. Then the engine sums what came out, until it has the
# shape of the input: no node of its own stands for the broadcast. Here it is by hand, for the product and the sum that
# you have just seen. Each line ends with what `backward()` found.

# %% id=worked tags=worked
with torch.no_grad():
    for_sum = c * torch.ones(2, 3)  # the product's formula: times the other factor
    for_c = (m + b) * torch.ones(2, 3)
    print("c, along each row:    ", for_c.sum(1, keepdim=True).tolist(), c.grad.tolist())
    print("b, along each column: ", for_sum.sum(0).tolist(), b.grad.tolist())

# %% [markdown] id=faded-intro
# `b` had no dimension for the rows: broadcasting added one **on the left**, so the sum is over dimension 0, which
# disappears. `c` had one of length 1: it was stretched to 3, so the sum is over it, and `keepdim=True` keeps it with
# length 1.
#
# ## Faded example: `sum_back(grad, shape)`
#
# This works for any two shapes. Fill in two blanks: which dimension is summed away, and what happens to one that had
# length 1. (`hint("sum_back")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def sum_back(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(...)
    for dim, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(dim, keepdim=...)
    return grad


check.sum_back(sum_back)

# %% [markdown] id=open1-intro
# ## Open exercise: each row minus its own mean
#
# Return `m` with the mean of each row subtracted from that row. It must work for any matrix, also for a square one,
# where a wrong shape raises no error. The gradient must go through the mean too.

# %% id=open1 tags=open,answer,check
def center(m):
    return ...


check.center(center)

# %% [markdown] id=open2-intro
# ## Open exercise: repair the loss
#
# `pred` is a column, (n, 1), as a layer with one output gives it; `target` has the shape (n,). Return the mean squared
# error in which each prediction meets its own target.

# %% id=open2 tags=open,answer,check
def squared_error(pred, target):
    return ...


check.paired(squared_error)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# The bias of a layer is broadcast over the batch, so its gradient is a sum over the batch. `sum_to_size` is PyTorch's
# own `sum_back`.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    w, x = torch.tensor(2.0, requires_grad=True), torch.tensor([1.0, 2.0, 3.0])
    dw, dx = (w * x).grad_fn(torch.ones(3))
    print("the node returns", dw, "and", dx)
    (w * x).sum().backward()
    print("after backward, w.grad is", w.grad)
    wide = w.expand(3)
    print(wide.grad_fn.name(), wide.stride(), wide.grad_fn(torch.ones(3)))
    layer = torch.nn.Linear(3, 2)
    layer(torch.ones(5, 3)).sum().backward()
    print("a bias, over a batch of 5:", layer.bias.grad)
    print(torch.ones(4, 3).sum_to_size(1, 3), torch.ones(4, 3).sum_to_size(4, 1).shape)

# %% [markdown] id=error-note
# A result may be larger than its inputs. A change **in place** may not: `b` has room for 3 numbers, and this would
# need 6.

# %% id=error tags=raises-exception
with torch.no_grad():
    b += m

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# This table was made by running each line: a tensor of ones times a matrix of ones with the shape (2, 3).

# %% id=summary tags=summary
rows = []
for shape in ((), (1,), (3,), (1, 3), (2, 1), (2, 3)):
    leaf = torch.ones(shape, requires_grad=True)
    (leaf * torch.ones(2, 3)).sum().backward()
    used = leaf.grad.flatten()[0].item()
    rows.append([str(shape), str(tuple(leaf.grad.shape)), f"{used:.0f}"])
table(["shape", "shape of .grad", "each entry is used"], rows)

# %% [markdown] id=next
# **Forward**: sizes are matched from the right; a missing dimension, or one of length 1, is stretched, and nothing is
# copied. **Backward**: gradients are summed over what was stretched, so a gradient always has the shape of its tensor.
# **Beware**: (n, 1) and (n,) give (n, n), without an error.
#
# Next, lesson 4: the engine, which does that sum before it hands a gradient on. Puzzle 3 of the
# [21 puzzles](21_puzzles.ipynb) is about a broadcast.
