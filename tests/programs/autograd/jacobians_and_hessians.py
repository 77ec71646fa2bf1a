"""Computes Jacobians, Hessians and their products with torch.autograd.functional and checks them against closed forms."""

import torch
import torch.nn.functional as F
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

D = 4
weight, bias, x = torch.randn(D, D), torch.randn(D), torch.randn(D)


def predict(weight, bias, x):
    return F.linear(x, weight, bias).tanh()


def loop_jacobian(f, x):
    x = x.clone().requires_grad_(True)
    y = f(x)
    rows = [torch.autograd.grad(y, x, vec, retain_graph=True)[0] for vec in torch.eye(D)]
    return torch.stack(rows)


J = jacobian(lambda x: predict(weight, bias, x), x)
print(J.shape, torch.allclose(J, loop_jacobian(lambda x: predict(weight, bias, x), x)))
print(J)
jw, jb = jacobian(lambda w, b: predict(w, b, x), (weight, bias))
print(jw.shape, jb.shape, jw.norm(), torch.diagonal(jb))


def energy(x, y):
    return (x.pow(3).sum() * y.exp()).sum()


u, v = torch.tensor([1.0, 2.0]), torch.tensor([0.1, 0.2, 0.3])
H = hessian(energy, (u, v))
print([[tuple(block.shape) for block in row] for row in H])
print(H[0][0], H[0][1], sep="\n")
print(hessian(lambda t: (t @ torch.diag(torch.arange(1.0, 4.0)) @ t) / 2, torch.zeros(3)))

out, g = vjp(lambda t: t.softmax(0), torch.tensor([0.5, 1.5, -1.0]), torch.tensor([1.0, 0.0, 2.0]))
print(out, g)
out, t = jvp(lambda t: t.cumsum(0).exp(), torch.tensor([0.5, 0.5, -1.0]), v=torch.ones(3))
print(out, t)
print(hvp(lambda t: t.prod(), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, 0.0])))
print(vhp(lambda t: t.logsumexp(-1), torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 0.0, 0.0]))[1])

x = torch.randn(2, requires_grad=True)
J = jacobian(lambda t: torch.outer(t, t), x, create_graph=True)
J.pow(2).sum().backward()
print(J.requires_grad, J.shape, x.grad / x.detach())
try:
    hessian(lambda t: t * 2, torch.ones(3))
except RuntimeError as e:
    print("RuntimeError:", e)
try:
    jacobian(lambda t: torch.ones(2), torch.ones(3), strict=True)
except RuntimeError as e:
    print("strict:", str(e).split(".")[0])
