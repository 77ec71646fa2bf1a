"""The source of lesson 1. `python -m minigrad_lessons.build 01` makes the notebook."""

# %% [markdown] id=title
# # Lesson 1: Tensors and leaves
#
# When you train a model, `loss.backward()` puts a gradient into some tensors and not into others. If one of your
# weights gets none, it never learns, and no error tells you. This lesson shows which tensors get a gradient, and why.
#
# Start with a backward pass that you can step through. Run the next cell (Shift+Enter), then press **next →** under
# the picture.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, progress, recall, reveal, same_in_torch, state_table
from minigrad_widgets import Inspector, state_card

with record() as first:
    w = torch.tensor(3.0, requires_grad=True)
    x = torch.tensor(3.0)
    loss = (w * x - 6) ** 2
    loss.backward()
Inspector(first, parts=["source", "tools"])

# %% [markdown] id=still
# Two numbers go in, `w` and `x` (in its place the picture says **None**), and one loss comes out. It is computed; now
# backward starts. Step to the end with **next →**: only one of the two has a gradient. What is different about the
# other?
#
# Then open **numbers** above the graph and drag `w` sideways: the loss and the gradient follow. At which `w` is the
# gradient 0?
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=about
# minigrad gives its tensors PyTorch's names and behaviour, so what you learn here works in PyTorch too. Near the end
# of the lesson you will see that for yourself. It takes about 40 minutes, and you can change any cell and run it
# again.

# %% [markdown] id=recall-intro tags=section:recall
# ## What you already know
#
# Five questions about arrays and the chain rule. Answer from memory. If you do not know, say so, and the card tells
# you how to find out.

# %% id=recall tags=recall,answer
recall("q0.1")
recall("q0.2")
recall("q0.3")
recall("q0.4")
recall("q0.5")

# %% [markdown] id=more-than-array
# ## More than an array
#
# Here are two tensors: `w` was written out by hand, and `y` was computed from it.

# %% id=two-tensors
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 3
print("the array in y:", y.tolist())
print("the tensor y:  ", y)

# %% [markdown] id=two-tensors-note
# The array holds only the numbers. The tensor also knows **where its numbers came from**: `grad_fn` names the
# multiplication. It is an object, a *node*, that knows how to send a gradient back to `w`.
#
# The **state card** shows everything that a tensor knows besides its numbers.

# %% id=card tags=card
state_card(w=w, y=y)

# %% [markdown] id=belief-wanted tags=belief
# Both require grad: `y` inherited that from `w`. But `w` is a leaf and has no `grad_fn`, while `y` is not a leaf and
# has one. So what does `is_leaf` mean? (The last columns belong to lessons 2, 3, 6 and 8.)
#
# ## A common belief
#
# > "A leaf is a tensor that I want gradients for."
#
# It sounds right, at least for `w`. Test it on a tensor that nobody wants gradients for:

# %% id=belief-wanted-run tags=refutation
data = torch.tensor([5.0, 6.0])
print("data.requires_grad:", data.requires_grad)
print("data.is_leaf:      ", data.is_leaf)

# %% [markdown] id=predict-intro tags=section:predict
# It is a leaf, and nobody wants its gradient. So the belief is false: whether a tensor is a leaf does not depend on
# what you want. What is a leaf, then?
#
# ## Predict, then run
#
# Each question has two cells. In the first, choose what you expect. The second runs the program, tells you what
# happened, and asks why. Wrong predictions are the useful ones, because they show you which rule you had in mind.

# %% id=p1 tags=predict,answer
# An operation on a tensor that does not require grad:
#     c = data * 3
# Is c a leaf?
predict("1.1")

# %% id=r1 tags=reveal,answer
c = data * 3
reveal("1.1", c.is_leaf)

# %% id=p2 tags=predict,answer
# The same operation on w, which does require grad, but this time inside no_grad.
# no_grad: inside it, nothing is written into the graph.
#     with torch.no_grad():
#         q = w * 3
# Is q a leaf?
predict("1.2")

# %% id=r2 tags=reveal,answer
with torch.no_grad():
    q = w * 3
reveal("1.2", q.is_leaf)

# %% id=p3 tags=predict,answer
# What is a leaf good for? backward() writes gradients into leaves. w and data are both leaves.
#     (w * data).sum().backward()
# For how many of them is .grad not None afterwards?
predict("1.3")

# %% id=r3 tags=reveal,answer
(w * data).sum().backward()
reveal("1.3", sum(leaf.grad is not None for leaf in (w, data)))

# %% id=p4 tags=predict,answer
# A name that ends in _ changes a tensor in place. e begins as a leaf, a tensor of zeros.
#     e = torch.zeros(2)
#     e.add_(w)
# Is e a leaf now?
predict("1.4")

# %% id=r4 tags=reveal,answer
e = torch.zeros(2)
e.add_(w)
reveal("1.4", e.is_leaf)

# %% id=p5 tags=predict,answer
# A layer of a network makes its own weight and bias.
#     layer = torch.nn.Linear(2, 1)
#     x = torch.tensor([[5.0, 6.0]])
# How many leaves are among layer.weight, layer.bias, x and layer(x)?
predict("1.5")

# %% id=r5 tags=reveal,answer
layer = torch.nn.Linear(2, 1)
x = torch.tensor([[5.0, 6.0]])
four = [layer.weight, layer.bias, x, layer(x)]
reveal("1.5", sum(t.is_leaf for t in four))

# %% [markdown] id=rule
# ### The rule
#
# You may have found it by now. A tensor is a leaf if **no recorded operation made it**: its `grad_fn` is None. An
# operation is recorded only if recording is on *and* one of its inputs requires grad. So a tensor that does not
# require grad is a leaf too, however much was computed to get it.

# %% id=rule-run tags=answers:s3.1,contradicts:c2.3
for code, t in {"w": w, "y": y, "data": data, "y.sum()": y.sum(), "data.sum()": data.sum()}.items():
    print(f"{code:10}  is_leaf: {t.is_leaf!s:5}   grad_fn is None: {t.grad_fn is None}")

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Watch a gradient reach a leaf
#
# `record()` writes down everything that happens, and the inspector replays it. (It only films the run. It has no
# effect on what *autograd*, the part of the library that builds the graph, records.) First, one more prediction. A
# backward pass runs a number of **nodes**, one after the other.

# %% id=p6 tags=predict,answer
#     loss = (a * data).sum()
#     loss.backward()
# a requires grad, data does not. How many nodes does backward() run?
predict("1.6")

# %% id=r6 tags=reveal,answer
with record() as trace:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (a * data).sum()
    loss.backward()
reveal("1.6", sum(event["kind"] == "run" for event in trace.events))

# %% [markdown] id=inspector-note
# Now step through it with **next →** and **← back**. Look for three things.
#
# - Which node runs first? It belongs to the operation that came **last** in the forward program.
# - What is the last node called? It is the only one that stands for a leaf. Is there one for `data`?
# - At which step does `a.grad` appear?

# %% id=inspector tags=inspector
Inspector(trace, parts=["source", "leaves"])

# %% [markdown] id=worked-intro tags=section:exercises
# No **edge** (a line from one node to the next) leads to `data`. It is a leaf, but nobody asked for its gradient, so
# it is not in the graph. These are two different questions: **is it a leaf** (was it made by no recorded operation?)
# and **does it require grad** (does somebody want its gradient?).
#
# ## Worked example: give the reason
#
# This function answers the question and gives the reason. Read it, then compare it with what it prints.

# %% id=worked tags=worked
def reason(t):
    if t.grad_fn is not None:
        return f"not a leaf: made by {t.grad_fn.name()}"
    if t.requires_grad:
        return "leaf: nothing made it, and its gradient is wanted"
    return "leaf: nothing was recorded, no gradient is wanted"


for t in (w, data, w * 3, data * 3):
    print(reason(t))

# %% [markdown] id=faded-intro
# ## Faded example: twelve tensors
#
# The first three are done. For the others, replace the dots with `True` (a leaf) or `False`. Decide from the text
# alone; the check runs all twelve. (`clone` copies a tensor, `detach` gives the same numbers without their history,
# `ones_like` makes ones of the same shape.)
#
# If you are stuck, write `hint("twelve")` into a new cell. Every exercise has three hints, under the name that
# follows `check.`, and each one says more than the last.

# %% id=faded tags=faded,answer,check
answers = {
    "torch.ones(2)": True,
    "torch.ones(2, requires_grad=True)": True,
    "w * 2": False,
    "data * 2": ...,
    "w.clone()": ...,
    "w.detach()": ...,
    "w[0]": ...,
    "w.sum()": ...,
    "torch.ones_like(w)": ...,
    "layer.weight": ...,
    "layer(x)": ...,
    "(w * 2).detach().requires_grad_()": ...,
}
check.twelve(answers, w=w, data=data, layer=layer, x=x)

# %% [markdown] id=open1-intro
# ## Open exercise: a result without arithmetic
#
# Return a tensor that is made from the leaf `w` and is **not** a leaf, without computing anything: no adding, no
# multiplying, not even by 1. There are many ways. (The check calls `build` with a leaf of its own, of shape [2, 2].)

# %% id=open1 tags=open,answer,check
def build(w):
    return ...


check.non_leaf(build)

# %% [markdown] id=open2-intro
# ## Open exercise: back to a leaf, in two ways
#
# `y` is a result, so it is not a leaf. Write two functions that each return a **leaf** with the same numbers, in
# truly different ways. (The check brings its own `y`, of shape [2, 2].)
#
# The check also tells you whether your leaf shares memory with `y`. That will matter in lesson 8.

# %% id=open2 tags=open,answer,check
def first_way(y):
    return ...


def second_way(y):
    return ...


check.two_ways(first_way, second_way)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# This program gets its library as an argument. It runs with minigrad, and its output is compared with PyTorch's: live
# if you have PyTorch installed, otherwise with a stored run. It also shows what happens if you ask for a gradient
# where nothing was recorded.

# %% id=torch tags=torch,answers:s3.4
@same_in_torch
def program(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    data = torch.tensor([5.0, 6.0])
    print(w, data)
    print(w * data, data * 3)
    (w * data).sum().backward()
    print(w.grad, data.grad)
    try:
        data.sum().backward()
    except RuntimeError as error:
        print(error)

# %% [markdown] id=torch-note
# Remember that message. "Does not require grad and does not have a grad_fn" is this lesson in one line: `data.sum()`
# is a leaf, and nobody wants its gradient. ("Element 0 of tensors" is the first tensor that backward starts from;
# here it is the only one.)

# %% id=error tags=raises-exception
loss = (w.detach() * data).sum()
loss.backward()

# %% [markdown] id=summary-intro tags=section:summary
# It is the same error, but in a long program it is harder to see: somewhere a `detach()` has cut off the history. (In
# these lessons an error shows your line and the line that raised it. `%debug` shows everything in between.)
#
# ## Summary
#
# This table was made by running each line.

# %% id=summary tags=summary,contradicts:c3.8
with torch.no_grad():
    unrecorded = w + 1
state_table({
    "written down": torch.tensor([1.0, 2.0]),
    "written down, requires_grad=True": w,
    "an operation, no input requires grad": data + 1,
    "an operation, an input requires grad": w + 1,
    "the same under no_grad": unrecorded,
    "a result, then detach()": (w + 1).detach(),
    "a parameter of a layer": layer.bias,
})

# %% [markdown] id=progress-intro
# How far have you come? This table is kept in a file beside your lessons and covers all of them. Row 0 is what you
# already knew. "As it came" counts the predictions that matched the run.

# %% id=progress
progress()

# %% [markdown] id=next
# **Leaf**: `grad_fn` is None, because no recorded operation made it.<br>
# **Gets a `.grad`**: a leaf that also requires grad.
#
# Next, lesson 2: what sets `requires_grad`, and why you cannot switch it off on a result. Then lesson 3: what the
# node in `grad_fn` is, and how to call it yourself.
