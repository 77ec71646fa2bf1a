"""`out=` of another shape, which is written over the memory that it has, and of other dtypes than the result's."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]
SHAPES = {
    "shorter": lambda m, b: m.add(m.ones(2), 1, out=b[1:4]),
    "longer": lambda m, b: m.add(m.ones(5), 1, out=b[1:4]),
    "with more dimensions": lambda m, b: m.add(m.ones(2, 2), 1, out=b[1:4]),
    "a number": lambda m, b: m.sum(m.ones(2), out=b[1:4]),
    "with gaps": lambda m, b: m.add(m.ones(2), 1, out=b[1::3]),
    "transposed": lambda m, b: m.add(m.arange(4.0).view(2, 2).t(), 1, out=b[1:4]),
    "emptied": lambda m, b: m.add(m.ones(2), 1, out=b[:0]),
    "detached": lambda m, b: m.add(m.ones(2), 1, out=b.detach()),
    "several": lambda m, b: m.sort(m.tensor([[1.0, 2], [3, 0]]), out=(b[2:3], m.zeros(1, dtype=m.int64)))[0],
    "itself": lambda m, b: m.add(m.ones(2, 2), 1, out=b),
}
RESULTS = {
    "values": lambda m, f, x, out: f(x, 0, out=out),
    "all": lambda m, f, x, out: f(x, out=out),
    "first": lambda m, f, x, out: f(x, 0, out=(out, m.empty(0, dtype=m.int64)))[0],
    "second": lambda m, f, x, out: f(x, 0, out=(m.empty(0), out))[1],
    "two": lambda m, f, x, out: f(x, x, out=out),
    "at": lambda m, f, x, out: f(x, 0, m.tensor([[0, 0]]), out=out),
}
NAMES = {
    "values": "argmax argmin any all amax amin sum prod cumsum cumprod softmax logcumsumexp",
    "all": "any argmax sum isposinf isneginf signbit msort diag tril triu logical_not exp",
    "first": "max min sort median nanmedian mode cummax cummin",
    "second": "max min sort median nanmedian mode cummax cummin",
    "two": "mm matmul isin searchsorted add gt",
    "at": "gather",
}
CALLS = [(form, name, dtype) for form, names in NAMES.items() for name in names.split() for dtype in DTYPES if (
    (name, dtype) not in (("cumsum", "bool"), ("cumprod", "bool")))]  # PyTorch has no such kernels
OTHERS = {
    "kthvalue": lambda m, x, out: m.kthvalue(x, 1, 0, out=(m.empty(0), out)),
    "kthvalue's values": lambda m, x, out: m.kthvalue(x, 1, 0, out=(out, m.empty(0, dtype=m.int64))),
    "topk": lambda m, x, out: m.topk(x, 1, out=(m.empty(0), out)),
    "where": lambda m, x, out: m.where(x > 1, x, x, out=out),
    "take": lambda m, x, out: m.take(x, m.tensor([0]), out=out),
    "dot": lambda m, x, out: m.dot(x[0], x[0], out=out),
    "sum with a dtype": lambda m, x, out: m.sum(x, 0, dtype=m.float32, out=m.empty(0)),
    "full": lambda m, x, out: m.full((2,), 1.5, out=out),
    "linspace": lambda m, x, out: m.linspace(0, 1, 3, out=out),
    "clamp": lambda m, x, out: m.clamp(x, 0, 1, out=out),
    "index_select": lambda m, x, out: m.index_select(x, 0, m.tensor([0]), out=out),
    "bucketize": lambda m, x, out: m.bucketize(x, x[0], out_int32=True, out=out) if out.dtype != m.int64 else None,
    "vector_norm": lambda m, x, out: m.linalg.vector_norm(x, 2, 0, out=out),
}


def written(m, name):
    """What `out` is then, how it lies in memory, and what the memory holds."""
    base = m.arange(8.0)
    y = SHAPES[name](m, base)
    return y, y.stride(), y.storage_offset(), base, base._version, y.data_ptr() - base.data_ptr()


@pytest.mark.parametrize("name", SHAPES)
def test_another_shape(torch, every_warning, name):
    alike(torch, lambda m: written(m, name))


@pytest.mark.parametrize("form, name, dtype", CALLS)
def test_another_dtype(torch, form, name, dtype):
    alike(torch, lambda m: RESULTS[form](m, getattr(m, name), m.tensor([[1.0, 2], [3, 4]]), m.empty(
        0, dtype=getattr(m, dtype))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OTHERS)
def test_another_dtype_of_others(torch, name, dtype):
    alike(torch, lambda m: OTHERS[name](m, m.tensor([[1.0, 2], [3, 4]]), m.empty(0, dtype=getattr(m, dtype))))


@pytest.mark.parametrize("call", [
    "norm(x, out=out)", "norm(x, dim=0, out=out)", "norm(x, 2, 0, True, out)", "norm(x, p=1, dim=1, out=out)",
    "norm(x.requires_grad_(), out=out)", "nonzero(x, out=out)",
    "nonzero(x, as_tuple=True, out=out)", "any(x.byte(), out=out)", "all(x.byte(), out=out)",
    "any(x.byte(), 0, out=out)", "all(x, 1, out=out)"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(0,), (2, 2)], ids=str)
def test_functions_without_a_signature(torch, every_warning, call, dtype, shape):
    """`norm` and `nonzero`, which PyTorch writes in Python, and tests of bytes whose result is to be a bool."""
    def program(m):
        x, out = m.tensor([[1.0, 0], [3, 4]]), m.zeros(shape, dtype=getattr(m, dtype))
        result = eval(f"m.{call}", {"m": m, "x": x, "out": out})
        return result, result is out, out.stride()

    alike(torch, program)
