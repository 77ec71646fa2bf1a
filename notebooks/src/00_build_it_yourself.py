"""The source of lesson 0. `python -m minigrad_lessons.build 00` makes the notebook."""

# %% [markdown] id=title
# # Lesson 0: Build it yourself
#
# Training a model means asking, for each of its weights: if this number grew a little, would the loss grow or shrink?
# A backward pass answers for all of them at once. In this lesson you write one, in at most 40 lines of Python.
#
# It is for those who have never seen automatic differentiation. If you have called `backward()` before, start with
# lesson 1. About 45 minutes.
#
# Run the next cell (Shift+Enter), press **next →** four times, then drag `a`.

# %% id=setup tags=opening,inspector
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, table, two_moons
from minigrad_widgets import Inspector

with record() as trace:
    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(-3.0, requires_grad=True)
    d = a * b + a
    d.backward()
Inspector(trace, lens="values", parts=[])

# %% [markdown] id=still
# Two numbers go in at the left, `a` and `b`, and one comes out at the right, `d`. At the end each has a second number,
# its **gradient**. (`requires_grad=True` asks for it.)
#
# What does the gradient of `a` tell you about `d`? You will measure it, work it out by hand, and then write the
# program that computes it.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=nudge-intro
# ## 1. Measure: give it a nudge
#
# Here is the same program without any library. Let `a` grow by 0.001 and see how far `d` moves:

# %% id=nudge
def program(a, b):
    return a * b + a


step = 0.001
moved = program(2.0 + step, -3.0) - program(2.0, -3.0)
print(f"a moves by {step}, d moves by {moved:.3f}: {moved / step:.3g} times as far")

# %% [markdown] id=slopes-intro
# That factor is the **slope** of `d` with respect to `a`: the number in the picture.
#
# Now do this for any program. `slopes` takes a function and the list of its inputs, and returns one slope for each
# input. Fill in two blanks: which input is nudged, and what the movement is divided by.
#
# If you are stuck, write `hint("slopes")` into a new cell. Every exercise has three hints, under the name that follows
# `check.`, and each one says more than the last.

# %% id=slopes tags=faded,answer,check
def slopes(program, inputs, step=1e-6):
    found = []
    for i in range(len(inputs)):
        nudged = list(inputs)
        nudged[...] += step
        found.append((program(*nudged) - program(*inputs)) / ...)
    return found


check.slopes(slopes)

# %% [markdown] id=cost
# This works, but nobody trains a model this way: it runs the program once more for every input. With a million
# weights that is a million runs for a single training step. There is a way to get all the slopes from one run.

# %% [markdown] id=chain-intro
# ## 2. By hand: the chain rule
#
# Split the program into steps so small that each slope is obvious:
#
# `c = a * b`, then `d = c + a`, with `a = 2` and `b = -3`.
#
# Slopes along a path **multiply**: where `q` moves 3 times as far as `p`, and `r` twice as far as `q`, `r` moves 6
# times as far as `p`. The slopes of different paths **add up**. Fill in the numbers.

# %% id=chain tags=open,answer,check
answers = {
    "d by c": ...,  # c grows by 1: how much does d grow?
    "c by a": ...,  # a grows by 1, b stays
    "c by b": ...,
    "d by b, through c": ...,
    "d by a, through c": ...,
    "d by a, along all paths": ...,
}
check.chain(answers)

# %% [markdown] id=value-intro
# ## 3. A number that remembers
#
# Now let the program do this. It needs numbers that remember where they came from. A `Value` holds a number, the
# values it was computed from (its **parents**), and its slope with respect to each. Its gradient starts at 0.

# %% id=value tags=worked
class Value:
    def __init__(self, data, parents=(), slopes=()):
        self.data = data
        self.parents = parents
        self.slopes = slopes
        self.grad = 0.0


def add(x, y):
    return Value(x.data + y.data, (x, y), (1.0, 1.0))


Value.__add__ = add

# %% [markdown] id=multiply-intro
# `add` is complete: if one of its parts moves, a sum moves exactly as far. What are the two slopes of a product? (You
# found them above, as "c by a" and "c by b".)

# %% id=multiply tags=faded,answer,check
def multiply(x, y):
    return Value(x.data * y.data, (x, y), (..., ...))


Value.__mul__ = multiply
check.multiply(Value)

# %% [markdown] id=order-intro
# ## 4. In which order?
#
# The gradients flow from the result back to the inputs. A value can pass its gradient on only when that gradient is
# complete, so everything computed **from** a value must come before it.
#
# Write `order(result)`. It returns a list of `result` and all the values it was computed from: `result` first, each
# value once, and each one **before its parents**.

# %% id=order tags=open,answer,check
def order(result):
    found = ...
    return found


check.order(order, Value)

# %% [markdown] id=backward-intro
# ## 5. Backward
#
# All that is left is the chain rule. The result moves exactly as far as itself, so its gradient is 1. Every value
# then passes its gradient on to its parents. Replace the dots: what happens to the gradient of a parent?

# %% id=backward tags=faded,answer,check
def backward(result):
    result.grad = 1.0
    for value in order(result):
        for parent, slope in zip(value.parents, value.slopes):
            parent.grad = ...


Value.backward = backward
check.backpropagate(Value)

# %% [markdown] id=tanh-intro
# ## 6. An operation of your own
#
# A network needs a function that is not a straight line. Write `tanh(x)` for a `Value`: one parent, one slope. If t
# is the result, the slope is 1 - t². (`math.tanh` computes the number.)

# %% id=tanh tags=open,answer,check
import math


def tanh(x):
    ...


Value.tanh = tanh
check.tanh(Value)

# %% [markdown] id=whole-intro
# ## 7. All of it, in one class
#
# Put the parts together in one class `Scalar`, with `__init__`, `__add__`, `__mul__`, `tanh` and `backward`, in at
# most 40 lines. The check runs it on programs you have not seen, and compares every gradient with minigrad's.

# %% id=whole tags=open,answer,check
class Scalar:
    def __init__(self, data, parents=(), slopes=()):
        ...


check.value_class(Scalar)

# %% [markdown] id=train-intro
# ## 8. The same program in minigrad
#
# This neuron has a weight and a bias. Its input is 2 and its target output is 0.2. (The code says `+ -0.2` because our
# class cannot subtract.) A small step against the gradient makes the loss smaller: that is training. Here it is in
# minigrad. Its tensors work like PyTorch's.
#
# Two lines are new. `no_grad` keeps the step itself out of the record, and the gradients are set back to None because
# `backward` adds to what is there (lessons 7 and 5).

# %% id=train
w, bias = torch.tensor(0.5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
for _ in range(5):
    error = (w * 2.0 + bias).tanh() + -0.2
    loss = error * error
    loss.backward()
    print(f"loss {loss.item():.3f}, the gradient of w {w.grad.item():+.2f}, of bias {bias.grad.item():+.2f}")
    with torch.no_grad():
        w -= 0.1 * w.grad
        bias -= 0.1 * bias.grad
    w.grad = bias.grad = None

# %% [markdown] id=yours-intro
# If your class passes, try it on the same neuron, in a new cell: begin with `w, bias = Scalar(0.5), Scalar(0.0)`,
# compute `error` and `loss`, call `loss.backward()`, and print `w.grad`. All numbers must be Scalars, so write `(w *
# Scalar(2.0) + bias).tanh() + Scalar(-0.2)`. You should get the first gradient of `w` printed above.
#
# Then step through one pass and look for what you have built: where are the parents, the slopes, the order, and the
# place where gradients add up?

# %% id=inspector tags=inspector
with record() as trace:
    w, bias = torch.tensor(0.5, requires_grad=True), torch.tensor(0.0, requires_grad=True)
    error = (w * 2.0 + bias).tanh() + -0.2
    loss = error * error
    loss.backward()
Inspector(trace, parts=["source", "details"])

# %% [markdown] id=learns-intro
# ## 9. Your lines learn
#
# Forty points lie on two moons. A network of six neurons like the one above, 25 Scalars in all, is to tell them apart.
# For each point in turn, it computes an answer with your `+`, `*` and `tanh`, calls your `backward`, and takes a small
# step. The colours show what it would answer everywhere. Once the check of your class has passed, run the cell, and
# watch the border bend.

# %% id=learns
two_moons(Scalar)

# %% [markdown] id=summary-intro
# ## What you have built
#
# Your `Value` and minigrad's tensors keep the same four things:

# %% id=summary tags=summary
product = a * b
parents = ", ".join(type(node).__name__ for node, _ in product.grad_fn.next_functions)
slopes_of_product = ", ".join(str(slope.item()) for slope in product.grad_fn(torch.tensor(1.0)))
table(["in your Value", "in a tensor", "for a * b"], [
    ["data", "the tensor itself", str(product.item())],
    ["parents", "grad_fn.next_functions", parents],
    ["slopes", "what grad_fn returns when called with 1", slopes_of_product],
    ["grad", "grad, of an input", f"{a.grad.item()} (a's, after d.backward())"],
])

# %% [markdown] id=next
# A tensor holds many numbers instead of one, and its graph stores what is needed to compute the slopes instead of the
# slopes themselves. Everything else is what you have written.
#
# Next: which tensors get a gradient, and why (lesson 1). Then: how the graph is walked (lesson 3), and in what order
# (lesson 4). In "Build the engine" you write `backward()` again, this time for minigrad's own graph.
