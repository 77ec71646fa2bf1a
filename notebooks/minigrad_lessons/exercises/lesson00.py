"""The checks of lesson 0: measured slopes, the chain rule by hand, and a class `Value` built step by step.

What is right is found by running minigrad on the same program.
"""

import dis
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import grad_of
from minigrad_lessons.values import show

Program = Callable[..., Any]
MOST_LINES = 40

HINTS = {
    "slopes": ("Only one input may move at a time: the one that this pass of the loop is about.",
               "i is the number of the input. The slope is the movement of the result divided by that of the input.",
               "The blanks are  nudged[i] += step  and  / step."),
    "chain": ("Let a grow from 2 to 3, and compute c = a * b again. How much did it grow?",
              "Along the path b, c, d, multiply the slope of c by b by the slope of d by c.",
              "There are two paths from a to d: one through c, and the direct one with slope 1. Add them."),
    "multiply": ("Measure it: nudge x.data and see how far x.data * y.data moves.",
                 "If x grows by 1, the product grows by y.data.",
                 "The slopes are in the order of the parents (x, y): first y.data, then x.data."),
    "order": ("A function inside the function helps: visit(value), which calls itself for every parent.",
              "visit must skip a value that is already in the list.",
              "Add a value to the list after visiting its parents, and return the list reversed: found[::-1]."),
    "backpropagate": ("If the result moves g times as far as value, and value moves s times as far as parent …",
                      "… then along this path the result moves g * s times as far as parent.",
                      "A parent may be reached along several paths, so add: parent.grad += value.grad * slope."),
    "tanh": ("Like add, with one parent: Value(number, (x,), (slope,)).",
             "Compute t = math.tanh(x.data) first; you need it twice.",
             "return Value(t, (x,), (1 - t * t,)) after that line."),
    "value_class": ("Every function above becomes a method, with self in place of its first argument.",
                    "order can be defined inside backward, as a function in a method.",
                    "Inside the class, write def __add__(self, other), def __mul__(self, other), def tanh(self) and "
                    "def backward(self)."),
}


def _shared(a: Any, b: Any) -> Any:
    c = a * b
    return c * c + c


def _deep(a: Any, b: Any) -> Any:
    c = a * b
    d = c + a
    return c * d + d * d


PROGRAMS: tuple[tuple[str, Program], ...] = (
    ("a + b", lambda a, b: a + b), ("a * b", lambda a, b: a * b), ("a * b + a", lambda a, b: a * b + a),
    ("a * a + b", lambda a, b: a * a + b), ("c = a * b; c * c + c", _shared),
    ("c = a * b; d = c + a; c * d + d * d", _deep),
)
INPUTS = (2.0, -3.0)
WITH_TANH: tuple[tuple[str, Program], ...] = (
    ("a.tanh() + b", lambda a, b: a.tanh() + b), ("(a * b + a).tanh() * a", lambda a, b: (a * b + a).tanh() * a))
SMALL = (0.5, -0.25)  # where tanh is not flat


def _truth(program: Program, inputs: Sequence[float]) -> list[float]:
    leaves = [torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in inputs]
    program(*leaves).backward()
    return [grad_of(leaf).item() for leaf in leaves]


def _close(found: object, wanted: float) -> bool:
    return isinstance(found, int | float) and abs(found - wanted) <= 1e-3 * max(1.0, abs(wanted))


def slopes(student: Callable[..., Any]) -> None:
    """Judge `slopes(program, inputs)`: one measured slope for each input."""
    name = "check.slopes"
    if not report.to_judge(name, "slopes", "Fill in the two blanks of slopes(program, inputs, step).", student):
        return
    for text, program in PROGRAMS:
        finished, found = report.run(name, student, "program, inputs", program, list(INPUTS))
        if not finished:
            return
        wanted = _truth(program, INPUTS)
        if not isinstance(found, list) or len(found) != len(wanted):
            report.misconception(name, f"slopes must return a list with one number for each input; it returned "
                                       f"{report.a(found)}.")
            return
        if not all(map(_close, found, wanted)):
            report.misconception(name, _why_slopes(found, wanted), f"{text} at a = 2, b = -3: yours {show(found)}, "
                                                                   f"minigrad {show(wanted)}")
            return
    report.passed(name, f"{len(PROGRAMS)} programs at a = 2, b = -3, all slopes as minigrad finds them")


def _why_slopes(found: list[float], wanted: list[float]) -> str:
    if all(abs(value) < 1e-3 for value in found):
        return "these are movements, not slopes: divide by how far the input moved."
    if len({round(value, 3) for value in found}) == 1 and len(set(wanted)) > 1:
        return "every slope is the same: each pass of the loop must move a different input."
    return "these are not the slopes."


STEPS: dict[str, tuple[Callable[[float, float], float], tuple[tuple[float, str], ...]]] = {
    "d by c": (lambda a, b: _slope(lambda c: c + a, a * b), ((-4.0, "That is d itself; how far does it move?"),)),
    "c by a": (lambda a, b: _slope(lambda x: x * b, a),
               ((2.0, "That is a itself. If a grows by 1, a * b grows by one more b."),)),
    "c by b": (lambda a, b: _slope(lambda x: a * x, b),
               ((-3.0, "That is b itself. If b grows by 1, a * b grows by one more a."),)),
    "d by b, through c": (lambda a, b: _slope(lambda x: a * x + a, b),
                          ((3.0, "Slopes along a path multiply; here they were added."),)),
    "d by a, through c": (lambda a, b: _slope(lambda x: x * b, a) * _slope(lambda c: c + a, a * b),
                          ((-2.0, "Slopes along a path multiply; the direct path of a is not on this one."),)),
    "d by a, along all paths": (lambda a, b: _slope(lambda x: x * b + x, a),
                                ((-3.0, "The direct path is missing: d = c + a uses a once more."),
                                 (1.0, "The path through c is missing."))),
}


def _slope(f: Callable[[float], float], at: float) -> float:
    return (f(at + 1e-4) - f(at - 1e-4)) / 2e-4


def chain(answers: Any) -> None:
    """Judge the slopes that were worked out by hand, each by measuring it."""
    name = "check.chain"
    if not isinstance(answers, Mapping) or set(answers) != set(STEPS):
        report.misconception(name, f"pass a dict with these entries: {', '.join(STEPS)}.")
        return
    if any(answer is ... for answer in answers.values()):
        report.not_yet(name, f"Still open: {'; '.join(key for key, answer in answers.items() if answer is ...)}.")
        return
    for key, (measure, known) in STEPS.items():
        if not _close(answers[key], measure(*INPUTS)):
            thought = next((text for value, text in known if _close(answers[key], value)),
                           "Measure it with slopes, or nudge it by hand.")
            report.misconception(name, f"{key}: {show(answers[key])}? {thought}")
            return
    report.passed(name, *(f"{key}: measured {show(round(measure(*INPUTS), 3))}" for key, (measure, _) in STEPS.items()))


def multiply(value: Any) -> None:
    """Judge what `Value.__mul__` remembers: the product, both parents, and a slope for each."""
    name = "check.multiply"
    if not _method(name, value, "__mul__", "Fill in the two slopes of a product."):
        return
    x, y = value(2.0), value(-3.0)
    try:
        made = x * y
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        report.misconception(name, f"x * y {report.raised(error, vars(value)['__mul__'])}")
        return
    fault = _why_product(made, x, y)
    if fault:
        report.misconception(name, fault)
    else:
        report.passed(name, "2 * -3: data -6, slopes -3 and 2")


def _why_product(made: Any, x: Any, y: Any) -> str:
    if not isinstance(made, type(x)) or made.data != -6.0 or not _is_row(made.parents) or tuple(made.parents) != (x, y):
        return "the product must be a Value with data -6 and the parents (x, y) for 2 * -3."
    if not _is_row(made.slopes) or len(made.slopes) != 2:
        return "a product has two slopes, one for each parent: (…, …)."
    if any(isinstance(slope, type(x)) for slope in made.slopes):
        return "a slope is a number: use y.data, not y."
    if list(made.slopes) == [-3.0, 2.0]:
        return ""
    if list(made.slopes) == [2.0, -3.0]:
        return "the two slopes are swapped: if x grows by 1, the product grows by y."
    if list(made.slopes) == [1.0, 1.0]:
        return "these are the slopes of a sum. If x grows by 1, by how much does 2 * -3 grow?"
    return f"for 2 * -3 the slopes are not {show(list(made.slopes))}. Measure them."


def _is_row(found: object) -> bool:
    return isinstance(found, tuple | list)


def _method(name: str, value: Any, method: str, missing: str) -> bool:
    if not isinstance(value, type):
        report.misconception(name, f"pass the class itself: {name}(Value)")
        return False
    found = vars(value).get(method)
    if found is None:
        report.misconception(name, f"your {report.name_of(value)} has no {method}.")
        return False
    return report.to_judge(name, "Value", missing, found)


def order(student: Callable[[Any], Any], value: Any) -> None:
    """Judge `order(result)`: every value once, and each before its parents."""
    name = "check.order"
    if not report.to_judge(name, "order, Value", "Write order(result), which returns a list.", student):
        return
    a = value(1.0)
    b = value(2.0, (a,), (1.0,))
    c = value(3.0, (a, b), (1.0, 1.0))
    d = value(4.0, (b, c), (1.0, 1.0))
    result = value(5.0, (d, a), (1.0, 1.0))
    finished, found = report.run(name, student, "result", result)
    if not finished:
        return
    fault = _why_order(found, [a, b, c, d, result])
    if fault:
        graph = "b from a; c from a and b; d from b and c; the result from d and a"
        report.misconception(name, fault, f"The values were computed like this: {graph}")
    else:
        report.passed(name, "5 values, 7 parents: each value once, and before its parents")


def _why_order(found: Any, made: list[Any]) -> str:
    if not isinstance(found, list):
        return f"order must return a list; it returned {report.a(found)}."
    if not all(isinstance(value, type(made[0])) for value in found):
        return "the list must hold the Values themselves, not their data."
    ids = [id(value) for value in found]
    if len(ids) != len(set(ids)):
        return "a value is in the list twice. It can be reached along several paths; add it to the list once."
    if set(ids) != set(map(id, made)):
        return f"{len(ids)} values are in the list, and the result was computed from {len(made)}, itself included."
    place = {each: i for i, each in enumerate(ids)}
    late = [(v, p) for v in found for p in v.parents if place[id(p)] < place[id(v)]]
    if not late:
        return ""
    if place[id(made[-1])] == len(made) - 1:
        return "the list is in reverse order: the result must come first, and the inputs last."
    return ("a value comes after one of its parents. Adding a value when you first reach it is too early: add it "
            "after all its parents have been visited, and reverse the list.")


def backpropagate(value: Any) -> None:
    """Judge `Value.backward` on programs with sums and products."""
    name = "check.backpropagate"
    if not _method(name, value, "backward", "Replace the dots of backward(result)."):
        return
    outside = _outside(value, vars(value)["backward"])
    if "order" in outside and report.has_dots(outside["order"]):
        report.not_yet(name, "Do exercise 4 first: order still has dots.")
    else:
        _compare(name, value, PROGRAMS, INPUTS)


def tanh(value: Any) -> None:
    """Judge `Value.tanh`: its number and its slope."""
    name = "check.tanh"
    if not _method(name, value, "tanh", "Write tanh(x), which returns a Value."):
        return
    try:
        made = value(0.5).tanh()
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        advice = " `math.tanh` needs the number, x.data." if "must be real number" in str(error) else ""
        report.misconception(name, f"tanh(x) {report.raised(error, vars(value)['tanh'])}{advice}")
        return
    wanted = torch.tensor(0.5).tanh().item()
    if not isinstance(made, value) or not _close(made.data, wanted):
        report.misconception(name, f"tanh must return a Value; for 0.5 its data is {show(wanted)}.")
    elif any(not _is_row(each) or len(each) != 1 for each in (made.parents, made.slopes)):
        report.misconception(name, "tanh has one parent and one slope: (x,) and (slope,), with the commas.")
    elif isinstance(made.slopes[0], value):
        report.misconception(name, "a slope is a number: compute it from x.data, not from x.")
    elif _close(made.slopes[0], 1 - 0.5**2):
        report.misconception(name, "this is 1 - x². The slope is 1 - t², with t the result.")
    elif not _close(made.slopes[0], _truth(lambda x: x.tanh(), (0.5,))[0]):
        report.misconception(name, f"at 0.5 the slope is not {show(made.slopes[0])}. Measure it with slopes.")
    else:
        report.passed(name, f"tanh(0.5) is {show(wanted)}, with slope {show(made.slopes[0])}")


def value_class(value: Any) -> None:
    """Judge the whole class: its gradients on programs with +, * and tanh, and its length."""
    name = "check.value_class"
    if not _method(name, value, "__init__", "Write the class, with __init__ first."):
        return
    for method in ("__add__", "__mul__", "tanh", "backward"):
        if not _method(name, value, method, f"Write {method}."):
            return
    if fault := _why_not_one_class(value):
        report.misconception(name, fault)
        return
    lines = 1 + sum(len(inspect.getsource(part).rstrip().splitlines()) for part in vars(value).values()
                    if inspect.isfunction(part))
    if lines > MOST_LINES:
        report.misconception(name, f"it has {lines} lines; {MOST_LINES} are enough.")
    else:
        _compare(name, value, (*PROGRAMS, *WITH_TANH), SMALL, f"your class has {lines} lines")


def _outside(value: Any, *functions: Any) -> dict[str, Any]:
    """The functions and classes of the student's own that these functions use, and that are not this class."""
    found: dict[str, Any] = {}
    codes = [(function.__code__, function.__globals__) for function in functions if inspect.isfunction(function)]
    for code, around in codes:
        codes.extend((inner, around) for inner in code.co_consts if isinstance(inner, CodeType))
        used = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
        found |= {name: around[name] for name in used if inspect.isfunction(around.get(name))
                  or inspect.isclass(around.get(name))}
    return {name: each for name, each in found.items() if each.__module__ == value.__module__ and each is not value}


def _why_not_one_class(value: Any) -> str:
    own = [part for part in vars(value).values() if inspect.isfunction(part)]
    added = [part for part in own if not part.__qualname__.startswith(f"{value.__qualname__}.")]
    if added:
        return (f"{added[0].__name__} was defined outside and added to the class. Write every method inside one new "
                "class.")
    outside = _outside(value, *own)
    return (f"it uses {next(iter(outside))}, which is defined outside the class. Everything it needs must be inside."
            if outside else "")


def _compare(name: str, value: Any, programs: Sequence[tuple[str, Program]], inputs: Sequence[float],
             *more: str) -> None:
    """Run the programs on Values and on tensors, and compare the gradients."""
    for text, program in programs:
        leaves = [value(number) for number in inputs]
        try:
            result = program(*leaves)
            result.backward()
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            report.misconception(name, f"{text} {report.raised(error, vars(value)['backward'])}")
            return
        found, wanted = [leaf.grad for leaf in leaves], _truth(program, inputs)
        if not all(map(_close, found, wanted)):
            shown = (f"{text}: your gradients {show(found)}, minigrad's {show(wanted)}",)
            report.misconception(name, _why_grads(value, "tanh" in text), *shown)
            return
    report.passed(name, f"{len(programs)} programs, every gradient equal to minigrad's", *more)


def _grads(value: Any, program: Program, *numbers: float) -> list[Any]:
    leaves = [value(number) for number in numbers]
    program(*leaves).backward()
    return [leaf.grad for leaf in leaves]


def _are(found: list[Any], *wanted: float) -> bool:
    return all(map(_close, found, wanted))


def _why_grads(value: Any, with_tanh: bool) -> str:
    """What went wrong, found by asking the student's class about small programs, the plainest first."""
    fault = _why_one_step(_grads(value, lambda a, b: a + b, 2.0, -3.0), "a + b", (1.0, 1.0))
    fault = fault or _why_one_step(_grads(value, lambda a, b: a * b, 2.0, -3.0), "a * b", (-3.0, 2.0))
    if fault:
        return fault
    two_steps = _grads(value, lambda a, b, c: a * b * c, 2.0, 3.0, 4.0)
    if _are(two_steps, 3.0, 2.0, 6.0):
        return ("each parent got the slope alone, or times the gradient of the result, which is 1. The other factor "
                "is the gradient of the value that passes it on.")
    if _are(two_steps, 0.0, 0.0, 6.0):
        return ("no gradient got past the parents of the result: only the result passed its gradient on, or the other "
                "values did so before theirs was complete.")
    if not _are(_grads(value, lambda a: a * a, 3.0), 6.0):
        return ("a value that is used twice got the gradient of only one path. Gradients of several paths add up, so "
                "one must not replace the other.")
    if with_tanh and not _are(_grads(value, lambda a: a.tanh(), 0.5), *_truth(lambda a: a.tanh(), (0.5,))):
        return "the slope of tanh is not right."
    return ("a value passed its gradient on before it was complete. Everything computed from a value must come before "
            "it.")


def _why_one_step(found: list[Any], text: str, wanted: tuple[float, float]) -> str:
    """What is wrong with the gradients of a program of one operation on 2 and -3; empty if they are right."""
    data = 2.0 - 3.0 if text == "a + b" else 2.0 * -3.0
    if _are(found, *wanted):
        return ""
    if _are(found, 0.0, 0.0):
        return ("no gradient arrived at the inputs: the result starts with 1, and each value must pass its own on to "
                "its parents.")
    if _are(found, data * wanted[0], data * wanted[1]):
        return "a value passed on its data. It must pass on its gradient, times the slope."
    if text == "a + b":
        return "even a sum goes wrong: each of its parents gets the gradient of the sum, times the slope 1."
    if _are(found, 1.0, 1.0):
        return ("in a * b both inputs got the gradient of the product unchanged. It must be multiplied by the slope, "
                "and the slopes of a product are not 1.")
    return "the slopes of a product are not right."
