"""Denoising diffusion on points in the plane: a schedule of noise, time embeddings, ancestral and DDIM sampling."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)
T = 12
betas = torch.linspace(1e-3, 0.3, T)
alphas = 1.0 - betas
alphas_cumprod = torch.cumprod(alphas, dim=0)
alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
posterior_variance = betas * (1.0 - alphas_cumprod_prev) / (1.0 - alphas_cumprod)


def extract(a, t, x_shape):
    return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(x_shape) - 1)))


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half_dim = self.dim // 2
        embeddings = torch.exp(torch.arange(half_dim) * -(math.log(10000) / (half_dim - 1)))
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPositionEmbeddings(8), nn.Linear(8, hidden), nn.GELU())
        self.inp, self.mid, self.out = nn.Linear(2, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time_mlp(t))
        return self.out(F.silu(self.mid(h)) + h)


def q_sample(x_start, t, noise):
    return extract(alphas_cumprod.sqrt(), t, x_start.shape) * x_start + \
        extract((1.0 - alphas_cumprod).sqrt(), t, x_start.shape) * noise


model = Denoiser()
ema = {k: v.clone() for k, v in model.state_dict().items()}
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(30):
    angle = torch.randint(8, (32,)) * (2 * math.pi / 8)
    x = torch.stack([angle.cos(), angle.sin()], dim=1) + 0.02 * torch.randn(32, 2)
    t, noise = torch.randint(0, T, (32,)).long(), torch.randn_like(x)
    loss = F.huber_loss(model(q_sample(x, t, noise), t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for k, v in model.state_dict().items():
        ema[k].lerp_(v, 0.1)
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.6f}")
model.load_state_dict(ema)


@torch.no_grad()
def sample(n, ddim):
    x = torch.randn(n, 2)
    for i in reversed(range(0, T)):
        t = torch.full((n,), i, dtype=torch.long)
        predicted = model(x, t)
        a, previous = alphas_cumprod[i], alphas_cumprod_prev[i]
        if ddim:
            x = previous.sqrt() * (x - (1 - a).sqrt() * predicted) / a.sqrt() + (1 - previous).sqrt() * predicted
        else:
            x = torch.rsqrt(alphas[i]) * (x - betas[i] * predicted / torch.sqrt(1 - a))
            x = x + posterior_variance[i].sqrt() * torch.randn_like(x) if i > 0 else x
    return x


for ddim in (False, True):
    points = sample(16, ddim)
    print(ddim, f"{points.norm(dim=1).mean():.5f} {points.std(0).tolist()[0]:.5f}")
print(posterior_variance[:3])
