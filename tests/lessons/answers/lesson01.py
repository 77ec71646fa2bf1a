"""The key of lesson 1."""

from tests.lessons.answers.kinds import Key, Wrong

TWELVE = ("torch.ones(2)", "torch.ones(2, requires_grad=True)", "w * 2", "data * 2", "w.clone()", "w.detach()", "w[0]",
          "w.sum()", "torch.ones_like(w)", "layer.weight", "layer(x)", "(w * 2).detach().requires_grad_()")


def twelve(leaves: str) -> str:
    """The cell of the twelve tensors; `leaves` has one letter for each, y or n."""
    answers = {code: letter == "y" for code, letter in zip(TWELVE, leaves, strict=True)}
    return f"answers = {answers!r}\ncheck.twelve(answers, w=w, data=data, layer=layer, x=x)"


def build(result: str) -> str:
    """The cell of the result without arithmetic."""
    return f"def build(w):\n    return {result}\n\n\ncheck.non_leaf(build)"


def ways(first: str, second: str) -> str:
    """The cell of the two ways to a leaf."""
    return (f"def first_way(y):\n    return {first}\n\n\ndef second_way(y):\n    return {second}\n\n\n"
            "check.two_ways(first_way, second_way)")


TWELVE_WRONG: tuple[Wrong, ...] = (
    (twelve("yynnynyynyyy"), "a leaf is a tensor that I want gradients for"),
    (twelve("yynnnnnnyynn"), "the result of an operation is never a leaf"),
    (twelve("yyyyyyyyyyyy"), "every tensor that I can name is a leaf"),
    (twelve("yynynynnynnn"), "a leaf is plain data, without gradients"),
    (twelve("yynynnnnyynn"), "a detached tensor stays a result"),
    (twelve("yynyyynnyyny"), "a copy is a new tensor of my own, so it is a leaf"),
)
BUILD_WRONG: tuple[Wrong, ...] = (
    (build("w"), "this is w itself"),
    (build("w.detach()"), "it was detached from w"),
    (build("w * 1"), "multiplying by 1 or adding 0 is arithmetic too"),
    (build("(w + 0).view(-1)"), "Its graph holds AddBackward0"),
    (build("torch.tensor(w.tolist())"), "its numbers were copied outside the graph"),
    (build("w.sum()"), "this computes numbers"),
    (build("w.flip(0) * 2"), "Its graph holds MulBackward0."),
    (build("None"), "it returned None"),
    (build("5"), "it returned an int"),
    (build("w.norm()"), "Its graph holds LinalgVectorNormBackward0"),
    (build("w.nothing"), "build(w) raised AttributeError"),
    (build("w.shape"), "build must return a tensor"),
)
WAYS_WRONG: tuple[Wrong, ...] = (
    (ways("y.clone()", "y.detach()"), "a copy, or a new view, is still a recorded result"),
    (ways("y.detach()", "y.requires_grad_(False)"), "a result cannot drop the flag"),
    (ways("y.detach()", "y.detach()"), "both functions do the same thing"),
    (ways("y.detach()", "y.data"), "both functions do the same thing"),
    (ways("y.detach()", "y.detach().requires_grad_()"), "both functions do the same thing"),
    (ways("y", "y.detach()"), "this is y itself"),
    (ways("y.detach()", "(lambda z: z.detach())(y)"), "both functions do the same thing"),
    (ways("y.detach()", "y.detach().view(-1)"), "its shape is [4]; y has [2, 2]"),
    (ways("y.view(3)", "y.detach()"), "it raised RuntimeError: shape"),
    (ways("y.detach()", "torch.ones_like(y)"), "but not with the numbers of y"),
)

KEY = Key(
    recall={"q0.1": "(2, 3)", "q0.2": "9", "q0.3": "(3,)", "q0.4": "24", "q0.5": "13"},
    recall_wrong={
        "q0.1": (("(2,)", "* multiplies matrices"), ("(2, 3, 3)", "every entry of A with every entry of B"),
                 ("(3,)", "the smaller shape")),
        "q0.2": (("0", "a slice is a copy"),),
        "q0.3": (("(2,)", "the axis that I name is the one that stays"), ("(1, 3)", "stays with length 1"),
                 ("()", "sum always gives one number")),
        "q0.4": (("8", "the slope of the square is enough"), ("9", "the slope of the inside, squared"),
                 ("6", "the slope of the square is taken at x")),
        "q0.5": (("5", "through the factor x"), ("8", "one path only, through g"), ("4", "the product of the slopes")),
    },
    predict={"1.1": "True", "1.2": "True", "1.3": "1", "1.4": "False", "1.5": "3", "1.6": "3"},
    predict_wrong={
        "1.1": (("False", "a leaf is a tensor that I want gradients for"),),
        "1.2": (("False", "whatever is computed from w belongs to w's graph"),),
        "1.3": (("2", "backward fills the .grad of every leaf"), ("0", "only results of operations get a .grad")),
        "1.4": (("True", "a tensor is created as a leaf or not, and stays that way"),),
        "1.5": (("2", "only parameters are leaves"), ("1", "only what I made myself is a leaf"),
                ("4", "everything that has a name is a leaf")),
        "1.6": (("2", "one node for each operation"), ("4", "one node for each tensor"), ("1", "backward is one call")),
    },
    why={"1.1": "c", "1.2": "a", "1.3": "b", "1.4": "b", "1.5": "c", "1.6": "b"},
    exercises={
        "faded": twelve("yynynynnyyny"), "open1": build("w.view(-1)"),
        "open2": ways("y.detach()", "torch.tensor(y.tolist())"),
    },
    exercises_wrong={"faded": TWELVE_WRONG, "open1": BUILD_WRONG, "open2": WAYS_WRONG},
)
