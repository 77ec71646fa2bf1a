"""The source of lesson 15. `python -m minigrad_lessons.build 15` makes the notebook."""

# %% [markdown] id=title
# # Lesson 15: What a compiler does with a step
#
# A training step does the same operations thousands of times. Each time Python calls them one by one, and autograd
# makes a graph, walks it and throws it away. `torch.compile` writes the operations down once, and then runs the list.
# In minigrad you can read that list.
#
# Run the next cell (Shift+Enter), click the picture, then press →, and count what happens in one small step.

# %% id=setup tags=opening
import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons import check, hint, predict, recall, reveal, same_in_torch, table
from minigrad_widgets import Inspector, inspect

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
def step(x):
    w.grad = None
    loss = (torch.relu(x * w) * 2.0).sum()
    loss.backward()
    return loss

with record() as eager:
    step(torch.tensor([1.0, -1.0, 2.0]))
Inspector(eager)

# %% [markdown] id=still
# If you had to compute `w.grad` with NumPy, for three numbers and nothing else: how many lines would you write?
#
# This lesson takes about 40 minutes.
#
# *If nothing runs where you read this, here is a still picture:*
#
# ![The inspector, before the first step](attachment:still.png)

# %% [markdown] id=recall-intro tags=section:recall
# ## Recall
#
# From lesson 11, from memory.

# %% id=recall tags=recall,answer
recall("q11.1")
recall("q11.2")
recall("q11.3")
recall("q11.4")
recall("q11.5")

# %% [markdown] id=belief-lines tags=belief
# ## A belief: a compiled function is the same function, only faster
#
# > "Each call runs each of its lines."
#
# Put a `print` into the step, and call it four times:

# %% id=belief-lines-run tags=refutation
@torch.compile(backend="numpy")
def noisy(x):
    print("    Python runs this line")
    return step(x)

for call in (1, 2, 3, 4):
    print("call", call)
    noisy(torch.tensor([1.0, -1.0, 2.0]))

# %% [markdown] id=lines
# The first call was ordinary. In the second, the tensors noted each operation that was done to them: the step was
# **traced**. From the third on, Python does not run the function at all. What runs is the list.
#
# PyTorch traces the Python code itself. It knows that `print` has an effect, so it splits the function there and
# prints every time. JAX traces as minigrad does, and prints once: it has no ordinary first call.
#
# This is the list, with the line that asked for each statement:

# %% id=source
quick = torch.compile(step, backend="numpy")
for number in range(3):
    quick(torch.tensor([1.0, -1.0, float(number)]))
print(quick.source)

# %% [markdown] id=source-note
# No node, no queue, no `requires_grad`: the forward and the backward pass are one list of NumPy calls. `x` and `w` are
# looked up at each call; the numbers in them may change. `t4`, the loss, and `w_grad` are new arrays at each call.
#
# minigrad traces the whole step. PyTorch usually compiles the model and the loss, and makes the backward program from
# them; a `backward()` in the function ends the graph.

# %% [markdown] id=belief-same tags=belief
# ## A second belief: a compiler translates
#
# > "Each operation of the step becomes one statement of the program."
#
# A compiler works in **passes**. Each makes one list out of another. Here is how long the list is after each:

# %% id=belief-same-run tags=refutation
for name, statements in quick.passes:
    print(f"{len(statements):3}  {name}")

# %% [markdown] id=passes
# Two passes shorten this list. **Dead code**, whose results nobody reads, is removed. Copies are **forwarded**: a
# reader of a copy reads the original. In other steps **common subexpressions**, computed before, are removed too.
#
# The other passes shorten nothing here. Each value gets *one name*. A *number* that never changes is put in as a
# number. *Products* of few rows, *masks* and *sums* are written in a faster form: the sum above is a `dot`.

# %% [markdown] id=passes-intro
# Open the program, and go through the passes with →. What a pass removes is struck through. Point at a statement: the
# line and the op that asked for it are lit.
#
# - Whose statements does dead code remove?
# - Which op has no statement from the start?

# %% id=passes-open
inspect(quick)

# %% [markdown] id=memory-intro
# Memory is planned too: two values that are never needed at the same time share a place. Below, for 1,000 rows of three
# numbers, a row is a value, a column is a statement, and the number on the left is the place:

# %% id=memory
wide = torch.compile(step, backend="numpy")
for _ in range(2):
    wide(torch.ones(1000, 3))
print(wide.memory)

# %% [markdown] id=predict-intro tags=section:predict
# ## Predict, then run
#
# Choose your answer in the first cell, run the second, then choose a reason.

# %% id=p1 tags=predict,answer
# The program has 7 statements. A line is added to the step, before the loss:
#     (x * w).exp().sum()
# Nobody reads its result. How many statements does it add to the program?
predict("15.1")

# %% id=r1 tags=reveal,answer
def longer(x):
    (x * w).exp().sum()
    return step(x)

compiled = torch.compile(longer, backend="numpy")
for number in range(3):
    compiled(torch.tensor([1.0, -1.0, float(number)]))
count = torch.compile.explain
reveal("15.1", count(compiled).statements - count(quick).statements)

# %% id=p2 tags=predict,answer
# One product, written twice:
#     loss = (x * w).sum() + (x * w).sum()
# Forward and backward pass together: how many statements of the program multiply?
predict("15.2")

# %% id=r2 tags=reveal,answer
@torch.compile(backend="numpy")
def doubled(x):
    w.grad = None
    loss = (x * w).sum() + (x * w).sum()
    loss.backward()
    return loss

for number in range(3):
    doubled(torch.tensor([1.0, -1.0, float(number)]))
reveal("15.2", doubled.source.count("multiply("))

# %% id=p3 tags=predict,answer
# `scaled` returns x * 2. It is called three times with 3 numbers, three times with 5, and once more with 3.
# How many programs are there in the end?
predict("15.3")

# %% id=r3 tags=reveal,answer
@torch.compile(backend="numpy")
def scaled(x):
    return x * 2

for size in (3, 3, 3, 5, 5, 5, 3):
    scaled(torch.ones(size))
reveal("15.3", torch.compile.explain(scaled).variants)

# %% id=p4 tags=predict,answer
# A condition on data:
#     def bent(x):
#         return x * 2 if x.sum().item() > 0 else x
# Can this become one list of statements?
predict("15.4")

# %% id=r4 tags=reveal,answer
def becomes_a_program(function):
    compiled = torch.compile(function, backend="numpy", fullgraph=True)
    try:
        for number in range(3):
            compiled(torch.tensor([1.0, -1.0, float(number)]))
    except torch.compiler.GraphBreak:
        return False
    return True

reveal("15.4", becomes_a_program(lambda x: x * 2 if x.sum().item() > 0 else x))

# %% [markdown] id=guards
# A program relies on facts that were true when it was made: a shape, a flag. Each such fact is a **guard**, and is
# checked before each run; if one has changed, the step is traced again. `fullgraph=True` asks for an error where there
# can be no program. Without it, the step runs as an ordinary function, after one warning.
#
# PyTorch keeps fewer programs: at the second shape it makes the size a variable. For the sizes 3, 5 and 7 it has two
# programs, where minigrad has three.

# %% id=why
print(quick.why)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## What is left out
#
# Go through the ordinary step once more, with the program above beside it.
#
# - Which events have no statement in the program?
# - `SumBackward0` computes something: what, and where is it in the program?
# - When does this step let go of what it saved, and what takes the place of that in the program?

# %% id=inspector tags=inspector
Inspector(eager, step=eager.steps("backward")[0])

# %% [markdown] id=language
# ## Passes of your own
#
# A pass is a small function. Here is a language to write one for. A statement is a name, a function and what it reads;
# a program is a list of statements.

# %% id=worked tags=worked,section:exercises
FUNCTIONS = {"mul": lambda a, b: a * b, "add": lambda a, b: a + b, "copy": lambda a: a}
def run(program, values):
    for name, function, *reads in program:
        values = {**values, name: FUNCTIONS[function](*[values[each] for each in reads])}
    return values

def without_copies(program):
    same, kept = {}, []
    for name, function, *reads in program:
        reads = [same.get(each, each) for each in reads]
        if function == "copy":
            same[name] = reads[0]
        else:
            kept.append((name, function, *reads))
    return kept

# %% [markdown] id=worked-note
# `same` knows of each copy what it is a copy of. A reader of the copy reads that instead, so the copy is not needed.

# %% id=worked-run
program = [("a", "mul", "x", "w"), ("b", "copy", "a"), ("c", "copy", "b"), ("d", "add", "c", "b")]
shorter = without_copies(program)
print(shorter)
values = {"x": torch.tensor(3.0), "w": torch.tensor(2.0)}
print(run(program, values)["d"].item(), run(shorter, values)["d"].item())

# %% [markdown] id=faded-intro
# ## Faded example: common subexpressions
#
# The first statement that computes something is kept. A later statement that computes the same is dropped; its readers
# use the first one. What makes two statements the same? Two blanks. (`hint("repeats")` in a new cell
# helps.)

# %% id=faded tags=faded,answer,check
def without_repeats(program):
    same, first, kept = {}, {}, []
    for name, function, *reads in program:
        reads = [same.get(each, each) for each in reads]
        expression = ...
        if expression in first:
            same[name] = ...
        else:
            first[expression] = name
            kept.append((name, function, *reads))
    return kept


check.repeats(without_repeats)

# %% [markdown] id=open1-intro
# ## Open exercise: dead code
#
# `results` is a set of names. Return the statements that are needed to compute these, in their order, and no other. A
# statement that only dead statements read is dead, too.

# %% id=open1 tags=open,answer,check
def without_dead_code(program, results):
    return ...


check.dead_code(without_dead_code)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# `backend="eager"` lets PyTorch trace and guard, and run its list with ordinary operations: its own code generator
# needs a C compiler. What becomes one list, and what does not?

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    backend = "eager" if torch.__name__ == "torch" else "numpy"
    w = torch.tensor([1.0, 2.0, 3.0])
    functions = {"relu(x * w)": lambda x: torch.relu(x * w), "if on a size": lambda x: x * 2 if len(x) > 2 else x,
                 "if on a number of x": lambda x: x * 2 if x.sum().item() > 0 else x}
    for name, function in functions.items():
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        try:
            print(name, [compiled(torch.tensor([1.0, -1.0, float(i)])).tolist() for i in range(3)])
        except RuntimeError:
            print(name, "cannot be one list")

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# A step is compiled and called three times, then something changes. Is it traced again? Made by running.

# %% id=summary tags=summary
def traced_again(change):
    w = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: (x * w).detach(), backend="numpy")
    for _ in range(3):
        compiled(torch.ones(3))
    compiled(change(w))
    return "yes" if torch.compile.explain(compiled).variants > 1 else "no"

changes = {"other numbers in x": lambda w: torch.zeros(3), "another shape of x": lambda w: torch.ones(2, 3),
           "another dtype of x": lambda w: torch.ones(3, dtype=torch.float64),
           "other numbers in w": lambda w: [w.detach().fill_(2.0), torch.ones(3)][1],
           "w needs no gradient": lambda w: [w.requires_grad_(False), torch.ones(3)][1]}
table(["what changes", "traced again"], [[name, traced_again(change)] for name, change in changes.items()])

# %% [markdown] id=next
# A compiler traces a step once, shortens the list, plans its memory, and runs it as long as its guards hold. What it
# bakes in is what Python decided: shapes (PyTorch leaves a size open once it has seen a second one), flags, the path
# through each `if`. What it leaves open is what tensors hold.
#
# `docs/compiler.md` walks through the source of minigrad's. In lesson 16 you build the engine whose work is left out
# here.
