"""Fits a picture by coordinates: sinusoidal layers and Fourier features, with the picture's gradient and Laplacian."""
import math

import torch
from torch import nn

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)


class SineLayer(nn.Module):
    def __init__(self, in_features, out_features, is_first=False, omega_0=10):
        super().__init__()
        self.omega_0, self.linear = omega_0, nn.Linear(in_features, out_features)
        with torch.no_grad():
            bound = 1 / in_features if is_first else math.sqrt(6 / in_features) / omega_0
            self.linear.weight.uniform_(-bound, bound)

    def forward(self, input):
        return torch.sin(self.omega_0 * self.linear(input))


class FourierFeatures(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("B", torch.randn(2, n) * 2)

    def forward(self, x):
        projected = 2 * math.pi * x @ self.B
        return torch.cat([torch.sin(projected), torch.cos(projected)], dim=-1)


def get_mgrid(sidelen):
    axis = torch.linspace(-1, 1, steps=sidelen)
    return torch.stack(torch.meshgrid(axis, axis, indexing="xy"), dim=-1).reshape(-1, 2)


def gradient(y, x, grad_outputs=None):
    if grad_outputs is None:
        grad_outputs = torch.ones_like(y)
    return torch.autograd.grad(y, [x], grad_outputs=grad_outputs, create_graph=True)[0]


def divergence(y, x):
    div = 0.0
    for i in range(y.shape[-1]):
        div += torch.autograd.grad(y[..., i], x, torch.ones_like(y[..., i]), create_graph=True)[0][..., i:i + 1]
    return div


coords = get_mgrid(10)
picture = torch.exp(-4 * coords.pow(2).sum(-1, keepdim=True)) * torch.cos(4 * coords[:, :1])
siren = nn.Sequential(SineLayer(2, 16, is_first=True), SineLayer(16, 16), nn.Linear(16, 1))
fourier = nn.Sequential(FourierFeatures(8), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 1))
for name, model in (("siren", siren), ("fourier", fourier)):
    optim = torch.optim.Adam(lr=3e-3, params=model.parameters())
    for step in range(20):
        x = coords.clone().detach().requires_grad_(True)
        output = model(x)
        loss = ((output - picture) ** 2).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
    psnr = -10 * torch.log10(loss)
    x = coords.clone().requires_grad_(True)
    output = model(x)
    img_grad = gradient(output, x)
    img_laplacian = divergence(img_grad, x)
    print(f"{name} loss {loss:.6f} psnr {psnr:.4f} grad {img_grad.norm(dim=-1).mean():.5f} laplacian {img_laplacian.mean():.5f}")
total = nn.utils.parameters_to_vector(siren.parameters())
print(total.shape, siren[0].linear.weight.abs().max() <= 0.6, x.grad is None)
print(coords[:3])
