"""A conditional VAE with a beta that grows, one-hot labels and free bits, as later VAE notebooks do it."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import math

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)


class CVAE(nn.Module):
    def __init__(self, dim=5, classes=3, latent=2, hidden=16):
        super().__init__()
        self.classes, self.latent = classes, latent
        self.encoder = nn.Sequential(nn.Linear(dim + classes, hidden), nn.Softplus(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent + classes, hidden), nn.Softplus(), nn.Linear(hidden, dim))
        self.log_sigma = nn.Parameter(torch.zeros(()))

    def forward(self, x, y):
        c = F.one_hot(y, self.classes).to(x)
        mean, log_variance = self.encoder(torch.cat((x, c), dim=-1)).chunk(2, dim=-1)
        log_variance = log_variance.clamp(-6, 6)
        z = torch.normal(mean, (0.5 * log_variance).exp())
        reconstruction = self.decoder(torch.cat((z, c), dim=-1))
        kl = 0.5 * (mean ** 2 + log_variance.exp() - 1 - log_variance)
        log_p = -0.5 * ((x - reconstruction) / self.log_sigma.exp()).square() - self.log_sigma - 0.5 * math.log(2 * math.pi)
        return log_p.sum(-1), kl

    @torch.no_grad()
    def sample(self, y):
        z = torch.randn(len(y), self.latent)
        return self.decoder(torch.cat((z, F.one_hot(y, self.classes).double()), dim=-1))


centres = 2 * torch.randn(3, 5)
labels = torch.randint(3, (48,))
x = centres[labels] + 0.2 * torch.randn(48, 5)
model = CVAE()
opt = torch.optim.NAdam(model.parameters(), lr=0.02)
for epoch in range(30):
    beta = min(1.0, epoch / 20)
    log_p, kl = model(x, labels)
    loss = -(log_p - beta * kl.clamp(min=0.05).sum(-1)).mean()
    opt.zero_grad()
    loss.backward()
    grad_norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0, error_if_nonfinite=True)
    opt.step()
    if epoch % 10 == 0 or epoch == 29:
        print(f"epoch {epoch:2d} beta {beta:.2f} loss {loss.item():.5f} kl {kl.mean(0).tolist()[0]:.5f} norm {grad_norm:.5f}")
print(f"sigma {model.log_sigma.exp().item():.5f}", model.log_sigma)
samples = torch.stack([model.sample(torch.full((50,), k)).mean(0) for k in range(3)])
print((samples - centres).abs().mean().item() < 1.0, samples.requires_grad)
print(torch.cdist(samples, centres).argmin(dim=1))
