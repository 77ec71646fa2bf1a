"""Lesson 3: recall questions about it (asked later) and its predictions."""

import weakref
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why
from minigrad_lessons.exercises.graph import nodes_of, paths_to


def _x() -> torch.Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def _nodes_below(tensor: torch.Tensor) -> list[Any]:
    return [node for node, _ in tensor.grad_fn.next_functions]


def _integers(tensor: torch.Tensor) -> list[int]:
    return [integer for _, integer in tensor.grad_fn.next_functions]


def _end_of_walk(tensor: torch.Tensor) -> Any:
    node = tensor.grad_fn
    while node.next_functions:
        node = node.next_functions[0][0]
    return node


def _x_grad_after(calls: int) -> object:
    """The x.grad after so many calls of the last node with a gradient of 1."""
    x = torch.tensor(1.0, requires_grad=True)
    end = _end_of_walk(x * 2)
    for _ in range(calls):
        end(torch.tensor(1.0))
    return None if x.grad is None else x.grad.item()


def _names() -> Names:
    x, y = _x(), torch.tensor([3.0, 4.0], requires_grad=True)
    a, b, c = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True).split(1)
    z = x * y
    total = z.sum()
    one, dz = torch.tensor(1.0), torch.tensor([1.0, 1.0])

    def filled(node: Callable[[object], object], gradient: object) -> bool:
        """Calls a node with a gradient, and says whether x has a .grad afterwards."""
        node(gradient)
        return x.grad is not None

    return {
        "torch": torch, "x": x, "y": y, "same_values": _x(), "data": torch.tensor([5.0, 6.0]), "a": a, "b": b, "c": c,
        "one": one, "dz": dz, "sum_node": total.grad_fn, "mul_node": z.grad_fn, "last_node": _end_of_walk(z),
        "filled": filled, "x_grad_after": _x_grad_after,
    }


def _empty_edges(value: torch.Tensor) -> int:
    return sum(node is None for node in _nodes_below(value))


def _users(tensor: torch.Tensor) -> int:
    return _nodes_below(tensor).count(tensor.grad_fn)


def _not_wanted(case: Case) -> int:
    return sum(not (isinstance(side, torch.Tensor) and side.requires_grad) for side in case.operands())


def _called(case: Case) -> Any:
    return case.names[case.names_used()[1]]


def _by_hand(grad_of: Callable[[torch.Tensor], Any]) -> object:
    x = _x()
    (x * torch.tensor([3.0, 4.0])).sum().backward()
    return grad_of(x)


def _pair(tensor: torch.Tensor, place: int) -> list[object]:
    node, integer = tensor.grad_fn.next_functions[place]
    return [None if node is None else type(node).__name__, integer]


def _square() -> torch.Tensor:
    x = _x()
    return x * x


def _without_the_product(look: Callable[[torch.Tensor, object], bool]) -> bool:
    x = _x()
    z = x * 2
    total, spy = z.sum(), weakref.ref(z)
    del z
    total.backward()
    return look(x, spy())


def _visits(count: Callable[[torch.Tensor, torch.Tensor], int]) -> int:
    b = _x() * 3
    return count(b, (b * b).sum())


QUESTIONS = (
    Question(
        "q3.1", "x requires grad, data does not. The first pair of (data * x).grad_fn, as [a name or None, integer]?",
        lambda: _pair(torch.ones(2) * _x(), 0),
        (Belief("only inputs that require grad get a pair", lambda: _pair(torch.ones(2) * _x(), 1)),),
        "print (data * x).grad_fn.next_functions; each input keeps its place"),
    Question(
        "q3.2", "a, b, c = m.unbind(). Which integer is in the first pair of (c * 5).grad_fn.next_functions?",
        lambda: _integers(_names()["c"] * 5)[0],
        (Belief("the integer is always 0", lambda: _integers(_x() * 5)[0]),
         Belief("it counts the inputs: c is the first", lambda: len(_integers(_x() * 5)[:1]))),
        "print the pair, then c.output_nr"),
    Question(
        "q3.3", "x requires grad. How many different nodes are in the pairs of (x * x).grad_fn?",
        lambda: len(set(_nodes_below(_square()))),
        (Belief("each input has a node of its own", lambda: len(_nodes_below(_square()))),
         Belief("x is a leaf and has no node", lambda: _empty_edges(_square()))),
        "print both pairs, and compare the nodes with `is`"),
    Question(
        "q3.4", "z = x * 2; total = z.sum(); del z. Does total.backward() still fill x.grad?",
        lambda: _without_the_product(lambda x, z: x.grad is not None),
        (Belief("the graph holds my tensors, and one of them is gone",
                lambda: _without_the_product(lambda x, z: z is not None)),),
        "try it; the graph is made of nodes, not of tensors"),
    Question(
        "q3.5", "b = x * 3. How often does the plain walk down from (b * b).sum() call the node of b?",
        lambda: _visits(lambda b, total: paths_to(total.grad_fn)[id(b.grad_fn)]),
        (Belief("a walk calls each node once",
                lambda: _visits(lambda b, total: nodes_of(total.grad_fn).count(b.grad_fn))),),
        "count the paths that lead down to this node"),
)

PREDICTIONS = (
    Prediction(
        "3.1",
        (Belief("one pair for each input that requires grad", lambda: 2 - _empty_edges(_x() * 5)),
         Belief("next_functions points forward, to the nodes that use the result", lambda: _users(_x() * 5))),
        Why("The second pair is (None, 0). What does such a pair stand for?", _names, (
            "x * 5", "x * data", "x * y", "data * x"), _empty_edges, {
            "a": Reason("the end of the graph: there is always one", lambda case: 1),
            "b": Reason("a plain number among the inputs",
                        lambda case: sum(not isinstance(side, torch.Tensor) for side in case.operands())),
            "c": Reason("an input that does not require grad; it keeps its place", _not_wanted)},
            shows="The number counts the pairs without a node.")),
    Prediction(
        "3.2",
        (Belief("each input has a node of its own", lambda: len(_nodes_below(_x() * _x()))),
         Belief("x is a leaf and has no node", lambda: _empty_edges(_x() * _x()))),
        Why("Why?", _names, ("x * x", "x + x", "x * y", "x * same_values"),
            lambda tensor: (len(_nodes_below(tensor)), len(set(map(id, _nodes_below(tensor))))), {
                "a": Reason("both edges lead to x, and x has one node that collects its gradient",
                            lambda case: (2, len(set(map(id, case.operands()))))),
                "b": Reason("x * x is turned into x ** 2, which has one input",
                            lambda case: (2 - (case.operand_codes()[0] == case.operand_codes()[1]),
                                          len(set(case.operand_codes())))),
                "c": Reason("equal values share a node",
                            lambda case: (2, len({str(side.tolist()) for side in case.operands()})))},
            shows="(2, 1) means two pairs and one node; same_values is a leaf with the numbers of x.")),
    Prediction(
        "3.3",
        (Belief("the integer is always 0", lambda: [0 * i for i in _integers(_names()["b"] * _names()["c"])]),
         Belief("the integer counts the inputs",
                lambda: list(range(len(_integers(_names()["b"] * _names()["c"])))))),
        Why("What is the integer?", _names, ("b * c", "c * b", "(b * 2) * c", "a * a"), _integers, {
            "a": Reason("the place of the input in this operation", lambda case: list(range(len(case.operands())))),
            "b": Reason("which output of the node in the pair this input was",
                        lambda case: [side.output_nr for side in case.operands()]),
            "c": Reason("which row of the big tensor the numbers came from",
                        lambda case: ["abc".index(name) for name in case.names_used()])},
            shows="The list holds the integers of the pairs.")),
    Prediction(
        "3.4",
        (Belief("a leaf has no node, so the walk ends with None", lambda: _x().grad_fn),
         Belief("the walk ends at the tensor itself", lambda: type(_x()).__name__),
         Belief("the walk ends at the first operation that ran", lambda: type((_x() * 2).grad_fn).__name__)),
        Why("What does this node do with a gradient?", _names,
            ("x_grad_after(0)", "x_grad_after(1)", "x_grad_after(2)", "x_grad_after(3)"), lambda value: value, {
                "a": Reason("it puts it into x.grad, in place of what was there",
                            lambda case: 1.0 if _calls(case) else None),
                "b": Reason("it returns it; only backward() writes to x.grad", lambda case: None),
                "c": Reason("it adds it to x.grad", lambda case: float(_calls(case)) if _calls(case) else None)}),
        word="None"),
    Prediction(
        "3.5",
        (Belief("calling a node runs backward from there", lambda: _by_hand(lambda x: x.grad is None)),),
        Why("When does a call by hand fill x.grad?", _names,
            ("filled(sum_node, one)", "filled(mul_node, dz)", "filled(last_node, dz)"), lambda value: value, {
                "a": Reason("when I call the node that ends the walk, and only that one",
                            lambda case: not _called(case).next_functions),
                "b": Reason("when I call a node that has an edge to x's last node",
                            lambda case: case.names["last_node"] in [
                                node for node, _ in _called(case).next_functions]),
                "c": Reason("never: only backward() fills it", lambda case: False)})),
    Prediction(
        "3.6",
        (Belief("a gradient is just numbers, it has no graph of its own",
                lambda: _by_hand(lambda x: x.grad is not None and x.grad.requires_grad)),),
        Why("Why?", _names,
            ("mul_node(dz)[0]", "with torch.no_grad(): mul_node(dz)[0]", "sum_node(one)"),
            lambda value: value.requires_grad, {
                "a": Reason("what comes out of a node always requires grad", lambda case: True),
                "b": Reason("the formula ran as ordinary operations, and these were recorded",
                            lambda case: case.value.grad_fn is not None),
                "c": Reason("it inherits the flag of the gradient that I put in",
                            lambda case: case.names[case.names_used()[-1]].requires_grad)},
            shows="True means that it requires grad.")),
)


def _calls(case: Case) -> int:
    return int(case.code.removeprefix("x_grad_after(").removesuffix(")"))
