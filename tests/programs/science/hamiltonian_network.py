"""A network of the energy of a pendulum, whose gradient gives the motion, compared with a leapfrog integrator."""
import torch
from torch import nn

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)


class HNN(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1, bias=False))
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight)
        self.register_buffer("J", torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))

    def time_derivative(self, x):
        H = self.net(x).sum()
        dH, = torch.autograd.grad(H, x, create_graph=True)
        return dH @ self.J.t()


def hamiltonian(x):
    return 0.5 * x[..., 1] ** 2 + 1 - torch.cos(x[..., 0])


def field(x):
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        dq, dp = torch.autograd.grad(hamiltonian(x).sum(), x)[0].unbind(-1)
    return torch.stack([dp, -dq], dim=-1)


def rk4(f, x, dt):
    k1 = f(x)
    k2 = f(x + dt / 2 * k1)
    k3 = f(x + dt / 2 * k2)
    k4 = f(x + dt * k3)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


data = torch.rand(50, 2) * 3 - 1.5
target = field(data) + 0.01 * torch.randn(50, 2)
model = HNN()
optim = torch.optim.Adam(model.parameters(), 1e-2, weight_decay=1e-4)
for step in range(40):
    x = data.clone().requires_grad_()
    loss = (target - model.time_derivative(x)).pow(2).mean()
    loss.backward()
    grad = torch.cat([p.grad.flatten() for p in model.parameters()]).clone()
    optim.step()
    optim.zero_grad()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.6f} grad norm {(grad @ grad).sqrt():.6f}")
state = torch.tensor([[1.0, 0.0]])
learned, true = state.clone(), state.clone()
for _ in range(20):
    learned = rk4(lambda v: model.time_derivative(v.detach().requires_grad_()).detach(), learned, 0.1)
    true = rk4(field, true, 0.1)
print(f"energy drift {(hamiltonian(true) - hamiltonian(state)).abs().item() < 1e-6}", f"{(learned - true).norm():.5f}")
print(true, model.J)
