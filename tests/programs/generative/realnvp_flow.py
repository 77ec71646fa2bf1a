"""A RealNVP of affine coupling layers with actnorm, trained by exact likelihood and inverted for sampling."""
import math

import torch
import torch.nn as nn

torch.manual_seed(15)
torch.set_default_dtype(torch.float64)


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.log_scale, self.shift = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("initialized", torch.tensor(False))

    def forward(self, x):
        if not self.initialized:
            with torch.no_grad():
                self.log_scale.copy_(-x.std(dim=0).log())
                self.shift.copy_(-x.mean(0) * self.log_scale.exp())
                self.initialized.fill_(True)
        return x * self.log_scale.exp() + self.shift, self.log_scale.sum().expand(x.shape[0])

    def inverse(self, y):
        return (y - self.shift) * torch.exp(-self.log_scale)


class AffineCoupling(nn.Module):
    def __init__(self, mask, hidden=16):
        super().__init__()
        self.register_buffer("mask", mask, persistent=False)
        self.net = nn.Sequential(nn.Linear(len(mask), hidden), nn.ReLU(), nn.Linear(hidden, 2 * len(mask)))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def parameters_of(self, x):
        s, t = self.net(x * self.mask).tensor_split(2, dim=1)
        return torch.tanh(s) * (1 - self.mask), t * (1 - self.mask)

    def forward(self, x):
        s, t = self.parameters_of(x)
        return x * s.exp() + t, s.sum(dim=1)

    def inverse(self, y):
        s, t = self.parameters_of(y)
        return (y - t) * s.neg().exp()


class Flow(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(layers):
            self.layers.extend([ActNorm(2), AffineCoupling(torch.tensor([1.0, 0.0]).roll(i))])

    def log_prob(self, x):
        total = 0
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return total - 0.5 * (x ** 2 + math.log(2 * math.pi)).sum(dim=-1)

    def sample(self, n):
        x = torch.randn(n, 2)
        for layer in reversed(self.layers):
            x = layer.inverse(x)
        return x


t = torch.rand(100) * math.pi
x = torch.stack([t.cos(), t.sin() ** 2], dim=1) + 0.1 * torch.randn(100, 2)
flow = Flow()
print(len(flow.state_dict()), [k for k in flow.state_dict() if "mask" in k])
opt = torch.optim.Adamax(flow.parameters(), lr=0.02)
for epoch in range(20):
    loss = -flow.log_prob(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 5 == 0:
        print(f"{epoch} nll {loss.item():.6f}")
with torch.no_grad():
    y = flow.sample(5)
    back = y
    for layer in flow.layers:
        back, _ = layer(back)
    for layer in reversed(flow.layers):
        back = layer.inverse(back)
print(torch.allclose(back, y), f"{y.norm():.5f}")
jacobian = torch.autograd.functional.jacobian(lambda v: flow.layers[1](v[None])[0][0], y[0])
print(f"{torch.linalg.slogdet(jacobian)[1]:.6f} {flow.layers[1](y[:1])[1].item():.6f}")
