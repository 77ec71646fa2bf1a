"""The key of lesson 17."""

from tests.lessons.answers.kinds import Key, Wrong

SUM_BACK = """def sum_back(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    for dim, length in enumerate(shape):
        if length == 1:
            grad = grad.sum(dim, keepdim=True)
    return grad


check.sum_back(sum_back)"""


def center(result: str) -> str:
    """The cell of the rows."""
    return f"def center(m):\n    return {result}\n\n\ncheck.center(center)"


def loss(result: str) -> str:
    """The cell of the loss."""
    return f"def squared_error(pred, target):\n    return {result}\n\n\ncheck.paired(squared_error)"


SUM_BACK_WRONG: tuple[Wrong, ...] = (
    (SUM_BACK.replace("sum(0)", "sum(-1)"), "Broadcasting adds dimensions on the left"),
    (SUM_BACK.replace("sum(0)", "sum()"), "everything was added up"),
    (SUM_BACK.replace("sum(0)", "mean(0)"), "these are means"),
    (SUM_BACK.replace("keepdim=True", "keepdim=False"), "a dimension of length 1 has to stay"),
    (SUM_BACK.replace("sum(0)", "sum(0, keepdim=True)[0] * 2"), "the engine makes"),
    (SUM_BACK.replace("sum(0)", "sum(axes)"), "raised NameError"),
    (SUM_BACK.replace("return grad", "return grad.tolist()"), "it returned a list"),
)
CENTER_WRONG: tuple[Wrong, ...] = (
    (center("m - m.mean(1)"), "each column loses the mean of some row"),
    (center("m - m.mean(0)"), "the mean of each column was subtracted"),
    (center("m - m.mean()"), "one mean of the whole matrix"),
    (center("m - m.detach().mean(1, keepdim=True)"), "no gradient goes through the mean"),
    (center("(m - m.mean(1, keepdim=True)).detach()"), "it was cut from m"),
    (center("m - m.sum(1, keepdim=True)"), "the means of the rows are now"),
    (center("m.mean(1, keepdim=True).shape"), "center must return a tensor"),
)
LOSS_WRONG: tuple[Wrong, ...] = (
    (loss("((pred - target) ** 2).mean()"), "each prediction is compared with every target"),
    (loss("((pred.squeeze(1) - target) ** 2).sum()"), "not their mean"),
    (loss("(pred.squeeze(1) - target).mean() ** 2"), "Square them first"),
    (loss("(pred.squeeze(1) - target) ** 2"), "a loss is one number"),
    (loss("(pred.squeeze(1) - target).abs().mean()"), "the mean of the squared differences is"),
    (loss("((pred.detach().squeeze(1) - target) ** 2).mean()"), "it was cut from pred"),
    (loss("((pred.squeeze(1) - target) ** 2).mean().item()"), "it returned a float"),
)

KEY = Key(
    recall={"q0.1": "(2, 3)", "q0.3": "(3,)", "q2.4": "[True, False, True]", "q3.3": "1", "q3.5": "2"},
    recall_wrong={
        "q0.1": (("(2,)", "* multiplies matrices"), ("(3,)", "the result has the smaller shape")),
        "q0.3": (("(2,)", "the axis that I name is the one that stays"),),
        "q2.4": (("[True, False, False]", "retains_grad is False for every leaf"),),
        "q3.3": (("2", "each input has a node of its own"), ("0", "x is a leaf and has no node")),
        "q3.5": (("1", "a walk calls each node once"),),
    },
    predict={"17.1": "[4, 4, 4]", "17.2": "(4, 1)", "17.3": "(3,)", "17.4": "(3, 3)", "17.5": "1"},
    predict_wrong={
        "17.1": (("[1, 1, 1]", "b stands in the formula once"), ("[12, 12, 12]", "all of m goes through b")),
        "17.2": (("(4, 3)", "a gradient has the shape of the result"), ("(4,)", "what is summed away is gone")),
        "17.3": (("()", "the node has already added them up"),),
        "17.4": (("(3, 1)", "the targets are matched with the column"), ("(3,)", "the column is read as a list")),
        "17.5": (("3", "each prediction is compared with its own target"),),
    },
    why={"17.1": "c", "17.2": "a", "17.3": "c", "17.4": "b", "17.5": "b"},
    exercises={"faded": SUM_BACK, "open1": center("m - m.mean(1, keepdim=True)"),
               "open2": loss("((pred.squeeze(1) - target) ** 2).mean()")},
    exercises_wrong={"faded": SUM_BACK_WRONG, "open1": CENTER_WRONG, "open2": LOSS_WRONG},
)
