"""The key of lesson 22."""

from tests.lessons.answers.kinds import Key, Wrong


def dual(subtract: str, divide: str) -> str:
    """The cell of the dual numbers."""
    return ("class Dual:\n    def __init__(self, value, tangent):\n"
            "        self.value, self.tangent = value, tangent\n\n"
            f"    def __sub__(self, other):\n        return Dual(self.value - other.value, {subtract})\n\n"
            "    def __truediv__(self, other):\n        quotient = self.value / other.value\n"
            f"        return Dual(quotient, (self.tangent - quotient * {divide}) / other.value)\n\n\ncheck.dual(Dual)")


def by_columns(body: str) -> str:
    """The cell of the Jacobian."""
    return f"def by_columns(f, x):\n    {body}\n\n\ncheck.by_columns(by_columns)"


def forward_hvp(body: str) -> str:
    """The cell of the Hessian-vector product."""
    return f"def forward_hvp(f, x, v):\n    {body}\n\n\ncheck.forward_hvp(forward_hvp)"


BOTH = "self.tangent - other.tangent"
COLUMNS = "torch.func.jvp(f, (x,), (d,))[1] for d in torch.eye(len(x))"
DUAL_WRONG: tuple[Wrong, ...] = (
    (dual("self.tangent", "other.tangent"), "only one of the two changes is in it"),
    (dual("self.tangent + other.tangent", "other.tangent"), "the rule for a sum"),
    (dual("other.tangent - self.tangent", "other.tangent"), "by the difference of the two changes"),
    (dual(BOTH, "other.value"), "multiply by how much the divisor changes"),
    (dual(BOTH, "self.tangent"), "the divisor has one of its own"),
    (dual(BOTH, "0"), "write down the rule for that product"),
)
COLUMNS_WRONG: tuple[Wrong, ...] = (
    (by_columns(f"return torch.stack([{COLUMNS}])"), "rows and columns are exchanged"),
    (by_columns("return torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]"), "one direction of ones"),
    (by_columns(f"return torch.stack([{COLUMNS.replace('[1]', '[0]')}], dim=1)"), "jvp returns the value first"),
    (by_columns(f"return torch.cat([{COLUMNS}])"), "the Jacobian has the shape"),
    (by_columns("return torch.func.jvp(f, (x,), (torch.ones_like(x),))"), "return the tangent alone"),
    (by_columns(f"return [{COLUMNS}]"), "return a tensor; it returned a list"),
)
HVP_WRONG: tuple[Wrong, ...] = (
    (forward_hvp("return torch.func.jvp(f, (x,), (v,))[1]"), "the slope along v"),
    (forward_hvp("return torch.func.jvp(torch.func.grad(f), (x,), (v,))[0]"), "the value that jvp returns first"),
    (forward_hvp("return torch.func.jvp(torch.func.grad(f), (x,), (v,))"), "return the tangent alone"),
    (forward_hvp("return torch.func.hessian(f)(x)"), "the product has the shape of v"),
    (forward_hvp("return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1] * 2"), "differ from H times v"),
)

KEY = Key(
    recall={"q11.2": "0", "q11.4": "True", "q9.2": "True", "q9.3": "2", "q9.4": "100"},
    recall_wrong={
        "q11.2": (("1", "the optimizer knows my loss"),),
        "q11.4": (("False", "a step is an operation"),),
        "q9.2": (("False", "the inputs are detached on the way in"),),
        "q9.3": (("1", "one for each tensor"), ("3", "ctx counts too")),
        "q9.4": (("3", "enable_grad in forward brings back the real derivative"),),
    },
    predict={"22.1": "9", "22.2": "False", "22.3": "3", "22.4": "2"},
    predict_wrong={
        "22.1": (("2", "is the product of the changes"), ("5", "with respect to the first input"),
                 ("10", "jvp gives the result")),
        "22.2": (("True", "no_grad switches off all derivatives"),),
        "22.3": (("6", "detach only matters to backward"), ("0", "makes the whole product a constant")),
        "22.4": (("5", "as many passes as there are outputs"), ("1", "one pass gives all derivatives")),
    },
    why={"22.1": "b", "22.2": "b", "22.3": "a", "22.4": "c"},
    exercises={"faded": dual(BOTH, "other.tangent"), "open1": by_columns(f"return torch.stack([{COLUMNS}], dim=1)"),
               "open2": forward_hvp("return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]")},
    exercises_wrong={"faded": DUAL_WRONG, "open1": COLUMNS_WRONG, "open2": HVP_WRONG},
)
