"""Derivatives of derivatives: a physical law as a loss, LBFGS, inner loops, a Function of one's own, an input made."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(3)


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


oscillator = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
start, times = torch.zeros(1, 1, requires_grad=True), torch.linspace(0, 1, 20).view(-1, 1).requires_grad_(True)
optimizer = torch.optim.Adam(oscillator.parameters(), lr=1e-2)
for step in range(15):
    optimizer.zero_grad()
    u = oscillator(start)
    at_start = (u.squeeze() - 1) ** 2 + derivative(u, start).squeeze() ** 2
    u = oscillator(times)
    du = derivative(u, times)
    residual = derivative(du, times) + 2 * du + 9 * u
    loss = at_start + 1e-2 * residual.pow(2).mean()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"{step}: {loss.item():.6f}")

calls = 0
optimizer = torch.optim.LBFGS(oscillator.parameters(), max_iter=8, line_search_fn="strong_wolfe")


def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = ((oscillator(times) - torch.cos(3 * times)) ** 2).mean()
    loss.backward()
    return loss


print([f"{optimizer.step(closure).item():.6f}" for _ in range(3)], calls)
print(torch.autograd.functional.jacobian(lambda t: oscillator(t).sum(0), times[:3].detach()))
print(torch.autograd.functional.hessian(lambda t: oscillator(t).sum(), times[0].detach()))

torch.set_default_dtype(torch.float32)
net = nn.Sequential(nn.Linear(1, 10), nn.ReLU(), nn.Linear(10, 1))
outer = torch.optim.Adam(net.parameters(), lr=1e-2)


def apply(x, w):
    return F.linear(F.relu(F.linear(x, w[0], w[1])), w[2], w[3])


for step in range(4):
    total = 0
    for amplitude in (0.5, 2.0):
        fast = [p.clone() for p in net.parameters()]
        for _ in range(2):
            x = 4 * torch.rand(8, 1) - 2
            grads = torch.autograd.grad(F.mse_loss(apply(x, fast), amplitude * x.sin()), fast, create_graph=True)
            fast = [w - 0.05 * g for w, g in zip(fast, grads)]
        x = 4 * torch.rand(8, 1) - 2
        total = total + F.mse_loss(apply(x, fast), amplitude * x.sin())
    outer.zero_grad()
    total.backward()
    outer.step()
    print(step, f"{total.item():.4f}", f"{net[0].weight.grad.norm():.4f}")


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, width):
        ctx.save_for_backward(x)
        ctx.width = width
        return x.sign()

    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        return grad * (x.abs() <= ctx.width).to(grad.dtype), None


w = torch.tensor([-1.5, 0.2, 0.7], requires_grad=True)
(Sign.apply(w, 1.0) * torch.tensor([5.0, 0.5, -2.0])).sum().backward()
print(w.grad, Sign.apply(w, 1.0))

conv = nn.Conv2d(3, 4, 3, padding=1).requires_grad_(False)


def gram(features):
    n, c, h, w = features.shape
    flat = features.view(n * c, h * w)
    return flat @ flat.t() / features.numel()


style = gram(conv(torch.rand(1, 3, 8, 8)))
image = torch.rand(1, 3, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.05)
for step in range(6):
    optimizer.zero_grad()
    loss = 100 * F.mse_loss(gram(conv(image)), style)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        image.clamp_(0, 1)
    print(step, f"{loss.item():.5f}")
target = torch.tensor([1])
scores = nn.Linear(192, 3)(image.detach().requires_grad_(True).flatten(1))
print(F.cross_entropy(scores, target))
