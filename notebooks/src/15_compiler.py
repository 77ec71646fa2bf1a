"""The source of lesson 15. `python -m minigrad_lessons.build 15` makes the notebook."""

# %% [markdown] id=title
# # Lesson 15: What a compiler does with a step
#
# A training step does the same operations thousands of times. Each time, Python calls them one by one, and autograd
# builds a graph, walks it and throws it away. `torch.compile` writes the operations down once, and from then on runs
# the list. In minigrad you can read that list.
#
# Run the next cell (Shift+Enter), press **next →**, and watch how much happens in one small step.

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
# If you had to compute `w.grad` with NumPy, for three numbers and nothing else, how many lines would you write?
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
# > "Every call runs all of its lines."
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
# The first call ran the function as usual. In the second, the step was **traced**: the tensors wrote down every
# operation on them. From the third call on, Python does not run the function at all. It runs the list.
#
# PyTorch traces the Python code itself. It sees the `print`, splits the function there, and prints at every call. JAX
# traces as minigrad does, but its first call is traced, so it prints once.
#
# This is the list, with the op and the line that each statement comes from:

# %% id=source
quick = torch.compile(step, backend="numpy")
for number in range(3):
    quick(torch.tensor([1.0, -1.0, float(number)]))
print(quick.source)

# %% [markdown] id=source-note
# There is no node, no queue and no `requires_grad`: the forward and the backward pass are one list of NumPy calls.
# `k0_0` and `k2_0` are the constants 0 and 2, `ones3` is an array of three ones. `x` and `w` are looked up at each
# call, so the numbers in them may change. `t4` (the loss) and `w_grad` are new arrays at each call.
#
# minigrad traces the whole step. PyTorch usually compiles the model and the loss, and derives the backward program
# from them.

# %% [markdown] id=belief-same tags=belief
# ## A second belief: a compiler only translates
#
# > "Each operation of the step becomes one statement of the program."
#
# A compiler works in **passes**: each turns one list of statements into another. This is how long the list is after
# each pass:

# %% id=belief-same-run tags=refutation
for name, statements in quick.passes:
    print(f"{len(statements):3}  {name}")

# %% [markdown] id=passes
# Two passes shorten this list. **Dead code**, which computes what nobody reads, is removed. **Copies** are left out:
# here the product is written into `w_grad` at once. In other steps **common subexpressions**, which were computed
# before, are removed too.
#
# The other passes make nothing shorter here. Each value gets *one name*. An array that is filled with one *number* is
# replaced by that number. *Products* of few rows, *masks* and *sums* get a faster form: the sum above became a `dot`.

# %% [markdown] id=passes-intro
# Open the program and press **next →** to go through its passes. What a pass removes is struck through. Point at a
# statement, and the line and the op that it comes from light up.
#
# - Dead code removes two statements. Which ops do they belong to?
# - Which op has no statement even before the first pass?

# %% id=passes-open
inspect(quick)

# %% [markdown] id=memory-intro
# Memory is planned too: values that are never needed at the same time share a place. Below, for 1,000 rows of three
# numbers, each line is a value and each column a statement. The numbers on the left say where the value begins, and how
# many bytes it takes. A bar may begin where another ends: that statement writes its result over what it reads.

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
# The program has 7 statements. Now a line is added to the step, before the loss:
#     (x * w).exp().sum()
# How many statements does this add to the program?
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
# The same product is written twice:
#     loss = (x * w).sum() + (x * w).sum()
# In the forward and the backward pass together, how many statements of the program multiply?
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
# `scaled` returns x * 2. Three calls pass a tensor of 3 numbers, three pass one of 5, and the last one
# passes 3 again.
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
# This condition depends on data:
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
# A program relies on facts that held when it was traced. Each is a **guard**, checked before every run; if one fails,
# the step is traced again. `fullgraph=True` asks for an error where no program is possible. Without it, such a step
# runs as an ordinary function, after one warning.
#
# At the second shape, PyTorch makes the size a variable. For the sizes 3, 5 and 7 it has two programs, and minigrad has
# three.
#
# Shapes and dtypes of arguments are always checked. The other guards of `quick` are:

# %% id=why
print(quick.why)

# %% [markdown] id=inspector-intro tags=section:inspector
# ## What is left out
#
# Go through the ordinary step once more, and compare it with the program above.
#
# - Which events have no statement in the program?
# - `SumBackward0` computes a gradient. What is it, and where is it in the program?
# - When does this step release what it saved? What does the program do instead?

# %% id=inspector tags=inspector
Inspector(eager, step=eager.steps("backward")[0])

# %% [markdown] id=language
# ## Passes of your own
#
# A pass is a small function. Here is a small language to write one for: a statement is a name, a function and the names
# that it reads, and a program is a list of statements.

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
# `same` holds, for each copy, the value that it is a copy of. Whoever reads the copy now reads that value instead, so
# the copy is not needed.

# %% id=worked-run
program = [("a", "mul", "x", "w"), ("b", "copy", "a"), ("c", "copy", "b"), ("d", "add", "c", "b")]
shorter = without_copies(program)
print(shorter)
values = {"x": torch.tensor(3.0), "w": torch.tensor(2.0)}
print(run(program, values)["d"].item(), run(shorter, values)["d"].item())

# %% [markdown] id=faded-intro
# ## Faded example: common subexpressions
#
# The first statement that computes something is kept. A later one that computes the same is dropped, and its readers
# read the first one. When do two statements compute the same? Fill in two blanks. (`hint("repeats")` in a new cell
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
# `results` is a set of names. Return the statements that are needed to compute them, in their order, and no others. A
# statement that only dead statements read is dead too.

# %% id=open1 tags=open,answer,check
def without_dead_code(program, results):
    return ...


check.dead_code(without_dead_code)

# %% [markdown] id=torch-intro tags=section:torch
# ## The same thing in PyTorch
#
# With `backend="eager"`, PyTorch traces and guards, but runs its list with ordinary operations: its own code generator
# needs a C compiler. Which functions become one list, and which do not?

# %% id=torch tags=torch
@same_in_torch
def program(torch):
    backend = "eager" if torch.__name__ == "torch" else "numpy"
    w = torch.tensor([1.0, 2.0, 3.0])
    functions = {"relu(x * w)": lambda x: torch.relu(x * w),
                 "if on the size of x": lambda x: x * 2 if len(x) > 2 else x,
                 "if on a number in x": lambda x: x * 2 if x.sum().item() > 0 else x}
    for name, function in functions.items():
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        try:
            print(name, [compiled(torch.tensor([1.0, -1.0, float(i)])).tolist() for i in range(3)])
        except RuntimeError:
            print(name, "cannot be one list")

# %% [markdown] id=summary-intro tags=section:summary
# ## Summary
#
# A function is compiled and called three times, then something changes. Is it traced again? This table was made by
# running each line.

# %% id=summary tags=summary
def traced_again(change):
    w = torch.ones(3, requires_grad=True)
    compiled = torch.compile(lambda x: (x * w).detach(), backend="numpy")
    for _ in range(3):
        compiled(torch.ones(3))
    compiled(change(w))
    return "yes" if torch.compile.explain(compiled).variants > 1 else "no"

changes = {"other numbers in x": lambda w: torch.zeros(3),
           "another shape of x": lambda w: torch.ones(2, 3),
           "another dtype of x": lambda w: torch.ones(3, dtype=torch.float64),
           "other numbers in w": lambda w: [w.detach().fill_(2.0), torch.ones(3)][1],
           "w needs no gradient": lambda w: [w.requires_grad_(False), torch.ones(3)][1]}
table(["what changes", "traced again"], [[name, traced_again(change)] for name, change in changes.items()])

# %% [markdown] id=next
# A compiler traces a step once, shortens the list, plans its memory, and runs it as long as its guards hold. What
# Python decided is fixed: flags, the path through each `if`, and shapes (PyTorch leaves a size open once it has seen a
# second one). What the tensors hold may change.
#
# `docs/compiler.md` walks through the source of minigrad's compiler. In lesson 16 you build the engine that a compiled
# step does without.
