"""A small WaveNet: gated dilated convolutions with skip connections on mu-law quantised sound."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
MU = 15


def mu_law_encoding(x, channels=MU + 1):
    mu = channels - 1.0
    y = torch.sign(x) * torch.log1p(mu * torch.abs(x)) / math.log1p(mu)
    return ((y + 1) / 2 * mu + 0.5).to(torch.int64)


def mu_law_decoding(q, channels=MU + 1):
    mu = channels - 1.0
    y = (q / mu) * 2 - 1.0
    return torch.sign(y) * (torch.exp(torch.abs(y) * math.log1p(mu)) - 1.0) / mu


class ResidualBlock(nn.Module):
    def __init__(self, channels, dilation):
        super().__init__()
        self.dilation = dilation
        self.filter_gate = nn.Conv1d(channels, 2 * channels, 2, dilation=dilation)
        self.residual, self.skip = nn.Conv1d(channels, channels, 1), nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        h = self.filter_gate(F.pad(x, (self.dilation, 0)))
        filter, gate = torch.chunk(h, 2, dim=1)
        h = torch.tanh(filter) * torch.sigmoid(gate)
        return (x + self.residual(h)) * math.sqrt(0.5), self.skip(h)


class WaveNet(nn.Module):
    def __init__(self, channels=6):
        super().__init__()
        self.start = nn.Conv1d(MU + 1, channels, 1)
        self.blocks = nn.ModuleList(ResidualBlock(channels, 2 ** i) for i in range(3))
        self.end = nn.Sequential(nn.ReLU(), nn.Conv1d(channels, channels, 1), nn.ReLU(), nn.Conv1d(channels, MU + 1, 1))

    def forward(self, q):
        x = self.start(F.one_hot(q, MU + 1).transpose(1, 2).to(self.start.weight.dtype))
        skips = 0
        for block in self.blocks:
            x, skip = block(x)
            skips = skip + skips
        return self.end(skips)


t = torch.linspace(0.013, 1, 40)
sound = torch.stack([torch.sin(2 * math.pi * f * t) for f in (2.0, 3.0, 5.0)]) * 0.9
q = mu_law_encoding(sound)
print(q[0, :12].tolist(), f"{(mu_law_decoding(q) - sound).abs().max():.5f}")
net = WaveNet()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
for step in range(8):
    loss = F.cross_entropy(net(q[:, :-1]), q[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 2 == 0:
        print(f"{step} {loss.item() / math.log(2):.6f} bits, rate {scheduler.get_last_lr()[0]:.6f}")
net.eval()
with torch.no_grad():
    generated = q[:1, :5]
    for _ in range(6):
        logits = net(generated)[:, :, -1]
        generated = torch.cat([generated, logits.argmax(1, keepdim=True)], dim=1)
print(generated.tolist(), mu_law_decoding(generated[0, -2:]))
