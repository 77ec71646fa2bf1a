"""The key of lesson 7."""

from tests.lessons.answers.kinds import Key, Wrong

SET_MODE = """class set_mode:
    def __init__(self, on):
        self.before = torch.is_grad_enabled()
        switch(on)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        switch(self.before)


check.set_mode(set_mode)"""

DECORATOR = """def without_grad(function):
    def inside(*args, **kwargs):
        with torch.no_grad():
            return function(*args, **kwargs)
    return inside


check.decorator(without_grad)"""

REPAIRED = """def repaired(encoder, head, x):
    h = encoder(x)
    with torch.no_grad():
        scale = h.abs().max()
    h = h / scale
    return head(h)


check.repaired(repaired)"""


def table(evaluated: str, unrecorded: str, both: str) -> str:
    """The cell of the four modes, with a pair of words for each of the last three."""
    return (f"answers = {{(True, True): (True, True), (False, True): {evaluated}, (True, False): {unrecorded}, "
            f"(False, False): {both}}}\ncheck.modes(answers)")


TABLE_WRONG: tuple[Wrong, ...] = (
    (table("(False, False)", "(False, True)", "(False, False)"), "eval() stops gradients"),
    (table("(True, False)", "(False, False)", "(False, False)"), "no_grad() is for inference, so dropout is off in it"),
    (table("(True, False)", "(True, True)", "(False, False)"), "only eval() and no_grad() together stop the recording"),
    (table("(True, True)", "(False, True)", "(False, False)"), "dropout always draws"),
    (table("True", "False", "False"), "write two values"),
    (table("(True, False)", "(False, True)", "(True, False)"), "neither of the two stops the recording"),
    (table("(True, False)", "(False, 'True')", "(False, False)"), "without quotes"),
    ("answers = {}\ncheck.modes(answers)", "the dictionary with its four keys"),
)
SET_MODE_WRONG: tuple[Wrong, ...] = (
    (SET_MODE.replace("self.before = torch.is_grad_enabled()", "self.before = True"), "it restores True"),
    (SET_MODE.replace("switch(self.before)", "switch(True)"), "it restores True"),
    (SET_MODE.replace("switch(self.before)", "switch(not self.on)").replace("self.before", "self.on").replace(
        "torch.is_grad_enabled()", "on"), "the opposite of what it was given"),
    (SET_MODE.replace("switch(self.before)", "pass"), "ask first, then switch"),
    (SET_MODE.replace("        self.before = torch.is_grad_enabled()\n        switch(on)",
                      "        switch(on)\n        self.before = torch.is_grad_enabled()"), "ask first, then switch"),
    (SET_MODE.replace("        switch(on)", "        self.on = on").replace("pass", "switch(self.on)"),
     "as a statement did nothing"),
    (SET_MODE.replace("switch(self.before)", "switch(self.before)\n        return True"), "it swallows errors"),
    (SET_MODE.replace("torch.is_grad_enabled()", "nothing"), "set_mode raised NameError"),
    (SET_MODE.replace("check.set_mode(set_mode)", "check.set_mode(set_mode(True))"), "pass the function itself"),
)
DECORATOR_WRONG: tuple[Wrong, ...] = (
    ("def without_grad(function):\n    with torch.no_grad():\n        return function\n\n\n"
     "check.decorator(without_grad)", "is over before anybody calls it"),
    ("def without_grad(function):\n    with torch.no_grad():\n        return function(torch.ones(1))\n\n\n"
     "check.decorator(without_grad)", "it called the function at once"),
    (DECORATOR.replace("return function(*args, **kwargs)", "return function(args, kwargs)"), "with their stars"),
    ("def without_grad(function):\n    return function()\n\n\ncheck.decorator(without_grad)",
     "without brackets after its name"),
    (DECORATOR.replace(", **kwargs", ""), "take *args and **kwargs"),
    (DECORATOR.replace("        with torch.no_grad():\n            return function(*args, **kwargs)",
                       "        return function(*args, **kwargs).detach()"), "cut off afterwards"),
    (DECORATOR.replace("            return function(*args, **kwargs)", "            pass\n"
                       "        return function(*args, **kwargs)"), "the no_grad block must be around the call"),
    (DECORATOR.replace("return function(*args", "function(*args"), "the result is lost"),
    (DECORATOR.replace("with torch.no_grad():\n            return",
                       "torch.set_grad_enabled(False)\n        if True:\n            return"),
     "after the call grad mode stays off"),
    (DECORATOR.replace("        with torch.no_grad():\n            return function(*args, **kwargs)",
                       "        torch.set_grad_enabled(False)\n        out = function(*args, **kwargs)\n"
                       "        torch.set_grad_enabled(True)\n        return out"),
     "after an error in the function grad mode stays off"),
)
REPAIRED_WRONG: tuple[Wrong, ...] = (
    (REPAIRED.replace("    h = h / scale", "        h = h / scale"), "a step is still not recorded"),
    (REPAIRED.replace("    h = h / scale", "        h = (h / scale).requires_grad_()"), "makes a new leaf"),
    (REPAIRED.replace("    with torch.no_grad():\n        scale", "    scale"), "goes through the scale too"),
    (REPAIRED.replace("    with torch.no_grad():\n        scale = h.abs().max()\n    h = h / scale\n", ""),
     "the output itself has changed"),
    (REPAIRED.replace("    h = h / scale\n    return", "        h = h / scale\n        return"),
     "now nothing is recorded"),
    (REPAIRED.replace("h.abs", "h.sab"), "AttributeError"),
    (REPAIRED.replace("return head(h)", "head(h)"), "it returns nothing"),
)

KEY = Key(
    recall={"q6.1": "1", "q6.4": "1", "q5.2": '"None"', "q5.5": "True", "q3.1": "[None, 0]"},
    recall_wrong={
        "q6.1": (("0", "inner gradients are not computed"), ("2", "one for each use of y")),
        "q6.4": (("100", "what any hook changes is what y.grad shows"),),
        "q5.2": (("0", "zero_grad leaves zeros"),),
        "q5.5": (("False", "a sum is a new tensor"),),
        "q3.1": (('["AccumulateGrad", 0]', "only inputs that require grad get a pair"),),
    },
    predict={"7.1": "6", "7.2": "True", "7.3": "True", "7.4": "True", "7.5": "True"},
    predict_wrong={
        "7.1": (("12", "the gradient goes back through y too"), ('"None"', "stops the gradients of all that"),
                ("0", "y is a constant")),
        "7.2": (("False", "so the gradient passes through it to w"),),
        "7.3": (("False", "the outer block wins"),),
        "7.4": (("False", "under no_grad autograd is off altogether"),),
        "7.5": (("False", "a frozen layer lets no gradient through"),),
    },
    why={"7.1": "b", "7.2": "c", "7.3": "a", "7.4": "c", "7.5": "b"},
    exercises={"faded": SET_MODE, "open1": DECORATOR, "open3": REPAIRED,
               "open2": table("(True, False)", "(False, True)", "(False, False)")},
    exercises_wrong={"faded": SET_MODE_WRONG, "open1": DECORATOR_WRONG, "open2": TABLE_WRONG, "open3": REPAIRED_WRONG},
)
