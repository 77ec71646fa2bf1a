"""What notebooks do between the lessons: shapes, dtypes, printing, NumPy, pieces of models by hand."""
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parameter import Parameter

torch.manual_seed(5)
g = torch.Generator().manual_seed(2147483647)
a, m = torch.tensor([10.0, 6, -4]), torch.arange(1.0, 10).view(3, 3)
print(m @ a, torch.einsum("ik,kj->ij", m, m), a[None, :] * a[:, None], (m * m).sum().sqrt(), m.view(-1)[::2])
print(a.expand_as(m).stride(), torch.where(a > 0, a, 0.0), a.sort(descending=True), torch.triu(m), m.trace())
print(torch.FloatTensor([1.5]), torch.LongTensor([3]), torch.Tensor([1, 2]), m.type(torch.LongTensor).dtype)
print(torch.tensor(3.7).int(), torch.tensor([1.5, 2.5]).round(), int(torch.tensor(4)), torch.arange(0, 1, 0.25))
print(torch.tensor([1, 2]) / 2, torch.tensor([1, 2]).half() + 1, torch.tensor(np.float64(3.0)), a.double().dtype)
n = np.ones(3)
shared = torch.from_numpy(n)
shared.add_(1)
print(n, shared, np.mean([t.numpy() for t in torch.rand(3, 2)]), torch.tensor(n, dtype=torch.float32).numpy())
torch.set_printoptions(precision=2, sci_mode=False, linewidth=100)
print(torch.randn(4, 8, generator=g) * 100)
torch.set_printoptions(profile="default")
print(torch.randn(3, 3, generator=g) * 1e6, torch.zeros(2, 0), torch.rand(2, requires_grad=True) * 2)
gx, gy = torch.meshgrid(torch.linspace(-1, 1, 3), torch.linspace(-1, 1, 2), indexing="ij")
print(torch.stack([gx.ravel(), gy.ravel()], -1), torch.cdist(m, m).topk(2, largest=False))
print(torch.bincount(torch.tensor([0, 2, 2])), torch.unique(torch.tensor([3, 1, 3]), return_counts=True), m.var(0))

adjacency = torch.eye(4) + torch.diag(torch.ones(3), 1) + torch.diag(torch.ones(3), -1)
degree = adjacency.sum(1).pow(-0.5)


class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = Parameter(torch.empty(inputs, outputs))
        self.bias = Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight, gain=nn.init.calculate_gain("relu"))

    def forward(self, x):
        return torch.diag(degree) @ adjacency @ torch.diag(degree) @ x @ self.weight + self.bias

    def extra_repr(self):
        return f"{self.weight.size(0)} -> {self.weight.size(1)}"


layer = GraphConv(3, 2)
print(layer, layer(torch.ones(4, 3)))
sim = F.normalize(torch.randn(6, 8), dim=1)
sim = (sim @ sim.t() / 0.5).fill_diagonal_(-9e15)
print(F.cross_entropy(sim, torch.arange(6).roll(3)))
z = torch.randn(4, 3, requires_grad=True)
book = nn.Embedding(5, 3)
nearest = torch.cdist(z, book.weight).argmin(1)
code = book(nearest)
passed = z + (code - z).detach()
(passed.sum() + F.mse_loss(code.detach(), z)).backward()
print(nearest, z.grad)
alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 20), 0)
t = torch.randint(0, 20, (4,))
noisy = alphas[t].sqrt()[:, None] * torch.ones(4, 2) + (1 - alphas[t]).sqrt()[:, None] * torch.randn(4, 2)
print(noisy, torch.exp(-math.log(10000) * torch.arange(4) / 4))
print(F.interpolate(torch.arange(4.0).view(1, 1, 2, 2), scale_factor=2, mode="bilinear", align_corners=False))
print(F.pad(torch.ones(1, 1, 2, 2), [1, 0, 1, 0]), nn.PixelShuffle(2)(torch.arange(16.0).view(1, 4, 2, 2)).shape)
print(torch.multinomial(torch.ones(5), 3), torch.bernoulli(torch.full((4,), 0.5)), torch.randperm(5),
      torch.normal(2, 3, size=(1, 4)))
x = torch.linspace(0, 1, 20)
slope, offset = torch.zeros((), requires_grad=True), torch.zeros((), requires_grad=True)
for step in range(20):
    loss = (slope * x + offset - (2 * x + 1)).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (slope, offset):
            p -= 0.5 * p.grad
            p.grad.zero_()
print(f"{slope.item():.3f} {offset.item():.3f} {loss.item():.5f}")
