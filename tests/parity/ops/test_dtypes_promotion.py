"""How dtypes meet: every op of two operands with every pair of dtypes, as tensors, 0-d tensors and Python's numbers.

The dtype, the shape and the values of the result, or the error, are PyTorch's. What differs is listed, strictly: a pair
that agrees must leave the list.
"""

from __future__ import annotations

import itertools
import math
import warnings

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

DTYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
NUMBERS = {"True": True, "3": 3, "-2": -2, "2.5": 2.5, "300": 300, "2**40": 2**40}

FUNCTIONS = (
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "copysign",
    "div", "eq", "float_power", "floor_divide", "fmax", "fmin", "fmod", "full_like", "gcd", "ge", "gt", "heaviside",
    "hypot", "isclose", "lcm", "ldexp", "le", "logaddexp", "logical_and", "logical_or", "logical_xor", "lt", "maximum",
    "minimum", "mul", "ne", "nextafter", "outer", "pow", "remainder", "result_type", "rsub", "sub", "true_divide",
    "xlogy",
)
METHODS = ("add_", "bitwise_and_", "copysign_", "div_", "fill_", "floor_divide_", "fmod_", "mul_", "pow_", "remainder_",
           "sub_", "__iadd__", "__imul__")
OPS = {
    **{name: lambda m, a, b, name=name: getattr(m, name)(a, b) for name in FUNCTIONS},
    **{name: lambda m, a, b, name=name: getattr(a, name)(b) for name in METHODS},
    "+": lambda m, a, b: a + b, "-": lambda m, a, b: a - b, "*": lambda m, a, b: a * b, "/": lambda m, a, b: a / b,
    "//": lambda m, a, b: a // b, "%": lambda m, a, b: a % b, "**": lambda m, a, b: a**b, "&": lambda m, a, b: a & b,
    "|": lambda m, a, b: a | b, "^": lambda m, a, b: a ^ b, "<<": lambda m, a, b: a << b, ">>": lambda m, a, b: a >> b,
    "==": lambda m, a, b: a == b, "!=": lambda m, a, b: a != b, "<": lambda m, a, b: a < b,
    ">=": lambda m, a, b: a >= b,
    "div floor": lambda m, a, b: m.div(a, b, rounding_mode="floor"),
    "div trunc": lambda m, a, b: m.div(a, b, rounding_mode="trunc"),
    "add alpha": lambda m, a, b: m.add(a, b, alpha=2),
    "where": lambda m, a, b: m.where(m.tensor(True), a, b),
    "lerp": lambda m, a, b: m.lerp(a, b, 0.5),
    "addcmul": lambda m, a, b: m.addcmul(a, b, b),
    "addcdiv": lambda m, a, b: m.addcdiv(a, b, b),
    "clamp": lambda m, a, b: m.clamp(a, min=b),
    "cat": lambda m, a, b: m.cat([a.reshape(-1), b.reshape(-1)]),
    "stack": lambda m, a, b: m.stack([a.reshape(-1)[:1], b.reshape(-1)[:1]]),
    "masked_fill": lambda m, a, b: a.masked_fill(a > 0, b),
    "promote_types": lambda m, a, b: m.promote_types(a.dtype, b.dtype),
    "can_cast": lambda m, a, b: m.can_cast(a.dtype, b.dtype),
    "where of tensors": lambda m, a, b: m.where(m.tensor([True, False]), a, b),
    "type_as": lambda m, a, b: a.type_as(b),
    "copy_": lambda m, a, b: a.copy_(b),
    "setitem": lambda m, a, b: a.__setitem__(..., b) or a,
}


def zero_d(first, *dtypes):
    """Pairs of a number and a 0-d tensor."""
    return {(first, f"{dtype}[]") for dtype in dtypes}


INTEGERS = ("int8", "int16", "int32", "uint8")
# Where a number comes first and the tensor is 0-d, the number takes the dtype of the tensor too early.
TOO_EARLY = zero_d("-2", "uint8") | zero_d("300", "int8", "uint8") | zero_d("2**40", *INTEGERS)
DIFFER = {
    "div": TOO_EARLY,
    "true_divide": TOO_EARLY,
    "sub": zero_d("True", *[d for d in DTYPES if d != "bool"]),
    # PyTorch fills with infinity where a 0-d tensor is filled, and where a number is assigned
    "full_like": {("float16[]", "2**40")},
    "fill_": {("float16[]", "2**40")},
    "setitem": {("float16[]", "2**40"), ("float16[2]", "2**40")},
}


ERRORS = ("RuntimeError", "NotImplementedError")


IN_PLACE = (*METHODS, "copy_", "setitem")


def operands(m):
    """Makers of what may stand on each side, by name."""
    made = {}
    for dtype in DTYPES:
        made[f"{dtype}[2]"] = lambda d=dtype: m.tensor([3, 1], dtype=getattr(m, d))
        made[f"{dtype}[]"] = lambda d=dtype: m.tensor(2, dtype=getattr(m, d))
    return made | {name: lambda n=number: n for name, number in NUMBERS.items()}


def ending(m, op, a, b):
    """What can be seen of a result, and its values; or the error."""
    try:
        made = op(m, a(), b())
    except (TypeError, RuntimeError, ValueError, NotImplementedError, AttributeError, ZeroDivisionError) as error:
        text = str(error).split("\n")[0].split(", but expected")[0].replace("minigrad", "torch")
        return (type(error).__name__, text), None
    return ((str(made.dtype), tuple(made.shape)), made.tolist()) if hasattr(made, "tolist") else (repr(made), None)


def near(a, b):
    """Whether values are equal up to the rounding of float16."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 2e-3 * max(1, abs(a))
    return a == b


@pytest.mark.parametrize("name", OPS)
def test_every_pair(torch, name):
    theirs, ours, wrong = operands(torch), operands(minigrad), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pair in itertools.product(theirs, theirs):
            if pair[0] in NUMBERS and pair[1] in NUMBERS and name != "result_type":
                continue
            (seen, values), (seen_here, values_here) = (
                ending(m, OPS[name], made[pair[0]], made[pair[1]]) for m, made in ((torch, theirs), (minigrad, ours)))
            if name in IN_PLACE and seen[0] in ERRORS and seen_here[0] in ERRORS:
                continue  # where neither shape nor dtype is right: which one is named first is nobody's promise
            if seen != seen_here or not (values is None or near(values, values_here)):
                wrong[pair] = f"PyTorch {seen} {values}, minigrad {seen_here} {values_here}"
    known = DIFFER.get(name, set())
    lines = [f"{pair}: {text}" for pair, text in wrong.items() if pair not in known]
    assert not lines, "\n".join(lines[:6])
    assert known <= wrong.keys(), "these agree by now"


@pytest.mark.parametrize("which", [0, 1])
def test_backward_through_atan2_of_bools(torch, which):
    """The gradient of the second operand is made of minus the first, which bools do not have."""
    def run(lib):
        operands = [lib.tensor([0.5, 2.0], requires_grad=True), lib.tensor([True, False])]
        lib.atan2(*(operands if which else operands[::-1])).sum().backward()
        return operands[0].grad

    assert outcome(run, minigrad) == outcome(run, torch)
