"""The source of lesson 12. `python -m minigrad_lessons.build 12` makes the notebook."""

# %% [markdown] id=title
# # Lesson 12: Higher order, and the normals of a surface
#
# Gradient penalties, physics-informed networks and learned surfaces train on a gradient: the loss contains a
# derivative. That works because a backward pass is a computation too. Record it, and you can differentiate it like
# any other.
#
# Run the next cell (Shift+Enter), press **next →**, and watch the first gradient become part of the
# graph.

# %% id=setup tags=opening
import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    x = torch.tensor(2.0, requires_grad=True)
    slope, = torch.autograd.grad(x ** 3, x, create_graph=True)
    slope.backward()
Inspector(first)

# %% [markdown] id=still
# Two backward passes run, but the program has only one operation, a power. Where do the other nodes come from?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 11, 10 and 8, from memory.

# %% id=recall tags=recall,answer
recall("q11.2")
recall("q11.4")
recall("q10.1")
recall("q8.1")
recall("q8.4")

# %% [markdown] id=belief-rules tags=belief
# ## A belief: second derivatives need new rules
#
# > "The engine knows the first derivative of each operation. For the second one it would need a second table."
#
# Ask for the gradient with `create_graph=True`, and look at what comes back:

# %% id=belief-rules-run tags=refutation,answers:row16
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
first, = torch.autograd.grad(y, x, create_graph=True)
second, = torch.autograd.grad(first, x, create_graph=True)
third, = torch.autograd.grad(second, x)
print("x³ and its derivatives at 2:", y.item(), first.item(), second.item(), third.item())
print("first:", first.grad_fn.name(), " third:", third.grad_fn)

# %% [markdown] id=why
# The formula of a derivative consists of operations, too: `3 * x ** 2` is a power and two products. With
# `create_graph=True` they are recorded like any others. So the first gradient has a `grad_fn`, and the same engine
# continues from there with the same formulas. `retain_graph` does something else: it keeps what the **old** graph has
# saved.
#
# For the next belief, here is a small network over points in the plane:

# %% id=net
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
points = torch.randn(8, 2, requires_grad=True)

# %% [markdown] id=belief-every tags=belief
# ## A second belief: every parameter gets a gradient
#
# > "The loss is computed with the network, so each of its parameters gets a gradient."
#
# This loss is computed from the network's **slope** in the plane, which should have length 1 everywhere.

# %% id=belief-every-run tags=refutation
slope, = torch.autograd.grad(net(points).sum(), points, create_graph=True)
loss = ((slope.norm(dim=1) - 1) ** 2).mean()
loss.backward()
for name, p in net.named_parameters():
    print(f"{name:9} .grad is None: {p.grad is None}")

# %% [markdown] id=bias
# The last bias lifts the whole surface. It does not change any slope, so no path leads from this loss to it.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer,section:predict
# Without create_graph.
#     g, = torch.autograd.grad(x ** 3, x)
#     torch.autograd.grad(g, x)
# Does the last line raise an error?
predict("12.1")

# %% id=r1 tags=reveal,answer
def raises(run):
    try:
        run()
    except RuntimeError:
        return True
    return False

g, = torch.autograd.grad(x ** 3, x)
reveal("12.1", raises(lambda: torch.autograd.grad(g, x)))

# %% id=p2 tags=predict,answer
# A straight line.
#     g, = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
# Does g require grad?
predict("12.2")

# %% id=r2 tags=reveal,answer
g, = torch.autograd.grad((x * 3).sum(), x, create_graph=True)
reveal("12.2", g.requires_grad)

# %% id=p3 tags=predict,answer
# z is 2 and requires grad.
#     slope, = torch.autograd.grad(torch.relu(z), z, create_graph=True)
#     curve, = torch.autograd.grad(slope, z)
# What is curve?
predict("12.3")

# %% id=r3 tags=reveal,answer
z = torch.tensor(2.0, requires_grad=True)
slope, = torch.autograd.grad(torch.relu(z), z, create_graph=True)
curve, = torch.autograd.grad(slope, z)
reveal("12.3", curve.item())

# %% id=p4 tags=predict,answer
# The gradient with respect to a is recorded, and backward starts from it.
#     a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
#     by_a, = torch.autograd.grad(a * b, a, create_graph=True)
#     by_a.backward()
# Is a.grad still None?
predict("12.4")

# %% id=r4 tags=reveal,answer
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
by_a, = torch.autograd.grad(a * b, a, create_graph=True)
by_a.backward()
reveal("12.4", a.grad is None)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Two layers of one graph
#
# Look at a gradient that is recorded. The nodes made by the first backward pass were recorded **after** those of the
# formula, and the second pass goes through both parts of the graph. This is its last step; go back with **← back**.
#
# - Which node of the second pass runs first: one of the old part of the graph, or one of the new?
# - Which node is reached from both parts?

# %% id=inspector tags=inspector
with record() as trace:
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    energy = (a * a * a).sum()
    force, = torch.autograd.grad(energy, a, create_graph=True)
    (force * force).sum().backward()
Inspector(trace, step=trace.steps("backward")[-1])

# %% [markdown] id=normals
# ## Normals of a signed distance function
#
# A **signed distance function** tells you how far each point is from a surface: negative inside, positive outside, 0
# on it. Its gradient points straight away from the surface and has length 1. On the surface it is the **normal**. For
# a circle of radius 1 you need no calculus: the normal is the point itself.

# %% id=worked-sphere tags=worked,section:exercises,answers:s4.7
def circle(p):
    return p.norm(dim=1) - 1


def normals(distance, p):
    p = p.detach().requires_grad_()
    return torch.autograd.grad(distance(p).sum(), p, create_graph=True)[0]

angle = torch.linspace(0, 6, 7)
on_circle = torch.stack([angle.cos(), angle.sin()], dim=1)
print("normal = point:", torch.allclose(normals(circle, on_circle), on_circle))

# %% [markdown] id=sum-note
# Why the sum? Each point's distance depends on that point alone. So the gradient of the sum contains the gradient for
# each point, row by row.
#
# ## Faded example: curvature
#
# The **divergence** of the normals is a sum of derivatives: that of the normal's first coordinate with respect to the
# point's first coordinate, and so on. It is the curvature, 1/r for a circle. ReLU networks are flat between their
# kinks; softplus networks are not. Fill in two blanks. (`hint("divergence")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def divergence(distance, p):
    p = p.detach().requires_grad_()
    n, = torch.autograd.grad(distance(p).sum(), p, create_graph=...)
    total = 0
    for k in range(p.shape[1]):
        second, = torch.autograd.grad(n[:, k].sum(), p, retain_graph=True)
        total = total + second[:, ...]
    return total


check.divergence(divergence)

# %% [markdown] id=open1-intro
# ## Open exercise: a Hessian-vector product
#
# The Hessian of n numbers has n² entries. You can multiply it by a vector without building it, with two passes. `f`
# returns one number; return H·v.

# %% id=open1 tags=open,answer,check
def hvp(f, x, v):
    return ...


check.hvp(hvp)

# %% [markdown] id=open2-intro
# ## Open exercise: the eikonal loss
#
# "The slope has length 1 everywhere" is called the **eikonal** equation. Write the loss that asks a function to
# satisfy it: the mean of (length − 1)² over the points. Its gradient must reach the parameters of `distance`. `p`
# does not require grad.

# %% id=open2 tags=open,answer,check
def eikonal(distance, p):
    return ...


check.eikonal(eikonal)

# %% [markdown] id=train-intro
# ## Train on it
#
# A network learns a circle from 64 points on it. Its value should be 0 there, and its slope should have length 1
# everywhere. That is enough. In the picture, the network is 0 on the blue line and has other heights on the grey ones;
# the arrows are its normals.

# %% id=train
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 32), nn.Softplus(beta=10), nn.Linear(32, 32), nn.Softplus(beta=10),
                    nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
turn = torch.linspace(0, 6.28, 64)
ring = torch.stack([turn.cos(), turn.sin()], dim=1)
for _ in range(300):
    anywhere = torch.rand(64, 2) * 4 - 2
    slope = normals(lambda p: net(p)[:, 0], anywhere)
    loss = net(ring).abs().mean() + 0.1 * ((slope.norm(dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("on the circle the distance is below 0.1:", net(ring).abs().mean().item() < 0.1)

# %% id=picture
import matplotlib.pyplot as plt

line = torch.linspace(-2, 2, 60)
grid = torch.stack(torch.meshgrid(line, line, indexing="xy"), dim=-1)
with torch.no_grad():
    height = net(grid.reshape(-1, 2)).reshape(60, 60)
arrows = normals(lambda p: net(p)[:, 0], ring[::8]).detach()
plt.figure(figsize=(4, 3.4))
across, up = grid.cpu().unbind(-1)
plt.contour(across, up, height.cpu(), 9, colors="#9aa2ae", linewidths=0.8)
plt.contour(across, up, height.cpu(), [0], colors="#0072b2", linewidths=2)
plt.quiver(*ring[::8].T.cpu(), *arrows.T.cpu(), color="#d55e00", width=0.008)
plt.gca().set_aspect("equal")
plt.show()

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# For each network: which parameters get no gradient, and do the points get one that is not zero?

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    nn = torch.nn
    for layer in (nn.ReLU(), nn.Softplus()):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(2, 8), layer, nn.Linear(8, 1))
        p = torch.randn(4, 2, requires_grad=True)
        n, = torch.autograd.grad(net(p).sum(), p, create_graph=True)
        ((n.norm(dim=1) - 1) ** 2).mean().backward()
        print([q.grad is None for q in net.parameters()], (p.grad.abs() > 1e-6).any().item())
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    g, = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    print(torch.autograd.grad(g, x, torch.tensor([1.0, 0.0])))

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# Slope and curvature (the second derivative) of some functions at 0.5, made by running each.

# %% id=summary tags=summary
def slope_and_curve(f):
    t = torch.tensor(0.5, requires_grad=True)
    slope, = torch.autograd.grad(f(t), t, create_graph=True)
    if not slope.requires_grad:
        return [f"{slope.item():.3g}", "not recorded: a constant"]
    return [f"{slope.item():.3g}", f"{torch.autograd.grad(slope, t)[0].item():.3g}"]


functions = {"3 * t": lambda t: 3 * t, "t ** 3": lambda t: t ** 3, "relu(t)": torch.relu,
             "softplus(t)": nn.functional.softplus, "tanh(t)": torch.tanh}
table(["function", "slope", "curvature"], [[name, *slope_and_curve(f)] for name, f in functions.items()])

# %% [markdown] id=next
# `create_graph=True` records the backward pass, and the same rules continue from there. A network of ReLUs has slopes
# but no curvature: to train on normals, use something smooth.
#
# Next, lesson 22: derivatives in the other direction, from the inputs to the result. Lesson 20 watches every layer of a
# model at once. Then comes the capstone: your own model under the inspector, or an operation of your own. After it,
# lesson 14 runs many processes, 15 compiles a step, and in 16 you build the engine.
