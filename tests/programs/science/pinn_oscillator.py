"""A physics-informed network that solves a damped oscillator by penalising the residual of its equation."""
import torch
import torch.nn as nn

torch.manual_seed(123)
torch.set_default_dtype(torch.float64)


class FCN(nn.Module):
    def __init__(self, N_INPUT, N_OUTPUT, N_HIDDEN, N_LAYERS):
        super().__init__()
        activation = nn.Tanh
        self.fcs = nn.Sequential(*[nn.Linear(N_INPUT, N_HIDDEN), activation()])
        self.fch = nn.Sequential(*[nn.Sequential(*[nn.Linear(N_HIDDEN, N_HIDDEN), activation()])
                                   for _ in range(N_LAYERS - 1)])
        self.fce = nn.Linear(N_HIDDEN, N_OUTPUT)

    def forward(self, x):
        return self.fce(self.fch(self.fcs(x)))


d, w0 = 0.5, 4.0
mu, k = 2 * d, w0 ** 2
pinn = FCN(1, 1, 16, 2)
t_boundary = torch.tensor(0.0).view(-1, 1).requires_grad_(True)
t_physics = torch.linspace(0, 1, 12).view(-1, 1).requires_grad_(True)
optimiser = torch.optim.Adam(pinn.parameters(), lr=5e-3)
for i in range(31):
    optimiser.zero_grad()
    u = pinn(t_boundary)
    loss1 = (torch.squeeze(u) - 1) ** 2
    dudt = torch.autograd.grad(u, t_boundary, torch.ones_like(u), create_graph=True)[0]
    loss2 = (torch.squeeze(dudt) - 0) ** 2
    u = pinn(t_physics)
    dudt = torch.autograd.grad(u, t_physics, torch.ones_like(u), create_graph=True)[0]
    d2udt2 = torch.autograd.grad(dudt, t_physics, torch.ones_like(dudt), create_graph=True)[0]
    loss3 = torch.mean((d2udt2 + mu * dudt + k * u) ** 2)
    loss = loss1 + 1e-1 * loss2 + 1e-4 * loss3
    loss.backward()
    optimiser.step()
    if i % 10 == 0:
        print(f"{i}: {loss1.item():.6f} {loss2.item():.6f} {loss3.item():.6f}")
w = (w0 ** 2 - d ** 2) ** 0.5
exact = torch.exp(-d * t_physics) * (torch.cos(w * t_physics) + d / w * torch.sin(w * t_physics))
print(f"error {(pinn(t_physics) - exact).abs().mean().item():.5f}", d2udt2.grad_fn is not None, t_physics.grad is not None)
