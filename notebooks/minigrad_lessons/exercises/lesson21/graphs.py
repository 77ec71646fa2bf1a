"""Puzzles about the graph: its pairs, its order, passes that may run twice, and who is in it."""

from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.lesson21.puzzle import (
    Line,
    Solved,
    Wrong,
    call,
    close,
    leaf,
    made_by,
    node,
    passed_back,
    puzzle,
    recorded,
)
from minigrad_lessons.summary import node_name
from minigrad_lessons.values import show

NO_GRAPH = "does not require grad and does not have a grad_fn"


def _pairs(y: torch.Tensor) -> list[tuple[str, int]]:
    return [(node_name(below), number) for below, number in y.grad_fn.next_functions] if y.grad_fn else []


def _told(pairs: list[tuple[str, int]]) -> str:
    return ", ".join(f"({name}, {number})" for name, number in pairs)


@puzzle
def none_first(line: Line) -> Solved:
    """Judge y = line(w): its node's pairs are (None, 0) and then the AccumulateGrad of w."""
    w = leaf(1.0, 2.0)
    y, trace = passed_back(line, w)
    recorded(y)
    pairs, wanted = _pairs(y), [("None", 0), ("AccumulateGrad", 0)]
    if pairs == wanted[::-1]:
        raise Wrong(f"the pairs are {_told(pairs)}: w is the first operand of {node(y)}. (Python passes 2 * w to w as "
                    "well, so a plain number is never the first.)", trace)
    if pairs != wanted:
        raise Wrong(f"the pairs of {node(y)} are {_told(pairs)}.", trace)
    return Solved(f"{node(y)} has the pairs {_told(pairs)}: one for each input, in their order. The first input does "
                  "not require grad.", trace)


@puzzle
def third_output(line: Line) -> Solved:
    """Judge y = line(x): the first pair of its node has the integer 2."""
    x = leaf(1.0, 2.0, 3.0)
    y, trace = passed_back(line, x)
    recorded(y)
    pairs = _pairs(y)
    if pairs and pairs[0][1] == 2:
        return Solved(f"the first pair of {node(y)} is ({pairs[0][0]}, 2): its input was output number 2 of "
                      f"{pairs[0][0]}, counted from 0.", trace)
    if y.output_nr == 2:
        raise Wrong(f"y is output number 2 of {node(y)}, and the pair that says so belongs to the operation that uses "
                    "y. Do one more operation.", trace)
    first = pairs[0] if pairs else ("None", 0)
    raise Wrong(f"the first pair of {node(y)} is ({first[0]}, {first[1]}). The integer says which output of the node "
                "below was used; a node with one output has only the number 0.", trace)


@puzzle
def last_node(line: Line) -> Solved:
    """Judge y = line(x): the sum of sin and exp, and backward visits ExpBackward0 last."""
    x = leaf(0.5)
    y, trace = passed_back(line, x)
    recorded(y)
    if not close(y, x.detach().sin() + x.detach().exp()):
        raise Wrong(f"y is {show(y)}; it must still be sin(x) + exp(x).", trace)
    visited = [trace.nodes[event["node"]]["name"] for event in trace.events if event["kind"] == "run"]
    visited = [name for name in visited if name != "AccumulateGrad"]
    if "ExpBackward0" not in visited:
        raise Wrong("the graph of y has no ExpBackward0.", trace)
    if visited[-1] != "ExpBackward0":
        raise Wrong(f"backward visits {', '.join(visited)}. Of the nodes that are ready it takes the one that was "
                    "recorded last.", trace)
    return Solved(f"backward visits {', '.join(visited)}. Of the nodes that are ready it takes the one that was "
                  "recorded last, and Python computes the left operand first.", trace)


@puzzle
def twice(line: Line) -> Solved:
    """Judge loss = line(x): backward may run twice."""
    x = leaf(1.0, 2.0)
    loss = made_by(line, "x", x)
    recorded(loss, "loss")
    saved = _saving(loss)
    try:
        loss.backward()
        loss.backward()
    except RuntimeError as error:
        if "second time" in str(error):
            raise Wrong(f"the second pass raised {report.first_line(error).partition(' (')[0]}. {saved} had saved "
                        "values for its derivative, and the first pass freed them.") from None
        raise Wrong(f"backward raised {report.first_line(error)}") from None
    if x.grad is None:
        raise Wrong("x.grad is None: the loss was not computed from x.")
    return Solved(f"two passes, and x.grad is {show(x.grad)}: the second added to the first. No node had saved "
                  "anything that could be missing. PyTorch complains about missing values, not about second passes.")


def _saving(loss: torch.Tensor) -> str:
    """The names of the nodes in a graph that have saved something."""
    found, to_visit = [], [loss.grad_fn]
    while to_visit:
        each = to_visit.pop()
        if saved_by(each) and node_name(each) not in found:
            found.append(node_name(each))
        to_visit += [below for below, _ in getattr(each, "next_functions", ()) if below is not None]
    return " and ".join(found)


def saved_by(node: Any) -> dict[str, Any]:
    """What a node has saved for its derivative, by name; read before a pass lets go of it."""
    names = [name for name in dir(node) if name.startswith("_saved_")]
    found = {name.removeprefix("_saved_"): getattr(node, name) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, torch.Tensor)}


@puzzle
def twin(line: Line) -> Solved:
    """Judge v = line(w): another leaf with a .grad of its own, in the memory of w."""
    w = leaf(1.0, 2.0)
    v = made_by(line, "w", w)
    if v is w:
        raise Wrong("this is w itself, with the same .grad.")
    if not v.is_leaf:
        raise Wrong(f"v is not a leaf: {node(v)} leads back to w, and the gradient goes there.")
    if not v.requires_grad:
        raise Wrong("v is a leaf, but it does not require grad: it would never get a .grad.")
    with torch.no_grad():
        w.add_(1.0)
    if not close(v, [2.0, 3.0]):
        raise Wrong("w was changed in place, but v kept its old numbers: it has memory of its own.")
    v.sum().backward()
    if v.grad is None or w.grad is not None:
        raise Wrong("the gradient of v arrived at w.")
    return Solved("v is a leaf, its numbers follow those of w, and its gradient went to v.grad alone. A .grad belongs "
                  "to the tensor, not to the memory.")


@puzzle
def freeze(line: Line) -> Solved:
    """Judge a statement on a model: its first layer gets no gradient, and its last one does."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    call(line, "model", model)
    first, last = ([f"{at}.{name}" for name, p in model[at].named_parameters() if p.requires_grad] for at in (0, 2))
    if not last:
        raise Wrong("the last layer does not require grad any more: there is nothing left to learn.")
    model(torch.tensor([[1.0, -1.0]])).sum().backward()
    filled = [name for name, p in model[0].named_parameters() if p.grad is not None]
    if not filled and len(last) == 2:
        return Solved("the first layer gets no gradient, and the last one does. requires_grad_ of a module sets the "
                      "flag of each of its parameters.")
    if "requires_grad" in vars(model[0]):
        raise Wrong("model[0] is a module: the assignment made a new attribute, which does not affect its parameters. "
                    "They still get gradients.")
    if not model[0].training:
        raise Wrong("eval() changes what dropout and batch normalisation do. Both parameters of model[0] still get "
                    "gradients.")
    if len(first) == 1:
        raise Wrong(f"{first[0]} still gets a gradient.")
    if len(first) == 2:
        raise Wrong("both parameters of model[0] still get a gradient.")
    raise Wrong(f"the last layer should learn as before, but of its parameters only {last[0]} requires grad now.")


@puzzle
def no_graph_error(line: Line) -> Solved:
    """Judge loss = line(x): it depends on x, and backward says that it does not require grad."""
    numbers = []
    for x in (leaf(1.0, 2.0, 3.0), leaf(5.0, 2.0, 0.0)):
        loss = made_by(line, "x", x)
        try:
            loss.backward()
        except RuntimeError as error:
            if NO_GRAPH not in str(error):
                raise Wrong(f"another error: {report.first_line(error)}") from None
        else:
            raise Wrong(f"backward raised nothing, and x.grad is {show(x.grad)}. A gradient of zero is not an error.")
        numbers.append(loss.tolist())
    if numbers[0] == numbers[1]:
        raise Wrong(f"the right error, but the loss is {show(numbers[0])} for every x. It must change with x.")
    return Solved(f"the loss is {show(numbers[0])} and then {show(numbers[1])}, so it depends on x, and backward still "
                  "raised the error. What counts is whether the path from x to the loss was recorded.")


@puzzle
def recorded_anyway(line: Line) -> Solved:
    """Judge y = line(w), called under no_grad: 2 * w, recorded."""
    w = leaf(1.0, 2.0)
    with torch.no_grad():
        y = made_by(line, "w", w)
    if not close(y, [2.0, 4.0]):
        raise Wrong(f"y is {show(y)}; it must be [2, 4], twice w.")
    if y.is_leaf and y.requires_grad:
        raise Wrong("y requires grad, but it is a leaf: its gradient would stay in y.grad, and w.grad would be None.")
    if y.is_leaf:
        raise Wrong("y is a leaf that does not require grad: under no_grad nothing was recorded.")
    y.sum().backward()
    if w.grad is None:
        raise Wrong(f"{node(y)} does not lead back to w: the multiplication was not recorded.")
    return Solved(f"{node(y)} was recorded, and w.grad is {show(w.grad)}. Grad modes can be nested; the innermost "
                  "counts.")


HINTS = {
    "none_first": (
        "There is one pair for each input, in the order of the inputs. Which input does not require grad?",
        "Let something that does not require grad be the first operand. A plain number will not do.",
        "Multiply a tensor of your own, such as torch.ones(2), by w."),
    "third_output": (
        "The integer can differ from 0 only if the node below has several outputs.",
        "unbind and split return several tensors and make one node.",
        "x.unbind() returns three. Take the last, and do one more operation with it."),
    "last_node": (
        "Both nodes are ready at the same time. How does the engine choose?",
        "The node that was recorded last runs first. Which of the two do you record first?",
        "Python evaluates a + b from the left. Swap the operands."),
    "twice": (
        "The error is about saved tensors. Which operations do not save any?",
        "What does the derivative of x * x need? And that of x + 1?",
        "Build the loss from additions and sum() only."),
    "twin": (
        "Which method gives you the memory of w without its history?",
        "detach() returns a leaf that shares the memory. What is missing?",
        "It does not require grad. requires_grad_() returns the tensor, so it can follow."),
    "freeze": (
        "Each parameter has a flag of its own.",
        "A module has a method, whose name ends in _, that sets the flag for all of its parameters.",
        "It is model[0].requires_grad_, and it takes True or False."),
    "no_graph_error": (
        "The path from x to the loss must not be recorded, yet the loss must be computed from x.",
        "Cut off the history, or use an operation that has no derivative.",
        "Sum up x.detach()."),
    "recorded_anyway": (
        "no_grad is not final: inside it, recording can be switched on again.",
        "torch.enable_grad() is a block, and it can be used on a function too, as a decorator.",
        "Either write the with-block and its return in one line, or call torch.enable_grad()(lambda: …)()."),
}
