"""The source of lesson 9. `python -m minigrad_lessons.build 09` makes the notebook."""

# %% [markdown] id=title
# # Lesson 9: Your own Function
#
# Sooner or later you need an operation that autograd does not have: a custom kernel, a quantizer, a trick that saves
# memory. You write it as a `Function`, with the forward pass and its gradient. Its `forward` runs with recording off,
# which puzzles everybody at first.
#
# Run the next cell (Shift+Enter), press **next →**, and watch the ribbon above the slider.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x.log() * 2).exp()

with record() as first:
    x = torch.tensor(3.0, requires_grad=True)
    y = Square.apply(x * 2)
Inspector(first, lens="forward")

# %% [markdown] id=still
# Three operations run inside `forward`: a logarithm, a product and an exponential. How many nodes do they leave in
# the graph, and what does the ribbon show while they run?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 8, 7 and 5, from memory.

# %% id=recall tags=recall,answer
recall("q8.1")
recall("q8.3")
recall("q7.2")
recall("q7.3")
recall("q5.1")

# %% [markdown] id=belief-builds tags=belief
# ## A belief: `forward` builds the graph
#
# > "Both inputs require grad, so the result of `mm` in my `forward` must require grad too. But it says False!"
#
# Here is a linear layer as a Function, with prints inside and outside:

# %% id=belief-builds-run tags=refutation,answers:s0.1,answers:s0.3,answers:s1.3,answers:row12
class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        out = x.mm(weight.t())
        print("inside:  grad mode", torch.is_grad_enabled(), "| inputs", x.requires_grad,
              weight.requires_grad, "| out", out.requires_grad)
        ctx.save_for_backward(x, weight)
        return out
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad.mm(weight), grad.t().mm(x)
x, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
out = Linear.apply(x, weight)
print("outside: grad mode", torch.is_grad_enabled(), "| out", out.requires_grad, "|", out.grad_fn.name())

# %% [markdown] id=apply-intro
# `forward` computes, and records nothing. **You** supply the derivative, so there is nothing to record. Then `apply`
# attaches **one** node to the result, and from then on the result requires grad. In PyTorch, most of this is C++
# (`python_function.cpp`). In minigrad you can read it:

# %% id=apply-source tags=answers:s0.2,answers:s0.8
import inspect

lines = inspect.getsource(torch.autograd.function).splitlines()
first = next(i for i, line in enumerate(lines) if "with no_grad()" in line)
last = next(i for i, line in enumerate(lines) if "= wrap_outputs(" in line)
print("\n".join(line[8:] for line in lines[first:last + 1]))

# %% [markdown] id=belief-enable tags=belief
# `wrap_outputs` is the step that attaches the node (here called `ctx`) to what `forward` returned.
#
# ## A second belief: `enable_grad` inside brings the graph back
#
# > "Then I switch recording on in `forward`, and autograd finds the derivative by itself."
#
# To see which derivative counts, this `backward` returns a wrong one on purpose:

# %% id=belief-enable-run tags=refutation
class Triple(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            y = x * 3
        print("inside:  y is recorded by", y.grad_fn.name())
        return y
    @staticmethod
    def backward(ctx, grad):
        return grad * 100

x = torch.tensor(1.0, requires_grad=True)
y = Triple.apply(x)
y.backward()
print("outside: y is recorded by", y.grad_fn.name(), "| x.grad", x.grad.item())

# %% [markdown] id=memory-intro
# The outer node counts, and the inner graph is thrown away. Recording it was wasted work. The design has a purpose:
# of what `forward` computes, only what **you** save is kept. Here is a chain of operations, recorded and as a
# Function:

# %% id=memory tags=answers:s0.4
from minigrad.memory import Account


class Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().sin().tanh().sigmoid()
def kept(run):
    with record() as trace:
        out = run(torch.ones(1000, requires_grad=True))
    return Account(trace).current.saved, sum(bool(node["saved"]) for node in trace.nodes), out.grad_fn.name()
table(["", "bytes kept", "nodes that keep something", "last node"],
      [["recorded", *map(str, kept(lambda x: x.exp().sin().tanh().sigmoid()))],
       ["one Function", *map(str, kept(Chain.apply))]])

# %% id=keep
# Two Functions for exp, which keep their output in different ways.
class ExpAttribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

class ExpSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

# %% [markdown] id=belief-ctx tags=belief
# (The price of the chain: its `backward` must compute all of that again. Lesson 10 is about that idea.)
#
# ## A third belief: `ctx.y = y` is as good as `save_for_backward`
#
# > "`ctx` is an ordinary object, so I keep what I need as an attribute."
#
# Throw the result of each of the two away, and ask a *weak reference*, which keeps nothing alive, whether it was freed.
# Meanwhile the garbage collector is switched off:

# %% id=belief-ctx-run tags=refutation,answers:row18
import gc
import weakref

gc.disable()
spies = {kind.__name__: weakref.ref(kind.apply(x)) for kind in (ExpAttribute, ExpSaved)}
print("thrown away, and still in memory:", [name for name, spy in spies.items() if spy() is not None])
gc.enable()

# %% [markdown] id=predict-intro tags=section:predict
# A result kept as an attribute makes a cycle: the result holds its node, and the node holds the result. Only the
# garbage collector frees a cycle, some time later. `save_for_backward` creates no cycle, frees its tensors after
# `backward()`, and checks versions. An input kept as an attribute makes no cycle either, but nobody checks its version,
# and hooks for saved tensors, such as checkpoint's in lesson 10, never see it.
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# x requires grad. Inside forward, look at these three: x, x.view(-1), x * 2.
# How many of them require grad?
predict("9.1")

# %% id=r1 tags=reveal,answer
class Look(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.found = [x.requires_grad, x.view(-1).requires_grad, (x * 2).requires_grad]
        return x * 2


x = torch.tensor(3.0, requires_grad=True)
reveal("9.1", sum(Look.apply(x).grad_fn.found))

# %% id=p2 tags=predict,answer
# forward(ctx, x, n): x is a tensor, n a plain number.
# How many values must backward return?
predict("9.2")

# %% id=r2 tags=reveal,answer
def accepts(count):
    class Power(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            return x ** n
        @staticmethod
        def backward(ctx, grad):
            return (grad, None, None)[:count]
    try:
        torch.autograd.grad(Power.apply(x, 3), x)
        return True
    except RuntimeError:
        return False
# The smallest number with which the pass runs:
reveal("9.2", next(filter(accepts, (1, 2, 3))))

# %% id=p3 tags=predict,answer
# A Function for h * h keeps ctx.h = h. Between forward and backward, h is changed in place, from 3 to 30.
# Which gradient arrives at x?
predict("9.3")

# %% id=r3 tags=reveal,answer
class SquareAttribute(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.h = h
        return h * h

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.h


# The same with save_for_backward. Try it below, in place of SquareAttribute.
class SquareSaved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.save_for_backward(h)
        return h * h

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]


h = x * 1
y = SquareAttribute.apply(h)
with torch.no_grad():
    h.mul_(10.0)
reveal("9.3", torch.autograd.grad(y, x)[0].item())

# %% id=p4 tags=predict,answer
# A Function for x ** 3 saves an inner result, square = x * x, and backward returns grad * 3 * square.
# The first derivative is right. You ask for it with create_graph=True, to differentiate it again.
# Does it require grad?
predict("9.4")

# %% id=r4 tags=reveal,answer
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(square)
        return square * x

    @staticmethod
    def backward(ctx, grad):
        square, = ctx.saved_tensors
        return grad * 3 * square


first, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
reveal("9.4", first.requires_grad)

# %% id=p5 tags=predict,answer
# This forward has one line:  return x
# Is the result of apply the same object as x?
predict("9.5")

# %% id=r5 tags=reveal,answer
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x


reveal("9.5", Same.apply(x) is x)

# %% id=outputs
# And what does backward get? This Function has two outputs, and the second is not used.
class Both(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, n, zeros):
        ctx.n = n
        ctx.set_materialize_grads(zeros)
        return x * n, x + n
    @staticmethod
    def backward(ctx, grad, of_unused):
        print(of_unused, "| wanted:", ctx.needs_input_grad, "| grad mode", torch.is_grad_enabled())
        return grad * ctx.n, None, None

for zeros, create_graph in ((True, False), (False, True)):
    y, unused = Both.apply(x, 3.0, zeros)
    torch.autograd.grad(y, x, create_graph=create_graph)

# %% [markdown] id=inspector-intro tags=section:inspector
# `backward` gets one gradient for each output: zeros for one that is not used, or None after
# `ctx.set_materialize_grads(False)`. Grad mode is off in it, as in every backward pass, unless `create_graph=True` asks
# for a recorded one. `ctx.needs_input_grad` says for each argument whether its gradient is wanted.
#
# ## See into `apply`
#
# Step through a Function, with the grad-mode ribbon above the slider. Where is grad mode switched off, and where does
# it come back on? What has a node?

# %% id=inspector tags=inspector
x, weight = torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True)
with record() as trace:
    loss = Linear.apply(x, weight).sum()
    loss.backward()
Inspector(trace, lens="forward", step=trace.steps("forward")[4])

# %% [markdown] id=inspector-note
# The transpose and `mm` ran and left no node. One node stands for both of them: `LinearBackward`, which saved the two
# inputs.
#
# ## Worked example: Exp
#
# The derivative of exp is exp, so the **output** is saved. There is a second style: `forward` takes no `ctx`, and a
# separate method, `setup_context`, does the saving. That keeps `forward` a plain function.
#
# `gradcheck` measures the derivative with small steps in float64, and compares it with what `backward` returns. Does
# it find the wrong factor in the second cell?

# %% id=worked tags=worked,section:exercises
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        y, = ctx.saved_tensors
        return grad * y
x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
print("gradcheck:", torch.autograd.gradcheck(Exp.apply, x))

# %% id=gradcheck tags=raises-exception
class Planted(Exp):
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] * 2

zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
torch.autograd.gradcheck(Planted.apply, zero)

# %% [markdown] id=faded-intro
# ## Faded example: Square
#
# Fill in two blanks: what to save, and what to send back. The check tries a gradient that is not 1, a change in
# place, and a second derivative. (`hint("square")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(...)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return ...


check.square(Square)

# %% [markdown] id=open1-intro
# ## Open exercise: MatMul
#
# There are two inputs, so two gradients. Each gradient has the shape of its input; that alone nearly tells you the
# formula.

# %% id=open1 tags=open,answer,check
class MatMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return ..., ...


check.matmul(MatMul)

# %% [markdown] id=open2-intro
# ## Open exercise: which error?
#
# The `backward` of a Function for `a * b`, with inputs of shape [2], can fail in three ways: with a wrong **number**
# of gradients, a wrong **shape**, or a wrong **type**. What happens for each `return`? Write `"fine"`, `"number"`,
# `"shape"` or `"type"`. The lesson has not covered all of this: guess, then try it in a Function of your own.

# %% id=open2 tags=open,answer,check
answers = {
    "grad": ...,
    "grad, grad": ...,
    "grad, None": ...,
    "grad, grad, None": ...,
    "grad, grad, grad": ...,
    "grad, grad.sum()": ...,
    "grad, torch.ones(3, 2)": ...,
    "grad, 1.0": ...,
}
check.returns(answers)

# %% [markdown] id=open3-intro
# ## Open exercise: a derivative that is not true
#
# The derivative of rounding is 0, so nothing before it would learn. A **straight-through estimator** rounds on the
# way forward, and on the way back behaves as if it had not.

# %% id=open3 tags=open,answer,check
class RoundThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return ...

    @staticmethod
    def backward(ctx, grad):
        return ...


check.straight_through(RoundThrough)

# %% [markdown] id=open4-intro
# ## Open exercise: three marks
#
# - `ctx.mark_dirty(h)`: `forward` has changed its input `h` in place.
# - `ctx.mark_non_differentiable(mask)`: this output has no gradient.
# - `@once_differentiable` above `backward`: its gradient is right, but cannot be differentiated again.
#
# What does each program give with its mark, and without? Write a number, True or False, or `"error"`. Two of the
# unmarked programs run to the end and give a wrong gradient.

# %% id=open4 tags=open,answer,check
# x is 1 and requires grad, h = x * 1.
answers = {
    # forward: h.mul_(2), then return h.  torch.autograd.grad(h, x) gives:
    "in place": ...,
    "in place, mark_dirty": ...,
    # forward: mask = (h > 0).float(), then return h * mask, mask.  mask.requires_grad is:
    "mask": ...,
    "mask, mark_non_differentiable": ...,
    # y = h ** 3; backward returns grad * 3 * h.detach() ** 2.  The second derivative of y * y (true: 30) is:
    "cube": ...,
    "cube, once_differentiable": ...,
}
check.marks(answers)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# All three marks in one Function. A dirty input that is returned comes back as itself, with a new node. The last name
# is of a node that only raises the error, should anybody differentiate this gradient.

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            ctx.mark_dirty(h.mul_(2))
            ctx.mark_non_differentiable(large := (h > 4).float())
            return h, large
        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad, _):
            return grad * 2
    y, large = Double.apply(h := (x := torch.tensor(3.0, requires_grad=True)) * 1)
    first, = torch.autograd.grad(y * y, x, create_graph=True)
    print(y is h, large.requires_grad, first.item(), first.grad_fn.next_functions[0][0].name())

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# Two ways to keep a tensor. What happens in `backward()` if the tensor was changed, or if backward runs twice? This
# table was made by running both.

# %% id=summary tags=summary
def says(F, first):
    h = torch.tensor(3.0, requires_grad=True) * 1
    y = F.apply(h)
    first(h, y)
    try:
        return f"{torch.autograd.grad(y, h)[0].item():.0f}, no error"
    except RuntimeError:
        return "an error"

table(["kept by", "h was changed", "the second time"], [
    [name, says(F, lambda h, y: h.detach().mul_(10.0)), says(F, lambda h, y: y.backward())]
    for name, F in {"ctx.h = h": SquareAttribute, "ctx.save_for_backward(h)": SquareSaved}.items()])

# %% [markdown] id=next
# **forward** runs with recording off, on the very same tensors. **apply** attaches one node to the result.
# **backward** returns one gradient for each argument. Use **save_for_backward** for tensors, and attributes for plain
# numbers.
#
# Next, lesson 10: keep nothing, and compute it again.
