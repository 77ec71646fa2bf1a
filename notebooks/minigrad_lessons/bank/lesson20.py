"""Lesson 20: its predictions."""

from typing import Any

import minigrad as torch
from minigrad import nn
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why

QUESTIONS: tuple[Question, ...] = ()
NAMES = {"first": 0, "second": 1, "third": 2}


class _Functional(nn.Module):
    """A linear layer and a relu that is a function."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The layer, then relu."""
        return torch.relu(self.layer(x))


class _Scaled(nn.Module):
    """A product with a number that may be passed by name."""

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        """The product."""
        return x * factor


def _sequence() -> Any:
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1))


def calls(what: str) -> int:
    """How often a forward hook on each of net.modules() is called: three parts, if nothing else is said."""
    layer = nn.Linear(3, 3)
    nets = {"relu as a function": _Functional(), "one layer twice": nn.Sequential(layer, nn.ReLU(), layer)}
    net: Any = nets.get(what) or _sequence()
    counted: list[object] = []
    for module in net.modules():
        module.register_forward_hook(lambda module, args, output: counted.append(module))
    (net.forward if what == "net.forward(x)" else net)(torch.ones(1, 3))
    return len(counted)


def positional(arguments: str) -> int:
    """len(args) in a forward hook of a module that is called with these arguments."""
    scaled, lengths = _Scaled(), list[int]()
    scaled.register_forward_hook(lambda module, args, output: lengths.append(len(args)))
    eval(f"scaled({arguments})", {"scaled": scaled, "x": torch.ones(2)})
    return lengths[0]


def result(*kinds: str) -> float:
    """times3(1), with a pre-hook that doubles the argument and a hook that adds 2, registered in this order."""
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, 3.0)
    for kind in kinds:
        if kind == "pre":
            layer.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        else:
            layer.register_forward_hook(lambda module, args, output: output + 2)
    return float(layer(torch.ones(1)).item())


def _layers() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1))


def zero(layer: str) -> bool:
    """Whether the weight of this layer gets only zeros, after a hook on the second returned zeros."""
    net = _layers()
    net[1].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
    net(torch.ones(1, 3)).sum().backward()
    return bool((net[NAMES[layer]].weight.grad == 0).all())


def none(returned: str) -> bool:
    """Whether first.weight.grad is None, if a forward hook on the first layer returns this."""
    net = _layers()
    net[0].register_forward_hook(lambda module, args, output: eval(returned, {"output": output}))
    net(torch.ones(1, 3)).sum().backward()
    return net[0].weight.grad is None


def _names() -> Names:
    return {"calls": calls, "positional": positional, "result": result, "zero": zero, "none": none}


def _argument(case: Case) -> str:
    return str(case.arguments()[0])


def _by_registration(case: Case) -> float:
    """What would come out if each hook took what the one before it left."""
    value = 1.0 * 3
    for kind in case.arguments():
        value = value * 2 if kind == "pre" else value + 2
    return value


PREDICTIONS = (
    Prediction(
        "20.1",
        (Belief("the container computes nothing, so its own hook is not called", lambda: calls("net.forward(x)")),
         Belief("one call of the model is one call of the hook", lambda: calls("net(x)") - calls("net.forward(x)"))),
        Why("How often is the hook called?", _names,
            ('calls("net(x)")', 'calls("one layer twice")', 'calls("relu as a function")', 'calls("net.forward(x)")'),
            lambda value: value, {
                "a": Reason("once for each entry of net.modules()",
                            lambda case: {"net(x)": 4, "one layer twice": 3, "relu as a function": 2}.get(
                                _argument(case), 4)),
                "b": Reason("once each time a module is called, a container too; a function is no module, and forward "
                            "no call", lambda case: {"net(x)": 4, "one layer twice": 4, "relu as a function": 2}.get(
                                _argument(case), 3)),
                "c": Reason("once for each operation", lambda case: 2 if "function" in _argument(case) else 3)}),
        look="Let the hook print type(module).__name__."),
    Prediction(
        "20.2",
        (Belief("a hook sees all arguments", lambda: positional("x, 2.0")),
         Belief("a hook sees arguments only if it asks for them", lambda: positional("x=x, factor=2.0"))),
        Why("What is in args?", _names,
            ('positional("x, factor=2.0")', 'positional("x, 2.0")', 'positional("x=x, factor=2.0")'),
            lambda value: value, {
                "a": Reason("all arguments", lambda case: 2),
                "b": Reason("the tensors", lambda case: 1),
                "c": Reason("what was passed without a name",
                            lambda case: sum("=" not in part for part in _argument(case).split(",")))}),
        look="Let the hook print args; then register it with with_kwargs=True and let it print kwargs, too."),
    Prediction(
        "20.3",
        (Belief("hooks only look", result),
         Belief("forward gets what the module was called with", lambda: result("hook")),
         Belief("the output is what forward returned", lambda: result("pre"))),
        Why("What does times3(x) give?", _names,
            ('result("pre", "hook")', 'result("pre")', 'result("hook", "pre")', 'result()'),
            lambda value: value, {
                "a": Reason("what a pre-hook returns goes into forward, what a hook returns comes out, whichever was "
                            "registered first",
                            lambda case: (6.0 if "pre" in case.arguments() else 3.0)
                            + (2.0 if "hook" in case.arguments() else 0.0)),
                "b": Reason("the hooks change the output, in the order in which they were registered",
                            _by_registration),
                "c": Reason("3: what hooks return is ignored", lambda case: 3.0)}),
        look="Take one of the hooks off, by the handle that register_… returned."),
    Prediction(
        "20.4",
        (Belief("the hook changes the gradient of its own layer", lambda: zero("first")),),
        Why("Which weights get only zeros?", _names, ('zero("second")', 'zero("first")', 'zero("third")'),
            lambda value: value, {
                "a": Reason("those of the layers before it: grad_input is what is passed on to them",
                            lambda case: _argument(case) == "first"),
                "b": Reason("its own, and those of the layers before it",
                            lambda case: _argument(case) in ("first", "second")),
                "c": Reason("none: a backward hook only looks", lambda case: False)}),
        look="Print the .grad of all three weights."),
    Prediction(
        "20.5",
        (Belief("a hook cannot cut the graph", lambda: none("None")),),
        Why("When is first.weight.grad None?", _names,
            ('none("output.detach()")', 'none("output.clone()")', 'none("output * 0")', 'none("None")'),
            lambda value: value, {
                "a": Reason("when the hook returns something in place of the output",
                            lambda case: _argument(case) != "None"),
                "b": Reason("when no path leads from what it returns back to the output",
                            lambda case: "detach" in _argument(case)),
                "c": Reason("never: the layer took part in the forward pass", lambda case: False)}),
        look="Print the grad_fn of what the hook returns."),
)
