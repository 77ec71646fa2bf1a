"""Reports about gradients of ops that write a part: wrong when compiled, or on another device."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


def both_ways(m: Any, function: Any, *arrays: Any) -> list[Any]:
    """The result and the gradients of the leaves, called as it is and compiled."""
    found = []
    for call in (function, m.compile(function, backend="aot_eager")):
        leaves = [each.detach().clone().requires_grad_() for each in arrays]
        result = call(*leaves)
        result.sum().backward()
        found.append([result.tolist(), *[each.grad.tolist() for each in leaves]])
    return found


@reports("pytorch/pytorch/issues/180164", "`slice_scatter` and a sum along the same dimension zeroed the gradient")
def slice_scatter_and_sum(m):
    return both_ways(m, lambda x, y: m.slice_scatter(x, y, dim=1, start=0, end=2).sum(dim=1),
                     m.arange(8.0).reshape(2, 4), m.ones(2, 2))


@reports("pytorch/pytorch/issues/180771", "elements beside the slice got no gradient")
def slice_scatter_at_the_start(m):
    return both_ways(m, lambda x, y: m.slice_scatter(x, y, dim=0, start=0, end=2).sum(), m.arange(5.0), m.ones(2))


@reports("pytorch/pytorch/issues/180772", "the same, with a weight for each element")
def slice_scatter_with_weights(m):
    weights = m.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    return both_ways(m, lambda x, y: (m.slice_scatter(x, y, dim=0, start=3, end=5) * weights).sum(), m.arange(5.0),
                     m.ones(2))


@reports("pytorch/pytorch/issues/183898", "elements under the slice got a gradient")
def slice_scatter_in_the_middle(m):
    return both_ways(m, lambda x, y: m.slice_scatter(x, y, dim=0, start=1, end=4).sum(), 2 * m.arange(1.0, 7.0),
                     m.tensor([30.0, 40.0, 50.0]))


@reports("pytorch/pytorch/issues/182012", "`diagonal_scatter` gave its first argument a gradient of zeros")
def diagonal_scatter(m):
    return both_ways(m, lambda x, y: m.diagonal_scatter(x, y, 0).sum(), m.zeros(3, 3), m.ones(3))


@reports("pytorch/pytorch/issues/182765", "the same for a diagonal beside the main one")
def diagonal_scatter_beside(m):
    return both_ways(m, lambda x, y: (m.diagonal_scatter(x, y, 1) ** 2).sum(), m.arange(9.0).reshape(3, 3), m.ones(2))


@reports("pytorch/pytorch/issues/183602", "the same with values of zero")
def diagonal_scatter_of_zeros(m):
    return both_ways(m, lambda x, y: m.diagonal_scatter(x, y, -1).exp().sum(), m.zeros(2, 2), m.zeros(1))


@reports("pytorch/pytorch/issues/191571", "reading from what was just scattered into gave the zeros from before")
def read_after_scatter_add(m):
    index = m.zeros(4, dtype=m.int64)

    def gathered(x):
        total = m.zeros(1, 2).scatter_add(0, index[:, None].expand(-1, 2), x)
        return m.index_select(total, 0, index)

    return both_ways(m, gathered, m.arange(8.0).reshape(4, 2))


@reports("pytorch/pytorch/issues/183825", "`layer_norm` gave its weight a wrong gradient if the input wants none")
def layer_norm_of_a_plain_input(m):
    m.manual_seed(0)
    found = []
    for wanted in (True, False):
        x = m.randn(2, 4, generator=m.Generator().manual_seed(0)).requires_grad_(wanted)
        weight, bias = m.ones(4, requires_grad=True), m.zeros(4, requires_grad=True)
        m.nn.functional.layer_norm(x, (4,), weight, bias).sum().backward()
        found.append([weight.grad.tolist(), bias.grad.tolist()])
    return found[0] == found[1], found[0]


@reports("pytorch/pytorch/pull/156867", "batch norm gave wrong gradients in evaluation")
def batch_norm_in_evaluation(m):
    norm = m.nn.BatchNorm1d(2).eval()
    norm.running_mean.copy_(m.tensor([1.0, -1.0]))
    norm.running_var.copy_(m.tensor([4.0, 0.25]))
    x = m.arange(6.0).reshape(3, 2).requires_grad_()
    (norm(x) * m.arange(6.0).reshape(3, 2)).sum().backward()
    return x.grad, norm.weight.grad, norm.bias.grad


@reports("pytorch/pytorch/issues/175189", "batch norm and LSTM gave wrong gradients for inputs that are turned")
def turned_inputs(m):
    m.manual_seed(42)
    norm, lstm, base = m.nn.BatchNorm2d(2), m.nn.LSTM(3, 2), m.randn(2, 2, 3, 2)
    found = []
    for turned in (base, base.to(memory_format=m.channels_last), base.permute(3, 2, 1, 0).contiguous().permute(
            3, 2, 1, 0)):
        x = turned.detach().requires_grad_()
        norm.zero_grad()
        (norm(x) ** 3).sum().backward()
        found.append([x.grad.contiguous(), norm.weight.grad.clone(), norm.bias.grad.clone()])
    for sequence in (m.ones(3, 4, 3), m.ones(4, 3, 3).transpose(0, 1)):
        x = sequence.detach().requires_grad_()
        lstm(x)[0].sum().backward()
        found.append([x.grad.contiguous()])
    return found


@reports("pytorch/pytorch/issues/145070", "a gradient of a wrong shape crashed an adaptive pool instead of an error")
def gradient_of_a_wrong_shape(m):
    y = m.nn.functional.adaptive_avg_pool2d(m.ones(1, 2, 4, 4, requires_grad=True), 2)
    y.backward(m.ones(1, 2, 3, 3))
