"""The key of lesson 2."""

from tests.lessons.answers.kinds import Key, Wrong

TEN = ("w + data", "data * data", "w >= data", "w.detach() * w", "w.clone()", "w.argmax()", "w.long() * w",
       "(w * 2).detach() + data", "torch.ones_like(w)", "unrecorded(lambda: w * data)")
HELPER = "def unrecorded(run):\n    with torch.no_grad():\n        return run()\n\n"


def rule(blank: str) -> str:
    """The cell of the rule."""
    return (f"def result_requires_grad(mode, *flags):\n    return {blank}\n\n\n"
            "check.result_flag(result_requires_grad)")


def ten(letters: str) -> str:
    """The cell of the ten expressions; one letter for each, y or n."""
    answers = {code: letter == "y" for code, letter in zip(TEN, letters, strict=True)}
    return f"{HELPER}\nanswers = {answers!r}\ncheck.flags(answers, w=w, data=data, unrecorded=unrecorded)"


ROWS = {
    "third": ["t = torch.ones(2, requires_grad=True) * 2"],
    "fourth": ["t = torch.ones(2, requires_grad=True) * 2", "t.retain_grad()"],
    "fifth": ["t = torch.ones(2, requires_grad=True) * 2", "t.retain_grad()", "t.detach_()"],
    "sixth": ["t = torch.ones(2, requires_grad=True) * 2", "t.retain_grad()", "t.detach_()", "t.requires_grad_()"],
}


def rows(back: str = "t", **changed: list[str]) -> str:
    """The cell of the states, with some of the functions changed."""
    functions = []
    for row, lines in (ROWS | changed).items():
        body = "".join(f"    {line}\n" for line in lines)
        functions.append(f"def {row}():\n{body}    return {back if row in changed else 't'}\n")
    return "\n".join(functions) + "\n\ncheck.reach(third, fourth, fifth, sixth)"


RULE_WRONG: tuple[Wrong, ...] = (
    (rule("mode and all(flags)"), "every input must require grad"),
    (rule("mode"), "every result requires grad"),
    (rule("mode and flags[0]"), "the first input decides"),
    (rule("any(flags)"), "recording does not matter"),
    (rule("mode or any(flags)"), "one of the two is enough"),
    (rule("mode and flags[-1]"), "the last input decides"),
    (rule("mode and flags.any()"), "AttributeError"),
)
TEN_WRONG: tuple[Wrong, ...] = (
    (ten("ynyyyyyyyy"), "a result requires grad as soon as w is in it"),
    (ten("nnnnynnnnn"), "every input must require grad"),
    (ten("ynnnynynnn"), "what was detached stays detached"),
    (ten("ynnynnynnn"), "a copy is new data"),
    (ten("ynnyynnnnn"), "one integer input is enough"),
    (ten("ynyyyyynnn"), "comparisons and argmax are operations"),
    (ten("ynnyynynyn"), "ones_like(w) is like w"),
    (ten("ynnyynynny"), "under no_grad the flag still follows"),
)
ROWS_WRONG: tuple[Wrong, ...] = (
    (rows(third=["t = torch.ones(2, requires_grad=True)"]), "this is still a leaf"),
    (rows(fourth=["t = torch.ones(2, requires_grad=True)", "t.retain_grad()"]), "silently does nothing. Call it"),
    (rows(fifth=[*ROWS["fourth"], "t = t.detach()"]), "on which retain_grad() was never called"),
    (rows(fourth=["data = torch.ones(2)", "t = data * 2", "t.retain_grad()"]),
     "Start from a tensor that requires grad."),
    (rows(fifth=["t = torch.ones(2, requires_grad=True)", "t.retain_grad()", "t.requires_grad_(False)"]),
     "it does not retain a gradient: on a leaf retain_grad() silently does nothing"),
    (rows(sixth=[*ROWS["fourth"], "t = t.detach().requires_grad_()"]), "t.detach() is a new tensor"),
    (rows(third=["t = torch.ones(2)"]), "Yours has is_leaf True, requires_grad False"),
    (rows(fifth=["t = torch.ones(2)", "t.retain_grad()"]), "Ask earlier, while it is a result"),
    (rows(fifth=[*ROWS["fourth"], "t.requires_grad_(False)"]), "you cannot turn off the flag of a result"),
    (rows(sixth=ROWS["fifth"]), "this is the fifth state"),
    (rows(sixth=["t = torch.ones(2, requires_grad=True)", "t.retain_grad()"]), "It must be called while"),
    (rows("t.retain_grad()", fourth=ROWS["third"]), "it returned None"),
)

KEY = Key(
    recall={"q1.1": "True", "q1.3": '"None"', "q1.4": "2", "q0.2": "9", "q0.5": "13"},
    recall_wrong={
        "q1.1": (("False", "a leaf is a tensor that I want gradients for"),),
        "q1.3": (('"AccumulateGrad"', "a leaf's grad_fn is the node that fills its .grad"),
                 ('"Tensor"', "every tensor that requires grad has a grad_fn")),
        "q1.4": (("1", "only the tensors that I set the flag on"), ("3", "makes its neighbours require it too")),
        "q0.2": (("0", "a slice is a copy"),),
        "q0.5": (("5", "through the factor x"), ("8", "one path only, through g"), ("4", "the product of the slopes")),
    },
    predict={"2.1": "[False, True]", "2.2": "2", "2.3": "True", "2.4": "True", "2.5": "6"},
    predict_wrong={
        "2.1": (("[True, True]", "looks up the flags of its inputs when you read it"),
                ("[False, False]", "a tensor gets its flag when it is made")),
        "2.2": (("4", "whatever is computed from w requires grad"), ("1", "what is copied from w does not")),
        "2.3": (("False", "the flag only has to be set by the time backward runs"),),
        "2.4": (("False", "on a leaf retain_grad() does nothing"),),
        "2.5": (("4", "there are only four states"), ("8", "the three attributes are independent, so all eight"),
                ("5", "a leaf that does not require grad cannot retain one")),
    },
    why={"2.1": "b", "2.2": "c", "2.3": "a", "2.4": "b", "2.5": "c"},
    exercises={"faded": rule("mode and any(flags)"), "open1": ten("ynnyynynnn"), "open2": rows()},
    exercises_wrong={"faded": RULE_WRONG, "open1": TEN_WRONG, "open2": ROWS_WRONG},
)
