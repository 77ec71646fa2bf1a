"""Lesson 7: recall questions about it (asked later) and its predictions."""

import contextlib
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why


def _w() -> torch.Tensor:
    return torch.tensor([3.0], requires_grad=True)


def _without_recording(make: Callable[[], torch.Tensor]) -> torch.Tensor:
    with torch.no_grad():
        return make()


def _out_of_eval() -> Any:
    return torch.nn.Linear(1, 1).eval()(_w())


def _grad_of_product(doubled: Callable[[torch.Tensor], torch.Tensor]) -> object:
    w = _w()
    product = (doubled(w) * w).sum()
    product.backward()
    return None if w.grad is None else w.grad.item()


def nested(*blocks: str) -> bool:
    """Whether w * 2 is recorded inside these blocks, from the outside in: no_grad or enable_grad."""
    with contextlib.ExitStack() as stack:
        for block in blocks:
            stack.enter_context({"no": torch.no_grad, "enable": torch.enable_grad}[block]())
        return bool((_w() * 2).requires_grad)


def filled(forward: bool, backward: bool) -> bool:
    """Whether w.grad is filled, with grad mode on or off while the loss is computed, and while backward runs."""
    w = _w()
    with torch.set_grad_enabled(forward):
        loss = (w * w).sum()
    with contextlib.suppress(RuntimeError), torch.set_grad_enabled(backward):
        loss.backward()
    return w.grad is not None


def arrives(between: str) -> tuple[bool, bool]:
    """Whether a gradient reaches v.grad, and whether one reaches w.grad, for a v that is made from w like this."""
    w = _w()
    ways: dict[str, Callable[[], torch.Tensor]] = {
        "view": lambda: w.view(-1), "view under no_grad": lambda: _without_recording(lambda: w.view(-1)),
        "leaf of its own": lambda: w.detach().clone().requires_grad_(), "product": lambda: w * 2}
    v = ways[between]()
    (v * 2).sum().backward()
    return v.is_leaf and v.grad is not None, w.grad is not None


def _leaf_made_of_w(between: str) -> bool:
    return between in ("view under no_grad", "leaf of its own")


def first_gets(second: str) -> bool:
    """Whether the first of two layers gets a gradient, if this is done to the second."""
    net, cut = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)), "detach()" in second
    if second == "requires_grad_(False)":
        net[1].requires_grad_(False)
    if second == "eval()":
        net[1].eval()
    hidden = net[0](torch.ones(1, 2))
    with torch.set_grad_enabled("no_grad" not in second):
        out = net[1](hidden.detach() if cut else hidden)
    if out.requires_grad:
        out.sum().backward()
    return net[0].weight.grad is not None


def _names() -> Names:
    w = _w()
    return {"w": w, "y": _without_recording(lambda: w * 2), "nested": nested, "filled": filled, "arrives": arrives,
            "first_gets": first_gets, "detached": (w * 2).detach(), "recorded": w * 2}


QUESTIONS = (
    Question(
        "q7.1", "layer = torch.nn.Linear(1, 1); layer.eval(). Does layer(x) require grad?",
        lambda: _out_of_eval().requires_grad,
        (Belief("eval() stops gradients", lambda: _without_recording(_out_of_eval).requires_grad),),
        "print layer(x).requires_grad"),
    Question(
        "q7.2", "w requires grad. Made under no_grad: v = w[:1], a view. Does v require grad?",
        lambda: _without_recording(lambda: _w()[:1]).requires_grad,
        (Belief("whatever is made under no_grad has requires_grad False",
                lambda: _without_recording(lambda: _w() * 2).requires_grad),),
        "make such a view and print it: how does the text end?"),
    Question(
        "q7.3", "w = [3], y = w * 2 made under no_grad; outside, (y * w).sum().backward(). The number in w.grad?",
        lambda: _grad_of_product(lambda w: _without_recording(lambda: w * 2)),
        (Belief("the gradient goes back through y too", lambda: _grad_of_product(lambda w: w * 2)),
         Belief("what was made under no_grad stops the gradients of all that is computed from it", lambda: None)),
        "run it. To this product, y is a plain number", word="None"),
)

PREDICTIONS = (
    Prediction(
        "7.1",
        (Belief("the gradient goes back through y too", lambda: _grad_of_product(lambda w: w * 2)),
         Belief("what was made under no_grad stops the gradients of all that is computed from it", lambda: None),
         Belief("y is a constant, so the product has the slope 0", lambda: 0)),
        Why("What is y, as the product sees it?", _names, ("w * y", "y * w", "w * detached", "w * recorded"),
            lambda product: [None if node is None else node.name()
                             for node, _ in product.grad_fn.next_functions].count(None), {
                "a": Reason("a result like any other: its pair leads to the node that made it", lambda case: 0),
                "b": Reason("a plain number: no node made it, so its pair is (None, 0)",
                            lambda case: sum(t.grad_fn is None and not t.requires_grad for t in case.tensors())),
                "c": Reason("the end of the graph: no pair of this product leads anywhere",
                            lambda case: 2 * any(t.grad_fn is None and not t.requires_grad for t in case.tensors()))},
            shows="The number counts the pairs (None, 0). recorded is w * 2, and detached is the same with detach()."),
        word="None",
        look="Print y.requires_grad and (y * w).grad_fn.next_functions: where may a gradient go?"),
    Prediction(
        "7.2",
        (Belief("v requires grad, so the gradient passes through it to w", lambda: not arrives("view")[1]),),
        Why("Where did it go?", _names,
            ('arrives("view under no_grad")', 'arrives("leaf of its own")', 'arrives("view")', 'arrives("product")'),
            lambda value: value, {
                "a": Reason("into v.grad: v is a leaf that requires grad",
                            lambda case: (_leaf_made_of_w(*map(str, case.arguments())),
                                          not _leaf_made_of_w(*map(str, case.arguments())))),
                "b": Reason("to w as always, since v shares the memory of w",
                            lambda case: ("leaf" in case.code, "leaf" not in case.code)),
                "c": Reason("nowhere: the view was not recorded, and it is not a leaf that collects a gradient",
                            lambda case: (case.arguments() == ["leaf of its own"],
                                          not _leaf_made_of_w(*map(str, case.arguments()))))}),
        look="Print v.grad_fn, and (v * 2).grad_fn.next_functions: where may a gradient go?"),
    Prediction(
        "7.3",
        (Belief("the outer block wins", lambda: nested("enable", "no")),),
        Why("Which block decides?", _names,
            ('nested("no", "enable")', 'nested("enable", "no")', 'nested("no", "enable", "no")', 'nested()'),
            lambda value: value, {
                "a": Reason("the innermost one; without a block, recording is on",
                            lambda case: (["enable", *case.arguments()])[-1] == "enable"),
                "b": Reason("enable_grad, wherever it is",
                            lambda case: not case.arguments() or "enable" in case.arguments()),
                "c": Reason("no_grad, wherever it is", lambda case: "no" not in case.arguments())}),
        look="Print torch.is_grad_enabled() in each of the two blocks."),
    Prediction(
        "7.4",
        (Belief("under no_grad autograd is off altogether", lambda: filled(False, False)),),
        Why("When does grad mode matter?", _names,
            ("filled(True, False)", "filled(False, True)", "filled(True, True)", "filled(False, False)"),
            lambda value: value, {
                "a": Reason("when backward runs", lambda case: case.arguments()[1]),
                "b": Reason("both times", lambda case: all(case.arguments())),
                "c": Reason("only when an operation is recorded", lambda case: case.arguments()[0])}),
        look="Print loss.grad_fn before the block and in it."),
    Prediction(
        "7.5",
        (Belief("a frozen layer lets no gradient through", lambda: first_gets("under no_grad")),),
        Why("What does the flag of a parameter say?", _names,
            ('first_gets("requires_grad_(False)")', 'first_gets("under no_grad")', 'first_gets("after detach()")',
             'first_gets("eval()")'),
            lambda value: value, {
                "a": Reason("whether its layer is recorded: False does what no_grad does",
                            lambda case: case.arguments() == ["eval()"]),
                "b": Reason("whether this parameter wants a gradient; gradients still pass through the layer",
                            lambda case: case.arguments()[0] in ("requires_grad_(False)", "eval()")),
                "c": Reason("whether the layer is in training; otherwise it lets no gradient through",
                            lambda case: case.arguments()[0] not in ("requires_grad_(False)", "eval()"))}),
        look="Print the .grad of each parameter: for name, p in two.named_parameters()."),
)
