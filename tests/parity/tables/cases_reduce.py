"""The table of ops, reductions, sorting and counting: see `cases.py`."""

from __future__ import annotations

from math import inf, nan

from tests.parity.compare import double, frozen, integers, leaf, positive


def with_zeros(a, *places):
    """`a` times 1 and, at these places, 0."""
    keep = [0.0 if i in places else 1.0 for i in range(a.shape[-1])]
    return a * a.detach().new_tensor(keep)


CASES = {
    # sums and means
    "sum as double": (lambda m, a: a.sum(0, dtype=m.float64), [leaf(2, 3)]),
    "mean as double": (lambda m, a: a.mean(dtype=m.float64), [leaf(2, 3)]),
    "mean of dim as double": (lambda m, a: a.mean(1, dtype=m.float64), [leaf(2, 3)]),
    "nansum": (lambda m, a: a.nansum(), [leaf(2, 3)]),
    "nansum dim": (lambda m, a: m.where(a > 0, a, nan).nansum(1), [leaf(2, 3)]),
    "nanmean": (lambda m, a: m.nanmean(a), [leaf(2, 3)]),
    "nanmean kept": (lambda m, a: a.nanmean(1, keepdim=True), [leaf(2, 3)]),
    "logsumexp": (lambda m, a: a.logsumexp(1), [leaf(2, 3)]),
    "logsumexp dims": (lambda m, a: m.logsumexp(a, (0, 2), keepdim=True), [leaf(2, 3, 2)]),
    "trapezoid": (lambda m, a, b: [m.trapezoid(a), m.trapz(a, dx=0.5, dim=0), m.trapezoid(a, b), m.trapezoid(a, b[0])],
                  [leaf(2, 3), leaf(2, 3)]),
    "cumulative_trapezoid": (lambda m, a, b: [m.cumulative_trapezoid(a, dx=0.5), m.cumulative_trapezoid(a, b, dim=0)],
                             [leaf(2, 3), leaf(2, 3)]),
    # moments
    "var": (lambda m, a: a.var(), [leaf(2, 3)]),
    "var dim": (lambda m, a: a.var(1), [leaf(2, 3)]),
    "var biased": (lambda m, a: a.var(0, unbiased=False, keepdim=True), [leaf(2, 3)]),
    "var correction": (lambda m, a: m.var(a, (0, 2), correction=2), [leaf(2, 3, 2)]),
    "std": (lambda m, a: a.std(), [leaf(2, 3)]),
    "std dim": (lambda m, a: m.std(a, 0, False), [leaf(2, 3)]),
    "var_mean": (lambda m, a: m.var_mean(a), [leaf(2, 3)]),
    "var_mean dim": (lambda m, a: m.var_mean(a, 1, keepdim=True), [leaf(2, 3)]),
    "std_mean": (lambda m, a: m.std_mean(a), [leaf(2, 3)]),
    "std_mean dim": (lambda m, a: m.std_mean(a, dim=1, correction=0), [leaf(2, 3)]),
    "only the mean": (lambda m, a: m.std_mean(a)[1], [leaf(2, 3)]),
    "cov": (lambda m, a: a.cov(), [leaf(2, 4)]),
    "cov of a vector": (lambda m, a: m.cov(a, correction=0), [leaf(4)]),
    "cov weighted": (lambda m, a, b: m.cov(a, fweights=m.tensor([1, 2, 1]), aweights=b), [leaf(2, 3), positive(3)]),
    "corrcoef": (lambda m, a: a.corrcoef(), [leaf(2, 4)]),
    "corrcoef of a vector": (lambda m, a: m.corrcoef(a), [leaf(4)]),
    # norms
    "norm 0": (lambda m, a: a.norm(0).detach() * a, [leaf(2, 3)]),
    "norm inf": (lambda m, a: a.norm(inf, 1), [leaf(2, 3)]),
    "norm -inf": (lambda m, a: m.norm(a, -inf), [leaf(2, 3)]),
    "norm 3": (lambda m, a: a.norm(3), [leaf(2, 3)]),
    "norm 4": (lambda m, a: a.norm(4, 0), [leaf(2, 3)]),
    "norm 0.5": (lambda m, a: a.norm(0.5, 0, True), [leaf(2, 3)]),
    "norm -1": (lambda m, a: a.norm(-1, (0, 1)), [leaf(2, 3)]),
    "norm as double": (lambda m, a: a.norm(2, dtype=m.float64), [leaf(2, 3)]),
    "dist": (lambda m, a, b: m.dist(a, b), [leaf(2, 3), leaf(3)]),
    "dist 1": (lambda m, a, b: a.dist(b, 1), [leaf(3), leaf(3)]),
    "dist 3": (lambda m, a, b: a.dist(b, 3), [leaf(3), frozen(3)]),
    "dist inf": (lambda m, a, b: a.dist(b, inf), [leaf(3), leaf(3)]),
    # extrema
    "max of all": (lambda m, a: a.max(), [leaf(2, 3)]),
    "min of all": (lambda m, a: m.min(a), [leaf(2, 3)]),
    "max of equals": (lambda m, a: (a * 0).max() + a.max(), [leaf(3)]),
    "max of two": (lambda m, a, b: m.max(a, b), [leaf(2, 3), leaf(3)]),
    "min of two": (lambda m, a, b: a.min(b), [leaf(3), leaf(3)]),
    "max dim": (lambda m, a: a.max(1), [leaf(2, 3)]),
    "min dim": (lambda m, a: a.min(0, keepdim=True), [leaf(2, 3)]),
    "amax": (lambda m, a: a.amax(), [leaf(2, 3)]),
    "amax dims": (lambda m, a: a.amax((0, 1)), [leaf(2, 3, 2)]),
    "amin": (lambda m, a: m.amin(a, 1, True), [leaf(2, 3)]),
    "amax of equals": (lambda m, a: m.cat((a, a)).amax(0), [leaf(3)]),
    "aminmax": (lambda m, a: a.aminmax(), [leaf(2, 3)]),
    "aminmax dim": (lambda m, a: m.aminmax(a, dim=1, keepdim=True), [leaf(2, 3)]),
    # products and running reductions
    "prod": (lambda m, a: a.prod(), [leaf(2, 3)]),
    "prod dim": (lambda m, a: a.prod(1), [leaf(2, 3)]),
    "prod kept": (lambda m, a: a.prod(0, keepdim=True), [leaf(2, 3)]),
    "prod with a zero": (lambda m, a: with_zeros(a, 1).prod(), [leaf(4)]),
    "prod with zeros": (lambda m, a: with_zeros(a, 0, 2).prod(1), [leaf(2, 4)]),
    "prod as double": (lambda m, a: a.prod(0, dtype=m.float64), [leaf(2, 3)]),
    "cumsum": (lambda m, a: a.cumsum(1), [leaf(2, 3)]),
    "cumsum as double": (lambda m, a: m.cumsum(a, 0, dtype=m.float64), [leaf(3)]),
    "cumsum_": (lambda m, a: a.clone().cumsum_(0), [leaf(3)]),
    "cumprod": (lambda m, a: a.cumprod(1), [leaf(2, 5)]),
    "cumprod with zeros": (lambda m, a: with_zeros(a, 1, 3).cumprod(1), [leaf(2, 5)]),
    "cumprod_": (lambda m, a: a.clone().cumprod_(0), [leaf(3)]),
    "cummax": (lambda m, a: a.cummax(1), [leaf(2, 5)]),
    "cummin": (lambda m, a: m.cummin(a, 0), [leaf(5, 2)]),
    "diff": (lambda m, a: a.diff(), [leaf(2, 3)]),
    "diff twice": (lambda m, a: a.diff(2, 0), [leaf(4, 2)]),
    "diff 0": (lambda m, a: a.diff(0), [leaf(3)]),
    "diff of more": (lambda m, a, b: m.diff(a, prepend=b, append=b), [leaf(2, 3), leaf(2, 1)]),
    # order
    "sort": (lambda m, a: a.sort(1), [leaf(2, 5)]),
    "sort stable": (lambda m, a: m.sort(a, stable=True, dim=0, descending=True), [leaf(5, 2)]),
    "msort": (lambda m, a: a.msort(), [leaf(5, 2)]),
    "topk": (lambda m, a: a.topk(2, 1), [leaf(2, 5)]),
    "topk of the smallest": (lambda m, a: m.topk(a, 1, 0, largest=False), [leaf(20)]),
    "kthvalue": (lambda m, a: a.kthvalue(2, 1), [leaf(2, 5)]),
    "median of all": (lambda m, a: a.median(), [leaf(2, 3)]),
    "median dim": (lambda m, a: a.median(1), [leaf(2, 4)]),
    "nanmedian of all": (lambda m, a: m.where(a > 0, a, nan).nanmedian(), [leaf(9)]),
    "nanmedian dim": (lambda m, a: a.nanmedian(0, keepdim=True), [leaf(4, 2)]),
    "quantile": (lambda m, a: a.quantile(0.3), [leaf(2, 3)]),
    "quantile kept": (lambda m, a: m.quantile(a, 0.3, keepdim=True), [leaf(2, 3)]),
    "quantile dim": (lambda m, a: a.quantile(0.6, 0, True), [leaf(4, 2)]),
    "quantile last": (lambda m, a: a.quantile(0.6, 1), [leaf(2, 4)]),
    "quantiles": (lambda m, a: a.quantile(a.new_tensor([0.3, 0.6]).detach(), -2, keepdim=True), [leaf(4, 2)]),
    "quantile lower": (lambda m, a: a.quantile(0.6, 1, interpolation="lower"), [leaf(2, 4)]),
    "quantile higher": (lambda m, a: a.quantile(0.6, 1, interpolation="higher"), [leaf(2, 4)]),
    "quantile nearest": (lambda m, a: a.quantile(0.6, 1, interpolation="nearest"), [leaf(2, 4)]),
    "quantile midpoint": (lambda m, a: a.quantile(0.6, 1, interpolation="midpoint"), [leaf(2, 4)]),
    "quantile of q": (lambda m, a, q: a.quantile((q / 2).abs(), 1), [leaf(2, 4), positive(2)]),
    "nanquantile": (lambda m, a: m.where(a > 0, a, nan).nanquantile(0.3), [leaf(9)]),
    "nanquantile dim": (lambda m, a: a.nanquantile(a.new_tensor([0.3, 0.6]), 0), [leaf(4, 2)]),
    "mode": (lambda m, a: a.mode(1), [leaf(2, 4)]),
    "mode of several": (lambda m, a: m.cat((a, a[:1], a)).mode(0), [leaf(3)]),
}

PLAIN = {
    "argmax, argmin": (lambda m, a: [a.argmax(), a.argmin(), a.argmax(1), a.argmin(0, keepdim=True),
                                     a.argmax(keepdim=True)], [leaf(2, 3)]),
    "argmax of equals": (lambda m, a: [(a * 0).argmax(), (a * 0).argmin(1), (a * 0).max(1).indices], [leaf(2, 3)]),
    "argsort": (lambda m, a: [a.argsort(), a.argsort(0, descending=True), a.argsort(stable=True)], [leaf(3, 4)]),
    "extrema of integers": (lambda m, a: [a.max(), *a.min(0), a.amax(1), *a.aminmax(), *(a > 0).max(0), (a > 0).amin(),
                                          a.to(m.uint8).argmax()], [integers(2, 3)]),
    "extrema of NaN": (lambda m, a: [v for x in (m.tensor([1.0, nan, 3.0, nan]),) for v in (
        x.max(), x.min(), *x.max(0), *x.min(0), x.amax(), x.argmax(), x.argmin(), *x.aminmax(), *x.cummax(0),
        *x.cummin(0), *x.sort(), *x.sort(descending=True), *x.topk(2), x.median(), *x.median(0), x.nanmedian(),
        *x.nanmedian(0), x.nansum(), x.nanmean(), x.norm(inf), x.norm(0), *x.kthvalue(3))], [leaf(2)]),
    "infinities": (lambda m, a: [v for x in (m.tensor([inf, -inf, 1.0]), m.tensor([-inf, -inf, -inf]), m.zeros(0))
                                 for v in (x.logsumexp(0), x.logcumsumexp(0), x.sum(), x.prod(), x.norm(2))],
                   [leaf(2)]),
    "integers": (lambda m, a: [a.prod(), a.prod(0), a.cumsum(1), a.cumprod(0), *a.cummax(0), a.diff(), a.nansum(),
                               a.logsumexp(0), *a.sort(), *a.topk(2), a.kthvalue(1).values, a.median(), *a.median(0),
                               a.mean(dtype=m.float32), a.to(m.int8).cumsum(0), a.sum(0, dtype=m.float32)],
                 [integers(2, 3)]),
    "bools": (lambda m, a: [v for x in (a > 0,) for v in (
        x.prod(), x.cumsum(0), x.cumprod(1), *x.cummax(0), x.diff(), x.sum(0), x.nansum(), *x.sort(1), *x.mode(),
        x.any((0, 1)), x.all(1), x.any(()), x.to(m.uint8).any(), x.to(m.uint8).all(0), a.any(), a.all(0),
        x.count_nonzero(), x.count_nonzero((0, 1)))], [leaf(2, 3)]),
    "to integers": (lambda m, a: [a.sum(dtype=m.int64), a.prod(dtype=m.int32), a.cumsum(0, dtype=m.int64),
                                  a.cumprod(0, dtype=m.int32),
                                  a.sum(1, dtype=m.bool), a.nansum(dtype=m.int64)], [frozen(2, 3)]),
    "half": (lambda m, a: [v for x in (a.half() * 100,) for v in (
        x.sum(), x.var(), x.std(0), x.norm(), x.cumsum(0), x.prod(0), x.logsumexp(0), x.nanmean(), x.amax(),
        *m.var_mean(x), *x.sort(), x.median())], [leaf(40, 3)]),
    "no elements": (lambda m, a: [a.sum(0), a.prod(1), a.logsumexp(1), a.amax(0), *a.max(0), *a.sort(), a.cumsum(0),
                                  *a.cummax(1), a.median(), a.nanmedian(), *a.median(0), a.argmax(0), *a.topk(0),
                                  a.any(), a.all(), a.count_nonzero(), a.diff(), a.norm(1), a.long().median(),
                                  a.argsort(0), a.unique(), *a.mode(0), *a.kthvalue(1, 0)], [frozen(3, 0)]),
    "numbers without dims": (lambda m, a: [v for x in (a.sum(),) for v in (
        x.sum(0), x.prod(0), *x.max(0), x.amax(0), *x.aminmax(dim=0), x.argmax(0), x.argmax(), x.cumsum(0),
        *x.cummax(-1), x.cumprod(0), x.logcumsumexp(0), *x.sort(), *x.topk(1), *x.median(0), x.median(),
        *x.nanmedian(0), *x.mode(), *x.kthvalue(1), x.msort(), x.argsort(), x.any(0), x.logsumexp(0), x.unique(),
        x.unique_consecutive(), x.count_nonzero(), x.norm(), x.nansum(0), x.std(correction=0))], [leaf(2)]),
    "unique": (lambda m, a: [x for v in (a, a.double(), a > 0) for x in (
        v.unique(), *m.unique(v, return_inverse=True), *v.unique(return_counts=True),
        *v.unique(return_inverse=True, return_counts=True, dim=1), v.unique(dim=0), v.unique_consecutive(),
        *m.unique_consecutive(v, return_inverse=True, return_counts=True), *v.unique_consecutive(
            return_inverse=True, dim=0))], [integers(4, 3)]),
    "unique of NaN": (lambda m, a: [*m.tensor([3.0, nan, 3.0, nan]).unique(return_inverse=True, return_counts=True),
                                    *m.tensor([nan, nan, 1.0]).unique_consecutive(return_counts=True)], [leaf(2)]),
    "bincount": (lambda m, a, b: [a.abs().bincount(), a.abs().bincount(minlength=9), m.bincount(a.abs(), b),
                                  a.abs().bincount(b.double()), a.abs().bincount(a), a[:0].bincount(b[:0])],
                 [integers(6), frozen(6)]),
    "histc": (lambda m, a: [a.histc(), a.histc(4), m.histc(a, 3, -1, 1), (a * 0).histc(3), a[:0].histc(2)],
              [frozen(20)]),
    "searchsorted": (lambda m, a, b: [v for s in (a.sort().values,) for v in (
        m.searchsorted(s, b), m.searchsorted(s, s), m.searchsorted(s, s, right=True),
        m.searchsorted(s, b, side="right"), m.searchsorted(a, b, sorter=a.argsort()),
        m.searchsorted(s[0], b), m.searchsorted(s[0], 0.5),
        m.searchsorted(s, b, out_int32=True), m.searchsorted(s[0], m.tensor([nan, inf])))],
        [double(2, 5), double(2, 3)]),
    "bucketize": (lambda m, a, b: [m.bucketize(b, a.sort().values), m.bucketize(0.5, a.sort().values, right=True),
                                   m.bucketize(a, a.sort().values, right=True, out_int32=True)],
                  [frozen(5), frozen(2, 3)]),
    "one_hot": (lambda m, a: [m.nn.functional.one_hot(a.abs()), m.nn.functional.one_hot(a.abs(), 5),
                              m.nn.functional.one_hot(a[:0], 2), m.nn.functional.one_hot(m.tensor(1))],
                [integers(2, 3)]),
}

# What PyTorch's formulas keep, and minigrad's do not.
