"""Checks derivatives against finite differences. Mirrors `torch/autograd/gradcheck.py`.

`gradcheck(func, inputs)` checks whether the gradients from backward passes are those that one gets by moving each input
a little and comparing the outputs. Call it first when you write a `Function`; `gradgradcheck` does the same for the
derivative of the derivative. Besides the numbers it checks what is easily forgotten: that a second pass gives the same,
that `grad_output` was multiplied in, and that a backward copes with a missing gradient.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.autograd._api import batched, grad
from minigrad.autograd.forward_ad import dual_level, make_dual, unpack_dual
from minigrad.autograd.functional import unit_vectors
from minigrad.backends import draws
from minigrad.backends.registry import device_like, moved
from minigrad.core import Node, Tensor, materialized, plain, record1
from minigrad.ops.factory import zeros_like
from minigrad.ops.shape.join import stack

__all__ = ["GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian",
           "get_numerical_jacobian_wrt_specific_input", "gradcheck", "gradgradcheck"]

Tensors = tuple[Tensor, ...]

# PyTorch's messages, word for word.
NEITHER_MODE = "Expected at least one of check_forward_ad or check_backward_ad to be True"
NEITHER_ORDER = "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
REQUIRES = "Setting {}=True requires {} to be True"
LOW_PRECISION = (
    "Input #{} requires gradient and is not a double precision floating point or complex. This check will likely fail "
    "if all the inputs are not of double precision floating point or complex. "
)
OVERLAPPING = (
    "The {}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to be able "
    "to compute the numerical gradients correctly. You should call .contiguous on the input before passing it to "
    "gradcheck."
)
NOTHING_TO_CHECK = ("gradcheck expects at least one input tensor to require gradient, but none of them have "
                    "requires_grad=True.")

NO_OUTPUT = "gradgradcheck expects at least one output to require gradient, but none of them does."  # ours

# of numerical against analytical
PERTURBED = ("Expected `func` to return outputs with the same {0} when inputs are perturbed {1}by {2}, but got: {0}s "
             "{3} and {4}.")
NOT_ZERO = "Numerical gradient for function expected to be zero"
MISMATCH = "Jacobian mismatch for output {} with respect to input {},\nnumerical:{}\nanalytical:{}\n"
FORWARD_MISMATCH = MISMATCH.replace("mismatch", "computed with forward mode mismatch", 1)
IN_SLOW_MODE = (
    "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
    "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
    "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
    "Numerical:\n {}\nAnalytical:\n{}\n\n"
    "The max per-element difference (slow mode) is: {}.\n"
)
SLOW_IS_FINE = """\
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`"""

# of backward passes
NOT_REENTRANT = """\
Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different \
values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.

NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""
NOT_MULTIPLIED = "backward not multiplied by grad_output"
MAY_BREAK = (
    "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
    "existing callers of this function. If this is true for you, you can call this function with "
    '"check_undefined_grad=False" to disable the feature'
)
SEE_NOTES = 'Please look at "Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
UNDEFINED_FAILS = f"Expected backward function to handle undefined output grads. {SEE_NOTES}"
UNDEFINED_NOT_ZERO = ("Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                      f"{SEE_NOTES}")

# of batches
BATCHED = """\
gradcheck or gradgradcheck failed while testing batched gradient computation.
This could have been invoked in a number of ways (via a test that calls
gradcheck/gradgradcheck directly or via an autogenerated test).

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `check_batched_grad=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `check_batched_grad=False` and/or `check_batched_gradgrad=False`.

If you're modifying an existing operator that supports batched grad computation,
or wish to make a new operator work with batched grad computation, please read
the following.

To compute batched grads (e.g., jacobians, hessians), we vmap over the backward
computation. The most common failure case is if there is a 'vmap-incompatible
operation' in the backward pass. Please see
NOTE: [How to write vmap-compatible backward formulas]
in the codebase for an explanation of how to fix this."""
BATCHED_FORWARD = """
gradcheck failed while testing batched gradient computation with forward-mode AD.
This test is enabled automatically when both `check_batched_grad=True`
and `check_forward_ad=True`, but can be disabled in the following ways
dependong on how the test was invoked (via a test that calls gradcheck
directly or via an autogenerated test).

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `check_batched_forward_grad=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `check_batched_forward_grad=False`
"""  # PyTorch does not strip this one, and has its empty lines in the errors
BATCHED_RAISES = "While computing batched gradients, got: {}\n\n{}"
BATCHED_DIFFERS = "For output {} and input {}:\n\n{}\n\nGot:\n{}\n\nExpected:\n{}"

# of what is deprecated
DEPRECATED = (
    "`get_{0}_jacobian` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it "
    "will be removed in a future version of PyTorch. If you have a specific use for this or feature request for this "
    "to be a stable API, please file us an issue at https://github.com/pytorch/pytorch/issues/new"
)
NOT_ONE = "Expected grad_out to be 1.0. get_{0}_jacobian no longer supports values of grad_out != 1.0."


class GradcheckError(RuntimeError):
    """What `gradcheck` and `gradgradcheck` raise when a check fails."""


def gradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
              check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
              check_batched_forward_grad: bool = False, check_forward_ad: bool = False,
              check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Return whether the gradients of `func` agree with central differences, (f(x + eps) - f(x - eps)) / 2 eps.

    `inputs`: what `func` is called with. Those that require grad are checked; they should be float64. Both Jacobians
    are compared entry by entry: |a - n| <= atol + rtol * |n|. `raise_exception=False`: return False where a check
    fails. `nondet_tol`: by how much two passes may differ. `check_undefined_grad`: check that a backward treats a
    missing gradient as zeros. `check_batched_grad`: check that a batch of gradients, in one pass, gives the same as
    single ones, and `check_batched_forward_grad` that one of tangents does. `check_grad_dtypes`: nothing is left to
    check, since the engine casts gradients. `fast_mode`: compare one random combination of rows and columns instead of
    all. `masked`: `grad_output` of zeros may give almost zeros. `check_forward_ad`: compare the tangents of forward
    mode, and `check_backward_ad` the gradients. Raises GradcheckError if a check fails, ValueError if no input requires
    grad, RuntimeError if elements of an input share memory, AssertionError for arguments that exclude each other, or if
    a small step changes the shape or dtype of an output.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(NEITHER_MODE)
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(REQUIRES.format("check_batched_grad", "check_backward_ad"))
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(REQUIRES.format("check_batched_forward_grad", "check_forward_ad"))
    given = as_tuple(inputs)
    _check_inputs(given)
    try:
        check = Check(func, given, as_tuple(func(*given)), eps, atol, rtol, nondet_tol)
        if check_backward_ad:
            (check.fast if fast_mode else check.slow)()
        if check_forward_ad:
            check.forward()
        if check_batched_forward_grad:
            check.batched_forward()
        if not check_backward_ad:
            return True
        if check_batched_grad:
            check.batched()
        check.multiplied(bool(masked))
        if check_undefined_grad:
            check.undefined()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Tensor | Sequence[Any], grad_outputs: Any = None, *,
                  eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False,
                  raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_fwd_over_rev: bool = False,
                  check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False) -> bool:
    """Return whether second derivatives agree with differences of first ones: `gradcheck` of a backward pass.

    `grad_outputs`: the gradients of the outputs to start from, which are inputs of that function too; random numbers in
    [-1, 1) by default, not contiguous with `gen_non_contig_grad_outputs`. The rest is as in `gradcheck`. Raises
    ValueError if no output requires grad; otherwise as `gradcheck`. `check_fwd_over_rev`: compare the tangents of the
    gradients, and `check_rev_over_rev` their gradients.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(NEITHER_ORDER)
    for name, wanted in (("check_undefined_grad", check_undefined_grad), ("check_batched_grad", check_batched_grad)):
        if wanted and not check_rev_over_rev:
            raise AssertionError(REQUIRES.format(name, "check_rev_over_rev"))
    given = as_tuple(inputs)
    if grad_outputs is None:
        vectors = tuple([_random(output, gen_non_contig_grad_outputs) for output in _differentiable(func(*given))])
    else:
        vectors = as_tuple(grad_outputs)

    def first_derivative(*args: Any) -> Any:
        if not vectors:
            raise ValueError(NO_OUTPUT)
        outputs = _differentiable(func(*args[:len(given)]))
        wanted = _requiring_grad(args[:len(given)])
        found = grad(outputs, wanted, args[len(given):], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(first_derivative, given + vectors, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
                     nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad, fast_mode=fast_mode,
                     masked=masked, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev)


def get_numerical_jacobian(fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3,
                           grad_out: float = 1.0) -> tuple[Tensor, ...]:
    """Return the Jacobians of the first output of `fn(inputs)`, by differences, for each of `target` (None: `inputs`).

    Deprecated in PyTorch, like the next one; `numerical` is what both this and `gradcheck` use.
    """
    _deprecated("numerical", grad_out)
    given = as_tuple(inputs)
    first = as_tuple(fn(given))[0]
    return tuple([numerical(lambda *args: fn(args), given, x, {0: first}, eps)[0]
                  for x in _requiring_grad(given if target is None else as_tuple(target))])


def get_analytical_jacobian(inputs: Any, output: Tensor, nondet_tol: float = 0.0,
                            grad_out: float = 1.0) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Return the Jacobians of `output` by backward passes; whether a second pass agrees; that sizes and types fit."""
    _deprecated("analytical", grad_out)
    first, second = [analytical(output, _requiring_grad(as_tuple(inputs)), units(output)) for _ in range(2)]
    return tuple(first), _alike(first, second, nondet_tol), True, True


def get_numerical_jacobian_wrt_specific_input(fn: Callable[..., Any], input_idx: int, inputs: Sequence[Any],
                                              outputs: Sequence[Tensor], eps: float,
                                              input: Tensor | None = None) -> tuple[Tensor, ...]:
    """Return the Jacobians of all floating point outputs of `fn(*inputs)` for one input, by differences."""
    x = inputs[input_idx] if input is None else input
    if not x.requires_grad:
        raise AssertionError("Expected input to have requires_grad=True")
    return tuple(numerical(fn, inputs, x, _floating(outputs), eps))


class Check(NamedTuple):
    """The checks of one call: `found` is what `func` returned for `inputs`."""

    func: Callable[..., Any]
    inputs: tuple[Any, ...]
    found: tuple[Any, ...]
    eps: float
    atol: float
    rtol: float
    nondet_tol: float

    @property
    def outputs(self) -> dict[int, Tensor]:
        """The outputs that require grad, by their numbers."""
        return {i: o for i, o in enumerate(self.found) if o.requires_grad}

    @property
    def differentiable_inputs(self) -> tuple[Tensor, ...]:
        """The inputs that require grad."""
        return _requiring_grad(self.inputs)

    def slow(self) -> None:
        """Compare whole Jacobians. If no output requires grad, differences have to be zero."""
        outputs = self.outputs or _floating(self.found)
        by_input = [numerical(self.func, self.inputs, x, outputs, self.eps) for x in self.differentiable_inputs]
        if not self.outputs:
            if any(n.array.any() for row in by_input for n in row):
                raise GradcheckError(NOT_ZERO)
            return
        for i, output in enumerate(outputs.values()):
            for j, a in enumerate(self.twice(output, units(output))):
                n = by_input[j][i]
                if not _close(a, n, self.rtol, self.atol):
                    raise GradcheckError(MISMATCH.format(i, j, n, a))

    def forward(self) -> None:
        """Compare whole Jacobians that are made column by column in forward mode."""
        outputs = _floating(self.found)
        for j, x in enumerate(self.differentiable_inputs):
            columns = [pushed(self.func, self.inputs, x, unit) for unit in units(x)]
            for i, n in enumerate(numerical(self.func, self.inputs, x, outputs, self.eps)):
                a = stack([column[i] for column in columns]) if columns else n
                if not _close(a, n, self.rtol, self.atol):
                    raise GradcheckError(FORWARD_MISMATCH.format(i, j, n, a))

    def fast(self) -> None:
        """Compare v J u, with random u and v: J u by a difference, v J by a backward pass."""
        stream = draws.Stream()  # a separate stream, always the same: it leaves the user's random numbers alone
        us = [_direction(stream, x) for x in self.differentiable_inputs]
        vs = {i: _direction(stream, o) for i, o in self.outputs.items()}
        by_input = []
        for x, u in zip(self.differentiable_inputs, us, strict=True):
            ju = difference(self.func, self.inputs, materialized(x), u.array.reshape(x.shape) * self.eps, self.eps)
            if not vs and any(n.numel() and abs(n.array).max() > self.nondet_tol for n in ju):
                raise GradcheckError(NOT_ZERO)
            by_input.append([(v * ju[i]).sum() for i, v in vs.items()])
        by_output = [self.twice(o, [vs[i].view_as(o)]) for i, o in self.outputs.items()]
        for j, u in enumerate(us):
            for i, v in enumerate(vs.values()):
                a, n = by_output[i][j].view(-1).dot(u), by_input[j][i]
                if not _close(a, n, self.rtol, self.atol * float(u.sum()) * float(v.sum())):
                    raise GradcheckError(MISMATCH.format(i, j, n, a) + self.slowly(i, j))

    def slowly(self, i: int, j: int) -> str:
        """Return what the slow mode finds where the fast mode failed."""
        (number, output), x = list(self.outputs.items())[i], self.differentiable_inputs[j]
        (n,) = numerical(self.func, self.inputs, x, {number: output}, self.eps)
        a = analytical(output, self.differentiable_inputs, units(output))[j]
        text = IN_SLOW_MODE.format(n, a, plain(abs(n.array - a.array).max()))
        return text + SLOW_IS_FINE if a.allclose(n, self.rtol, self.atol) else text

    def twice(self, output: Tensor, vectors: Sequence[Tensor]) -> list[Tensor]:
        """Call `analytical` twice, check that both results agree, and return the first."""
        first, second = [analytical(output, self.differentiable_inputs, vectors) for _ in range(2)]
        if not _alike(first, second, self.nondet_tol):
            raise GradcheckError(NOT_REENTRANT.format(self.nondet_tol))
        return first

    def batched(self) -> None:
        """Check that two gradients in a batch give what they give one by one."""
        for i, output in enumerate(self.outputs.values()):
            def pull(v: Tensor, output: Tensor = output) -> list[Tensor]:
                found = grad(output, self.differentiable_inputs, v, retain_graph=True, allow_unused=True)
                return [zeros_like(x) if g is None else g for g, x in zip(found, self.differentiable_inputs)]

            for j, (got, want) in enumerate(_both_ways(pull, output, BATCHED)):
                if not got.allclose(want):
                    raise GradcheckError(BATCHED_DIFFERS.format(i, j, BATCHED, got, want))

    def batched_forward(self) -> None:
        """Check that two tangents in a batch give what they give one by one, for each input."""
        given = [each.detach() if isinstance(each, Tensor) else each for each in self.inputs]
        for i, x in enumerate(self.inputs):
            if not isinstance(x, Tensor) or not x.requires_grad:
                continue

            def push(tangent: Tensor, i: int = i) -> list[Tensor]:
                with dual_level():
                    found = as_tuple(self.func(*given[:i], make_dual(given[i], tangent), *given[i + 1:]))
                    unpacked = [unpack_dual(each) for each in found if each is not None]
                    return [zeros_like(primal) if moved is None else moved for primal, moved in unpacked]

            for j, (got, want) in enumerate(_both_ways(push, x, BATCHED_FORWARD)):
                if not got.allclose(want):
                    raise GradcheckError(BATCHED_DIFFERS.format(j, j, BATCHED_FORWARD, got, want).strip())

    def multiplied(self, masked: bool) -> None:
        """Check that zeros for all outputs give zeros."""
        for g in _pulled_zeros(tuple(self.outputs.values()), self.differentiable_inputs):
            if g is not None and not (np.allclose(g.array, 0) if masked else (g.array == 0).all()):
                raise GradcheckError(NOT_MULTIPLIED)

    def undefined(self) -> None:
        """Check that a missing gradient counts as zeros: for all outputs, then for each of several."""
        count = len(self.outputs)
        for missing in [range(count), *([i] for i in range(count) if count > 1)]:
            outputs = [UndefinedGrad.forward(o) if i in missing else o
                       for i, o in enumerate(_differentiable(self.func(*self.inputs)))]
            try:
                found = _pulled_zeros(outputs, self.differentiable_inputs)
            except RuntimeError as error:
                warnings.warn(MAY_BREAK, UserWarning, stacklevel=3)
                raise GradcheckError(UNDEFINED_FAILS) from error
            if any(g is not None and g.array.any() for g in found):
                warnings.warn(MAY_BREAK, UserWarning, stacklevel=3)
                raise GradcheckError(UNDEFINED_NOT_ZERO)


class UndefinedGrad(Node, number=None):
    """The node of an op that returns its input and drops the gradient."""

    op = "UndefinedGrad"

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return record1(UndefinedGrad, a.array, a)

    def backward(self, xp: Any, g: Any) -> Any:
        return None


def _check_inputs(inputs: Sequence[Any]) -> None:
    """Warn of low precision; refuse shared memory, and inputs of which none requires grad."""
    for i, x in enumerate(inputs):
        if not (isinstance(x, Tensor) and x.requires_grad):
            continue
        if x.array.dtype != np.float64:
            warnings.warn(LOW_PRECISION.format(i), UserWarning, stacklevel=3)
        if x.numel() and not all(step > 0 or n <= 1 for step, n in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(OVERLAPPING.format(i))
    if not _requiring_grad(inputs):
        raise ValueError(NOTHING_TO_CHECK)


def _requiring_grad(inputs: Sequence[Any]) -> tuple[Tensor, ...]:
    return tuple([x for x in inputs if isinstance(x, Tensor) and x.requires_grad])


def _differentiable(found: Any) -> tuple[Tensor, ...]:
    return tuple([o for o in as_tuple(found) if o.requires_grad])


def _floating(outputs: Sequence[Tensor]) -> dict[int, Tensor]:
    return {i: o for i, o in enumerate(outputs) if o.is_floating_point()}


def _alike(first: Sequence[Tensor], second: Sequence[Tensor], tolerance: float) -> bool:
    return not any(a.numel() and abs(a.array - b.array).max() > tolerance for a, b in zip(first, second, strict=True))


def _deprecated(kind: str, grad_out: float) -> None:
    warnings.warn(DEPRECATED.format(kind), FutureWarning, stacklevel=3)
    if grad_out != 1.0:
        raise ValueError(NOT_ONE.format(kind))


def _pulled_zeros(outputs: Sequence[Tensor], inputs: tuple[Tensor, ...]) -> tuple[Any, ...]:
    """Return the gradients of the inputs for zeros at the outputs."""
    return grad(outputs, inputs, [zeros_like(o) for o in outputs], allow_unused=True) if outputs else ()


def _both_ways(function: Callable[[Tensor], list[Tensor]], like: Tensor, advice: str) -> list[tuple[Tensor, Tensor]]:
    """Return the results of a function for two random vectors, each as a batch: of one call, and of two calls."""
    vectors = [_beside(like, draws.normal(draws.DEFAULT, like.shape, like.array.dtype)) for _ in range(2)]
    expected = [stack(found) for found in zip(*[function(v) for v in vectors], strict=True)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")
        try:
            got = batched(lambda row, _: function(*row), [stack(vectors)])
        except RuntimeError as error:
            raise GradcheckError(BATCHED_RAISES.format(error, advice)) from error
    return list(zip(got, expected, strict=True))


def _close(a: Tensor, n: Tensor, rtol: float, atol: float) -> bool:
    return bool(np.allclose(a.array, n.array, rtol, atol))


def _direction(stream: draws.Stream, like: Tensor) -> Tensor:
    """Return a random vector of length 1, flat, with as many elements as `like`."""
    vector = _beside(like, draws.uniform(stream, (like.numel(),)).astype(like.array.dtype))
    direction: Tensor = vector / vector.norm()
    return direction


def _random(like: Tensor, apart: bool) -> Tensor:
    """Return random numbers in [-1, 1) that require grad; `apart`: not next to each other in memory."""
    shape = like.shape
    if not (apart and like.numel() > 1):
        return _beside(like, draws.uniform(draws.DEFAULT, shape, like.array.dtype, -1, 1)).requires_grad_()
    wide = _beside(like, draws.uniform(draws.DEFAULT, (*shape[:-1], 2 * shape[-1]), like.array.dtype, -1, 1))
    return plain(wide.array[..., 1::2], requires_grad=True)


def _beside(like: Tensor, drawn: Any) -> Tensor:
    """Return drawn numbers on the device of `like`."""
    return plain(moved(drawn, device_like(like.array)))


# Jacobians: a matrix with a row per element of the input and a column per element of the output
def as_tuple(given: Any) -> tuple[Any, ...]:
    """Return what a function takes or returns, as a tuple."""
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def difference(func: Callable[..., Any], inputs: Sequence[Any], memory: Any, step: Any, eps: float,
               where: str = "") -> Tensors:
    """Return (f(x + step) - f(x - step)) / 2 eps for each output, flat, where x is `memory`, part of an input's memory.

    The memory itself is changed, bypassing the version counters, and restored whatever happens: `func` is called with
    the very tensors that the user passed, so that it can use their graph (as `gradgradcheck` does). Raises
    AssertionError if the shape or the dtype of an output changes on the way.
    """
    before = memory.copy()
    try:
        memory[...] = before - step
        low = [o.clone() for o in as_tuple(func(*inputs))]
        memory[...] = before + step
        high = [o.clone() for o in as_tuple(func(*inputs))]
    finally:
        memory[...] = before
    for a, b in zip(low, high):
        if a.shape != b.shape:
            raise AssertionError(PERTURBED.format("shape", where, eps, a.shape, b.shape))
        if a.dtype != b.dtype:
            raise AssertionError(PERTURBED.format("dtype", where, eps, a.dtype, b.dtype))
    return tuple([((b - a) / (2 * eps)).detach().reshape(-1) for a, b in zip(low, high)])


def numerical(func: Callable[..., Any], inputs: Sequence[Any], x: Tensor, outputs: dict[int, Tensor],
              eps: float) -> list[Tensor]:
    """Return the Jacobians of some outputs (by number) for the input `x`: each of its elements is moved a little."""
    made = {i: np.zeros((x.numel(), o.numel()), o.array.dtype, like=device_like(o.array)) for i, o in outputs.items()}
    memory = materialized(x)
    for row, index in enumerate(np.ndindex(memory.shape)):
        found = difference(func, inputs, memory[(*index, ...)], eps, eps, f"on index {index} ")
        for i, jacobian in made.items():
            jacobian[row] = found[i].array
    return [plain(jacobian) for jacobian in made.values()]


def analytical(output: Tensor, inputs: Tensors, vectors: Sequence[Tensor]) -> list[Tensor]:
    """Return the Jacobians of `output` for each input, times each of these vectors: a backward pass per column."""
    made = [np.zeros((x.numel(), len(vectors)), x.array.dtype, like=device_like(x.array)) for x in inputs]
    for column, v in enumerate(vectors):
        for jacobian, g in zip(made, grad(output, inputs, v, retain_graph=True, allow_unused=True), strict=True):
            if g is not None:
                jacobian[:, column] = g.array.reshape(-1)
    return [plain(jacobian) for jacobian in made]


def pushed(func: Callable[..., Any], inputs: Sequence[Any], x: Tensor, direction: Tensor) -> list[Tensor]:
    """Return how the floating point outputs of a call move if the input `x` does, each flattened: forward mode."""
    with dual_level():
        found = as_tuple(func(*[make_dual(x, direction) if each is x else each for each in inputs]))
        tangents = [(o, unpack_dual(o).tangent) for o in _floating(found).values()]
    return [(zeros_like(o) if tangent is None else tangent).detach().reshape(-1) for o, tangent in tangents]


def units(like: Tensor) -> list[Tensor]:
    """Return the unit vectors with which `analytical` and `pushed` return the whole Jacobian."""
    return list(unit_vectors([like])[0])
