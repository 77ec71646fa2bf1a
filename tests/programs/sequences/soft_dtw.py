"""Soft dynamic time warping with a custom Function whose backward pass is the second dynamic program."""
import torch
from torch.autograd import Function, gradcheck

torch.manual_seed(10)
torch.set_default_dtype(torch.float64)


class SoftDTW(Function):
    @staticmethod
    def forward(ctx, D, gamma):
        n, m = D.shape
        R = D.new_full((n + 2, m + 2), float("inf"))
        R[0, 0] = 0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                r = torch.stack([R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]]) / -gamma
                R[i, j] = D[i - 1, j - 1] - gamma * torch.logsumexp(r, 0)
        ctx.save_for_backward(D, R)
        ctx.gamma = gamma
        return R[n, m].clone()

    @staticmethod
    def backward(ctx, grad_output):
        D, R = ctx.saved_tensors
        n, m = D.shape
        R = R.clone()
        D_ = torch.nn.functional.pad(D, (1, 1, 1, 1))
        E = torch.zeros_like(R)
        E[-1, -1] = 1
        R[:, -1] = -float("inf")
        R[-1, :] = -float("inf")
        R[-1, -1] = R[-2, -2]
        for j in range(m, 0, -1):
            for i in range(n, 0, -1):
                a, b, c = [((R[p] - R[i, j] - D_[p]) / ctx.gamma).exp() for p in ((i + 1, j), (i, j + 1), (i + 1, j + 1))]
                E[i, j] = E[i + 1, j] * a + E[i, j + 1] * b + E[i + 1, j + 1] * c
        return grad_output * E[1:-1, 1:-1], None


def distance(x, y):
    return (x[:, None] - y[None, :]).pow(2).sum(-1)


x, y = torch.randn(5, 2, requires_grad=True), torch.randn(4, 2)
for gamma in (1.0, 0.1):
    value = SoftDTW.apply(distance(x, y), gamma)
    x.grad = None
    value.backward()
    print(f"gamma {gamma}: {value.item():.6f} grad {x.grad.norm().item():.6f}", value.grad_fn.name())
print(gradcheck(lambda d: SoftDTW.apply(d, 0.5), (torch.rand(3, 3, requires_grad=True),)))
barycentre = torch.zeros(6, 1, requires_grad=True)
curves = [torch.sin(torch.linspace(0, 3, 6) + s).unsqueeze(1) for s in (0.0, 0.3, 0.6)]
opt = torch.optim.SGD([barycentre], lr=0.1)
for step in range(5):
    opt.zero_grad()
    loss = sum(SoftDTW.apply(distance(barycentre, c), 0.3) for c in curves)
    loss.backward()
    opt.step()
    print(f"{step} {loss.item():.6f}")
print(barycentre.detach().squeeze())
