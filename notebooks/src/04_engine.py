"""The source of lesson 4. `python -m minigrad_lessons.build 04` makes the notebook."""

# %% [markdown] id=title
# # Lesson 4: The engine
#
# `backward()` raises two errors that everybody meets while training: "grad can be implicitly created only for scalar
# outputs" and "Trying to backward through the graph a second time". Both make sense once you have seen what the
# engine does.
#
# Run the next cell (Shift+Enter), then press **next →** and watch the numbers on the nodes.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    a = torch.tensor(3.0, requires_grad=True)
    b = a * 2
    c = b.exp() + b
    c.backward()
Inspector(first)

# %% [markdown] id=still
# `b` is used twice, so two gradients come back to its node. When the first of them arrives, does the node run? Find
# the step at which it does.
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
recall("q0.5")
recall("q2.1")
recall("q2.4")
recall("q3.3")
recall("q3.5")

# %% [markdown] id=belief-recursion tags=belief
# ## A belief: recursion is enough
#
# > "Each node hands its gradient down as soon as it has one. A short recursive walk does that."
#
# Here is the walk of lesson 3, which now counts its calls. In each doubling a result is added to itself, so two paths
# lead down.

# %% id=belief-recursion-run tags=refutation,answers:row20
def walk(node, grad):
    calls.append(node)
    results = node(grad)
    for (below, _), result in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
        if below is not None:
            walk(below, result)


for doublings in (2, 4, 8, 12):
    c = a = torch.tensor(1.0, requires_grad=True)
    for _ in range(doublings):
        c = c + c
    calls = []
    walk(c.grad_fn, torch.tensor(1.0))
    print(f"{doublings} doublings: {len(set(calls))} nodes, {len(calls)} calls, a.grad {a.grad.item():.0f}")

# %% [markdown] id=engine-intro
# The gradient is right, but each doubling doubles the calls. The walk moves on too early: each time it carries only
# **a part** of the gradient. The engine does three things instead:
#
# 1. **Count.** Before anything runs, it counts how many gradients each node will get: one for each edge.
# 2. **Wait.** Gradients that arrive are added up. A node is *ready* when its count has fallen to 0.
# 3. **Run.** Of the ready nodes, it runs the one that was recorded last; a leaf's own node goes first.

# %% [markdown] id=needs-intro
# Here are its counts for a small program. The first node, the **root**, waits for one gradient too. `backward()`
# supplies it: 1, the slope of c with respect to itself.

# %% id=needs
with record() as trace:
    a = torch.tensor(1.0, requires_grad=True)
    b = a + a
    c = b + b
    c.backward()
start = next(event for event in trace.events if event["kind"] == "backward_start")
for node, count in start["needs"]:
    print(trace.nodes[node]["name"], "waits for", count)

# %% id=error-scalar tags=raises-exception,answers:row5
# Two results: there is no single 1 to start from.
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x).backward()

# %% [markdown] id=error-second-note
# The remedy is `y.backward(gradient=v)`, where `v` has one number for each number of `y`. Prediction 3 asks what
# those numbers do. The other famous error appears when you run backward twice:

# %% id=error-second tags=raises-exception,answers:row2
loss = (x * x).sum()
loss.backward()
loss.backward()

# %% [markdown] id=belief-cure tags=belief
# The product had saved `x`, and freed it when it ran.
#
# ## A second belief: `retain_graph=True` is the cure
#
# > "The message says what to do: specify `retain_graph=True`. With it, my training runs."
#
# It does run. Look at the loss:

# %% id=belief-cure-run tags=refutation
w = torch.tensor(1.0, requires_grad=True)
guess = w * 3
for _ in range(4):
    loss = (guess - 6) ** 2
    loss.backward(retain_graph=True)
    with torch.no_grad():
        w -= 0.02 * w.grad
    w.grad = None
    print(f"w is {w.item():.3g}; loss {loss.item():.3g}; it should be {(w.item() * 3 - 6) ** 2:.2g} by now")

# %% [markdown] id=belief-same tags=belief
# The loss never moves: `guess` was computed once, **above** the loop, from the first `w`. So the gradient never
# changes, and `w` runs past 2, where it should stop. The error was right: this graph is old. Build a new one in each
# step, and you need no option.
#
# ## A third belief: `retain_graph` and `create_graph` are the same
#
# > "Both keep the graph, so with both I can differentiate again."
#
# (`torch.autograd.grad(y, x)` returns a tuple of gradients, one for each input that you name.)

# %% id=belief-same-run tags=refutation,answers:row16,answers:s4.6,contradicts:c4.10
x = torch.tensor(3.0, requires_grad=True)
y = x**3
(kept,) = torch.autograd.grad(y, x, retain_graph=True)
(recorded,) = torch.autograd.grad(y, x, create_graph=True)
print("retain_graph=True:", kept)
print("create_graph=True:", recorded)
print("the gradient of the gradient:", torch.autograd.grad(recorded, x)[0])

# %% [markdown] id=predict-intro tags=section:predict
# `retain_graph` keeps what the nodes of the **old** graph have saved; use it when you want several gradients of one
# graph. `create_graph` records the backward pass itself as a **new** graph, so the gradient gets a `grad_fn`. To do
# so, it has to keep the old graph as well.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# b = a + a and c = b + b, as above.
#     c.backward()
# How many times does the engine run a node, in all?
predict("4.1")

# %% id=r1 tags=reveal,answer
reveal("4.1", sum(event["kind"] == "run" for event in trace.events))

# %% id=p2 tags=predict,answer
# A tensor with one number, but in two dimensions: its shape is [1, 1].
#     y = torch.tensor([[2.0]], requires_grad=True) * 3
# Can you call y.backward() without an argument?
predict("4.2")

# %% id=r2 tags=reveal,answer,contradicts:c2.7
y = torch.tensor([[2.0]], requires_grad=True) * 3
try:
    y.backward()
    started = True
except RuntimeError:
    started = False
reveal("4.2", started)

# %% id=p3 tags=predict,answer
# x = [1, 2], and y = x * x has two numbers.
#     y.backward(gradient=torch.tensor([1.0, 10.0]))
# What is x.grad?
predict("4.3")

# %% id=r3 tags=reveal,answer,answers:s2.4
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * x
y.backward(gradient=torch.tensor([1.0, 10.0]))
reveal("4.3", x.grad)

# %% id=p4 tags=predict,answer
# x and y hold one number each, and require grad.
#     z = x + y
#     z.backward()
# Does a second z.backward() raise an error?
predict("4.4")

# %% id=r4 tags=reveal,answer,answers:s2.5,contradicts:c2.8
x, y = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
z = x + y
z.backward()
try:
    z.backward()
    raised = False
except RuntimeError:
    raised = True
reveal("4.4", raised)

# %% id=p5 tags=predict,answer
# The gradient of x**3 at 2 is 12.
#     g, = torch.autograd.grad(x**3, x)
# What is x.grad now?
predict("4.5")

# %% id=r5 tags=reveal,answer,answers:s2.3
x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x**3, x)
reveal("4.5", x.grad)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Watch it wait
#
# The inspector stops three times and asks **which node runs next**. Each node shows how many gradients it still waits
# for. Of the nodes that are ready, the one that was recorded last runs first: it has the largest `nr`, its sequence
# number. (A leaf's node counts as the highest.)
#
# - `p` is recorded before `q`. Whose node runs first?
# - Which node is the last to become ready, and why?

# %% id=inspector tags=inspector
with record() as trace:
    m = torch.tensor([1.0, 2.0], requires_grad=True)
    p = m * 3
    q = m.exp()
    r = m.sin()
    total = (p * q + p * r).sum()
    total.backward()
Inspector(trace, lens="backward", ask=["next"])

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: count
#
# A node's count is the number of edges that lead to it. This function goes through the graph once.

# %% id=worked tags=worked
def count(root):
    needs, seen = {}, {root}
    to_visit = [root]
    while to_visit:
        for below, _ in to_visit.pop().next_functions:
            if below is not None:
                needs[below] = needs.get(below, 0) + 1
                if below not in seen:
                    seen.add(below)
                    to_visit.append(below)
    return needs


for node, number in count(total.grad_fn).items():
    print(number, node.name())

# %% [markdown] id=faded-intro
# ## Faded example: a walk that waits
#
# Now repair the walk. `needs` is what `count` returned, and `waiting` holds the sum of the gradients that have
# reached each node. (Every node here has one output, so one sum is enough.) Fill in two blanks: by how much does the
# count fall, and when can the walk go on?
#
# (`hint("waiting_walk")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def walk(node, grad, needs, waiting):
    results = node(grad)
    if not isinstance(results, tuple):
        results = (results,)
    for (below, _), result in zip(node.next_functions, results):
        if below is None:
            continue
        waiting[below] = waiting.get(below, 0) + result
        needs[below] -= ...
        if ...:
            walk(below, waiting[below], needs, waiting)


check.waiting_walk(walk)

# %% [markdown] id=open1-intro
# ## Open exercise: a Jacobian, row by row
#
# `y` has three numbers and `x` has two. Return a list of three rows: row `i` is the gradient of `y[i]` with respect to
# `x`. Use three calls of `y.backward(...)`. Two things to watch: all three need the same graph, and `x.grad` adds up,
# so set `x.grad = None` before each call. (`torch.eye(3)` has useful rows.)

# %% id=open1 tags=open,answer,check
def jacobian(y, x):
    rows = ...
    return rows


check.jacobian(jacobian)

# %% [markdown] id=open2-intro
# ## Open exercise: which second backward raises an error?
#
# Each expression is computed, then `backward()` is called twice. Write True where the **second** call raises an
# error.

# %% id=open2 tags=open,answer,check
answers = {
    "x + y": ...,
    "x * y": ...,
    "x - y": ...,
    "-x": ...,
    "x * 5": ...,
    "x.exp()": ...,
    "x.clone()": ...,
    "(x * y) + x": ...,
    "(x + y).sum()": ...,
}
check.second_backward(answers, x=torch.tensor(2.0, requires_grad=True),
                      y=torch.tensor(3.0, requires_grad=True))

# %% [markdown] id=belief-all tags=belief
# ## A last belief: `backward()` is called on results, and fills all leaves
#
# > "Only a result can call `backward()`, and then every leaf that requires grad has a `.grad`."

# %% id=belief-all-run tags=refutation,answers:s4.2,contradicts:c4.3,contradicts:c3.9
x = torch.tensor(2.0, requires_grad=True)
apart = torch.tensor(5.0, requires_grad=True)
x.backward()
print("a leaf started; its .grad:", x.grad)
(x * 3).backward()
print("x.grad:", x.grad, " apart.grad:", apart.grad)

# %% [markdown] id=error-unused-note
# `apart` was not reached, so its `.grad` is still None, and nothing tells you. `grad()` is stricter: you named an
# input, and there is no gradient for it.

# %% id=error-unused tags=raises-exception,answers:row19
torch.autograd.grad(x * 3, [x, apart])

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# With `allow_unused=True` you get None for such an input, and with `materialize_grads=True` you get zeros. The fourth
# option of `backward()` is `inputs=`: only the tensors that you name get their `.grad`.

# %% id=torch tags=torch,contradicts:c2.9,contradicts:c4.9
@same_in_torch
def program(torch):
    x, apart = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(5.0, requires_grad=True)
    for options in ({"allow_unused": True}, {"materialize_grads": True}):
        print(torch.autograd.grad((x * 3).sum(), apart, **options))
    for run in (lambda: torch.autograd.grad(x * 3, x), lambda: torch.autograd.grad(x.sum(), apart)):
        try:
            run()
        except RuntimeError as error:
            print(error)
    (x * apart).sum().backward(inputs=[apart])
    print(x.grad, apart.grad)
    y = x[0] ** 3
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    print(x.grad, g.requires_grad, torch.autograd.grad(g.sum(), x))

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# This table was made by running each call for `y = x**3` at 2.

# %% id=summary tags=summary
rows = []
for call, option in [("backward", ""), ("grad", ""), ("grad", "retain_graph"), ("grad", "create_graph")]:
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    options = {option: True} if option else {}
    given = y.backward() if call == "backward" else torch.autograd.grad(y, x, **options)[0]
    row = [call, option, str(given), str(x.grad)]
    try:
        y.backward()
        rows.append([*row, "runs"])
    except RuntimeError:
        rows.append([*row, "raises"])
table(["call", "option=True", "it returns", "x.grad", "then y.backward()"], rows)

# %% [markdown] id=next
# **Order**: a node runs when all its gradients have arrived; of the ready ones, the most recently recorded goes
# first. **Start**: one number, or `gradient=` with a weight for each. **Twice**: nodes that saved something raise an
# error the second time.
#
# Next, lesson 5: why `.grad` adds up, and what to do about it.
