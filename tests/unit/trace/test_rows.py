"""What ops did, by the shapes of their tensors and by what they kept."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

import minigrad as torch
from minigrad.nn import functional as F
from minigrad.recorder import Trace, record
from minigrad.trace.rows import flops


def tensors(*shapes: tuple[int, ...]) -> list[dict[str, Any]]:
    return [{"shape": [*shape]} for shape in shapes]


@pytest.mark.parametrize(("name", "shapes", "wanted"), [
    ("MmBackward0", [(2, 3), (3, 4), (2, 4)], 2 * 2 * 3 * 4),
    ("AddmmBackward0", [(4,), (2, 3), (3, 4), (2, 4)], 2 * 2 * 3 * 4),
    ("BmmBackward0", [(5, 2, 3), (5, 3, 4), (5, 2, 4)], 2 * 5 * 2 * 3 * 4),
    ("ConvolutionBackward0", [(1, 3, 8, 8), (6, 3, 5, 5), (6,), (1, 6, 4, 4)], 2 * 6 * 16 * 3 * 25),
    ("ScaledDotProductAttentionBackward0", [(1, 2, 7, 4), (1, 2, 9, 4), (1, 2, 9, 4), (1, 2, 7, 4)], 4 * 56 * 9),
    ("ReluBackward0", [(2, 3), (2, 3)], 6),
    ("TanhBackward0", [(5,), (5,)], 5),  # no transpose
    ("TBackward0", [(2, 3), (3, 2)], 0),
    ("ViewBackward0", [(2, 3), (6,)], 0),
    ("ConvolutionBackward0", [(2, 8, 5), (8, 4, 3), (4,), (2, 4, 11)], 2 * 2 * 8 * 5 * 4 * 3),  # transposed
    ("ConvolutionBackward0", [(2, 8, 5), (8, 8, 3), (2, 8, 11)], 2 * 2 * 8 * 5 * 8 * 3),  # transposed, as many channels
    ("ConvolutionBackward0", [(8, 5, 5), (8, 1, 3, 3), (8, 5, 5)], 2 * 8 * 25 * 9),  # in groups, without a batch
    ("MkldnnRnnLayerBackward0", [(7, 4, 16), (96, 16), (96, 24), (96,), (96,), (4, 24), (7, 4, 24)],
     2 * 28 * 96 * (16 + 24)),
    ("CudnnRnnBackward0", [(7, 4, 16), (96, 16), (96, 24), (96,), (96,), (1, 4, 24), (7, 4, 24)],
     2 * 28 * 96 * (16 + 24)),
    ("TrilinearBackward0", [(4, 16), (8, 16, 5), (4, 5), (4, 8)], 2 * 4 * 8 * 16 * 5),
    ("AddbmmBackward0", [(2, 4), (5, 2, 3), (5, 3, 4), (2, 4)], 2 * 5 * 2 * 3 * 4),
    ("ScaledDotProductAttentionBackward0", [(7, 4), (9, 4), (9, 6), (7, 6)], 2 * 7 * 9 * (4 + 6)),
    ("MeanBackward1", [(4, 8, 16, 16), (4, 8)], 4 * 8 * 256),
    ("CloneBackward0", [(2, 3), (2, 3)], 0),
    ("CatBackward0", [(2, 3), (2, 3), (4, 3)], 0),
    ("EmbeddingBackward0", [(50, 16), (4, 7), (4, 7, 16)], 0),
])
def test_flops(name: str, shapes: list[tuple[int, ...]], wanted: int) -> None:
    record = {"inputs": [*range(len(shapes) - 1)], "outputs": [len(shapes) - 1]}
    assert flops(name, record, tensors(*shapes)) == wanted


def rows_of(trace: Trace) -> list[Any]:
    return trace.rows([([node], None) for node in range(len(trace.nodes))])


def test_a_storage_counts_once() -> None:
    x = torch.ones(3, requires_grad=True)
    with record() as trace:
        y = x.exp()  # it saves its result, which the product saves again
        (y * y).sum().backward()
    every = [*range(len(trace.nodes))]
    together, = trace.rows([(every, None)])
    assert together.saved == 12 < sum(row.saved for row in rows_of(trace))


def test_the_gradient_is_that_of_the_output() -> None:
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with record() as trace:
        (w * 2).sum().backward()
    found = {node["name"]: row for node, row in zip(trace.nodes, rows_of(trace), strict=True)}
    assert found["MulBackward0"].gradient == pytest.approx(2**0.5)
    assert found["AccumulateGrad"].gradient == pytest.approx(8**0.5)
    assert found["AccumulateGrad"].output == (2,) and found["SumBackward0"].output == ()


def test_what_no_gradient_reached_has_none() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    with record() as trace:
        F.relu(x)
    assert {row.gradient for row in rows_of(trace)} == {None}
    assert [prod(row.output) for row in rows_of(trace)] == [6, 6]


def test_no_nodes_did_nothing() -> None:
    with record() as trace:
        torch.ones(2)
    assert trace.rows([((), None)]) == [(None, (), 0, 0, 0, None, None, None)]
