"""The key of lesson 18."""

from tests.lessons.answers.kinds import Key, Wrong


def no_negatives(start: str, written: str) -> str:
    """The cell of the mask."""
    return (f"def no_negatives(w):\n    y = {start}\n    y[y < 0] = {written}\n    return y\n\n\n"
            "check.no_negatives(no_negatives)")


def powers(*lines: str) -> str:
    """The cell of the recurrence."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def powers(w, n):\n{body}\n\ncheck.powers(powers)"


def set_row(*lines: str) -> str:
    """The cell of the row."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def set_row(weight, i, row):\n{body}\n\ncheck.set_row(set_row)"


LIST = ("p, found = w, [w]", "for _ in range(n - 1):", "    p = p * w", "    found.append(p)")
BUFFER = ("out = torch.zeros(n)", "out[0] = w", "for t in range(1, n):")
NEGATIVES_WRONG: tuple[Wrong, ...] = (
    (no_negatives("w", "0.0"), "must not be written to while it is recorded"),
    (no_negatives("w.detach()", "0.0"), "w itself was changed"),
    (no_negatives("w.detach().clone()", "0.0"), "it was cut from the graph"),
    (no_negatives("w.clone()", "1.0"), "it should give"),
    (no_negatives("w * 1 + w.detach() - w", "0.0"), "the gradient is"),
)
POWERS_WRONG: tuple[Wrong, ...] = (
    (powers(*BUFFER, "    out[t] = out[t - 1] * w", "return out"), "modified by an inplace operation"),
    (powers(*BUFFER, "    out[t] = out[t - 1].detach() * w.detach()", "return out"), "factors were cut off"),
    (powers(*LIST, "return found"), "it returned a list"),
    (powers("return torch.tensor([w.item() ** (k + 1) for k in range(n)])"), "it was cut from the graph"),
    (powers("return w ** torch.arange(n)"), "it should be"),
    (powers("return (w ** torch.arange(1, n + 1)).sum()"), "one tensor of"),
)
ROW_WRONG: tuple[Wrong, ...] = (
    (set_row("weight[i] = row"), "no part of your formula"),
    (set_row("weight = weight.clone()", "weight[i] = row"), "weight is as it was"),
    (set_row("weight.data[i] = row"), "no version was raised"),
    (set_row("with torch.no_grad():", "    weight[:] = row"), "it should be"),
    (set_row("weight.requires_grad_(False)", "weight[i] = row"), "does not require grad"),
)

KEY = Key(
    recall={"q8.1": "9", "q8.3": "True", "q8.4": "False", "q7.2": "True", "q5.1": "6"},
    recall_wrong={
        "q8.1": (("1", "detach makes a copy"),),
        "q8.3": (("False", "so it never causes an error"),),
        "q8.4": (("True", "changing a result in place always raises an error"),),
        "q7.2": (("False", "whatever is made under no_grad has requires_grad False"),),
        "q5.1": (("3", "backward overwrites"),),
    },
    predict={"18.1": "[20, 20, 2]", "18.2": "[2, 2, 2]", "18.3": "[0, 0, 2]", "18.4": "[2, 2, 2]", "18.5": "True"},
    predict_wrong={
        "18.1": (("[2, 2, 2]", "stays in the view"), ("[0, 0, 2]", "stops the gradient of what was there")),
        "18.2": (("[20, 20, 2]", "every index gives a view"),),
        "18.3": (("[2, 2, 2]", "nothing is written to y"),),
        "18.4": (("[0, 2, 2]", "what is overwritten has the slope 0"),),
        "18.5": (("False", "a view may always be changed"),),
    },
    why={"18.1": "a", "18.2": "a", "18.3": "a", "18.4": "b", "18.5": "c"},
    exercises={"faded": no_negatives("w.clone()", "0.0"), "open1": powers(*LIST, "return torch.stack(found)"),
               "open2": set_row("with torch.no_grad():", "    weight[i] = row")},
    exercises_wrong={"faded": NEGATIVES_WRONG, "open1": POWERS_WRONG, "open2": ROW_WRONG},
)
