"""Lesson 6: recall questions about it (asked later) and its predictions."""

from collections.abc import Callable

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why
from minigrad_lessons.exercises.graph import grad_of


def _x() -> torch.Tensor:
    return torch.tensor(2.0, requires_grad=True)


def _seen_by_a_hook(result: Callable[[torch.Tensor], torch.Tensor]) -> int:
    """How many gradients a hook on y = x * 3 sees, where y keeps none."""
    seen: list[torch.Tensor] = []
    y = _x() * 3
    y.register_hook(seen.append)
    result(y).backward()
    return len(seen)


def _grad_of_y(prepare: Callable[[torch.Tensor], object]) -> float:
    """What is left in y.grad for y = x * 3, after backward()."""
    y = _x() * 3
    y.retain_grad()
    prepare(y)
    y.backward()
    return float(grad_of(y))


def _times_ten(y: torch.Tensor) -> None:
    """The tensor hook, which multiplies by 10."""
    y.register_hook(lambda gradient: gradient * 10)


def _times_hundred(y: torch.Tensor) -> None:
    """The pre-hook, which multiplies by 100."""
    y.grad_fn.register_prehook(lambda gradients: (gradients[0] * 100,))


def _retains(tensor: torch.Tensor) -> bool:
    tensor.retain_grad()
    return bool(tensor.retains_grad)


QUESTIONS = (
    Question(
        "q6.1", "y = x * 3 keeps no .grad. How many gradients does a hook on y see when (y * y).backward() runs?",
        lambda: _seen_by_a_hook(lambda y: y * y),
        (Belief("inner gradients are not computed", lambda: _seen_by_a_hook(lambda y: y.detach().requires_grad_() * 2)),
         Belief("one for each use of y", lambda: len((y := _x() * 3, y * y)[1].grad_fn.next_functions))),
        "y.register_hook(print), then run backward"),
    Question(
        "q6.2", "w is a leaf that requires grad. After w.retain_grad(), what is w.retains_grad?",
        lambda: _retains(_x()),
        (Belief("retain_grad() switches it on, whatever the tensor is", lambda: _retains(_x() * 3)),),
        "print it; a leaf keeps its gradient anyway"),
    Question(
        "q6.4", "y = x * 3; y.retain_grad(). A pre-hook of y.grad_fn multiplies by 100. After y.backward(), y.grad?",
        lambda: _grad_of_y(_times_hundred),
        (Belief("what any hook changes is what y.grad shows",
                lambda: _grad_of_y(lambda y: y.register_hook(lambda gradient: gradient * 100))),),
        "try it: y.grad is kept before the node's own hooks run"),
)


Step = Callable[[torch.Tensor], object]


def _run(steps: tuple[Step, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """x and y = x * 3 after backward(); the steps prepare y before it."""
    x = _x()
    y = x * 3
    for step in steps:
        step(y)
    y.backward()
    return x, y


def _x_grad(*steps: Step) -> float:
    """The x.grad after these were registered on y = x * 3, in this order."""
    return float(grad_of(_run(steps)[0]))


def _y_grad(*steps: Step) -> float:
    """The y.grad after these were registered on y = x * 3, in this order."""
    return float(grad_of(_run(steps)[1]))


def retain(y: torch.Tensor) -> None:
    """Calls y.retain_grad()."""
    y.retain_grad()


def nothing(y: torch.Tensor) -> None:
    """A hook that returns None."""
    y.register_hook(lambda gradient: None)


def times_2(y: torch.Tensor) -> None:
    """A hook that returns twice the gradient."""
    y.register_hook(lambda gradient: gradient * 2)


def local_2(y: torch.Tensor) -> None:
    """A hook that computes twice the gradient and returns nothing."""
    def hook(gradient: torch.Tensor) -> None:
        gradient = gradient * 2
    y.register_hook(hook)


def _factor(case: Case) -> float:
    """By what all hooks together multiply: each tensor hook by 10, each pre-hook by 100."""
    return 10.0 ** case.names_used().count("tensor_10") * 100.0 ** case.names_used().count("pre_100")


def _before_retain(case: Case) -> float:
    steps = case.names_used()[1:]
    return 10.0 ** steps[:steps.index("retain")].count("tensor_10")


def _leaf(passes: int) -> float:
    """x.grad after so many passes with the gradient 3, where a hook on x multiplies by 10."""
    x = _x()
    x.register_hook(lambda gradient: gradient * 10)
    for _ in range(passes):
        (x * 3).backward()
    return float(grad_of(x))


def _passes(case: Case) -> int:
    return int(case.code.removeprefix("leaf(").removesuffix(")"))


def _if_hook_saw_the_sum(passes: int) -> float:
    total = 0.0
    for _ in range(passes):
        total = (total + 3.0) * 10.0
    return total


def in_backward(y: torch.Tensor, x: torch.Tensor) -> None:
    """The pass that fills .grad."""
    y.backward()


def in_grad(y: torch.Tensor, x: torch.Tensor) -> None:
    """The pass that returns the gradient."""
    torch.autograd.grad(y, x)


def tensor_hook(x: torch.Tensor, hook: Callable[[torch.Tensor], None]) -> None:
    """A hook on x."""
    x.register_hook(hook)


def post_hook(x: torch.Tensor, hook: Callable[[torch.Tensor], None]) -> None:
    """A hook on x that runs after x.grad has been added to."""
    x.register_post_accumulate_grad_hook(hook)


Register = Callable[[torch.Tensor, Callable[[torch.Tensor], None]], None]


def _ran(register: Register, start: Callable[[torch.Tensor, torch.Tensor], None]) -> bool:
    """Whether a hook on x ran in this pass."""
    x = _x()
    seen: list[torch.Tensor] = []
    register(x, seen.append)
    start(x * 3, x)
    return bool(seen)


def _names() -> Names:
    return {"x_grad": _x_grad, "y_grad": _y_grad, "retain": retain, "tensor_10": _times_ten, "pre_100": _times_hundred,
            "nothing": nothing, "times_2": times_2, "local_2": local_2, "leaf": _leaf, "ran": _ran,
            "tensor_hook": tensor_hook, "post_hook": post_hook, "in_backward": in_backward, "in_grad": in_grad}


PREDICTIONS = (
    Prediction(
        "6.1",
        (Belief("hooks run in the order in which I registered them", lambda: _y_grad(retain)),
         Belief("y.grad is what goes on in the end", lambda: _x_grad(_times_ten, _times_hundred) / 3),
         Belief("y.grad is kept at the node, so only a hook of the node changes it",
                lambda: _x_grad(_times_hundred) / 3)),
        Why("What is kept in y.grad?", _names,
            ("y_grad(tensor_10, retain)", "y_grad(retain, tensor_10)", "y_grad(retain, pre_100)"),
            lambda value: value, {
                "a": Reason("what remains after the hooks that were registered before retain_grad()", _before_retain),
                "b": Reason("what remains after all hooks of the tensor; those of the node run later",
                            lambda case: 10.0 ** case.names_used().count("tensor_10")),
                "c": Reason("what remains after all hooks, including those of the node", _factor)}),
        look="Print the gradient in both hooks, and y.grad after the pass."),
    Prediction(
        "6.2",
        (Belief("hooks only look, and change nothing", lambda: _x_grad()),
         Belief("what is in y.grad goes on", lambda: 3 * _y_grad(retain, _times_ten)),
         Belief("a hook of the tensor only looks; a hook of the node changes what goes on",
                lambda: _x_grad(_times_hundred))),
        Why("What goes on to x?", _names,
            ("x_grad()", "x_grad(tensor_10)", "x_grad(pre_100)", "x_grad(retain, tensor_10, pre_100)"),
            lambda value: value, {
                "a": Reason("3 times what is in y.grad", lambda case: 3 * 10.0 ** case.names_used().count("tensor_10")),
                "b": Reason("3: hooks only look", lambda case: 3.0),
                "c": Reason("3 times what remains after all hooks before the node", lambda case: 3 * _factor(case))}),
        look="Leave out one hook, then the other, and compare x.grad."),
    Prediction(
        "6.3",
        (Belief("a hook that returns None means that there is no gradient", lambda: None),
         Belief("whatever a hook computes goes on", lambda: _x_grad(times_2))),
        Why("What does a hook change?", _names,
            ("x_grad(nothing)", "x_grad(times_2)", "x_grad(local_2)"), lambda value: value, {
                "a": Reason("what it returns goes on; None leaves the gradient as it is",
                            lambda case: 6.0 if "times_2" in case.code else 3.0),
                "b": Reason("what it computes goes on, returned or not",
                            lambda case: 6.0 if "_2" in case.code else 3.0),
                "c": Reason("nothing: it can only look", lambda case: 3.0)}), word="None",
        look="Print x.grad once with this hook and once without any. Then let the hook return grad * 2."),
    Prediction(
        "6.4",
        (Belief("the hook gets .grad, with what was in it before", lambda: _if_hook_saw_the_sum(2)),
         Belief("a hook runs once", lambda: _leaf(1) + 3)),
        Why("What does a hook on a leaf get?", _names, ("leaf(1)", "leaf(2)", "leaf(3)"), lambda value: value, {
            "a": Reason(".grad, after this pass has been added", lambda case: _if_hook_saw_the_sum(_passes(case))),
            "b": Reason("the gradient of this pass, before it is added", lambda case: 30.0 * _passes(case)),
            "c": Reason("the gradient of the first pass only", lambda case: 30.0 + 3.0 * (_passes(case) - 1))}),
        look="Print the gradient in the hook: what does it get in the second pass?"),
    Prediction(
        "6.5",
        (Belief("grad runs the same hooks as backward", lambda: sum(
            _ran(register, in_backward) for register in (tensor_hook, post_hook))),
         Belief("grad runs no hooks", lambda: 0)),
        Why("Which hooks of x run?", _names,
            ("ran(tensor_hook, in_backward)", "ran(post_hook, in_backward)", "ran(tensor_hook, in_grad)",
             "ran(post_hook, in_grad)"), lambda value: value, {
                "a": Reason("grad() adds to no .grad, so hooks that run after the addition do not run",
                            lambda case: not {"post_hook", "in_grad"} <= set(case.names_used())),
                "b": Reason("all, in both", lambda case: True),
                "c": Reason("in grad() none", lambda case: "in_backward" in case.code)}),
        look="Print the list ran, after grad() and after backward()."),
)
