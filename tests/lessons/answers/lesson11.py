"""The key of lesson 11."""

from tests.lessons.answers.kinds import Key, Wrong


def momentum(velocity: str, move: str) -> str:
    """The cell of the step with momentum."""
    return ("def momentum_step(w, velocity, lr, momentum):\n    with torch.no_grad():\n"
            f"        velocity = w.grad.clone() if velocity is None else {velocity}\n"
            f"        w.sub_({move})\n    return velocity\n\n\ncheck.momentum(momentum_step)")


MODULE = """class MyModule:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)

    def parameters(self):
        for value in self.__dict__.values():
            if isinstance(value, nn.Parameter):
                yield value
            elif isinstance(value, MyModule):
                yield from value.parameters()

    def __call__(self, *inputs):
        return self.forward(*inputs)


check.module(MyModule)"""


def frozen(body: str) -> str:
    """The cell of who does not learn."""
    return f"def frozen(net, x):\n    {body}\n\n\ncheck.frozen(frozen)"


BACKWARD = "net(x).sum().backward()\n    "
NAMES = "[name for name, p in net.named_parameters() if "

MOMENTUM_WRONG: tuple[Wrong, ...] = (
    (momentum("w.grad.clone()", "lr * velocity"), "w followed the gradient alone"),
    (momentum("velocity + w.grad", "lr * velocity"), "the old velocity was not reduced"),
    (momentum("momentum * velocity + (1 - momentum) * w.grad", "lr * velocity"), "as in Adam"),
    (momentum("momentum * velocity + w.grad", "lr * w.grad"), "w followed the gradient alone"),
    (momentum("velocity + momentum * w.grad", "lr * velocity"), "momentum multiplies the gradient"),
    (momentum("momentum * velocity + w.grad", "0 * velocity"), "w did not move"),
    (momentum("momentum * (velocity + w.grad)", "lr * velocity"), "momentum multiplies the sum"),
    (momentum("momentum * velocity - w.grad", "lr * velocity"), "subtracted from the velocity; add it"),
    (momentum("momentum * velocity + w.grad", "velocity"), "lr is missing"),
    (momentum("momentum * velocity + w.grad", "-lr * velocity"), "w went uphill"),
    (momentum("momentum * velocity + w.grid", "lr * velocity"), "AttributeError"),
)
MODULE_WRONG: tuple[Wrong, ...] = (
    (MODULE.replace("object.__setattr__(self, name, value)", "self.__dict__.setdefault('noted', []).append(value)"),
     "cannot be read back"),
    (MODULE.replace("elif isinstance(value, MyModule)", "elif False"),
     "those of the modules inside are missing"),
    (MODULE.replace("nn.Parameter)", "torch.Tensor) and value.requires_grad"), "Only Parameters count"),
    (MODULE.replace("return self.forward", "self.forward"), "return what forward returns"),
    (MODULE.replace("class MyModule:\n", "class MyModule:\n    noted = []\n\n")
     .replace("object.__setattr__(self, name, value)",
              "object.__setattr__(self, name, value)\n        self.noted.append(value)")
     .replace("self.__dict__.values()", "self.noted"), "the registry is kept on the class"),
    (MODULE.replace("self.__dict__.values()", "sorted(self.__dict__.values(), key=lambda v: isinstance(v, MyModule))"),
     "not in the order of assignment"),
    (MODULE.replace("self.forward(*inputs)", "self.forwards(*inputs)"), "AttributeError"),
    (MODULE.replace("object.__setattr__(self, name, value)", "setattr(self, name, value)"), "without end"),
    (MODULE.replace("yield from value.parameters()", "pass").replace("yield value", "pass"), "returns nothing"),
)
FROZEN_WRONG: tuple[Wrong, ...] = (
    (frozen(f"return {NAMES}not p.requires_grad]"), "The flag alone does not tell"),
    (frozen(f"{BACKWARD}return {NAMES}p.grad is None]"), "and it is all zeros"),
    (frozen(f"return {NAMES}p.grad is None]"), "Was backward run before"),
    (frozen(f"{BACKWARD}return {NAMES}p.grad is not None]"), "the ones that do learn"),
    (frozen(f"{BACKWARD}return [p for p in net.parameters() if p.grad is None]"), "not the tensors"),
    (frozen("return 'middle'"), "return the names, as a list"),
)

KEY = Key(
    recall={"q10.1": "2", "q10.2": "True", "q9.1": "False", "q9.2": "True", "q7.1": "True"},
    recall_wrong={
        "q10.1": (("1", "so the block runs once"),),
        "q10.2": (("False", "the output follows the inputs that I pass in"),),
        "q9.1": (("True", "forward builds the graph"),),
        "q9.2": (("False", "the inputs are detached on the way in"),),
        "q7.1": (("False", "eval() stops gradients"),),
    },
    predict={"11.1": "2", "11.2": "True", "11.3": "[True, True]", "11.4": "1", "11.5": "2"},
    predict_wrong={
        "11.1": (("3", "every tensor of a module that requires grad"), ("1", "a layer inside does not count")),
        "11.2": (("False", "whatever requires grad can be optimized"),),
        "11.3": (("[False, False]", "a step is an operation"), ("[False, True]", "a step makes a new leaf")),
        "11.4": (("0.95", "weight decay shrinks every parameter"),),
        "11.5": (("6", "everything in the formula"), ("4", "results too"),
                 ("3", "as its parameters do")),
    },
    why={"11.1": "c", "11.2": "a", "11.3": "b", "11.4": "b", "11.5": "b"},
    exercises={"faded": momentum("momentum * velocity + w.grad", "lr * velocity"), "open1": MODULE,
               "open2": frozen(f"{BACKWARD}return {NAMES}p.grad is None or not p.grad.any()]")},
    exercises_wrong={"faded": MOMENTUM_WRONG, "open1": MODULE_WRONG, "open2": FROZEN_WRONG},
)
