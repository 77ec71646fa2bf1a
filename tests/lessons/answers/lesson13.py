"""The key of the capstone."""

from tests.lessons.answers.kinds import Key, Wrong

PROGRAM = """    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    h = x = torch.ones(2, 3)
    for layer in net:
        h = h + layer(h).tanh()
    return h.sum(), net, x


"""


def residual(root: str, leaves: int, shared: int, fact: str = "leaves") -> str:
    """The cell of the residual model."""
    return (f"def residual(torch):\n{PROGRAM}answers = {{'root': '{root}', '{fact}': {leaves}, 'shared': {shared}}}\n"
            "check.facts(residual, answers)")


TEN = {"root": "SumBackward0", "nodes": 13, "leaves": 4, "empty": 2, "shared": 1, "longest": 9, "numbered": 0,
       "without": 0, "again": True, "data": False}
MINE = f"def mine(torch):\n{PROGRAM}"


def mine(program: str = MINE, **changed: object) -> str:
    """The cell of the ten facts."""
    return f"{program}answers = {TEN | changed!r}\ncheck.facts(mine, answers)"


SNAKE = """class Snake(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x + torch.sin(x) ** 2

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (1 + torch.sin(2 * x))

def reference(torch, x):
    return x + torch.sin(x) ** 2

check.operation(Snake, reference, at=[-1.5, 0.3, 2.0])"""

RESIDUAL_WRONG: tuple[Wrong, ...] = (
    (residual("SumBackward0", 6, 1), "you counted the pairs (None, 0) too"),
    (residual("SumBackward0", 4, 0), "has one node, to which two edges lead"),
    (residual("AddBackward0", 4, 1), "Look at what computes the loss last"),
    (residual("SumBackward0", 4, 1, "leafs"), "there is no fact 'leafs'"),
)
MINE_WRONG: tuple[Wrong, ...] = (
    (mine(nodes=9), "you left the AccumulateGrad nodes out"),
    (mine(longest=8), "count nodes, not edges"),
    (mine(again=False), "one that did is enough for the error"),
    (mine(data=True), "only if it requires grad"),
    (mine(empty=0), "at every node that takes it"),
    (mine(MINE.replace("return h.sum(), net, x", "return h.sum()")), "must return three things"),
    (mine(MINE.replace("return h.sum(), net, x", "return x.sum(), net, x")), "nothing was recorded"),
    (mine(MINE.replace("h = h + layer(h).tanh()", "h = layer(x).tanh()"), nodes=6, leaves=2, empty=1, shared=0,
          longest=5, without=2), "this graph is too plain"),
)
SNAKE_WRONG: tuple[Wrong, ...] = (
    (SNAKE.replace("return grad * (1 +", "return (1 +").replace("2 * x))", "2 * x))", 1), "was not multiplied by"),
    (SNAKE.replace("(1 + torch.sin(2 * x))", "torch.sin(2 * x)"), "backward gives"),
    (SNAKE.replace("        return x + torch.sin(x) ** 2\n\n    @", "        return x + torch.sin(x)\n\n    @"),
     "the reference"),
    (SNAKE.replace("ctx.save_for_backward(x)", "ctx.x = x").replace("x, = ctx.saved_tensors", "x = ctx.x"),
     "not as an attribute of ctx"),
    (SNAKE.replace("ctx.save_for_backward(x)", "ctx.slope = 1 + torch.sin(2 * x)")
     .replace("        x, = ctx.saved_tensors\n", "").replace("(1 + torch.sin(2 * x))\n\ndef", "ctx.slope\n\ndef"),
     "the second derivative is lost"),
    (SNAKE.replace("check.operation(Snake,", "check.operation(Snake(),") .replace("Snake(),", "Snake.apply,"),
     "pass the class itself"),
)

KEY = Key(
    recall={"q11.1": "0", "q11.3": "True", "q11.5": "1", "q9.3": "2", "q9.5": "False"},
    recall_wrong={
        "q11.1": (("2", "a list of layers is registered"),),
        "q11.3": (("False", "whatever requires grad can be optimized"),),
        "q11.5": (("0.95", "weight decay shrinks every parameter"),),
        "q9.3": (("1", "one for each tensor"), ("3", "ctx counts too")),
        "q9.5": (("True", "is watched like a saved tensor"),),
    },
    predict={"13.1": "2", "13.2": "False", "13.3": "1", "13.4": "3"},
    predict_wrong={
        "13.1": (("4", "a frozen parameter has an AccumulateGrad too"), ("1", "one for each layer that learns")),
        "13.2": (("True", "every operation of the forward pass leaves a node"),),
        "13.3": (("0", "leaves no pair at all"), ("3", "bias, data and weight")),
        "13.4": (("2", "gradients are accumulated into parameters only"), ("5", "the whole first layer is back")),
    },
    why={"13.1": "b", "13.2": "a", "13.3": "c", "13.4": "b"},
    exercises={"faded": residual("SumBackward0", 4, 1), "open1": mine(), "open2": SNAKE},
    exercises_wrong={"faded": RESIDUAL_WRONG, "open1": MINE_WRONG, "open2": SNAKE_WRONG},
)
