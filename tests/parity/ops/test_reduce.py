"""Reductions, sorting and counting: what the tables of ops cannot say. Errors, warnings, names of parts, ties."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

import minigrad
from minigrad import return_types
from tests.parity.compare import leaf
from tests.parity.ops.test_ops import compare

pytestmark = pytest.mark.torch


def empty(m, *shape):
    return m.zeros(*shape)


ERRORS = {
    # nothing to find
    "max of nothing": lambda m, x: empty(m, 0).max(),
    "min of nothing": lambda m, x: empty(m, 0, 3).min(),
    "max of an empty dim": lambda m, x: empty(m, 0, 3).max(-2),
    "amax of nothing": lambda m, x: empty(m, 0).amax(),
    "amin of empty dims": lambda m, x: empty(m, 0, 3).amin((1, -2)),
    "argmax of nothing": lambda m, x: empty(m, 0).argmax(),
    "argmin of an empty dim": lambda m, x: empty(m, 3, 0).argmin(-1),
    "aminmax of nothing": lambda m, x: empty(m, 0).aminmax(),
    "aminmax of an empty dim": lambda m, x: empty(m, 0, 3).aminmax(dim=-2),
    "median of an empty dim": lambda m, x: empty(m, 0, 3).median(-2),
    "nanmedian of an empty dim": lambda m, x: empty(m, 0, 3).nanmedian(0),
    "mode of an empty dim": lambda m, x: empty(m, 0, 3).mode(0),
    "kthvalue of an empty dim": lambda m, x: empty(m, 0, 3).kthvalue(1, 0),
    "norm inf of nothing": lambda m, x: empty(m, 0).norm(float("inf")),
    "norm -1 of nothing": lambda m, x: empty(m, 0).norm(-1),
    "norm inf of an empty dim": lambda m, x: empty(m, 2, 0).norm(float("inf"), 1),
    # dims
    "max out of range": lambda m, x: x.max(2),
    "amax out of range": lambda m, x: x.amax((0, 5)),
    "amax twice": lambda m, x: x.amax((0, -2)),
    "logsumexp twice": lambda m, x: x.logsumexp((1, 1)),
    "cumsum out of range": lambda m, x: x.cumsum(-3),
    "sort out of range": lambda m, x: x.sort(2),
    "topk out of range": lambda m, x: x.topk(1, 2),
    "unique out of range": lambda m, x: x.unique(dim=2),
    "any out of range": lambda m, x: x.any(4),
    "count_nonzero out of range": lambda m, x: x.count_nonzero(4),
    "median out of range": lambda m, x: x.median(2),
    # numbers
    "topk of too many": lambda m, x: x.topk(4),
    "topk of less than none": lambda m, x: x.topk(-1),
    "kthvalue 0": lambda m, x: x.kthvalue(0),
    "kthvalue of too many": lambda m, x: x.kthvalue(3, 0),
    "diff -1": lambda m, x: x.diff(-1),
    "diff of a number": lambda m, x: x.sum().diff(),
    "diff of another dimension": lambda m, x: x.diff(prepend=x[0]),
    "diff of another size": lambda m, x: x.diff(prepend=x.T),
    # dtypes
    "mean of integers": lambda m, x: x.long().mean(),
    "mean as integers": lambda m, x: x.mean(0, dtype=m.int64),
    "nanmean of integers": lambda m, x: x.long().nanmean(),
    "var of integers": lambda m, x: x.long().var(),
    "std of bools": lambda m, x: (x > 0).std(0),
    "var_mean of integers": lambda m, x: m.var_mean(x.long()),
    "argmax of bools": lambda m, x: (x > 0).argmax(),
    "median of bools": lambda m, x: (x > 0).median(),
    "kthvalue of bools": lambda m, x: (x > 0).kthvalue(1),
    "topk of bools": lambda m, x: (x > 0).topk(1),
    "cumsum as bools": lambda m, x: x.cumsum(0, dtype=m.bool),
    "logcumsumexp of integers": lambda m, x: x.long().logcumsumexp(0),
    "norm of integers": lambda m, x: x.long().norm(),
    "norm as integers": lambda m, x: x.norm(dtype=m.int64),
    "norm of less": lambda m, x: x.double().norm(dtype=m.float32),
    "norm of another order": lambda m, x: x.norm("abc"),
    "dist of integers": lambda m, x: m.dist(x.long(), x.long()),
    "sum of a graph as integers": lambda m, x: x.requires_grad_().sum(dtype=m.int64),
    "prod of a graph as integers": lambda m, x: x.requires_grad_().prod(0, dtype=m.int32),
    "cumprod of a graph as integers": lambda m, x: x.requires_grad_().cumprod(0, dtype=m.int32),
    # covariances
    "cov of three dims": lambda m, x: m.cov(x[None]),
    "cov of bools": lambda m, x: m.cov(x > 0),
    "cov, real fweights": lambda m, x: m.cov(x, fweights=x[0]),
    "cov, whole aweights": lambda m, x: m.cov(x, aweights=m.tensor([1, 2, 3])),
    "cov, few weights": lambda m, x: m.cov(x, aweights=x[0, :2].abs()),
    "cov, negative weights": lambda m, x: m.cov(x, fweights=m.tensor([1, -2, 1])),
    "cov, weights of two dims": lambda m, x: m.cov(x, aweights=x.abs()),
    "cov, no weight": lambda m, x: m.cov(x, fweights=m.tensor([0, 0, 0])),
    "corrcoef of three dims": lambda m, x: m.corrcoef(x[None]),
    # quantiles
    "quantile of integers": lambda m, x: x.long().quantile(0.5),
    "quantile of half": lambda m, x: x.half().nanquantile(0.5),
    "quantile of nothing": lambda m, x: empty(m, 0).quantile(0.5),
    "quantile above 1": lambda m, x: x.quantile(1.5),
    "quantiles above 1": lambda m, x: x.nanquantile(m.tensor([0.5, 1.5])),
    "quantiles of two dims": lambda m, x: x.quantile(x * 0),
    "quantile of another dtype": lambda m, x: x.quantile(m.tensor(0.5, dtype=m.float64)),
    "quantile interpolated wrongly": lambda m, x: x.quantile(0.5, interpolation="x"),
    "quantile out of range": lambda m, x: x.quantile(0.5, 2),
    # counting
    "bincount of reals": lambda m, x: x[0].bincount(),
    "bincount of a matrix": lambda m, x: x.long().bincount(),
    "bincount of negatives": lambda m, x: m.tensor([1, -1]).bincount(),
    "bincount, few weights": lambda m, x: m.tensor([1, 1]).bincount(x[0]),
    "bincount, minlength": lambda m, x: m.tensor([1, 1]).bincount(minlength=-1),
    "histc of integers": lambda m, x: x.long().histc(),
    "histc of no bins": lambda m, x: x.histc(0),
    "histc turned around": lambda m, x: x.histc(3, 2, 1),
    "histc without end": lambda m, x: x.histc(3, 0, float("inf")),
    "unique of empty slices": lambda m, x: empty(m, 0, 3).unique(dim=1),
    "unique_consecutive of empty slices": lambda m, x: empty(m, 2, 0).unique_consecutive(dim=0),
    "searchsorted sides": lambda m, x: m.searchsorted(x, x, side="left", right=True),
    "searchsorted side": lambda m, x: m.searchsorted(x, x, side="up"),
    "searchsorted of a number": lambda m, x: m.searchsorted(x, 1.0),
    "searchsorted in a number": lambda m, x: m.searchsorted(x.sum(), x),
    "searchsorted of other rows": lambda m, x: m.searchsorted(x, x.T),
    "searchsorted, short sorter": lambda m, x: m.searchsorted(x[0], x[0], sorter=m.tensor([0, 1])),
    "searchsorted, real sorter": lambda m, x: m.searchsorted(x[0], x[0], sorter=x[0]),
    "searchsorted, wild sorter": lambda m, x: m.searchsorted(x[0], x[0], sorter=m.tensor([0, 1, 5])),
    "bucketize": lambda m, x: m.bucketize(x, x),
    "one_hot of reals": lambda m, x: m.nn.functional.one_hot(x),
    "one_hot of negatives": lambda m, x: m.nn.functional.one_hot(m.tensor([-1])),
    "one_hot of too few": lambda m, x: m.nn.functional.one_hot(m.tensor([3]), 3),
    "one_hot of nothing": lambda m, x: m.nn.functional.one_hot(m.tensor([]).long()),
    # no derivative
    "unique has none": lambda m, x: x.requires_grad_().unique().sum().backward(),
    "unique of slices has none": lambda m, x: x.requires_grad_().unique(dim=0).sum().backward(),
    "unique_consecutive has none": lambda m, x: x.requires_grad_().unique_consecutive().sum().backward(),
    "bincount has none": lambda m, x: m.tensor([1, 1, 0]).bincount(x[0].detach().requires_grad_()).sum().backward(),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(torch, name):
    said = []
    for lib in (minigrad, torch):
        with pytest.raises(Exception) as caught:
            ERRORS[name](lib, lib.tensor([[0.5, -1.5, 2.0], [1.0, 0.0, -1.0]]))
        said.append((caught.type, str(caught.value)))
    assert said[0] == said[1]


FEW = {
    "var": lambda m: m.tensor([1.0]).var(),
    "std": lambda m: m.tensor([[1.0, 2.0]]).std(0),
    "var_mean": lambda m: m.var_mean(m.tensor([1.0, 2.0]), correction=2),
    "std_mean": lambda m: m.std_mean(m.zeros(2, 0), 1),
    "cov": lambda m: m.cov(m.tensor([1.0])),
    "enough": lambda m: m.tensor([1.0, 2.0]).var(),
    "nothing is asked": lambda m: m.zeros(0, 2).var(1),
}


@pytest.mark.parametrize("name", FEW)
def test_warnings_of_few_degrees_of_freedom(torch, name, every_warning):
    given = []
    for lib in (minigrad, torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            FEW[name](lib)
        given.append([(each.category, str(each.message).split(" (Triggered")[0]) for each in caught])
    assert given[0] == given[1]


def gradients(m, call, values):
    x = m.tensor(values, dtype=m.float64, requires_grad=True)
    out = call(m, x)
    (g,) = m.autograd.grad(out.sum(), x)
    return g.tolist()


AT_THE_EDGES = {
    "var of one": (lambda m, x: x.var(), [1.0]),
    "var of too few": (lambda m, x: x.var(correction=5), [1.0, 2.0]),
    "std of one": (lambda m, x: x.std(), [1.0]),
    "std of equals": (lambda m, x: x.std(), [1.0, 1.0]),
    "std_mean of equals": (lambda m, x: m.std_mean(x)[0] + m.std_mean(x)[1], [1.0, 1.0]),
    "amax of NaN": (lambda m, x: x.amax(), [1.0, float("nan")]),
    "max of NaN": (lambda m, x: x.max(), [1.0, float("nan"), float("nan")]),
    "median of NaN": (lambda m, x: x.median(), [1.0, float("nan"), 2.0]),
    "nanmedian of NaN": (lambda m, x: x.nanmedian(), [float("nan"), float("nan")]),
    "aminmax of equals": (lambda m, x: m.stack(list(x.aminmax())), [1.0, 1.0, 3.0]),
    "median of equals": (lambda m, x: x.median(), [1.0, 1.0, 3.0]),
    "max of equals": (lambda m, x: x.max(0).values, [1.0, 3.0, 3.0]),
    "cummax of equals": (lambda m, x: x.cummax(0).values, [3.0, 1.0, 3.0, 2.0]),
    "mode of equals": (lambda m, x: x.mode().values, [3.0, 1.0, 3.0, 2.0]),
    "logsumexp of -inf": (lambda m, x: x.logsumexp(0), [-float("inf"), 1.0]),
    "logsumexp of inf": (lambda m, x: x.logsumexp(0), [float("inf"), 1.0]),
    "logcumsumexp of -inf": (lambda m, x: x.logcumsumexp(0), [-float("inf"), 1.0, 2.0]),
    "logcumsumexp of inf": (lambda m, x: x.logcumsumexp(0), [1.0, float("inf"), 2.0]),
    "cumprod of inf": (lambda m, x: x.cumprod(0), [2.0, float("inf"), 3.0]),
    "cumprod of NaN": (lambda m, x: x.cumprod(0), [2.0, float("nan"), 3.0]),
    "prod of zeros": (lambda m, x: x.prod(), [0.0, 0.0, 3.0]),
    "norm 2 at zero": (lambda m, x: x.norm(), [0.0, 0.0]),
    "norm 0.5 at zero": (lambda m, x: x.norm(0.5), [0.0, -3.0]),
    "norm 3 at zero": (lambda m, x: x.norm(3), [0.0, 0.0]),
    "norm -1 at zero": (lambda m, x: x.norm(-1), [0.0, -2.0]),
    "norm inf of equals": (lambda m, x: x.norm(float("inf")), [3.0, -3.0, 1.0]),
    "norm inf of NaN": (lambda m, x: x.norm(float("inf")), [float("nan"), -3.0]),
    "dist at zero": (lambda m, x: m.dist(x, x * 2), [0.0, 0.0]),
}


@pytest.mark.parametrize("name", AT_THE_EDGES)
def test_gradients_at_the_edges(torch, name):
    call, values = AT_THE_EDGES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (gradients(lib, call, values) for lib in (minigrad, torch))
    assert ours == pytest.approx(theirs, nan_ok=True)


def test_logcumsumexp_up_to_its_second_derivative(torch):
    """PyTorch's third is NaN, by way of the logarithm of a gradient that is 0."""
    compare(torch, lambda m, a: a.logcumsumexp(1), [leaf(2, 5)], "float64", order=2)
    compare(torch, lambda m, a: m.logcumsumexp(a, -1) * a, [leaf(2, 5)], "float32", order=2)


def test_no_gradient_of_a_norm_that_counts(torch):
    for lib in (minigrad, torch):
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        assert lib.autograd.grad(x.norm(0), x, allow_unused=True) == (None,)


def test_large_sorts_and_the_largest_few(torch):
    for lib in (minigrad, torch):
        lib.manual_seed(3)
    ours, theirs = (lib.randperm(3000).reshape(3, 1000).double() for lib in (minigrad, torch))
    for call in (lambda x: x.topk(5), lambda x: x.topk(3, largest=False), lambda x: x.topk(2, 0), lambda x: x.sort(),
                 lambda x: x.kthvalue(77), lambda x: x.median(1), lambda x: x.T.sort(0, True)):
        for a, b in zip(call(ours), call(theirs), strict=True):
            assert a.tolist() == b.tolist()


def test_named_parts(torch):
    for lib, types in ((minigrad, return_types), (torch, torch.return_types)):
        found = lib.tensor([[1.0, 3.0], [2.0, 0.0]]).max(1)
        values, indices = found
        assert found.values is values and found[1] is found.indices is indices
        assert type(found) is types.max and isinstance(found, tuple)
        assert (found.n_fields, found.n_sequence_fields, found.n_unnamed_fields) == (2, 2, 0)
        assert types.max.__match_args__ == ("values", "indices") and types.aminmax.__match_args__ == ("min", "max")
        assert types.sort((1, 2)) == (1, 2)
        for same in (pickle.loads(pickle.dumps(types.topk((1, 2)))), copy.deepcopy(types.topk([1, 2]))):
            assert same == (1, 2) and type(same) is types.topk
        for wrong in ((5,), ((1,),), ()):
            with pytest.raises(TypeError):
                types.max(*wrong)
        with pytest.raises(AttributeError):
            found.values = 3


@pytest.mark.parametrize("call", [lambda m, x: x.max(1), lambda m, x: x.aminmax(), lambda m, x: x.sort(stable=True),
                                  lambda m, x: x.cummin(0), lambda m, x: m.std_mean(x), lambda m, x: x.nanmedian(0)])
def test_named_parts_print_as_in_pytorch(torch, call):
    ours, theirs = (repr(call(lib, lib.tensor([[1.0, 3.0], [2.0, 0.5]], requires_grad=True)))
                    for lib in (minigrad, torch))
    assert ours == theirs


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["cumsum", "logcumsumexp", "cumprod", "sum"])
def test_the_sign_of_zero(torch, name, dtype):
    """A running sum starts with 0, so that of -0. is 0.; a number alone stays what it is."""
    def signs(m, *shape):
        return getattr(m.full(shape, -0.0, dtype=getattr(m, dtype)), name)(0).reciprocal().tolist()

    for shape in ((3,), (2, 2), (1,), ()):
        assert signs(minigrad, *shape) == signs(torch, *shape)
