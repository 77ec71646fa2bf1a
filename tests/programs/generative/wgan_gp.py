"""A Wasserstein GAN on a ring of points with a gradient penalty, which needs the gradient of a gradient."""
import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


def calc_gradient_penalty(netD, real_data, fake_data, weight=10):
    alpha = torch.rand(real_data.size(0), 1).expand(real_data.size())
    interpolates = autograd.Variable(alpha * real_data + ((1 - alpha) * fake_data), requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(outputs=disc_interpolates, inputs=interpolates,
                              grad_outputs=torch.ones(disc_interpolates.size()), create_graph=True, retain_graph=True,
                              only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * weight


def real_batch(n):
    angle = 2 * torch.pi * torch.rand(n)
    return torch.stack((angle.cos(), angle.sin()), 1) + 0.05 * torch.randn(n, 2)


G, D = mlp(2, 16, 2), mlp(2, 16, 16, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=1e-2, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-2, betas=(0.5, 0.9))
for step in range(5):
    for p in D.parameters():
        p.requires_grad = True
    for _ in range(3):
        D.zero_grad()
        real = real_batch(32)
        with torch.no_grad():
            fake = G(torch.randn(32, 2))
        loss_d = D(fake).mean() - D(real).mean()
        penalty = calc_gradient_penalty(D, real.data, fake.data)
        (loss_d + penalty).backward()
        opt_d.step()
    for p in D.parameters():
        p.requires_grad = False
    G.zero_grad()
    loss_g = -D(G(torch.randn(32, 2))).mean()
    loss_g.backward()
    opt_g.step()
    print(f"{step} wasserstein {-loss_d.item():.5f} penalty {penalty.item():.5f} generator {loss_g.item():.5f}")
print([p.grad is None for p in D.parameters()].count(False), f"{G[0].weight.grad.norm():.6f}")
D.requires_grad_(True)
x = real_batch(4).requires_grad_()
g = autograd.grad(D(x).sum(), x, create_graph=True)[0]
h = autograd.grad(g.pow(2).sum(), list(D.parameters()), allow_unused=True)
print([None if v is None else f"{v.norm():.5f}" for v in h])
