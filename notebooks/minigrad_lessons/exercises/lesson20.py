"""The checks of lesson 20: gradients by the names of modules, where a gradient dies, and what a layer may return."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import minigrad as torch
from minigrad import nn
from minigrad_lessons.exercises import report

LEFT = "a hook is still there after your function has returned: it would be called in every later pass. Remove it."


def _hooks(model: nn.Module) -> int:
    """How many hooks are on a model and its parts."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(vars(module)[kind]) for module in model.modules() for kind in kinds)


def _row(*parts: nn.Module) -> Any:
    return nn.Sequential(*parts)


def _dead() -> Any:
    layer: Any = nn.Linear(3, 3)
    nn.init.constant_(layer.bias, -10.0)
    return layer


def _run(name: str, student: Callable[..., Any], told: str, model: nn.Module, *given: object) -> tuple[bool, Any]:
    """Call a student's function on a model; False if it raised or left a hook behind, and then it is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a full backward hook warns if no input requires grad
        ended, found = report.run(name, student, told, model, *given)
    if ended and _hooks(model):
        report.misconception(name, LEFT)
        return False, None
    return ended, found


def gradient_norms(student: Callable[..., Any]) -> None:
    """Judge `gradient_norms(model, x)`: by name, the norm of the gradient at the output of each module."""
    name = "check.gradient_norms"
    if not report.to_judge(name, "gradient_norms", "Fill in the two blanks.", student):
        return
    torch.manual_seed(1)
    for model in (_row(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)), _row(_row(nn.Linear(3, 3), nn.ReLU()), _dead())):
        wanted = _norms(model, torch.ones(2, 3))
        ended, found = _run(name, student, "model, x", model, torch.ones(2, 3))
        if not ended:
            return
        fault = _why_norms(found, wanted)
        if fault:
            report.misconception(name, fault)
            return
    report.passed(name, "two models: the norm at each module, and no hook is left")


def _norms(model: nn.Module, x: torch.Tensor) -> dict[str, float]:
    """By name, the norm of the gradient of what each module returns: found from the outputs, without backward hooks."""
    kept: dict[str, torch.Tensor] = {}
    handles = [module.register_forward_hook(lambda module, args, output, path=path: kept.update({path: output}))
               for path, module in model.named_modules() if path]
    loss = model(x).sum()
    for handle in handles:
        handle.remove()
    grads = torch.autograd.grad(loss, list(kept.values()))
    return {path: float(grad.norm().item()) for path, grad in zip(kept, grads, strict=True)}


def _why_norms(found: object, wanted: Mapping[str, float]) -> str:
    if not isinstance(found, dict):
        return f"return the dictionary of norms; it returned {report.a(found)}."
    if set(found) != set(wanted):
        return f"the names are {sorted(found)}; they should be {sorted(wanted)}."
    for path, norm in wanted.items():
        if not isinstance(found[path], float):
            return f"under {path!r} there is {report.a(found[path])}; it should be a number, by .item()."
        if abs(found[path] - norm) > 1e-4 * max(1.0, norm):
            return f"{path!r} has {found[path]:.3g}; the norm of the gradient of its output is {norm:.3g}."
    return ""


def _models() -> tuple[tuple[str, Any, str | None], ...]:
    """Models with what they are, and the name of the module in which the gradient dies."""
    torch.manual_seed(2)
    alive = [_row(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)) for _ in range(2)]
    flat = _row(nn.Linear(3, 3), nn.Tanh(), _dead(), nn.ReLU(), nn.Linear(3, 2))
    inner = _row(nn.Linear(3, 3), _row(nn.Linear(3, 3), _row(_dead(), nn.ReLU())), nn.Linear(3, 2))
    zeros = nn.Linear(3, 3)
    nn.init.zeros_(zeros.weight)
    weight = _row(nn.Linear(3, 3), nn.Tanh(), zeros, nn.Linear(3, 2))
    return (("a ReLU after a bias of -10", flat, "3"), ("a healthy model", alive[0], None),
            ("such a ReLU in a part of a part", inner, "1.1.1"), ("a weight of zeros", weight, "2"),
            ("another healthy model", alive[1], None))


def where_it_dies(student: Callable[..., Any]) -> None:
    """Judge `where_it_dies(model, x)`: the name of the innermost module that gets a gradient and passes on zeros."""
    name = "check.where_it_dies"
    if not report.to_judge(name, "where_it_dies", "Write where_it_dies(model, x).", student):
        return
    for told, model, wanted in _models():
        ended, found = _run(name, student, "model, x", model, torch.ones(2, 3, requires_grad=True))
        if not ended:
            return
        if found != wanted:
            report.misconception(name, _why_dies(told, found, wanted))
            return
    report.passed(name, *(f"{told}: {wanted!r}" for told, _, wanted in _models()))


def _why_dies(told: str, found: object, wanted: str | None) -> str:
    text = f"{told}: {found!r}; it should be {wanted!r}."
    if wanted and isinstance(found, str):
        if wanted.startswith(found):
            return f"{text} That is a part which holds the right one; the hook of the innermost part is called first."
        if found.split(".")[:-1] == wanted.split(".")[:-1] and found < wanted:
            return f"{text} That module only gets zeros; ask for the one that gets more than that."
    return text


class _Breaks(nn.Module):
    """A module that raises an error."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Raise."""
        raise RuntimeError("the model itself raises this error")


def patched(student: Callable[..., Any]) -> None:
    """Judge `patched(model, x, name, value)`: the result with one output replaced, and no trace of it later."""
    name = "check.patched"
    if not report.to_judge(name, "patched", "Write patched(model, x, name, value).", student):
        return
    torch.manual_seed(3)
    model = _row(nn.Linear(3, 3), _row(nn.Tanh(), nn.Linear(3, 3)), nn.Linear(3, 2))
    x, value = torch.ones(2, 3), torch.full((2, 3), 0.5)
    plain, last = model(x), model[2]
    for path, wanted in (("1", last(value)), ("1.0", last(model[1][1](value))), ("0", last(model[1](value)))):
        ended, found = _run(name, student, f"model, x, {path!r}, value", model, x, path, value)
        if not ended:
            return
        if not isinstance(found, torch.Tensor):
            report.misconception(name, f"return the result of the model, a tensor; it returned {report.a(found)}.")
            return
        if not torch.allclose(found, wanted):
            why = " It is the result without a replacement." if torch.allclose(found, plain) else ""
            report.misconception(name, f"with {path!r} replaced, the result is another.{why} What a forward hook "
                                       "returns takes the place of the output.")
            return
        if not torch.equal(model(x), plain):
            report.misconception(name, f"after {path!r} was replaced, model(x) is no longer what it was.")
            return
    if _survives(name, student, x, value):
        report.passed(name, "three modules replaced, inner ones too", "the model is as before, after an error too")


def _survives(name: str, student: Callable[..., Any], x: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the error of a model comes out, and no hook is left then."""
    broken = _row(nn.Linear(3, 3), _Breaks())
    try:
        student(broken, x, "0", value)
    except RuntimeError:
        if _hooks(broken) == 0:
            return True
        report.misconception(name, "the model raised an error, and the hook is still there. Remove it in finally.")
    else:
        report.misconception(name, "the model raised an error, and your function hid it. Use finally, not except.")
    return False


HINTS = {
    "gradient_norms": (
        "grad_output is a tuple: a gradient for each output of the module.",
        "A module with one output: grad_output[0]. Its norm as a number ends in .item().",
        "norms[name] = grad_output[0].norm().item(), and handle.remove()",
    ),
    "where_it_dies": (
        "Which kind of hook is given both what arrives at a module and what it passes on?",
        "A full backward hook: grad_output[0] has a number other than 0, grad_input[0] has none. Put the name into a "
        "list; inner modules come first.",
        "In the hook: if (grad_output[0] != 0).any() and (grad_input[0] == 0).all(): found.append(name). Return "
        "found[0] if there is one, else None.",
    ),
    "patched": (
        "Which hook may return something in place of the output? How do you get a module by its name?",
        "model.get_submodule(name).register_forward_hook(…) returns a handle. The hook returns value.",
        "handle = model.get_submodule(name).register_forward_hook(lambda module, args, output: value), then "
        "try: return model(x) and finally: handle.remove()",
    ),
}
