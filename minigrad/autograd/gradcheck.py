"""Checking a derivative against finite differences: mirrors `torch/autograd/gradcheck.py`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad._tensor import Tensor, owned
from minigrad.autograd._api import grad
from minigrad.autograd.grad_mode import no_grad
from minigrad.ops.create import zeros_like

__all__ = ["GradcheckError", "gradcheck"]


class GradcheckError(RuntimeError):
    """What `gradcheck` raises when the two derivatives differ."""


def gradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True) -> bool:
    """Whether the gradients of `func` agree with central differences, (f(x + eps) - f(x - eps)) / 2 eps.

    `inputs`: what `func` is called with; the tensors that require grad are checked, and should be float64. Both
    Jacobians are compared entry by entry: |a - n| <= atol + rtol * |n|.

    Raises:
        ValueError: if no input requires grad.
        GradcheckError: if a pair differs, unless `raise_exception=False`, then the answer is False.
    """
    args = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                         "requires_grad=True.")
    for index, a in enumerate(args):
        if isinstance(a, Tensor) and a.requires_grad and a.array.dtype != np.float64:
            warnings.warn(f"Input #{index} requires gradient and is not a double precision floating point or complex. "
                          "This check will likely fail if all the inputs are not of double precision floating point "
                          "or complex. ", UserWarning, stacklevel=2)
    outputs = _outputs(func, args)
    for i, output in enumerate(outputs):
        for j, x in enumerate(checked):
            analytical = _analytical(output, x)
            numerical = _numerical(func, args, x, i, eps)
            if not np.allclose(analytical, numerical, rtol, atol):
                if not raise_exception:
                    return False
                raise GradcheckError(f"Jacobian mismatch for output {i} with respect to input {j},\n"
                                     f"numerical:{numerical}\nanalytical:{analytical}\n")
    return True


def _outputs(func: Callable[..., Any], args: Sequence[Any]) -> list[Tensor]:
    found = func(*args)
    many = found if isinstance(found, (tuple, list)) else (found,)
    return [o for o in many if isinstance(o, Tensor) and o.requires_grad]


def _analytical(output: Tensor, x: Tensor) -> Any:
    """The Jacobian of one output by one input, shape (inputs, outputs), a backward pass per column."""
    columns = np.zeros((x.numel(), output.numel()))
    for k in range(output.numel()):
        vector = zeros_like(output)
        owned(vector).reshape(-1)[k] = 1
        (found,) = grad(output, x, vector, retain_graph=True, allow_unused=True)
        if found is not None:
            columns[:, k] = found.array.reshape(-1)
    return columns


def _numerical(func: Callable[..., Any], args: Sequence[Any], x: Tensor, index: int, eps: float) -> Any:
    """The same by central differences."""
    rows = np.zeros((x.numel(), 0))
    flat = owned(x).reshape(-1)
    for k in range(x.numel()):
        before = flat[k]
        ends = []
        for step in (eps, -eps):
            flat[k] = before + step
            with no_grad():
                found = func(*args)
            many = found if isinstance(found, (tuple, list)) else (found,)
            tensors = [o for o in many if isinstance(o, Tensor) and o.array.dtype.kind == "f"]
            ends.append(np.array(tensors[index].array, np.float64).reshape(-1))
        flat[k] = before
        row = (ends[0] - ends[1]) / (2 * eps)
        rows = np.zeros((x.numel(), row.size)) if rows.size == 0 else rows
        rows[k] = row
    return rows
