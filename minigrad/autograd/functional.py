"""Computes Jacobians, Hessians and products with them. Mirrors `torch/autograd/functional.py`.

`jacobian` and `hessian` return whole matrices; `vjp`, `jvp`, `vhp` and `hvp` multiply them by a vector without making
them. All six are built from one step, `pull`: a backward pass, v J, which pulls a vector at the outputs back to the
inputs. J v goes the other way, which backward passes cannot; but u J is linear in u, so its own derivative with respect
to u, by a second pull, is J. The value of u does not matter: zeros will do (`linear`).

With `vectorize=True` all rows are one pass, of a batch of unit vectors; with `strategy="forward-mode"` all columns are
one run of the function in forward mode.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.autograd._api import batched, grad
from minigrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from minigrad.autograd.grad_mode import enable_grad
from minigrad.backends.numpy import XP
from minigrad.core import Tensor, plain
from minigrad.history.views import host_or_device
from minigrad.ops.factory import zeros_like
from minigrad.ops.shape.join import stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]
Found = Sequence[Tensor | None]  # what a pass found: None for a tensor not involved in it

# PyTorch's messages, word for word.
OUTPUTS = "outputs of the user-provided function"
NO_VECTOR = "The vector v can only be None if the {} a single Tensor with a single element."
ONE_INPUT = NO_VECTOR.format("input to the user-provided function is")
ONE_OUTPUT = NO_VECTOR.format("user-provided function returns")

# of strict mode; {} is the number of an input or output
INDEPENDENT = ("The output of the user-provided function is independent of input {}. This is not allowed in strict "
               "mode.")
OUTPUT_CONSTANT = ("Output {} of the user-provided function does not require gradients. The outputs must be computed "
                   "in a differentiable manner from the input when running in strict mode.")
GRADIENT_CONSTANT = ("The gradient with respect to input {} is independent of the inputs of the user-provided function."
                     " This is not allowed in strict mode.")
JACOBIAN_CONSTANT = ("While computing the hessian, found that the jacobian of the user-provided function with respect "
                     "to input {} is independent of the input. This is not allowed in strict mode. You should ensure "
                     "that your function is twice differentiable and that the jacobian depends on the inputs (this "
                     "would be violated by a linear function for example).")
ENTRY = "Output {} of the user-provided function is independent of input {}. This is not allowed in strict mode."
NOT_IN_JACOBIAN = ("The jacobian of the user-provided function is independent of input {}. This is not allowed in "
                   "strict mode.")
NOT_IN_GRADIENT = ("The gradient with respect to the input is independent of entry {} in the grad_outputs when using "
                   "the double backward trick to compute forward mode gradients. This is not allowed in strict mode.")
NOT_IN_HESSIAN = ("The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is "
                  "not allowed in strict mode as it prevents from using the double backward trick to replace forward "
                  "mode AD.")
NO_GRAPH = ("The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
            "create_graph=True.")

# of strategies
STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
STRATEGY_HINT = (' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. '
                 'Otherwise, prefer to use "reverse-mode".')
NOT_FORWARD = ("torch.autograd.functional.jacobian: `{0}=True` and `strategy=\"forward-mode\"` are not supported "
               'together (yet). Please either set `{0}=False` or `strategy="reverse-mode"`.')
FORWARD_LOOP = ("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                "`vectorize=True`.")
STRICT_VECTORIZED = ("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                     "together. Please either set `strict=False` or `vectorize=False`.")


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """Return the outputs of `func(*inputs)`, and v J: a vector `v`, of the outputs' shapes, times the Jacobian.

    `inputs`: a tensor or a tuple of tensors; the product has that form too. `v` may be omitted for a single output of
    one element. `create_graph`: keep the graph of both results. `strict`: refuse an input that no output depends on,
    where the product would be zeros. Raises TypeError if `inputs`, `v` or the outputs are neither a tensor nor a tuple
    of tensors, and RuntimeError if `v` does not have the outputs' shapes; with `strict`, as above.
    """
    with enable_grad():
        many_inputs, inputs = fresh(inputs, "inputs", "vjp", create_graph)
        many_outputs, outputs = called(func, inputs, "vjp", strict)
        v = vector(v, outputs, many_outputs, "vjp", create_graph, ONE_OUTPUT)
    found = pull(outputs, inputs, v, create_graph)
    product = filled(found, inputs, strict, create_graph, INDEPENDENT, "jacobian")
    return finished(outputs, many_outputs, create_graph), finished(product, many_inputs, create_graph)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """Return the outputs of `func(*inputs)`, and J v: the Jacobian times a vector `v`, of the inputs' shapes.

    The product has the outputs' form. The other arguments, and the errors, are those of `vjp`.
    """
    with enable_grad():
        many_inputs, inputs = fresh(inputs, "inputs", "jvp", create_graph)
        v = vector(v, inputs, many_inputs, "jvp", create_graph, ONE_INPUT)
        many_outputs, outputs = called(func, inputs, "jvp", strict)
        zeros, pulled = linear(outputs, inputs, outputs)
        check(pulled, strict, GRADIENT_CONSTANT)
    found = pull(pulled, zeros, v, create_graph)
    product = filled(found, outputs, strict, create_graph, NOT_IN_GRADIENT, "jacobian")
    return finished(outputs, many_outputs, create_graph), finished(product, many_outputs, create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """Return the output of `func(*inputs)`, one element, and v H: `v`, of the inputs' shapes, times the Hessian.

    The product has the inputs' form. The other arguments, and the errors, are those of `vjp`.
    """
    with enable_grad():
        many, inputs, v, outputs, jac = gradient_of(func, inputs, v, "vhp", create_graph, strict)
    found = pull(jac, inputs, v, create_graph)
    product = filled(found, inputs, strict, create_graph, NOT_IN_JACOBIAN, "hessian")
    return finished(outputs, False, create_graph), finished(product, many, create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False,
        strict: bool = False) -> tuple[Any, Any]:
    """Return the output of `func(*inputs)`, one element, and H v: the Hessian times `v`, of the inputs' shapes.

    One pass more than `vhp`, which returns the same where second derivatives are continuous: H is symmetric then.
    """
    with enable_grad():
        many, inputs, v, outputs, jac = gradient_of(func, inputs, v, "hvp", create_graph, strict)
        zeros, pulled = linear(jac, inputs, inputs)
    found = pull(pulled, zeros, v, create_graph)
    product = filled(found, inputs, strict, create_graph, NOT_IN_HESSIAN, "hessian")
    return finished(outputs, False, create_graph), finished(product, many, create_graph)


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False, strategy: str = "reverse-mode") -> Any:
    """Return all derivatives of all outputs of `func(*inputs)` with respect to all inputs.

    For one output and one input this is a tensor whose shape is the output's, then the input's. A tuple of inputs or
    outputs makes a tuple: `jacobian[i][j]` is that of output i with respect to input j. `create_graph`: keep the graph
    of the result. `strict`: refuse an input that an output does not depend on, where the result would be zeros.
    `strategy="forward-mode"` (with `vectorize=True`): work by columns instead of rows.

    Raises:
        TypeError: if `inputs` or the outputs are neither a tensor nor a tuple of tensors.
        RuntimeError: with `strict`, as above; if it is combined with `vectorize` or with forward mode.
        NotImplementedError: for forward mode with `create_graph`, or without `vectorize`.
        AssertionError: for any other `strategy`.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(STRATEGY + STRATEGY_HINT)
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(NOT_FORWARD.format("create_graph"))
        if strict:
            raise RuntimeError(NOT_FORWARD.format("strict"))
        return by_columns(func, inputs, vectorize)
    with enable_grad():
        many_inputs, inputs = fresh(inputs, "inputs", "jacobian", create_graph)
        many_outputs, outputs = called(func, inputs, "jacobian", strict)
        if vectorize and strict:
            raise RuntimeError(STRICT_VECTORIZED)
        if vectorize:
            blocks = by_rows_of_all(outputs, inputs, create_graph)
        else:
            blocks = tuple([by_rows(i, output, inputs, strict, create_graph) for i, output in enumerate(outputs)])
        return nested(detached(blocks, create_graph), many_outputs, many_inputs)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False, outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """Return all second derivatives of `func(*inputs)`, which returns one element: the Jacobian of its Jacobian.

    For one input this is a tensor whose shape is the input's, twice. A tuple of inputs makes a tuple of tuples:
    `hessian[i][j]` is for inputs i and j. The other arguments, and the errors, are those of `jacobian`.
    """
    many, inputs = tensors_of(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(STRATEGY)

    def gradient(*inputs: Tensor) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            inputs = tuple([x.requires_grad_() for x in inputs])  # else `fresh` would detach them from their tangents
        found = jacobian(lambda *inputs: scalar(func(*inputs), "hessian", strict)[0].squeeze(), inputs,
                         create_graph=True)
        check(found, strict, JACOBIAN_CONSTANT)
        return found

    return nested(jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy), many, many)


# passes

def pull(outputs: Found, inputs: Tensors, v: Found | None, create_graph: bool,
         retain_graph: bool | None = None, *, is_batch: bool = False) -> Found:
    """Compute v J by one backward pass; outputs that do not require grad are left out. No `v` means ones; it may be a
    batch of vectors."""
    given = (None,) * len(outputs) if v is None else v
    pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    roots, vectors = zip(*pairs, strict=True)
    return grad(roots, inputs, vectors, retain_graph, create_graph, allow_unused=True, is_grads_batched=is_batch)


def linear(outputs: Found, inputs: Tensors, like: Tensors) -> tuple[Tensors, Found]:
    """Return zeros u, like the outputs, and u J. Pulling a vector v, like the inputs, from u J to u computes J v."""
    zeros = tuple([zeros_like(t, requires_grad=True) for t in like])
    return zeros, pull(outputs, inputs, zeros, create_graph=True)


def by_rows(i: int, output: Tensor, inputs: Tensors, strict: bool, create_graph: bool) -> Tensors:
    """Return the Jacobian of output number `i` for each input: a backward pass per element of the output."""
    rows = []
    flat = output.reshape(-1)
    for k in range(flat.numel()):
        found = pull((flat[k],), inputs, None, create_graph, retain_graph=True)
        for j, g in enumerate(found):
            if strict and g is None:
                raise RuntimeError(ENTRY.format(i, j))
            if strict and create_graph and g is not None and not g.requires_grad:
                raise RuntimeError(NO_GRAPH.format("jacobian", i))
        rows.append([zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)])
    return tuple([stack([row[j] for row in rows]).view((*output.shape, *x.shape)) for j, x in enumerate(inputs)])


def by_rows_of_all(outputs: Tensors, inputs: Tensors, create_graph: bool) -> tuple[Tensors, ...]:
    """`by_rows` for all outputs together, as with `vectorize`: one pass for each input, which is split."""
    sizes = [output.numel() for output in outputs]
    rows = pull(outputs, inputs, unit_vectors(outputs), create_graph, is_batch=True)
    parts = [(zeros_like(x).expand(sum(sizes), *x.shape) if row is None else row).split(sizes)
             for row, x in zip(rows, inputs, strict=True)]
    return tuple([tuple([part[i].view((*output.shape, *x.shape)) for part, x in zip(parts, inputs, strict=True)])
                  for i, output in enumerate(outputs)])


def by_columns(func: Callable[..., Any], inputs: Any, vectorize: bool) -> Any:
    """Return the Jacobian by one run in forward mode, for all directions together; in lists, as in PyTorch."""
    many_inputs, inputs = tensors_of(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(FORWARD_LOOP)
    form: list[Any] = []

    def pushed(directions: Sequence[Tensor], _: bool) -> list[Tensor]:
        with dual_level():
            duals = [make_dual(x, direction) for x, direction in zip(inputs, directions, strict=True)]
            many_outputs, outputs = tensors_of(func(*duals), "outputs", None)
            unpacked = [unpack_dual(output) for output in outputs]
            form[:] = many_outputs, [primal.shape for primal, _ in unpacked]
            return [zeros_like(primal) if tangent is None else tangent for primal, tangent in unpacked]

    units = unit_vectors(inputs)
    if len(units[0]):
        columns = batched(pushed, units)
    else:  # there are no directions, but the outputs tell their shapes
        columns = tuple([each.new_zeros((0, *each.shape)) for each in pushed([zeros_like(x) for x in inputs], True)])
    many_outputs, shapes = form
    blocks = []
    for column, shape in zip(columns, shapes, strict=True):
        parts = column.split([x.numel() for x in inputs])
        blocks.append([part.movedim(0, -1).reshape((*shape, *x.shape)) for part, x in zip(parts, inputs, strict=True)])
    return nested(blocks, many_outputs, many_inputs)


def unit_vectors(like: Sequence[Tensor]) -> list[Tensor]:
    """Return the unit vectors of the space that some tensors make up: for each tensor one with its part of all of them
    along a new first dimension."""
    count, first, made = sum([x.numel() for x in like]), 0, []
    for x in like:
        handle = host_or_device(x.array)
        rows = XP.zeros((count, x.numel()), handle, x.array.dtype)
        each = np.arange(x.numel(), like=handle)
        rows[first + each, each] = 1
        first += x.numel()
        made.append(plain(rows.reshape((count, *x.shape))))
    return made


# inputs and outputs

def tensors_of(given: Any, what: str, where: str | None) -> tuple[bool, Tensors]:
    """Return whether `given` is a tuple, and the tensors in it."""
    many = isinstance(given, tuple)
    tensors = given if many else (given,)
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the "
                            f"{f'value at index {i}' if many else f'given {what}'} has type {type(tensor)}.")
    return many, tensors


def fresh(given: Any, what: str, where: str | None, create_graph: bool,
          need_graph: bool = True) -> tuple[bool, Tensors]:
    """As `tensors_of`, but with new tensors: in the graph of the old ones with `create_graph`, else leaves.

    Always new, so that a tensor that `func` takes from elsewhere is a constant, even if it is the input itself.
    """
    many, tensors = tensors_of(given, what, where)
    return many, tuple([t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph)
                        for t in tensors])


def vector(v: Any, like: Tensors, many: bool, where: str, create_graph: bool, unless: str) -> Tensors | None:
    """`v` checked against the tensors that it goes with; None may stand for 1 (`unless`: why it may not)."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(unless)
        return None
    _, vectors = fresh(v, "v", where, create_graph, need_graph=False)
    if len(vectors) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}." if many else
                           "The given v should contain a single Tensor.")
    for i, (one, other) in enumerate(zip(vectors, like, strict=True)):
        if one.shape != other.shape:
            raise RuntimeError(f"{f'Entry {i} in ' if many else ''}v has invalid size: should be {other.shape} but "
                               f"got {one.shape}.")
    return vectors


def called(func: Callable[..., Any], inputs: Tensors, where: str, strict: bool) -> tuple[bool, Tensors]:
    """Return what `func` returns for these inputs."""
    many, outputs = tensors_of(func(*inputs), OUTPUTS, where)
    check(outputs, strict, OUTPUT_CONSTANT)
    return many, outputs


def scalar(output: Any, where: str, strict: bool) -> Tensors:
    """Check that `func` returned one tensor of one element, and return it."""
    many, outputs = tensors_of(output, OUTPUTS, where)
    check(outputs, strict, OUTPUT_CONSTANT)
    if many:
        raise RuntimeError(f"The function given to {where} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {where} should contain a single element")
    return outputs


def gradient_of(func: Callable[..., Any], inputs: Any, v: Any, where: str, create_graph: bool,
                strict: bool) -> tuple[bool, Tensors, Tensors | None, Tensors, Found]:
    """Compute what `vhp` and `hvp` begin with: inputs, vector, output, and the gradient with its graph."""
    many, inputs = fresh(inputs, "inputs", where, create_graph)
    v = vector(v, inputs, many, where, create_graph, ONE_INPUT)
    outputs = scalar(func(*inputs), where, strict)
    jac = pull(outputs, inputs, None, create_graph=True)
    check(jac, strict, JACOBIAN_CONSTANT)
    return many, inputs, v, outputs, jac


def check(tensors: Found, strict: bool, constant: str) -> None:
    """In strict mode, raise an error unless all the tensors are there and require grad."""
    for i, tensor in enumerate(tensors if strict else ()):
        if tensor is None or not tensor.requires_grad:
            raise RuntimeError((INDEPENDENT if tensor is None else constant).format(i))


def filled(found: Found, like: Tensors, strict: bool = False, create_graph: bool = False, missing: str = "",
           what: str = "") -> Tensors:
    """What a pass found, with zeros where it found nothing; strict mode refuses those, and tensors without a graph."""
    for i, g in enumerate(found if strict else ()):
        if g is None:
            raise RuntimeError(missing.format(i))
        if create_graph and not g.requires_grad:
            raise RuntimeError(NO_GRAPH.format(what, i))
    return tuple([zeros_like(t) if g is None else g for g, t in zip(found, like, strict=True)])


def detached(parts: Any, create_graph: bool) -> Any:
    """Return tensors, in tuples, without their history, unless `create_graph` asks for it."""
    if create_graph:
        return parts
    return parts.detach() if isinstance(parts, Tensor) else tuple([detached(part, False) for part in parts])


def finished(tensors: Tensors, many: bool, create_graph: bool) -> Any:
    """Return results in the form of what the user passed: a tuple, or the one tensor in it."""
    result: Tensors = detached(tensors, create_graph)
    return result if many else result[0]


def nested(blocks: Any, many_rows: bool, many_columns: bool) -> Any:
    """Return a block matrix without those of its two levels where the user used no tuple."""
    if not many_columns:
        blocks = tuple([row[0] for row in blocks])
    return blocks if many_rows else blocks[0]
