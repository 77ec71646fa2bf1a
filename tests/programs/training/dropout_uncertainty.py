"""Uncertainty of predictions: dropout left on, a small ensemble, and a network that predicts its own variance."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(14)
torch.set_default_dtype(torch.float64)
x = torch.cat([torch.rand(20, 1) * 2 - 3, torch.rand(20, 1) * 2 + 1])
y = torch.sin(x) + 0.1 * torch.randn_like(x)
grid = torch.tensor([[-2.0], [0.0], [2.0], [5.0]])


def fit(net, loss_of, steps=40, lr=1e-2):
    opt = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_of(net(x))
        loss.backward()
        opt.step()
    return loss.item()


mc = nn.Sequential(nn.Linear(1, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 1))
print(f"dropout fit {fit(mc, lambda out: F.mse_loss(out, y)):.6f}")
mc.eval()
for m in mc.modules():
    if m.__class__.__name__.startswith("Dropout"):
        m.train()
with torch.no_grad():
    samples = torch.stack([mc(grid) for _ in range(30)])
std, mean = torch.std_mean(samples, dim=0)
print(mean.squeeze(), std.squeeze().gt(0).all().item(), [m.training for m in mc])
ensemble = [nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1)) for _ in range(3)]
print([f"{fit(net, lambda out: F.mse_loss(out, y), 20):.6f}" for net in ensemble])
with torch.no_grad():
    predictions = torch.stack([net(grid) for net in ensemble])
var, mu = torch.var_mean(predictions, dim=0, unbiased=False)
print(mu.squeeze(), f"{var.max():.6f}")
heteroscedastic = nn.Sequential(nn.Linear(1, 16), nn.SELU(), nn.AlphaDropout(0.05), nn.Linear(16, 2))
nll = nn.GaussianNLLLoss(full=True, eps=1e-4)
print(f"nll {fit(heteroscedastic, lambda out: nll(out[:, :1], y, F.softplus(out[:, 1:]))):.6f}")
quantiles = torch.tensor([0.1, 0.5, 0.9])
net = nn.Sequential(nn.Linear(1, 16), nn.LogSigmoid(), nn.Linear(16, 3))


def pinball(out):
    error = y - out
    return torch.max(quantiles * error, (quantiles - 1) * error).mean()


print(f"pinball {fit(net, pinball, 60):.6f}", (net(grid).detach().diff(dim=1) > -0.5).all().item())
coverage = ((y >= net(x)[:, :1]) & (y <= net(x)[:, 2:])).double().mean()
print(f"coverage {coverage.item():.4f}")
