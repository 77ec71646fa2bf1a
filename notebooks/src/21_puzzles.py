"""The source of the puzzles. `python -m minigrad_lessons.build 21` makes the notebook."""

# %% [markdown] id=title
# # 21 puzzles
#
# Each puzzle is one line. The check runs your line, and if it is wrong, tells you what happened instead. Once you
# have solved them, you can read a training step that goes wrong: a gradient of zero, a NaN, an error, memory that
# fills up.
#
# Lessons 1 to 8 are enough for most of them. Take them in any order. About 90 minutes.
#
# Run the next cell (Shift+Enter), and press **next →** to the end: this puzzle costs people the most time.

# %% id=setup tags=opening,inspector
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, progress
from minigrad_widgets import Inspector

with record() as trace:
    x = torch.tensor([-1.0, 4.0], requires_grad=True)
    y = torch.where(x > 0, x.sqrt(), 0.0)
    loss = y.sum()
    loss.backward()
Inspector(trace)

# %% [markdown] id=still
# The loss is 2: the root of -1 is NaN, and `where` leaves it out. At the end, one of the two gradients is NaN all
# the same. What arrives at `SqrtBackward0`, and what happens to it? Puzzle 4 asks you to fix this program.
#
# In every puzzle, replace the dots with one line and run the cell. `hint("zeros")` gives the first of three hints for
# `check.zeros`.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=zeros-intro
# ## Gradients
#
# ### 1. A gradient of zero
#
# Return a tensor `y` made from `x`, so that after `y.sum().backward()` the gradient `x.grad` is all zeros. None does
# not count.

# %% id=zeros tags=open,puzzle,answer,check
def line(x):
    return ...


check.zeros(line)

# %% [markdown] id=half-constant-intro
# ### 2. Half of the slope
#
# `x * x` has the gradient `2 * x`. Return the same numbers with the gradient `x`.

# %% id=half-constant tags=open,puzzle,answer,check
def line(x):
    return ...


check.half_constant(line)

# %% [markdown] id=broadcast-intro
# ### 3. Twelve
#
# `x` is a single number. Return `y` such that `x.grad` is 12 after `y.sum().backward()`. Use one addition, and no
# other operation on `x`.

# %% id=broadcast tags=open,puzzle,answer,check
def line(x):
    return ...


check.broadcast(line)

# %% [markdown] id=no-nan-intro
# ### 4. No NaN
#
# Return the square root where `x` is positive, and 0 where it is not. No number in `x.grad` may be NaN or infinite.
# (The check has an `x` with -1, 0 and 4.)

# %% id=no-nan tags=open,puzzle,answer,check
def line(x):
    return ...


check.no_nan(line)

# %% [markdown] id=one-row-intro
# ### 5. One row of the Jacobian
#
# `y` is `x ** 2`, three numbers. Fill `x.grad` with the gradient of `y[1]` alone.

# %% id=one-row tags=open,puzzle,answer,check
def line(y):
    ...


check.one_row(line)

# %% [markdown] id=only-x-intro
# ### 6. Only x
#
# `loss` is `w * x`, and both leaves require grad. Fill `x.grad`, and leave `w.grad` None. Do not touch `w`.

# %% id=only-x tags=open,puzzle,answer,check
def line(loss, x, w):
    ...


check.only_x(line)

# %% [markdown] id=none-first-intro
# ## The graph
#
# ### 7. None comes first
#
# Return a tensor made from `w` whose node has these pairs, in this order:
#
# `y.grad_fn.next_functions == ((None, 0), (AccumulateGrad of w, 0))`

# %% id=none-first tags=open,puzzle,answer,check
def line(w):
    return ...


check.none_first(line)

# %% [markdown] id=third-output-intro
# ### 8. The integer 2
#
# `x` has three numbers. Return `y` such that `y.grad_fn.next_functions[0][1]` is 2.

# %% id=third-output tags=open,puzzle,answer,check
def line(x):
    return ...


check.third_output(line)

# %% [markdown] id=last-node-intro
# ### 9. Last in line
#
# In the backward pass of `x.sin() + x.exp()`, the node of `exp` runs before that of `sin`. Return the same number in
# such a way that backward visits the node of `exp` after that of `sin`.

# %% id=last-node tags=open,puzzle,answer,check
def line(x):
    return ...


check.last_node(line)

# %% [markdown] id=twice-intro
# ### 10. Twice without an error
#
# Return a loss made from the vector `x` for which `loss.backward()` can be called twice, without `retain_graph`.

# %% id=twice tags=open,puzzle,answer,check
def line(x):
    return ...


check.twice(line)

# %% [markdown] id=twin-intro
# ### 11. A twin
#
# Return a second leaf that requires grad and shares the memory of the leaf `w`: if one changes, so does the other.
# Each has a `.grad` of its own.

# %% id=twin tags=open,puzzle,answer,check
def line(w):
    return ...


check.twin(line)

# %% [markdown] id=freeze-intro
# ### 12. Freeze the first layer
#
# `model` is `Sequential(Linear(2, 3), Tanh(), Linear(3, 1))`. After your line, backward gives no gradient to the first
# layer. The last one still learns.

# %% id=freeze tags=open,puzzle,answer,check
def line(model):
    ...


check.freeze(line)

# %% [markdown] id=no-graph-error-intro
# ### 13. Get this error
#
# *element 0 of tensors does not require grad and does not have a grad_fn*
#
# `x` requires grad. Return a loss that depends on the numbers in `x`, and whose `backward()` raises this error.

# %% id=no-graph-error tags=open,puzzle,answer,check
def line(x):
    return ...


check.no_graph_error(line)

# %% [markdown] id=recorded-anyway-intro
# ### 14. Recorded all the same
#
# The check calls your line inside `torch.no_grad()`. Return `2 * w` with a graph that leads back to `w`.

# %% id=recorded-anyway tags=open,puzzle,answer,check
def line(w):
    return ...


check.recorded_anyway(line)

# %% [markdown] id=alive-intro
# ## Memory
#
# ### 15. Keep it alive
#
# `h` is the result of an addition, and nothing else refers to it. Return a tensor `y` with numbers of its own, so
# that the numbers of `h` stay in memory for as long as `y` lives.

# %% id=alive tags=open,puzzle,answer,check
def line(h):
    return ...


check.alive(line)

# %% [markdown] id=let-go-intro
# ### 16. Let it go
#
# `y` has a graph that holds saved tensors. Free them. The program goes on with this same `y` and needs its numbers;
# `x.grad` must stay None.

# %% id=let-go tags=open,puzzle,answer,check
def line(y):
    ...


check.let_go(line)

# %% [markdown] id=running-total-intro
# ### 17. A total that does not grow
#
# A training loop adds up its losses to print them: `total = line(total, loss)`. Return the new total. The graph of each
# step must be freed when the step is over.

# %% id=running-total tags=open,puzzle,answer,check
def line(total, loss):
    return ...


check.running_total(line)

# %% [markdown] id=in-place-step-intro
# ## In a training step
#
# ### 18. A step without an optimizer
#
# `w` is a leaf that requires grad, and `w.grad` is filled. Subtract `0.1 * w.grad` from `w` itself. It must stay a
# leaf.

# %% id=in-place-step tags=open,puzzle,answer,check
def line(w):
    ...


check.in_place_step(line)

# %% [markdown] id=modified-error-intro
# ### 19. Get this error, too
#
# *one of the variables needed for gradient computation has been modified by an inplace operation*
#
# `y` is `x.exp()`. After your line, the check calls `y.sum().backward()`, which must raise this error.

# %% id=modified-error tags=open,puzzle,answer,check
def line(x, y):
    ...


check.modified_error(line)

# %% [markdown] id=seen-intro
# ### 20. Only look
#
# `y` is computed from `x`, and used twice in the loss, after your line. Get the gradient of `y` into the list `seen`
# while backward runs. `y.grad` stays None, and `x.grad` is what it would be without you.

# %% id=seen tags=open,puzzle,answer,check
def line(y, seen):
    ...


check.seen(line)

# %% [markdown] id=differentiable-intro
# ### 21. The slope of the slope
#
# `y` is computed from the number `x`. Return the slope of `y` with respect to `x` as a tensor that can be
# differentiated again. (The check does so for two different `y`.)

# %% id=differentiable tags=open,puzzle,answer,check
def line(y, x):
    return ...


check.differentiable(line)

# %% [markdown] id=after
# ## How far are you?
#
# The next cell says how many of the 21 you have solved. To write a puzzle of your own, you need a program, a missing
# line, and one fact that leads to it.

# %% id=progress
progress()
