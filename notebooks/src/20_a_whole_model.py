"""The source of lesson 20. `python -m minigrad_lessons.build 20` makes the notebook."""

# %% [markdown] id=title
# # Lesson 20: Watching a whole model
#
# A model has a hundred layers, and one of them does not learn. You cannot print your way through all of them. Hooks on
# modules tell you what every layer receives and returns, by its name, and you do not have to change the model.
#
# Run the next cell (Shift+Enter), click the picture, and press **play** (or the space bar) to watch the gradient
# travel. The End key goes to the last step at once.

# %% id=setup tags=opening
import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector


def deep(activation, depth=6):
    torch.manual_seed(0)
    parts = [part for _ in range(depth) for part in (nn.Linear(8, 8), activation())]
    return nn.Sequential(*parts, nn.Linear(8, 1))
net = deep(nn.Sigmoid)
with record() as first:
    net(torch.ones(4, 8)).sum().backward()
Inspector(first, parts=["lenses", "source", "details", "tools"])

# %% [markdown] id=still
# Boxes are parts of the model; ‖…‖ at an edge is the norm of the gradient that passes. How much is left at the first
# layer: half, a tenth, or less than a thousandth? Then press **more**: ‖∇‖ is the norm of what arrives, and **gradient
# per entry** as the colour shows it.
#
# This lesson takes about 50 minutes. It is read after lesson 22, before the capstone.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The map of the model, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 11 and 9, from memory.

# %% id=recall tags=recall,answer
recall("q11.1")
recall("q11.2")
recall("q11.5")
recall("q9.1")
recall("q9.5")

# %% [markdown] id=belief-learns tags=belief
# ## A belief: if the loss falls, every layer learns
#
# > "The loss fell to less than a tenth. So the model learns, all of it."

# %% id=belief-learns-run tags=refutation
x = torch.randn(32, 8)
target = x[:, :1].sin() + 2
before = [p.detach().clone() for p in net.parameters()]
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(50):
    optimizer.zero_grad()
    loss = (net(x) - target).pow(2).mean()
    loss.backward()
    optimizer.step()
    if step in (0, 49):
        print(f"step {step}: the loss is {loss.item():.2g}")
for old, (name, p) in zip(before, net.named_parameters()):
    if name.endswith("weight"):
        print(f"{name} changed by {100 * ((p - old).norm() / old.norm()).item():.0f} %")

# %% [markdown] id=learns-note
# The last layer did the work. The slope of a sigmoid is at most ¼, so each of them leaves a quarter of the gradient or
# less, and the weights between them shrink it further. The recording has a summary, with the norm of the gradient that
# arrived at the output of each module:

# %% id=summary-of-trace
print(first.summary())

# %% [markdown] id=hooks
# ## Hooks on modules
#
# A module calls your functions at four points:
#
# | register | it calls |
# |---|---|
# | `register_forward_pre_hook` | `hook(module, args)` before `forward` |
# | `register_forward_hook` | `hook(module, args, output)` after it |
# | `register_full_backward_pre_hook` | `hook(module, grad_output)` when the gradient of the output is known |
# | `register_full_backward_hook` | `hook(module, grad_input, grad_output)` when that of the input is known, too |
#
# Each returns a handle; `handle.remove()` takes the hook off again.

# %% [markdown] id=belief-forward tags=belief
# ## A second belief: calling a module is calling its forward
#
# > "`layer(x)` is short for `layer.forward(x)`."

# %% id=belief-forward-run tags=refutation
layer, calls = nn.Linear(3, 2), []
layer.register_forward_hook(lambda module, args, output: calls.append(tuple(output.shape)))
x = torch.ones(5, 3)
layer.forward(x)
print("after layer.forward(x):", calls)
layer(x)
print("after layer(x):        ", calls)

# %% [markdown] id=belief-weights tags=belief
# ## A third belief: a backward hook shows the gradients of the weights
#
# > "The hook of a layer gets the gradients that the layer will be changed by."

# %% id=belief-weights-run tags=refutation
def shapes(module, grad_input, grad_output):
    print("grad_input: ", [tuple(grad.shape) for grad in grad_input])
    print("grad_output:", [tuple(grad.shape) for grad in grad_output])

layer = nn.Linear(3, 2)
layer.register_full_backward_hook(shapes)
layer(torch.ones(5, 3, requires_grad=True)).sum().backward()
print("weight.grad:", tuple(layer.weight.grad.shape))

# %% [markdown] id=weights-note
# The hook gets the gradients of the **inputs** and of the **outputs**, as tuples: what passes through the layer. (For
# the weights, use tensor hooks, as in lesson 6.) To see both, the module sends its inputs through a node of its own,
# and its outputs through another:

# %% id=nodes
node = layer(torch.ones(5, 3, requires_grad=True)).grad_fn
print(node.name(), "←", node.next_functions[0][0].name())

# %% [markdown] id=predict-intro tags=section:predict
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# net is nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)).
#     for module in net.modules():
#         module.register_forward_hook(count)
#     net(torch.ones(1, 3))
# How many times is count called?
predict("20.1")

# %% id=r1 tags=reveal,answer
net, counted = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)), []
for module in net.modules():
    module.register_forward_hook(lambda module, args, output: counted.append(module))
net(torch.ones(1, 3))
reveal("20.1", len(counted))

# %% id=p2 tags=predict,answer
# scaled.forward is defined by def forward(self, x, factor).
#     scaled.register_forward_hook(hook)        # hook(module, args, output)
#     scaled(x, factor=2.0)
# What is len(args) in the hook?
predict("20.2")

# %% id=r2 tags=reveal,answer
class Scaled(nn.Module):
    def forward(self, x, factor):
        return x * factor

scaled, lengths = Scaled(), []
scaled.register_forward_hook(lambda module, args, output: lengths.append(len(args)))
scaled(torch.ones(2), factor=2.0)
reveal("20.2", lengths[0])

# %% [markdown] id=kwargs-note
# Register with `with_kwargs=True`, and the hook is called with the keyword arguments too:
# `hook(module, args, kwargs, output)`.

# %% id=p3 tags=predict,answer
# times3 is a layer that multiplies by 3; x is 1.
#     times3.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
#     times3.register_forward_hook(lambda module, args, output: output + 2)
# What is times3(x)?
predict("20.3")

# %% id=r3 tags=reveal,answer
times3 = nn.Linear(1, 1, bias=False)
nn.init.constant_(times3.weight, 3.0)
times3.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
times3.register_forward_hook(lambda module, args, output: output + 2)
reveal("20.3", times3(torch.ones(1)).item())

# %% id=p4 tags=predict,answer
# Three linear layers in a row. A hook on the second returns zeros:
#     second.register_full_backward_hook(
#         lambda module, grad_input, grad_output: (grad_input[0] * 0,))
# After backward, is second.weight.grad all zeros?
predict("20.4")

# %% id=r4 tags=reveal,answer
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
net[1].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
net(torch.ones(1, 3)).sum().backward()
reveal("20.4", (net[1].weight.grad == 0).all().item())

# %% id=p5 tags=predict,answer
# The same three layers, with another hook, on the first:
#     first.register_forward_hook(lambda module, args, output: output.detach())
# After backward, is first.weight.grad None?
predict("20.5")

# %% id=r5 tags=reveal,answer
net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))
net[0].register_forward_hook(lambda module, args, output: output.detach())
net(torch.ones(1, 3)).sum().backward()
reveal("20.5", net[0].weight.grad is None)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Where a gradient dies
#
# A network of ReLUs. Somebody set one bias to -10: all numbers behind it are negative, and the ReLU makes 0 of them.
#
# - Go to the last step, and choose **gradient per entry** as the colour: the norm, divided by the root of how many
#   entries there are. Which box gets a gradient, and passes on zeros?
# - Open **table**. Which layers will never change again? Which of them could still learn, if that ReLU passed
#   something on?

# %% id=inspector tags=inspector
net = deep(nn.ReLU)
nn.init.constant_(net[4].bias, -10.0)
with record() as trace:
    net(torch.ones(4, 8)).sum().backward()
Inspector(trace)

# %% id=dies
for name, p in net.named_parameters():
    print(f"{name:9} norm of its gradient {p.grad.norm().item():.2g}")

# %% [markdown] id=dies-note
# It is the box **4 Linear, 5 ReLU**: its ReLU comes right after the bias, and passes on zeros. Layers 0, 2 and 4 get
# nothing else and never change again, and all three could learn if that ReLU passed something on. Layer 6 is the trap:
# it does get a gradient, but what comes **in** is 0, and the gradient of a weight is a product with what came in. So of
# layer 6 only the bias learns.

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: what every layer returns, by name
#
# The hook is made by a function of the name: a `lambda` in the loop would look up the name only when it runs, and find
# the last one. `detach()` lets the graph be freed. `finally` takes the hooks off even if the model raises an
# error: a hook that stays is called in every later pass, too.

# %% id=worked tags=worked
def activations(model, x):
    kept = {}
    def keeper(name):
        def hook(module, args, output):
            kept[name] = output.detach()
        return hook
    handles = [module.register_forward_hook(keeper(name))
               for name, module in model.named_modules() if name]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return kept

# %% id=worked-run
for name, output in activations(net, torch.ones(4, 8)).items():
    zeros = (output == 0).sum().item()
    print(f"{name}  {net.get_submodule(name).__class__.__name__:6}  {zeros} of {output.numel()} are 0")

# %% [markdown] id=faded-intro
# ## Faded example: the gradient at every layer, by name
#
# The same, for the way back: for each module by name, the norm of the gradient that arrives at its output, as a
# number. Fill in two blanks. (`hint("gradient_norms")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def gradient_norms(model, x):
    norms = {}
    def keeper(name):
        def hook(module, grad_output):
            norms[name] = ...
        return hook
    handles = [module.register_full_backward_pre_hook(keeper(name))
               for name, module in model.named_modules() if name]
    model(x).sum().backward()
    for handle in handles:
        ...
    return norms


check.gradient_norms(gradient_norms)

# %% [markdown] id=open1-intro
# ## Open exercise: find where the gradient dies
#
# Return the name of the module that gets a gradient and passes on only zeros, in the backward pass of `model(x).sum()`;
# None if there is none. `x` requires grad. Parts may have parts: if the gradient dies in the part `"1.2"`, it
# dies in `"1"`, too; return the innermost. Take your hooks off again.

# %% id=open1 tags=open,answer,check
def where_it_dies(model, x):
    ...


check.where_it_dies(where_it_dies)

# %% [markdown] id=open2-intro
# ## Open exercise: replace what a layer returns
#
# Which layer carries an answer? To find out, replace what one of them returns, and see how the result changes. Return
# what `model(x)` is if the module called `name` returns `value` instead. Afterwards the model must be
# as it was, even if it raised an error.

# %% id=open2 tags=open,answer,check
def patched(model, x, name, value):
    ...


check.patched(patched)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# The order of all four hooks in two layers, what they may change, and the nodes that they add.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    net = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.ReLU())
    torch.nn.init.constant_(net[0].weight, 3.0)
    for name, module in net.named_modules():
        said = name or "the whole"
        module.register_forward_pre_hook(lambda m, args, said=said: print(said, "is called"))
        module.register_forward_hook(lambda m, args, out, said=said: print(said, "returns"))
        module.register_full_backward_pre_hook(lambda m, go, said=said: print(said, "gets", go[0]))
        module.register_full_backward_hook(lambda m, gi, go, said=said: print(said, "passes on", gi[0]))
    net[1].register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
    x = torch.ones(1, 1, requires_grad=True)
    out = net(x)
    out.backward()
    print(out.grad_fn.name(), x.grad, net[0].weight.grad)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# How much of the gradient at the output of the last layer is left at the output of the first, with 2, 6 and 12 hidden
# layers? In the last row the weights are set by `nn.init.kaiming_normal_`, which is made for ReLUs.

# %% id=summary tags=summary
def left(activation, depth, start=None):
    net, norms = deep(activation, depth), []
    for layer in net[::2]:
        if start:
            start(layer.weight)
        layer.register_full_backward_pre_hook(lambda layer, grads: norms.append(grads[0].norm().item()))
    net(torch.ones(4, 8, requires_grad=True)).sum().backward()
    return f"{norms[-1] / norms[0]:.1g}"


rows = {"Sigmoid": [nn.Sigmoid], "Tanh": [nn.Tanh], "ReLU": [nn.ReLU],
        "ReLU, kaiming_normal_": [nn.ReLU, lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu")]}
table(["activation", "2", "6", "12"],
      [[name, *(left(kind, depth, *start) for depth in (2, 6, 12))] for name, (kind, *start) in rows.items()])

# %% [markdown] id=fades-note
# Why does it fade with ReLUs, whose slope is 1? Where their input is negative, the slope is 0: that drops about half of
# the entries. And the weights that `nn.Linear` starts with are small: each layer leaves about 0.6 of the norm.
# `kaiming_normal_` starts with larger ones, to make up for both.

# %% [markdown] id=next
# **A module hook** sees what passes through a layer, in both directions, and what it returns takes the place of what
# it saw. It is called by `model(x)`, not by `model.forward(x)`. **A gradient dies** where a slope is 0, and fades
# where every slope is small. Take hooks off again.
#
# Next, the capstone: a model of your own under the inspector, or an operation of your own.
