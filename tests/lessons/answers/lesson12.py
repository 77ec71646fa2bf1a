"""The key of lesson 12."""

from tests.lessons.answers.kinds import Key, Wrong


def divergence(create: str, column: str) -> str:
    """The cell of the divergence."""
    return ("def divergence(distance, p):\n    p = p.detach().requires_grad_()\n"
            f"    n, = torch.autograd.grad(distance(p).sum(), p, create_graph={create})\n    total = 0\n"
            "    for k in range(p.shape[1]):\n"
            "        second, = torch.autograd.grad(n[:, k].sum(), p, retain_graph=True)\n"
            f"        total = total + second{column}\n    return total\n\n\ncheck.divergence(divergence)")


def hvp(*lines: str) -> str:
    """The cell of the Hessian-vector product."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def hvp(f, x, v):\n{body}\n\ncheck.hvp(hvp)"


def eikonal(body: str) -> str:
    """The cell of the eikonal loss."""
    return f"def eikonal(distance, p):\n    {body}\n\n\ncheck.eikonal(eikonal)"


FIRST = "g, = torch.autograd.grad(f(x), x, create_graph=True)"
LENGTHS = "normals(distance, p).norm(dim=1)"
DIVERGENCE_WRONG: tuple[Wrong, ...] = (
    (divergence("False", "[:, k]"), "the first pass was not recorded"),
    (divergence("True", "[:, 0]"), "the same column was taken each time"),
    (divergence("True", ".sum(1)"), "mixed derivatives are in the sum too"),
    (divergence("True", ""), "one number for each point"),
    (divergence("True", "[:, ...]"), "Which column of second"),
)
HVP_WRONG: tuple[Wrong, ...] = (
    (hvp("g, = torch.autograd.grad(f(x), x)", "return torch.autograd.grad(g, x, v)[0]"), "the first pass was not"),
    (hvp(FIRST, "return g @ v"), "this is the slope along v"),
    (hvp(FIRST, "return g * v"), "this uses only the first gradient"),
    (hvp(FIRST, "return torch.autograd.grad(g.sum(), x)[0] * v"), "v is applied too late"),
    (hvp(FIRST, "return torch.autograd.grad(g, x, v)"), "returns a tuple"),
    (hvp(FIRST, "return torch.autograd.grad(g @ v, x)[0].sum()"), "the product has the shape of v"),
)
EIKONAL_WRONG: tuple[Wrong, ...] = (
    (eikonal(f"return ({LENGTHS} - 1).abs().mean()"), "the difference was not squared"),
    (eikonal(f"return (({LENGTHS} - 1) ** 2).sum()"), "this is the sum over the points"),
    (eikonal("return (normals(distance, p).norm() - 1) ** 2"), "the length is that of each point's slope"),
    (eikonal(f"return (({LENGTHS} - 1) ** 2).mean().detach()"), "the first pass was not recorded"),
    (eikonal(f"return ({LENGTHS} - 1) ** 2"), "a loss is one number"),
    (eikonal("n, = torch.autograd.grad(distance(p).sum(), p, create_graph=True); "
             "return ((n.norm(dim=1) - 1) ** 2).mean()"), "p does not require grad"),
    (eikonal(f"return ({LENGTHS} - 1).mean()"), "the difference was not squared"),
    (eikonal(f"return ({LENGTHS} ** 2 - 1).mean()"), "length² − 1 is not"),
    (eikonal("return ((normals(distance, p) ** 2).sum(1) - 1).square().mean()"), "the length is its root"),
)

KEY = Key(
    recall={"q11.2": "0", "q11.4": "True", "q10.1": "2", "q8.1": "9", "q8.4": "False"},
    recall_wrong={
        "q11.2": (("1", "the optimizer knows my loss"),),
        "q11.4": (("False", "a step is an operation"),),
        "q10.1": (("1", "so the block runs once"),),
        "q8.1": (("1", "detach makes a copy"),),
        "q8.4": (("True", "changing a result in place always raises an error"),),
    },
    predict={"12.1": "True", "12.2": "False", "12.3": "0", "12.4": "True"},
    predict_wrong={
        "12.1": (("False", "can be differentiated like anything else"),),
        "12.2": (("True", "create_graph makes every gradient require grad"),),
        "12.3": (("1", "its derivative of any order 1"), ("0.105", "not a straight line has curvature")),
        "12.4": (("False", "a gradient with respect to a leads back to a"),),
    },
    why={"12.1": "c", "12.2": "a", "12.3": "b", "12.4": "b"},
    exercises={"faded": divergence("True", "[:, k]"), "open1": hvp(FIRST, "return torch.autograd.grad(g, x, v)[0]"),
               "open2": eikonal(f"return (({LENGTHS} - 1) ** 2).mean()")},
    exercises_wrong={"faded": DIVERGENCE_WRONG, "open1": HVP_WRONG, "open2": EIKONAL_WRONG},
)
