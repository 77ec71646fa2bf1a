"""Which results share memory with what an op was given: a write into the one is seen in the other, or is not."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

# x has no dimensions, and is a view; most of these would have nothing to do for it.
OF_A_NUMBER = """\
x.cumsum(0)
x.cumprod(0)
x.logcumsumexp(0)
x.cummax(0)[0]
x.flip(0)
x.flip([])
x.roll(0)
x.tile(())
x.repeat(())
x.sort()[0]
x.topk(1)[0]
x.sum()
x.prod()
x.mean()
x.max()
x.amax()
x.softmax(0)
x.clamp()
x.clamp(min=-9)
x.nan_to_num()
x.pow(1)
x.real
x.conj()
x.positive()
x.detach()
torch.detach(x)
x.contiguous()
x.float()
x.double()
x.to(x)
x.type_as(x)
x.cpu()
x.squeeze()
x.unsqueeze(0)
x.view(())
x.reshape(())
x.flatten()
x.ravel()
x.expand(())
x.permute(())
x.clone()
x.data
x[...]
x[()]
x[None]
x[None][[0]]
x[None].unfold(0, 1, 1)
x[None].repeat(1)
x[None].tile(1)
x[None].repeat_interleave(1)
x[None].cumsum(0)
x[None].diff(n=0)
x[None].msort()
x[None].sum(0)
x[None].amax(0)
x[None].chunk(1)[0]
x[None, None].tril()
torch.broadcast_tensors(x, x)[0]
torch.broadcast_to(x, ())
torch.atleast_1d(x)
torch.cat([x[None]])
torch.stack([x])
torch.hstack([x])
torch.block_diag(x)
torch.kron(x, x)
torch.take(x, torch.tensor(0))
torch.gather(x, 0, torch.tensor(0))
torch.index_select(x, 0, torch.tensor([0]))
torch.masked_fill(x, torch.tensor(False), 1)
torch.where(torch.tensor(True), x, x)
torch.meshgrid(x[None], indexing="ij")[0]
torch.tensor_split(x[None], 1)[0]
torch.rot90(x[None, None], 0)
torch.rot90(x[None, None], 4)
torch.roll(x[None], 1)
torch.einsum("->", x)
torch.einsum("i->i", x[None])
torch.diagonal(x[None, None])
torch.diag(x[None, None])
torch.diag(x[None])
torch.diag_embed(x[None])
torch.linalg.matrix_power(x[None, None], 1)
torch.as_tensor(x)
torch.asarray(x)
F.relu(x)
F.threshold(x, -9, 0)
F.dropout(x, 0.0)
F.dropout(x, 0.5, False)
F.pad(x[None], (0, 0))
F.pad(image, (0, 0, 0, 0), mode="reflect")
F.pixel_shuffle(image, 1)
F.pixel_unshuffle(image, 1)
F.channel_shuffle(image, 1)
F.unfold(image, 1)
F.unfold(image, 1, stride=2)
F.fold(x[None, None], (1, 1), 1)
F.avg_pool2d(image, 1)
F.max_pool2d(image, 1)
F.adaptive_avg_pool2d(image, 1)
F.adaptive_max_pool2d(image, 1)
F.interpolate(image, size=1)
F.interpolate(image, scale_factor=1)
F.normalize(x[None], dim=0)
torch.nn.Identity()(x)
torch.nn.Flatten()(x[None])
torch.nn.Unflatten(0, (1, 1))(x[None])
torch.nn.Parameter(x)
"""
# And of more elements, where the order or the strides would stay as they are.
OF_MORE = """\
x.flip([])
x.roll(0)
x.t().flip([])
x.repeat(1, 1)
x.tile(1)
x.diff(n=0)
x.sort()[0]
x.permute(0, 1)
x.reshape(3, 2)
x.t().reshape(3, 2)
x.t().reshape(6)
x.t().flatten()
x[:, :2].flatten()
x[:1].flatten()
x.t().contiguous()
x.to(torch.float32)
torch.cat([x])
torch.vstack([x])
torch.atleast_3d(x)
torch.rot90(x, 4)
torch.einsum("ij->ij", x)
torch.einsum("ij->ji", x)
F.pixel_shuffle(x[None, None], 1)
F.pixel_unshuffle(x[None, None], 1)
F.channel_shuffle(x[None, None], 1)
F.unfold(x[None, None], 1)
F.unfold(x[None, :, None], (1, 1))
F.pad(x, (0, 0))
F.interpolate(x[None], scale_factor=1)
"""


def written(m, expression, number):
    """Whether a write into the result shows in the input, and the other way round."""
    def made():
        whole = m.arange(6.0).reshape(2, 3)
        x = whole[1, 1] if number else whole
        image = x[None, None, None] if number else None
        return x, eval(expression, {"torch": m, "F": m.nn.functional, "x": x, "image": image})

    x, result = made()
    before = x.tolist()
    result.detach().fill_(70.0)
    y, other = made()
    kept = other.tolist()
    y.fill_(90.0)
    return x.tolist() != before, other.tolist() != kept


@pytest.mark.parametrize("expression", OF_A_NUMBER.splitlines())
def test_of_a_number(torch, expression):
    assert outcome(lambda m: written(m, expression, True), minigrad) == outcome(
        lambda m: written(m, expression, True), torch)


@pytest.mark.parametrize("expression", OF_MORE.splitlines())
def test_of_more_elements(torch, expression):
    assert outcome(lambda m: written(m, expression, False), minigrad) == outcome(
        lambda m: written(m, expression, False), torch)
