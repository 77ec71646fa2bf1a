"""Parts of tensors that are read and written: values, derivatives, errors and warnings of both libraries."""

from __future__ import annotations

import numpy as np
import pytest

from tests.parity.leaves import put, quietly
from tests.parity.ops.expressions import agree
from tests.parity.values import grads, leaf, same_end

pytestmark = pytest.mark.torch

PARTS = """\
m[[...]]
m[[[0, 1]]]
m[np.array([[0, 1], [1, 2]])]
m[np.array([0, 1])]
m[np.int64(1)]
m[np.bool_(True)]
m[np.array(1)]
m[[0.5]]
m[[True, 0]]
m[[1.0]]
m[["a"]]
m[{0}]
m[(0, [0, 1])]
m[0, i]
m[i, np.array([0, 1])]
m[:, [True, False, True, False]]
m[[[True, False, True]]]
m[torch.tensor([[0, 1]])]
m[torch.tensor([True, False, True]), torch.tensor([0])]
m[torch.tensor([True, False, True]), torch.tensor([0, 1, 2])]
m[torch.tensor([True, False, True, True])]
m[:, torch.tensor([True, False, True])]
m[torch.ones(3, 4, 2).bool()]
m[torch.tensor([9]), 0]
m[0, torch.tensor([9])]
m[:, torch.tensor([9])]
m[torch.tensor([0]), torch.tensor([9])]
m[torch.tensor(9)]
m[None, 9]
m[9:2]
m[5:]
m[-9:2]
m[0:2:torch.tensor(2)]
m[range(0)]
m["x"]
m[1j]
m[torch.tensor(1.0)]
m[torch.tensor([])]
m[torch.tensor([], dtype=torch.long)]
m[torch.zeros(0, 4).bool()]
m[i, i, i]
m[0, 0, ...]
m[0, 0, 0, ...]
m[..., 0, 0, 0]
m[..., ..., :]
m[..., ..., 0]
m[..., ..., -1]
m[..., ..., 0:1]
m[..., ..., 1:]
m[..., ..., None]
m[..., 0, ...]
m[0, ..., ...]
m[..., 0:1, ..., :]
put(m, (..., ..., slice(None)), 7)
put(m, (..., ..., 0), 7)
m[None, None, 0]
m[i.byte()]
m[torch.tensor([1, 0, 1], dtype=torch.uint8)]
m[torch.tensor(1, dtype=torch.uint8)]
m[torch.tensor(0, dtype=torch.uint8), 1]
m[torch.tensor(True), torch.tensor(False)]
m[True, 0]
m[0, True]
m[True, i]
m[i, True]
m[False, i]
m[..., True]
m[:, True, i]
m[list(range(3))*12]
m[[[0]]*40]
s[[0]]
s[i]
s[torch.tensor(0)]
s[0, 0]
s[:]
s[None, :]
s[..., None]
s[torch.tensor([True])]
s[[True]]
s[True, True]
put(m, 0, torch.ones(5))
put(m, 0, torch.ones(2, 4))
put(m, 0, torch.ones(1, 4))
put(m, 0, torch.ones(1, 1, 4))
put(m, slice(0, 2), torch.ones(3, 4))
put(m, i, torch.ones(3))
put(m, i, torch.ones(1, 2, 4))
put(m, i, torch.ones(2, 1, 4))
put(m, i, 1)
put(m, i, torch.tensor(2))
put(m, i, torch.tensor(2).double())
put(m, i, torch.ones(2, 4).double())
put(m, m>3, torch.ones(8))
put(m, m>3, torch.ones(3))
put(m, m>3, 5)
put(m, m>3, torch.tensor(5))
put(m, m>3, torch.tensor([5.]))
put(m, m>3, True)
put(m.long(), m>3, 2.7)
put(m.long(), 0, 2.7)
put(m.long(), 0, torch.tensor(2.7))
put(m.long(), i, 2.7)
put(m.long(), i, torch.tensor(2.7))
put(m.byte(), 0, 300)
put(m.byte(), i, 300)
put(m.byte(), m>3, 300)
put(m.byte(), m>3, -1)
put(m, 0, [1, 2, 3, 4])
put(m, 0, np.ones(4))
put(m, 0, np.float32(2))
put(m, 0, "a")
put(m, 0, None)
put(m, i, [1, 2])
put(m, 5, 1)
put(m, (0, 5), 1)
put(m, torch.tensor([5]), 1)
put(m, torch.tensor([5]), torch.zeros(3))
put(m, torch.tensor([5]), torch.zeros(1, 4).double())
put(m, torch.tensor([5]), torch.zeros(1, 3).double())
put(m, torch.tensor([5]), torch.zeros(1, 4))
put(m, (slice(None), torch.tensor([5, 0])), torch.zeros(1, 3, 2))
put(m, (slice(None), torch.tensor([-5, 0])), torch.zeros(4, 2))
put(m[:0], torch.tensor([1]), torch.zeros(2))
put(m, (0, 0, 0), 1)
put(m, True, 1)
put(m, False, 1)
put(m, torch.tensor(True), torch.zeros(4))
put(m, None, 1)
put(m, ..., torch.ones(4))
put(m, (), 2)
put(m, (None, 0), torch.ones(4))
put(s, (), 2)
put(s, ..., 2)
put(s, 0, 2)
put(s, None, 2)
put(s, True, 2)
put(s, torch.tensor(False), 2)
put(m, slice(None, None, -1), 2)
put(m, slice(None, None, 0), 2)
put(m, [[0, 1], [1, 2]], 9)
put(m, [0, 1], torch.zeros(4))
put(m, ([0, 1], [1, 2]), torch.tensor([7., 8.]))
put(m, ([0, 0], [1, 1]), torch.tensor([7., 8.]))
put(m, ([0, 1], [1, 2]), torch.tensor([7., 8., 9.]))
put(m, 1j, 1)
put(m, 0, 1j)
put(m, "a", 1)
put(m, 1.5, 1)
put(m, [True, False, True], torch.zeros(2, 4))
put(m, [True, False], torch.zeros(2, 4))
put(m, (slice(None), i), torch.zeros(3, 1))
put(m, (slice(None), [True, False, True, False]), torch.zeros(3, 2))
m.t()[i]
m.t()[:, i]
m.t()[i, i]
m.reshape(2, 3, 2).permute(2, 0, 1)[i]
m.reshape(2, 3, 2).permute(2, 0, 1)[i, :, i]
m.reshape(2, 3, 2)[:, i, i]
m.reshape(2, 3, 2)[i, :, i]
m.reshape(2, 3, 2)[:, :, torch.tensor([[0, 1], [1, 0]])]
m.expand(2, 3, 4)[i]
m.expand(2, 3, 4)[:, i]
m[:, 0:3:2][:, i]
m.t()[m.t()>3]
"""


def assigned(m, x, index, value):
    """Assign, and give the derivatives by what was assigned to and by what was assigned."""
    y = put(x.clone(), index, value) * m.tensor([1.0, 2.0, 3.0])
    return y, grads(m, y, *[t for t in (x, value) if isinstance(t, m.Tensor)]), y.grad_fn.next_functions[0][0].name()


INDEXING = {
    "mask and tensor": lambda m: assigned(m, leaf(m, 3), m.tensor([True, False, True]), leaf(m, 2)),
    "list and number": lambda m: assigned(m, leaf(m, 3), [0, 2], 7),
    "list and 0-d tensor": lambda m: assigned(m, leaf(m, 3), [0, 2], leaf(m)),
    "of another dtype": lambda m: put(m.arange(3), [1], m.tensor(2.7)),
    "of another shape": lambda m: put(m.zeros(3), m.tensor([True, True, False]), m.ones(3)),
    "a list": lambda m: put(m.ones(3), slice(0, 2), [1, 2]),
    "an array": lambda m: put(m.ones(3), [0, 1], np.ones(2)),
    "without grad mode": lambda m: (x := m.zeros(3), quietly(m, lambda: put(x, [0, 1], leaf(m, 2))), x),
    "list of lists": lambda m: leaf(m, 2, 3)[[[0, 1], [1, 0]]],
    "list of a number and a list": lambda m: leaf(m, 2, 3)[[0, [1, 2]]],
    "bytes are a mask": lambda m: leaf(m, 3)[m.tensor([1, 0, 1], dtype=m.uint8)],
    "short indices": lambda m: leaf(m, 3)[m.tensor([1, 0], dtype=m.int16)],
    "twice": lambda m: ((y := leaf(m, 3)[[0, 1]].sum()), y.backward(), y.backward()),
    "where twice": lambda m: ((y := m.where(m.tensor([True]), leaf(m, 1), 0.0)), y.backward(), y.backward()),
}


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("expression", PARTS.splitlines())
def test_alike(torch, expression):
    agree(torch, expression)


@pytest.mark.parametrize("name", INDEXING)
def test_values_and_derivatives(torch, name):
    same_end(torch, INDEXING[name])
