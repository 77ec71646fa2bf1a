"""Lesson 1: recall questions about it (asked later) and its predictions."""

from collections.abc import Callable

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why


def _w() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _filled(leaf: torch.Tensor, after: torch.Tensor) -> bool:
    """Whether a leaf has a .grad after backward from `after`."""
    after.sum().backward()
    return leaf.grad is not None


def nodes_run(make: Callable[[], torch.Tensor]) -> int:
    """How many nodes run in the backward pass of a result."""
    with record() as trace:
        make().backward()
    return sum(event["kind"] == "run" for event in trace.events)


def _names() -> Names:
    w, x = _w(), torch.tensor([[5.0, 6.0]])
    return {
        "torch": torch, "w": w, "v": torch.tensor([3.0, 4.0], requires_grad=True), "y": w * 2, "x": x,
        "data": torch.tensor([5.0, 6.0]), "layer": torch.nn.Linear(2, 1),
        "filled": _filled, "nodes_run": nodes_run,
    }


def _program() -> Case:
    return Case("(w * data).sum()", _names())


def _is_leaf(value: object) -> object:
    return value.is_leaf if isinstance(value, torch.Tensor) else value


def _no_node(case: Case) -> bool:
    value = case.value
    return isinstance(value, torch.Tensor) and value.grad_fn is None


def _needs_none(case: Case) -> bool:
    return not any(t.requires_grad for t in case.tensors())


def _linear_leaves(counts: Callable[[torch.Tensor], bool]) -> int:
    layer, x = torch.nn.Linear(2, 1), torch.tensor([[5.0, 6.0]])
    return sum(counts(t) for t in (layer.weight, layer.bias, x, layer(x)))


QUESTIONS = (
    Question(
        "q1.1", "Is torch.ones(3) + 1 a leaf?",
        lambda: (torch.ones(3) + 1).is_leaf,
        (Belief("a leaf is a tensor that I want gradients for", lambda: (torch.ones(3) + 1).requires_grad),),
        "print (torch.ones(3) + 1).is_leaf, and its grad_fn"),
    Question(
        "q1.2", "w requires grad. Is w.clone() a leaf?",
        lambda: _w().clone().is_leaf,
        (Belief("a copy is a new tensor of my own, so it is a leaf", lambda: torch.tensor(_w().tolist()).is_leaf),),
        "print w.clone().grad_fn: is there a node?"),
    Question(
        "q1.3", "w is a leaf that requires grad. Is w.grad_fn None? If not, name its class.",
        lambda: None if _w().grad_fn is None else type(_w().grad_fn).__name__,
        (Belief("a leaf's grad_fn is the node that fills its .grad",
                lambda: type((_w() * 2).grad_fn.next_functions[0][0]).__name__),
         Belief("every tensor that requires grad has a grad_fn that made it", lambda: type(_w()).__name__)),
        "print w.grad_fn", word="None"),
    Question(
        "q1.4", "w requires grad, data does not. How many of w, data and w * data require grad?",
        lambda: sum(t.requires_grad for t in (_w(), torch.ones(2), _w() * torch.ones(2))),
        (Belief("only the tensors that I set the flag on", lambda: sum(
            t.requires_grad and t.is_leaf for t in (_w(), torch.ones(2), _w() * torch.ones(2)))),
         Belief("one that requires grad makes its neighbours require it too",
                lambda: len((_w(), torch.ones(2), _w() * torch.ones(2))))),
        "print requires_grad of all three"),
    Question(
        "q1.5", "y is not a leaf. Does y.detach() require grad?",
        lambda: (_w() * 2).detach().requires_grad,
        (Belief("detach makes a copy that is like y in every way", lambda: (_w() * 2).clone().requires_grad),),
        "print y.detach(): does the text name a grad_fn?"),
)

PREDICTIONS = (
    Prediction(
        "1.1",
        (Belief("a leaf is a tensor that I want gradients for", lambda: (torch.ones(2) * 3).requires_grad),),
        Why("Why is c a leaf, or why not?", _names, ("data * 3", "data * data", "w * 3", "w * data"), _is_leaf, {
            "a": Reason("every tensor that has a name of its own is a leaf", lambda case: True),
            "b": Reason("multiplying by a plain number is not counted as an operation",
                        lambda case: len(case.tensors()) < 2),
            "c": Reason("none of its inputs requires grad, so no operation was recorded",
                        _needs_none)}, shows="True means that it is a leaf.")),
    Prediction(
        "1.2",
        (Belief("whatever is computed from w belongs to w's graph", lambda: not _w().requires_grad),),
        Why("Why?", _names,
            ("with torch.no_grad(): w * 3", "with torch.no_grad(): y", "w * 3", "data * 3"), _is_leaf, {
                "a": Reason("no node was recorded for it: its grad_fn is None", _no_node),
                "b": Reason("inside no_grad every tensor is a leaf", lambda case: "no_grad" in case.code),
                "c": Reason("its input w is a leaf, and the result inherits that",
                            lambda case: all(t.is_leaf for t in case.tensors()))},
            shows="True means that it is a leaf.")),
    Prediction(
        "1.3",
        (Belief("backward fills the .grad of every leaf", lambda: sum(t.is_leaf for t in (_w(), torch.ones(2)))),
         Belief("only results of operations get a .grad", lambda: sum(not t.is_leaf for t in (_w(), torch.ones(2))))),
        Why("Which leaves get a .grad?", _names,
            ("filled(w, after=w * data)", "filled(data, after=w * data)", "filled(w, after=data * w)",
             "filled(v, after=w * v)"),
            _is_leaf, {
                "a": Reason("all of them", lambda case: True),
                "b": Reason("those that require grad", lambda case: case.tensors()[0].requires_grad),
                "c": Reason("the one on the left of the multiplication",
                            lambda case: case.tensors()[0] is case.tensors()[1])},
            shows="v is one more leaf that requires grad."), choices=("0", "1", "2")),
    Prediction(
        "1.4",
        (Belief("a tensor is created as a leaf or not, and stays that way", lambda: torch.zeros(2).is_leaf),),
        Why("Why?", _names,
            ("torch.zeros(2)", "torch.zeros(2).add_(data)", "torch.zeros(2) + w", "torch.zeros(2).add_(w)"),
            _is_leaf, {
                "a": Reason("a method that ends in _ always makes a non-leaf", lambda case: "_(" not in case.code),
                "b": Reason("a recorded operation made it: one of its inputs requires grad", _needs_none),
                "c": Reason("a tensor of zeros that somebody changes stops being a leaf",
                            lambda case: case.code == "torch.zeros(2)")}, shows="True means that it is a leaf.")),
    Prediction(
        "1.5",
        (Belief("only parameters are leaves", lambda: _linear_leaves(lambda t: isinstance(t, torch.nn.Parameter))),
         Belief("only what I made myself is a leaf", lambda: _linear_leaves(
             lambda t: t.is_leaf and not isinstance(t, torch.nn.Parameter))),
         Belief("everything that has a name is a leaf", lambda: _linear_leaves(lambda t: True))),
        Why("Why is layer(x) not a leaf?", _names,
            ("layer(x)", "with torch.no_grad(): layer(x)", "x * 2", "layer.weight * 2"), _is_leaf, {
                "a": Reason("what a layer returns is never a leaf", lambda case: "layer(" not in case.code),
                "b": Reason("what is computed from data is never a leaf", lambda case: "x" not in case.names_used()),
                "c": Reason("operations on the parameters were recorded: it has a grad_fn", _no_node)},
            shows="True means that it is a leaf."),
        choices=("0", "1", "2", "3", "4")),
    Prediction(
        "1.6",
        (Belief("one node for each operation", lambda: _program().operators()),
         Belief("one node for each tensor, results included",
                lambda: _program().operators() + len(_program().tensors())),
         Belief("backward is one call: one node", lambda: len([_w().sum()]))),
        Why("Which nodes are these?", _names,
            ("nodes_run(lambda: (w * data).sum())", "nodes_run(lambda: (w * v).sum())", "nodes_run(lambda: w.sum())"),
            lambda value: value, {
                "a": Reason("one for each operation, and one for each input", lambda case:
                            case.operators() + len(case.tensors())),
                "b": Reason("one for each operation, and one for each leaf that requires grad", lambda case:
                            case.operators() + sum(t.requires_grad for t in case.tensors())),
                "c": Reason("one for each operation", lambda case: case.operators())},
            shows="v is one more leaf that requires grad.")),
)
