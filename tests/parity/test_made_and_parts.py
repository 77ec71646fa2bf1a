"""Tensors that are made, and parts of tensors that are read and written: values, dtypes, errors and warnings of both
libraries, line by line."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome
from tests.parity.shape_words import words

pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("every_warning")]

MADE = """\
torch.arange(3)
torch.arange(3.)
torch.arange(1, 3, 0.5)
torch.arange(0, 3, 2, dtype=torch.float64)
torch.arange(0.5, 3, dtype=torch.int64)
torch.arange(3, 0)
torch.arange(3, 0, -1)
torch.arange(0, 3, -1)
torch.arange(0, 3, 0)
torch.arange(float('nan'))
torch.arange(float('inf'))
torch.arange(torch.tensor(3))
torch.arange(torch.tensor(3.))
torch.arange(True)
torch.arange(1, dtype=torch.bool)
torch.arange(3, dtype=torch.bool)
torch.arange(5, dtype=torch.uint8)
torch.arange(0, 1, 0.1)
torch.arange(1, 2.5, 0.3)
torch.arange(end=4)
torch.arange(start=1, end=4)
torch.arange(1, 4, 1, requires_grad=True)
torch.arange(1., 4, 1, requires_grad=True)
torch.linspace(0, 1, 5)
torch.linspace(0, 1, 1)
torch.linspace(0, 1, 0)
torch.linspace(0, 1, -1)
torch.linspace(0, 10, 5, dtype=torch.int64)
torch.linspace(0, 10, 4, dtype=torch.int64)
torch.linspace(-5, 5, 4, dtype=torch.int64)
torch.linspace(0, 1, 3, dtype=torch.bool)
torch.linspace(torch.tensor(0.), torch.tensor(1.), 3)
torch.linspace(torch.tensor([0.]), 1, 3)
torch.linspace(0, 1, 3, dtype=torch.uint8)
torch.linspace(0, 3, 7)
torch.linspace(start=0, end=3, steps=7)
torch.linspace(3, -10, 11)
torch.logspace(0, 1, 3)
torch.logspace(0, 3, 4, base=2)
torch.logspace(0, 3, 4, dtype=torch.int64)
torch.logspace(0, 3, 4, base=2, dtype=torch.int64)
torch.logspace(-10, 10, 5)
torch.logspace(0, 1, 1)
torch.logspace(0, 1, -1)
torch.eye(3)
torch.eye(2, 3)
torch.eye(-1)
torch.eye(2, -1)
torch.eye(0)
torch.eye(2, dtype=torch.bool)
torch.eye(2, dtype=torch.int64)
torch.full((2,), 3)
torch.full((2,), 3.)
torch.full((2,), True)
torch.full((), 3)
torch.full((2,), torch.tensor(3.))
torch.full((2,), torch.tensor(3., dtype=torch.float64))
torch.full((-1,), 3)
torch.full((2,), 1.5, dtype=torch.int64)
torch.full((2,), 300, dtype=torch.uint8)
torch.full((2,), 1e40)
torch.full((2,), -1, dtype=torch.uint8)
torch.full((2,), float('nan'), dtype=torch.int64)
torch.zeros(2, 3)
torch.zeros((2, 3))
torch.zeros([2, 3])
torch.zeros(())
torch.zeros([])
torch.zeros(-1)
torch.zeros(size=(2,))
torch.zeros(torch.tensor(2))
torch.zeros(torch.Size([2]))
torch.zeros(2, dtype=int)
torch.zeros(2, dtype=float)
torch.zeros(2, dtype=bool)
torch.zeros(2, device='cpu')
torch.zeros(2, device=torch.device('cpu'))
torch.zeros(2, device='cpu:0')
torch.zeros(2, device='foo')
torch.zeros(2, requires_grad=True, dtype=torch.long)
torch.zeros(2, layout=torch.strided)
torch.zeros(2, pin_memory=False)
torch.zeros_like(m)
torch.zeros_like(m, dtype=torch.long)
torch.zeros_like(m, requires_grad=True)
torch.zeros_like(m.t())
torch.zeros_like(m.t()).stride()
torch.zeros_like(v.expand(2, 3)).stride()
torch.full_like(m, 2)
torch.full_like(i, 2.5)
torch.full_like(m, torch.tensor(2.))
torch.full_like(m, 2, dtype=torch.long)
m.new_zeros(2, 3)
m.new_zeros((2,))
m.new_zeros(2, dtype=torch.long)
m.new_full((2,), 1.5)
i.new_full((2,), 1.5)
m.new_ones([2])
m.new_tensor([1, 2])
i.new_tensor([1.5])
m.new_tensor(m)
m.new_zeros(-1)
torch.scalar_tensor(2)
torch.scalar_tensor(True)
torch.scalar_tensor(2, dtype=torch.long)
torch.scalar_tensor(1.5, dtype=torch.long)
torch.tensor([1, 2.5])
torch.tensor([True, 2])
torch.tensor([True, 2.])
torch.tensor([])
torch.tensor([[], []])
torch.tensor([[1], [2, 3]])
torch.tensor('a')
torch.tensor(['a'])
torch.tensor(None)
torch.tensor([None])
torch.tensor(2**63)
torch.tensor(2**64)
torch.tensor(-2**63)
torch.tensor(300, dtype=torch.uint8)
torch.tensor(-1, dtype=torch.uint8)
torch.tensor(1.5, dtype=torch.int64)
torch.tensor(float('nan'), dtype=torch.int64)
torch.tensor(1e40)
torch.tensor(1e40, dtype=torch.float16)
torch.tensor(70000., dtype=torch.float16)
torch.tensor([1e300])
torch.tensor([1, 2], dtype=torch.bool)
torch.tensor(range(3))
torch.tensor((1, 2))
torch.tensor({1, 2})
torch.tensor({})
torch.tensor([torch.tensor(1), torch.tensor(2.)])
torch.tensor([torch.tensor([1]), torch.tensor([2.])])
torch.tensor([torch.tensor([1, 2]), torch.tensor([2., 3])])
torch.tensor([1, 2], requires_grad=True)
torch.tensor([1., 2], requires_grad=True)
torch.tensor(m)
torch.tensor([1], dtype=int)
torch.tensor(data=[1])
torch.as_tensor([1, 2])
torch.as_tensor(v)
torch.as_tensor(v, dtype=torch.float64)
torch.as_tensor(1.5)
torch.as_tensor([1], dtype=torch.float32)
torch.asarray([1, 2])
torch.asarray(v)
torch.asarray([1, 2], dtype=torch.float32)
torch.asarray(v, copy=True)
torch.asarray(v, requires_grad=False)
torch.asarray([1.], requires_grad=True)
torch.empty((2, 3)).shape
"""

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


@pytest.mark.parametrize("expression", MADE.splitlines() + PARTS.splitlines())
def test_alike(torch, expression):
    ours, theirs = (outcome(lambda lib: eval(expression, words(lib)), lib) for lib in (minigrad, torch))
    assert ours == theirs
