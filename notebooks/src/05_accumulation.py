"""The source of lesson 5. `python -m minigrad_lessons.build 05` makes the notebook."""

# %% [markdown] id=title
# # Lesson 5: Accumulation and zeroing
#
# Every training loop has a line that clears the gradients. Why is it there? What happens without it? And when is it
# right to leave it out?
#
# About 40 minutes. Predict first, then run.

# %% id=setup
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, predict, recall, reveal, same_in_torch, table
from minigrad_lessons.exercises.lesson05 import four_loops
from minigrad_lessons.lines import Lines
from minigrad_widgets import Inspector, ParameterLedger

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From memory. Write `"?"` where you do not know.

# %% id=recall tags=recall,answer
recall("q1.2", ...)
recall("q3.2", ...)
recall("q3.4", ...)
recall("q4.1", ...)
recall("q4.4", ...)

# %% [markdown] id=belief-overwrites tags=belief
# ## A belief: `backward()` overwrites
#
# > "`backward()` computes the gradient and puts it into `.grad`. So after it, `.grad` is the gradient."
#
# The slope of `x * 3` is 3, whatever `x` is.

# %% id=belief-overwrites-run tags=refutation
x = torch.tensor(2.0, requires_grad=True)
for _ in range(3):
    (x * 3).backward()
    print("x.grad:", x.grad)

# %% [markdown] id=why-sum
# `backward()` **adds**. The engine cannot do otherwise inside one pass: if `x` is used twice, two parts of its gradient
# come, and the chain rule says that they are added. Adding between passes is the same thing, one size larger. A weight
# that is used in two losses gets both parts, whether the losses are added first or go backward one by one:

# %% id=shared tags=answers:s2.6
w = torch.tensor(2.0, requires_grad=True)
(w * 3 + w**2).backward()
print("one pass through the sum:", w.grad)

w.grad = None
(w * 3).backward()
(w**2).backward()
print("two passes, added up:    ", w.grad)

# %% [markdown] id=forget-intro
# That is useful, and you will use it below. But a training step wants the gradient of *this* step only. So somebody has
# to clear what the last step left. Here is one loop, with that line and without it:

# %% id=forget tags=answers:row4
def train(clear):
    w, losses = torch.tensor(0.0, requires_grad=True), []
    optimiser = torch.optim.SGD([w], lr=0.01)
    for _ in range(60):
        if clear:
            optimiser.zero_grad()
        loss = (w * 2 - 6) ** 2
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


Lines({"with zero_grad": train(clear=True), "without": train(clear=False)}, across="step", up="loss")

# %% [markdown] id=predict-intro tags=section:predict
# Without it no error is raised, and the loss even falls, at first. Each step goes along the sum of **all** gradients so
# far. When `w` has reached its aim, the old ones still push: it runs past, turns, and swings like a pendulum.
#
# ## Predict, then run
#
# Predict in the first cell, run the second, then give a reason with `why=`. How to read the evidence: in 1, `[2, 1]`
# means that two gradients come and the accumulator runs once. `g_shows(…)` is `g` after these calls, `moves(…)` whether
# the second step moves `w`, `too_large(parts, how)` the factor, and `moved(n)` how far `w` goes in `n` steps.

# %% id=p1 tags=predict,answer
# x is used twice, so two gradients come to its AccumulateGrad.
#     y = x * x
#     y.backward()
# How often does it add to x.grad?  A number
predict("5.1", ...)

# %% id=r1 tags=reveal,answer
x = torch.tensor(3.0, requires_grad=True)
with record() as trace:
    y = x * x
    y.backward()
reveal("5.1", sum(event["kind"] == "accumulate" for event in trace.events))

# %% id=p2 tags=predict,answer
# g is x.grad after the first pass: 3. Then comes a second pass.
#     g = x.grad
#     (x * 3).backward()
# What does g show now?  A number
predict("5.2", ...)

# %% id=r2 tags=reveal,answer
x = torch.tensor(2.0, requires_grad=True)
(x * 3).backward()
g = x.grad
(x * 3).backward()
reveal("5.2", g)

# %% id=p3 tags=predict,answer
# The optimiser clears the gradient of its parameter w.
#     optimiser.zero_grad()
# What is w.grad now?  A number, or "None"
predict("5.3", ...)

# %% id=r3 tags=reveal,answer
w = torch.tensor(2.0, requires_grad=True)
optimiser = torch.optim.SGD([w], lr=0.1)
(w * 3).backward()
optimiser.zero_grad()
reveal("5.3", w.grad)

# %% id=p4 tags=predict,answer
# A batch of 8 does not fit, so it is fed in 4 parts of 2. The loss is a mean. The gradients of the parts add up.
# How many times too large is the sum, compared with the gradient of the whole batch?  A number (1: it is right)
predict("5.4", ...)

# %% id=r4 tags=reveal,answer
w, batch = torch.tensor(1.0, requires_grad=True), torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
(w * batch).mean().backward()
whole, w.grad = w.grad, None
for part in batch.chunk(4):
    (w * part).mean().backward()
reveal("5.4", w.grad / whole)

# %% id=p5 tags=predict,answer
# The gradient is 1 in every step, and a step goes 0.1 along what is in w.grad. Nobody calls zero_grad.
# How far has w gone after 3 steps?  A number, without a sign
predict("5.5", ...)

# %% id=r5 tags=reveal,answer
w = torch.tensor(0.0, requires_grad=True)
optimiser = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    (w * 1).backward()
    optimiser.step()
reveal("5.5", -w.detach())

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Watch `.grad` fill
#
# Three passes; before the last, a step and a `zero_grad`. The inspector stops before each addition and asks **what is
# `w.grad` then?** Look at what was in it before.

# %% id=inspector tags=inspector
with record() as trace:
    w = torch.tensor(2.0, requires_grad=True)
    optimiser = torch.optim.SGD([w], lr=0.1)
    (w * w).backward()
    (w * 3).backward()
    optimiser.step()
    optimiser.zero_grad()
    (w * 2).backward()
Inspector(trace, lens="backward", ask=["grad"])

# %% [markdown] id=ledger-note
# The **ledger** keeps the books: one dot for each moment that changed `w` or `w.grad`. Click through them. Where is
# `.grad` added to, where does it become None, and where does the step change `w` itself? (The version counts how often
# `w` was changed in place, lesson 8.)

# %% id=ledger tags=inspector
ParameterLedger(trace)

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: half a batch, twice
#
# Prediction 4 had the reason: each mean divides by the size of its **own** part. Two parts of 2 examples: each divides
# by 2 where the whole divides by 4. So divide each loss by the number of parts.

# %% id=worked tags=worked
w = torch.tensor(1.0, requires_grad=True)
batch = torch.tensor([1.0, 2.0, 3.0, 4.0])
((w * batch) ** 2).mean().backward()
print("the whole batch:", w.grad)

w.grad = None
for part in batch.chunk(2):
    (((w * part) ** 2).mean() / 2).backward()
print("two halves:     ", w.grad)

# %% [markdown] id=faded-intro
# ## Faded example: a step with a batch that does not fit
#
# Only one part is in memory at a time, but `w` shall move as far as with the whole batch. Two blanks: the divisor, and
# what is to be done when the loop is over. (Hints: `from minigrad_lessons import hint`, then `hint("parts")`.)

# %% id=faded tags=faded,answer,check
def train_in_parts(w, xs, ys, parts, optimiser):
    optimiser.zero_grad()
    for x, y in zip(xs.chunk(parts), ys.chunk(parts)):
        loss = ((w * x - y) ** 2).mean()
        (loss / ...).backward()
    ...


check.parts(train_in_parts)

# %% [markdown] id=open1-intro
# ## Open exercise: three come, one addition
#
# `x * x` has two edges to one `AccumulateGrad`: two gradients come, are added up first, and go into `x.grad` at once.
# Return a result for which **three** gradients come to `x`, and `x.grad` is **12** at `x = 2`.

# %% id=open1 tags=open,answer,check
def build(x):
    return ...


check.arrivals(build, 3, 12.0)

# %% [markdown] id=open2-intro
# ## Open exercise: who forgot?
#
# Four people train the same model. One of them forgot `zero_grad`; the others have other troubles, or none. All you
# have is the loss. Note that each frame has its own scale.

# %% id=curves
Lines(four_loops(), across="step", up="loss", apart=True)

# %% id=open2 tags=open,answer,check
# A letter in quotes, "a" to "d".
forgot = ...
check.forgot(forgot)

# %% [markdown] id=belief-zeros tags=belief
# ## A last belief: None or zeros, that is all the same
#
# > "`zero_grad` sets the gradient to nothing. Whether nothing is None or 0 makes no difference."
#
# In older code you see `set_to_none=False`. Below, each way takes one step with a gradient, and one without. The
# optimiser has *momentum*: each step also repeats a part of the one before.

# %% id=belief-zeros-run tags=refutation
for to_none in (True, False):
    w = torch.tensor(2.0, requires_grad=True)
    optimiser = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    (w * 3).backward()
    optimiser.step()
    optimiser.zero_grad(set_to_none=to_none)
    before = w.item()
    optimiser.step()
    print(f"set_to_none={to_none}: w.grad is {w.grad}, the second step moves w by {w.item() - before:.2g}")

# %% [markdown] id=torch-intro tags=section:torch
# With None the optimiser leaves the parameter out. With zeros it makes a step, and its momentum carries `w` on. None
# also needs no memory, and a gradient that nobody has computed cannot be taken for one that is 0.
#
# ## The same thing in PyTorch

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimiser = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    (w * w).sum().backward()
    first = w.grad
    (w * 3).sum().backward()
    print(first, first is w.grad)
    optimiser.step()
    optimiser.zero_grad(set_to_none=False)
    optimiser.step()
    print(first, first is w.grad, [round(value, 2) for value in w.tolist()])
    optimiser.zero_grad()
    optimiser.step()
    print(first, w.grad, [round(value, 2) for value in w.tolist()])

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# Made by running each line, just now. `first` is what `x.grad` was after the first pass.

# %% id=summary tags=summary
x = torch.tensor(2.0, requires_grad=True)
(x * 3).backward()
first, rows = x.grad, []
for line in ("(x * 3).backward()", "x.grad.zero_()", "(x * x).backward()", "x.grad = None", "(x * 3).backward()"):
    exec(line)
    rows.append([line, str(x.grad), str(x.grad is first)])
table(["then", "x.grad", "is it first?"], rows)

# %% [markdown] id=next
# **In a pass** what comes to a leaf is added up, then added to `.grad` once. **Between passes** `.grad` is added to, in
# place. **In a loop**: clear, forward, backward, step. **In parts**: clear once, divide by the number of parts, step
# once.
#
# Next: gradients of results that are no leaves, and code of yours that runs inside the backward pass (lesson 6).
