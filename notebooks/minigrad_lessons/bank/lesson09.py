"""Lesson 9: recall questions about it (asked later) and its predictions."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why


def _x() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def seen_inside(look: Any) -> Any:
    """What `look(x)` gives inside a forward that `apply` runs, for an x that requires grad."""
    seen = []

    class Look(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            seen.append(look(x))
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    Look.apply(_x())
    return seen[0]


def _forward_enabled(direct: bool) -> float:
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            with torch.enable_grad():
                return x * 3

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 100

    x = torch.tensor(1.0, requires_grad=True)
    y = Triple.forward(None, x) if direct else Triple.apply(x)
    y.backward()
    assert x.grad is not None
    return float(x.grad.item())


def _square(keep: Callable[[Any, torch.Tensor], None], kept: Callable[[Any], torch.Tensor]) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            keep(ctx, x)
            return x * x

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return grad * 2 * kept(ctx)

    return Square


def _on_ctx(ctx: Any, x: torch.Tensor) -> None:
    ctx.x = x


def _copy_on_ctx(ctx: Any, x: torch.Tensor) -> None:
    ctx.x = x.clone()


SQUARES = {
    "ctx.x = x": (_on_ctx, lambda ctx: ctx.x),
    "ctx.x = x.clone()": (_copy_on_ctx, lambda ctx: ctx.x),
    "ctx.save_for_backward(x)": (lambda ctx, x: ctx.save_for_backward(x), lambda ctx: ctx.saved_tensors[0]),
}


def after_change(kept: str) -> object:
    """The gradient of a square at 3, if its input is multiplied by 10 between forward and backward; or "error"."""
    x = torch.tensor(3.0, requires_grad=True)
    h = x * 1
    y = _square(*SQUARES[kept]).apply(h)
    with torch.no_grad():
        h.mul_(10.0)
    try:
        return torch.autograd.grad(y, x)[0].item()
    except RuntimeError:
        return "error"


def twice_differentiable(kept: str) -> bool:
    """Whether the gradient can be differentiated again, depending on what the Function saved."""
    class Saves(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            square = x * x
            y = x.exp() if kept == "the output" else square * x
            ctx.save_for_backward({"the input": x, "the output": y, "an inner result": square}[kept])
            return y

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            saved, = ctx.saved_tensors
            return grad * {"the input": 3 * saved * saved, "the output": saved, "an inner result": 3 * saved}[kept]

    x = torch.tensor(2.0, requires_grad=True)
    return bool(torch.autograd.grad(Saves.apply(x), x, create_graph=True)[0].requires_grad)


def through(code: str) -> tuple[bool, bool]:
    """Whether apply returns x itself, and whether the result shares memory with x, if forward returns this."""
    class Through(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> Any:
            return eval(code, {"x": x})

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad

    x = _x()
    y = Through.apply(x)
    return y is x, y.data_ptr() == x.data_ptr()


def _accepted(arguments: tuple[object, ...]) -> int:
    """How many gradients a backward must return for a forward with these arguments: tried out."""
    for count in range(9):
        class Try(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *given: Any) -> Any:
                return given[0] * 2

            @staticmethod
            def backward(ctx: Any, grad: torch.Tensor, count: int = count) -> tuple[object, ...]:
                return (grad, *arguments[1:], grad)[:count]

        try:
            Try.apply(*arguments).sum().backward()
        except (RuntimeError, IndexError, TypeError):
            continue
        return count
    raise AssertionError("no count was accepted")


def _same_code(code: str, recorded: bool) -> bool:
    """The flag of this expression of x outside of any Function, with recording on or off."""
    with torch.set_grad_enabled(recorded):
        return bool(eval(code, {"x": _x()}).requires_grad)


def inside(code: str) -> object:
    """Whether an expression requires grad inside forward."""
    return seen_inside(lambda x: eval(code, {"x": x}).requires_grad)


def needed(*arguments: str) -> int:
    """How many gradients backward must return for these arguments of forward."""
    return _accepted(tuple(_x() if argument == "tensor" else None for argument in arguments))


def _names() -> Names:
    return {"inside": inside, "needed": needed,
            "after_change": after_change, "twice_differentiable": twice_differentiable, "through": through}


def _arguments(case: Case) -> list[str]:
    """What stands in the brackets of a call, as words."""
    return [str(part) for part in case.arguments()]


THREE = ("x", "x.view(-1)", "x * 2")

QUESTIONS = (
    Question(
        "q9.1", "Inside forward of a Function: x requires grad, y = x * 2. Does y require grad?",
        lambda: seen_inside(lambda x: (x * 2).requires_grad),
        (Belief("forward builds the graph", lambda: (_x() * 2).requires_grad),),
        "print y.requires_grad inside forward"),
    Question(
        "q9.2", "x requires grad. What is x.requires_grad inside forward?",
        lambda: seen_inside(lambda x: x.requires_grad),
        (Belief("the inputs are detached on the way in", lambda: seen_inside(lambda x: x.detach().requires_grad)),),
        "print x.requires_grad inside forward"),
    Question(
        "q9.3", "forward(ctx, x, n) gets a tensor x and a plain number n. How many values must backward return?",
        lambda: _accepted((_x(), None)),
        (Belief("one for each tensor", lambda: sum(isinstance(a, torch.Tensor) for a in (_x(), None))),
         Belief("ctx counts too", lambda: len(("ctx", _x(), None)))),
        "return one value, then two: what does the error say?"),
    Question(
        "q9.4", "forward computes x * 3 under enable_grad; backward returns grad * 100. What is x.grad?",
        lambda: _forward_enabled(direct=False),
        (Belief("enable_grad in forward brings back the real derivative", lambda: _forward_enabled(direct=True)),),
        "write it and run it: what is the name of the output's grad_fn?"),
    Question(
        "q9.5", "forward keeps ctx.x = x. Then x is changed in place. Does backward notice it and raise an error?",
        lambda: after_change("ctx.x = x") == "error",
        (Belief("an attribute of ctx is watched like a saved tensor",
                lambda: after_change("ctx.save_for_backward(x)") == "error"),),
        "write it both ways, with ctx.x and with save_for_backward"),
)

PREDICTIONS = (
    Prediction(
        "9.1",
        (Belief("the inputs are detached on the way in",
                lambda: seen_inside(lambda x: sum(eval(code, {"x": x.detach()}).requires_grad for code in THREE))),
         Belief("forward builds the graph", lambda: sum(_same_code(code, recorded=True) for code in THREE)),
         Belief("only the input itself says True; nothing made in forward does",
                lambda: seen_inside(lambda x: sum(eval(code, {"x": x}) is x for code in THREE)))),
        Why("What is requires_grad of an expression inside forward?", _names,
            ('inside("x")', 'inside("x * 2")', 'inside("x.view(-1)")', 'inside("x.detach()")'), lambda value: value, {
                "a": Reason("always False: the inputs were detached", lambda case: False),
                "b": Reason("what it would be under no_grad: the inputs are the same tensors as outside",
                            lambda case: _same_code(_arguments(case)[0], recorded=False)),
                "c": Reason("what it would be outside: inputs that require grad pass it on",
                            lambda case: _same_code(_arguments(case)[0], recorded=True))}),
        look="Print requires_grad of each of the three in forward, and of the same three outside it."),
    Prediction(
        "9.2",
        (Belief("one for each tensor", lambda: sum(isinstance(a, torch.Tensor) for a in (_x(), None))),
         Belief("ctx counts too", lambda: len(("ctx", _x(), None)))),
        Why("How many?", _names,
            ('needed("tensor")', 'needed("tensor", "number")', 'needed("tensor", "tensor")',
             'needed("tensor", "tensor", "number")'),
            lambda value: value, {
                "a": Reason("one for each tensor among the inputs", lambda case: _arguments(case).count("tensor")),
                "b": Reason("one for each output of forward", lambda case: 1),
                "c": Reason("one for each argument after ctx; None where there is no gradient",
                            lambda case: len(_arguments(case)))}),
        look="Let backward return one value, then two, and read the errors."),
    Prediction(
        "9.3",
        (Belief("ctx keeps the value that x had", lambda: after_change("ctx.x = x.clone()")),
         Belief("a change is noticed, however the tensor was kept", lambda: after_change("ctx.save_for_backward(x)"))),
        Why("What would have noticed the change?", _names,
            ('after_change("ctx.x = x")', 'after_change("ctx.save_for_backward(x)")',
             'after_change("ctx.x = x.clone()")'), lambda value: value == "error", {
                "a": Reason("only save_for_backward: it notes the version of the tensor",
                            lambda case: "save" in case.code),
                "b": Reason("nothing: in your own Function, nothing is checked", lambda case: False),
                "c": Reason("any way of keeping it, unless it is a copy", lambda case: "clone" not in case.code)}),
        word="error",
        look="Print ctx.h in backward. Then run the same with SquareSaved."),
    Prediction(
        "9.4",
        (Belief("with create_graph backward is recorded, so its result can be differentiated",
                lambda: twice_differentiable("the input")),),
        Why("What may be saved if a second derivative is wanted?", _names,
            ('twice_differentiable("the input")', 'twice_differentiable("the output")',
             'twice_differentiable("an inner result")'), lambda value: value, {
                "a": Reason("only inputs", lambda case: _arguments(case) == ["the input"]),
                "b": Reason("inputs and outputs; an inner result was made with recording off and has no history",
                            lambda case: _arguments(case) != ["an inner result"]),
                "c": Reason("nothing: your own Function has only a first derivative", lambda case: False)}),
        look="Print square.requires_grad in forward."),
    Prediction(
        "9.5",
        (Belief("apply returns what forward returned", lambda: eval("x is x", {"x": _x()})),),
        Why("What does apply return?", _names,
            ('through("x")', 'through("x.view(-1)")', 'through("x * 1")'), lambda value: value, {
                "a": Reason("a copy of what forward returns, so that it can have a node of its own",
                            lambda case: (False, False)),
                "b": Reason("what forward returned, unchanged",
                            lambda case: (_arguments(case) == ["x"], "*" not in case.code)),
                "c": Reason("a view of x, in the same memory: x itself cannot take another node",
                            lambda case: (False, "*" not in case.code))}),
        look="Print the grad_fn of x and of the result: can one tensor have both?"),
)
