"""The key of lesson 4."""

from tests.lessons.answers.kinds import Key, Wrong

WALK = """def walk(node, grad, needs, waiting):
    results = node(grad)
    if not isinstance(results, tuple):
        results = (results,)
    for (below, _), result in zip(node.next_functions, results):
        if below is None:
            continue
        waiting[below] = waiting.get(below, 0) + result
        needs[below] -= 1
        if needs[below] == 0:
            walk(below, waiting[below], needs, waiting)


check.waiting_walk(walk)"""

JACOBIAN = """def jacobian(y, x):
    rows = []
    for v in torch.eye(3):
        x.grad = None
        y.backward(v, retain_graph=True)
        rows.append(x.grad)
    return rows


check.jacobian(jacobian)"""

NINE = ("x + y", "x * y", "x - y", "-x", "x * 5", "x.exp()", "x.clone()", "(x * y) + x", "(x + y).sum()")


def nine(raising: str) -> str:
    """The cell of the nine second calls; `raising` has one letter for each, y or n."""
    answers = {code: letter == "y" for code, letter in zip(NINE, raising, strict=True)}
    return (f"answers = {answers!r}\ncheck.second_backward(answers, x=torch.tensor(2.0, requires_grad=True), "
            "y=torch.tensor(3.0, requires_grad=True))")


WALK_WRONG: tuple[Wrong, ...] = (
    (WALK.replace("needs[below] == 0", "True"), "it ran before its last gradient had arrived"),
    (WALK.replace("needs[below] == 0", "needs[below] == 1"), "only 1 of 3 nodes ran"),
    (WALK.replace("-= 1", "-= 0"), "The others still wait"),
    (WALK.replace("walk(below, waiting[below]", "walk(below, result"), "not the last part to arrive"),
    (WALK.replace("needs[below] == 0", "needs[below] <= 1"), "each time with a partial sum"),
    (WALK.replace("walk(below,", "walk(node,"), "not with the same one"),
    (WALK.replace("walk(below, waiting[below]", "walk(below, waiting[_]"), "the walk raised KeyError"),
)
JACOBIAN_WRONG: tuple[Wrong, ...] = (
    ("def jacobian(y, x):\n    return [y.backward(v, retain_graph=True) for v in torch.eye(3)]\n\n\n"
     "check.jacobian(jacobian)", "backward() returns None"),
    ("def jacobian(y, x):\n    return [torch.autograd.grad(v, x, retain_graph=True) for v in y]\n\n\n"
     "check.jacobian(jacobian)", "torch.autograd.grad returns a tuple"),
    (JACOBIAN.replace("x.grad = None", "pass"), "all rows are equal to the sum of the rows"),
    (JACOBIAN.replace("x.grad = None", "pass").replace("append(x.grad)", "append(x.grad.clone())"),
     "each row includes the rows above it"),
    (JACOBIAN.replace("x.grad = None", "if x.grad is not None: x.grad.zero_()"), "all rows are equal to the last"),
    (JACOBIAN.replace(", retain_graph=True", ""), "freed what the nodes had saved"),
    (JACOBIAN.replace("v, retain_graph", "retain_graph"), "use gradient= to choose one"),
    (JACOBIAN.replace("backward(v,", "backward(torch.ones(3),"), "all rows are equal to the sum of the rows"),
    (JACOBIAN.replace("return rows", "return torch.stack(rows).T"), "these are the columns"),
    (JACOBIAN.replace("return rows", "return sum(rows)"), "the gradient of y.sum()"),
    (JACOBIAN.replace("return rows", "print(rows)"), "return the list of the rows"),
    (JACOBIAN.replace("eye(3)", "eye(2)"), "three of them, whatever the shape of x is"),
    (JACOBIAN.replace("eye(3)", "eye(3) * 2"), "v has a 1 at place i"),
)
NINE_WRONG: tuple[Wrong, ...] = (
    (nine("yyyyyyyyy"), "the first backward destroys the graph"),
    (nine("nnnnnnnnn"), "the graph is still there, so nothing raises"),
    (nine("nynnynnyn"), "only a product saves anything"),
    (nine("nynnnynyn"), "a plain number need not be saved"),
    (nine("nynnyynnn"), "only the last operation counts"),
    (nine("nynnnnnyn"), "with one input there is nothing to save"),
)

KEY = Key(
    recall={"q0.5": "13", "q2.1": "True", "q2.4": "[True, False, True]", "q3.3": "1", "q3.5": "2"},
    recall_wrong={
        "q0.5": (("5", "through the factor x"), ("8", "through g"), ("4", "the product of the slopes")),
        "q2.1": (("False", "any tensor of numbers can require grad"),),
        "q2.4": (("[True, False, False]", "retains_grad is False for every leaf"),
                 ("[False, True, True]", "a result stays a result")),
        "q3.3": (("2", "each input has a node of its own"), ("0", "x is a leaf and has no node")),
        "q3.5": (("1", "a walk calls each node once"),),
    },
    predict={"4.1": "3", "4.2": "True", "4.3": "[2, 40]", "4.4": "False", "4.5": '"None"'},
    predict_wrong={
        "4.1": (("7", "once for each path that leads to it"), ("2", "only operations run")),
        "4.2": (("False", "is for scalars, of shape [] only"),),
        "4.3": (("[2, 4]", "only says where to start"), ("[22, 44]", "y becomes one number first, by summing"),
                ("[20, 40]", "the numbers are multiplied into one factor")),
        "4.4": (("True", "the first backward destroys the graph"),),
        "4.5": (("12", "grad is backward by another name"),),
    },
    why={"4.1": "b", "4.2": "c", "4.3": "a", "4.4": "a", "4.5": "b"},
    exercises={"faded": WALK, "open1": JACOBIAN, "open2": nine("nynnyynyn")},
    exercises_wrong={"faded": WALK_WRONG, "open1": JACOBIAN_WRONG, "open2": NINE_WRONG},
)
