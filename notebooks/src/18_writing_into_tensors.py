"""The source of lesson 18. `python -m minigrad_lessons.build 18` makes the notebook."""

# %% [markdown] id=title
# # Lesson 18: Writing into tensors
#
# `y[0] = 5`, a mask that sets entries to zero, a buffer that is filled step by step: NumPy code is full of such
# lines, and PyTorch takes most of them. What becomes of the gradient of what was there before, and of what was
# written?
#
# Run the next cell (Shift+Enter), and press **next →** until the gradients arrive.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    buffer = torch.zeros(3)
    buffer[1] = x[0] * x[2]
    buffer.sum().backward()
parts = ["lenses", "source", "details", "tools", "leaves", "counts"]
Inspector(first, parts=parts)

# %% [markdown] id=still
# `buffer` was made without a history. Which node does it have after `buffer[1] = x[0] * x[2]`, and why does one
# edge of this node lead nowhere?
#
# This lesson takes about 40 minutes. It is read after lesson 8.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 8, 7 and 5, from memory.

# %% id=recall tags=recall,answer
recall("q8.1")
recall("q8.3")
recall("q8.4")
recall("q7.2")
recall("q5.1")

# %% [markdown] id=belief-assign tags=belief
# ## A belief: an assignment stops the gradient
#
# > "`buffer` did not require grad when I made it. Copying numbers into it does not change that."

# %% id=belief-assign-run tags=refutation
print("buffer requires grad:", buffer.requires_grad, " its node:", buffer.grad_fn.name())
print("x.grad:", x.grad.tolist())

# %% [markdown] id=copyslices
# Python has two kinds of `=`. `y = ...` gives a name to a tensor. `y[1] = ...` is a method call, which writes into
# the memory that `y` has, and it is recorded like any change in place. The node is called **CopySlices**. It has two
# edges: one to what the tensor was before, one to what was written. Here the first is `(None, 0)`: the zeros need no
# gradient.

# %% [markdown] id=belief-old tags=belief
# ## A second belief: the old value still counts
#
# > "`y[0]` was computed from `x[0]`, so `x[0]` gets its gradient, whatever I write there later."

# %% id=belief-old-run tags=refutation
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
y[0] = 5.0
y.sum().backward()
print("y:", y.tolist(), " x.grad:", x.grad.tolist())

# %% [markdown] id=old-note
# The number 5 does not depend on `x[0]`, so its slope is 0. CopySlices sends back a gradient with a zero where the old
# value was overwritten.

# %% [markdown] id=belief-fixed tags=belief
# ## A third belief: a node is for life
#
# > "A tensor gets its `grad_fn` when it is made."
#
# `v` is a view of `y`. Then `y` is changed, and nobody touches `v`:

# %% id=belief-fixed-run tags=refutation
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
v = y[:2]
print("before:", v.tolist(), v.grad_fn.name())
y.mul_(10)
print("after: ", v.tolist(), v.grad_fn.name(), "←", v.grad_fn.next_functions[0][0].name())

# %% [markdown] id=fixed-note
# `v` shows new numbers, so its history must be new, too. When you next ask for its `grad_fn`, it is made anew: "take
# this part of what `y` is now". It works the other way round as well: a change of the view becomes part of the history
# of its base, and the view is again a part of that.

# %% id=written-view
base, w = torch.zeros(3), torch.tensor(5.0, requires_grad=True)
v = base[1:]
v.copy_(w)
print("base:", base.tolist(), base.grad_fn.name())
print("v:   ", v.tolist(), v.grad_fn.name(), "←", v.grad_fn.next_functions[0][0].name())

# %% [markdown] id=hooks-intro
# What becomes of a hook when a change in place gives its tensor another node? Each hook below multiplies the gradient
# that it gets.

# %% id=hooks
def hook(name, factor):
    def multiply(grad):
        print(f"{name}: {grad.item():.0f} becomes {grad.item() * factor:.0f}")
        return grad * factor
    return multiply


x = torch.tensor(1.0, requires_grad=True)
y = x * 2
y.retain_grad()
y.register_hook(hook("registered before", 10))
y.mul_(3)
y.register_hook(hook("registered after", 5))
y.backward()
print("y.grad:", y.grad.item(), " x.grad:", x.grad.item())

# %% [markdown] id=hooks-note
# A hook stays with the value that the tensor had when it was registered: the first gets the gradient of `2x`, after
# the node of `mul_` has run. `retain_grad` moves on with the tensor, and keeps the gradient of what `y` is at the end,
# after its hooks.

# %% [markdown] id=predict-intro tags=section:predict
# ## Predict, then run
#
# In each question, `x` is [1, 2, 3] and requires grad, the first line is `y = x * 2`, and the last is
# `y.sum().backward()`. Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# A view is changed, and the sum is taken of the whole.
#     v = y[:2]
#     v.mul_(10)
# What is x.grad? Give a list.
predict("18.1")

# %% id=r1 tags=reveal,answer
def gradient(write):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    write(y)
    y.sum().backward()
    return x.grad.tolist()

reveal("18.1", gradient(lambda y: y[:2].mul_(10)))

# %% id=p2 tags=predict,answer
# The same, but the index is a list.
#     v = y[[0, 1]]
#     v.mul_(10)
# What is x.grad? Give a list.
predict("18.2")

# %% id=r2 tags=reveal,answer
reveal("18.2", gradient(lambda y: y[[0, 1]].mul_(10)))

# %% id=p3 tags=predict,answer
# Now the list stands on the left of =.
#     y[[0, 1]] = 0.0
# What is x.grad? Give a list.
predict("18.3")

# %% id=r3 tags=reveal,answer
def zeros(y):
    y[[0, 1]] = 0.0

reveal("18.3", gradient(zeros))

# %% id=p4 tags=predict,answer
# The same write, but not recorded.
#     with torch.no_grad():
#         y[0] = 5.0
# What is x.grad? Give a list.
predict("18.4")

# %% id=r4 tags=reveal,answer
def unrecorded(y):
    with torch.no_grad():
        y[0] = 5.0

reveal("18.4", gradient(unrecorded))

# %% id=p5 tags=predict,answer
# The view is made under no_grad, but it is changed outside.
#     with torch.no_grad():
#         v = y[:1]
#     v.mul_(3)
# Does v.mul_(3) raise an error?
predict("18.5")

# %% id=r5 tags=reveal,answer
def raises(write):
    try:
        gradient(write)
    except RuntimeError:
        return True
    return False

def half_recorded(y):
    with torch.no_grad():
        v = y[:1]
    v.mul_(3)

reveal("18.5", raises(half_recorded))

# %% [markdown] id=inspector-intro tags=section:inspector
# ## One tensor, two histories
#
# A part of `y` is overwritten with something that was computed from `x` as well. This is the last step; go back
# with **← back**.
#
# - Which entries of the gradient does CopySlices send along each of its two edges?
# - `x` is reached in two ways. What arrives by each?

# %% id=inspector tags=inspector
with record() as trace:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1:] = x[:2] * 10
    y.sum().backward()
Inspector(trace, step=trace.steps("backward")[-1], parts=parts)

# %% [markdown] id=buffer-intro
# ## Worked example: a buffer or a list?
#
# Results that come one by one can be written into a buffer, or collected and stacked. The gradients are the same. The
# buffer makes one CopySlices per write, and each backward step handles a gradient of the whole buffer.

# %% id=worked tags=worked,section:exercises
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
buffer = torch.zeros(3)
for i in range(3):
    buffer[i] = x[i] ** 2
stacked = torch.stack([x[i] ** 2 for i in range(3)])
for result in (buffer, stacked):
    print(torch.autograd.grad(result.sum(), x)[0], result.grad_fn.name())

# %% [markdown] id=faded-intro
# ## Faded example: negative entries become zero
#
# `w` is a leaf, and a leaf that requires grad must not be written to. Fill in two blanks: a tensor with the same
# values that may be, and what is written. The gradient must be 1 where `w` is positive and 0 where it was negative.
# (`hint("no_negatives")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def no_negatives(w):
    y = ...
    y[y < 0] = ...
    return y


check.no_negatives(no_negatives)

# %% [markdown] id=open1-intro
# ## Open exercise: a recurrence that reads what it writes
#
# This is the most frequent way to meet the error of lesson 8. Each step reads an entry that an earlier step wrote:
#
#     out[0] = w
#     for t in range(1, n):
#         out[t] = out[t - 1] * w
#
# The product saves `out[t - 1]`, a view, and then `out` is changed: "modified by an inplace operation". Return
# [w, w², w³, …], n entries, with the right gradient.

# %% id=open1 tags=open,answer,check
def powers(w, n):
    return ...


check.powers(powers)

# %% [markdown] id=open2-intro
# ## Open exercise: put a row into a parameter
#
# `weight` is a leaf that requires grad, [rows, columns]. Write `row` into its row `i`, as when pretrained vectors are
# loaded. Afterwards it must be the same leaf, still requiring grad.

# %% id=open2 tags=open,answer,check
def set_row(weight, i, row):
    ...


check.set_row(set_row)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# Nodes, gradients, and three sentences that PyTorch says when a write cannot be recorded.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    def new():
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        return x, x * 2
    x, y = new()
    y[1:] = x[:2] * 10
    print(y.grad_fn.name(), [node.name() for node, _ in y.grad_fn.next_functions])
    print(torch.autograd.grad(y.sum(), x)[0])
    for write in (lambda x, y: x[0].mul_(2), lambda x, y: x.mul_(2), lambda x, y: y.unbind()[0].mul_(2)):
        try:
            write(*new())
        except RuntimeError as error:
            print(str(error).split(". ")[0])

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# Ways to write into `y = x * 2`, made by running each: what `y` is then, and which gradient `x` gets from its sum.

# %% id=summary tags=summary
ways = ["y[0] = 5.0", "y[:2].mul_(10)", "y[[0, 1]].mul_(10)", "y[[0, 1]] = 0.0", "y[y > 3] = 0.0",
        "y.fill_(1.0)", "with torch.no_grad(): y[0] = 5.0"]


def outcome(way):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    exec(way, {"y": y, "torch": torch})
    y.sum().backward()
    return [way, str(y.tolist()), str(x.grad.tolist()), y.grad_fn.name()]


table(["write", "y", "x.grad", "node of y"], [outcome(way) for way in ways])

# %% [markdown] id=next
# A recorded write gives the tensor a new history: zero for what was overwritten, the gradient for what was written. A
# write under `no_grad` changes the numbers and leaves the history as it was: right for a parameter, wrong for a result.
#
# Next, lesson 9: operations of your own.
