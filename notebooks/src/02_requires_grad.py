"""The source of lesson 2. `python -m minigrad_lessons.build 02` makes the notebook."""

# %% [markdown] id=title
# # Lesson 2: requires_grad, and the states of a tensor
#
# One flag decides whether anything is recorded. Who sets it? Why can it not be taken away from a result? And how many
# kinds of tensors are there, if you do not believe the table that everybody copies?
#
# About 40 minutes. Predict first, then run.

# %% id=setup
import minigrad as torch
from minigrad_lessons import check, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import StateExplorer, explore

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lesson 1, and two questions about what you brought along. Write `"?"` where you do not know.

# %% id=recall tags=recall,answer
recall("q1.1", ...)
recall("q1.3", ...)
recall("q1.4", ...)
recall("q0.2", ...)
recall("q0.5", ...)

# %% [markdown] id=belief-any tags=belief
# ## Who sets the flag?
#
# On data nobody does: it is False. On a leaf you set it. A layer sets it on its parameters. And on a result the
# operation sets it. By which rule?
#
# > "A result requires grad if something in it does. Parameters and `no_grad` are the only exceptions."
#
# `w` requires grad. So everything that is made from it should:

# %% id=belief-any-run tags=refutation,answers:s3.2,contradicts:c3.7
w = torch.tensor([1.0, 2.0], requires_grad=True)
data = torch.tensor([5.0, 6.0])
made = {"data": data, "w": w, "torch.nn.Linear(2, 1).weight": torch.nn.Linear(2, 1).weight, "w * data": w * data,
        "w > 0": w > 0, "w.argmax()": w.argmax(), "w.detach()": w.detach()}
for code, tensor in made.items():
    print(f"{code:29} requires_grad {tensor.requires_grad!s:6} {tensor.dtype}")

# %% [markdown] id=floats
# A comparison gives yes or no, `argmax` gives a place. Between 0 and 1 there is no "a little more", so there is nothing
# to differentiate: only **floating numbers** can require grad. `detach()` gives floats, but leaves the graph on
# purpose.
#
# That is also why you cannot ask for gradients of whole numbers:

# %% id=integers tags=raises-exception
torch.tensor([1, 2], requires_grad=True)

# %% [markdown] id=belief-noop tags=belief
# Write `[1.0, 2.0]`, or call `.float()`.
#
# ## A second belief: on a result, `requires_grad_()` does nothing
#
# > "The flag of a result is fixed. `y.requires_grad_()` has no effect, with True or with False."

# %% id=belief-noop-run tags=refutation,answers:s4.1,contradicts:c3.3
y = w * 2
y.requires_grad_()
print("y.requires_grad_():      nothing happens, y.requires_grad is", y.requires_grad)
try:
    y.requires_grad_(False)
except RuntimeError as error:
    print("y.requires_grad_(False):", str(error).replace(". If", ".\n   If"))

# %% [markdown] id=why-not
# With True it only says what is so. With False it raises. For a result the flag is no switch, it is a **fact**: behind
# `y` stands a node, and the way back to `w` leads through it. If you want the numbers without the way back, make a new
# tensor: `y.detach()`.
#
# A slip that raises nothing at all is worse. Look at the letters:

# %% id=typo tags=contradicts:c2.1
t = torch.ones(2)
t.require_grad = True
print(t.requires_grad)

# %% [markdown] id=predict-intro tags=section:predict
# Python let you hang a new attribute on the tensor. The flag has an **s**.
#
# ## Predict, then run
#
# Predict in the first cell, run the second, then give a reason with `why=`. Your reason is tested on other programs.
# In these, `result_flag("after the operation")` is the flag of a result whose input got its flag at that moment,
# `starts(…)` says whether backward can start, `refused("w.retain_grad()")` whether a line raises an error, and
# `exists(…)` whether a tensor can have these values of `is_leaf`, `requires_grad` and `retains_grad`. Where a program
# ends in a tensor, "gives True" means: it requires grad.

# %% id=p1 tags=predict,answer
# The flag is set between two operations.
#     x = torch.ones(2)
#     before = x * 3
#     x.requires_grad_()
#     after = x * 3
# What do before and after say?  A list of True and False, such as [True, False]
predict("2.1", ...)

# %% id=r1 tags=reveal,answer
x = torch.ones(2)
before = x * 3
x.requires_grad_()
after = x * 3
reveal("2.1", [before.requires_grad, after.requires_grad])

# %% id=p2 tags=predict,answer
# w requires grad, data does not.
#     five = [w + data, data * 5, w > 0, w.detach(), w.clone()]
# How many of the five require grad?
predict("2.2", ...)

# %% id=r2 tags=reveal,answer
five = [w + data, data * 5, w > 0, w.detach(), w.clone()]
reveal("2.2", sum(t.requires_grad for t in five))

# %% id=p3 tags=predict,answer
# The flag comes after the loss, but before backward.
#     x = torch.ones(2)
#     loss = (x * 3).sum()
#     x.requires_grad_()
#     loss.backward()
# Does the last line raise an error?  True or False
predict("2.3", ...)

# %% id=r3 tags=reveal,answer
def raises(run):
    try:
        run()
    except RuntimeError:
        return True
    return False

x = torch.ones(2)
loss = (x * 3).sum()
x.requires_grad_()
reveal("2.3", raises(loss.backward))

# %% [markdown] id=start-intro
# Read its words. Most people meet them in a long program, where somewhere nothing was recorded:

# %% id=start tags=raises-exception,answers:row6,answers:s3.3
loss.backward()

# %% id=p4 tags=predict,answer
# retain_grad() asks a tensor to keep its gradient. data does not require grad.
#     data.retain_grad()
# Does it raise an error?  True or False
predict("2.4", ...)

# %% id=r4 tags=reveal,answer,contradicts:c3.4
reveal("2.4", raises(data.retain_grad))

# %% id=p5 tags=predict,answer
# Three attributes say True or False: is_leaf, requires_grad, retains_grad. That makes eight combinations.
# The table that everybody copies has four.
# In how many of the eight can a tensor be?
predict("2.5", ...)

# %% id=r5 tags=reveal,answer
found = explore(torch)      # every call in every state, until nothing new comes
reveal("2.5", len(found["states"]))

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Walk through the states
#
# `explore` took a plain tensor and one that requires grad, tried every call on them, then every call on what came out,
# until nothing new appeared. Nobody typed this table. Click the calls and walk:
#
# - How do you get from state 1 to state 5?
# - Which call raises in state 3, and is allowed in state 6?
# - What does `t = t.detach()` forget that `t.detach_()` remembers?

# %% id=inspector tags=inspector,answers:s3.6,answers:s3.7,contradicts:c3.1,contradicts:c3.5
StateExplorer(found)

# %% [markdown] id=inspector-note
# `detach_()` makes a leaf of the tensor itself and forgets the node. But it does not forget that somebody called
# `retain_grad()`. So there is a leaf that does not require grad and retains it, state 5; set its flag, and there is
# state 6.
#
# Which two combinations are missing? Those of a tensor that is no leaf and does not require grad. No leaf means: a node
# stands behind it. A node is made only if an input requires grad. Then the result does too.
#
# ## Worked example: the flag of a sum
#
# One rule sets the flag of nearly every result. Look for it in what is printed.

# %% id=worked tags=worked,section:exercises
for mode in (True, False):
    for first in (True, False):
        for second in (True, False):
            a = torch.ones(2, requires_grad=first)
            b = torch.ones(2, requires_grad=second)
            with torch.set_grad_enabled(mode):
                c = a + b
            print(f"recording {mode!s:5}  inputs {first!s:5} {second!s:5}  result {c.requires_grad}")

# %% [markdown] id=faded-intro
# ## Faded example: the rule as a function
#
# `mode` says whether recording is on, `flags` are those of the inputs, as many as there are. One blank.

# %% id=faded tags=faded,answer,check
def result_requires_grad(mode, *flags):
    return mode and ...


check.result_flag(result_requires_grad)

# %% [markdown] id=open1-intro
# ## Open exercise: ten expressions
#
# True or False for each: does it require grad? Decide from the text; the check runs all ten. `unrecorded(…)` runs
# something under `no_grad`. If you are stuck: `from minigrad_lessons import hint`, then `hint("flags")`.

# %% id=open1 tags=open,answer,check
def unrecorded(run):
    with torch.no_grad():
        return run()

answers = {
    "w + data": ...,
    "data * data": ...,
    "w >= data": ...,
    "w.detach() * w": ...,
    "w.clone()": ...,
    "w.argmax()": ...,
    "w.long() * w": ...,
    "(w * 2).detach() + data": ...,
    "torch.ones_like(w)": ...,
    "unrecorded(lambda: w * data)": ...,
}
check.flags(answers, w=w, data=data, unrecorded=unrecorded)

# %% [markdown] id=open2-intro
# ## Open exercise: reach every row
#
# Two states are easy. Make the other ones: each function returns a tensor in the state that its comment names.

# %% id=open2 tags=open,answer,check
def third():    # is_leaf False, requires_grad True, retains_grad False
    return ...

def fourth():   # is_leaf False, requires_grad True, retains_grad True
    return ...

def fifth():    # is_leaf True, requires_grad False, retains_grad True
    return ...

def sixth():    # is_leaf True, requires_grad True, retains_grad True
    return ...


check.reach(third, fourth, fifth, sixth)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# `explore` is given the library. The table comes out the same: for each state the three attributes, whether there is a
# `grad_fn`, and the calls that lead there.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    from minigrad_widgets import explore
    for state in explore(torch)["states"]:
        print(state["values"], *state["recipe"], sep="\n    ")
    y = torch.ones(2, requires_grad=True) * 2
    for refused in (lambda: y.requires_grad_(False), y.detach().retain_grad, torch.tensor([1]).requires_grad_):
        try:
            refused()
        except RuntimeError as error:
            print(error)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# The states, and the number of the state in which each call ends. Made by running, just now.

# %% id=summary tags=summary
calls = ["t.requires_grad_()", "t.requires_grad_(False)", "t.retain_grad()", "t.detach_()"]

def after(state, call):
    move = next(m for m in found["moves"] if m["from"] == state and found["calls"][m["call"]] == call)
    return "error" if move["error"] else str(move["to"] + 1)

table(["state", *found["attributes"][:3], *(call.removeprefix("t.") for call in calls)],
      [[str(at + 1), *map(str, state["values"][:3]), *(after(at, call) for call in calls)]
       for at, state in enumerate(found["states"])])

# %% [markdown] id=next
# **requires_grad** of a leaf is a wish, and you may change it. Of a result it is a fact: recording was on, and an input
# required grad.
#
# Next: the node that a recorded operation leaves behind (lesson 3).
