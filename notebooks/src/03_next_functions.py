"""The source of lesson 3. `python -m minigrad_lessons.build 03` makes the notebook."""

# %% [markdown] id=title
# # Lesson 3: grad_fn and next_functions, walked by hand
#
# When a gradient is missing or wrong, the question is always the same: where did it go wrong on its way back from the
# loss? Its route is the graph behind `loss.grad_fn`, and you can walk it yourself.
#
# Run the next cell (Shift+Enter), then press **next →** and watch where the gradient goes.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, edge_table, hint, predict, recall, reveal, same_in_torch
from minigrad_widgets import Inspector

with record() as first:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    loss = (x * y).sum()
    loss.backward()
Inspector(first, parts=["source", "details", "leaves", "outputs"])

# %% [markdown] id=still
# The gradient travels from node to node. Each node seems to know where to send it next. Where is that stored, and
# could you send it yourself, without `backward()`? In this lesson you will. It takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 1 and 2, from memory.

# %% id=recall tags=recall,answer
recall("q1.3")
recall("q1.5")
recall("q2.2")
recall("q2.3")
recall("q2.5")

# %% [markdown] id=program-intro
# ## A program and its graph
#
# Two leaves, a product, a sum.

# %% id=program
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
z = x * y
total = z.sum()
print(total)
print(total.grad_fn.name())

# %% [markdown] id=program-note
# `total.grad_fn` is a node. Its `next_functions` says where the gradient goes next. It is a tuple of **pairs**, one
# for each input of the operation; each pair is a node and an integer. The sum had one input, so there is one pair:

# %% id=first-look tags=answers:s2.1
for below, integer in total.grad_fn.next_functions:
    print(below.name(), integer)
    print("Is it z's own node?", below is z.grad_fn)

# %% [markdown] id=belief-tensors tags=belief
# ## A belief: the graph holds my tensors
#
# > "The graph is made of tensors: `total` points to `z`, and `z` points to `x` and `y`."
#
# If so, `z` would have to stay alive as long as `total` does. Delete `z` and see. (A weak reference points to a
# tensor without keeping it alive.)

# %% id=belief-tensors-run tags=refutation,contradicts:c2.2,contradicts:c3.10
import weakref

spy = weakref.ref(z)
del z
print("z is still there:", spy() is not None)
total.backward()
print("and backward still works:", x.grad.tolist(), y.grad.tolist())

# %% [markdown] id=belief-integer tags=belief
# The graph is made of **nodes**, not of tensors. `z` is gone, and nothing is missing. A node keeps only the values
# that its own formula needs: the product kept `x` and `y`, and the sum kept nothing.
#
# ## A second belief: the integer is always 0
#
# > "The second thing in the pair is always 0. I have never seen anything else."
#
# That is almost always true, which is why so few people notice when it is not. `split` is an operation with
# **several** outputs:

# %% id=belief-integer-run tags=refutation,contradicts:c2.5
top, bottom = torch.tensor([[1.0], [2.0]], requires_grad=True).split(1)
for below, integer in (top * bottom).grad_fn.next_functions:
    print(below.name(), integer)

# %% [markdown] id=predict-intro tags=section:predict
# The integer says *which output* of the node below this input was.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# x requires grad, 5 is a plain number.
#     z = x * 5
# How many pairs are in z.grad_fn.next_functions?
predict("3.1")

# %% id=r1 tags=reveal,answer
z = x * 5
reveal("3.1", len(z.grad_fn.next_functions))

# %% id=p2 tags=predict,answer
# The same tensor twice. There are two inputs, so there are two pairs.
#     z = x * x
# How many different nodes are in these two pairs?
predict("3.2")

# %% id=r2 tags=reveal,answer
z = x * x
reveal("3.2", len({node for node, _ in z.grad_fn.next_functions}))

# %% id=p3 tags=predict,answer
# split has three outputs here. Only the last two are used.
#     a, b, c = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True).split(1)
# Which integers are in (b * c).grad_fn.next_functions?
predict("3.3")

# %% id=r3 tags=reveal,answer
a, b, c = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True).split(1)
reveal("3.3", [integer for _, integer in (b * c).grad_fn.next_functions])

# %% id=p4 tags=predict,answer
# Follow the first pair again and again, until you can go no further. You pass the sum and the product.
#     total = (x * y).sum()
# What is the walk's last stop? Give the name of its class.
predict("3.4")

# %% id=r4 tags=reveal,answer
total = (x * y).sum()
node = total.grad_fn
while node is not None and node.next_functions:
    node = node.next_functions[0][0]
reveal("3.4", type(node).__name__)

# %% id=p5 tags=predict,answer
# A node can be called, like a function: a gradient goes in, the gradients of its inputs come out.
#     x.grad = None
#     dx, dy = (x * y).grad_fn(torch.ones(2))
# Is x.grad still None?
predict("3.5")

# %% id=r5 tags=reveal,answer
x.grad = None
dx, dy = (x * y).grad_fn(torch.ones(2))
reveal("3.5", x.grad is None)

# %% id=p6 tags=predict,answer
# Look at the gradient dx that came out of that call.
# Does it require grad?
predict("3.6")

# %% id=r6 tags=reveal,answer
reveal("3.6", dx.requires_grad)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Take it into your own hands
#
# The inspector has a lens for this: **call by hand**. Nothing runs by itself. Click a node that has a gradient
# waiting, and it is called; its results then wait at the nodes below. The Python you would write is shown beside it.
# Each pair is drawn as an **edge**, with its integer. (`unbind` returns the rows of `m`, much as `split` does.)

# %% id=inspector tags=inspector
with record() as trace:
    m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    p, q = m.unbind()
    total = (q * p + p).sum()
    total.backward()
Inspector(trace, lens="traversal")

# %% [markdown] id=inspector-note
# - The product has two edges to the **same** node, with the integers 1 and 0. Why in this order?
# - Three edges lead to `UnbindBackward0`. Call the sum and the addition, then try to call it. What does the inspector
#   say is missing?
# - Call everything in an order that works. Where does the gradient end up?
#
# Then let the engine do it. The lens **backward** shows the order that it chose:

# %% id=inspector-backward tags=inspector
Inspector(trace, lens="backward")

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: a walk, one call at a time
#
# This is a whole backward pass without `backward()`. The `no_grad` is there because of prediction 6: without it, the
# walk itself would be recorded.

# %% id=worked tags=worked,answers:s2.2
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([3.0, 4.0], requires_grad=True)
total = (x * y).sum()
with torch.no_grad():
    sum_node = total.grad_fn
    dz = sum_node(torch.tensor(1.0))
    product_node = sum_node.next_functions[0][0]
    dx, dy = product_node(dz)
    product_node.next_functions[0][0](dx)
    product_node.next_functions[1][0](dy)
print(x.grad, y.grad)

# %% [markdown] id=faded-intro
# The gradient of x·y with respect to x is y, and with respect to y it is x. That is what arrived. Note: a node with
# one input returns **a tensor**; a node with two returns **a tuple**.
#
# ## Faded example: `walk(node, grad)`
#
# Now do it for any tree whose operations have one output each (so not for `unbind`). In a tree, exactly one path
# leads to each node. Two blanks: when is there nothing to visit, and what happens to the node below? (`hint("walk")`
# in a new cell helps.)

# %% id=faded tags=faded,answer,check
def walk(node, grad):
    results = node(grad)
    if not isinstance(results, tuple):
        results = (results,)
    for (below, _), result in zip(node.next_functions, results):
        if below is ...:
            continue
        walk(..., result)


check.walk(walk)

# %% [markdown] id=open1-intro
# ## Open exercise: choose the integers
#
# `m` has three rows. Return a tensor whose node has four pairs, all with the same `UnbindBackward0`, and with the
# integers **2, 0, 1, 2**. (`torch.stack` takes a list of tensors; each one is an input.)

# %% id=open1 tags=open,answer,check
def build(m):
    return ...


check.integers(build, [2, 0, 1, 2])

# %% [markdown] id=open2-intro
# ## Open exercise: overwhelm the walk
#
# `walk` works on trees. If a result is used **twice**, two paths lead down to its node, and `walk` takes both. Build
# a graph of at most 20 nodes on which `walk` would make more than 1,000 calls. (Two paths that split and meet again
# form a **diamond**. You will need a few lines.)

# %% id=open2 tags=open,answer,check
def build_diamonds():
    a = torch.tensor(1.0, requires_grad=True)
    ...
    return a


check.diamond(build_diamonds)

# %% [markdown] id=torch-intro tags=section:torch
# Where paths meet, `walk` still leaves the right gradient, as long as each node has one output: it delivers every
# part, one by one. But it calls a node once for each *path* to it. `backward()` waits until all the parts have
# arrived, and runs each node **once**. Lesson 4 shows how.
#
# ## The same thing in PyTorch
#
# This also shows what a node keeps for its formula: `x * x` keeps both inputs, `x + x` keeps none (`alpha` is a plain
# number that `torch.add` can take).

# %% id=torch tags=torch,contradicts:c2.10,contradicts:c4.1,contradicts:c4.2
@same_in_torch
def program(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    _, b = torch.tensor([[3.0, 4.0], [5.0, 6.0]], requires_grad=True).unbind()
    z = x * b * 5
    for node in (z.grad_fn, z.grad_fn.next_functions[0][0]):
        for below, integer in node.next_functions:
            print(node.name(), "->", None if below is None else below.name(), integer)
    end = node.next_functions[0][0]
    print(end.variable is x, end.next_functions)
    print(node(torch.ones(2)))
    print(end(torch.ones(2)), x.grad)
    print(isinstance(z.grad_fn, torch.autograd.Function), isinstance(z.grad_fn, torch.autograd.graph.Node))
    for node in ((x * x).grad_fn, (x + x).grad_fn):
        print(node.name(), "keeps", [name for name in dir(node) if name.startswith("_saved")])

# %% [markdown] id=error-note
# One more thing about calling nodes: after `backward()`, a node has freed the values that its formula needs.

# %% id=error tags=raises-exception
total = (x * y).sum()
total.backward()
total.grad_fn.next_functions[0][0](torch.ones(2))

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# This table was made by running each line.

# %% id=summary tags=summary,answers:row11,contradicts:c2.4,contradicts:c2.6
first, second = m.unbind()
edge_table({
    "x": x,
    "y": y,
    "x * y": x * y,
    "x * x": x * x,
    "x * 5": x * 5,
    "x.exp()": x.exp(),
    "second * first": second * first,
    "(x * y).sum()": (x * y).sum(),
})

# %% [markdown] id=next
# **A pair** in `next_functions`: a node, and which of *its* outputs this input was. **`(None, 0)`**: this input does
# not require grad. **The end**: an `AccumulateGrad`, one for each leaf that requires grad. Call it, and it adds to
# the leaf's `.grad`.
#
# Next, lesson 17: what comes back to a tensor that was broadcast. Then lesson 4: the engine, which makes this walk
# with one call for each node.
