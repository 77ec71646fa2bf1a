"""Finds the conductivity of a rod from temperatures by differentiating through an explicit solver."""
import torch
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
nx, nt, dx, dt = 20, 30, 1.0 / 20, 5e-4
x = torch.linspace(0, 1, nx)


def solve(kappa, u):
    history = [u]
    for _ in range(nt):
        padded = F.pad(u.view(1, 1, -1), (1, 1), mode="replicate").view(-1)
        face = 0.5 * (kappa[1:] + kappa[:-1])
        flux = face * (u[1:] - u[:-1]) / dx
        divergence = F.pad(flux, (0, 1)) - F.pad(flux, (1, 0))
        u = u + dt * divergence / dx + 0 * padded[0]
        history.append(u)
    return torch.stack(history)


true_kappa = 1.0 + 0.5 * torch.sin(6.28 * x)
u0 = torch.exp(-50 * (x - 0.5) ** 2)
measured = solve(true_kappa, u0)[::10] + 1e-3 * torch.randn(4, nx)
log_kappa = torch.zeros(nx, requires_grad=True)
optimizer = torch.optim.LBFGS([log_kappa], max_iter=8, history_size=5, line_search_fn="strong_wolfe")
calls = []


def closure():
    optimizer.zero_grad()
    kappa = log_kappa.exp()
    data = (solve(kappa, u0)[::10] - measured).pow(2).sum()
    smooth = 1e-4 * torch.diff(kappa).pow(2).sum()
    loss = data + smooth
    loss.backward()
    calls.append(loss.item())
    return loss


for outer in range(2):
    loss = optimizer.step(closure)
    print(f"outer {outer}: {loss.item():.7f} -> {calls[-1]:.7f} after {len(calls)} evaluations")
print(f"{(log_kappa.exp() - true_kappa).abs().max():.4f}", log_kappa.exp()[8:12].detach())
total = solve(true_kappa, u0).sum(dim=1)
print(f"heat is kept: {(total - total[0]).abs().max() < 1e-12}")
sensitivity = torch.autograd.functional.jacobian(lambda k: solve(k, u0)[-1], true_kappa)
print(sensitivity.shape, f"{sensitivity.norm():.6f}", f"{sensitivity.sum(0).abs().max() < 1e-12}")
