"""The source of lesson 22. `python -m minigrad_lessons.build 22` makes the notebook."""

# %% [markdown] id=title
# # Lesson 22: Forward mode, the other direction
#
# `backward()` starts at the result and walks back to the inputs. You can also differentiate in the direction in which
# the program runs: nudge the inputs, and carry along how fast each value changes. This is **forward mode**, and what
# is carried along is called a **tangent**.
#
# Run the next cell (Shift+Enter), and press **next →** until the gradients come back along the edges. In
# this lesson, something else will travel along the same edges, the other way.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector

with record() as first:
    x = torch.tensor(3.0, requires_grad=True)
    w = torch.tensor(2.0, requires_grad=True)
    y = torch.relu(x * w) + w
    y.backward()
Inspector(first)

# %% [markdown] id=still
# `w` has two uses. Suppose `w` grows a little: through which nodes does `y` notice?
#
# This lesson takes about 45 minutes. It is read after lesson 12.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lessons 11 and 9, from memory.

# %% id=recall tags=recall,answer
recall("q11.2")
recall("q11.4")
recall("q9.2")
recall("q9.3")
recall("q9.4")

# %% [markdown] id=belief-backward tags=belief
# ## A belief: a derivative needs a backward pass
#
# > "To get a derivative, the program is recorded as a graph, and then the engine walks back through it."
#
# `torch.func.jvp` takes a function, its inputs, and for each input a tangent: how fast that input changes. It returns
# the result and how fast the **result** changes.

# %% id=belief-backward-run tags=refutation
def f(x, w):
    return torch.relu(x * w) + w


inputs, changes = (torch.tensor(3.0), torch.tensor(2.0)), (torch.tensor(0.0), torch.tensor(1.0))
value, change = torch.func.jvp(f, inputs, changes)
print("f:", value, " how fast it changes with w:", change)
print("the same as backward:", torch.allclose(change, w.grad))
print("a graph was recorded:", value.requires_grad)

# %% [markdown] id=dual-intro
# ## Dual numbers, by hand
#
# It works because each operation knows how to pass a change on. A **dual number** is a value together with its
# tangent. Nine lines are enough for sums, products and relu, and no graph is needed:

# %% id=dual
class Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent
    def __add__(self, other):
        return Dual(self.value + other.value, self.tangent + other.tangent)
    def __mul__(self, other):
        return Dual(self.value * other.value, self.tangent * other.value + self.value * other.tangent)
    def relu(self):
        return Dual(max(self.value, 0), self.tangent if self.value > 0 else 0)


x, w = Dual(3.0, 0.0), Dual(2.0, 1.0)
y = (x * w).relu() + w
print(y.value, y.tangent)

# %% [markdown] id=dual-note
# `w` has the tangent 1 and `x` the tangent 0: "`w` grows, `x` stays". The tangent of `y` is complete as soon as `y`
# is. Nothing was kept for later.

# %% [markdown] id=belief-gradient tags=belief
# ## A second belief: forward mode gives the gradient
#
# > "Both directions compute the same thing: one pass, and I have the gradient."
#
# A function with three inputs:

# %% id=belief-gradient-run tags=refutation
def area(v):
    return v[0] * v[1] + v[1] * v[2]


at = torch.tensor([1.0, 2.0, 3.0])
gradient = torch.func.grad(area)(at)
print("backward, one pass:", gradient)
for direction in torch.eye(3):
    print("forward along", direction, "gives", torch.func.jvp(area, (at,), (direction,))[1])

# %% [markdown] id=products
# A forward pass answers "how fast does **every output** change if the inputs move **like this**?" A backward pass
# answers "how much does **every input** matter for the outputs, weighted **like this**?"
#
# The table of all derivatives is the **Jacobian**: a row for each output, a column for each input. Forward mode
# multiplies it by a column of tangents (Jacobian-vector product, *jvp*), backward mode by a row of gradients (*vjp*).
#
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer,section:predict
# Two inputs, 2 and 5, and their product.
#     at, direction = torch.tensor([2.0, 5.0]), torch.tensor([1.0, 2.0])
#     value, change = torch.func.jvp(lambda v: v[0] * v[1], (at,), (direction,))
# What is change?
predict("22.1")

# %% id=r1 tags=reveal,answer
at, direction = torch.tensor([2.0, 5.0]), torch.tensor([1.0, 2.0])
value, change = torch.func.jvp(lambda v: v[0] * v[1], (at,), (direction,))
reveal("22.1", change.item())

# %% id=p2 tags=predict,answer
# The same with the tools that jvp is made of, and with grad mode off.
#     forward_ad = torch.autograd.forward_ad
#     with forward_ad.dual_level(), torch.no_grad():
#         dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
#         change = forward_ad.unpack_dual(dual * dual).tangent
# Is change None?
predict("22.2")

# %% id=r2 tags=reveal,answer
forward_ad = torch.autograd.forward_ad
with forward_ad.dual_level(), torch.no_grad():
    dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    change = forward_ad.unpack_dual(dual * dual).tangent
reveal("22.2", change is None)

# %% id=p3 tags=predict,answer
# One factor is detached.
#     value, change = torch.func.jvp(lambda t: t * t.detach(), (torch.tensor(3.0),), (torch.tensor(1.0),))
# What is change?
predict("22.3")

# %% id=r3 tags=reveal,answer
value, change = torch.func.jvp(lambda t: t * t.detach(), (torch.tensor(3.0),), (torch.tensor(1.0),))
reveal("22.3", change.item())

# %% id=p4 tags=predict,answer
# How often does the program run until forward mode has computed its whole Jacobian?
#     def program(v):                    # 2 inputs, 5 outputs
#         return torch.stack([v[0], v[1], v[0] * v[1], v[0] + v[1], v[0] - v[1]])
predict("22.4")

# %% id=r4 tags=reveal,answer
runs = []

def program(v):
    runs.append(1)
    return torch.stack([v[0], v[1], v[0] * v[1], v[0] + v[1], v[0] - v[1]])

columns = [torch.func.jvp(program, (at,), (direction,))[1] for direction in torch.eye(2)]
reveal("22.4", len(runs))

# %% [markdown] id=meet-intro tags=section:inspector
# ## Where the two directions meet
#
# A chain with three values on the way. Tangents run from `a` to `d`, which is up in the picture; gradients come back
# down. The picture shows the way back; look at the gradient that arrives at each node.

# %% id=inspector tags=inspector
start, direction = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])
with record() as trace:
    a = start.clone().requires_grad_()
    b = a * a
    c = b * b
    d = c.sum()
    b.retain_grad(), c.retain_grad(), d.retain_grad()
    d.backward()
Inspector(trace, step=trace.steps("backward")[-1])

# %% [markdown] id=meet-question
# Now carry the tangent along the same chain, and multiply what meets at each value: tangent times gradient, summed.
# Before you look at the table: are the four products equal, do they grow, or do they shrink?

# %% id=meet tags=worked,section:exercises
steps = {"a": lambda a: a, "b": lambda a: a ** 2, "c": lambda a: a ** 4, "d": lambda a: (a ** 4).sum()}
rows = []
for (name, step), value in zip(steps.items(), (a, b, c, d)):
    tangent = torch.func.jvp(step, (start,), (direction,))[1]
    product = (tangent * value.grad).sum()
    rows.append([name, str(tangent.tolist()), str(value.grad.tolist()), str(product.item())])
table(["value", "tangent", "gradient", "product"], rows)

# %% [markdown] id=meet-answer
# They are equal. Wherever you cut the chain, the tangent that comes from one side times the gradient that comes from
# the other is the same number: how fast the result changes when the start moves in this direction. At `a` it is
# gradient · direction; at `d` it is the tangent of the result.
#
# ## Faded example: the missing rules
#
# A dual number has to subtract, too, and divide. Fill in two blanks. (`hint("dual")` in a new cell helps.)

# %% id=faded tags=faded,answer,check
class Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def __sub__(self, other):
        return Dual(self.value - other.value, ...)

    def __truediv__(self, other):
        quotient = self.value / other.value
        return Dual(quotient, (self.tangent - quotient * ...) / other.value)


check.dual(Dual)

# %% [markdown] id=open1-intro
# ## Open exercise: a Jacobian by columns
#
# `f` takes a vector and returns a vector. Return its Jacobian, [outputs, inputs], by forward mode: one `jvp` for each
# column.

# %% id=open1 tags=open,answer,check
def by_columns(f, x):
    return ...


check.by_columns(by_columns)

# %% [markdown] id=open2-intro
# ## Open exercise: a Hessian-vector product, forward over reverse
#
# In lesson 12 you multiplied the Hessian by a vector with two backward passes. The Hessian is the Jacobian of the
# gradient. So one forward pass **through** `torch.func.grad(f)` does it, and the second backward pass goes away.

# %% id=open2 tags=open,answer,check
def forward_hvp(f, x, v):
    return ...


check.forward_hvp(forward_hvp)

# %% [markdown] id=tangent-intro
# It works the other way round as well. A tangent is computed by operations, which are recorded if an input requires
# grad, so a backward pass can start from the tangent: **reverse over forward**.

# %% id=tangent
x = torch.tensor(3.0, requires_grad=True)
with forward_ad.dual_level():
    dual = forward_ad.make_dual(x, torch.tensor(5.0))
    change = forward_ad.unpack_dual(dual ** 3).tangent
print("how fast x³ changes, 3x² · 5:", change.item())
print("the slope of that,    6x · 5:", torch.autograd.grad(change, x)[0].item())

# %% [markdown] id=cost-intro
# ## Which direction is cheaper?
#
# A Jacobian by columns and by rows. (`torch.func.jacfwd` and `jacrev` do the same.) The functions have 64 numbers in
# all, some of them inputs and the rest outputs, and the time is taken.

# %% id=ways
def by_jvp(f, v):
    return [torch.func.jvp(f, (v,), (direction,))[1] for direction in torch.eye(len(v))]


def by_vjp(f, v):
    value, pull = torch.func.vjp(f, v)
    return [pull(weights)[0] for weights in torch.eye(len(value))]

# %% id=took
from time import perf_counter


def took(jacobian, n):
    matrix, v, times = torch.rand(64 - n, n), torch.rand(n), []
    for _ in range(3):
        begin = perf_counter()
        jacobian(lambda v: torch.tanh(matrix @ v), v)
        times.append(perf_counter() - begin)
    return 1000 * min(times)


# %% id=cost
inputs = [2, 8, 16, 24, 32, 40, 48, 56, 62]
columns, rows = [took(by_jvp, n) for n in inputs], [took(by_vjp, n) for n in inputs]
print("2 inputs: columns are cheaper:", columns[0] < rows[0])
print("62 inputs: rows are cheaper:", rows[-1] < columns[-1])

# %% id=cost-picture
import matplotlib.pyplot as plt

plt.figure(figsize=(4.6, 3))
plt.plot(inputs, columns, "o-", color="#0072b2", label="by columns, forward")
plt.plot(inputs, rows, "s-", color="#d55e00", label="by rows, backward")
plt.xlabel("inputs, of 64 numbers")
plt.ylabel("milliseconds")
plt.ylim(bottom=0)
plt.legend()
plt.show()

# %% [markdown] id=cost-note
# A forward pass runs the whole program again, a backward pass only walks the graph that was kept: so the lines cross
# left of the middle. A loss is one output of millions of parameters, one row and millions of columns. That is why
# training goes backwards. Forward mode is for few inputs and many outputs, for one direction at a time, and where
# memory is short: it keeps no graph.

# %% [markdown] id=each-intro
# ## One gradient for each example
#
# `backward()` adds up the gradients of a batch. To see which examples disagree, differentiate the loss of **one**
# example, and let `torch.func.vmap` map this function over the batch. It runs once, on arrays with one more dimension
# that the function does not see. `in_dims` says which arguments have it: not `w`, but `x` and `y`.

# %% id=each
def loss(w, x, y):
    return (x @ w - y) ** 2


w = torch.tensor([1.0, -1.0])
xs, ys = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), torch.tensor([2.0, 1.0, 3.0])
each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)
print(each)
print("as a loop:", each.equal(torch.stack([torch.func.grad(loss)(w, x, y) for x, y in zip(xs, ys)])))
print("their sum:", each.sum(0), "and backward:", torch.func.grad(lambda w: ((xs @ w - ys) ** 2).sum())(w))

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# A product along a direction, a Jacobian by columns and by rows, a Hessian-vector product, and one gradient for each
# example. Does detach stop tangents there, too?

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    x, v = torch.tensor([2.0, 5.0]), torch.tensor([1.0, -1.0])
    def f(x):
        return torch.stack([x[0] * x[1], x.relu().sum(), x[1] * x[1]])
    print(torch.func.jvp(f, (x,), (v,)))
    print(torch.allclose(torch.func.jacfwd(f)(x), torch.func.jacrev(f)(x)))
    print(torch.func.jvp(torch.func.grad(lambda x: (x ** 3).sum()), (x,), (v,))[1])
    print(torch.func.jvp(lambda x: x * x.detach(), (x,), (v,))[1])
    print(torch.func.vmap(torch.func.grad(lambda x: (x * x).sum()))(torch.stack([x, v])))
    forward_ad = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        print(forward_ad.unpack_dual(dual * dual))

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# The same functions in both directions, made by running each: the shape of the Jacobian, and how many passes it takes.

# %% id=summary tags=summary
functions = {"v.sum()": lambda v: v.sum()[None], "v * v": lambda v: v * v,
             "v[0] * weights": lambda v: v[0] * torch.arange(9.0), "v[:2]": lambda v: v[:2]}


def passes(f, v):
    outputs, inputs = torch.func.jacrev(f)(v).shape
    fewer = "forward" if inputs < outputs else "backward" if outputs < inputs else "neither"
    return [f"{outputs} × {inputs}", str(inputs), str(outputs), fewer]


rows = [[name, *passes(f, torch.arange(1.0, 5.0))] for name, f in functions.items()]
table(["function of 4 numbers", "Jacobian", "forward passes", "backward passes", "fewer"], rows)

# %% [markdown] id=next
# One formula serves both directions: it says how a small change passes through an operation. Read from inputs to
# outputs it moves tangents, read the other way it moves gradients. In minigrad's repository, `docs/func.md`
# says how it makes one from the other.
