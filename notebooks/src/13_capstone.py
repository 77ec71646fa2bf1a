"""The source of the capstone. `python -m minigrad_lessons.build 13` makes the notebook."""

# %% [markdown] id=title
# # Capstone: a model of your own, or an operation of your own
#
# You can now read the graph of a model that you have never seen, and give autograd an operation that it lacks. There
# are two projects: **(a)** predict ten facts about a model's graph, **(b)** write an operation and run a whole suite
# of tests on it. Do one or both.
#
# Run the next cell (Shift+Enter), then press **next →**. This is a model with a residual connection.

# %% id=setup tags=opening
import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_lessons.facts import FACTS, facts_of
from minigrad_widgets import Inspector

torch.manual_seed(0)
layer, batch = nn.Linear(2, 2), torch.ones(1, 2)
with record() as first:
    hidden = layer(batch)
    loss = (hidden + batch).sum()
    loss.backward()
Inspector(first, parts=["source", "details", "tools", "leaves"])

# %% [markdown] id=still
# `batch` goes into the layer, and around it. Does a gradient come back to it by either path? Answer from the picture,
# then step through it.
#
# This lesson takes about 70 minutes with both projects.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 11 and 9, from memory.

# %% id=recall tags=recall,answer
recall("q11.1")
recall("q11.3")
recall("q11.5")
recall("q9.3")
recall("q9.5")

# %% id=model
# A model with any number of blocks, and a walk that counts the nodes of a graph and lists their kinds.
def model(blocks):
    torch.manual_seed(0)
    parts = [part for _ in range(blocks) for part in (nn.Linear(4, 4), nn.Tanh())]
    return nn.Sequential(*parts, nn.Linear(4, 1))

def kinds(node):
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node is not None and node not in seen:
            seen.add(node)
            stack.extend(below for below, _ in node.next_functions)
    return len(seen), sorted({node.name() for node in seen})

# %% [markdown] id=belief-size tags=belief
# ## A belief: a bigger model has a more complicated graph
#
# > "I can read a graph of five nodes. Real models are another matter."
#
# Take the same block once, four times and forty times, and count the **kinds** of nodes:

# %% id=belief-size-run tags=refutation
for blocks in (1, 4, 40):
    print(blocks, *kinds(model(blocks)(torch.ones(2, 4)).sum().grad_fn))

# %% [markdown] id=predict-intro tags=section:predict
# There are more nodes, but no new kind. If you can read one block, you can read forty.
#
# ## Predict, then run
#
# A warm-up on a small model with one frozen layer. Draw its graph on paper first. (`facts_of` walks a graph and counts;
# all that it counts is listed further down.)

# %% id=small
small = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
small[0].requires_grad_(False)
batch = torch.ones(5, 2)

# %% id=p1 tags=predict,answer
#     loss = small(batch).sum()
# How many AccumulateGrad nodes are in the graph of loss?
predict("13.1")

# %% id=r1 tags=reveal,answer
facts = facts_of(small(batch).sum(), small, batch)
reveal("13.1", facts["leaves"])

# %% id=p2 tags=predict,answer
# The relu is between the frozen layer and the trained one.
# Is there a ReluBackward0 in the graph?
predict("13.2")

# %% id=r2 tags=reveal,answer
reveal("13.2", "ReluBackward0" in kinds(small(batch).sum().grad_fn)[1])

# %% id=p3 tags=predict,answer
# AddmmBackward0 has three inputs: the bias, the data, the weight.
# How many of its pairs in next_functions are (None, 0) in this model?
predict("13.3")

# %% id=r3 tags=reveal,answer
reveal("13.3", facts["empty"])

# %% id=p4 tags=predict,answer
# Now the data requires grad.
#     wanted = torch.ones(5, 2, requires_grad=True)
#     loss = small(wanted).sum()
# How many AccumulateGrad nodes are there now?
predict("13.4")

# %% id=r4 tags=reveal,answer
wanted = torch.ones(5, 2, requires_grad=True)
reveal("13.4", facts_of(small(wanted).sum(), small, wanted)["leaves"])

# %% [markdown] id=inspector-intro tags=section:inspector
# ## See it
#
# This is the same model. Compare it with your drawing. Which node has two empty pairs when the data does not require
# grad, and none now?

# %% id=inspector tags=inspector
with record() as trace:
    loss = small(wanted).sum()
    loss.backward()
Inspector(trace, parts=["lenses", "tools", "leaves", "outputs", "counts", "norms"])

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: ten facts
#
# `facts_of(loss, model, data)` walks the graph as you did in lesson 3, and runs what lessons 4 to 8 asked about. For
# the small model, the ten facts are:

# %% id=worked tags=worked
found = facts_of(small(wanted).sum(), small, wanted)
table(["fact", "what it asks", "here"], [[name, asks, str(found[name])] for name, asks in FACTS.items()])

# %% [markdown] id=faded-intro
# ## Project (a), first step: a model with a residual connection
#
# The model is given. Predict three of the ten facts about it; in the next exercise you predict all ten, for a model
# of your own. `shared` counts the nodes to which more than one edge leads.

# %% id=faded tags=faded,answer,check
def residual(torch):
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    h = x = torch.ones(2, 3)
    for layer in net:
        h = h + layer(h).tanh()
    return h.sum(), net, x

answers = {"root": ..., "leaves": ..., "shared": ...}
check.facts(residual, answers)

# %% [markdown] id=open1-intro
# ## Project (a): your model
#
# Write `mine(torch)`: it builds any model, computes a loss, and returns loss, model and data. Use at least three
# layers, and something that makes the graph more than a chain. Then predict **all ten** facts. Draw the graph first,
# and do not read the facts off a run.
#
# `torch` is minigrad here. If PyTorch is installed, the check also runs your model there, and the facts must be the
# same.

# %% id=open1 tags=open,long,answer,check
def mine(torch):
    ...


answers = {"root": ..., "nodes": ..., "leaves": ..., "empty": ..., "shared": ..., "longest": ...,
           "numbered": ..., "without": ..., "again": ..., "data": ...}
check.facts(mine, answers)

# %% [markdown] id=open2-intro
# ## Project (b): your operation
#
# Choose an operation of one tensor. Write it as a Function, and write the same formula with existing operations as a
# reference. `at` lists the points at which it is tried.
#
# The check runs what minigrad's own operations must pass: values and gradients against the reference (in PyTorch too,
# if it is installed), `gradcheck` and `gradgradcheck`, other shapes, an input that does not require grad, a change in
# place that must be noticed, and no memory kept after backward.

# %% id=open2 tags=open,long,answer,check
class Snake(torch.autograd.Function):
    """x + sin²(x): choose another if you like."""

    @staticmethod
    def forward(ctx, x):
        ...

    @staticmethod
    def backward(ctx, grad):
        ...

def reference(torch, x):
    return x + torch.sin(x) ** 2

check.operation(Snake, reference, at=[-1.5, 0.3, 2.0])

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# `facts_of` looks only at the graph, so it can read PyTorch's as well. (To see PyTorch's graph:
# `minigrad_widgets.inspect(loss)`.)

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    from minigrad_lessons.facts import facts_of
    nn = torch.nn
    for net in (nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)),
                nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))):
        data = torch.ones(3, 4) if isinstance(net[0], nn.Linear) else torch.ones(3, 1, 4, 4)
        loss = nn.functional.cross_entropy(net(data), torch.tensor([0, 1, 1]))
        for name, value in facts_of(loss, net, data).items():
            print(name, value)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# These are facts about some models, found by running them.

# %% id=summary tags=summary
models = {"a chain of 3": model(3), "one Linear": nn.Linear(4, 1), "an LSTM cell": nn.LSTMCell(4, 2)}

def out(net):
    result = net(torch.ones(2, 4))
    return (result[0] if isinstance(result, tuple) else result).sum()

names = ["nodes", "leaves", "empty", "shared", "longest", "numbered"]
table(["model", *names], [[name, *(str(facts_of(out(net), net, torch.ones(2, 4))[each]) for each in names)]
                          for name, net in models.items()])

# %% [markdown] id=next
# That is autograd: nodes, edges, a queue, saved values, versions. Lessons 14 to 16 build on it: many processes, a
# compiler, an engine of your own. From here you can also read the source. In
# minigrad's repository, `docs/reading_the_source.md` follows one training step through it, and `docs/engine.md`
# explains the engine.
