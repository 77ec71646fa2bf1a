"""The source of lesson 2. `python -m minigrad_lessons.build 02` makes the notebook."""

# %% [markdown] id=title
# # Lesson 2: requires_grad, and the states of a tensor
#
# Freezing a layer and asking for the gradient of an input both come down to one flag, `requires_grad`. If it is wrong
# in one place, part of your model is not recorded and does not learn. What sets the flag, and when can you change it?
#
# Run the next cell (Shift+Enter), then press **next →** to watch the graph grow.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector, StateExplorer, explore

with record() as first:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    data = torch.tensor([5.0, 6.0])
    size = w.abs()
    scaled = data / 2
    guess = size * scaled
    loss = guess.sum()
Inspector(first, lens="forward", parts=["source", "leaves"])

# %% [markdown] id=still
# Four operations run, but only three of them leave a node behind. Which one does not, and how could the library know
# that it did not need to be recorded?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lesson 1, with two questions from before it.

# %% id=recall tags=recall,answer
recall("q1.1")
recall("q1.3")
recall("q1.4")
recall("q0.2")
recall("q0.5")

# %% [markdown] id=belief-any tags=belief
# ## Who sets the flag?
#
# Plain data has it off. You set it on a tensor that you create, a layer sets it on its parameters, and an operation
# sets it on its result. By what rule?
#
# > "A result requires grad if any input does. The only exception is `no_grad`."
#
# `w` requires grad, so everything made from it should, too:

# %% id=belief-any-run tags=refutation,answers:s3.2,contradicts:c3.7
w = torch.tensor([1.0, 2.0], requires_grad=True)
data = torch.tensor([5.0, 6.0])
made = {"data": data, "w": w, "torch.nn.Linear(2, 1).weight": torch.nn.Linear(2, 1).weight,
        "w * data": w * data, "w > 0": w > 0, "w.argmax()": w.argmax(), "w.detach()": w.detach()}
for code, tensor in made.items():
    print(f"{code:29} requires_grad {tensor.requires_grad!s:6} {tensor.dtype}")

# %% [markdown] id=floats
# A comparison gives yes or no, and `argmax` gives a position. Neither can grow by "a little more", so there is
# nothing to differentiate: only **floating-point** tensors can require grad. (PyTorch also allows complex ones.)
# `detach()` returns floats, but leaves the graph on purpose.
#
# That is also why you cannot ask for the gradient of integers:

# %% id=integers tags=raises-exception
torch.tensor([1, 2], requires_grad=True)

# %% [markdown] id=belief-noop tags=belief
# To fix it, write `[1.0, 2.0]` or call `.float()`.
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
# With True, the call only confirms what is already so. With False, it raises an error. For a result the flag is not a
# switch but a **fact**: there is a node behind `y`, and the way back to `w` leads through it. If you want the numbers
# without the way back, make a new tensor: `y.detach()`.
#
# A slip that raises no error at all is worse. Look closely at the spelling:

# %% id=typo tags=contradicts:c2.1
t = torch.ones(2)
t.require_grad = True
print(t.requires_grad)

# %% [markdown] id=predict-intro tags=section:predict
# Python simply added a new attribute to the tensor. The flag is called `requires_grad`, with an **s**.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason. Your reason is tested on other programs.

# %% id=p1 tags=predict,answer
# The flag is set between two operations.
#     x = torch.ones(2)
#     before = x * 3
#     x.requires_grad_()
#     after = x * 3
# What is the requires_grad of before and of after?
predict("2.1")

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
predict("2.2")

# %% id=r2 tags=reveal,answer
five = [w + data, data * 5, w > 0, w.detach(), w.clone()]
reveal("2.2", sum(t.requires_grad for t in five))

# %% id=p3 tags=predict,answer
# The flag is set after the loss is computed, but before backward.
#     x = torch.ones(2)
#     loss = (x * 3).sum()
#     x.requires_grad_()
#     loss.backward()
# Does the last line raise an error?
predict("2.3")

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
# Read the message. Most people see it in a long program, where something, somewhere, was not recorded:

# %% id=start tags=raises-exception,answers:row6,answers:s3.3
loss.backward()

# %% id=p4 tags=predict,answer
# backward() fills the .grad of leaves only; retain_grad() asks a result to keep its own.
# data does not require grad.
#     data.retain_grad()
# Does it raise an error?
predict("2.4")

# %% id=r4 tags=reveal,answer,contradicts:c3.4
reveal("2.4", raises(data.retain_grad))

# %% id=p5 tags=predict,answer
# Three attributes are True or False: is_leaf, requires_grad, retains_grad. That makes eight combinations.
# Most tutorials list four.
# How many of the eight can a tensor have?
predict("2.5")

# %% id=r5 tags=reveal,answer
found = explore(torch)      # every call in every state, until nothing new appears
reveal("2.5", len(found["states"]))

# %% [markdown] id=inspector-intro tags=section:inspector
# ## Walk through the states
#
# `explore` took a plain tensor and one that requires grad, tried every call on them, then every call on the results,
# until nothing new appeared. Nobody typed this table. Click the calls and walk:
#
# - How do you get from state 1 to state 5?
# - Which call raises an error in state 3, and is allowed in state 6?
# - What does `t = t.detach()` forget that `t.detach_()` remembers?

# %% id=inspector tags=inspector,answers:s3.6,answers:s3.7,contradicts:c3.1,contradicts:c3.5
StateExplorer(found)

# %% [markdown] id=inspector-note
# `detach_()` turns the tensor itself into a leaf and forgets the node. But it remembers that somebody called
# `retain_grad()`. That is state 5: a leaf that does not require grad but still retains it. Set its flag, and you are
# in state 6.
#
# Which two combinations are missing? Those of a non-leaf without requires_grad. If it is not a leaf, an operation was
# recorded, and that happens only if an input requires grad. Then the result does, too.

# %% [markdown] id=worked-intro tags=section:exercises
# ## Worked example: the flag of a sum
#
# One rule sets the flag of nearly every result. Find it in the output.

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
# `mode` says whether recording is on. `flags` are the flags of the inputs, however many there are. Fill in the blank.

# %% id=faded tags=faded,answer,check
def result_requires_grad(mode, *flags):
    return mode and ...


check.result_flag(result_requires_grad)

# %% [markdown] id=open1-intro
# ## Open exercise: ten expressions
#
# Does it require grad? Answer True or False for each. Decide from the text; the check runs all ten. `unrecorded` runs
# a function inside `no_grad`. If you are stuck, write `hint("flags")` into a new cell.

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
# Two states are easy to reach. Reach the other four: each function returns a tensor in the state that its comment
# names.

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
# `explore` takes the library as its argument, and the table comes out the same. For each state it prints the three
# attributes, whether there is a `grad_fn`, and the calls that lead there.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    from minigrad_widgets import explore
    for state in explore(torch)["states"]:
        print(state["values"], *state["recipe"], sep="\n    ")
    y = torch.ones(2, requires_grad=True) * 2
    for call in (lambda: y.requires_grad_(False), y.detach().retain_grad, torch.tensor([1]).requires_grad_):
        try:
            call()
        except RuntimeError as error:
            print(error)

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# The states, and the number of the state that each call leads to. The table was made by running the calls.

# %% id=summary tags=summary
calls = ["t.requires_grad_()", "t.requires_grad_(False)", "t.retain_grad()", "t.detach_()"]

def after(state, call):
    move = next(m for m in found["moves"] if m["from"] == state and found["calls"][m["call"]] == call)
    return "error" if move["error"] else str(move["to"] + 1)

table(["state", *found["attributes"][:3], *(call.removeprefix("t.") for call in calls)],
      [[str(at + 1), *map(str, state["values"][:3]), *(after(at, call) for call in calls)]
       for at, state in enumerate(found["states"])])

# %% [markdown] id=next
# On a leaf, **requires_grad** is a wish, and you may change it. On a result it is a fact: recording was on, and an
# input required grad.
#
# Next, lesson 3: the node that a recorded operation leaves behind.
