"""The source of "Build the engine". `python -m minigrad_lessons.build 16` makes the notebook."""

# %% [markdown] id=title
# # Lesson 16: Build the engine
#
# Write `backward()` yourself, over the graph that minigrad has recorded, in about 30 lines. The check replays your
# calls against those of the real engine, and stops at the call where the two diverge.
#
# Once you have written this loop, you can explain why a training step uses as much memory as it does, and where a
# gradient went missing. You need lessons 3 and 4. About 60 minutes.

# %% id=setup tags=opening,inspector
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, takes
from minigrad_widgets import Inspector

with record() as trace:
    a = torch.tensor(0.5, requires_grad=True)
    b = a * a
    c = b * 3
    d = b.exp()
    e = c * d
    f = e + b
    f.backward()
Inspector(trace, lens="traversal")

# %% [markdown] id=still
# You are the engine: click a node to call it with the gradients waiting there. One node receives three gradients.
# What happens to the gradients below if you call it after the first one?
#
# Beside the graph, "the same calls in Python" shows your calls as a program: the program you are about to write.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first call](attachment:still.png)

# %% [markdown] id=rules
# ## What the engine does
#
# - `node(gradient)` computes and returns the gradients of the node's inputs. A leaf's node, `AccumulateGrad`, adds to
#   `.grad` and returns an empty tuple.
# - `node.next_functions` has one pair `(below, slot)` for each input. The gradient of that input goes to `below`,
#   which is None if nobody needs it. `slot` says which output of `below` it is for.
# - A node with several outputs takes one gradient for each: `node(g0, g1, g2)`, with None for outputs that got none.
#   `takes(node)` says how many.

# %% id=slots tags=worked
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
p, q, unused = x.unbind()
print("p * q passes its gradients to:",
      [(below.name(), slot) for below, slot in (p * q).grad_fn.next_functions])
print("their node takes", takes(p.grad_fn), "gradients")
print("called with 10 for the second output only:", p.grad_fn(None, torch.tensor(10.0), None).tolist())

# %% [markdown] id=count-intro
# Before it starts, the engine counts how many gradients each node will receive: one for each edge that leads there.

# %% id=count tags=worked
def count(root):
    needs, to_visit, seen = {root: 1}, [root], {root}
    while to_visit:
        for below, slot in to_visit.pop().next_functions:
            if below is not None:
                needs[below] = needs.get(below, 0) + 1
                if below not in seen:
                    seen.add(below)
                    to_visit.append(below)
    return needs


for node, number in count(f.grad_fn).items():
    print(number, type(node).__name__)

# %% [markdown] id=write-intro
# ## Your engine
#
# Write `backward(loss)`: it starts at `loss.grad_fn` with a gradient of 1, calls every node **once**, with the sum of
# everything that arrives there, and fills the `.grad` of the leaves. It must not call itself: real graphs are deeper
# than Python's recursion allows.
#
# The check runs it on six graphs and a chain of 3,000 nodes. Where it differs from the engine, you get a sentence and
# a picture of that moment, in which you can go on by hand. `hint("engine")` helps.

# %% id=write tags=open,long,answer,check
def backward(loss):
    # What you may need: count(loss.grad_fn); for each node, the sums that arrived there,
    # one for each of its outputs; and a list of the nodes that are ready.
    ...


check.engine(backward)

# %% [markdown] id=after
# ## What is left
#
# Your loop is the heart of the engine. In minigrad's repository, `docs/engine.md` walks through the real one, which
# does more:
#
# - Of the nodes that are ready, it takes the one that was recorded last, and leaf nodes before all others.
# - It sums a gradient back to the shape of an input that was broadcast.
# - It calls hooks, frees saved tensors after each call, and checks that they were not changed.
# - It takes several roots, and can record itself (`create_graph=True`).
