"""The key of lesson 9."""

from itertools import zip_longest

from tests.lessons.answers.kinds import Key, Wrong


def function(name: str, forward: str, backward: str, check: str) -> str:
    """A cell with a Function; `forward` and `backward` are heads and bodies, the lines of a body set off by `;`."""
    def method(line: str) -> str:
        head, *body = line.split("; ")
        return f"    @staticmethod\n    def {head}:\n" + "".join(f"        {part}\n" for part in body)

    return f"class {name}(torch.autograd.Function):\n{method(forward)}\n{method(backward)}\n\ncheck.{check}({name})"


def square(save: str = "ctx.save_for_backward(x)", back: str = "x, = ctx.saved_tensors; return grad * 2 * x") -> str:
    """The cell of Square."""
    return function("Square", f"forward(ctx, x); {save}; return x * x", f"backward(ctx, grad); {back}", "square")


def matmul(back: str) -> str:
    """The cell of MatMul."""
    return function("MatMul", "forward(ctx, a, b); ctx.save_for_backward(a, b); return a @ b",
                    f"backward(ctx, grad); a, b = ctx.saved_tensors; return {back}", "matmul")


def rounded(forward: str, back: str) -> str:
    """The cell of RoundThrough."""
    return function("RoundThrough", f"forward(ctx, x); ctx.save_for_backward(x); return {forward}",
                    f"backward(ctx, grad); return {back}", "straight_through")


def returns(**other: str) -> str:
    """The cell of the eight returns: the right words, or others for a, b, c and so on."""
    right = dict(zip("abcdefgh", ("number", "fine", "fine", "fine", "number", "shape", "fine", "type"), strict=True))
    codes = ("grad", "grad, grad", "grad, None", "grad, grad, None", "grad, grad, grad", "grad, grad.sum()",
             "grad, torch.ones(3, 2)", "grad, 1.0")
    answers = dict(zip(codes, (right | other).values(), strict=True))
    return f"answers = {answers!r}\ncheck.returns(answers)"


def marks(*other: object) -> str:
    """The cell of the six marks: the right answers, or others in their places; None leaves one right."""
    right = (1, 2, True, False, 18, "error")
    said = [given if put is None else put for given, put in zip_longest(right, other)]
    codes = ("in place", "in place, mark_dirty", "mask", "mask, mark_non_differentiable", "cube",
             "cube, once_differentiable")
    return f"answers = {dict(zip(codes, said, strict=True))!r}\ncheck.marks(answers)"


SQUARE_WRONG: tuple[Wrong, ...] = (
    (square(back="x, = ctx.saved_tensors; return 2 * x"), "the incoming gradient is lost"),
    (square(save="ctx.save_for_backward(x * x)"), "what was saved is the result"),
    (square(back="x, = ctx.saved_tensors; return grad * x"), "the factor 2 is missing"),
    (square(back="x, = ctx.saved_tensors; return grad"), "passes grad on unchanged"),
    (square(save="ctx.x = x", back="return grad * 2 * ctx.x"), "kept as an attribute of ctx"),
    (square(save="ctx.save_for_backward(x.clone())"), "not a copy without history"),
    (square(back="x = ctx.saved_tensors; return grad * 2 * x[1]"), "IndexError"),
    (square(save="ctx.save_for_backward(x, x)"), "forward must save exactly one tensor"),
    (square(back="x, = ctx.saved_tensors; return 2.0"), "backward must return a tensor"),
    (square(back="x, = ctx.saved_tensors; return grad * 2"), "x is missing"),
    (square(back="x, = ctx.saved_tensors; return grad * 2 + x"), "[6, -20] is right"),
    (square(back="x, = ctx.saved_tensors; return grad * 2 * x, grad"), "so backward returns one gradient"),
    (square(back="x, = ctx.saved_tensors; return (grad * 2 * x).sum()"), "must have the shape of x"),
    (square().replace("check.square(Square)", "check.square(Square.apply)"), "pass the class itself"),
)
MATMUL_WRONG: tuple[Wrong, ...] = (
    (matmul("a.T @ grad, grad @ b.T"), "in the wrong order"),
    (matmul("grad @ b, a @ grad"), "one factor is transposed"),
    (matmul("grad @ b.T"), "so backward returns two gradients"),
    (matmul("[grad @ b.T, a.T @ grad]"), "A list counts as one"),
    (matmul("b.T, a.T"), "a product of grad with b transposed"),
    (matmul("torch.ones_like(grad) @ b.T, a.T @ torch.ones_like(grad)"), "the incoming gradient is lost"),
    (matmul("grad * b, grad * a"), "multiplies entry by entry"),
    (matmul("grad @ b.T, grad.T @ a"), "the gradient of b came out transposed"),
    (matmul("b @ grad.T, a.T @ grad"), "the gradient of a came out transposed"),
    (matmul("grad @ b.T, None"), "b gets no gradient"),
)
RETURNS_WRONG: tuple[Wrong, ...] = (
    (returns(d="number"), "an extra None is an extra gradient"),
    (returns(c="type"), "None is not a gradient, so it is a wrong type"),
    (returns(f="fine"), "one number is broadcast to the shape of the input"),
    (returns(g="shape"), "a gradient must have exactly the shape of its input"),
    (returns(h="fine"), "a number is a tensor with one number in it"),
    (returns(a="fine"), "an input for which nothing is returned gets None"),
    (returns(e="fine"), "extra gradients are ignored"),
    (returns(b="good"), "good is not one of fine, number"),
    (returns(f="number"), "put this return into a Function of your own"),
)
ROUND_WRONG: tuple[Wrong, ...] = (
    (rounded("x.round()", "grad * 0"), "zero is the true derivative of rounding"),
    (rounded("x.round()", "torch.ones_like(grad)"), "ones, whatever came in"),
    (rounded("x.round()", "grad.round()"), "the gradient was rounded too"),
    (rounded("x.round()", "grad * ctx.saved_tensors[0]"), "x times the gradient"),
    (rounded("x", "grad"), "forward returns [0.2, 1.7, -2.6]"),
    (rounded("x.round()", "None"), "no gradient arrives"),
    (rounded("x.round()", "1.0"), "backward must return a tensor"),
    (rounded("x.round().int()", "grad"), "Integers cannot require grad"),
)
MARKS_WRONG: tuple[Wrong, ...] = (
    (marks(2), "what forward does to it is recorded"),
    (marks("error"), "a change that is not marked is found"),
    (marks(None, 1), "only counts the version up"),
    (marks(None, "error"), "forbids its use"),
    (marks(None, None, False), "never requires grad"),
    (marks(None, None, None, True), "every output of apply requires grad"),
    (marks(None, None, None, None, 30), "whatever backward does is differentiated"),
    (marks(None, None, None, None, "error"), "is found out"),
    (marks(None, None, None, None, None, 30), "makes the second derivative right"),
    (marks(None, None, None, None, None, 18), "a note for readers"),
    (marks(7), "write this Function in a cell of your own"),
    (marks("fine"), 'in place: a gradient is a number, or "error"; not'),
    (marks(True), 'in place: a gradient is a number, or "error"; not True'),
    (marks(None, None, 1.0), "mask: requires_grad is True or False, not 1"),
    ("check.marks([1, 2])", "pass the dictionary with its 6 keys"),
)

KEY = Key(
    recall={"q8.1": "9", "q8.3": "True", "q7.2": "True", "q7.3": "6", "q5.1": "6"},
    recall_wrong={
        "q8.1": (("1", "detach makes a copy"),),
        "q8.3": (("False", "so it never causes an error"),),
        "q7.2": (("False", "whatever is made under no_grad has requires_grad False"),),
        "q7.3": (("12", "the gradient goes back through y too"), ('"None"', "stops the gradients of all that")),
        "q5.1": (("3", "backward overwrites"),),
    },
    predict={"9.1": "2", "9.2": "2", "9.3": "60", "9.4": "False", "9.5": "False"},
    predict_wrong={
        "9.1": (("0", "the inputs are detached on the way in"), ("3", "forward builds the graph"),
                ("1", "only the input itself says True")),
        "9.2": (("1", "one for each tensor"), ("3", "ctx counts too")),
        "9.3": (("6", "ctx keeps the value that x had"), ('"error"', "a change is noticed, however")),
        "9.4": (("True", "with create_graph backward is recorded"),),
        "9.5": (("True", "apply returns what forward returned"),),
    },
    why={"9.1": "b", "9.2": "c", "9.3": "a", "9.4": "b", "9.5": "c"},
    exercises={"faded": square(), "open1": matmul("grad @ b.T, a.T @ grad"), "open2": returns(),
               "open3": rounded("x.round()", "grad"), "open4": marks()},
    exercises_wrong={"faded": SQUARE_WRONG, "open1": MATMUL_WRONG, "open2": RETURNS_WRONG, "open3": ROUND_WRONG,
                     "open4": MARKS_WRONG},
)
