"""Lesson 22: its predictions."""

import contextlib

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad_lessons.bank.kinds import Belief, Names, Prediction, Question, Reason, Why

QUESTIONS: tuple[Question, ...] = ()
BLOCKS = {"no_grad": torch.no_grad, "enable_grad": torch.enable_grad}


def change(code: str, *direction: float) -> float:
    """How fast an expression of v = [2, 5] changes when v moves in this direction."""
    at, moved = torch.tensor([2.0, 5.0]), torch.tensor(direction)
    return float(torch.func.jvp(lambda v: eval(code, {"v": v}), (at,), (moved,))[1].item())


def _product(a: float, b: float) -> float:
    return change("v[0] * v[1]", a, b)


def arrives(block: str) -> bool:
    """Whether dual * dual has a tangent inside this block; "detached": whether that of dual.detach() has."""
    with forward_ad.dual_level(), BLOCKS.get(block, contextlib.nullcontext)():
        dual = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
        other = dual.detach() if block == "detached" else dual
        return forward_ad.unpack_dual(other * other).tangent is not None


def _without_tangent() -> bool:
    return forward_ad.unpack_dual(torch.tensor(3.0) * 2).tangent is None


def slope(code: str) -> float:
    """The tangent of an expression of t, where t is 3 and its tangent 1."""
    return float(torch.func.jvp(lambda t: eval(code, {"t": t}), (torch.tensor(3.0),), (torch.tensor(1.0),))[1].item())


def runs(inputs: int, outputs: int) -> int:
    """How often a function with this many inputs and outputs runs for its Jacobian by columns."""
    count = 0

    def program(v: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        return torch.stack([v.sum()] * outputs)

    for direction in torch.eye(inputs):
        torch.func.jvp(program, (torch.ones(inputs),), (direction,))
    return count


def _names() -> Names:
    return {"change": change, "arrives": arrives, "slope": slope, "runs": runs}


PREDICTIONS = (
    Prediction(
        "22.1",
        (Belief("a change of the result is the product of the changes", lambda: 1.0 * 2.0),
         Belief("jvp gives the derivative with respect to the first input", lambda: _product(1.0, 0.0)),
         Belief("jvp gives the result", lambda: 10.0)),
        Why("What is the change of v[0] * v[1] at [2, 5] in a direction?", _names,
            ('change("v[0] * v[1]", 1.0, 0.0)', 'change("v[0] * v[1]", 0.0, 1.0)', 'change("v[0] * v[1]", 1.0, 2.0)',
             'change("v[0] * v[1]", 2.0, -1.0)'),
            lambda value: value, {
                "a": Reason("5, whatever the direction: it is the derivative",
                            lambda case: 5.0),
                "b": Reason("the derivative for each input, times how far that input moves, all added up",
                            lambda case: 5.0 * float(str(case.arguments()[1])) + 2.0 * float(str(case.arguments()[2]))),
                "c": Reason("the product of the moves, since the function is a product",
                            lambda case: float(str(case.arguments()[1])) * float(str(case.arguments()[2])))}),
        look="Run jvp with the directions [1, 0] and [0, 1], and add the two changes."),
    Prediction(
        "22.2",
        (Belief("no_grad switches off all derivatives", _without_tangent),),
        Why("Where does dual * dual have a tangent?", _names,
            ('arrives("no block")', 'arrives("no_grad")', 'arrives("enable_grad")', 'arrives("detached")'),
            lambda value: value, {
                "a": Reason("where the graph is recorded", lambda case: "no_grad" not in case.code),
                "b": Reason("wherever a tangent comes in: it needs no graph", lambda case: "detached" not in case.code),
                "c": Reason("everywhere, once make_dual has run", lambda case: True)}),
        look="Print dual * dual inside the block, and its requires_grad."),
    Prediction(
        "22.3",
        (Belief("detach only matters to backward", lambda: slope("t * t")),
         Belief("a detached factor makes the whole product a constant", lambda: slope("(t * t).detach()"))),
        Why("What is the tangent of an expression?", _names,
            ('slope("t * t")', 'slope("t * t.detach()")', 'slope("t.detach() * t.detach() * t")',
             'slope("(t * t).detach()")'),
            lambda value: value, {
                "a": Reason("detached factors count as constants: each other t adds the product of the rest",
                            lambda case: {'slope("t * t")': 6.0, 'slope("t * t.detach()")': 3.0,
                                          'slope("(t * t).detach()")': 0.0}.get(case.code, 9.0)),
                "b": Reason("6 for every product of two: forward mode knows no graph that detach could cut",
                            lambda case: 6.0),
                "c": Reason("0 as soon as detach is somewhere in it",
                            lambda case: 0.0 if "detach" in case.code else 6.0)}),
        look="Print the tangent of t.detach() alone."),
    Prediction(
        "22.4",
        (Belief("a derivative takes as many passes as there are outputs", lambda: runs(5, 2)),
         Belief("one pass gives all derivatives", lambda: runs(1, 5))),
        Why("How often does a function run for its Jacobian by columns?", _names,
            ("runs(2, 5)", "runs(5, 2)", "runs(3, 3)", "runs(1, 5)"),
            lambda value: value, {
                "a": Reason("once for each output", lambda case: case.arguments()[1]),
                "b": Reason("once for each number in the Jacobian",
                            lambda case: int(str(case.arguments()[0])) * int(str(case.arguments()[1]))),
                "c": Reason("once for each input: each has a direction of its own", lambda case: case.arguments()[0])}),
        look="Count the rows of torch.eye(2): each is one direction."),
)
