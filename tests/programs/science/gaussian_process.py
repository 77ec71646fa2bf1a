"""Gaussian process regression by Cholesky factors, kernel parameters from the gradient of the evidence."""
import math

import torch

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


class GP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = torch.nn.ParameterDict({"length": torch.nn.Parameter(torch.tensor(0.5)),
                                           "scale": torch.nn.Parameter(torch.tensor(0.0)),
                                           "noise": torch.nn.Parameter(torch.tensor(-2.0))})

    def kernel(self, a, b):
        length, scale = torch.nn.functional.softplus(self.raw["length"]), self.raw["scale"].exp()
        return scale * torch.exp(-0.5 * torch.cdist(a / length, b / length).square())

    def evidence(self, x, y):
        K = self.kernel(x, x) + self.raw["noise"].exp() * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y.unsqueeze(-1), L)
        return -0.5 * y @ alpha.squeeze(-1) - L.diagonal().log().sum() - 0.5 * len(x) * math.log(2 * math.pi)

    def predict(self, x, y, new):
        L = torch.linalg.cholesky(self.kernel(x, x) + self.raw["noise"].exp() * torch.eye(len(x)))
        cross = self.kernel(x, new)
        v = torch.linalg.solve_triangular(L, cross, upper=False)
        mean = cross.T @ torch.cholesky_solve(y.unsqueeze(-1), L)
        return mean.squeeze(-1), (self.kernel(new, new) - v.T @ v).diagonal()


x = torch.rand(14, 1) * 4
y = torch.sin(2 * x).squeeze() + 0.1 * torch.randn(14)
gp = GP()
optimizer = torch.optim.Adam(gp.parameters(), lr=0.1)
for step in range(25):
    optimizer.zero_grad()
    loss = -gp.evidence(x, y)
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        print(f"{step:2d} {loss.item():.6f} noise {gp.raw['noise'].exp().item():.5f}")
new = torch.linspace(0, 4, 5).unsqueeze(1)
with torch.no_grad():
    mean, variance = gp.predict(x, y, new)
print(mean.numpy().round(4), variance.sqrt().max().item().__round__(4))
K = gp.kernel(x, x) + gp.raw["noise"].exp() * torch.eye(14)
direct = -0.5 * y @ torch.inverse(K) @ y - 0.5 * torch.logdet(K) - 7 * math.log(2 * math.pi)
print(torch.allclose(direct, gp.evidence(x, y)), gp)
g1 = torch.autograd.grad(direct, list(gp.parameters()))
g2 = torch.autograd.grad(gp.evidence(x, y), list(gp.parameters()))
print(all(torch.allclose(a, b) for a, b in zip(g1, g2)), [f"{g.item():.5f}" for g in g2])
sign, logabs = torch.linalg.slogdet(K)
print(sign.item(), f"{logabs:.6f}", f"{torch.linalg.cond(K):.4f}")
