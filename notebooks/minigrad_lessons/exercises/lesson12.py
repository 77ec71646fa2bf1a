"""The checks of lesson 12: the divergence of a gradient, a Hessian-vector product, and the eikonal loss."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad.nn.modules.activation import Tanh
from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.linear import Linear
from minigrad_lessons.exercises import report

Distance = Callable[[torch.Tensor], torch.Tensor]
NOT_RECORDED = "does not require grad"
UNRECORDED = "the first pass was not recorded, so its result has no history. Which option records it?"

NO_LEAF = ("p does not require grad, so nothing can be differentiated with respect to it. Begin as `normals` does, or "
           "call it.")


def _points(rows: int, columns: int) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(rows, columns) + 2.0


def _second(distance: Distance, p: torch.Tensor) -> torch.Tensor:
    """All second derivatives of each row: [rows, columns, columns]."""
    hessian = torch.autograd.functional.hessian
    return torch.stack([hessian(lambda row: distance(row[None]).sum(), row) for row in p])


FUNCTIONS: dict[str, tuple[Distance, torch.Tensor]] = {
    "a circle": (lambda p: p.norm(dim=1) - 1, _points(5, 2)),
    "x² + 3y² + xy": (lambda p: p[:, 0] ** 2 + 3 * p[:, 1] ** 2 + p[:, 0] * p[:, 1], _points(4, 2)),
    "a sphere": (lambda p: p.norm(dim=1) - 1, _points(5, 3)),
}


def _near(found: torch.Tensor, wanted: torch.Tensor) -> bool:
    return found.shape == wanted.shape and bool(torch.allclose(found, wanted, atol=1e-4))


def divergence(student: Callable[..., Any]) -> None:
    """Judge `divergence(distance, p)` against the trace of the Hessian, at points of the plane and of space."""
    name = "check.divergence"
    if not report.to_judge(name, "divergence", "Fill in the two blanks of divergence.", student):
        return
    for what, (distance, p) in FUNCTIONS.items():
        found = _run(name, student, "distance, p", distance, p)
        if found is None:
            return
        second = _second(distance, p)
        wanted = second.diagonal(dim1=1, dim2=2).sum(1)
        if not _near(found, wanted):
            report.misconception(name, f"{what}: {_why_divergence(found, second)}")
            return
    report.passed(name, *(f"{what}: equal to the sum of the second derivatives" for what in FUNCTIONS))


def _why_divergence(found: torch.Tensor, second: torch.Tensor) -> str:
    columns = second.shape[1]
    if found.shape != second.shape[:1]:
        return f"return one number for each point; the shape is {list(found.shape)}. " \
               "Which column of second is it?"
    if any(_near(found, second[:, :, k].sum(1)) for k in range(columns)):
        return ("the same column was taken each time. From the gradient of n[:, k], take the derivative with respect "
                "to coordinate k.")
    if _near(found, second.sum((1, 2))):
        return "mixed derivatives are in the sum too: take column k alone."
    return "the numbers differ from the sum of the second derivatives with respect to each coordinate."


def _run(name: str, student: Callable[..., Any], arguments: str, *given: object) -> torch.Tensor | None:
    """What a student's function gives, as a tensor; None if it gave none, which is told."""
    try:
        found = student(*given)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        unrecorded = NO_LEAF if name == "check.eikonal" else UNRECORDED
        text = unrecorded if NOT_RECORDED in str(error) else f"it {report.raised(error, student)}"
        report.misconception(name, f"{report.name_of(student)}({arguments}): {text}")
        return None
    if isinstance(found, tuple):
        report.misconception(name, "torch.autograd.grad returns a tuple: return the tensor in it.")
        return None
    if not isinstance(found, torch.Tensor):
        report.misconception(name, f"return a tensor; it returned a {type(found).__name__}.")
        return None
    return found.detach() if name != "check.eikonal" else found


PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "(x ** 3).sum()": lambda x: (x**3).sum(),
    "x[0] * x[1] + x[1] * x[2]": lambda x: x[0] * x[1] + x[1] * x[2],
    "x.norm()": lambda x: x.norm(),
}


def hvp(student: Callable[..., Any]) -> None:
    """Judge `hvp(f, x, v)` against the Hessian times v."""
    name = "check.hvp"
    if not report.to_judge(name, "hvp", "Write hvp(f, x, v).", student):
        return
    v = torch.tensor([1.0, -2.0, 0.5])
    for code, f in PROGRAMS.items():
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        found = _run(name, student, "f, x, v", f, x, v)
        if found is None:
            return
        matrix = torch.autograd.functional.hessian(f, x.detach())
        if not _near(found, matrix @ v):
            (slope,) = torch.autograd.grad(f(x), x)
            report.misconception(name, f"f = {code}: {_why_hvp(found, matrix, v, slope)}")
            return
    report.passed(name, *(f"f = {code}: equal to the Hessian times v" for code in PROGRAMS))


def _why_hvp(found: torch.Tensor, matrix: torch.Tensor, v: torch.Tensor, slope: torch.Tensor) -> str:
    if found.ndim == 0 and _near(found, slope @ v):
        return "this is the slope along v, one number. Differentiate it once more with respect to x."
    if found.shape != v.shape:
        return f"the product has the shape of v, {list(v.shape)}; this one has {list(found.shape)}."
    if _near(found, slope * v) or _near(found, slope):
        return "this uses only the first gradient. Differentiate once more."
    if _near(found, matrix.sum(0)) or _near(found, matrix.sum(0) * v):
        return "v is applied too late: you differentiated the sum of the gradient, which gives H times ones."
    if _near(found, matrix.diagonal() * v):
        return "only the diagonal of H was used."
    return "the numbers differ from H times v."


LENGTHS = (1.0, 3.0)


def eikonal(student: Callable[..., Any]) -> None:
    """Judge `eikonal(distance, p)`: its value for slopes of known length, and whether it trains parameters."""
    name = "check.eikonal"
    if not report.to_judge(name, "eikonal", "Write eikonal(distance, p).", student):
        return
    p, factors = _points(4, 2), torch.tensor([1.0, 2.0, 3.0, 0.0])
    cases: dict[str, tuple[Distance, float]] = {
        "slopes of length 1": (lambda p: p.norm(dim=1), 0.0),
        "slopes of length 1, 2, 3 and 0": (lambda p: p.norm(dim=1) * factors, 1.5),
    }
    for what, (distance, wanted) in cases.items():
        found = _run(name, student, "distance, p", distance, p)
        if found is None:
            return
        if found.ndim or abs(found.item() - wanted) > 1e-4:
            report.misconception(name, f"{what}: {_why_eikonal(found, wanted)}")
            return
    torch.manual_seed(0)
    net = Sequential(Linear(2, 4), Tanh(), Linear(4, 1))
    loss = _run(name, student, "distance, p", lambda p: net(p)[:, 0], p)
    if loss is None:
        return
    if not loss.requires_grad:
        report.misconception(name, UNRECORDED)
        return
    loss.backward()
    reached = [label for label, q in net.named_parameters() if q.grad is not None]
    report.passed(name, "0 where all slopes have length 1; 1.5 for the lengths 1, 2, 3 and 0",
                  f"its gradient reaches {', '.join(reached)}")


def _why_eikonal(found: torch.Tensor, wanted: float) -> str:
    if found.ndim:
        return f"a loss is one number; this has the shape {list(found.shape)}."
    known = {6.0: "this is the sum over the points, not the mean.", 1.0: "the difference was not squared.",
             3.5: "this is the mean of length²: subtract 1 from the length first.",
             0.25: "lengths were averaged before 1 was subtracted.", 0.5: "the difference was not squared.",
             2.5: "length² − 1 is not (length − 1)².", 18.5: "this uses length²: the length is its root."}
    words = next((text for value, text in known.items() if wanted and abs(found.item() - value) < 1e-4), "")
    if not words and wanted == 0.0:
        words = "the length is that of each point's slope: norm over dim=1, not over all numbers at once."
    return f"{words} It is {found.item():.3g}; it should be {wanted:.3g}.".strip()


HINTS = {
    "divergence": (
        "n will be differentiated once more. Which option does that need when n is computed?",
        "create_graph=True. In the gradient of n[:, k], only the derivative with respect to coordinate k counts.",
        "create_graph=True, and second[:, k].",
    ),
    "hvp": (
        "Two passes: the first computes the gradient of f, and is recorded. The second computes its derivative along "
        "v.",
        "torch.autograd.grad takes grad_outputs: the vector of a vector-Jacobian product. The Hessian is symmetric.",
        "g, = torch.autograd.grad(f(x), x, create_graph=True); return torch.autograd.grad(g, x, v)[0]",
    ),
    "eikonal": (
        "First the slopes, one for each point, as `normals` computes them above. Then their lengths.",
        "n = normals(distance, p) has the shape of p. n.norm(dim=1) are the lengths.",
        "return ((normals(distance, p).norm(dim=1) - 1) ** 2).mean()",
    ),
}
