"""The checks of lesson 7: grad modes."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import minigrad as torch
from minigrad.nn.modules.dropout import Dropout
from minigrad.nn.modules.linear import Linear
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import nodes_of
from minigrad_lessons.values import show

Quarter = tuple[bool, bool]  # the layer is in training; grad mode is on

QUARTERS: tuple[Quarter, ...] = ((True, True), (False, True), (True, False), (False, False))
SAYS = ("is the result recorded?", "do two calls differ?")
RULES: tuple[tuple[tuple[str, Callable[[bool, bool], bool]], ...], ...] = (
    (("eval() stops gradients", lambda training, grad: training and grad),
     ("only eval() and no_grad() together stop the recording", lambda training, grad: training or grad),
     ("neither of the two stops the recording", lambda training, grad: True)),
    (("no_grad() is for inference, so dropout is off in it", lambda training, grad: training and grad),
     ("dropout always draws", lambda training, grad: True)),
)


def measure(training: bool, grad: bool) -> tuple[bool, bool]:
    """For dropout in this quarter: is its result recorded, and do two calls differ?"""
    drop, x = Dropout(0.5).train(training), torch.ones(64, requires_grad=True)
    with torch.set_grad_enabled(grad):
        first, second = drop(x * 1), drop(x * 1)
    return first.requires_grad, not torch.equal(first, second)


def modes(answers: object) -> None:
    """Judge the 2 x 2 of train and eval, grad mode on and off: by running dropout in each quarter."""
    name = "check.modes"
    if not isinstance(answers, Mapping) or set(answers) != set(QUARTERS):
        report.misconception(name, "pass the dictionary with its four keys, as it was given.")
        return
    if any(part is ... for pair in answers.values() for part in (pair if isinstance(pair, tuple) else (pair,))):
        report.not_yet(name, "Put True or False in place of the dots.")
        return
    for quarter in QUARTERS:
        found = measure(*quarter)
        if not isinstance(answers[quarter], tuple) or len(answers[quarter]) != 2:
            report.misconception(name, f"{_named(quarter)}: write two values, True or False, in brackets.")
            return
        for place, said in enumerate(answers[quarter]):
            if not isinstance(said, bool):
                report.not_yet(name, f"{_named(quarter)}: write True or False, without quotes.")
                return
            if said != found[place]:
                belief = next((text for text, rule in RULES[place] if rule(*quarter) == said), "it is a guess")
                report.misconception(name, f'you may be thinking: "{belief}"',
                                     f"{_named(quarter)}: {SAYS[place]} You say {said}, the run says {found[place]}.")
                return
    report.passed(name, *(f"{_named(quarter)}: recorded {recorded}, differ {differ}"
                          for quarter in QUARTERS for recorded, differ in [measure(*quarter)]))


def _named(quarter: Quarter) -> str:
    return f"{'train()' if quarter[0] else 'eval()'}, grad mode {'on' if quarter[1] else 'off'}"


@contextlib.contextmanager
def _put_back() -> Any:
    """Whatever a student's code does to grad mode, it is on afterwards as it was before."""
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


def set_mode(student: Any) -> None:
    """Judge a class that works as `set_grad_enabled` does: at once if called, and for a block."""
    name = "check.set_mode"
    if not report.is_function(name, "set_mode", student):
        return
    if not isinstance(student, type) or not all(hasattr(student, part) for part in ("__enter__", "__exit__")):
        report.misconception(name, "set_mode must be a class with __enter__ and __exit__.")
        return
    if any(report.has_dots(getattr(student, part)) for part in ("__init__", "__enter__", "__exit__")):
        report.not_yet(name, "Fill in the two blanks of set_mode.")
        return
    for use in (_as_a_function, _as_a_block, _back_to_off, _off_in_off, _with_an_error):
        with _put_back():
            try:
                fault = use(student)
            except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
                begin = vars(student).get("__init__", student)
                fault = f"set_mode {report.raised(error, begin)}"
        if fault:
            report.misconception(name, fault)
            return
    report.passed(name, "called as a function: it switches at once", "as a block: it restores what was there before, "
                                                                     "after an error too", "inside no_grad, and "
                                                                                           "inside itself: the "
                                                                                           "innermost decides")


def _as_a_function(student: Any) -> str:
    student(False)
    if torch.is_grad_enabled():
        return "set_mode(False) as a statement did nothing. It must switch when it is made, not when a block begins."
    return ""


def _as_a_block(student: Any) -> str:
    with student(False):
        inside = torch.is_grad_enabled()
    if inside:
        return "inside the block grad mode is still on."
    if not torch.is_grad_enabled():
        return ("after the block grad mode is still off. Put back what was there *before* the switch: ask first, "
                "then switch.")
    return ""


def _back_to_off(student: Any) -> str:
    with torch.no_grad():
        with student(True):
            inside = torch.is_grad_enabled()
        after = torch.is_grad_enabled()
    if not inside:
        return "set_mode(True) inside no_grad did not switch recording on."
    return "it restores True, whatever was there before. Inside no_grad it must restore False." if after else ""


def _off_in_off(student: Any) -> str:
    with student(False):
        with student(False):
            pass
        after = torch.is_grad_enabled()
    return ("it restores the opposite of what it was given. In a block that is already off, that switches recording on."
            if after else "")


def _with_an_error(student: Any) -> str:
    came_out = True
    try:
        with student(False):
            raise KeyError("from inside the block")
        came_out = False
    except KeyError:
        pass
    if not came_out:
        return "it swallows errors: if __exit__ returns something true, an error in the block silently disappears."
    return "" if torch.is_grad_enabled() else "after an error in the block the mode is not restored."


class _Probe:
    """A function that notes each call, and the grad mode in it."""

    def __init__(self) -> None:
        self.modes: list[bool] = []

    def __call__(self, x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        self.modes.append(torch.is_grad_enabled())
        if isinstance(x, tuple):
            raise TypeError("the arguments came as one tuple")
        if scale < 0:
            raise ValueError("a negative scale")
        return torch.mul(x, scale)


def decorator(student: Any) -> None:
    """Judge `without_grad(function)`: a decorator that runs the function with grad mode off, at each call."""
    name = "check.decorator"
    if not report.to_judge(name, "without_grad", "Write what without_grad(function) returns.", student):
        return
    with _put_back():
        try:
            fault = _judge_decorator(student)
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            fault = _why_raised(error, student)
    if fault:
        report.misconception(name, fault)
    else:
        report.passed(name, "nothing inside is recorded, at the first call and at the second",
                      "arguments go in, by name too; the result comes out", "grad mode is restored, after an error too")


def _judge_decorator(student: Any) -> str:
    probe, x = _Probe(), torch.tensor([3.0], requires_grad=True)
    try:
        made = student(probe)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        return ("a function was called at once, while decorating. Return the new function itself, without brackets "
                "after its name.")
    if probe.modes:
        return "it called the function at once, while decorating. It must return a function that will call it."
    if not torch.is_grad_enabled():
        return "decorating alone switched grad mode off, for everything that follows."
    if made is probe:
        return "it returns the function itself. A block around `return function` is over before anybody calls it."
    if not callable(made):
        return f"it returns {type(made).__name__}, and a decorator returns a function."
    for scale, result in ((5.0, made(x, scale=5.0)), (2.0, made(x))):
        fault = _judge_result(result, probe.modes[-1:], scale)
        if fault:
            return fault
    with contextlib.suppress(ValueError):
        made(x, scale=-1.0)
    return "" if torch.is_grad_enabled() else "after an error in the function grad mode stays off: use a `with` block."


def _judge_result(result: Any, inside: list[bool], scale: float) -> str:
    if not inside:
        return "the new function does not call the old one."
    if not isinstance(result, torch.Tensor):
        return "the result is lost: return what the function returned."
    if abs(result.item() - 3.0 * scale) > 1e-3:
        return f"for scale={show(scale)} the result is {show(result.item())}, not {show(3.0 * scale)}."
    if inside[0] and result.requires_grad:
        return "grad mode was on inside the function: the no_grad block must be around the call."
    if inside[0]:
        return ("all was recorded, and cut off afterwards. That keeps what the formulas need until the end; do not "
                "record in the first place.")
    return "" if torch.is_grad_enabled() else "after the call grad mode stays off, for everything that follows."


def _why_raised(error: Exception, student: Any) -> str:
    if isinstance(error, TypeError) and "argument" in str(error):
        return ("the new function does not take all arguments of the old one: take *args and **kwargs, and pass both "
                "on, with their stars.")
    return f"without_grad {report.raised(error, student)}"


Forward = Callable[[Any, Any, torch.Tensor], Any]


def meant(encoder: Any, head: Any, x: torch.Tensor) -> Any:
    """What the program of the lesson was meant to be: the scale is a number, and all else is recorded."""
    h = encoder(x)
    return head(h / h.detach().abs().max())


def _through_the_scale(encoder: Any, head: Any, x: torch.Tensor) -> Any:
    h = encoder(x)
    return head(h / h.abs().max())


def _grads(forward: Forward) -> tuple[Any, list[Any], list[Any]]:
    """What it gives, the four gradients, and leaves of the graph that are no parameters."""
    torch.manual_seed(7)
    encoder, head = Linear(3, 4), Linear(4, 1)
    out: Any = forward(encoder, head, torch.tensor([[1.0, 2.0, 3.0], [-2.0, 0.5, 1.0]]))
    parameters = [*encoder.parameters(), *head.parameters()]
    if not isinstance(out, torch.Tensor) or out.grad_fn is None:
        return out, [None] * 4, []
    ends = [node.variable for node in nodes_of(out.grad_fn) if hasattr(node, "variable")]
    (out * out).sum().backward()
    return out, [p.grad for p in parameters], [t for t in ends if all(t is not p for p in parameters)]


def repaired(student: Forward) -> None:
    """Judge `repaired(encoder, head, x)`: the same numbers, and every parameter gets the gradient that was meant."""
    name = "check.repaired"
    if not report.to_judge(name, "repaired", "Write the lines between the encoder and the head.", student):
        return
    with _put_back():
        try:
            out, grads, strangers = _grads(student)
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            report.misconception(name, f"repaired(encoder, head, x) {report.raised(error, student)}")
            return
    wanted, right, _ = _grads(meant)
    got = f"encoder.weight.grad is {'None' if grads[0] is None else 'there'}, " \
          f"head.weight.grad is {'None' if grads[2] is None else 'there'}"
    if out is None:
        report.misconception(name, "it returns nothing. Its last line was: return head(h).")
    elif not isinstance(out, torch.Tensor) or out.shape != wanted.shape or not torch.allclose(out, wanted):
        report.misconception(name, "the output itself has changed. Only the path of the gradient was wrong.")
    elif any(grad is None for grad in grads):
        report.misconception(name, _why_none(grads, bool(strangers)), got)
    elif all(torch.allclose(a, b) for a, b in zip(grads, _grads(_through_the_scale)[1], strict=True)):
        report.misconception(name, "now the gradient goes through the scale too. It was meant to be a plain number; "
                                   "only the division was in the block by mistake.", got)
    elif not all(torch.allclose(a, b) for a, b in zip(grads, right, strict=True)):
        report.misconception(name, "the gradients are there, but they are not those of h / scale.", got)
    else:
        report.passed(name, got, "the output is the same as before, and the scale is still a plain number")


def _why_none(grads: list[Any], strangers: bool) -> str:
    if strangers:
        return ("requires_grad_() on a result of no_grad makes a new leaf. The gradient ends there, before it reaches "
                "the encoder.")
    if grads[2] is None:
        return "now nothing is recorded: not even the head gets a gradient."
    return "the encoder gets no gradient yet: between it and the head, a step is still not recorded."


HINTS = {
    "modes": (
        "Two different switches. Which of the two does a layer look at, and which does autograd look at?",
        "A layer looks only at its own `training`. Recording depends only on grad mode.",
        "So the first value of each pair follows grad mode, and the second follows the training mode.",
    ),
    "set_mode": (
        "Something is read before the switch, and restored after the block.",
        "torch.is_grad_enabled() returns the current mode. Call it in the first blank.",
        "The second blank is what the first one saved: self.before.",
    ),
    "decorator": (
        "A decorator returns a new function. When must the no_grad block begin: when decorating, or when called?",
        "Inside without_grad, define a function that takes *args and **kwargs, and return that function.",
        "Its body: with torch.no_grad(): return function(*args, **kwargs)",
    ),
    "repaired": (
        "Which of the two lines in the block was meant to run without recording?",
        "The scale is computed under no_grad. The division is not.",
        "Keep `scale = h.abs().max()` in the block, and put `h = h / scale` after it, indented one level less.",
    ),
}
