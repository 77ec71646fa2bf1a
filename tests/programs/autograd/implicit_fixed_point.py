"""Differentiates through a fixed point with the implicit function theorem, as deep equilibrium model tutorials do."""

import torch
import torch.nn as nn
import torch.autograd as autograd

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class TanhFixedPointLayer(nn.Module):
    def __init__(self, out_features, tol=1e-10, max_iter=100):
        super().__init__()
        self.linear = nn.Linear(out_features, out_features, bias=False)
        self.tol, self.max_iter = tol, max_iter

    def forward(self, x):
        with torch.no_grad():
            z, self.iterations = torch.zeros_like(x), 0
            while self.iterations < self.max_iter:
                z_next = torch.tanh(self.linear(z) + x)
                self.err = torch.norm(z - z_next)
                z = z_next
                self.iterations += 1
                if self.err < self.tol:
                    break
        z = torch.tanh(self.linear(z) + x)  # one step with the graph
        if not torch.is_grad_enabled() or not z.requires_grad:
            return z
        z0 = z.clone().detach().requires_grad_()
        f0 = torch.tanh(self.linear(z0) + x)

        def backward_hook(grad):
            g, i = grad, 0
            while i < self.max_iter:
                g_next = autograd.grad(f0, z0, g, retain_graph=True)[0] + grad
                if (g_next - g).norm() < self.tol:
                    break
                g, i = g_next, i + 1
            return g_next

        z.register_hook(backward_hook)
        return z


layer = TanhFixedPointLayer(6)
with torch.no_grad():
    layer.linear.weight.mul_(0.8)
x = torch.randn(3, 6, requires_grad=True)
z = layer(x)
print(layer.iterations < 100, (layer.err < 1e-10).item(), z.norm().item())
z.sin().sum().backward()
implicit = x.grad.clone(), layer.linear.weight.grad.clone()

x.grad = None
layer.zero_grad()
z = torch.zeros_like(x)
for _ in range(80):
    z = torch.tanh(layer.linear(z) + x)
z.sin().sum().backward()
for name, a, b in zip(("x", "weight"), implicit, (x.grad, layer.linear.weight.grad)):
    print(f"{name}: implicit {a.norm():.6f}, unrolled {b.norm():.6f}, close {torch.allclose(a, b, atol=1e-7)}")


# a bilevel problem: ridge regression's best penalty by the gradient of the validation loss
A, B = torch.randn(12, 4), torch.randn(8, 4)
true = torch.tensor([1.0, -2.0, 0.5, 0.0])
ya, yb = A @ true + 0.5 * torch.randn(12), B @ true
log_lam = torch.tensor(0.0, requires_grad=True)
for i in range(4):
    w = torch.linalg.solve(A.T @ A + log_lam.exp() * torch.eye(4), A.T @ ya)
    val = torch.mean((B @ w - yb) ** 2)
    (hyper,) = autograd.grad(val, log_lam)
    log_lam.data -= 2.0 * hyper
    print(i, f"validation {val.item():.6f} hypergradient {hyper.item():.6f} lambda {log_lam.exp().item():.6f}")
