"""The key of lesson 5."""

from tests.lessons.answers.kinds import Key, Wrong

PARTS = """def train_in_parts(w, xs, ys, parts, optimizer):
    optimizer.zero_grad()
    for x, y in zip(xs.chunk(parts), ys.chunk(parts)):
        loss = ((w * x - y) ** 2).mean()
        (loss / parts).backward()
    optimizer.step()


check.parts(train_in_parts)"""


def build(result: str) -> str:
    """The cell of the three gradients."""
    return f"def build(x):\n    return {result}\n\n\ncheck.arrivals(build, 3, 12.0)"


def forgot(letter: str) -> str:
    """The cell of the four loops."""
    return f"forgot = {letter}\ncheck.forgot(forgot)"


PARTS_WRONG: tuple[Wrong, ...] = (
    (PARTS.replace("/ parts", "/ 1"), "w moved 2 times as far: the mean of a part divides by 4"),
    (PARTS.replace("    optimizer.step()", "        optimizer.step()"), "that is training on small batches"),
    (PARTS.replace("optimizer.step()", "return w"), "the optimizer has to step"),
    (PARTS.replace("        loss =", "        optimizer.zero_grad()\n        loss ="), "only the last part counts"),
    (PARTS.replace("/ parts", "/ len(x)"), "but its mean had already done part of that"),
    (PARTS.replace("/ parts", "/ len(xs)"), "but its mean had already done part of that"),
    (PARTS.replace("/ parts", "/ 3"), "w moved 0.333 times as far"),
    (PARTS.replace("/ parts", "/ pieces"), "raised NameError"),
    (PARTS.replace("    optimizer.step()", "    optimizer.zero_grad()\n    optimizer.step()"), "cleared just before"),
)
BUILD_WRONG: tuple[Wrong, ...] = (
    (build("x**3"), "x.grad is 12, but 1 gradient arrived"),
    (build("x * x * 3"), "x.grad is 12, but 2 gradients arrived"),
    (build("x * 5"), "1 gradient arrived. One arrives for each time that x itself is an input"),
    (build("(lambda b: b * b * b)(x * 1)"), "are added up at y, and reach x as one"),
    (build("x.expand(3) * 4"), "build must return one number"),
    (build("torch.tensor(12.0, requires_grad=True)"), "no gradient arrived at x"),
    (build("x + x + x"), "3 gradients arrived, but their sum is 3"),
    (build("x * x * x * x"), "4 gradients arrived; 3 should arrive"),
    (build("x.detach() * 12"), "must return a tensor that requires grad"),
)
FORGOT_WRONG: tuple[Wrong, ...] = (
    (forgot('"a"'), "It creeps down and never turns back"),
    (forgot('"b"'), "its steps are too long"),
    (forgot('"d"'), "It jumps from batch to batch and settles"),
    (forgot('"e"'), "Write one of a, b, c, d"),
)

KEY = Key(
    recall={"q1.2": "False", "q3.2": "2", "q3.4": "True", "q4.1": "1", "q4.4": "True"},
    recall_wrong={
        "q1.2": (("True", "a copy is a new tensor of my own"),),
        "q3.2": (("0", "the integer is always 0"), ("1", "it counts the inputs: c is the first")),
        "q3.4": (("False", "the graph holds my tensors, and one of them is gone"),),
        "q4.1": (("4", "once for each path that leads to it"),),
        "q4.4": (("False", "grad is backward by another name"),),
    },
    predict={"5.1": "1", "5.2": "6", "5.3": '"None"', "5.4": "4", "5.5": "0.6"},
    predict_wrong={
        "5.1": (("2", "each edge adds on its own"),),
        "5.2": (("3", "g is a copy of what x.grad was"),),
        "5.3": (("0", "zero_grad leaves zeros"),),
        "5.4": (("1", "the mean of the parts is the mean of the whole"),
                ("0.25", "each part is a quarter of the batch"), ("2", "divides by the size of its part")),
        "5.5": (("0.3", "without zero_grad, only the last gradient counts"),
                ("0.7", "the gradient is doubled each time")),
    },
    why={"5.1": "a", "5.2": "c", "5.3": "b", "5.4": "a", "5.5": "a"},
    exercises={"faded": PARTS, "open1": build("x * x * x"), "open2": forgot('"c"')},
    exercises_wrong={"faded": PARTS_WRONG, "open1": BUILD_WRONG, "open2": FORGOT_WRONG},
)
