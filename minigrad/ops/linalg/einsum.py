"""`einsum`: sums of products, by labelled dimensions. Mirrors `einsum` of PyTorch's Linear.cpp.

Each operand is first given all dimensions, in one order (those of the result, then those to sum). Then, from the left,
two operands at a time are multiplied and summed by one `bmm`. The graph shows these steps.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from minigrad._base.type_name import type_name
from minigrad.core import Tensor
from minigrad.ops._dispatch import op
from minigrad.ops.linalg.matmul import bmm
from minigrad.ops.pointwise.mul import Mul
from minigrad.ops.reduce.sums import sum as summed
from minigrad.ops.shape.diagonal import diagonal
from minigrad.ops.shape.views import Permute, Unsqueeze, View, movedim, reshape

__all__ = ["einsum"]

# in the order of the dimensions of an implicit result; the form with lists uses their indices
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS = "."
NOTHING = ("einsum(): must specify the equation string and at least one operand, or at least one operand and its "
           "subscripts list")


@op
def einsum(*args: Any) -> Tensor:
    """The sum of products described by an equation: `einsum("ij,jk->ik", a, b)` is `a @ b`.

    The other form has lists of numbers instead of letters: `einsum(a, [0, 1], b, [1, 2], [0, 2])`. Raises RuntimeError
    if the equation does not fit the operands; the message says where, and ValueError if arguments are missing, or a
    number in a list is not in [0, 52).
    """
    if len(args) < 2:
        raise ValueError(NOTHING)
    equation, operands = from_lists(args) if isinstance(args[0], Tensor) else (args[0], args[1:])
    if not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return einsum(equation, *operands[0])
    inputs, out, spread = parsed(equation, operands)
    check_sizes(inputs, operands, spread)
    order = out + [c for c in ELLIPSIS + LETTERS if c not in out and any(c in labels for labels in inputs)]
    position, ndim = {}, 0
    for c in order:
        position[c] = ndim
        ndim += spread if c == ELLIPSIS else 1
    aligned = [with_all_dims(v, labels, position, ndim, spread) for v, labels in zip(operands, inputs, strict=True)]
    return contracted(aligned, sum([spread if c == ELLIPSIS else 1 for c in out]))


def from_lists(args: Sequence[Any]) -> tuple[str, Sequence[Tensor]]:
    """The equation and the operands of the form with lists."""
    parts = [letters_of(labels) for labels in (*args[1::2], *args[-1:][:len(args) % 2])]
    equation = ",".join(parts[:len(args) // 2]) + ("->" + parts[-1] if len(args) % 2 else "")
    return equation, args[:len(args) - len(args) % 2:2]


def letters_of(labels: Sequence[Any]) -> str:
    if any(n is not Ellipsis and not 0 <= n < len(LETTERS) for n in labels):
        raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join(["..." if n is Ellipsis else LETTERS[n] for n in labels])


def parsed(equation: str, operands: Sequence[Tensor]) -> tuple[list[str], list[str], int]:
    """The labels of each operand, those of the result, and the number of dimensions an ellipsis stands for.

    An ellipsis is one label, `.`. Raises PyTorch's errors for an invalid equation of these operands.
    """
    head, arrow, tail = equation.partition("->")
    inputs, start = [], 0
    for i, part in enumerate(head.split(",")):
        if i >= len(operands):
            raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
        inputs.append(labels_of(part, start, f"operand {i}", "that is not part of any ellipsis",
                                "for which an ellipsis was already found"))
        start += len(part) + 1
    if len(inputs) < len(operands):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    spread = max([width(v, labels, i) for i, (v, labels) in enumerate(zip(operands, inputs, strict=True))])
    if not arrow:
        once = "".join(inputs)
        return inputs, [c for c in ELLIPSIS + LETTERS if once.count(c) == 1 or c == ELLIPSIS in once], spread
    out = labels_of(tail, len(head) + 2, "output", "that is not part of any ellipsis (...)",
                    "but an ellipsis (...) was already found")
    for c in out.replace(ELLIPSIS, ""):
        if out.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if not any(c in labels for labels in inputs):
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")
    return inputs, list(out), spread


def labels_of(part: str, start: int, whose: str, stray: str, second: str) -> str:
    """The labels in the part of an equation from `start` on; `stray` and `second` end the errors for a dot."""
    labels = ""
    for token in re.finditer(r"\.\.\.|[^ ]", part):
        text = token[0]
        if text[0] == ELLIPSIS and ELLIPSIS in labels:
            raise RuntimeError(f"einsum(): found '.' for {whose} {second}")
        if text == ELLIPSIS:
            raise RuntimeError(f"einsum(): found '.' for {whose} {stray}")
        if text not in LETTERS and text != "...":
            raise RuntimeError(f"einsum(): invalid subscript given at index {start + token.start()} in the equation "
                               "string, subscripts must be in [a-zA-Z]")
        labels += text[0]
    return labels


def width(operand: Tensor, labels: str, i: int) -> int:
    """The number of dimensions an operand's ellipsis stands for; PyTorch's error if the labels do not fit."""
    ndim, named = operand.array.ndim, len(labels.replace(ELLIPSIS, ""))
    if ELLIPSIS in labels and named <= ndim:
        return ndim - named
    if named != ndim:
        what = "is more than" if ELLIPSIS in labels else "does not match"
        end = "" if ELLIPSIS in labels else " and no ellipsis was given"
        raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) {what} the number of "
                           f"dimensions ({ndim}) for operand {i}{end}")
    return 0


def check_sizes(inputs: Sequence[str], operands: Sequence[Tensor], spread: int) -> None:
    seen: dict[Any, int] = {}
    for i, (labels, operand) in enumerate(zip(inputs, operands, strict=True)):
        shape = operand.array.shape
        mine = len(shape) - len(labels.replace(ELLIPSIS, ""))
        dims: list[Any] = []
        for c in labels:
            dims += [(spread - mine + k,) for k in range(mine)] if c == ELLIPSIS else [c]
        for dim, (c, n) in enumerate(zip(dims, shape, strict=True)):
            if n != 1 and seen.setdefault(c, n) != n:
                if isinstance(c, tuple):
                    raise RuntimeError(f"einsum(): dimension {dim} covered by ellipsis in operand {i}has size {n} "
                                       "which does not broadcast with previously seen ellipsis with size "
                                       f"{seen[c]} for the respective dimension")
                if dims.index(c) == dim:
                    raise RuntimeError(f"einsum(): subscript {c} has size {n} for operand {i} which does not broadcast "
                                       f"with previously seen size {seen[c]}")
            if shape[dims.index(c)] != n:
                raise RuntimeError(f"einsum(): subscript {c} is repeated for operand {i} but the sizes don't match, "
                                   f"{n} != {shape[dims.index(c)]}")


def with_all_dims(v: Tensor, labels: str, position: dict[str, int], ndim: int, spread: int) -> Tensor:
    """An operand with a dimension for each label of the equation, in the common order; diagonals for repeated ones."""
    order = [-1] * ndim
    found: dict[str, int] = {}
    missing = spread - (v.array.ndim - len(labels.replace(ELLIPSIS, "")))
    j = 0
    for c in labels:
        if c == ELLIPSIS:
            for _ in range(missing):
                v = Unsqueeze.forward(v, j)
            for k in range(spread):
                order[position[c] + k], j = j, j + 1
        elif c in found:
            v = movedim(diagonal(v, 0, found[c], j), -1, found[c])
        else:
            found[c] = order[position[c]] = j
            j += 1
    for i, dim in enumerate(order):
        if dim < 0:
            v = Unsqueeze.forward(v, v.array.ndim)
            order[i], j = j, j + 1
    return Permute.forward(v, tuple(order))


def contracted(operands: list[Tensor], kept: int) -> Tensor:
    """The product of operands that have all dimensions, summed over those after the first `kept`."""
    ndim, several = operands[0].array.ndim, len(operands) > 1
    counts = [sum([v.array.shape[dim] != 1 for v in operands]) for dim in range(ndim)]
    while len(operands) > 1:
        a, b, *rest = operands
        both: list[int] = []
        over: tuple[list[int], list[int]] = [], []
        for dim in range(kept, ndim):
            wide = a.array.shape[dim] != 1, b.array.shape[dim] != 1
            if all(wide):
                counts[dim] -= 1
                if counts[dim] == 1:
                    both.append(dim)
            elif counts[dim] == 1 and any(wide):
                over[wide.index(True)].append(dim)
                counts[dim] = 0
        a, b = [summed(v, dims, keepdim=True) if dims else v for v, dims in zip((a, b), over, strict=True)]
        for dim in both:
            counts[dim] = 0
        operands = [product_summed(a, b, both), *rest]
    (result,) = operands
    if ndim == kept:
        return result
    if several:
        return View.forward(result, result.array.shape[:kept])
    return summed(result, tuple(range(kept, ndim)))


def product_summed(a: Tensor, b: Tensor, over: Sequence[int]) -> Tensor:
    """The product of two tensors, broadcast, summed over dimensions (which are kept) that neither has with size 1."""
    if not over:
        return Mul.forward(a, b)
    x, y = a.array.shape, b.array.shape
    free = [dim for dim in range(len(x)) if dim not in over]
    shared = [dim for dim in free if x[dim] != 1 and y[dim] != 1]
    left = [dim for dim in free if dim not in shared and x[dim] != 1]
    right = [dim for dim in free if dim not in shared and dim not in left]
    batch, rows, inside, columns = [math.prod([shape[dim] for dim in dims]) for shape, dims in
                                    ((x, shared), (x, left), (x, over), (y, right))]
    u = reshape(Permute.forward(a, (*shared, *left, *over, *right)), (batch, rows, inside))
    w = reshape(Permute.forward(b, (*shared, *over, *right, *left)), (batch, inside, columns))
    out = [*[x[dim] for dim in (*shared, *left)], *[1 for _ in over], *[y[dim] for dim in right]]
    order = [*shared, *left, *over, *right]
    return Permute.forward(View.forward(bmm(u, w), tuple(out)), tuple([order.index(i) for i in range(len(x))]))
