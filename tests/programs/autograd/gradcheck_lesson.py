"""Shows what gradcheck and gradgradcheck accept and refuse, with a right and a wrong backward."""

import torch
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.gradcheck import GradcheckError

torch.manual_seed(5)


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_out):
        x, = ctx.saved_tensors
        return grad_out * 3 * x ** 2


class WrongCube(Cube):
    @staticmethod
    def backward(ctx, grad_out):
        x, = ctx.saved_tensors
        return grad_out * 2 * x ** 2


class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        expx, expnegx = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(expx, expnegx)
        return (expx - expnegx) / 2, expx, expnegx

    @staticmethod
    def backward(ctx, grad_out, grad_ex, grad_enx):
        expx, expnegx = ctx.saved_tensors
        return grad_out * (expx + expnegx) / 2 + grad_ex * expx - grad_enx * expnegx


x = torch.randn(3, 2, dtype=torch.double, requires_grad=True)
print("cube", gradcheck(Cube.apply, (x,)), gradgradcheck(Cube.apply, (x,)))
print("sinh", gradcheck(lambda t: Sinh.apply(t)[0], x), gradgradcheck(lambda t: Sinh.apply(t)[0], x))
print("wrong", gradcheck(WrongCube.apply, (x,), raise_exception=False))
try:
    gradcheck(WrongCube.apply, (x,), eps=1e-6, atol=1e-5)
except GradcheckError as error:
    print(type(error).__name__, str(error).splitlines()[0])
try:
    gradcheck(torch.sin, torch.randn(3, dtype=torch.double))
except ValueError as error:
    print("ValueError:", error)

checks = {
    "layer_norm": (lambda t: torch.nn.functional.layer_norm(t, (2,)), (x,)),
    "conv1d": (torch.nn.functional.conv1d, (torch.randn(2, 2, 5, dtype=torch.double, requires_grad=True), torch.randn(3, 2, 3, dtype=torch.double, requires_grad=True))),
    "pairwise": (lambda a, b: (a[:, None] - b).norm(dim=-1), (x, torch.randn(4, 2, dtype=torch.double, requires_grad=True))),
    "logdet": (lambda m: torch.logdet(m @ m.T + torch.eye(3, dtype=torch.double)), (torch.randn(3, 3, dtype=torch.double, requires_grad=True),)),
    "norm p=3": (lambda t: t.norm(p=3, dim=1), (x,)),
}
for name, (function, inputs) in checks.items():
    print(f"{name:>10}: first {gradcheck(function, inputs)}, second {gradgradcheck(function, inputs, atol=1e-4)}")


def numeric(f, t, eps=1e-6):
    grad = torch.zeros_like(t)
    for i in range(t.numel()):
        step = torch.zeros(t.numel(), dtype=t.dtype)
        step[i] = eps
        step = step.view_as(t)
        grad.view(-1)[i] = (f(t + step) - f(t - step)).item() / (2 * eps)
    return grad


f = lambda t: (t.sin() * t.roll(1, 0)).sum()
f(x).backward()
with torch.no_grad():
    print("largest gap below 1e-8:", bool((numeric(f, x) - x.grad).abs().max() < 1e-8), f"{x.grad.norm():.5f}")
