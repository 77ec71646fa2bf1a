"""Shooting for a car that has to stop at a point: controls by gradients through the dynamics, with penalties."""
import torch
import torch.nn.functional as F

torch.manual_seed(10)
torch.set_default_dtype(torch.float64)
steps, dt = 20, 0.1
goal = torch.tensor([2.0, 1.0, 0.0, 0.0])


def dynamics(state, control):
    x, y, heading, speed = torch.unbind(state, dim=-1)
    acceleration, turn = control.unbind(-1)
    return torch.stack([x + dt * speed * heading.cos(), y + dt * speed * heading.sin(), heading + dt * turn,
                        speed + dt * acceleration], dim=-1)


def rollout(controls, start):
    states = [start]
    for control in controls:
        states.append(dynamics(states[-1], control))
    return torch.stack(states)


def cost(controls, start):
    states = rollout(controls, start)
    effort = controls.square().sum() * 1e-2
    terminal = 10 * F.huber_loss(states[-1], goal, delta=0.5, reduction="sum")
    obstacle = F.relu(0.4 - (states[:, :2] - torch.tensor([1.0, 0.4])).norm(dim=1)).pow(2).sum()
    return effort + terminal + 50 * obstacle


start = torch.zeros(4)
raw = torch.zeros(steps, 2, requires_grad=True)
optimizer = torch.optim.Adam([raw], lr=0.2)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[10, 20], gamma=0.3)
for i in range(30):
    controls = 3 * torch.tanh(raw)
    value = cost(controls, start)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    scheduler.step()
    if i % 7 == 0:
        print(f"{i:2d} cost {value.item():.6f} grad {raw.grad.norm().item():.6f}")
final = rollout(3 * raw.tanh(), start)[-1]
print(final.detach())
A = torch.autograd.functional.jacobian(lambda s: dynamics(s, torch.tensor([1.0, 0.1])), final.detach())
B = torch.autograd.functional.jacobian(lambda u: dynamics(final.detach(), u), torch.tensor([1.0, 0.1]))
P, Q, Rm = torch.eye(4), torch.eye(4), 0.1 * torch.eye(2)
for _ in range(30):
    K = torch.linalg.solve(Rm + B.T @ P @ B, B.T @ P @ A)
    P = Q + A.T @ P @ (A - B @ K)
print(A[0], B[2:], f"{torch.linalg.matrix_norm(P, ord='fro'):.4f}")
hvp = torch.autograd.functional.hvp(lambda c: cost(c, start), (3 * raw.tanh()).detach(), torch.ones(steps, 2))[1]
print(f"{hvp.norm():.5f}")
