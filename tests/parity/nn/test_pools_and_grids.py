"""Pools, their inverses, grids, bags of embeddings and lazy layers: values, gradients and errors as in PyTorch."""

from __future__ import annotations

import copy
import math

import pytest

import minigrad
import minigrad.nn
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

# `once(result)` gives a result with its gradients, `twice(result)` with those of a penalty on them too.
PROGRAMS = """\
result = F.max_pool3d(volume, 2, dilation=0)

result = twice(F.max_pool3d(volume, 2))

result = twice(F.max_pool3d(volume, (2, 3, 2), (1, 2, 1), 1, (1, 1, 2), ceil_mode=True))

result = twice(F.max_pool3d(volume[0], 2, 1))

result = F.max_pool3d(volume, 2, 1, return_indices=True)

result = twice(m.max_pool3d(volume, 3, 2, 1))

result = F.avg_pool3d(volume, 2, divisor_override=0)

result = twice(F.avg_pool3d(volume, 2))

result = twice(F.avg_pool3d(volume, (2, 3, 2), (1, 2, 1), 1, True, False))

result = twice(F.avg_pool3d(volume[0], 2, 1, divisor_override=3))

result = [twice(nn.AvgPool3d(2, 1)(volume)), str(nn.AvgPool3d(2)), str(nn.MaxPool3d(2, padding=1))]

result = F.max_unpool2d(picture, picture, 2)

result = F.max_unpool2d(m.ones(1, 1, 2, 2), m.full((1, 1, 2, 2), 99), 2)

result = F.max_unpool2d(m.ones(1, 1, 2, 2), m.ones(1, 1, 2, 3).long(), 2)

result = F.max_unpool2d(m.ones(1, 1, 2, 2), m.arange(4).view(1, 1, 2, 2), 2, output_size=(9, 9))

result = F.max_unpool2d(m.ones(1, 1, 2, 2), m.arange(4).view(1, 1, 2, 2), 2, output_size=(1, 1, 9))

result = F.max_unpool2d(m.ones(2, 2), m.arange(4).view(2, 2), 2)

result = twice(F.max_unpool2d(F.max_pool2d(picture, 2), F.max_pool2d(picture, 2, return_indices=True)[1], 2))

result = twice(F.max_unpool2d(F.max_pool2d(picture, 2, 1), F.max_pool2d(picture, 2, 1, return_indices=True)[1], 2, 1))

result = twice(F.max_unpool1d(F.max_pool1d(signal, 2), F.max_pool1d(signal, 2, return_indices=True)[1], 2))

pooled, indices = F.max_pool1d(signal, 2, return_indices=True)
result = twice(F.max_unpool1d(pooled, indices, 2, output_size=(5,)))

result = twice(F.max_unpool3d(F.max_pool3d(volume, 2), F.max_pool3d(volume, 2, return_indices=True)[1], 2))

result = [
    twice(nn.MaxUnpool2d(2)(*nn.MaxPool2d(2, return_indices=True)(picture))),
    str(nn.MaxUnpool2d(2)),
    str(nn.MaxUnpool1d(2, 1)),
    str(nn.MaxUnpool3d(2, (1, 2, 3)))]

result = [twice(F.lp_pool1d(signal.abs(), 2, 2)), twice(nn.LPPool1d(1.5, 2)(signal.abs())), str(nn.LPPool2d(2, 3))]

result = [twice(F.lp_pool2d(picture.abs(), 2, 2)), twice(F.lp_pool2d(picture.abs(), 1.5, (2, 3), 1, True))]

result = twice(F.lp_pool3d(volume.abs(), 2, 2))

result = [F.lp_pool2d(picture, float("inf"), 2), F.lp_pool1d(signal, float("-inf"), 2)]

result = F.lp_pool2d(picture, 2, 0)

result = F.local_response_norm(m.ones(2), 2)

result = [
    twice(F.local_response_norm(signal, 2)),
    twice(F.local_response_norm(picture, 3, 0.1, 0.5, 2.0)),
    twice(nn.LocalResponseNorm(2)(volume)),
    str(nn.LocalResponseNorm(2))]

result = [
    twice(F.embedding_bag(rows, table, offsets, mode="sum")),
    twice(F.embedding_bag(rows, table, offsets)),
    twice(F.embedding_bag(rows, table, offsets, mode="max"))]

result = [
    once(F.embedding_bag(rows, table, offsets, mode="sum", padding_idx=2)),
    once(F.embedding_bag(rows, table, offsets, padding_idx=-2)),
    once(F.embedding_bag(rows, table, offsets, mode="max", padding_idx=2))]

result = once(F.embedding_bag(rows, table, offsets, mode="sum", per_sample_weights=factors))

result = twice(F.embedding_bag(rows, table, offsets, mode="sum", per_sample_weights=factors))

result = once(F.embedding_bag(rows, table, offsets, mode="sum", include_last_offset=True))

result = [once(F.embedding_bag(rows[:4].view(2, 2), table)), F.embedding_bag(rows[:0], table, offsets[:0])]

result = F.embedding_bag(rows, table.detach().clone(), offsets, max_norm=1.0)

result = F.embedding_bag(rows, table)

result = F.embedding_bag(rows, table, m.tensor([0, 9]))

result = F.embedding_bag(rows, table, offsets + 1)

result = F.embedding_bag(rows.int(), table, offsets.int() + 1)

result = F.embedding_bag(rows, table.float(), m.tensor([0, 3, 1]))

result = F.embedding_bag(rows, table.float(), m.tensor([0, 3, 1]), mode="sum")

result = once(F.embedding_bag(rows[:4].view(2, 2), table, include_last_offset=True))

result = F.embedding_bag(rows, table, m.tensor([0.0]))

result = F.embedding_bag(rows, table, offsets, mode="x")

result = F.embedding_bag(rows[:4].view(2, 2), table, offsets)

result = F.embedding_bag(rows[:4].view(2, 2), table, per_sample_weights=m.ones(2, 2))

result = F.embedding_bag(rows, table, offsets, per_sample_weights=m.ones(2, 2))

result = F.embedding_bag(m.tensor([[1, 7]]), table)

result = F.embedding_bag(m.tensor([[[1]]]), table)

result = F.embedding_bag(rows, table[0], offsets)

result = F.embedding_bag(rows, table, offsets, mode="max", scale_grad_by_freq=True)

m.manual_seed(0)
bag = nn.EmbeddingBag(5, 3, padding_idx=-1)
result = (str(bag), bag.weight, once(bag(rows, offsets)), str(nn.EmbeddingBag(5, 3, max_norm=1.0, mode="sum")))

bag = nn.EmbeddingBag.from_pretrained(m.ones(3, 2))
result = (bag.weight.requires_grad, bag(m.tensor([[0, 1]])))

result = nn.EmbeddingBag(3, 2, padding_idx=3)

result = F.multilabel_margin_loss(m.ones(2, 3), m.ones(2, 2).long())

result = F.multilabel_margin_loss(m.ones(3), m.tensor([0, 5, 2]))

result = F.multilabel_margin_loss(m.ones(3), m.tensor([0.0, 1, 2]))

result = [
    once(F.multilabel_margin_loss(signal[0], classes)),
    once(F.multilabel_margin_loss(signal[0], classes, reduction="sum")),
    once(F.multilabel_margin_loss(signal[0], classes, reduction="none")),
    once(nn.MultiLabelMarginLoss()(signal[0, 0], classes[0]))]

result = twice(F.multilabel_margin_loss(signal[0], classes))

result = F.multilabel_margin_loss(m.ones(2, 3, 4), classes)

result = F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 3))

result = F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(2, 1, 1, 2))

result = F.grid_sample(m.ones(1, 1, 2), m.zeros(1, 1, 2))

result = F.grid_sample(m.ones(1, 1, 0, 2), m.zeros(1, 1, 1, 2))

result = F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 2), mode="x")

result = F.grid_sample(m.ones(1, 1, 2, 2), m.zeros(1, 1, 1, 2), padding_mode="x")

result = F.grid_sample(volume, places_3d, mode="bicubic")

result = [
    twice(F.grid_sample(picture, places, align_corners=False)),
    twice(F.grid_sample(picture, places, align_corners=True))]

result = [
    twice(F.grid_sample(picture, places, padding_mode="border", align_corners=False)),
    twice(F.grid_sample(picture, places, padding_mode="border", align_corners=True))]

result = [
    twice(F.grid_sample(picture, places, padding_mode="reflection", align_corners=False)),
    twice(F.grid_sample(picture, places, padding_mode="reflection", align_corners=True))]

result = [
    twice(F.grid_sample(picture, places, "nearest", align_corners=False)),
    twice(F.grid_sample(picture, places, "nearest", "border", align_corners=True)),
    twice(F.grid_sample(picture, places, "nearest", "reflection", align_corners=True))]

result = [
    twice(F.grid_sample(picture, places, "bicubic", align_corners=False)),
    twice(F.grid_sample(picture, places, "bicubic", "border", align_corners=True))]

result = [
    twice(F.grid_sample(picture, places, "bicubic", "reflection", align_corners=True)),
    twice(F.grid_sample(picture, places, "bicubic", "reflection", align_corners=False))]

result = [
    twice(F.grid_sample(volume, places_3d, align_corners=False)),
    twice(F.grid_sample(volume, places_3d, "nearest", align_corners=False)),
    once(F.grid_sample(volume, places_3d, padding_mode="reflection", align_corners=True))]

result = [
    F.grid_sample(picture, m.full_like(places, float("nan")), align_corners=False).isnan(),
    F.grid_sample(picture, m.full_like(places, float("inf")), padding_mode="border", align_corners=False)]

result = F.grid_sample(picture, places)

result = F.affine_grid(m.ones(1, 2, 3), (1, 1, 2))

result = F.affine_grid(m.ones(1, 3, 3), (1, 1, 2, 2))

result = F.affine_grid(m.ones(1, 2, 3).long(), (1, 1, 2, 2))

result = F.affine_grid(m.ones(1, 2, 3), (1, 1, 0, 2))

result = [
    twice(F.affine_grid(maps, (2, 1, 3, 4), align_corners=False)),
    twice(F.affine_grid(maps, (2, 1, 3, 4), align_corners=True)),
    twice(F.affine_grid(maps, [2, 1, 1, 1], True)),
    twice(F.affine_grid(map_3d, (1, 1, 2, 3, 2), False))]

result = twice(F.grid_sample(picture, F.affine_grid(maps[:1], (1, 2, 3, 3), False), align_corners=False))

m.manual_seed(0)
layer = nn.LazyLinear(3)
result = (str(layer), layer.has_uninitialized_params(), str(layer.weight))
output = layer(m.ones(2, 4))
result = (result, str(layer), type(layer).__name__, output, layer.state_dict())

m.manual_seed(0)
first = nn.LazyConv2d(3, 2, bias=False)
layer = nn.Sequential(first, nn.LazyBatchNorm2d(), nn.ReLU(), nn.LazyConvTranspose2d(2, 2, groups=1))
result = str(layer)
output = layer(m.ones(1, 2, 4, 4))
result = (result, str(layer), output.shape, [tuple(v.shape) for v in layer.state_dict().values()])

layer = nn.LazyLinear(3)
other = nn.Linear(4, 3)
result = (str(layer.load_state_dict(other.state_dict())), layer(m.ones(1, 4)).shape, str(layer))

layer = nn.LazyLinear(3)
layer.weight.shape

layer = nn.LazyConv2d(4, 3, groups=2)
layer(m.ones(1, 3, 5, 5))

layer = nn.LazyConv2d(4, 3)
layer(m.ones(3, 5))

layer = nn.LazyInstanceNorm1d(affine=True)
output = layer(m.ones(2, 3, 4))
result = (str(layer), output, type(layer).__name__)

layer = nn.LazyConv1d(2, 3, 2, 1, 1, 1, False)
result = (str(layer), layer.bias)
layer(m.ones(2, 4, 9))
result = (result, str(layer))

layer = nn.LazyLinear(3)
state = layer.state_dict()
result = (list(state), [str(v) for v in state.values()], copy.deepcopy(layer).has_uninitialized_params())

layer = nn.LazyLinear(3)
output = m.optim.SGD(layer.parameters(), 0.1)
layer(m.ones(1, 2)).sum().backward()
output.step()
result = layer.bias

layer = nn.LazyBatchNorm1d(momentum=0.2)
layer.eval()
result = str(layer)
layer(m.ones(2, 3))
result = (result, str(layer), layer.state_dict())

result = nn.LazyBatchNorm2d()(m.ones(2, 3))
"""
SHAPES = {"volume": (1, 2, 4, 4, 4), "picture": (1, 2, 4, 5), "signal": (2, 3, 5), "places": (1, 3, 2, 2),
          "places_3d": (1, 2, 2, 2, 3), "maps": (2, 2, 3), "map_3d": (1, 3, 4), "table": (5, 3), "factors": (6,)}
STEPS = {"places": 2.1, "places_3d": 0.7}


def names_for(m):
    """The tensors that a program may use under a library, and the functions that derive a result."""
    leaves = {name: (m.arange(float(math.prod(shape)), dtype=m.float64).mul(STEPS.get(name, 1.3)).sin() * 1.7).view(
        shape).requires_grad_() for name, shape in SHAPES.items()}
    inputs = list(leaves.values())

    def rounded(tensors):
        return [None if each is None else m.nan_to_num(each.detach() * 1e5, nan=7.0).round() / 1e5 for each in tensors]

    def once(result):
        return result, rounded(m.autograd.grad((result ** 2).sum(), inputs, allow_unused=True))

    def twice(result):
        first = m.autograd.grad((result ** 2).sum(), inputs, create_graph=True, allow_unused=True)
        known = [each for each in first if each is not None and each.requires_grad]
        if not known:
            return result, rounded(first)
        second = m.autograd.grad(sum((each ** 2).sum() for each in known), inputs, allow_unused=True)
        return result, rounded(first), [each if each is not None and each.any() else None for each in rounded(second)]

    return {"m": m, "nn": m.nn, "F": m.nn.functional, "copy": copy, "once": once, "twice": twice, **leaves,
            "rows": m.tensor([1, 2, 1, 3, 0, 4]), "offsets": m.tensor([0, 2, 2, 4]),
            "classes": m.tensor([[0, -1, 1, 2, 3], [2, 1, -1, 0, 0], [3, 4, 0, 1, 2]])}


@pytest.mark.parametrize("source", PROGRAMS.strip().split("\n\n"))
def test_program(torch, source):
    def program(m):
        names = names_for(m)
        exec(source, names)
        return names.get("result")

    assert outcome(program, minigrad) == outcome(program, torch)


@pytest.mark.parametrize("arguments", [
    "volume, (1, 2)", "volume, 0", "volume, 2, 0", "volume, 2, padding=2", "volume, 9", "volume, 2, padding=-1",
    "volume[0, 0], 2", "m.ones(1, 0, 4, 4, 4), 2", "volume.detach().mul(9).long(), 2"])
@pytest.mark.parametrize("pool", ["max_pool3d", "avg_pool3d"])
def test_what_a_pool_of_volumes_refuses(torch, pool, arguments):
    def program(m):
        return eval(f"F.{pool}({arguments})", names_for(m))

    assert outcome(program, minigrad) == outcome(program, torch)


def test_bags_that_begin_before_the_first(torch):
    """PyTorch reads memory of others there, and mostly finds an index that is out of range."""
    with pytest.raises(IndexError, match="^index out of range in self$"):
        eval("F.embedding_bag(rows, table, m.tensor([0, -1, 2]))", names_for(minigrad))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("offsets", ["offsets[:0]", "offsets[:1], include_last_offset=True"])
def test_rows_without_a_bag(torch, offsets, mode):
    """Some modes of PyTorch's read memory of others there; the rest gives no rows."""
    result = eval(f"F.embedding_bag(rows, table, mode='{mode}', offsets={offsets})", names_for(minigrad))
    assert result.shape[0] == 0
