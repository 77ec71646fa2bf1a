"""The source of lesson 11. `python -m minigrad_lessons.build 11` makes the notebook."""

# %% [markdown] id=title
# # Lesson 11: Modules, parameters, optimizers, real data
#
# A training loop does nothing that you have not seen. A module is a list of leaves, and an optimizer changes them in
# place. But if the list is incomplete, part of your model does not learn, and nothing tells you. At the end you train
# on real digits.
#
# Run the next cell (Shift+Enter), then press **next →** to go through two steps of training.

# %% id=setup tags=opening
import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import ParameterLedger, checkup

with record() as first:
    w = nn.Parameter(torch.tensor([1.0, -2.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
ParameterLedger(first, step=0)

# %% [markdown] id=still
# Each dot is a moment at which `w` or `w.grad` changed. Which of the three lines in the loop changes `w` itself? And
# how does the optimizer know the loss?
#
# This lesson takes about 50 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The ledger of one parameter](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 10, 9 and 7, from memory.

# %% id=recall tags=recall,answer
recall("q10.1")
recall("q10.2")
recall("q9.1")
recall("q9.2")
recall("q7.1")

# %% [markdown] id=belief-list tags=belief
# ## A belief: what I put into a module belongs to it
#
# > "I keep my layers in a Python list. The module has them, so it trains them."

# %% id=belief-list-run tags=refutation
class Net(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.layers = keep([nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

for keep in (list, nn.ModuleList):
    print(f"{keep.__name__:10} parameters: {[tuple(p.shape) for p in Net(keep).parameters()]}")

# %% [markdown] id=how
# With a plain list the forward pass runs, the loss is computed, and gradients arrive. But `parameters()` is empty. An
# optimizer refuses an empty list; beside one registered layer, it would silently train that one alone.
#
# A module usually finds its parts by **assignment**: `Module.__setattr__` looks at each value, and registers it if it
# is a `Parameter` or a `Module`. A list is neither. A `Parameter` is simply a leaf that requires grad unless you
# freeze it, in a class of its own so that modules can recognise it:

# %% id=parameter tags=contradicts:c4.12
layer = nn.Linear(2, 1)
for name, p in layer.named_parameters():
    print(name, isinstance(p, torch.Tensor), "leaf:", p.is_leaf, "requires_grad:", p.requires_grad)
print("the node that a linear layer leaves:", layer(torch.ones(3, 2)).grad_fn.name())

# %% [markdown] id=belief-loss tags=belief
# ## A second belief: the optimizer knows my loss
#
# > "`optimizer.step()` minimises the loss that I computed last."
#
# Here there is no loss at all:

# %% id=belief-loss-run tags=refutation
w = nn.Parameter(torch.tensor([1.0, 2.0]))
optimizer = torch.optim.SGD([w], lr=0.5)
w.grad = torch.tensor([2.0, -2.0])          # written by hand
optimizer.step()
print(w.tolist())
w.requires_grad_(False)                     # frozen now, but its .grad is still there
optimizer.step()
print(w.requires_grad_().tolist())

# %% [markdown] id=loop
# The optimizer knows a list of tensors and reads their `.grad`, whoever wrote it. So a training step is four lines
# that know nothing about each other: `zero_grad()` empties `.grad`; the model computes; `backward()` adds to `.grad`;
# `step()` reads it and changes the tensors in place.
#
# A loss is a module, too. It needs two pairs of brackets: one creates it, the other calls it.

# %% id=l1 tags=contradicts:c4.13
y, target = layer(torch.ones(3, 2)), torch.zeros(3, 1)
print(nn.L1Loss()(y, target).grad_fn.name())
try:
    nn.L1Loss(y, target)
except RuntimeError as error:
    print(type(error).__name__)

# %% [markdown] id=early-intro
# A step writes into weights, so one that comes too early breaks a graph that still needs them. Below, a critic scores
# what a generator made. The critic's step comes before the generator's backward pass, and the message about "an inplace
# operation" means that step. The score has to be computed again, with the new weight:

# %% id=early
generator, critic = nn.Parameter(torch.tensor(2.0)), nn.Parameter(torch.tensor(3.0))
made = generator * 1.0
score = critic * made
score.backward(inputs=[critic], retain_graph=True)
torch.optim.SGD([critic], lr=0.1).step()
try:
    score.backward(inputs=[generator])
except RuntimeError as error:
    print(str(error).split(": ")[0])
(critic * made).backward(inputs=[generator])
print("scored again:", generator.grad.item() == critic.item())

# %% [markdown] id=predict-intro tags=section:predict
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
#     class Scaled(nn.Module):
#         def __init__(self):
#             super().__init__()
#             self.linear = nn.Linear(2, 1)
#             self.scale = torch.ones(1, requires_grad=True)
# How many parameters does it have?
predict("11.1")

# %% id=r1 tags=reveal,answer
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)
        self.scale = torch.ones(1, requires_grad=True)

reveal("11.1", len(list(Scaled().parameters())))

# %% id=p2 tags=predict,answer
# A parameter in float64, as in lesson 8.
#     w = torch.ones(2, requires_grad=True).double()
#     torch.optim.SGD([w], lr=0.1)
# Does the last line raise an error?
predict("11.2")

# %% id=r2 tags=reveal,answer
def raises(run):
    try:
        run()
    except ValueError as error:
        print(error)
        return True
    return False

reveal("11.2", raises(lambda: torch.optim.SGD([torch.ones(2, requires_grad=True).double()], lr=0.1)))

# %% id=p3 tags=predict,answer
# The step changes w. Does it do so in place, or does it make a new tensor?
#     before = w
#     optimizer.step()
# Are `before is w` and w.is_leaf True?
predict("11.3")

# %% id=r3 tags=reveal,answer
before = w
optimizer.step()
reveal("11.3", [before is w, w.is_leaf])

# %% id=p4 tags=predict,answer
# weight_decay makes parameters smaller at each step. This one has no .grad.
#     idle = nn.Parameter(torch.ones(2))
#     torch.optim.SGD([idle], lr=0.1, weight_decay=0.5).step()
# What is idle[0] now?
predict("11.4")

# %% id=r4 tags=reveal,answer
idle = nn.Parameter(torch.ones(2))
torch.optim.SGD([idle], lr=0.1, weight_decay=0.5).step()
reveal("11.4", idle[0].item())

# %% id=p5 tags=predict,answer
#     layer, x, target = nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1)
#     out = layer(x)
#     loss = nn.functional.mse_loss(out, target)
#     loss.backward()
# How many of layer.weight, layer.bias, x, out, target and loss have a .grad afterwards?
predict("11.5")

# %% id=r5 tags=reveal,answer,answers:s4.9
layer, x, target = nn.Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1)
out = layer(x)
loss = nn.functional.mse_loss(out, target)
loss.backward()
six = [layer.weight, layer.bias, x, out, target, loss]
# Asking a result for its .grad gives None, and warns: lesson 6.
reveal("11.5", sum(t.grad is not None for t in six if t.is_leaf))

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Watch the ledger
#
# Here are two steps of SGD with momentum on the same loss. The ledger shows the value, the gradient and the version
# of each parameter. Step through it:
#
# - Which line changes the version?
# - The gradient of `b` is 1 both times. Why does `b` move further in the second step?

# %% id=inspector tags=inspector
with record() as trace:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([0.0], requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.1, momentum=0.5)
    for _ in range(2):
        loss = (w * w).sum() + b.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
ParameterLedger(trace, step=0)

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: SGD by hand

# %% id=worked tags=worked
def plain_step(w, lr):
    with torch.no_grad():       # the step is not part of the formula
        w.sub_(lr * w.grad)     # in place: whoever holds w sees the change


w = nn.Parameter(torch.tensor([1.0, 2.0]))
for _ in range(3):
    w.grad = None
    (w * w).sum().backward()
    plain_step(w, lr=0.25)
    print(w.tolist())

# %% [markdown] id=faded-intro
# ## Faded example: momentum
#
# The step follows a **velocity**: momentum times the old velocity, plus the gradient. In the first step there is no
# old velocity, and it is a copy of the gradient. Fill in two blanks. (`hint("momentum")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
def momentum_step(w, velocity, lr, momentum):
    with torch.no_grad():
        velocity = w.grad.clone() if velocity is None else ...
        w.sub_(...)
    return velocity


check.momentum(momentum_step)

# %% [markdown] id=open1-intro
# ## Open exercise: a Module of your own
#
# Do without `nn.Module`. Write a class that registers what is assigned to it, finds parameters at any depth of
# modules in the order of their assignment, and calls `forward` when it is called. `object.__setattr__(self, name,
# value)` assigns without registering. Twenty lines are enough.

# %% id=open1 tags=open,long,answer,check
class MyModule:
    def __setattr__(self, name, value):
        ...

    def parameters(self):
        ...

    def __call__(self, *inputs):
        ...


check.module(MyModule)

# %% [markdown] id=open2-intro
# ## Open exercise: who does not learn?
#
# Somewhere a layer is frozen: by its flag, by a `detach()`, because it is never called, or because a dead ReLU sends
# it zeros. Write a function that runs one backward pass from the sum of the net's output, and returns the names of
# all parameters that a step of SGD would not change.

# %% id=open2 tags=open,answer,check
def frozen(net, x):
    return ...


check.frozen(frozen)

# %% [markdown] id=digits-intro
# ## Real data
#
# These are 1,797 images of handwritten digits, 8 by 8 pixels. Four fifths are for training; the optimizer never sees
# the rest. One pass over all training images is an **epoch**; here are 20 of them.

# %% id=digits-data
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images, labels = torch.tensor(images / 16).float(), torch.tensor(labels)
torch.manual_seed(0)
order = torch.randperm(len(images))
train, test = order[:1437], order[1437:]
net = Net(nn.ModuleList)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

# %% id=digits
losses = []
for _ in range(20):
    for part in train.split(64):
        loss = nn.functional.cross_entropy(net(images[part]), labels[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
with torch.no_grad():
    right = (net(images[test]).argmax(1) == labels[test]).float().mean().item()
print("at least 95 % of the test images are classified correctly:", right >= 0.95)

# %% id=curve
import matplotlib.pyplot as plt

plt.figure(figsize=(6.4, 2))
plt.plot(range(1, 21), losses, color="#0072b2")
plt.xlabel("epoch")
plt.ylabel("last loss")
plt.xticks(range(2, 21, 2))
plt.show()

# %% [markdown] id=checkup-intro
# ## A training step with three mistakes
#
# This step runs without an error, but learns badly. Find what is wrong with it before you run the cell. `checkup`
# runs any training step a few times under the recorder, in PyTorch too, and says what it finds; afterwards everything
# is as it was before.

# %% id=checkup
net = Net(nn.ModuleList)
optimizer = torch.optim.Adam(net.layers[2].parameters(), lr=0.01)

def step():
    scores = net(images[:64])
    loss = nn.functional.cross_entropy(scores.softmax(1), labels[:64])
    loss.backward()
    optimizer.step()

for finding in checkup(step, model=net, optimizer=optimizer).findings:
    print(f"{finding.rule}: {finding.what}")

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        print(f"{loss.item():.2f}", len(list(net.parameters())), net[0].weight.is_leaf)
    print(sorted(optimizer.state_dict()["param_groups"][0])[:4])

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# What does a module register when you assign each of these to it? (The **state dict** is what you save of a model:
# its tensors, by name. A **Buffer** is saved with it but not trained.) This table was made by running each line.

# %% id=summary tags=summary
def finds(value):
    module = nn.Module()
    module.part = value
    return [len(list(module.parameters())), len(module.state_dict())]


parts = {"a Parameter": nn.Parameter(torch.ones(2)),
         "a tensor that requires grad": torch.ones(2, requires_grad=True),
         "a Buffer": nn.Buffer(torch.ones(2)), "a Linear": nn.Linear(2, 1),
         "a list of Linears": [nn.Linear(2, 1)],
         "a ModuleList of Linears": nn.ModuleList([nn.Linear(2, 1)]),
         "a ParameterList": nn.ParameterList([torch.ones(2)])}
table(["assigned", "parameters", "in the state dict"],
      [[name, *map(str, finds(part))] for name, part in parts.items()])

# %% [markdown] id=next
# A module is a list of leaves that it registered on assignment. An optimizer is a rule that changes leaves in place
# using their `.grad`. Neither knows the loss.
#
# Next, lesson 19: what a loss of NaN comes from, and training in 16 bits. Then lesson 12: gradients of gradients.
