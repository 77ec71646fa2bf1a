"""Finds the shape of a hanging net by Newton's method and differentiates it by the implicit function theorem."""
import torch
from torch.autograd.functional import hessian

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
pairs = torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [1, 3]])
fixed = torch.tensor([[0.0, 0.0], [4.0, 0.0]])


def positions(free):
    return torch.cat([fixed[:1], free.view(3, 2), fixed[1:]])


def energy(free, stiffness, rest):
    p = positions(free)
    length = torch.linalg.vector_norm(p[pairs[:, 0]] - p[pairs[:, 1]], dim=1)
    return 0.5 * (stiffness * (length - rest) ** 2).sum() + 0.3 * p[:, 1].sum()


def newton(stiffness, rest, iterations=12):
    free = torch.tensor([1.0, -0.5, 2.0, -0.7, 3.0, -0.5])
    for _ in range(iterations):
        leaf = free.detach().requires_grad_()
        g, = torch.autograd.grad(energy(leaf, stiffness, rest), leaf)
        H = hessian(lambda f: energy(f, stiffness, rest), free)
        free = free - torch.linalg.solve(H, g)
    return free


class Equilibrium(torch.autograd.Function):
    @staticmethod
    def forward(ctx, stiffness, rest):
        with torch.enable_grad():
            free = newton(stiffness.detach(), rest.detach())
        ctx.save_for_backward(free, stiffness, rest)
        return free

    @staticmethod
    def backward(ctx, grad):
        free, stiffness, rest = ctx.saved_tensors
        with torch.enable_grad():
            H = hessian(lambda f: energy(f, stiffness.detach(), rest.detach()), free)
            adjoint = torch.linalg.solve(H, grad)
            leaf = free.detach().requires_grad_()
            k, r = stiffness.detach().requires_grad_(), rest.detach().requires_grad_()
            g, = torch.autograd.grad(energy(leaf, k, r), leaf, create_graph=True)
            dk, dr = torch.autograd.grad(g, (k, r), grad_outputs=-adjoint)
        return dk, dr


stiffness, rest = torch.full((5,), 5.0, requires_grad=True), torch.full((5,), 0.9, requires_grad=True)
shape = Equilibrium.apply(stiffness, rest)
print(shape.detach().view(3, 2), shape.grad_fn.name())
sag = shape.view(3, 2)[1, 1]
sag.backward()
print(stiffness.grad, rest.grad)
h = 1e-5
probe = torch.zeros(5).index_fill_(0, torch.tensor(2), h)
difference = (newton(stiffness.detach() + probe, rest.detach()) - newton(stiffness.detach() - probe, rest.detach()))[3] / (2 * h)
print(torch.allclose(difference, stiffness.grad[2], atol=1e-6))
design = torch.full((5,), 1.0, requires_grad=True)
opt = torch.optim.Adam([design], lr=0.05)
for step in range(5):
    opt.zero_grad()
    loss = (Equilibrium.apply(stiffness.detach(), design).view(3, 2)[:, 1] + 0.8).square().sum()
    loss.backward()
    opt.step()
    print(f"{step} {loss.item():.6f}")
