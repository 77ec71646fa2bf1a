"""The checks of lesson 22: the rules of dual numbers, a Jacobian by columns, and a product by forward over reverse."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report

Function = Callable[[torch.Tensor], torch.Tensor]
PAIRS = ((3.0, 2.0, -4.0, 0.5), (1.0, 1.0, 2.0, 0.0), (1.0, 0.0, 2.0, 1.0))  # value, tangent, and the divisor's


def _near(found: Any, wanted: Any) -> bool:
    return bool(torch.allclose(torch.as_tensor(found), torch.as_tensor(wanted), atol=1e-4))


def _tensor(name: str, student: Callable[..., Any], arguments: str, *given: object) -> torch.Tensor | None:
    """What a student's function returns; None if that is no tensor, or if it raised: then it is told."""
    try:
        found = student(*given)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, f"{report.name_of(student)}({arguments}): it {report.raised(error, student)}")
        return None
    if isinstance(found, tuple):
        report.misconception(name, "jvp returns two things, the value and its tangent: return the tangent alone.")
        return None
    if not isinstance(found, torch.Tensor):
        report.misconception(name, f"return a tensor; it returned a {type(found).__name__}.")
        return None
    return found.detach()


def dual(student: Any) -> None:
    """Judge the class `Dual`: its differences and quotients against the derivative that `torch.func.jvp` gives."""
    name = "check.dual"
    if not report.to_judge(name, "dual", "Fill in the two blanks of Dual.", student.__sub__, student.__truediv__):
        return
    for a, da, b, db in PAIRS:
        left, right = [student(torch.tensor(v), torch.tensor(t)) for v, t in ((a, da), (b, db))]
        for sign, method in (("-", "__sub__"), ("/", "__truediv__")):
            apply = (lambda x, y: x - y) if sign == "-" else (lambda x, y: x / y)
            wanted = torch.func.jvp(apply, (left.value, right.value), (left.tangent, right.tangent))[1]
            try:
                found = getattr(left, method)(right).tangent
            except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
                report.misconception(name, f"Dual {sign} Dual {report.raised(error, getattr(student, method))}")
                return
            if not _near(found, wanted):
                why = _why_dual(sign, a, da, b, db, float(found))
                report.misconception(name, f"({a:g}, {da:g}) {sign} ({b:g}, {db:g}): {why} The tangent is "
                                           f"{float(found):.3g}; it should be {wanted.item():.3g}.")
                return
    report.passed(name, *(f"({a:g}, {da:g}) and ({b:g}, {db:g}): the tangents of difference and quotient are those "
                          "of jvp" for a, da, b, db in PAIRS))


def _why_dual(sign: str, a: float, da: float, b: float, db: float, found: float) -> str:
    if sign == "-":
        if _near(found, da + db):
            return "that is the rule for a sum."
        return "only one of the two changes is in it." if _near(found, da) or _near(found, db) else \
            "a difference changes by the difference of the two changes."
    if _near(found, (da - a / b * b) / b):
        return "multiply by how much the divisor changes, not by the divisor."
    if _near(found, (da - a / b * da) / b):
        return "that uses the tangent of the dividend twice; the divisor has one of its own."
    return ("quotient * divisor = dividend: write down the rule for that product, and solve it for the change of the "
            "quotient.")


PROGRAMS: dict[str, tuple[Function, list[float]]] = {
    "torch.stack([v[0] * v[1], v[0]])": (lambda v: torch.stack([v[0] * v[1], v[0]]), [2.0, 5.0]),
    "torch.stack([v.sum(), v[0], v[1] * v[2]])": (lambda v: torch.stack([v.sum(), v[0], v[1] * v[2]]),
                                                  [1.0, 2.0, 3.0]),
    "v.sum() * torch.arange(4.0)": (lambda v: v.sum() * torch.arange(4.0), [1.0, 2.0]),
}


def by_columns(student: Callable[..., Any]) -> None:
    """Judge `by_columns(f, x)` against `torch.func.jacrev`."""
    name = "check.by_columns"
    if not report.to_judge(name, "by_columns", "Write by_columns(f, x).", student):
        return
    for code, (f, values) in PROGRAMS.items():
        x = torch.tensor(values)
        found = _tensor(name, student, "f, x", f, x)
        if found is None:
            return
        wanted = torch.func.jacrev(f)(x)
        if found.shape != wanted.shape or not _near(found, wanted):
            report.misconception(name, f"f = {code}: {_why_columns(found, wanted, f(x))}")
            return
    report.passed(name, *(f"f = {code}: equal to jacrev" for code in PROGRAMS))


def _why_columns(found: torch.Tensor, wanted: torch.Tensor, value: torch.Tensor) -> str:
    if found.shape == wanted.T.shape and _near(found, wanted.T):
        return "rows and columns are exchanged: each product is a column. stack has the argument dim."
    if found.shape == value.shape and _near(found, wanted.sum(1)):
        return "one direction of ones gives the sum of the columns. Take one direction for each input: torch.eye."
    if found.shape == wanted.shape and _near(found, value[:, None].expand_as(found)):
        return "these are values of f, not tangents: jvp returns the value first."
    if found.shape != wanted.shape:
        return f"the Jacobian has the shape [outputs, inputs], {list(wanted.shape)}; this one has {list(found.shape)}."
    return "the numbers differ from the derivatives of each output with respect to each input."


ENERGIES: dict[str, Function] = {
    "(x ** 3).sum()": lambda x: (x**3).sum(),
    "x[0] * x[1] + x[1] * x[2]": lambda x: x[0] * x[1] + x[1] * x[2],
    "x.norm()": lambda x: x.norm(),
}


def forward_hvp(student: Callable[..., Any]) -> None:
    """Judge `forward_hvp(f, x, v)` against the Hessian times v, and by how often `f` runs."""
    name = "check.forward_hvp"
    if not report.to_judge(name, "forward_hvp", "Write forward_hvp(f, x, v).", student):
        return
    x, v = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, -2.0, 0.5])
    for code, f in ENERGIES.items():
        runs: list[int] = []

        def counted(x: torch.Tensor, f: Function = f, runs: list[int] = runs) -> torch.Tensor:
            runs.append(1)
            return f(x)

        found = _tensor(name, student, "f, x, v", counted, x, v)
        if found is None:
            return
        matrix = torch.func.hessian(f)(x)
        if found.shape != v.shape or not _near(found, matrix @ v):
            report.misconception(name, f"f = {code}: {_why_hvp(found, matrix, v, torch.func.grad(f)(x))}")
            return
        if len(runs) > 1:
            report.misconception(name, f"f = {code}: right, but f ran {len(runs)} times. One pass is enough: no "
                                       "Hessian has to be built.")
            return
    report.passed(name, *(f"f = {code}: equal to the Hessian times v, and f ran once" for code in ENERGIES))


def _why_hvp(found: torch.Tensor, matrix: torch.Tensor, v: torch.Tensor, slope: torch.Tensor) -> str:
    if found.ndim == 0:
        return "this is one number: jvp of f itself gives the slope along v. Take jvp of its gradient."
    if _near(found, slope):
        return "this is the gradient of f, the value that jvp returns first. Return the tangent."
    if found.shape != v.shape:
        return f"the product has the shape of v, {list(v.shape)}; this one has {list(found.shape)}."
    return "the numbers differ from H times v."


HINTS = {
    "dual": (
        "If a grows by da and b by db, by how much does a - b grow?",
        "For the quotient q = a / b, q * b = a. The rule for the product says dq * b + q * db = da.",
        "self.tangent - other.tangent, and other.tangent.",
    ),
    "by_columns": (
        "torch.eye(n) has one direction in each row: only one input moves.",
        "torch.func.jvp(f, (x,), (direction,)) returns the value and its tangent. The tangents are the columns.",
        "torch.stack([torch.func.jvp(f, (x,), (d,))[1] for d in torch.eye(len(x))], dim=1)",
    ),
    "forward_hvp": (
        "What is the Jacobian of the gradient called?",
        "torch.func.grad(f) is a function, and jvp takes any function.",
        "return torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]",
    ),
}
