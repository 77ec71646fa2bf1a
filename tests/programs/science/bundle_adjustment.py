"""Estimates camera rotations and points by Gauss-Newton with Jacobians from autograd.functional."""
import torch
from torch.autograd.functional import jacobian

torch.manual_seed(9)
torch.set_default_dtype(torch.float64)


def skew(w):
    zero = torch.zeros_like(w[..., 0])
    return torch.stack([torch.stack([zero, -w[..., 2], w[..., 1]], -1), torch.stack([w[..., 2], zero, -w[..., 0]], -1),
                        torch.stack([-w[..., 1], w[..., 0], zero], -1)], dim=-2)


def rodrigues(w):
    theta = w.norm(dim=-1, keepdim=True).clamp_min(1e-12).unsqueeze(-1)
    K = skew(w) / theta
    return torch.eye(3) + theta.sin() * K + (1 - theta.cos()) * K @ K


def project(camera, points):
    local = points @ rodrigues(camera[:3]).T + camera[3:6]
    return camera[6] * local[:, :2] / local[:, 2:]


points = torch.randn(7, 3)
true_cameras = torch.cat([0.2 * torch.randn(2, 3), torch.tensor([[0.0, 0.0, 6.0], [0.5, 0.1, 6.5]]),
                          torch.tensor([[1.5], [1.4]])], dim=1)
observed = torch.stack([project(c, points) for c in true_cameras])
R = rodrigues(true_cameras[:, :3])
print(torch.allclose(R @ R.mT, torch.eye(3).expand(2, 3, 3)), torch.det(R))
print(torch.allclose(torch.linalg.matrix_exp(skew(true_cameras[0, :3])), R[0]))


def residuals(flat):
    cameras, moved = flat[:14].view(2, 7), flat[14:].view(7, 3)
    return (torch.stack([project(c, moved) for c in cameras]) - observed).flatten()


estimate = torch.cat([(true_cameras + 0.03 * torch.randn(2, 7)).flatten(), (points + 0.05 * torch.randn(7, 3)).flatten()])
damping = 1e-2
for iteration in range(5):
    r = residuals(estimate)
    J = jacobian(residuals, estimate, vectorize=False)
    normal = J.T @ J
    step = torch.linalg.solve(normal + damping * torch.diag(normal.diagonal() + 1e-9), -J.T @ r)
    candidate = estimate + step
    if residuals(candidate).square().sum() < r.square().sum():
        estimate, damping = candidate, damping / 10
    else:
        damping *= 10
    print(f"{iteration} residual {r.norm().item():.8f} {tuple(J.shape)} rank {torch.linalg.matrix_rank(J, rtol=1e-8).item()}")
one = torch.autograd.functional.jvp(residuals, estimate, torch.ones_like(estimate))[1]
print(torch.allclose(one, jacobian(residuals, estimate) @ torch.ones_like(estimate)))
