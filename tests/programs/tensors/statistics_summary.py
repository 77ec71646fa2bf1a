"""Describes a small table of numbers with means, quantiles, histograms, correlations and robust statistics, as a notebook does."""

import torch

torch.manual_seed(21)
torch.set_default_dtype(torch.float64)
height = 170 + 10 * torch.randn(40)
weight = 0.9 * height - 90 + 5 * torch.randn(40)
age = torch.randint(18, 65, (40,)).double()
table = torch.stack([height, weight, age], dim=1)

print(f"{'':8}{'height':>10}{'weight':>10}{'age':>10}")
for name, row in [
    ("mean", table.mean(0)), ("std", table.std(0)), ("var", table.var(0, correction=0)), ("min", table.amin(0)), ("25%", table.quantile(0.25, dim=0)),
    ("50%", table.median(0).values), ("75%", torch.quantile(table, torch.tensor([0.75]), dim=0)[0]), ("max", table.max(dim=0)[0]), ("range", table.amax(0).sub(table.amin(0))),
]:
    print(f"{name:8}" + "".join(f"{v:10.3f}" for v in row.tolist()))

z = (table - table.mean(0, keepdim=True)) / table.std(0, unbiased=True, keepdim=True)
print("skew", (z ** 3).mean(0), "kurtosis", z.pow(4).mean(0) - 3)
print(torch.cov(table.T), torch.corrcoef(table.T), sep="\n")
print(torch.allclose(z.T @ z / (len(z) - 1), torch.corrcoef(table.T)), torch.cov(height, correction=0), torch.std_mean(weight))
print(torch.histc(height, bins=5, min=140, max=200), age.long().mode().values, torch.mode(torch.tensor([[1, 2, 2], [3, 3, 1]]), dim=1).values)
hist, edges = torch.histogram(weight, bins=4)
print(hist, edges, hist.sum() == 40)
hist, edges = torch.histogram(weight, torch.tensor([40.0, 60.0, 70.0, 120.0]), density=True)
print(hist * edges.diff(), torch.histogram(age, bins=3, range=(10.0, 70.0)).hist)

x = torch.tensor([2.0, 8.0, 0.5, 4.0])
print(x.log().mean().exp(), 1 / (1 / x).mean(), x.prod() ** (1 / 4), x.median(), x.quantile(0.5), x.quantile(torch.tensor([0.1, 0.9]), interpolation="nearest"), (x - x.median()).abs().median())
print(x.logsumexp(0), torch.logaddexp(x[0], x[1]), x.cumsum(0) / torch.arange(1, 5), x.softmax(0), x.var(), x.std(correction=2))
print(x.square().mean().sqrt(), x.norm(1), x.argsort().argsort() + 1, torch.trapezoid(x, dx=0.5), torch.trapz(x, torch.tensor([0.0, 1.0, 3.0, 4.0])), torch.cumulative_trapezoid(x))
print(torch.mean(table, dim=(0, 1)), table.sum(), table[:, 0].sum(dim=-1, keepdim=True), torch.count_nonzero(table > 100, dim=0), table.nanquantile(0.5, dim=0))
print(torch.tensor([1, 2, 3]).sum(), torch.tensor([True, True]).sum(), torch.tensor([1, 2]).float().mean(), torch.tensor([3, 4]).prod())
try:
    torch.tensor([1, 2, 3]).mean()
except RuntimeError as error:
    print(error)
boot = torch.stack([height[torch.randint(40, (40,))].mean() for _ in range(100)])
print(f"bootstrap {boot.mean():.3f} +- {boot.std():.3f}, interval {boot.quantile(0.025):.2f} to {boot.quantile(0.975):.2f}")
perm = torch.randperm(40)
train, test = table[perm[:30]], table[perm[30:]]
slope = ((train[:, 0] - train[:, 0].mean()) * (train[:, 1] - train[:, 1].mean())).sum() / train[:, 0].var().mul(29)
residual = test[:, 1] - train[:, 1].mean() - slope * (test[:, 0] - train[:, 0].mean())
print(f"slope {slope.item():.4f}, R2 {1 - (residual.var() / test[:, 1].var()).item():.4f}, t {torch.special.ndtr(z[0, 0]).item():.4f}, erf {torch.erf(z[0, 1] / 2 ** 0.5):.4f}")
running_mean, running_m2 = torch.zeros(3), torch.zeros(3)
for n, row in enumerate(table, start=1):
    delta = row - running_mean
    running_mean += delta / n
    running_m2 += delta * (row - running_mean)
print(running_mean, (running_m2 / (n - 1)).sqrt(), torch.allclose(running_mean, table.mean(0)))
