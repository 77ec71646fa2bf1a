"""The capstone: its predictions."""

import minigrad as torch
from minigrad.nn.modules.activation import ReLU
from minigrad.nn.modules.container import Sequential
from minigrad.nn.modules.linear import Linear
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why
from minigrad_lessons.facts import facts_of

QUESTIONS: tuple[Question, ...] = ()


def graph(frozen: str, data: bool = False) -> dict[str, object]:
    """The facts of a model of two layers, one of which may be frozen; the data may require grad."""
    net, x = Sequential(Linear(2, 3), ReLU(), Linear(3, 1)), torch.ones(5, 2, requires_grad=data)
    if frozen in ("first", "last"):
        net[0 if frozen == "first" else 2].requires_grad_(False)
    return facts_of(net(x).sum(), net, x)


def leaves(frozen: str, data: bool = False) -> object:
    """How many AccumulateGrad nodes the graph has."""
    return graph(frozen, data)["leaves"]


def has_relu(frozen: str, data: bool = False) -> bool:
    """Whether the relu between the two layers was recorded."""
    net, x = Sequential(Linear(2, 3), ReLU()), torch.ones(5, 2, requires_grad=data)
    net.requires_grad_(frozen != "first")
    return bool(net(x).requires_grad)


def empty(frozen: str, data: bool = False) -> object:
    """How many pairs (None, 0) there are."""
    return graph(frozen, data)["empty"]


def _names() -> Names:
    return {"leaves": leaves, "has_relu": has_relu, "empty": empty}


PREDICTIONS = (
    Prediction(
        "13.1",
        (Belief("a frozen parameter has an AccumulateGrad too, which just gets nothing", lambda: leaves("none")),
         Belief("one for each layer that learns", lambda: len((leaves("first"),)))),
        Why("What has an AccumulateGrad?", _names,
            ('leaves("first")', 'leaves("none")', 'leaves("none", True)', 'leaves("last", True)'),
            lambda value: value, {
                "a": Reason("every parameter", lambda case: 4),
                "b": Reason("every leaf that requires grad: parameters, and data too",
                            lambda case: (4 if "none" in case.code else 2) + ("True" in case.code)),
                "c": Reason("every parameter that requires grad, and nothing else",
                            lambda case: 4 if "none" in case.code else 2)}),
        look="Print requires_grad of each parameter of small, and count."),
    Prediction(
        "13.2",
        (Belief("every operation of the forward pass leaves a node", lambda: has_relu("none")),),
        Why("When is the relu recorded?", _names,
            ('has_relu("first")', 'has_relu("none")', 'has_relu("first", True)', 'has_relu("last")'),
            lambda value: value, {
                "a": Reason("when its input requires grad",
                            lambda case: "first" not in case.code or "True" in case.code),
                "b": Reason("always: it comes before a layer that learns", lambda case: True),
                "c": Reason("when the layer before it learns", lambda case: "first" not in case.code)}),
        look="Print small[0](batch).requires_grad: is there anything for the relu to record?"),
    Prediction(
        "13.3",
        (Belief("an input that does not require grad leaves no pair at all", lambda: empty("none", True)),
         Belief("bias, data and weight of the frozen layer: three", lambda: len(("bias", "data", "weight")))),
        Why("Where is there a pair (None, 0)?", _names,
            ('empty("first")', 'empty("none")', 'empty("none", True)', 'empty("first", True)', 'empty("last", True)'),
            lambda value: value, {
                "a": Reason("for each frozen parameter", lambda case: 0 if "none" in case.code else 2),
                "b": Reason("for the data alone", lambda case: int("True" not in case.code)),
                "c": Reason("at recorded nodes, for each input that does not require grad",
                            lambda case: empty(*case.arguments()))}),  # type: ignore[arg-type]  # literals of a call
        look="Print small(batch).grad_fn.next_functions, and ask for each input whether it requires grad."),
    Prediction(
        "13.4",
        (Belief("gradients are accumulated into parameters only", lambda: leaves("first")),
         Belief("with the data, the whole first layer is back in the graph", lambda: leaves("none", True))),
        Why("And why is the first layer recorded now, though it is frozen?", _names,
            ('has_relu("first", True)', 'has_relu("first")', 'has_relu("none")'),
            lambda value: value, {
                "a": Reason("it is not: frozen is frozen", lambda case: "first" not in case.code),
                "b": Reason("a gradient must pass through it on its way to the data",
                            lambda case: "first" not in case.code or "True" in case.code),
                "c": Reason("its parameters count again as soon as something below it requires grad",
                            lambda case: "True" in case.code)}),
        look="Draw the graph once more for wanted: which leaves require grad now?"),
)
