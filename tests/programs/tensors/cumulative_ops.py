"""Uses cumsum, cumprod, cummax, flips and shifts for returns, discounts, prefix sums, moving averages and sampling."""

import torch

torch.manual_seed(4)
x = torch.tensor([3.0, -1.0, 4.0, 1.0, -5.0, 9.0])
print(x.cumsum(0), torch.cumprod(x, dim=0), x.logcumsumexp(0), sep="\n")
print(torch.cummax(x, dim=0), x.cummin(0).indices, x.diff(), torch.diff(x, n=2, prepend=torch.zeros(1)))
m = torch.arange(1, 7).reshape(2, 3)
print(m.cumsum(0), m.cumsum(dim=1, dtype=torch.float32), m.cumprod(1), m.double().cumsum(-1).flip(-1), sep="\n")
mask = torch.tensor([True, False, True, True])
print(mask.cumsum(0), torch.cumsum(mask, 0) * mask - 1, mask.cumprod(0), mask.int().flip(0).cumsum(0).flip(0))


def discounted(rewards, gamma):
    returns, R = [], 0.0
    for r in rewards.flip(0):
        R = r + gamma * R
        returns.insert(0, R)
    return torch.stack(returns)


rewards = torch.tensor([1.0, 0.0, 0.0, 2.0, -1.0])
g = 0.9 ** torch.arange(5)
print(discounted(rewards, 0.9), (rewards * g).flip(0).cumsum(0).flip(0) / g, sep="\n")


def gae(rewards, values, dones, gamma=0.99, lam=0.95):
    advantages, last = torch.zeros_like(rewards), 0
    for t in reversed(range(rewards.shape[0])):
        nonterminal = 1.0 - dones[t].float()
        delta = rewards[t] + gamma * values[t + 1] * nonterminal - values[t]
        advantages[t] = last = delta + gamma * lam * nonterminal * last
    return advantages


print(gae(rewards, torch.linspace(0, 1, 6), torch.tensor([0, 0, 1, 0, 1])))

prices = torch.tensor([10.0, 11.0, 9.5, 9.9, 12.0, 10.8])
ret = prices[1:] / prices[:-1] - 1
print(ret, (1 + ret).cumprod(0) * prices[0], 1 - prices / prices.cummax(0).values, (prices.cummax(0)[0] - prices).max(), sep="\n")
print(prices.unfold(0, 3, 1).mean(-1), torch.nn.functional.avg_pool1d(prices[None, None], 3, stride=1).flatten(), torch.nn.functional.conv1d(prices.view(1, 1, -1), torch.tensor([[[0.25, 0.5, 0.25]]]), padding=1)[0])
integral = torch.nn.functional.pad(torch.arange(16.0).view(4, 4).cumsum(0).cumsum(1), (1, 0, 1, 0))
print(integral[3, 3] - integral[1, 3] - integral[3, 1] + integral[1, 1], integral.shape)

betas = torch.linspace(1e-4, 0.02, 10)
alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
prev = torch.cat([torch.tensor([1.0]), alphas_cumprod[:-1]])
print(alphas_cumprod[[0, 4, 9]], (betas * (1 - prev) / (1 - alphas_cumprod))[-3:], alphas_cumprod.sqrt()[-1])
sigma, color = torch.tensor([0.1, 2.0, 5.0, 0.3]), torch.rand(4, 3)
alpha = 1 - torch.exp(-sigma * 0.5)
weights = alpha * torch.cumprod(torch.cat([torch.ones(1), 1 - alpha + 1e-10]), 0)[:-1]
print(weights, (weights[:, None] * color).sum(0))
cdf = weights.div(weights.sum()).cumsum(-1)
print(torch.searchsorted(cdf, torch.tensor([0.05, 0.5, 0.99])), torch.searchsorted(cdf, cdf, right=True), torch.bucketize(0.7, cdf))

lengths = torch.tensor([2, 0, 3])
offsets = torch.zeros(4, dtype=torch.long)
offsets[1:] = lengths.cumsum(0)
ids = torch.repeat_interleave(torch.arange(3), lengths)
print(offsets, ids, torch.arange(5) - offsets[ids], torch.segment_reduce(torch.arange(5.0), "sum", lengths=lengths))
w = torch.tensor([1.0, 2.0, 0.0, 3.0], requires_grad=True)
(w.cumprod(0) + w.cumsum(0) * torch.arange(4) + w.cummax(0).values).sum().backward()
print(w.grad)
(w.grad,) = torch.autograd.grad(w.logcumsumexp(0).sum() + w.flip(0).diff().square().sum(), w)
print(w.grad, w.detach().cumsum_(0), w)
