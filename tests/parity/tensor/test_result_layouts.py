"""How the results of ops that choose, sort, join and turn lie in memory, for inputs that lie in memory in any order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def numbers(lib):
    return ((lib.arange(24.0) * 0.37) % 1 + 0.05).reshape(2, 3, 2, 2)


LAYOUTS = {
    "contiguous": numbers,
    "channels last": lambda lib: numbers(lib).contiguous(memory_format=lib.channels_last),
    "turned": lambda lib: numbers(lib).permute(3, 2, 1, 0),
    "permuted": lambda lib: numbers(lib).permute(1, 0, 3, 2),
    "expanded": lambda lib: numbers(lib)[:1].expand(4, 3, 2, 2),
    "gaps": lambda lib: numbers(lib)[:, ::2],
}


def ints(lib, *values):
    return lib.tensor(list(values))


OPS = {
    "sort": lambda lib, x: x.sort(1),
    "sort descending": lambda lib, x: x.sort(0, descending=True),
    "argsort": lambda lib, x: x.argsort(2),
    "msort": lambda lib, x: lib.msort(x),
    "topk": lambda lib, x: x.topk(2, 1),
    "kthvalue": lambda lib, x: x.kthvalue(1, 1),
    "cummax": lambda lib, x: x.cummax(1),
    "cumsum": lambda lib, x: x.cumsum(1),
    "aminmax": lambda lib, x: x.aminmax(dim=1),
    "count_nonzero": lambda lib, x: x.count_nonzero(1),
    "index of rows": lambda lib, x: x[ints(lib, 0, 1)],
    "index of columns": lambda lib, x: x[:, ints(lib, 1, 0)],
    "index of the last": lambda lib, x: x[..., ints(lib, 0, 1)],
    "index by a matrix": lambda lib, x: x[:, lib.tensor([[0, 1, 1], [1, 0, 0]])],
    "index by a turned matrix": lambda lib, x: x[:, lib.tensor([[0, 1, 1], [1, 0, 0]]).t()],
    "index of two apart": lambda lib, x: x[ints(lib, 0, 1), :, ints(lib, 0, 1)],
    "index of two together": lambda lib, x: x[:, ints(lib, 0, 1), ints(lib, 0, 1)],
    "index and a number": lambda lib, x: x[:, 0, ints(lib, 0, 1)],
    "index and a slice": lambda lib, x: x[1:, ints(lib, 0, 1)],
    "index and None": lambda lib, x: x[None, ints(lib, 0, 1)],
    "index by a mask": lambda lib, x: x[x > 0.3],
    "index by a mask of rows": lambda lib, x: x[:, x[0, :, 0, 0] > 0.3],
    "index_put": lambda lib, x: x.index_put((ints(lib, 1),), lib.tensor(7.0)),
    "index_put, added": lambda lib, x: x.index_put((ints(lib, 1, 1),), lib.tensor(7.0), accumulate=True),
    "index_fill": lambda lib, x: x.index_fill(1, ints(lib, 0), 7.0),
    "index_copy": lambda lib, x: x.index_copy(1, ints(lib, 0), x[:, :1]),
    "index_add": lambda lib, x: x.index_add(1, ints(lib, 0), x[:, :1]),
    "index_select": lambda lib, x: x.index_select(1, ints(lib, 0, 1)),
    "gather": lambda lib, x: x.gather(1, lib.zeros(x.shape, dtype=lib.int64)),
    "scatter": lambda lib, x: x.scatter(1, lib.zeros(x.shape, dtype=lib.int64), 7.0),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0.3, 7.0),
    "where": lambda lib, x: lib.where(x > 0.3, x, 7.0),
    "where of others": lambda lib, x: lib.where((x > 0.3).contiguous(), x, x.contiguous()),
    "integers, rsqrt": lambda lib, x: (x > 0.3).int().add(1).rsqrt(),
    "expanded integers, rsqrt": lambda lib, x: lib.ones(3, 2, dtype=lib.int8).expand(2, 3, 2).rsqrt(),
    "expanded integers and a number": lambda lib, x: lib.ones(3, 2, dtype=lib.int8).expand(2, 3, 2) * 1.5,
    "expanded integers and floats": lambda lib, x: lib.ones(3, 2, dtype=lib.int8).expand(2, 3, 2) + lib.ones(2),
    "power of a number": lambda lib, x: 1.5 ** x,
    "expanded halves, gelu": lambda lib, x: lib.nn.functional.gelu(lib.ones(3).half().expand(2, 3)),
    "expanded bools and a number": lambda lib, x: lib.ones(3, 2).bool().expand(2, 3, 2) + 1,
    "flip": lambda lib, x: x.flip(1),
    "flip of two": lambda lib, x: x.flip(0, 2),
    "roll": lambda lib, x: x.roll(1, 1),
    "roll of all": lambda lib, x: x.roll(1),
    "rot90": lambda lib, x: x.rot90(),
    "rot90 twice": lambda lib, x: x.rot90(2, (1, 2)),
    "rot90 back": lambda lib, x: x.rot90(-1, (0, 3)),
    "cat": lambda lib, x: lib.cat([x, x], 1),
    "stack in front": lambda lib, x: lib.stack([x, x]),
    "stack": lambda lib, x: lib.stack([x, x], 1),
    "stack behind": lambda lib, x: lib.stack([x, x], -1),
    "nan_to_num": lambda lib, x: x.nan_to_num(),
    "cross": lambda lib, x: lib.linalg.cross(x[None].expand(3, *x.shape), x[None].expand(3, *x.shape), dim=0),
    "bce with logits": lambda lib, x: lib.nn.functional.binary_cross_entropy_with_logits(x, x, reduction="none"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("op", OPS)
def test_results_lie_as_pytorch_lays_them(torch, op, layout):
    def results(lib):
        result = OPS[op](lib, LAYOUTS[layout](lib))
        return result if isinstance(result, tuple) else (result,)

    for mine, theirs in zip(results(minigrad), results(torch), strict=True):
        assert mine.stride() == theirs.stride()
        torch.testing.assert_close(torch.from_numpy(mine.numpy()), theirs, check_stride=False)


@pytest.mark.parametrize("op", ["cumsum", "rot90", "flip", "cross"])
def test_gradients_of_contiguous_tensors_are_contiguous(torch, op):
    def run(lib):
        x = numbers(lib).requires_grad_()
        return lib.autograd.grad(OPS[op](lib, x).sum(), x)[0].stride()

    assert outcome(run, minigrad) == outcome(run, torch)


@given(data=st.data())
def test_any_index_of_any_layout(torch, data):
    order = data.draw(st.permutations(range(4)))
    vector, pair = st.lists(st.integers(0, 1), min_size=1, max_size=3), st.tuples(st.integers(0, 1), st.integers(0, 1))
    entry = st.one_of(st.just(slice(None)), st.slices(2), st.none(), st.integers(0, 1), st.just(...), vector,
                      st.lists(pair.map(list), min_size=1, max_size=2))
    entries = data.draw(st.lists(entry, min_size=1, max_size=4).filter(lambda parts: parts.count(...) < 2))
    turned = data.draw(st.booleans())

    def run(lib):
        x = lib.arange(2.0 * 2 * 3 * 4).reshape(2, 2, 3, 4).permute(*order)
        index = [lib.tensor(e) if isinstance(e, list) else e for e in entries]
        index = [e.t() if turned and isinstance(e, lib.Tensor) and e.ndim == 2 else e for e in index]
        result = x[tuple(index)]
        sizes_above_one = [s for s, n in zip(result.stride(), result.shape, strict=True) if n > 1]
        return result.tolist(), sizes_above_one if result.numel() else []

    assert outcome(run, minigrad) == outcome(run, torch)
