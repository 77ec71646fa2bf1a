"""The key of lesson 0."""

from tests.lessons.answers.kinds import Key, Wrong

SLOPES = """def slopes(program, inputs, step=1e-6):
    found = []
    for i in range(len(inputs)):
        nudged = list(inputs)
        nudged[i] += step
        found.append((program(*nudged) - program(*inputs)) / step)
    return found


check.slopes(slopes)"""

ANSWERS = {"d by c": 1, "c by a": -3, "c by b": 2, "d by b, through c": 2, "d by a, through c": -3,
           "d by a, along all paths": -2}


def chain(**changed: float) -> str:
    """The cell of the chain rule; the keywords have _ for blanks, and no comma."""
    named = {key.replace(", ", "_").replace(" ", "_"): key for key in ANSWERS}
    return f"answers = {ANSWERS | {named[key]: value for key, value in changed.items()}!r}\ncheck.chain(answers)"


MULTIPLY = """def multiply(x, y):
    return Value(x.data * y.data, (x, y), (y.data, x.data))


Value.__mul__ = multiply
check.multiply(Value)"""

ORDER = """def order(result):
    found = []
    def visit(value):
        if value not in found:
            for parent in value.parents:
                visit(parent)
            found.append(value)
    visit(result)
    return found[::-1]


check.order(order, Value)"""
FIRST_MET = """def order(result):
    found = []
    def visit(value):
        if value not in found:
            found.append(value)
            for parent in value.parents:
                visit(parent)
    visit(result)
    return found


check.order(order, Value)"""

BACKWARD = """def backward(result):
    result.grad = 1.0
    for value in order(result):
        for parent, slope in zip(value.parents, value.slopes):
            parent.grad += value.grad * slope


Value.backward = backward
check.backpropagate(Value)"""

TANH = """import math


def tanh(x):
    t = math.tanh(x.data)
    return Value(t, (x,), (1 - t * t,))


Value.tanh = tanh
check.tanh(Value)"""

WHOLE = """class Scalar:
    def __init__(self, data, parents=(), slopes=()):
        self.data, self.parents, self.slopes, self.grad = data, parents, slopes, 0.0

    def __add__(self, other):
        return Scalar(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other):
        return Scalar(self.data * other.data, (self, other), (other.data, self.data))

    def tanh(self):
        t = math.tanh(self.data)
        return Scalar(t, (self,), (1 - t * t,))

    def backward(self):
        found = []
        def visit(value):
            if value not in found:
                for parent in value.parents:
                    visit(parent)
                found.append(value)
        visit(self)
        self.grad = 1.0
        for value in reversed(found):
            for parent, slope in zip(value.parents, value.slopes):
                parent.grad += value.grad * slope


check.value_class(Scalar)"""
RECURSION = WHOLE[:WHOLE.index("    def backward")] + """    def backward(self, grad=1.0):
        self.grad += grad
        for parent, slope in zip(self.parents, self.slopes):
            parent.backward(self.grad * slope)


check.value_class(Scalar)"""

ADDS_UP = "parent.grad += value.grad * slope"

SLOPES_WRONG: tuple[Wrong, ...] = (
    (SLOPES.replace("(*inputs)) / step", "(*inputs)) / 1"), "these are movements, not slopes"),
    (SLOPES.replace("nudged[i]", "nudged[0]"), "each pass of the loop must move a different input"),
    (SLOPES.replace("    return found\n", "    return found[0]\n"), "a list with one number for each input"),
    (SLOPES.replace("nudged[i]", "nudged[...]"), "it is line 5 of your cell"),
)
CHAIN_WRONG: tuple[Wrong, ...] = (
    (chain(c_by_a=2), "2? That is a itself"), (chain(c_by_b=-3), "-3? That is b itself"),
    (chain(d_by_b_through_c=3), "Slopes along a path multiply"),
    (chain(d_by_a_along_all_paths=-3), "The direct path is missing"),
    (chain(d_by_a_along_all_paths=1), "The path through c is missing"), (chain(d_by_c=5), "Measure it"),
    (chain(d_by_c=-4), "-4? That is d itself"),
)
MULTIPLY_WRONG: tuple[Wrong, ...] = (
    (MULTIPLY.replace("(y.data, x.data)", "(x.data, y.data)"), "the two slopes are swapped"),
    (MULTIPLY.replace("(y.data, x.data)", "(1.0, 1.0)"), "these are the slopes of a sum"),
    (MULTIPLY.replace("(x, y), (", "(x,), ("), "the parents (x, y)"),
    (MULTIPLY.replace("(y.data, x.data)", "(0.0, 7.0)"), "Measure them"),
    (MULTIPLY.replace("(y.data, x.data)", "(y, x)"), "a slope is a number: use y.data, not y."),
    (MULTIPLY.replace("(y.data, x.data)", "(y.data)"), "a product has two slopes"),
    (MULTIPLY.replace("y.data, (x", "y.datum, (x"), "x * y raised AttributeError"),
)
ORDER_WRONG: tuple[Wrong, ...] = (
    (ORDER.replace("found[::-1]", "found"), "the list is in reverse order"),
    (FIRST_MET, "Adding a value when you first reach it is too early"),
    (ORDER.replace("        if value not in found:", "        if True:"), "a value is in the list twice"),
    (ORDER.replace("    visit(result)\n", "    visit(result.parents[0])\n"), "4 values are in the list"),
    (ORDER.replace("    return found[::-1]\n", "    found.reverse()\n"), "it returned None"),
    (ORDER.replace("found[::-1]", "[value.data for value in found[::-1]]"), "the Values themselves, not their data"),
)
# What the cell needs from the cells above it, where wrong answers were just tried.
ABOVE = "\n".join(cell.rpartition("\ncheck.")[0] for cell in (MULTIPLY, ORDER)) + "\n\n"
MET = FIRST_MET.replace("def order", "def first_met").rpartition("\ncheck.")[0] + "\n\n"
ORDER_OPEN = "def order(result):\n    found = ...\n    return found\n\n\n"
BACKWARD_WRONG: tuple[Wrong, ...] = (
    (ABOVE + ORDER_OPEN + BACKWARD, "not yet. Do exercise 4 first: order still has dots."),
    (ABOVE + MET + BACKWARD.replace("in order(result)", "in first_met(result)"),
     "Everything computed from a value must come before it"),
    *((ABOVE + cell, words) for cell, words in (
        (BACKWARD.replace(ADDS_UP, "parent.grad = value.grad * slope"), "got the gradient of only one path"),
        (BACKWARD.replace(ADDS_UP, "parent.grad += slope"), "each parent got the slope alone"),
        (BACKWARD.replace(ADDS_UP, "parent.grad += result.grad * slope"), "or times the gradient of the result"),
        (BACKWARD.replace(ADDS_UP, "parent.grad = parent.grad + value.grad"), "It must be multiplied by the slope"),
        (BACKWARD.replace(ADDS_UP, f"{ADDS_UP} * 2"), "even a sum goes wrong"),
        (BACKWARD.replace(ADDS_UP, "parent.grad += value.data * slope"), "a value passed on its data"),
        (BACKWARD.replace("in order(result)", "in [result]"), "only the result passed its gradient on"),
        (BACKWARD.replace(ADDS_UP, "value.grad += parent.grad * slope"), "no gradient arrived at the inputs"),
        (BACKWARD.replace("in order(result)", "in reversed(order(result))"), "before theirs was complete"),
        (BACKWARD.replace("value.slopes", "value.slope"), "has no attribute 'slope'"),
    )),
)
TANH_WRONG: tuple[Wrong, ...] = (
    (TANH.replace("1 - t * t", "1 - x.data ** 2"), "this is 1 - x²"),
    (TANH.replace("(x,), (1 - t * t,)", "(x, x), (1 - t * t,)"), "one parent and one slope"),
    (TANH.replace("1 - t * t", "1.0"), "Measure it with slopes"),
    (TANH.replace("Value(t, (x,), (1 - t * t,))", "t"), "tanh must return a Value"),
    (TANH.replace("(1 - t * t,)", "(1 - t * t)"), "one parent and one slope: (x,) and (slope,), with the commas"),
    (TANH.replace("(x,), ", "(x), "), "one parent and one slope: (x,) and (slope,), with the commas"),
    (TANH.replace("math.tanh(x.data)", "math.tanh(x)"), "`math.tanh` needs the number, x.data."),
    (TANH.replace("1 - t * t", "x"), "a slope is a number"),
)
WHOLE_WRONG: tuple[Wrong, ...] = (
    (RECURSION, "before it was complete"),
    (WHOLE.replace(ADDS_UP, "parent.grad = value.grad * slope"), "got the gradient of only one path"),
    (WHOLE.replace("(other.data, self.data)", "(self.data, other.data)"), "the slopes of a product"),
    (WHOLE.replace("    def tanh", "    def tan"), "your Scalar has no tanh"),
    (WHOLE.replace("1 - t * t", "1 - t"), "the slope of tanh is not right"),
    (WHOLE.replace("reversed(found)", "[self]"), "only the result passed its gradient on"),
    (WHOLE.replace(ADDS_UP, "parent.grad += value.grad"), "It must be multiplied by the slope"),
    ("check.value_class(Value)", "was defined outside and added to the class"),
    (WHOLE.replace("Scalar(self.data * other", "Value(self.data * other"), "it uses Value, which is defined outside"),
    (WHOLE.replace("reversed(found)", "order(self)"), "it uses order, which is defined outside"),
    (WHOLE.replace("        self.grad = 1.0\n", "        self.grad = 1.0\n" + "        # so\n" * 20),
     "40 are enough"),
)

KEY = Key(
    recall={}, recall_wrong={}, predict={}, predict_wrong={}, why={},
    exercises={"slopes": SLOPES, "chain": chain(), "multiply": MULTIPLY, "order": ORDER, "backward": ABOVE + BACKWARD,
               "tanh": TANH, "whole": WHOLE},
    exercises_wrong={"slopes": SLOPES_WRONG, "chain": CHAIN_WRONG, "multiply": MULTIPLY_WRONG, "order": ORDER_WRONG,
                     "backward": BACKWARD_WRONG, "tanh": TANH_WRONG, "whole": WHOLE_WRONG},
)
