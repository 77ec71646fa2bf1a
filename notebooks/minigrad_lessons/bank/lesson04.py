"""Lesson 4: recall questions about it (asked later) and its predictions."""

import ast
from collections.abc import Callable

import minigrad as torch
from minigrad.recorder import record
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why, fails
from minigrad_lessons.exercises.graph import grad_of, nodes_of, paths_to


def _x(*values: float) -> torch.Tensor:
    return torch.tensor(list(values) if len(values) > 1 else values[0], requires_grad=True)


def _second_backward(result: torch.Tensor) -> bool:
    result.backward()
    return fails(result.backward)


def runs_of(result: torch.Tensor, of: torch.Tensor) -> int:
    """How often backward() from `result` runs the node of `of`."""
    runs: list[object] = []
    of.grad_fn.register_prehook(runs.append)
    result.backward()
    return len(runs)


def _doubled(count: Callable[[torch.Tensor, torch.Tensor], int]) -> int:
    b = _x(1.0) * 2
    return count((b + b) + (b + b), b)


def _gradient_for(vector: list[float]) -> list[float]:
    x = _x(1.0, 1.0)
    (x * 2).backward(torch.tensor(vector))
    return [float(value) for value in grad_of(x).tolist()]


def _still_none(run: Callable[[torch.Tensor, torch.Tensor], object]) -> bool:
    x = _x(2.0)
    run(x**3, x)
    return x.grad is None


def _has_history(**options: bool) -> bool:
    x = _x(2.0)
    return bool(torch.autograd.grad(x**3, x, **options)[0].requires_grad)


QUESTIONS = (
    Question(
        "q4.1", "b = a * 2; d = (b + b) + (b + b). How many times does d.backward() run the node of b?",
        lambda: _doubled(runs_of),
        (Belief("once for each path that leads to it",
                lambda: _doubled(lambda d, b: paths_to(d.grad_fn)[id(b.grad_fn)])),),
        "step through it in the inspector, or count the calls of a hook on b"),
    Question(
        "q4.2", "x and y require grad. z = x + y; z.backward(). Does a second z.backward() raise?",
        lambda: _second_backward(_x(1.0) + _x(2.0)),
        (Belief("the first backward destroys the graph", lambda: _second_backward(_x(1.0) * _x(2.0))),),
        "try it, then try x * y: what did each node save?"),
    Question(
        "q4.3", "x = [1, 1]; y = x * 2; y.backward(torch.tensor([1.0, 10.0])). What is x.grad, as a list?",
        lambda: _gradient_for([1.0, 10.0]),
        (Belief("gradient= only says where to start; the numbers in it do not matter",
                lambda: _gradient_for([1.0, 1.0])),
         Belief("y becomes one number first, by summing", lambda: _gradient_for([11.0, 11.0]))),
        "try it with [1, 0] and with [0, 1]: each slope is multiplied by what you pass in"),
    Question(
        "q4.4", "y = x**3. g, = torch.autograd.grad(y, x). Is x.grad still None?",
        lambda: _still_none(torch.autograd.grad),
        (Belief("grad is backward by another name", lambda: _still_none(lambda y, x: y.backward())),),
        "print x.grad after the call"),
    Question(
        "q4.5", "y = x**3. g, = torch.autograd.grad(y, x, retain_graph=True). Does g require grad?",
        lambda: _has_history(retain_graph=True),
        (Belief("retain_graph and create_graph are the same", lambda: _has_history(create_graph=True)),),
        "print g: does the text name a grad_fn?"),
)


def _ways(result: torch.Tensor) -> int:
    return sum(paths_to(result.grad_fn).values())


def _edges(result: torch.Tensor) -> int:
    return 1 + sum(below is not None for node in nodes_of(result.grad_fn) for below, _ in node.next_functions)


def _nodes_run(result: torch.Tensor) -> int:
    with record() as trace:
        result.backward()
    return sum(event["kind"] == "run" for event in trace.events)


def _pull(weighted: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], vector: list[float]) -> list[float]:
    """The gradient of what `weighted` makes of y = x * x and a vector, at x = [1, 2]."""
    x = _x(1.0, 2.0)
    weighted(x * x, torch.tensor(vector)).backward()
    return [float(value) for value in grad_of(x).tolist()]


def _vector(case: Case) -> list[float]:
    return [float(value) for value in ast.literal_eval(case.code.removeprefix("pull(").removesuffix(")"))]


def _pulled(vector: list[float]) -> list[float]:
    """The x.grad after y.backward(gradient=v)."""
    x = _x(1.0, 2.0)
    (x * x).backward(torch.tensor(vector))
    return [float(value) for value in grad_of(x).tolist()]


def _saves(case: Case) -> bool:
    with record() as trace:
        assert case.value is not None
    return any(node["saved"] for node in trace.nodes)


def _square_matrix() -> torch.Tensor:
    return torch.tensor([[2.0]], requires_grad=True) * 3


def _names() -> Names:
    x, y, one, two = _x(2.0), _x(3.0), torch.tensor([[2.0]], requires_grad=True), _x(1.0, 2.0)
    b = x + x
    cube = x**3

    def filled(run: Callable[[], object]) -> bool:
        """Whether a call fills x.grad."""
        run()
        return x.grad is not None

    return {"torch": torch, "x": x, "y": y, "a": x, "b": b, "one": one, "two": two, "pull": _pulled, "cube": cube,
            "filled": filled}


PREDICTIONS = (
    Prediction(
        "4.1",
        (Belief("once for each path that leads to it", lambda: _ways(_names()["b"] + _names()["b"])),
         Belief("only operations run; a leaf has no node",
                lambda: len([n for n in nodes_of((_names()["b"] + _names()["b"]).grad_fn) if n.next_functions]) - 1)),
        Why("How often does backward() run a node?", _names, ("a + a", "b + b", "(a + a) + a"), _nodes_run, {
            "a": Reason("once for each edge that leads to it", lambda case: _edges(case.value)),
            "b": Reason("once, when all its gradients have arrived", lambda case: len(nodes_of(case.value.grad_fn))),
            "c": Reason("once for each path that leads to it", lambda case: _ways(case.value))},
            shows="The number counts all runs of nodes."),
        look="Step through the first inspector and count the nodes that run. How often does each of them?"),
    Prediction(
        "4.2",
        (Belief("backward() without an argument is for scalars, of shape [] only",
                lambda: _square_matrix().shape == ()),),
        Why("Which results can start backward without an argument?", _names,
            ("two * 3", "two.sum()", "one * 3", "(two * 3)[:1]"), lambda value: not fails(value.backward), {
                "a": Reason("those of shape []", lambda case: case.value.shape == ()),
                "b": Reason("those made by a sum or a mean", lambda case: "sum" in case.code),
                "c": Reason("those that hold one number, in any shape",
                            lambda case: len(case.value.reshape(-1)) == 1)},
            shows="True means that backward() can start there. two holds two numbers; one has the shape [1, 1]."),
        look="Print y.shape and y.numel(). Then call backward() on a result with two numbers, and read its error."),
    Prediction(
        "4.3",
        (Belief("gradient= only says where to start; the numbers in it do not matter", lambda: _pulled([1.0, 1.0])),
         Belief("y becomes one number first, by summing", lambda: _pulled([11.0, 11.0])),
         Belief("the numbers are multiplied into one factor for all of y", lambda: _pulled([10.0, 10.0]))),
        Why("What does gradient= mean?", _names,
            ("pull([1, 1])", "pull([1, 0])", "pull([0, 1])", "pull([1, 10])"), lambda value: value, {
                "a": Reason("each number is the weight of its entry of y: it is the gradient of (y * v).sum()",
                            lambda case: _pull(lambda y, v: (y * v).sum(), _vector(case))),
                "b": Reason("y is summed, and the numbers too: it is the gradient of y.sum() * v.sum()",
                            lambda case: _pull(lambda y, v: y.sum() * v.sum(), _vector(case))),
                "c": Reason("it selects entries: it is the gradient of y[v != 0].sum()",
                            lambda case: _pull(lambda y, v: y[v.ne(0)].sum(), _vector(case)))}),
        look="Try it with [1, 0], then with [0, 1]: what does each number do to x.grad?"),
    Prediction(
        "4.4",
        (Belief("the first backward destroys the graph", lambda: _second_backward(_x(1.0) * _x(2.0))),),
        Why("Which nodes raise an error when they run again?", _names,
            ("x + y", "x * y", "x.exp()", "-x", "x * 5"), _second_backward, {
                "a": Reason("those that saved a value, because it was released", _saves),
                "b": Reason("all: a graph can be used once", lambda case: True),
                "c": Reason("products: they need both factors", lambda case: "*" in case.code)},
            shows="True means that the second backward raises an error."),
        look="Do the same with z = x * y, and compare. Which values had each node saved?"),
    Prediction(
        "4.5",
        (Belief("grad is backward by another name", lambda: _after_backward()),),
        Why("What fills x.grad?", _names,
            ("filled(lambda: cube.backward())", "filled(lambda: torch.autograd.grad(cube, x))",
             "filled(lambda: cube.backward(inputs=[x]))",
             "filled(lambda: torch.autograd.grad(cube, x, create_graph=True))"), lambda value: value, {
                "a": Reason("every call that computes the gradient of x", lambda case: True),
                "b": Reason("backward(); grad() returns the gradient instead", lambda case: "backward" in case.code),
                "c": Reason("every call that does not name x", lambda case: case.names_used().count("x") == 0)},
            shows="cube is x**3."),
        word="None",
        look="Print g, and print x.grad: which of the two holds the 12?"),
)


def _after_backward() -> float:
    x = _x(2.0)
    (x**3).backward()
    return float(grad_of(x))
