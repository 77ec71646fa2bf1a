"""Forces of Lennard-Jones particles by autograd, velocity Verlet, relaxation, and normal modes from the Hessian."""
import torch

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)


def energy(positions, epsilon=1.0, sigma=1.0):
    i, j = torch.triu_indices(len(positions), len(positions), offset=1)
    r2 = (positions[i] - positions[j]).pow(2).sum(-1)
    s6 = (sigma ** 2 / r2) ** 3
    return (4 * epsilon * (s6 ** 2 - s6)).sum()


def forces(positions):
    positions = positions.detach().requires_grad_(True)
    return -torch.autograd.grad(energy(positions), positions)[0]


grid = torch.cartesian_prod(torch.arange(2.0), torch.arange(2.0)) * 1.2
x = torch.cat([grid, torch.full((4, 1), 0.0)], dim=1) + 0.05 * torch.randn(4, 3)
print(f"energy {energy(x).item():.6f}", forces(x).sum(0).abs().max() < 1e-12)
v, dt = 0.1 * torch.randn(4, 3), 0.005
v -= v.mean(dim=0, keepdim=True)
f, total = forces(x), []
for step in range(60):
    v = v + 0.5 * dt * f
    x = x + dt * v
    f = forces(x)
    v = v + 0.5 * dt * f
    total.append((energy(x) + 0.5 * v.square().sum()).item())
print(f"total energy {total[0]:.6f} {total[-1]:.6f}", f"momentum {v.sum(0).norm() < 1e-12}")

free = x.clone().requires_grad_()
optimizer = torch.optim.LBFGS([free], lr=0.5, max_iter=40, tolerance_grad=1e-10, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    e = energy(free)
    e.backward()
    return e


for _ in range(3):
    optimizer.step(closure)
print(f"relaxed {energy(free).item():.6f}", free.grad.abs().max().item() < 1e-6)
hessian = torch.autograd.functional.hessian(lambda flat: energy(flat.view(4, 3)), free.detach().flatten())
modes = torch.linalg.eigvalsh(hessian)
print(torch.allclose(hessian, hessian.T), (modes.abs() < 1e-5).sum().item(), f"{modes[-1]:.4f}")
pairs = torch.pdist(free.detach()) if hasattr(torch, "pdist") else torch.cdist(free.detach(), free.detach())[
    torch.triu(torch.ones(4, 4), 1).bool()]
print(pairs.sort().values.mean().item().__round__(4))
virial = (x * f).sum()
print(f"{virial:.6f}")
