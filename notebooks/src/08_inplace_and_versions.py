"""The source of lesson 8. `python -m minigrad_lessons.build 08` makes the notebook."""

# %% [markdown] id=title
# # Lesson 8: Shared memory, changes in place, and versions
#
# "One of the variables needed for gradient computation has been modified by an inplace operation" stops many training
# scripts. It is worse when nothing stops: a tensor is changed, and the gradient is silently wrong. Which tensors
# share memory, and what notices a change?
#
# Run the next cell (Shift+Enter), then press **next →** to see which tensors look at which numbers.

# %% id=setup tags=opening
import warnings

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import AliasView, explain, state_card

with record() as first:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    d, c = w.detach(), w.clone()
    d.mul_(10)
AliasView(first)

# %% [markdown] id=still
# `d` and `c` are both made from `w`, and then `d` is changed. Does `w` change as well? Step to the end, and see which
# number counts the change. Why is `c` not in the picture?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The alias view, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 7, 6 and 4, from memory.

# %% id=recall tags=recall,answer
recall("q7.2")
recall("q7.3")
recall("q6.2")
recall("q4.2")
recall("q4.5")

# %% [markdown] id=belief-copy tags=belief
# ## A belief: `detach()` gives me a copy
#
# > "Once I have detached it, I can change it as I like."

# %% id=belief-copy-run tags=refutation,answers:s4.3
w = torch.tensor([1.0, 2.0], requires_grad=True)
d, c = w.detach(), w.clone()
d[0] = 9.0
print("w is now ", w.tolist())
print("its clone", c.tolist())
print("recorded: detach", d.grad_fn is not None, " clone", c.grad_fn is not None)

# %% [markdown] id=two-questions
# There are two different questions. **Memory**: do both look at the same numbers? **Graph**: can a gradient find its
# way back? `detach()` shares the memory and leaves the graph. `clone()` does the opposite. For a copy outside the
# graph you need both: `w.detach().clone()`.

# %% [markdown] id=belief-leaf tags=belief
# ## A second belief: a tensor that I only move stays what it is
#
# > "I made `w` a leaf. Then I moved it to the GPU, or to float64. It is still my leaf."
#
# You may not have a GPU here, but changing the dtype is the same operation, `.to(...)`:

# %% id=belief-leaf-run tags=refutation,answers:row9,answers:s4.8,contradicts:c4.11
w = torch.tensor([1.0, 2.0], requires_grad=True).to(torch.float64)
print("is_leaf:", w.is_leaf, " grad_fn:", w.grad_fn.name(), " that of w + 1:", (w + 1).grad_fn.name())
(w * 3).sum().backward()
print("the leaf that w was made of has the gradient:", w.grad_fn.next_functions[0][0].variable.grad)

# %% [markdown] id=versions
# The move is recorded. Your `w` is now a result, and its gradient goes on to a leaf that no longer has a name.
#
# ## The version
#
# All tensors that share memory share a **version counter**, and every change in place raises it. (There are
# exceptions, such as `.data`, below, and `.numpy()`.) PyTorch calls it `w._version`. Look at the last column:

# %% id=card tags=card
w = torch.tensor([1.0, 2.0])
view, shared, copy = w[:1], w.detach(), w.clone()
shared.add_(1)
view.mul_(2)
state_card(w=w, view=view, shared=shared, copy=copy)

# %% [markdown] id=leaf-intro
# A node that saves a tensor notes its version. When the node runs, it compares the two. That is the whole mechanism.
# One change, though, raises an error at once:

# %% id=leaf tags=raises-exception
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.add_(1)

# %% [markdown] id=leaf-note
# (`Variable` is the old name of a tensor.) A leaf that requires grad has no history. After a recorded `add_` it would
# be a result, and its gradient would be lost. If the change is not part of your formula, say so:

# %% id=leaf-fixed tags=answers:row10
with torch.no_grad():
    w.add_(1)
print(w, w.is_leaf)

# %% [markdown] id=predict-intro tags=section:predict
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# The derivative of exp(x) is exp(x): the result itself.
#     y = w.exp()
#     y.add_(1)
#     y.sum().backward()
# Which line raises an error: 1, 2 or 3? Choose 0 if none does.
predict("8.1")

# %% id=r1 tags=reveal,answer
def line_that_raises(*lines):
    for number, line in enumerate(lines, 1):
        try:
            line()
        except RuntimeError:
            return number
    return 0

y = w.exp()
reveal("8.1", line_that_raises(lambda: y, lambda: y.add_(1), lambda: y.sum().backward()))

# %% id=p2 tags=predict,answer
# The same with a different formula.
#     y = w * 2
#     y.add_(1)
#     y.sum().backward()
# Does the last line raise an error?
predict("8.2")

# %% id=r2 tags=reveal,answer
y = w * 2
y.add_(1)
reveal("8.2", line_that_raises(lambda: y.sum().backward()) > 0)

# %% id=p3 tags=predict,answer
# Does anything notice a change to a detached tensor?
#     y = (w * w).sum()
#     w.detach().mul_(10)
#     y.backward()
# Does the last line raise an error?
predict("8.3")

# %% id=r3 tags=reveal,answer
y = (w * w).sum()
w.detach().mul_(10)
reveal("8.3", line_that_raises(y.backward) > 0)

# %% id=p4 tags=predict,answer
# .data is an old way to reach the numbers.
#     w = torch.tensor([1.0, 2.0], requires_grad=True)
#     y = (w * w).sum()
#     w.data.mul_(10)
#     y.backward()
# The slope of w * w at [1, 2] is [2, 4]. What is in w.grad, or is there an error?
predict("8.4")

# %% id=r4 tags=reveal,answer
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * w).sum()
w.data.mul_(10)
reveal("8.4", "error" if line_that_raises(y.backward) else w.grad.tolist())

# %% id=p5 tags=predict,answer
# Converted to the dtype that it already has.
#     w = torch.tensor([1.0, 2.0], requires_grad=True).to(torch.float32)
# Is w a leaf?
predict("8.5")

# %% id=r5 tags=reveal,answer
w = torch.tensor([1.0, 2.0], requires_grad=True).to(torch.float32)
reveal("8.5", w.is_leaf)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## See who looks at what
#
# Prediction 4 showed one of the exceptions: `.data` shares the memory, but has a counter **of its own**.
#
# The alias view shows memory that several tensors share as a row of numbers, with the tensors that look at it, its
# version, and which node saved it at which version. This one starts at the end, with the error. Step back from there.
#
# - How many names look at the row?
# - At which step is the outcome decided, before any error is raised?

# %% id=inspector tags=inspector,answers:row3
try:
    with record() as trace:
        x = torch.tensor([4.0, 9.0], requires_grad=True)
        y = x.sqrt()        # its derivative is 1 / (2 * y)
        part, cut, own = y[:1], y.detach(), y.clone()
        cut.mul_(2)
        (y + own).sum().backward()
except RuntimeError as error:
    print(str(error).split(": [")[0])
AliasView(trace, step=len(trace.events))

# %% [markdown] id=inspector-note
# `sqrt` saved its result at version 0. `cut` wrote into the same memory, so the counter went to 1. When the node of
# `sqrt` ran, it found 1, not 0. To fix it, write into a copy, or compute `y * 2` as a new tensor. `own` was
# unaffected.
#
# ## Worked example: one step of an optimizer
#
# The parameter must stay the same tensor, or the model would not see the change. So it is changed in place,
# unrecorded, **after** the backward pass, when no node needs the old value.

# %% id=worked tags=worked,section:exercises
w = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(3):
    loss = (w * w).sum()
    loss.backward()
    with torch.no_grad():
        w.sub_(0.25 * w.grad)
        w.grad.zero_()
    print(f"loss {loss.item():.3g}, w {[round(v, 3) for v in w.tolist()]}")

# %% [markdown] id=faded-intro
# ## Faded example: a parameter in float64
#
# Here are two ways to get a **leaf** of three ones in float64 that requires grad, with one blank in each.
# (`hint("parameter")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def at_once():
    return torch.ones(3, dtype=..., requires_grad=True)


def afterwards():
    w = torch.ones(3).to(torch.float64)
    return w.requires_grad_(...)


check.parameter(at_once, afterwards)

# %% [markdown] id=open1-intro
# ## Open exercise: which of them raise an error?
#
# `a` is a result, and `y.sum().backward()` follows. Write True if it raises an error. For each, ask: which value does
# the derivative need, and is that the one that was changed? (Where either would do, as for `relu`, the node saves the
# result.)

# %% id=open1 tags=open,answer,check
answers = {
    "y = a.exp(); y.add_(1)": True,
    "y = a.exp(); a.add_(1)": ...,
    "y = a.sin(); y.add_(1)": ...,
    "y = a.sin(); a.add_(1)": ...,
    "y = a.sigmoid(); y.add_(1)": ...,
    "y = a.relu(); y.add_(1)": ...,
    "y = a * 2; a.add_(1)": ...,
    "y = a * a; a.add_(1)": ...,
    "y = a + 3; a.add_(1)": ...,
    "y = a ** 2; y.add_(1)": ...,
}
check.changed(answers)

# %% [markdown] id=open2-intro
# ## Open exercise: loud and silent
#
# `loss = (w * w).sum()` was recorded, and `loss.backward()` follows. Write two functions that are called in between
# and break it: after `loud`, backward raises an error; after `silent`, it runs and computes a **wrong** gradient.
# Then never use the second one again.

# %% id=open2 tags=open,answer,check,answers:row8
def loud(w):
    ...


def silent(w):
    ...


check.spoil(loud, silent)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# The same change, made through `detach()`, `.data` and `clone()`: an error, a wrong gradient, and the right one.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    print(w.to(torch.float64).is_leaf, w.to(torch.float32) is w, w.to(torch.float64).grad_fn.name())
    for way in (lambda w: w.detach(), lambda w: w.data, lambda w: w.clone()):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        loss = (w * w).sum()
        with torch.no_grad():
            way(w).add_(1)
        try:
            loss.backward()
            print(w.grad)
        except RuntimeError as error:
            print(str(error).split(". Hint")[0])

# %% [markdown] id=error-intro
# Here is the whole message, as you will see it. Two things in it help: the shape of the tensor that was changed, and
# the node whose output it is.

# %% id=error tags=raises-exception,answers:row3
y = w.exp()
y.add_(1)
y.sum().backward()

# %% [markdown] id=explain-intro
# The message names no line of your program. `explain` runs the program again under the recorder, finds the line that
# changed the tensor and the line that needed it, and suggests what to write instead. It does the same for a program
# that uses PyTorch.

# %% id=explain
def step():
    y = w.exp()
    y.add_(1)
    y.sum().backward()

explain(step)

# %% [markdown] id=anomaly-intro
# PyTorch has its own way to find the line that made the failing node. In **anomaly mode**, each node remembers the
# line that made it, and if the node fails, a warning names that line. This is slow, so switch it on to search and off
# again afterwards.

# %% id=anomaly
with warnings.catch_warnings(record=True) as said, torch.autograd.set_detect_anomaly(True, check_nan=False):
    warnings.simplefilter("always")
    y = w.exp()
    y.add_(1)
    try:
        y.sum().backward()
    except RuntimeError:
        told = str(said[-1].message).splitlines()
print(told[0])
print([line.strip() for line in told if "exp()" in line])

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# This table was made by running each line. "Noticed": `w * w` saved `w`, and then somebody writes through this
# tensor. Does backward raise an error?

# %% id=summary tags=summary,answers:row8
makes = {"w.detach()": lambda w: w.detach(), "w.data": lambda w: w.data, "w.clone()": lambda w: w.clone(),
         "w.detach().clone()": lambda w: w.detach().clone(), "w[:1]": lambda w: w[:1],
         "w.to(torch.float64)": lambda w: w.to(torch.float64)}

def look(make):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    loss, made = (w * w).sum(), make(w)
    with torch.no_grad():
        made.add_(1)
    shares = w[0].item() == 2.0
    return [shares, made.grad_fn is not None, line_that_raises(loss.backward) > 0 if shares else "-"]

table(["made by", "shares memory", "in the graph", "noticed"],
      [[code, *map(str, look(make))] for code, make in makes.items()])

# %% [markdown] id=next
# Where memory is shared, the version shows that somebody wrote to it. `.data` hides the change, so do not use it.
#
# Next, lesson 18: writing into slices, masks and buffers. Then lesson 9: a Function of your own, which decides for
# itself what to save.
