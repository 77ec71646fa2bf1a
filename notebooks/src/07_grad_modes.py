"""The source of lesson 7. `python -m minigrad_lessons.build 07` makes the notebook."""

# %% [markdown] id=title
# # Lesson 7: Grad modes
#
# `eval()`, `no_grad()`, `detach()` and `requires_grad=False` are all said to "switch gradients off". They do four
# different things. If you mix them up, you waste memory at prediction time, or half of your model silently stops
# learning.
#
# Run the next cell (Shift+Enter), press **next →**, and watch the ribbon above the slider.

# %% id=setup tags=opening
import matplotlib.pyplot as plt

import minigrad as torch
from minigrad.memory import Account
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    y = w * 3
    with torch.no_grad():
        scale = y.abs().max()
    (y / scale).sum().backward()
Inspector(first, lens="forward")

# %% [markdown] id=still
# Five operations run, but only three of them leave a node. What does the ribbon show while the other two run? And one
# of the four switches above stops no gradient at all: which one?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 6, 5 and 3, from memory.

# %% id=recall tags=recall,answer
recall("q6.1")
recall("q6.4")
recall("q5.2")
recall("q5.5")
recall("q3.1")

# %% [markdown] id=belief-eval tags=belief
# ## A belief: `eval()` stops gradients
#
# > "For prediction I call `model.eval()`. Then nothing is recorded, and I save memory."
#
# Put a model into eval mode, and ask for gradients anyway:

# %% id=belief-eval-run tags=refutation,answers:row7
torch.manual_seed(0)
nn = torch.nn
net = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.5), nn.Linear(64, 1))
x = torch.ones(32, 64)
net.eval()
out = net(x)
out.sum().backward()
print("recorded:", out.requires_grad)
print("the first layer has a gradient:", net[0].weight.grad is not None)
net.train()
print("in train() two calls differ:", not torch.equal(net(x), net(x)))
net.eval()
print("in eval() two calls differ:", not torch.equal(net(x), net(x)))

# %% [markdown] id=memory-intro
# `eval()` tells each **layer** to behave as it does at prediction time: dropout, which sets random entries to 0 in
# training, changes nothing, and batch norm uses its stored statistics. Autograd ignores this. **Grad mode** is the
# other switch: it tells **autograd** whether to record. Which of the two saves memory? Count the bytes kept for a
# backward pass in all four cases. (`Account` adds up what a recorded program holds; `peak.saved` is the most that its
# nodes had saved at any moment.)

# %% id=memory tags=answers:s2.9
def saved_bytes(training, grad):
    net.train(training)
    with record() as trace, torch.set_grad_enabled(grad):
        net(x)
    return Account(trace).peak.saved

cases = {"eval(), no_grad": (False, False), "train(), no_grad": (True, False),
         "eval(), grad on": (False, True), "train(), grad on": (True, True)}
kept = {name: saved_bytes(*case) for name, case in cases.items()}
print("\n".join(f"{name:17} {size:6} bytes" for name, size in kept.items()))
plt.figure(figsize=(6.4, 2))
plt.bar_label(plt.barh(list(kept), list(kept.values()), color="#0072b2"), padding=4)
plt.axis((0, 40000, 3.5, -0.5))      # the first case on top, as in the list
plt.xlabel("bytes saved for backward")
plt.show()

# %% [markdown] id=belief-all tags=belief
# In `eval()`, dropout creates neither a mask (which entries are 0) nor a new result, so less is kept. But what the
# other layers need for a backward pass is kept as before. Only `no_grad` reduces this to 0. To predict with a model,
# you want **both** switches.
#
# ## A second belief: inside `no_grad`, nothing requires grad
#
# > "`no_grad` behaves as if nothing required grad. Whatever I make inside it has `requires_grad` False."

# %% id=belief-all-run tags=refutation,contradicts:c4.6,contradicts:c3.6
w = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    made = {
        "w * 2": w * 2,
        "torch.ones(2, requires_grad=True)": torch.ones(2, requires_grad=True),
        "torch.nn.Linear(2, 1).weight": torch.nn.Linear(2, 1).weight,
        "w.view(2), a view": w.view(2),
    }
for code, tensor in made.items():
    print(f"{code:34} requires_grad {tensor.requires_grad!s:6} is_leaf {tensor.is_leaf}")

# %% [markdown] id=predict-intro tags=section:predict
# `no_grad` stops **recording**, and nothing else. A result is not recorded, so its flag is False. A tensor that *you*
# create with the flag still has it, and so do a layer's parameters. A view takes the flag of its base: here, True.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# w is [3] and requires grad. y was made under no_grad, the product outside of it.
#     with torch.no_grad():
#         y = w * 2
#     (y * w).sum().backward()
# Which number is in w.grad?
predict("7.1")

# %% id=r1 tags=reveal,answer
w = torch.tensor([3.0], requires_grad=True)
with torch.no_grad():
    y = w * 2
(y * w).sum().backward()
reveal("7.1", w.grad.item())

# %% id=p2 tags=predict,answer
# The view v was made under no_grad. v.requires_grad is True, and so is (v * 2).requires_grad.
#     with torch.no_grad():
#         v = w.view(-1)
#     (v * 2).sum().backward()
# Is w.grad still None?
predict("7.2")

# %% id=r2 tags=reveal,answer
w = torch.tensor([3.0], requires_grad=True)
with torch.no_grad():
    v = w.view(-1)
(v * 2).sum().backward()
reveal("7.2", w.grad is None)

# %% id=p3 tags=predict,answer
# Two blocks, one inside the other.
#     with torch.no_grad():
#         with torch.enable_grad():
#             z = w * 2
# Does z require grad?
predict("7.3")

# %% id=r3 tags=reveal,answer,answers:s4.4
with torch.no_grad():
    with torch.enable_grad():
        z = w * 2
reveal("7.3", z.requires_grad)

# %% id=p4 tags=predict,answer
# The loss was recorded. Only the backward pass is in the block.
#     loss = (w * w).sum()
#     with torch.no_grad():
#         loss.backward()
# Is w.grad filled?
predict("7.4")

# %% id=r4 tags=reveal,answer,contradicts:c4.7
w.grad = None
loss = (w * w).sum()
with torch.no_grad():
    loss.backward()
reveal("7.4", w.grad is not None)

# %% id=p5 tags=predict,answer
# Two layers; the parameters of the second are frozen.
#     two = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
#     two[1].requires_grad_(False)
#     two(torch.ones(1, 2)).sum().backward()
# Does the first layer get a gradient?
predict("7.5")

# %% id=r5 tags=reveal,answer
two = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
two[1].requires_grad_(False)
two(torch.ones(1, 2)).sum().backward()
reveal("7.5", two[0].weight.grad is not None)

# %% [markdown] id=cut-intro
# ## Where was the graph cut?
#
# Each line here computes a loss from `w`, and each ends in the same error:

# %% id=cut tags=raises-exception,answers:row6
w = torch.tensor([3.0, 4.0], requires_grad=True)
with torch.no_grad():
    unrecorded = w * 2
cut = {
    "made under no_grad": unrecorded.sum(),
    "w.detach()": (w.detach() * 2).sum(),
    "w.tolist()": torch.tensor(w.tolist()).sum(),
    "w.argmax()": w.argmax() * 2.0,
    "w > 3": (w > 3).float().sum(),
}
for code, loss in cut.items():
    print(f"{code:19} requires_grad {loss.requires_grad}  grad_fn {loss.grad_fn}")
cut["w.detach()"].backward()

# %% [markdown] id=flag-intro
# You can set the flag by hand, and the error is gone. But the result is then a leaf: no path leads from it to `w`.
# People meet this when they put losses into `torch.tensor`, which copies numbers, where `torch.stack` is recorded:

# %% id=flag
parts = [w[0] * 2, w[1] * 2]
loss = torch.tensor([part.item() for part in parts]).sum().requires_grad_()
loss.backward()
print("torch.tensor: loss.grad", loss.grad, " w.grad", w.grad)
torch.stack(parts).sum().backward()
print("torch.stack:  w.grad", w.grad)

# %% id=brackets tags=contradicts:c0.2
# Another common error: without brackets, no_grad is not a block.
try:
    with torch.no_grad:
        y = w * 2
except TypeError as error:
    print(type(error).__name__)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## See the mode
#
# The ribbon above the inspector's slider shows grad mode: off in the block, on after it. (Click **every step**: it is
# off while backward runs, too, since a plain backward pass is not recorded.) This is the last step; go back
# with **← back**.
# Which operations leave a node behind? And where would a gradient have to jump to reach `w` through `v`?

# %% id=inspector tags=inspector
w = torch.tensor([1.0, 2.0], requires_grad=True)
with record() as trace:
    with torch.no_grad():
        v = w.view(2)
        scale = w.abs().max()
    loss = (v / scale + w).sum()
    loss.backward()
Inspector(trace, lens="forward", step=trace.steps("forward")[-1])

# %% [markdown] id=inspector-note
# Nothing that ran in the block has a node. The division has two inputs, and both of its pairs are `(None, 0)`,
# although `v.requires_grad` is True. So `w` gets its gradient by one path only: through the addition.
#
# ## Worked example: `no_grad` by hand
#
# A context manager is an object with two methods. To do the switching, we use `torch.set_grad_enabled(...)` as a
# plain statement.

# %% id=worked tags=worked,section:exercises
def switch(on):
    torch.set_grad_enabled(on)


class my_no_grad:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        switch(False)

    def __exit__(self, *error):
        switch(self.before)

with my_no_grad():
    print("inside:", (w * 2).requires_grad)
print("after: ", (w * 2).requires_grad)

# %% [markdown] id=faded-intro
# ## Faded example: `set_mode(on)`
#
# `torch.set_grad_enabled` can do more. As a statement it takes effect at once and stays in effect; as a block it
# restores what was there **before**. `set_mode` is to do the same. Fill in two blanks. (`hint("set_mode")` in a new
# cell helps.)

# %% id=faded tags=faded,answer,check
class set_mode:
    def __init__(self, on):
        self.before = ...
        switch(on)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        switch(...)


check.set_mode(set_mode)

# %% [markdown] id=open1-intro
# ## Open exercise: a decorator
#
# `@torch.no_grad()` above a function runs the whole function with grad mode off, at every call. Write such a
# decorator: it takes a function and returns a new one that accepts the same arguments.

# %% id=open1 tags=open,answer,check
def without_grad(function):
    return ...


check.decorator(without_grad)

# %% [markdown] id=open2-intro
# ## Open exercise: the table of four
#
# This is dropout, in training mode or not, with grad mode on or off. Is the result recorded? Do two calls differ? The
# first pair is given; the check runs all four.

# %% id=open2 tags=open,answer,check,answers:row7
answers = {
    # (training, grad mode): (is the result recorded?, do two calls differ?)
    (True, True): (True, True),
    (False, True): (..., ...),
    (True, False): (..., ...),
    (False, False): (..., ...),
}
check.modes(answers)

# %% [markdown] id=open3-intro
# ## Open exercise: the silent bug
#
# This model trains: the loss falls, and no error appears. But half of it never learns:

# %% id=bug
def forward(encoder, head, x):
    h = encoder(x)
    with torch.no_grad():
        scale = h.abs().max()      # a plain number: no gradient is wanted through it
        h = h / scale
    return head(h)


torch.manual_seed(0)
encoder, head, data = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1), torch.randn(20, 3)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)

# %% id=bug-run
losses = []
for _ in range(30):
    optimizer.zero_grad()
    loss = ((forward(encoder, head, data) - data[:, :1]) ** 2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("the loss has fallen:", losses[-1] < losses[0])
print("head.weight.grad is None:   ", head.weight.grad is None)
print("encoder.weight.grad is None:", encoder.weight.grad is None)

# %% id=open3 tags=open,answer,check
# Repair it: the same output, the scale still a plain number, and a gradient for both layers.
def repaired(encoder, head, x):
    h = encoder(x)
    ...
    return head(h)


check.repaired(repaired)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    w = torch.tensor([3.0], requires_grad=True)
    with torch.no_grad():
        y, v, f = w * 2, w.view(-1), torch.ones(1, requires_grad=True)
        with torch.enable_grad():
            z = w * 2
    print([t.requires_grad for t in (y, v, f, z)], v.is_leaf, v.grad_fn)
    print((v * 2).grad_fn.next_functions)
    layer = torch.nn.Dropout(0.5).eval()
    print(layer(w).requires_grad, torch.no_grad()(layer)(y).requires_grad)
    torch.set_grad_enabled(False)
    print((w * 2).requires_grad, torch.is_grad_enabled())
    torch.set_grad_enabled(True)

# %% id=inference tags=raises-exception
# A stricter mode, for prediction only: no node may ever save what is made in it.
# (Made under no_grad, `fixed` would be an ordinary tensor, and all three lines would run.)
with torch.inference_mode():
    fixed = w * 2
print(fixed.requires_grad, fixed.is_inference())
print("a sum saves nothing, so it is recorded:", (fixed + w).requires_grad)
print("a clone is a normal tensor again:      ", (fixed.clone() * w).requires_grad)
(fixed * w).sum()

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# There are two layers, and something is done to the second. This table was made by running each line.

# %% id=summary tags=summary
def first_and_second(change):
    one, two = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    out = change(one(torch.ones(1, 2)), two)
    if out.requires_grad:
        out.sum().backward()
    return [out.requires_grad] + [layer.weight.grad is not None for layer in (one, two)]


changes = {"nothing": lambda h, two: two(h), "eval()": lambda h, two: two.eval()(h),
           "requires_grad_(False)": lambda h, two: two.requires_grad_(False)(h),
           "detach() before it": lambda h, two: two(h.detach()),
           "no_grad around it": torch.no_grad()(lambda h, two: two(h))}
table(["done to the second", "output recorded", "first gets a gradient", "second gets one"],
      [[name, *map(str, first_and_second(change))] for name, change in changes.items()])

# %% [markdown] id=next
# **eval()** changes layers. **no_grad** stops recording while it lasts. **detach** gives a tensor outside the graph.
# **requires_grad=False** on a parameter says that it wants no gradient; gradients still pass through.
#
# Next, lesson 8: what shares memory with what, and what happens when you write into it.
