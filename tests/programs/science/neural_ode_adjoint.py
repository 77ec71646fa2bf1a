"""A neural ODE integrated by fixed steps, its gradient by the adjoint equation in a custom Function."""
import torch
import torch.nn as nn
from torch.autograd import Function

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)


class ODEFunc(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 10), nn.Tanh(), nn.Linear(10, dim))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.3)
                nn.init.constant_(m.bias, val=0)
        self.nfe = 0

    def forward(self, t, y):
        self.nfe += 1
        return self.net(y ** 3)


def odeint(f, y, t0, t1, steps=20):
    dt = (t1 - t0) / steps
    for i in range(steps):
        t = t0 + i * dt
        k1 = f(t, y)
        k2 = f(t + dt / 2, y + dt / 2 * k1)
        y = y + dt * k2
    return y


class OdeintAdjoint(Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        ctx.func = func
        with torch.no_grad():
            y1 = odeint(func, y0, t[0], t[1])
        ctx.save_for_backward(t, y1, *params)
        return y1

    @staticmethod
    def backward(ctx, grad_y):
        t, y1, *params = ctx.saved_tensors
        func, n = ctx.func, y1.numel()

        def augmented(time, state):
            y, a = state[:n].view_as(y1), state[n:2 * n].view_as(y1)
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                out = func(time, y)
                vjp = torch.autograd.grad(out, (y, *params), a, allow_unused=True)
            flat = [torch.zeros_like(p) if g is None else g for g, p in zip(vjp, (y, *params))]
            return torch.cat([out.detach().reshape(-1)] + [-g.reshape(-1) for g in flat])

        state = torch.cat([y1.reshape(-1), grad_y.reshape(-1)] + [torch.zeros(p.numel()) for p in params])
        with torch.no_grad():
            state = odeint(augmented, state, t[1], t[0])
        grads, offset = [], 2 * n
        for p in params:
            grads.append(state[offset:offset + p.numel()].view_as(p))
            offset += p.numel()
        return (None, state[n:2 * n].view_as(y1), None, *grads)


func = ODEFunc()
y0, t = torch.tensor([[2.0, 0.0]], requires_grad=True), torch.tensor([0.0, 0.5])
true = torch.tensor([[1.2, 0.9]])
direct = torch.autograd.grad((odeint(func, y0, t[0], t[1]) - true).pow(2).sum(), [y0, *func.parameters()], allow_unused=True)
loss = (OdeintAdjoint.apply(func, y0, t, *func.parameters()) - true).pow(2).sum()
loss.backward()
print([f"{g.norm():.4f}" for g in direct])
print(all(torch.allclose(a, b.grad, atol=5e-3) for a, b in zip(direct, [y0, *func.parameters()])), loss.grad_fn.name())
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-2)
for itr in range(1, 9):
    optimizer.zero_grad()
    pred_y = OdeintAdjoint.apply(func, y0.detach(), t, *func.parameters())
    loss = torch.mean(torch.abs(pred_y - true))
    loss.backward()
    optimizer.step()
    if itr % 2 == 0:
        print("Iter {:04d} | Total Loss {:.6f} | {}".format(itr, loss.item(), func.nfe))
