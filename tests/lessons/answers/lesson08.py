"""The key of lesson 8."""

from tests.lessons.answers.kinds import Key, Wrong

TEN = ("y = a.exp(); y.add_(1)", "y = a.exp(); a.add_(1)", "y = a.sin(); y.add_(1)", "y = a.sin(); a.add_(1)",
       "y = a.sigmoid(); y.add_(1)", "y = a.relu(); y.add_(1)", "y = a * 2; a.add_(1)", "y = a * a; a.add_(1)",
       "y = a + 3; a.add_(1)", "y = a ** 2; y.add_(1)")


def parameter(at_once: str, afterwards: str) -> str:
    """The cell of the two parameters."""
    return (f"def at_once():\n    return {at_once}\n\n\ndef afterwards():\n    return {afterwards}\n\n\n"
            "check.parameter(at_once, afterwards)")


def ten(letters: str) -> str:
    """The cell of the ten changes; one letter for each, y or n."""
    answers = {code: letter == "y" for code, letter in zip(TEN, letters, strict=True)}
    return f"answers = {answers!r}\ncheck.changed(answers)"


def spoil(loud: str, silent: str) -> str:
    """The cell of the two ways to spoil."""
    return f"def loud(w):\n    {loud}\n\n\ndef silent(w):\n    {silent}\n\n\ncheck.spoil(loud, silent)"


AT_ONCE = "torch.ones(3, dtype=torch.float64, requires_grad=True)"
AFTERWARDS = "torch.ones(3).double().requires_grad_()"
PARAMETER_WRONG: tuple[Wrong, ...] = (
    (parameter("torch.ones(3, requires_grad=True).double()", AFTERWARDS), "so the conversion was recorded"),
    (parameter(AT_ONCE, "torch.ones(3, requires_grad=True).to(torch.float64)"), "not a leaf: ToCopyBackward0"),
    (parameter("torch.ones(3, requires_grad=True)", AFTERWARDS), "its dtype is float32"),
    (parameter(AT_ONCE, "torch.ones(3).double()"), "does not require grad"),
    (parameter(AT_ONCE, "torch.zeros(3).double().requires_grad_()"), "it should hold three ones"),
)
TEN_WRONG: tuple[Wrong, ...] = (
    (ten("yyyyyyyyyy"), "a change in place always raises"),
    (ten("nnnnnnnnnn"), "is recorded too, so it never raises"),
    (ten("ynynyynnny"), "a change of the result raises"),
    (ten("nynynnyyyn"), "a change of the input raises"),
    (ten("ynnyyyyynn"), "a product always saves its input"),
    (ten("ynnyynnynn"), "relu needs its input"),
)
SPOIL_WRONG: tuple[Wrong, ...] = (
    (spoil("w.add_(1)", "w.data.add_(1)"), "it raises at once"),
    (spoil("w.clone().add_(1)", "w.data.add_(1)"), "You changed a copy, or nothing"),
    (spoil("w.data.add_(1)", "w.data.add_(1)"), "this is the silent one"),
    (spoil("w.detach().add_(1)", "w.detach().add_(1)"), "the version counter is shared, so the change was noticed"),
    (spoil("w.detach().add_(1)", "w.detach().clone().add_(1)"), "the gradient is right"),
    (spoil("w.detach().add_(1)", "w.register_hook(lambda g: g * 2)"), "Write into that memory"),
    (spoil("w.register_hook(lambda g: g * 2)", "w.data.add_(1)"), "backward ran. The gradient is wrong"),
    (spoil("w.register_hook(lambda g: 1 / 0)", "w.data.add_(1)"), "something else: ZeroDivisionError"),
)

KEY = Key(
    recall={"q7.2": "True", "q7.3": "6", "q6.2": "False", "q4.2": "False", "q4.5": "False"},
    recall_wrong={
        "q7.2": (("False", "whatever is made under no_grad has requires_grad False"),),
        "q7.3": (("12", "the gradient goes back through y too"), ('"None"', "stops the gradients of all that")),
        "q6.2": (("True", "retain_grad() switches it on"),),
        "q4.2": (("True", "the first backward destroys the graph"),),
        "q4.5": (("True", "retain_graph and create_graph are the same"),),
    },
    predict={"8.1": "3", "8.2": "False", "8.3": "True", "8.4": "[20, 40]", "8.5": "True"},
    predict_wrong={
        "8.1": (("2", "add_ itself raises"), ("0", "later changes to y do not matter")),
        "8.2": (("True", "changing a result in place always raises an error"),),
        "8.3": (("False", "has left the graph, so nothing notices"),),
        "8.4": (("[2, 4]", "the node kept a copy of w"), ('"error"', "whatever shares the memory is noticed")),
        "8.5": (("False", "to() always makes a new tensor"),),
    },
    why={"8.1": "b", "8.2": "c", "8.3": "a", "8.4": "b", "8.5": "c"},
    exercises={"faded": parameter(AT_ONCE, AFTERWARDS), "open1": ten("ynnyyynynn"),
               "open2": spoil("w.detach().mul_(10)", "w.data.mul_(10)")},
    exercises_wrong={"faded": PARAMETER_WRONG, "open1": TEN_WRONG, "open2": SPOIL_WRONG},
)
