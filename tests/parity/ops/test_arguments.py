"""Which numbers, factors and dtypes an op takes, and what it makes of them: line by line as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

LINES = """\
T([True]).add(True, alpha=2)
T([True]).add(True, alpha=True)
T([True]).add(True, alpha=0)
T([False]).add(True, alpha=2)
T([True]).add(T([True]), alpha=2)
T([True]).add(1, alpha=2)
T([True]).add_(True, alpha=2)
T([1]).add(True, alpha=2)
T([1]).add(True, alpha=True)
T([1]).add(2, alpha=1.5)
T([1]).add(2.0, alpha=1.5)
T([1.0]).add(True, alpha=2)
T([True]).sub(True, alpha=2)
T([1]).sub(2, alpha=1.5)
T([1.0]).sub(2, alpha=1.5)
T(2.0).expand()
T(2.0).permute()
T(2.0).view()
T(2.0).reshape()
T(2.0).repeat()
T(2.0).tile()
T(2.0).flip()
T([2.0]).expand()
T([2.0]).permute()
T([2.0]).reshape()
T([2.0]).repeat()
T([2.0]).tile()
T([2.0]).flip()
torch.block_diag(T([1.0, 2.0]), T(2.0, dtype=torch.float64))
torch.block_diag(T(2.0, dtype=torch.float64), T([1.0, 2.0]))
torch.block_diag(T(2.0, dtype=torch.float64), T(1.0))
torch.block_diag(T([1.0, 2.0]), T([[2.0]], dtype=torch.float64))
torch.block_diag(T([1, 2]), T(2.0))
torch.block_diag(T([1, 2]), T(True))
torch.block_diag(T([1, 2], dtype=torch.int8), T(300))
F.cosine_similarity(T([1.0, 2.0]), T(2.0, dtype=torch.float64), dim=0)
F.cosine_similarity(T(2.0, dtype=torch.float64), T([1.0, 2.0]), dim=0)
F.cosine_similarity(T([1.0, 2.0]), T(2), dim=0)
F.cosine_similarity(T([1, 2]), T(2.0), dim=0)
torch.kron(torch.arange(6.0).view(2, 3).t(), torch.arange(4.0).view(2, 2).t())
torch.kron(torch.arange(6.0).view(2, 3)[:, ::2], torch.arange(4.0))
F.binary_cross_entropy(T([NAN]), T([1.0]))
F.binary_cross_entropy(T([0.5]), T([NAN]))
F.binary_cross_entropy(T([1.5]), T([1.0]))
T([1.0, 0.0], requires_grad=True).logical_not_()
T([1.0, 0.0], requires_grad=True).logical_and_(T([1.0, 1.0]))
T([1.0, 0.0], requires_grad=True).logical_or_(T([1.0, 1.0]))
T([1.0, 0.0], requires_grad=True).logical_xor_(T([1.0, 1.0]))
(T([1.0, 0.0], requires_grad=True) * 1).logical_not_()
T([[1.0, 0.0]], requires_grad=True)[0].logical_not_()
torch.detach(T([1.0], requires_grad=True) * 2)
"""
NUMBERS = (-0.5, -1.5, -1, -255, -256, 127.9, 255.0, 255.5, -128.5, 300, 2.0**31, 2.0**63, -(2.0**63), 9.3e18,
           float("nan"))
WRITES = {
    "fill_": lambda m, x, v: x.fill_(v),
    "full": lambda m, x, v: m.full((1,), v, dtype=x.dtype),
    "masked_fill": lambda m, x, v: x.masked_fill(m.tensor([True, False]), v),
    "index_fill": lambda m, x, v: x.index_fill(0, m.tensor([0]), v),
    "scatter": lambda m, x, v: x.scatter(0, m.tensor([0]), v),
    "setitem": lambda m, x, v: (x.__setitem__(0, v), x)[1],
}


@pytest.mark.parametrize("expression", LINES.splitlines())
def test_line(torch, expression):
    def program(m):
        return eval(expression, {"torch": m, "T": m.tensor, "F": m.nn.functional, "NAN": float("nan")})

    assert outcome(program, minigrad) == outcome(program, torch)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("name", WRITES)
def test_a_number_in_an_integer_dtype(torch, name, dtype):
    def program(m):
        results = []
        for value in NUMBERS:
            try:
                results.append(WRITES[name](m, m.zeros(2, dtype=getattr(m, dtype)), value).tolist())
            except RuntimeError as error:
                results.append(str(error))
        return results

    assert outcome(program, minigrad)[0] == outcome(program, torch)[0]
