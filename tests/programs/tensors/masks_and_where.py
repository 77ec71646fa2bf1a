"""Builds padding, causal and band masks and fills, clips and averages under them, as text-model helper files do."""

import torch
import torch.nn as nn

torch.manual_seed(0)


def make_padding_mask(lengths, max_len=None):
    max_len = max_len or int(lengths.max())
    return torch.arange(max_len, device=lengths.device).expand(len(lengths), max_len) < lengths.unsqueeze(1)


lengths = torch.tensor([4, 2, 3])
mask = make_padding_mask(lengths)
print(mask, mask.int(), ~mask, sep="\n")
causal = torch.tril(torch.ones(4, 4, dtype=torch.bool))
both = mask[:, None, :] & causal
print(both.shape, both.sum((1, 2)), (both | ~causal).all().item(), (both ^ causal).any(-1))
print(torch.ones(4, 4).triu(-1).tril(1), nn.Transformer.generate_square_subsequent_mask(3))

hidden = torch.randn(3, 4, 2)
mean = (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
print(mean, hidden.masked_fill(~mask[..., None], -1e9).max(dim=1).values, sep="\n")
scores = torch.randn(3, 4, 4)
weights = scores.masked_fill(both.logical_not(), float("-inf")).softmax(dim=-1)
print(weights[1], torch.isnan(weights).any())
token = torch.zeros(3, 4).masked_fill_(mask, 1.5).masked_scatter(~mask, torch.arange(12.0))
print(token)

x = torch.linspace(-2, 2, 9)
print(torch.where(x > 0, x, 0.1 * x), torch.where(x.abs() < 1, 1, 0), torch.where(x > 1)[0])
print(x.clamp(-1, 1), x.clip(max=0.5), torch.clamp(x, min=torch.zeros(9)), x.clamp_min(1.0), sep="\n")
print(torch.logical_and(x > -1, x < 1), (x > -1) & (x < 1), torch.logical_xor(x > 0, x > 1).nonzero().flatten())
print((x >= 0).float().mean(), (x == 0).any(), torch.all(x < 3), x.ne(0).sum(), x.ge(1), torch.eq(x, x.flip(0)).tolist())
print(torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-7, 2.1])), torch.maximum(x, -x), torch.heaviside(x, torch.tensor([0.5])), x.sign())
nan = torch.tensor([1.0, float("nan"), 3.0, float("inf")])
print(nan.isnan(), nan.isfinite(), nan.nanmean(), torch.nansum(nan[:3]), nan.nan_to_num(0.0, 99.0), (nan == nan).all(), nan[:3].nanmedian())

drop = torch.bernoulli(torch.full((3, 4), 0.7)).bool()
print(drop.sum(), (hidden[..., 0] * drop / 0.7).shape, torch.rand(3) < 0.5)
mlm_labels = torch.arange(12).view(3, 4)
chosen = torch.rand(3, 4).lt(0.4) & mask
inputs = mlm_labels.clone()
mlm_labels[~chosen] = -100
inputs[chosen] = 99
print(inputs, mlm_labels, sep="\n")
loss = nn.functional.cross_entropy(torch.randn(3, 4, 12).transpose(1, 2), mlm_labels, ignore_index=-100)
print(loss)
try:
    torch.zeros(3).masked_fill(torch.tensor([0, 1, 0]), 1.0)
except RuntimeError as error:
    print(error)
try:
    bool(mask)
except RuntimeError as error:
    print(error)
