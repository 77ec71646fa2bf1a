"""The source of lesson 5. `python -m minigrad_lessons.build 05` makes the notebook."""

# %% [markdown] id=title
# # Lesson 5: Accumulation and zeroing
#
# Forget `optimizer.zero_grad()`, and your model still trains, only badly: no error, and a loss that falls for a
# while. Leave it out on purpose, and you can train with a batch that does not fit into memory. The reason is the
# same: how `backward()` fills `.grad`.
#
# Run the next cell (Shift+Enter), then press **next →** to go through what happened to `w`.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_lessons.exercises.lesson05 import four_loops
from minigrad_lessons.lines import Lines
from minigrad_widgets import Inspector, ParameterLedger

with record() as first:
    w = torch.tensor(2.0, requires_grad=True)
    for _ in range(2):
        loss = w * 3
        loss.backward()
Inspector(first)

# %% [markdown] id=still
# The same two lines run twice, and the slope of `w * 3` is 3 both times. What is `w.grad` after the first
# `backward()`, and after the second?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From memory.

# %% id=recall tags=recall,answer
recall("q1.2")
recall("q3.2")
recall("q3.4")
recall("q4.1")
recall("q4.4")

# %% [markdown] id=belief-overwrites tags=belief
# ## A belief: `backward()` overwrites
#
# > "`backward()` computes the gradient and puts it into `.grad`. So after it, `.grad` is the gradient."
#
# The slope of `x * 3` is 3, whatever `x` is. Call `backward()` three times:

# %% id=belief-overwrites-run tags=refutation
x = torch.tensor(2.0, requires_grad=True)
for _ in range(3):
    (x * 3).backward()
    print("x.grad:", x.grad)

# %% [markdown] id=why-sum
# `backward()` **adds**. Within one pass it has to: if `x` is used twice, two parts of its gradient arrive, and the
# chain rule says to add them. Adding across passes is the same thing on a larger scale. A weight that is used in two
# losses gets both parts, whether you add the losses first or call `backward()` on each:

# %% id=shared tags=answers:s2.6
w = torch.tensor(2.0, requires_grad=True)
(w * 3 + w**2).backward()
print("one pass through the sum:", w.grad)

w.grad = None
(w * 3).backward()
(w**2).backward()
print("two passes, added up:    ", w.grad)

# %% [markdown] id=forget-intro
# That is useful, and you will use it below. But a training step needs the gradient of *this* step only, so something
# has to clear what the last step left. Here is one loop, with and without the line that does (`optimizer.step()` adds
# `-lr * w.grad` to `w`):

# %% id=forget tags=answers:row4
def train(clear):
    w, losses = torch.tensor(0.0, requires_grad=True), []
    optimizer = torch.optim.SGD([w], lr=0.01)
    for _ in range(60):
        if clear:
            optimizer.zero_grad()
        loss = (w * 2 - 6) ** 2
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


Lines({"with zero_grad": train(clear=True), "without": train(clear=False)}, across="step", up="loss")

# %% [markdown] id=predict-intro tags=section:predict
# Without it there is no error, and at first the loss even falls. But each step follows the sum of **all** gradients
# so far. When `w` reaches its target, the old gradients still push: it overshoots, turns, and swings like a pendulum.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# x is used twice, so two gradients arrive at its AccumulateGrad.
#     y = x * x
#     y.backward()
# How many times does it add to x.grad?
predict("5.1")

# %% id=r1 tags=reveal,answer
x = torch.tensor(3.0, requires_grad=True)
with record() as trace:
    y = x * x
    y.backward()
reveal("5.1", sum(event["kind"] == "accumulate" for event in trace.events))

# %% id=p2 tags=predict,answer
# g is x.grad after the first pass: 3. A second pass follows.
#     g = x.grad
#     (x * 3).backward()
# What does g show now?
predict("5.2")

# %% id=r2 tags=reveal,answer
x = torch.tensor(2.0, requires_grad=True)
(x * 3).backward()
g = x.grad
(x * 3).backward()
reveal("5.2", g)

# %% id=p3 tags=predict,answer
# The optimizer clears the gradient of its parameter w.
#     optimizer.zero_grad()
# What is w.grad now?
predict("5.3")

# %% id=r3 tags=reveal,answer
w = torch.tensor(2.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
(w * 3).backward()
optimizer.zero_grad()
reveal("5.3", w.grad)

# %% id=p4 tags=predict,answer
# A batch of 8 does not fit into memory, so it is split into 4 parts of 2. The loss is a mean.
# The gradients of the parts add up. How many times too large is the sum, compared with the gradient
# of the whole batch? (1 means that it is right.)
predict("5.4")

# %% id=r4 tags=reveal,answer
w, batch = torch.tensor(1.0, requires_grad=True), torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
(w * batch).mean().backward()
whole, w.grad = w.grad, None
for part in batch.chunk(4):
    (w * part).mean().backward()
reveal("5.4", w.grad / whole)

# %% id=p5 tags=predict,answer
# The gradient is 1 in every step, and each step moves w by -0.1 * w.grad. Nobody calls zero_grad.
# How far has w moved after 3 steps? Leave out the sign.
predict("5.5")

# %% id=r5 tags=reveal,answer
w = torch.tensor(0.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for _ in range(3):
    (w * 1).backward()
    optimizer.step()
reveal("5.5", -w.detach())

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Watch `.grad` fill
#
# There are three passes, with a step and a `zero_grad` before the last one. The inspector stops before each addition
# and asks **what `w.grad` will be**. Look at what is already in it.

# %% id=inspector tags=inspector
with record() as trace:
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    (w * w).backward()
    (w * 3).backward()
    optimizer.step()
    optimizer.zero_grad()
    (w * 2).backward()
Inspector(trace, lens="backward", ask=["grad"])

# %% [markdown] id=ledger-note
# The **ledger** has one dot for each moment that changed `w` or `w.grad`. Click through them. Where is something
# added to `.grad`, where does it become None, and where does the step change `w` itself? (The version counts how many
# times `w` was changed in place; see lesson 8.)

# %% id=ledger tags=inspector
ParameterLedger(trace)

# %% [markdown] id=in-place-intro
# `.grad` is added to **in place**, so whoever holds the tensor sees it grow. There is one exception. With
# `create_graph=True` the addition is recorded too, and what a graph may still need must not be overwritten: `.grad`
# becomes a new tensor. (PyTorch warns about this way of calling `backward`, because it makes a cycle of references.)

# %% id=in-place
import warnings

for create_graph in (False, True):
    w, kept = torch.tensor(2.0, requires_grad=True), []
    for _ in range(2):
        with warnings.catch_warnings(action="ignore"):
            (w * w).backward(create_graph=create_graph)
        kept.append(w.grad)
    print(f"create_graph={create_graph}: the first shows {kept[0].item():.0f}, w.grad {w.grad.item():.0f};",
          "the same tensor:", kept[0] is w.grad)

# %% [markdown] id=carried-intro
# A number that you hand on from step to step, such as the state of an RNN, brings its graph along. Backward then runs
# through all steps so far: the second time it raises an error, and with `retain_graph=True` each step takes longer and
# holds more memory than the one before. `state.detach()` hands on the number only:

# %% id=carried
w = torch.tensor(0.5, requires_grad=True)
for name, carry in {"as it is": lambda state: state, "detached": lambda state: state.detach()}.items():
    state, runs = torch.tensor(1.0), []
    for _ in range(4):
        state = carry(state) * w
        with record() as trace:
            state.backward(retain_graph=True)
        runs.append(sum(event["kind"] == "run" for event in trace.events))
    print(f"{name}: nodes that run in each backward: {runs}")

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: half a batch, twice
#
# Prediction 4 showed the reason: each mean divides by the size of its **own** part. With two parts of 2 examples,
# each divides by 2 where the whole batch divides by 4. So divide each loss by the number of parts if they are equal;
# otherwise weight each by `len(part) / len(batch)`.

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
# Only one part is in memory at a time, but `w` should move as far as with the whole batch. Fill in two blanks: the
# divisor, and what to do after the loop. (`hint("parts")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def train_in_parts(w, xs, ys, parts, optimizer):
    optimizer.zero_grad()
    for x, y in zip(xs.chunk(parts), ys.chunk(parts)):
        loss = ((w * x - y) ** 2).mean()
        (loss / ...).backward()
    ...


check.parts(train_in_parts)

# %% [markdown] id=open1-intro
# ## Open exercise: three arrive, one addition
#
# `x * x` has two edges to one `AccumulateGrad`: two gradients arrive, are added up, and go into `x.grad` together.
# Return a result for which **three** gradients arrive at `x`, and `x.grad` is **12** at `x = 2`.

# %% id=open1 tags=open,answer,check
def build(x):
    return ...


check.arrivals(build, 3, 12.0)

# %% [markdown] id=open2-intro
# ## Open exercise: who forgot?
#
# Four people train the same model. One of them forgot `zero_grad`; the others have other problems, or none. All you
# have is the loss. Note that each plot has its own scale.

# %% id=curves
Lines(four_loops(), across="step", up="loss", apart=True)

# %% id=open2 tags=open,answer,check
# A letter in quotes, "a" to "d".
forgot = ...
check.forgot(forgot)

# %% [markdown] id=belief-zeros tags=belief
# ## A last belief: None or zeros, it makes no difference
#
# > "`zero_grad` sets the gradient to nothing. Whether nothing is None or 0 makes no difference."
#
# Older code uses `set_to_none=False`. Below, each variant takes one step with a gradient and one without. The
# optimizer has *momentum*: each step also repeats part of the previous one.

# %% id=belief-zeros-run tags=refutation
for to_none in (True, False):
    w = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    (w * 3).backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=to_none)
    before = w.item()
    optimizer.step()
    print(f"set_to_none={to_none}: w.grad is {w.grad}, the second step moves w by {w.item() - before:.2g}")

# %% [markdown] id=torch-intro tags=section:torch
# With None, the optimizer skips the parameter. With zeros it takes a step, and momentum carries `w` on. None also
# takes no memory, and a gradient that was never computed cannot be mistaken for one that is 0.
#
# ## The same thing in PyTorch

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    (w * w).sum().backward()
    first = w.grad
    (w * 3).sum().backward()
    print(first, first is w.grad)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    optimizer.step()
    print(first, first is w.grad, [round(value, 2) for value in w.tolist()])
    optimizer.zero_grad()
    optimizer.step()
    print(first, w.grad, [round(value, 2) for value in w.tolist()])

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# This table was made by running each line. `first` is what `x.grad` was after the first pass.

# %% id=summary tags=summary
x = torch.tensor(2.0, requires_grad=True)
(x * 3).backward()
first, rows = x.grad, []
lines = ("(x * 3).backward()", "x.grad.zero_()", "(x * x).backward()", "x.grad = None", "(x * 3).backward()")
for line in lines:
    exec(line)
    rows.append([line, str(x.grad), str(x.grad is first)])
table(["then", "x.grad", "is it first?"], rows)

# %% [markdown] id=next
# **Within a pass**, the gradients that arrive at a leaf are added up, then added to `.grad` once. **Across passes**,
# `.grad` is added to in place. **In a loop**: clear, forward, backward, step. **In parts**: clear once, weight each
# part by `len(part) / len(batch)` (equal parts: divide by their number), step once.
#
# Next, lesson 6: gradients of results that are not leaves, and code of yours that runs inside the backward pass.
