"""Explains broadcasting with times tables, scaled images and pairwise distances written in four ways."""

import itertools

import torch
import torch.nn.functional as F

torch.manual_seed(10)
print(torch.arange(1, 5)[:, None] * torch.arange(1, 6))
print(torch.broadcast_shapes((8, 1, 6, 1), (7, 1, 5), (1,)))
a, b = torch.broadcast_tensors(torch.arange(3).view(3, 1), torch.tensor([10, 20]))
print(a, b, (a + b).stride(), a.stride())
for s, t in itertools.product([(3,), (2, 1), (4, 1, 3)], [(1,), (3,), (2, 2)]):
    try:
        print(s, t, tuple((torch.empty(s) + torch.empty(t)).shape))
    except RuntimeError as error:
        print(s, t, "no:", error)

images = torch.rand(2, 3, 4, 4)
mean, std = images.mean(dim=(0, 2, 3)), images.std(dim=(0, 2, 3))
normed = (images - mean[None, :, None, None]) / std.view(1, -1, 1, 1)
print(mean, std)
print(normed.mean((0, 2, 3)).abs().max() < 1e-5, torch.allclose(normed.std((0, 2, 3)), torch.ones(3), atol=1e-4))
print(torch.std_mean(images, dim=(2, 3), unbiased=False)[0].shape, torch.var_mean(images)[0])

p, q = torch.randn(5, 3).double(), torch.randn(4, 3).double()
by_broadcast = (p.unsqueeze(1) - q.unsqueeze(0)).pow(2).sum(-1).sqrt()
by_gram = (p.pow(2).sum(1, keepdim=True) + q.pow(2).sum(1) - 2 * p @ q.T).clamp(min=0).sqrt()
by_cdist = torch.cdist(p, q)
by_loop = torch.stack([F.pairwise_distance(row.expand_as(q), q, eps=0) for row in p])
print(by_broadcast)
print([torch.allclose(by_broadcast, d) for d in (by_gram, by_cdist, by_loop)])
print(torch.cdist(p, q, p=1)[0], torch.cdist(p, q, p=float("inf"))[0], torch.pdist(q), sep="\n")
print(F.cosine_similarity(p[:, None], q[None], dim=-1)[:2], F.normalize(q, dim=1).norm(dim=1))

x = torch.ones(3, 1)
print(x.expand(3, 4).stride(), x.expand(-1, 2).shape, x.repeat(2, 3).shape, x.tile((2,)).shape, x.repeat_interleave(2, dim=0).shape)
total = torch.zeros(3, 4)
total += x
total.sub_(torch.arange(4)).mul_(2)
print(total, torch.addcmul(total, x, x, value=0.5)[0], torch.lerp(x, x * 3, 0.25).T)
try:
    x.add_(total)
except RuntimeError as error:
    print(error)
g = torch.ones(3, 1, requires_grad=True)
(g * torch.arange(4.0) + torch.zeros(2, 1, 1)).sum().backward()
print(g.grad)
grid_y, grid_x = torch.meshgrid(torch.linspace(-1, 1, 3), torch.linspace(0, 1, 2), indexing="ij")
print(torch.stack([grid_x, grid_y], dim=-1).shape, torch.hypot(grid_x, grid_y), torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])))
