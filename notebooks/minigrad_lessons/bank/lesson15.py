"""Lesson 15: its predictions."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import minigrad as torch
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why

QUESTIONS: tuple[Question, ...] = ()
LOSS, UNUSED = "loss = (torch.relu(x * w) * 2.0).sum()", "(x * w).exp().sum()"


def _called(function: Callable[..., Any], *batches: torch.Tensor) -> Any:
    """A compiled function after calls."""
    compiled = torch.compile(function, backend="numpy")
    for x in batches:
        compiled(x)
    return compiled


def _batches() -> list[torch.Tensor]:
    return [torch.tensor([1.0, -1.0, float(number)]) for number in range(3)]


def _step(*lines: str) -> Any:
    """A compiled step whose loss is computed by these lines."""
    names: Names = {"torch": torch, "w": torch.tensor([1.0, 2.0, 3.0], requires_grad=True)}
    body = "".join(f"    {line}\n" for line in ("w.grad = None", *lines, "loss.backward()", "return loss"))
    exec(f"def step(x):\n{body}", names)
    return _called(names["step"], *_batches())


def _statements(*lines: str) -> int:
    return int(torch.compile.explain(_step(*lines)).statements)


def added(line: str) -> int:
    """How many statements the program has more if the step has this line before its loss."""
    return _statements(line, LOSS) - _statements(LOSS)


def _traced(line: str) -> int:
    count = torch.compile.explain
    return int(count(_step(line, LOSS)).traced - count(_step(LOSS)).traced)


def products(loss: str) -> int:
    """How many statements multiply, if this is the loss."""
    return int(_step(f"loss = {loss}").source.count("multiply("))


def _traced_products(loss: str) -> int:
    traced: list[str] = _step(f"loss = {loss}").passes[0][1]
    return len([statement for statement in traced if "multiply(" in statement])


def programs(*sizes: int) -> int:
    """How many programs `x * 2` has after calls with so many numbers."""
    return int(torch.compile.explain(_called(lambda x: x * 2, *[torch.ones(size) for size in sizes])).variants)


def _changes(sizes: tuple[Any, ...]) -> int:
    """How often the size is another one than before, the first time counted."""
    return 1 + len([size for before, size in pairwise(sizes) if size != before])


def becomes_a_program(expression: str) -> bool:
    """Whether a function that returns this becomes one list of statements."""
    names: Names = {"torch": torch, "training": True}
    exec(f"def function(x):\n    return {expression}", names)
    compiled = torch.compile(names["function"], backend="numpy", fullgraph=True)
    try:
        for x in _batches():
            compiled(x)
    except torch.compiler.GraphBreak:
        return False
    return True


def _names() -> Names:
    return {"added": added, "products": products, "programs": programs, "becomes_a_program": becomes_a_program}


TWICE = "(x * w).sum() + (x * w).sum()"
SIZES = (3, 3, 3, 5, 5, 5, 3)
PREDICTIONS = (
    Prediction(
        "15.1",
        (Belief("each operation of a line becomes a statement", lambda: _traced(UNUSED)),
         Belief("what was computed before is left out, but the rest of the line stays",
                lambda: _traced(UNUSED) - 1)),
        Why("Which lines leave nothing in the program?", _names,
            (f'added("{UNUSED}")', 'added("x.exp()")', 'added("x = x + 1.0")', 'added("x = x * w")'),
            lambda value: value == 0, {
                "a": Reason("none of them: each line becomes a statement", lambda case: False),
                "b": Reason("those whose result is never needed", lambda case: "x = " not in case.code),
                "c": Reason("those that begin with something that was computed before",
                            lambda case: "x * w" in case.code)}),
        look="Print compiled.source and look for the new line. Then print its passes."),
    Prediction(
        "15.2",
        (Belief("a product that is written twice is computed twice", lambda: products(TWICE) + 1),
         Belief("each of the two needs a product of its own in the backward pass", lambda: _traced_products(TWICE))),
        Why("Where is one product enough?", _names,
            (f'products("{TWICE}")', 'products("(x * w).sum() + (w * x).sum()")',
             'products("(x * w).sum() + (x * 2.0).sum()")', f'products("{TWICE} + (x * w).sum()")'),
            lambda value: value == 1, {
                "a": Reason("wherever x is multiplied", lambda case: True),
                "b": Reason("where the same two values are multiplied, in any order",
                            lambda case: "2.0" not in case.code),
                "c": Reason("where the same function reads the same values, in the same order",
                            lambda case: "2.0" not in case.code and "w * x" not in case.code)}),
        look="Print doubled.source and doubled.passes[0], which is what was traced."),
    Prediction(
        "15.3",
        (Belief("a program fits all shapes", lambda: programs(*SIZES[:3])),
         Belief("each call with another shape than the call before is traced", lambda: _changes(SIZES)),
         Belief("each call makes a program", lambda: len(SIZES))),
        Why("How many programs are there in the end?", _names,
            ("programs(3, 3, 3)", "programs(3, 3, 5, 5)", "programs(3, 3, 5, 5, 3)",
             "programs(3, 3, 5, 5, 3, 3, 5, 5)"),
            lambda value: value, {
                "a": Reason("as many as there are calls after the first one", lambda case: len(case.arguments()) - 1),
                "b": Reason("one for each shape: a program is kept, and is found again",
                            lambda case: len(set(case.arguments()))),
                "c": Reason("one for each time that the shape changes",
                            lambda case: _changes(tuple(case.arguments())))}),
        look="Print torch.compile.explain(scaled).variants after each call."),
    Prediction(
        "15.4",
        (Belief("a compiler compiles whatever Python can run", lambda: becomes_a_program("x * 2")),),
        Why("Which functions become one list?", _names,
            ('becomes_a_program("x * 2 if x.sum().item() > 0 else x")',
             'becomes_a_program("x * 2 if len(x) > 2 else x")',
             'becomes_a_program("torch.where(x > 0, x * 2, x)")', 'becomes_a_program("[x, x * 2][int(x.sum() > 0)]")'),
            lambda value: value, {
                "a": Reason("those in which Python never has to know what a tensor holds",
                            lambda case: ".item()" not in case.code and "int(" not in case.code),
                "b": Reason("those that do not compare", lambda case: " > " not in case.code),
                "c": Reason("those without an if", lambda case: " if " not in case.code)}),
        look="For which branch would the list be right? Call bent with a sum above 0, then with one below."),
)
