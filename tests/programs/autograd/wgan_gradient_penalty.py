"""Trains a tiny Wasserstein GAN with gradient penalty on a ring of Gaussians, the loss of many GAN repositories."""

import math

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import grad as torch_grad

torch.manual_seed(1234)
torch.set_default_dtype(torch.float64)
LAMBDA, Z_DIM, BATCH = 10.0, 2, 32


def mlp(n_in, n_out, hidden=16):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.LeakyReLU(0.2, inplace=True), nn.Linear(hidden, hidden), nn.LeakyReLU(0.2, inplace=True), nn.Linear(hidden, n_out))


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Linear") != -1:
        nn.init.kaiming_normal_(m.weight, a=0.2, nonlinearity="leaky_relu")
        m.bias.data.fill_(0)


def real_batch(n):
    angle = torch.randint(8, (n,)).double() * (2 * math.pi / 8)
    return torch.stack((angle.cos(), angle.sin()), dim=1) + 0.05 * torch.randn(n, 2)


def calc_gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    interpolates = torch.autograd.Variable(alpha * real.data + (1 - alpha) * fake.data, requires_grad=True)
    scores = netD(interpolates)
    gradients = torch_grad(outputs=scores, inputs=interpolates, grad_outputs=torch.ones(scores.size()), create_graph=True, retain_graph=True, only_inputs=True)[0]
    gradients = gradients.view(gradients.size(0), -1)
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


G, D = mlp(Z_DIM, 2).apply(weights_init), mlp(2, 1).apply(weights_init)
opt_g = optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))

for step in range(12):
    for p in D.parameters():
        p.requires_grad = True
    for _ in range(2):
        opt_d.zero_grad()
        real, fake = real_batch(BATCH), G(torch.randn(BATCH, Z_DIM)).detach()
        gp = calc_gradient_penalty(D, real, fake)
        d_loss = D(fake).mean() - D(real).mean() + gp
        d_loss.backward()
        opt_d.step()
    for p in D.parameters():
        p.requires_grad = False
    opt_g.zero_grad()
    g_loss = -D(G(torch.randn(BATCH, Z_DIM))).mean()
    g_loss.backward()
    opt_g.step()
    if step % 3 == 2:
        print("[%d] D %.5f G %.5f GP %.5f" % (step, d_loss.item(), g_loss.item(), gp.item()))

with torch.no_grad():
    samples = G(torch.randn(200, Z_DIM))
print(samples.mean(0), samples.std(0))
print(sum(p.numel() for p in G.parameters()), D[0].weight.grad.norm())

# R1 on real samples only, by the square of the gradient
for p in D.parameters():
    p.requires_grad_(True)
real = real_batch(16).requires_grad_()
r1 = torch_grad(D(real).sum(), real, create_graph=True)[0].square().sum(1).mean()
D.zero_grad()
r1.backward()
print(f"R1 {r1.item():.6f}", [None if p.grad is None else round(p.grad.norm().item(), 5) for p in D.parameters()])
