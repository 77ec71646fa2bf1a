"""Lines with drawn shapes for reductions and sorting: see `drawn.py`."""

from __future__ import annotations

from math import inf

from hypothesis import strategies as st

from tests.parity.compare import Input
from tests.parity.tables.drawn import a_dim, filled, into, one, some_dims


def holed(a):
    """`a` with zeros where it is negative."""
    return a * (a.detach() > 0)


DRAWN = {
    "trapezoid": (lambda m, a, i: m.trapezoid(a, a * a, dim=i).square() + m.trapz(a, dx=2.5, dim=i), a_dim(least=1)),
    "cumulative_trapezoid": (lambda m, a, i: m.cumulative_trapezoid(a, a * a, dim=i).square()
                             + m.cumulative_trapezoid(a, dx=2.5, dim=i), a_dim(least=1)),
    # sums and means
    "nansum": (lambda m, a, dims, keep: a.square().nansum(dims, keepdim=keep), some_dims()),
    "nanmean": (lambda m, a, dims, keep: a.square().nanmean(dims, keepdim=keep), some_dims(least=1)),
    "logsumexp": (lambda m, a, dims, keep: a.logsumexp(dims, keepdim=keep), some_dims()),
    # moments
    "var": (lambda m, a, dims, keep: a.var(dims, correction=0, keepdim=keep), some_dims(least=1)),
    "std": (lambda m, a, dims, keep: (a * a).std(dims, correction=-1, keepdim=keep), some_dims(least=2)),
    "var_mean": (lambda m, a, dims, keep: m.var_mean(a, dims, correction=0, keepdim=keep), some_dims(least=1)),
    "std_mean": (lambda m, a, dims, keep: m.std_mean(a, dims, correction=-1, keepdim=keep), some_dims(least=2)),
    "cov": (lambda m, a, dim: m.cov(a.square().flatten(1), correction=0), a_dim(least=1).filter(
        lambda drawn: len(drawn[0][0].shape) > 1)),
    # norms
    "norm, inf": (lambda m, a, dim: a.norm(inf, dim), a_dim(least=1)),
    "norm, -inf": (lambda m, a, dim: a.norm(-inf, dim, True), a_dim(least=1)),
    "norm, 3": (lambda m, a, dims, keep: a.norm(3, dims, keep), some_dims(least=1)),
    "norm, -1": (lambda m, a, dims, keep: a.norm(-1, dims, keep), some_dims(least=1)),
    "dist": (lambda m, a, b: m.dist(a, b + 4, 3), into()),
    # extrema
    "max": (lambda m, a: a.max() * a, filled),
    "min": (lambda m, a: a.min() * a, filled),
    "max, dim": (lambda m, a, dim: a.max(dim).values.square(), a_dim(least=1)),
    "min, dim": (lambda m, a, dim: a.min(dim, True).values.square(), a_dim(least=1)),
    "amax": (lambda m, a, dims, keep: a.amax(dims, keep).square(), some_dims(least=1)),
    "amin": (lambda m, a, dims, keep: holed(a).amin(dims, keep) * a.sum(), some_dims(least=1)),
    "aminmax": (lambda m, a, dim: [v.square() for v in a.aminmax(dim=dim)], a_dim(least=1)),
    # products and running reductions
    "prod": (lambda m, a: a.prod(), one),
    "prod, zeros": (lambda m, a: holed(a).prod(), one),
    "prod, dim": (lambda m, a, dim: holed(a).prod(dim), a_dim()),
    "cumsum": (lambda m, a, dim: a.square().cumsum(dim), a_dim()),
    "cumprod": (lambda m, a, dim: a.cumprod(dim), a_dim()),
    "cumprod, zeros": (lambda m, a, dim: holed(a).cumprod(dim), a_dim()),
    "cummax": (lambda m, a, dim: a.cummax(dim).values.square(), a_dim()),
    "cummin": (lambda m, a, dim: a.cummin(dim).values.square(), a_dim()),
    "logcumsumexp": (lambda m, a, dim: a.logcumsumexp(dim), a_dim()),
    "cumsum_": (lambda m, a, dim: a.clone().cumsum_(dim).square(), a_dim()),
    "cumprod_": (lambda m, a, dim: a.clone().cumprod_(dim), a_dim()),
    "diff": (lambda m, a, dim: a.square().diff(dim=dim), a_dim()),
    "diff, 2": (lambda m, a, dim: a.square().diff(2, dim, prepend=a), a_dim()),
    # order
    "sort": (lambda m, a, dim: a.sort(dim).values.square(), a_dim()),
    "sort, descending": (lambda m, a, dim: a.sort(dim=dim, descending=True, stable=True).values.square(), a_dim()),
    "msort": (lambda m, a, dim: a.msort().square(), a_dim()),
    "topk": (lambda m, a, dim: a.topk(1, dim).values.square(), a_dim(least=1)),
    "kthvalue": (lambda m, a, dim: a.kthvalue(1, dim).values.square(), a_dim(least=1)),
    "median": (lambda m, a: a.median() * a, filled),
    "median, dim": (lambda m, a, dim: a.median(dim).values.square(), a_dim(least=1)),
    "nanmedian": (lambda m, a: a.nanmedian() * a, filled),
    "nanmedian, dim": (lambda m, a, dim: a.nanmedian(dim).values.square(), a_dim(least=1)),
    "quantile": (lambda m, a, dim: a.quantile(0.3, dim), a_dim(least=1)),
    "quantile, all": (lambda m, a: a.quantile(a.detach().new_tensor([0.25, 0.5]), keepdim=True), filled),
    "nanquantile": (lambda m, a, dim: m.nanquantile(a, 0.7, dim, interpolation="midpoint"), a_dim(least=1)),
    "corrcoef": (lambda m, a: a.corrcoef(), st.integers(2, 4).map(lambda n: ([Input((n, 4))], ()))),
    "mode": (lambda m, a, dim: a.mode(dim).values.square(), a_dim(least=1)),
    # places and counts, which have no gradient
    "argmax": (lambda m, a, dim: [a.argmax(dim), a.argmin(dim, True), a.max(dim)[1], a.min(dim)[1]], a_dim(least=1)),
    "argsort": (lambda m, a, dim: [a.argsort(dim), a.argsort(dim, True), a.sort(dim)[1]], a_dim()),
    "count_nonzero": (lambda m, a, dims, keep: [holed(a).count_nonzero(dims), (a > 0).any(dims), (a > 0).all(dims)],
                      some_dims()),
    "histc": (lambda m, a: [a.detach().histc(4), a.detach().histc(3, -1, 1)], one),
    "bincount": (lambda m, a: (a.detach().abs() * 3).long().flatten().bincount(), one),
    "unique": (lambda m, a: a.detach().sign().unique(return_inverse=True, return_counts=True), one),
    "unique, dim": (lambda m, a, dim: a.detach().sign().unique(True, True, True, dim), a_dim(least=1)),
    "unique_consecutive": (lambda m, a: a.detach().sign().unique_consecutive(True, True), one),
    "unique_consecutive, dim": (lambda m, a, dim: a.detach().sign().unique_consecutive(True, True, dim),
                                a_dim(least=1)),
    "searchsorted": (lambda m, a, dim: m.searchsorted(a.detach().sort(-1)[0], a.detach(), right=dim > 0), a_dim()),
    "bucketize": (lambda m, a: m.bucketize(a.detach(), m.linspace(-2, 2, 7).double()), one),
    "one_hot": (lambda m, a: m.nn.functional.one_hot(a.detach().abs().long(), 3), one),
}

DISTINCT = {
    **dict.fromkeys(("kthvalue", "topk", "mode"), "any of equal values may be the one that is taken"),
    "corrcoef": "equal rows give 1, which rounding puts on this or that side of the end at which it is clipped",
    **dict.fromkeys(("median, dim", "nanmedian, dim"), "PyTorch reads memory that nobody wrote where it is expanded"),
}
