"""`depends`: which elements of an output depend on which elements of an input, as their recorded graph says.

NOTE (what counts). A backward pass from one element of the output, or from a sum of some with random weights, reaches
the elements that it depends on: those whose gradient is not exactly 0. A mask gives exactly 0, whether it fills or adds
-inf. So does a relu below 0, or an entry that is not the maximum: what depends on nothing at this point is not counted.
The weights are random so that gradients that add up to 0, as through a softmax or a LayerNorm, do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad_widgets.doctor.card import styled
from minigrad_widgets.doctor.library import is_tensor, library_of

__all__ = ["Dependence", "depends"]

MOST = 4096  # backward passes
CELLS = 64  # rows and columns of a picture; of more, several are one


class Dependence:
    """Which elements of an output depend on which elements of an input.

    `table` is an array of bools, whose shape is the sizes of `dims`, the dimensions of the output that are told apart,
    and then the input's shape: `table[i, j, k, l]` is whether `output[i, j]` depends on `input[k, l]`.
    """

    def __init__(self, table: np.ndarray[Any, Any], dims: tuple[int, ...], shapes: tuple[tuple[int, ...], ...]) -> None:
        self.table, self.dims, self.shapes = table, dims, shapes

    def matrix(self, output_dim: int = 0, input_dim: int | None = None) -> np.ndarray[Any, Any]:
        """Return whether anything at each place along a dimension of the output depends on anything at each place
        along one of the input, by default the same: an array of bools of shape (output size, input size).

        Raises:
            ValueError: if the output or the input has no such dimension, or this one of the output was not told apart.
        """
        shape, given = self.shapes
        row = checked(output_dim, len(shape), "output")
        column = checked(output_dim if input_dim is None else input_dim, len(given), "input")
        if row not in self.dims:
            raise ValueError(f"dimension {output_dim} of the output was not told apart: name it in dims")
        kept = (self.dims.index(row), len(self.dims) + column)
        return np.asarray(self.table.any(tuple(i for i in range(self.table.ndim) if i not in kept)))

    def mixes(self, output_dim: int = 0, input_dim: int | None = None) -> list[tuple[int, int]]:
        """Return the pairs (i, j), i not j, where output i depends on input j: for examples of a batch, its leaks."""
        found = np.argwhere(self.matrix(output_dim, input_dim))
        return [(int(i), int(j)) for i, j in found if i != j]

    def is_causal(self, output_dim: int = 1, input_dim: int | None = None) -> bool:
        """Return whether no output depends on an input that comes after it along a dimension."""
        return not np.triu(self.matrix(output_dim, input_dim), 1).any()

    def field(self, output_dim: int = -1, input_dim: int | None = None) -> list[tuple[int, int] | None]:
        """Return the receptive field of each place along a dimension of the output: the first and the last place of
        the input that it depends on; None where it depends on none."""
        return [(int(np.flatnonzero(row)[0]), int(np.flatnonzero(row)[-1])) if row.any() else None
                for row in self.matrix(output_dim, input_dim)]

    def text(self, output_dim: int = 0, input_dim: int | None = None) -> str:
        """Return the matrix as text: a line for each place of the output, # where it depends on that of the input."""
        matrix, step = coarse(self.matrix(output_dim, input_dim))
        lines = [f"{i * step[0]:>5} {''.join('#' if each else '.' for each in row)}" for i, row in enumerate(matrix)]
        return "\n".join([self.title(output_dim, input_dim, step), *lines])

    def html(self, output_dim: int = 0, input_dim: int | None = None) -> str:
        """Return the matrix as a picture: a row for each place of the output, a column for each of the input."""
        matrix, step = coarse(self.matrix(output_dim, input_dim))
        rows, columns = matrix.shape
        side = 14 if max(rows, columns) <= 24 else 7
        cells = "".join(f"<rect x='{j * side + 34}' y='{i * side + 18}' width='{side - 1}' height='{side - 1}' "
                        f"fill='var({'--mgd-bar' if matrix[i, j] else '--mgd-bg2'})'><title>output {i * step[0]}, "
                        f"input {j * step[1]}</title></rect>" for i in range(rows) for j in range(columns))
        every = max(1, math.ceil(30 / side))
        marks = "".join(f"<text x='30' y='{i * side + side + 15}' text-anchor='end'>{i * step[0]}</text>"
                        for i in range(0, rows, every))
        marks += "".join(f"<text x='{j * side + 34}' y='13'>{j * step[1]}</text>" for j in range(0, columns, every))
        return styled(f"<p>{self.title(output_dim, input_dim, step)}</p><svg role='img' "
                      f"aria-label='which output depends on which input' width='{columns * side + 40}' "
                      f"height='{rows * side + 22}' font-size='10' fill='var(--mgd-ink)'>{cells}{marks}</svg>")

    def title(self, output_dim: int, input_dim: int | None, step: tuple[int, int]) -> str:
        """What a picture shows."""
        column = output_dim if input_dim is None else input_dim
        several = "" if step == (1, 1) else f" A mark stands for {step[0]} by {step[1]} places."
        return (f"Rows: dimension {output_dim} of an output of shape {self.shapes[0]}. Columns: dimension {column} of "
                f"the input, of shape {self.shapes[1]}.{several}")

    def __str__(self) -> str:
        return self.text(self.dims[0] if self.dims else 0) if self.shapes[1] else f"{bool(self.table.any())}"

    def _repr_html_(self) -> str:
        """In a notebook: a picture for each dimension that both have and that is told apart."""
        return "".join(self.html(dim) for dim in self.dims if dim < len(self.shapes[1]))


def depends(output: Any, *inputs: Any, dims: Sequence[int] | None = None) -> Any:
    """Return which elements of an output depend on which elements of inputs, as their recorded graph says: a
    `Dependence` for one input, a tuple of them for several.

    assert depends(model(x), x).is_causal(1)      # (batch, time, …): no step sees a later one
    assert not depends(model(x), x).mixes(0)      # no example sees another
    depends(conv(x), x, dims=[2]).field(2)        # receptive fields

    It runs a backward pass for each index of `dims`, the dimensions of the output that are told apart, by default all:
    name those that you ask about if the output is large. Nothing is accumulated in `.grad`, and the graph is kept;
    hooks in it run.

    Raises:
        TypeError: if something is not a tensor, or no input is given.
        ValueError: if the output has no graph, an input does not require grad, or it would take over 4,096 passes.
    """
    if not inputs or not all(map(is_tensor, (output, *inputs))):
        raise TypeError("depends takes an output and at least one input, all of them tensors")
    if output.grad_fn is None:
        raise ValueError("the output has no graph: no input that requires grad went into it, or it was detached")
    for number, each in enumerate(inputs):
        if not each.requires_grad:
            raise ValueError(f"input {number} does not require grad, so the graph does not hold it. Call "
                             "x.requires_grad_() before computing the output; for integers, such as tokens, give what "
                             "their embedding returned")
    shape = tuple(output.shape)
    kept = tuple(checked(dim, len(shape), "output") for dim in (range(len(shape)) if dims is None else dims))
    sizes = tuple(shape[dim] for dim in kept)
    if math.prod(sizes) > MOST:
        raise ValueError(f"an output of shape {shape} would take {math.prod(sizes):,} backward passes. Name the "
                         f"dimensions to tell apart, such as dims=[1]; their sizes may multiply to {MOST:,}")
    tables = reached(output, inputs, kept, sizes)
    found = tuple(Dependence(table, kept, (shape, tuple(x.shape))) for table, x in zip(tables, inputs))
    return found[0] if len(inputs) == 1 else found


def reached(output: Any, inputs: Sequence[Any], kept: tuple[int, ...], sizes: tuple[int, ...]) -> list[Any]:
    """Return for each input what a pass from each index of the kept dimensions reaches (NOTE (what counts))."""
    library = library_of([output])
    weights = np.random.default_rng(0).uniform(0.5, 1.5, tuple(output.shape))
    tables = [np.zeros((*sizes, *x.shape), bool) for x in inputs]
    for index in np.ndindex(*sizes):
        seed = np.zeros_like(weights)
        place: list[Any] = [slice(None)] * weights.ndim
        for dim, i in zip(kept, index):
            place[dim] = i
        seed[tuple(place)] = weights[tuple(place)]
        gradient = library.package.as_tensor(seed).to(output)
        found = library.package.autograd.grad(output, inputs, gradient, retain_graph=True, allow_unused=True)
        for table, each in zip(tables, found):
            if each is not None:
                table[index] = library.array(each) != 0  # a NaN has been reached, too
    return tables


def checked(dim: int, count: int, whose: str) -> int:
    """Return a dimension's number, counted from 0."""
    if not -count <= dim < count:
        raise ValueError(f"the {whose} has {count} dimensions, and none has the number {dim}")
    return dim % count


def coarse(matrix: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], tuple[int, int]]:
    """Return a matrix of at most `CELLS` rows and columns, in which a cell stands for several, and for how many."""
    step = (max(1, math.ceil(matrix.shape[0] / CELLS)), max(1, math.ceil(matrix.shape[1] / CELLS)))
    for axis in (0, 1):
        starts = np.arange(0, matrix.shape[axis], step[axis])
        matrix = np.logical_or.reduceat(matrix, starts, axis) if len(starts) else matrix
    return matrix, step
