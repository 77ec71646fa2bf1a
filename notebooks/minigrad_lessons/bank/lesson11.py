"""Lesson 11: recall questions about it (asked later) and its predictions."""

from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad import nn
from minigrad.nn.modules.container import ModuleList
from minigrad.nn.modules.linear import Linear
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why, fails


def _parts() -> dict[str, object]:
    linear = Linear(2, 1)
    return {
        "a Parameter": nn.Parameter(torch.ones(2)), "a tensor that requires grad": torch.ones(2, requires_grad=True),
        "a Buffer": nn.Buffer(torch.ones(2)), "a list of Parameters": [nn.Parameter(torch.ones(2))],
        "a Linear": linear, "a ModuleList": ModuleList([linear]), "a list of Linears": [linear],
    }


def parameters_of(part: str) -> int:
    """How many parameters a module has after this was assigned to it."""
    module = nn.Module()
    module.part = _parts()[part]
    return len(list(module.parameters()))


def _scaled(kind: Callable[[torch.Tensor], torch.Tensor]) -> int:
    module = nn.Module()
    module.linear, module.scale = Linear(2, 1), kind(torch.ones(1))
    return len(list(module.parameters()))


def refused(what: str) -> bool:
    """Whether SGD refuses this tensor."""
    w = torch.ones(2, requires_grad=True)
    made = {"w": w, "w * 1": w * 1, "w.double()": w.double(), "w.detach()": w.detach(), "Parameter(w)": nn.Parameter(w),
            "w.detach().double()": w.detach().double()}
    return fails(lambda: torch.optim.SGD([made[what]], lr=0.1), ValueError)


def after(change: str) -> list[bool]:
    """Whether w is the same object after this change, and a leaf."""
    w = before = torch.tensor([1.0, 2.0], requires_grad=True)
    w.grad = torch.ones(2)
    if change == "w = w - g":
        w = w - torch.ones(2)
    elif change == "w = w - g, under no_grad":
        with torch.no_grad():
            w = w - torch.ones(2)
    elif change == "w.sub_(g), under no_grad":
        with torch.no_grad():
            w.sub_(torch.ones(2))
    else:
        torch.optim.SGD([w], lr=0.1).step()
    return [before is w, w.is_leaf]


def stepped(grad: float | None, decay: float = 0.0) -> float:
    """What a parameter that was 1 is after a step of 0.1 with this gradient."""
    w = nn.Parameter(torch.ones(1))
    w.grad = None if grad is None else torch.tensor([grad])
    torch.optim.SGD([w], lr=0.1, weight_decay=decay).step()
    return float(round(w.item(), 3))


def has_grad(of: str) -> bool:
    """Whether this has a `.grad` after backward of a layer's loss."""
    layer, x, target = Linear(2, 1), torch.ones(3, 2), torch.zeros(3, 1)
    if of == "x that requires grad":
        x.requires_grad_()
    if of == "frozen weight":
        layer.weight.requires_grad_(False)
    out = layer(x)
    if of == "out that retains it":
        out.retain_grad()
    nn.functional.mse_loss(out, target).backward()
    named: dict[str, Any] = {"weight": layer.weight, "frozen weight": layer.weight, "bias": layer.bias,
                             "target": target}
    asked = named.get(of, x if of.startswith("x") else out)
    return (asked.is_leaf or asked.retains_grad) and asked.grad is not None


def _names() -> Names:
    return {"parameters_of": parameters_of, "refused": refused, "after": after, "stepped": stepped,
            "has_grad": has_grad}


QUESTIONS = (
    Question(
        "q11.1", "self.layers = [nn.Linear(2, 1)] in a module, and nothing else. How many parameters does it have?",
        lambda: parameters_of("a list of Linears"),
        (Belief("a list of layers is registered", lambda: parameters_of("a ModuleList")),),
        "count list(net.parameters()); then use nn.ModuleList"),
    Question(
        "q11.2", "w = 1, w.grad = 10 written by hand, no loss. After SGD([w], lr=0.1).step(), what is w?",
        lambda: stepped(10.0),
        (Belief("the optimizer knows my loss, and there is none", lambda: stepped(None)),),
        "run it"),
    Question(
        "q11.3", "w requires grad. Does torch.optim.SGD([w * 1], lr=0.1) raise an error?",
        lambda: refused("w * 1"),
        (Belief("whatever requires grad can be optimized", lambda: refused("w")),),
        "run it, and read what the error says about leaves"),
    Question(
        "q11.4", "w is a parameter. Is it a leaf after optimizer.step()?",
        lambda: after("step()")[1],
        (Belief("a step is an operation, so the new w is a result", lambda: after("w = w - g")[1]),),
        "print w.grad_fn after a step"),
    Question(
        "q11.5", "w = 1 and w.grad is None. After SGD([w], lr=0.1, weight_decay=0.5).step(), what is w?",
        lambda: stepped(None, 0.5),
        (Belief("weight decay shrinks every parameter", lambda: stepped(0.0, 0.5)),),
        "run it, then again with w.grad = torch.zeros(1)"),
)

PREDICTIONS = (
    Prediction(
        "11.1",
        (Belief("every tensor of a module that requires grad is a parameter", lambda: _scaled(nn.Parameter)),
         Belief("a layer inside does not count, only what I assign as a tensor",
                lambda: parameters_of("a Parameter"))),
        Why("What counts as a parameter of a module?", _names,
            ('parameters_of("a tensor that requires grad")', 'parameters_of("a Parameter")',
             'parameters_of("a Linear")', 'parameters_of("a list of Parameters")', 'parameters_of("a Buffer")'),
            lambda value: value > 0, {
                "a": Reason("every tensor in it that requires grad",
                            lambda case: case.arguments() != ["a Buffer"]),
                "b": Reason("every Parameter, wherever it is kept",
                            lambda case: case.arguments()[0] in ("a Parameter", "a Linear", "a list of Parameters")),
                "c": Reason("every Parameter that was assigned, and those of modules that were assigned",
                            lambda case: case.arguments()[0] in ("a Parameter", "a Linear"))}),
        look="Print their names: [name for name, p in Scaled().named_parameters()]."),
    Prediction(
        "11.2",
        (Belief("whatever requires grad can be optimized", lambda: refused("w")),),
        Why("What does an optimizer refuse?", _names,
            ('refused("w.double()")', 'refused("w * 1")', 'refused("w.detach()")', 'refused("w.detach().double()")',
             'refused("w")'),
            lambda value: value, {
                "a": Reason("what is not a leaf: a step would change a result that is not used again",
                            lambda case: case.arguments()[0] in ("w.double()", "w * 1")),
                "b": Reason("what is not a Parameter", lambda case: case.arguments() != ["Parameter(w)"]),
                "c": Reason("what was converted to another dtype", lambda case: "double" in case.code)}),
        look="Print w.is_leaf, and read the error that SGD raises for a result."),
    Prediction(
        "11.3",
        (Belief("a step is an operation, so the new w is a result", lambda: after("w = w - g")),
         Belief("a step makes a new leaf and puts it in place of the old one",
                lambda: after("w = w - g, under no_grad"))),
        Why("What does a step do to w?", _names,
            ('after("step()")', 'after("w.sub_(g), under no_grad")', 'after("w = w - g")',
             'after("w = w - g, under no_grad")'),
            lambda value: value, {
                "a": Reason("what `w = w - g` does", lambda case: after(
                    "w = w - g" if case.arguments() == ["step()"] else str(case.arguments()[0]))),
                "b": Reason("the same object with new numbers, and nothing recorded",
                            lambda case: [True, True] if "=" not in case.code else [False, "no_grad" in case.code]),
                "c": Reason("a new leaf each time",
                            lambda case: [False, "= w - g\"" not in case.code])}),
        look="Print id(w) and w.grad_fn before the step and after it."),
    Prediction(
        "11.4",
        (Belief("weight decay shrinks every parameter", lambda: stepped(0.0, 0.5)),),
        Why("Which parameters does a step change?", _names,
            ("stepped(None, 0.5)", "stepped(0.0, 0.5)", "stepped(0.0)", "stepped(None)", "stepped(1.0)"),
            lambda value: value != 1.0, {
                "a": Reason("all, if there is weight decay", lambda case: "0.5" in case.code or "(1.0" in case.code),
                "b": Reason("those with a .grad; they may move even if the gradient is 0",
                            lambda case: case.arguments()[0] is not None and case.arguments() != [0.0]),
                "c": Reason("those whose .grad is not 0", lambda case: case.arguments()[0] not in (None, 0.0))}),
        look="Give idle a .grad of zeros, and take the same step."),
    Prediction(
        "11.5",
        (Belief("everything in the formula gets a .grad",
                lambda: len(("weight", "bias", "x", "out", "target", "loss"))),
         Belief("everything that requires grad gets a .grad, results too",
                lambda: sum(map(has_grad, ("weight", "bias", "out that retains it", "out that retains it")))),
         Belief("what goes into the layer gets a .grad, as its parameters do",
                lambda: sum(map(has_grad, ("weight", "bias", "x that requires grad"))))),
        Why("What keeps a .grad?", _names,
            ('has_grad("weight")', 'has_grad("out")', 'has_grad("x")', 'has_grad("x that requires grad")',
             'has_grad("frozen weight")', 'has_grad("out that retains it")'),
            lambda value: value, {
                "a": Reason("parameters, and nothing else", lambda case: "weight" in case.code),
                "b": Reason("leaves that require grad, and results that were asked to retain it",
                            lambda case: case.arguments()[0] == "weight" or "that" in case.code),
                "c": Reason("everything that requires grad",
                            lambda case: case.arguments()[0] not in ("x", "frozen weight"))}),
        look="Print is_leaf and requires_grad of each of the six."),
)
