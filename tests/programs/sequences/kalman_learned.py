"""A Kalman filter whose noise levels and dynamics are learned by backpropagation through its updates."""
import math

import torch
from torch import nn

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
dt, steps = 0.5, 25
A_true = torch.tensor([[1.0, dt], [0.0, 0.95]])
H = torch.tensor([[1.0, 0.0]])
x, observations = torch.tensor([0.0, 1.0]), []
for _ in range(steps):
    x = A_true @ x + torch.tensor([0.02, 0.1]) * torch.randn(2)
    observations.append(H @ x + 0.5 * torch.randn(1))
observations = torch.stack(observations)


class KalmanFilter(nn.Module):
    def __init__(self):
        super().__init__()
        self.damping = nn.Parameter(torch.tensor(0.5))
        self.log_q, self.log_r = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1))

    def forward(self, z):
        A = torch.eye(2)
        A[0, 1] = dt
        A[1, 1] = self.damping
        Q, R = torch.diag_embed(self.log_q.exp()), torch.diag(self.log_r.exp())
        mean, cov, log_likelihood = torch.zeros(2), torch.eye(2), 0.0
        for observed in z:
            mean, cov = A @ mean, A @ cov @ A.mT + Q
            innovation = observed - H @ mean
            S = H @ cov @ H.mT + R
            K = torch.linalg.solve(S, H @ cov).mT
            mean = torch.addmv(mean, K, innovation)
            cov = (torch.eye(2) - K @ H) @ cov
            chol = torch.linalg.cholesky(S)
            white = torch.linalg.solve_triangular(chol, innovation[:, None], upper=False)
            log_likelihood = log_likelihood - 0.5 * white.square().sum() - chol.diagonal().log().sum() \
                - 0.5 * math.log(2 * math.pi)
        return log_likelihood, mean, cov


model = KalmanFilter()
opt = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(12):
    opt.zero_grad()
    ll, mean, cov = model(observations)
    (-ll / steps).backward()
    opt.step()
    if step % 4 == 0:
        print(f"{step:2d} log likelihood {ll.item():.6f}")
print(f"damping {model.damping.item():.5f}", model.log_r.exp().sqrt().item().__format__(".5f"))
print(mean.detach(), torch.linalg.eigvalsh(cov.detach()))
print({n: round(p.grad.norm().item(), 6) for n, p in model.named_parameters()})
