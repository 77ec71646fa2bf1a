"""The checks of lesson 6: seven events in order, a hook that clips, and a log of gradient norms for each layer."""

from collections.abc import Callable, Mapping
from typing import Any

import minigrad as torch
from minigrad.nn.modules.activation import Tanh
from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.recorder import Trace, record
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import grad_of
from minigrad_lessons.values import show, unanswered

EVENTS = {
    "A": "the post-hook of y's node",
    "B": "y.grad is kept (retain_grad)",
    "C": "x.grad is added to",
    "D": "the tensor hook of y",
    "E": "the post-accumulate hook of x",
    "F": "the tensor hook of x",
    "G": "the pre-hook of y's node",
}
REGISTERED = "EFAGBD"  # the hooks, in the order in which the program below registers them


def program() -> Trace:
    """A backward pass through y = x * 3, with a hook of every kind; registered the wrong way round."""
    with record() as trace:
        x = torch.tensor(2.0, requires_grad=True)
        y = x * 3
        x.register_post_accumulate_grad_hook(lambda tensor: None)
        x.register_hook(lambda grad: None)
        y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: None)
        y.grad_fn.register_prehook(lambda grads: None)
        y.retain_grad()
        y.register_hook(lambda grad: None)
        (y * y).backward()
    return trace


def happened(trace: Trace) -> str:
    """The letters of the events, in the order in which the engine did them."""
    letters = {("tensor", False): "D", ("tensor", True): "F", ("retain_grad", False): "B", ("pre", False): "G",
               ("post", False): "A", ("post_accumulate", True): "E"}
    found = ""
    for event in trace.events:
        if event["kind"] == "accumulate":
            found += "C"
        elif event["kind"] == "hook":
            at_leaf = trace.nodes[event["node"] or 0]["name"] == "AccumulateGrad"
            found += letters[event["hook"], at_leaf]
    return found


# What is before what, in an order that is not the engine's, and what somebody thinks who says so.
MISTAKES = (
    ("BD", "y.grad keeps what all hooks of the tensor have left, whenever they were registered."),
    ("GD", "the gradient reaches the tensor first, and its node afterwards: tensor hooks run before pre-hooks."),
    ("GB", "y.grad is kept before the node's own hooks run."),
    ("AG", "a pre-hook runs before its node, a post-hook after it."),
    ("CF", "the tensor hook of x can still change the gradient, so it runs before x.grad is added to."),
    ("EC", "the post-accumulate hook runs after x.grad has been added to."),
)


def event_order(answer: object) -> None:
    """Judge an order of the seven letters, by running the program."""
    name = "check.event_order"
    if unanswered(answer):
        report.not_yet(name, f"Put the letters {''.join(EVENTS)} in order, as one word in quotes.")
        return
    letters = [letter for letter in str(answer).upper() if letter.isalpha()]
    if sorted(letters) != list(EVENTS):
        report.not_yet(name, f"Use each of the letters {''.join(EVENTS)} once, for example \"{''.join(EVENTS)}\".")
        return
    found = happened(program())
    if "".join(letters) == found:
        report.passed(name, *(f"{letter}  {EVENTS[letter]}" for letter in found))
        return
    place = {letter: letters.index(letter) for letter in EVENTS}
    if [letter for letter in letters if letter != "C"] == list(REGISTERED):
        text = "this is the order of registration, which does not matter between different kinds of hooks."
    elif max(place[letter] for letter in "ABDG") > min(place[letter] for letter in "CEF"):
        text = "x comes after y's node: before that, no gradient has reached x."
    else:
        text = next(text for pair, text in MISTAKES if place[pair[0]] < place[pair[1]])
    report.misconception(name, text)


def clip(student: Callable[[float], Callable[[torch.Tensor], Any]]) -> None:
    """Judge `clip(most)`: a hook that shortens a gradient to this norm if it is longer, and leaves it if not."""
    name = "check.clip"
    if not report.to_judge(name, "clip", "Fill in the two blanks of the hook.", student):
        return
    lines = []
    for values, most in (([6.0, -8.0], 5.0), ([3.0, 4.0], 1.0), ([0.3, 0.4], 1.0), ([0.0, 0.0], 1.0)):
        w = torch.tensor([1.0, 1.0], requires_grad=True)
        given, wrote = torch.tensor(values), list[bool]()
        try:
            hook: Any = student(most)
            w.register_hook(_watched(hook, wrote) if callable(hook) else hook)
            (w * given).sum().backward()
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            report.misconception(name, _why_hook_raised(error, student, student_returns_it=True))
            return
        found = grad_of(w)
        lines.append(f"clip({most:g}): {show(given)} becomes {show(found)}")
        fault = _WROTE if any(wrote) else _why_clipped(found, given, most)
        if fault:
            report.misconception(name, fault, lines[-1])
            return
    report.passed(name, *lines)


def _watched(hook: Callable[[torch.Tensor], Any], wrote: list[bool]) -> Callable[[torch.Tensor], Any]:
    """The hook, and a note for each call: has it changed the gradient that it was handed?"""
    def watched(grad: torch.Tensor) -> Any:
        before = grad.tolist()
        result = hook(grad)
        wrote.append(grad.tolist() != before)
        return result
    return watched


_WROTE = ("the hook modified the gradient that it was given. The engine may still need that tensor elsewhere: return "
          "a new one.")


def _why_hook_raised(error: Exception, student: object, student_returns_it: bool) -> str:
    if "hook returned" in str(error):
        return "a hook returns a tensor, the new gradient, or None to leave it as it is."
    if "changed the size" in str(error):
        return "what a hook returns must have the shape of the gradient; a norm is one number."
    if "register_hook" in str(error) or "callable" in str(error):
        return ("clip(most) returns the hook itself, a function." if student_returns_it else
                "register_hook takes the hook itself, a function; here it got something else.")
    if "'NoneType' object has no attribute" in str(error):
        return (f"the hook {report.raised(error, student).rstrip('.')}. A tensor hook runs before .grad is added to: "
                "use the gradient that it is given.")
    return f"the hook {report.raised(error, student)}"


def _near(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(((a - b).abs() < 1e-4).all())


def _why_clipped(found: torch.Tensor, given: torch.Tensor, most: float) -> str:
    norm = float(given.norm())
    if float(found.norm()) != float(found.norm()):
        return "a gradient of zeros became nan: it was divided by its norm, which is 0. Leave short gradients alone."
    if _near(found, given * min(1.0, most / max(norm, most))):
        return ""
    if norm <= most:
        return "a gradient that was short enough was changed. Shorten only a longer one."
    if _near(found, given):
        return "a long gradient went on unchanged. What the hook returns goes on; None leaves the gradient as it is."
    if _near(found, given.clamp(-most, most)):
        return "each number was clipped by itself: that turns the gradient. Clipping its norm keeps the direction."
    if _near(found, given / norm):
        return "the norm is 1 now, whatever most is."
    if _near(found, given * (norm / most)):
        return "it became longer: the factor is upside down."
    return f"its norm is {float(found.norm()):.3g} now; it should be at most {most:g}, in the same direction."


Watch = Callable[[Module], Mapping[str, list[float]]]
BATCHES = ([[1.0, 2.0], [0.5, -1.0]], [[3.0, 1.0], [-2.0, 0.5]])


def _model() -> Module:
    torch.manual_seed(3)
    return Sequential(Linear(2, 3), Tanh(), Linear(3, 1))


def _norms(clear: bool) -> dict[str, list[float]]:
    """The norms of the parameters' .grad after each of two passes, cleared between them or not."""
    model = _model()
    found: dict[str, list[float]] = {name: [] for name, _ in model.named_parameters()}
    for batch in BATCHES:
        if clear:
            model.zero_grad()
        model(torch.tensor(batch)).pow(2).sum().backward()
        for name, parameter in model.named_parameters():
            found[name].append(float(grad_of(parameter).norm()))
    return found


def watch_layers(student: Watch) -> None:
    """Judge `watch(model)`: after two passes it holds, by name, the norm of each parameter's gradient in each pass."""
    name = "check.watch_layers"
    if not report.to_judge(
            name, "watch", "Write watch(model): one hook for each parameter, and a list for what it sees.", student):
        return
    model = _model()
    finished, log = report.run(name, student, "model", model)
    if not finished:
        return
    if not isinstance(log, Mapping):
        report.misconception(name, f"watch must return the dictionary of lists; it returned a "
                                   f"{type(log).__name__}.")
        return
    try:
        for batch in BATCHES:
            model(torch.tensor(batch)).pow(2).sum().backward()
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, _why_hook_raised(error, student, student_returns_it=False))
        return
    fault = _why_no_lists(log) or _why_log(log, model)
    if fault:
        report.misconception(name, fault)
    else:
        report.passed(name, *(f"{key}: {show(list(map(float, seen)))}" for key, seen in log.items()))


def _why_no_lists(log: Mapping[str, Any]) -> str:
    for key, values in log.items():
        if not isinstance(values, list):
            return f"under {key} there is a {type(values).__name__}; it should be a list, with one number per pass."
        if any(isinstance(value, torch.Tensor) and value.numel() > 1 for value in values):
            return "whole gradients were logged. Log one number per pass: the norm, grad.norm().item()."
        if not all(isinstance(value, int | float | torch.Tensor) for value in values):
            return f"in the list of {key} there is something that is not a number."
    return ""


def _why_log(log: Mapping[str, list[float]], model: Module) -> str:
    wanted, summed = _norms(clear=True), _norms(clear=False)
    seen = {key: [float(value) for value in values] for key, values in log.items()}
    last = list(wanted)[-1]
    if any(abs(float(grad_of(p).norm()) - summed[key][1]) > 1e-3 for key, p in model.named_parameters()):
        return "the gradients were changed. A hook that only looks must return None, as append() does."
    if seen.keys() != wanted.keys():
        if len(seen.get(last, [])) == len(BATCHES) * len(wanted):
            return _LATE
        missing = sorted(wanted.keys() - seen.keys())
        return f"there is no list for {', '.join(missing)}." if missing else "there are names that no parameter has."
    if len(seen[last]) == len(BATCHES) * len(wanted):
        return _LATE
    if all(_alike(seen[key], wanted[key]) for key in wanted):
        return ""
    if all(_alike(seen[key], summed[key]) for key in wanted):
        return "these are norms of .grad, the sum over the passes. A tensor hook gets the gradient of this pass."
    if not any(seen.values()):
        return "nothing was logged. The hooks have to be registered when watch(model) runs, on the parameters."
    key = next(k for k in wanted if not _alike(seen[k], wanted[k]))
    return f"{key} has {show(seen[key])}; the norms of its two gradients are {show(wanted[key])}."


_LATE = ("everything went into the list of the last parameter. The hooks share the loop variable, and look it up when "
         "they run. Give each its own: lambda grad, name=name: …")


def _alike(a: list[float], b: list[float]) -> bool:
    return len(a) == len(b) and all(abs(i - j) <= 1e-3 * max(1.0, abs(j)) for i, j in zip(a, b))


HINTS = {
    "event_order": (
        "The gradient reaches y before it reaches x. Which comes first: the tensor y, or the node that made y?",
        "At y: the tensor's hooks, then y.grad is kept, then the node, with the hooks before and after it.",
        "At x: the tensor hook, then the addition, then the post-accumulate hook. Begin with D, B, G.",
    ),
    "clip": (
        "A gradient that is short enough is left alone. A longer one keeps its direction: which factor makes its norm "
        "equal to most?",
        "Its norm is `norm`; multiplied by f it is f times as long. For which f is that most?",
        "The first blank is most. The factor is most divided by norm.",
    ),
    "watch_layers": (
        "model.named_parameters() gives names and parameters, and a parameter is a tensor with register_hook.",
        "Make a dictionary with an empty list for each name. Each hook appends grad.norm().item() to its own list.",
        "In the loop: log[name] = [], then parameter.register_hook(lambda grad, seen=log[name]: "
        "seen.append(grad.norm().item())).",
    ),
}
