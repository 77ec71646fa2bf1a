"""In-place ops on tensors of which several elements lie in one place: what is refused, warned of and written."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch

EXPANDED = """
x[[0]] = 1
x[torch.tensor([0, 1])] = torch.tensor([[5., 6, 7], [8, 9, 10]])
x[[1, 0]] = torch.tensor([[5., 6, 7], [8, 9, 10]])
x[x > 1] = 7
x[x > 1] = torch.tensor([5., 6.])
x[torch.tensor([True, False])] = 4
x[torch.tensor([True, True]), 1:] = 3.
x[torch.tensor([True, False]), torch.tensor([0])] = 3.
x[..., None, [0]] = 9
x[[]] = 1.
x[[0]] += 1
x[[0]] = x[0]
x[[5]] = 1
x[0, 0] = 1
x[1:, [0, 1]] = torch.tensor([[3., 4.]])
x[:] = 1
x.index_put_((torch.tensor([0, 1]),), torch.tensor(1.), accumulate=True)
x.index_put_((torch.tensor([0, 1]),), values=torch.tensor(1.))
x.index_fill_(0, torch.tensor([0]), 3.)
x.index_copy_(0, torch.tensor([0]), torch.ones(1, 3))
x.masked_fill_(x > 1, 3.)
x.masked_fill_(x[0] > 0, torch.tensor(3.))
x.masked_scatter_(x > 1, torch.ones(6))
x.scatter_add_(0, torch.tensor([[0, 1, 0]]), torch.ones(1, 3))
x.put_(torch.tensor([0, 4]), torch.tensor([1., 2.]))
x.tril_()
x.triu_(1)
x.add_(1)
x.zero_()
""".strip().splitlines()

WINDOWS = """
x[[0]] = 9
x[[1, 0]] = torch.tensor([[1., 2], [3, 4]])
x[:, [1, 0]] = torch.tensor([7., 8.])
x[x == 1] = 5
x.index_put_((torch.tensor([0, 1]),), torch.tensor(1.), accumulate=True)
x.index_fill_(0, torch.tensor([0]), 3.)
x.index_copy_(0, torch.tensor([0]), torch.ones(1, 2))
x.index_add_(0, torch.tensor([0]), torch.ones(1, 2))
x.scatter_(0, torch.tensor([[0, 0]]), 7.)
x.scatter_add_(0, torch.tensor([[0, 0]]), torch.ones(1, 2))
x.masked_fill_(x == 1, float("nan"))
x.masked_scatter_(x == 0, torch.tensor([8.]))
x.put_(torch.tensor([0]), torch.tensor([8.]))
x.tril_()
x.triu_()
""".strip().splitlines()


@pytest.mark.parametrize("statement", EXPANDED)
def test_elements_that_expand_repeats(torch, statement):
    def program(m):
        base = m.arange(3.)
        x = base.expand(2, 3)
        exec(statement, {"torch": m, "x": x})
        return str(base.tolist()), base._version, x._version

    alike(torch, program)


@pytest.mark.parametrize("statement", WINDOWS)
def test_windows_that_overlap(torch, statement):
    def program(m):
        base = m.arange(5.)
        exec(statement, {"torch": m, "x": base.as_strided((3, 2), (1, 1))})
        return str(base.tolist()), base._version

    alike(torch, program)


@pytest.mark.parametrize("statement", ["x[[0]] = 1", "x.masked_fill_(x > 1, 3.)", "x.tril_()"])
def test_what_was_written_has_a_history_that_backward_refuses(torch, statement):
    def written(m):
        base = m.arange(3.).requires_grad_() * 1
        x = base.expand(2, 3)
        exec(statement, {"x": x})
        return base, x, base.sum()

    alike(torch, lambda m: written(m)[:2])
    alike(torch, lambda m: written(m)[2].backward())
