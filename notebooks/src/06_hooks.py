"""The source of lesson 6. `python -m minigrad_lessons.build 06` makes the notebook."""

# %% [markdown] id=title
# # Lesson 6: retain_grad and hooks
#
# A deep network does not learn. To find out why, you look at the gradient in the middle of it, and `.grad` is None.
# `retain_grad()` and hooks let you see that gradient, log it, or clip it, without touching the model.
#
# Run the next cell (Shift+Enter), then press **next →** and watch the number on its way to `x`.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_lessons.lines import Lines
from minigrad_widgets import Inspector

with record() as first:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: grad / 2)
    (y * y).backward()
Inspector(first)

# %% [markdown] id=still
# The slope of `(3x)²` at `x = 2` is 36. Something changes the gradient on its way, and it is not one of the nodes. At
# which step does this happen, and what arrives in `x.grad`?
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
recall("q2.4")
recall("q4.3")
recall("q4.5")
recall("q5.3")
recall("q5.4")

# %% [markdown] id=none-note
# ## None, and a warning
#
# `x` is a leaf and `y` is not. After `backward()`, one of them has a `.grad`:

# %% id=none tags=answers:row1,answers:s3.5,contradicts:c4.5
import warnings

x = torch.tensor(2.0, requires_grad=True)
y = x * 3
(y * y).backward()
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    print("x.grad:", x.grad, " y.grad:", y.grad)
for sentence in str(said[0].message).split(". ")[:3]:
    print("-", sentence)

# %% [markdown] id=belief-inner tags=belief
# ## A belief: inner gradients are not computed
#
# > "`y.grad` is None, so it was never computed."
#
# A **hook** is a function of yours that the engine calls during the pass. A hook on the tensor `y` gets the gradient
# of `y`:

# %% id=belief-inner-run tags=refutation,answers:s2.7
y = x * 3
handle = y.register_hook(lambda grad: print("a gradient arrives at y:", grad))
(y * y).backward()
handle.remove()

# %% [markdown] id=keep-note
# It was computed: the gradient of `x` is 3 times this one. The engine passes it on and then drops it, because nobody
# asked to keep it. To keep it, ask **before** the pass: call `y.retain_grad()`, or name the result in
# `backward(inputs=...)`. On a leaf, which keeps its gradient anyway, `retain_grad()` does nothing.

# %% id=keep tags=answers:s4.5,contradicts:c3.2,contradicts:c4.4,contradicts:c4.8
x.retain_grad()
y, other = x * 3, x * 5
y.retain_grad()
print("retains_grad: x", x.retains_grad, " y", y.retains_grad, " other", other.retains_grad)
(y * y).backward()
(other * other).backward(inputs=[other])
print("y.grad:", y.grad, " other.grad:", other.grad)

# %% [markdown] id=belief-order tags=belief
# ## A second belief: hooks run in the order in which I registered them
#
# > "What I register first runs first."
#
# Nodes take hooks, too: a *pre-hook* is called before the node runs, a *post-hook* after it. Here is one of each
# kind, and a second tensor hook on `y`. In what order do they print?

# %% id=belief-order-run tags=refutation,answers:row17
x = torch.tensor(2.0, requires_grad=True)
y = x * 3
y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print(
    "post-hook of y's node:", grad_outputs, "became", grad_inputs))
x.register_post_accumulate_grad_hook(lambda x: print("post-accumulate hook of x:", x.grad))
y.register_hook(lambda grad: print("tensor hook of y:", grad))
x.register_hook(lambda grad: print("tensor hook of x:", grad))
y.grad_fn.register_prehook(lambda grad_outputs: print("pre-hook of y's node:", grad_outputs))
y.register_hook(lambda grad: print("the other tensor hook of y:", grad))
y.retain_grad()
y.backward()

# %% [markdown] id=order-note
# Only hooks of **one kind in one place** run in the order of registration. The places have their own order, the path
# of the gradient: to the tensor `y`, into its node, out of its node, to `x`. A leaf takes one more kind, the
# *post-accumulate hook*, which is called after its `.grad` has been added to.
#
# How do tensor and node hooks differ? A tensor hook gets **one** gradient. A node's hooks get tuples: a gradient for
# each *output*, and a post-hook also one for each *input*.

# %% id=node-hook tags=answers:s2.8
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
z = a * b
z.register_hook(lambda grad: print("tensor:", grad))
z.grad_fn.register_hook(
    lambda grad_inputs, grad_outputs: print("node:  ", grad_outputs, "became", grad_inputs))
z.backward()

# %% [markdown] id=predict-intro tags=section:predict
# A hook may **return** a new gradient (a node's hook returns a tuple), which then replaces the old one. It must not
# modify the gradient that it was given: something else may hold the same tensor.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# x = 2, y = x * 3. In this order:
#     y.retain_grad()
#     y.register_hook(lambda grad: grad * 10)
#     y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
#     y.backward()
# What is y.grad?
predict("6.1")

# %% id=r1 tags=reveal,answer
x = torch.tensor(2.0, requires_grad=True)
y = x * 3
y.retain_grad()
y.register_hook(lambda grad: grad * 10)
y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
y.backward()
reveal("6.1", y.grad)

# %% id=p2 tags=predict,answer
# The same program. What is x.grad?
predict("6.2")

# %% id=r2 tags=reveal,answer
reveal("6.2", x.grad)

# %% id=p3 tags=predict,answer
# A hook that returns None.
#     y = x * 3
#     y.register_hook(lambda grad: None)
#     y.backward()
# What is x.grad, if it was None before?
predict("6.3")

# %% id=r3 tags=reveal,answer
x = torch.tensor(2.0, requires_grad=True)
y = x * 3
y.register_hook(lambda grad: None)
y.backward()
reveal("6.3", x.grad)

# %% id=p4 tags=predict,answer
# A hook on the leaf x multiplies by 10. Two passes follow; the slope of x * 3 is 3.
#     x.register_hook(lambda grad: grad * 10)
#     (x * 3).backward()
#     (x * 3).backward()
# What is x.grad?
predict("6.4")

# %% id=r4 tags=reveal,answer
x = torch.tensor(2.0, requires_grad=True)
x.register_hook(lambda grad: grad * 10)
(x * 3).backward()
(x * 3).backward()
reveal("6.4", x.grad)

# %% id=p5 tags=predict,answer
# x has two hooks: a tensor hook and a post-accumulate hook.
#     torch.autograd.grad(x * 3, x)
# How many of the two run?
predict("6.5")

# %% id=r5 tags=reveal,answer
x, ran = torch.tensor(2.0, requires_grad=True), []
x.register_hook(lambda grad: ran.append("tensor hook"))
x.register_post_accumulate_grad_hook(lambda x: ran.append("post-accumulate hook"))
torch.autograd.grad(x * 3, x)
reveal("6.5", len(ran))

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Walk past the hooks
#
# Each hook is a step of its own. Step on from the start of the pass, and click the node of `y`: its details list what
# happens there, in order. At which step is `y.grad` kept, and how large is the gradient then? How large is it when it
# leaves?

# %% id=inspector tags=inspector
with record() as trace:
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    x.register_hook(lambda grad: grad / 1000)
    y.backward()
Inspector(trace, lens="backward", step=next(iter(trace.steps("backward"))) + 2)

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: a hook that looks
#
# To look at a gradient, append it to a list: `append` returns None, so the gradient goes on unchanged. Here only its
# *norm*, the length of the gradient, is kept. `register_hook` returns a handle, and `handle.remove()` removes the
# hook.

# %% id=worked tags=worked
w = torch.tensor([3.0, 4.0], requires_grad=True)
norms = []
handle = w.register_hook(lambda grad: norms.append(grad.norm().item()))
(w * w).sum().backward()
(w * 5).sum().backward()
handle.remove()
w.sum().backward()
print([round(norm, 2) for norm in norms])

# %% [markdown] id=faded-intro
# ## Faded example: clip a gradient with one hook
#
# One bad batch can throw a model far off. So gradients are *clipped*: one that is longer than `most` is shortened but
# keeps its direction, and a shorter one is left alone. Fill in two blanks. (`hint("clip")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def clip(most):
    def hook(grad):
        norm = grad.norm()
        if norm > ...:
            return grad * ...

    return hook


check.clip(clip)

# %% [markdown] id=open1-intro
# ## Open exercise: seven events
#
# `y = x * 3`, then `(y * y).backward()`. The hooks were registered in the order E, F, A, G, B, D. Put all seven
# events into the order in which they happen.
#
# - **A** the post-hook of y's node
# - **B** `y.grad` is kept (`retain_grad`)
# - **C** `x.grad` is added to
# - **D** the tensor hook of `y`
# - **E** the post-accumulate hook of `x`
# - **F** the tensor hook of `x`
# - **G** the pre-hook of y's node

# %% id=open1 tags=open,answer,check
order = ...
check.event_order(order)

# %% [markdown] id=open2-intro
# ## Open exercise: watch every layer
#
# Log the norm of the gradient of **each** parameter in each pass, without touching the model. `watch(model)` returns
# a dictionary: for each name in `model.named_parameters()` it holds a list, empty at first, that gets one more number
# in each pass.

# %% id=open2 tags=open,answer,check
def watch(model):
    log = {}
    ...
    return log


check.watch_layers(watch)

# %% [markdown] id=flow-note
# What is that good for? Here are two networks of ten layers, with a hook on the output of each layer. A gradient
# starts at layer 10. In which of the two can layer 1 still learn? (Each grid line stands for 10 times the one below.)

# %% id=flow
def norms_by_layer(activation):
    torch.manual_seed(0)
    h, norms = torch.randn(8, 16), []
    for _ in range(10):
        h = activation(torch.nn.Linear(16, 16)(h))
        h.register_hook(lambda grad: norms.append(grad.norm().item()))
    h.sum().backward()
    return norms[::-1]


Lines({"sigmoid": norms_by_layer(torch.sigmoid), "tanh": norms_by_layer(torch.tanh)}, across="layer",
      up="norm of the gradient", start=1, log=True)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    x = torch.tensor([2.0, 1.0], requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda grad: grad * 10)
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    y.sum().backward(retain_graph=True)
    print(y.grad, x.grad)
    y.register_hook(lambda grad: grad.sum())
    for wrong in (y.sum().backward, torch.ones(2).retain_grad, lambda: torch.ones(2).register_hook(print)):
        try:
            wrong()
        except RuntimeError as error:
            print(error)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# How many times was each hook called? This table was made by running each of them in both kinds of pass.

# %% id=summary tags=summary
def calls(hook, start):
    x, seen = torch.tensor(2.0, requires_grad=True), []
    y = x * 3
    eval(hook, {"x": x, "y": y})(lambda *given: seen.append(given))
    start(y, x)
    return str(len(seen))


hooks = ["y.register_hook", "y.grad_fn.register_prehook", "y.grad_fn.register_hook", "x.register_hook",
         "x.register_post_accumulate_grad_hook"]
table(["hook", "in backward()", "in grad()"],
      [[hook, calls(hook, lambda y, x: y.backward()), calls(hook, torch.autograd.grad)] for hook in hooks])

# %% [markdown] id=next
# **The path of a gradient**: tensor hooks, `retain_grad`, pre-hooks, node, post-hooks; at a leaf, tensor hooks,
# addition, post-accumulate hooks. **Return** a gradient to change it, or None to leave it.
#
# Next, lesson 7: the switches that decide whether anything is recorded at all.
