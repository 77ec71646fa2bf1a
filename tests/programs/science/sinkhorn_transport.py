"""Optimal transport between clouds of points by Sinkhorn iterations in the log domain, differentiated two ways."""
import torch

torch.manual_seed(8)
torch.set_default_dtype(torch.float64)


def sinkhorn(cost, eps=0.1, iterations=60):
    n, m = cost.shape
    log_a, log_b = cost.new_full((n,), 1 / n).log(), cost.new_full((m,), 1 / m).log()
    f, g = torch.zeros(n), torch.zeros(m)
    for _ in range(iterations):
        f = -eps * torch.logsumexp((g - cost) / eps + log_b, dim=1)
        g = -eps * torch.logsumexp((f[:, None] - cost) / eps + log_a[:, None], dim=0)
    plan = torch.exp((f[:, None] + g - cost) / eps + log_a[:, None] + log_b)
    return plan, f, g


x = torch.randn(6, 2).requires_grad_()
y = torch.randn(8, 2) + torch.tensor([2.0, 0.0])
cost = torch.cdist(x, y, p=2).pow(2) / 2
plan, f, g = sinkhorn(cost)
print(plan.sum(1).detach(), plan.sum(0).detach()[:2])
distance = (plan * cost).sum()
through, = torch.autograd.grad(distance, x, retain_graph=True)
envelope, = torch.autograd.grad((plan.detach() * cost).sum(), x)
print(f"{distance.item():.6f} {through.norm():.5f} {envelope.norm():.5f}")
weights = plan.detach() / plan.detach().sum(1, keepdim=True)
print(torch.allclose(envelope, (x - weights @ y) * plan.detach().sum(1, keepdim=True)))

points = x.detach().clone().requires_grad_()
opt = torch.optim.SGD([points], lr=3.0)
for step in range(6):
    opt.zero_grad()
    cost = 0.5 * (points[:, None] - y[None]).square().sum(-1)
    plan, _, _ = sinkhorn(cost, iterations=30)
    loss = (plan * cost).sum()
    loss.backward()
    opt.step()
    print(f"{step} {loss.item():.6f}")
entropy = torch.special.entr(plan).sum().item() if hasattr(torch.special, "entr") else -(plan * plan.log()).sum().item()
print(f"entropy {entropy:.5f}")
scores = torch.randn(4, 4, requires_grad=True)
soft = scores
for _ in range(20):
    soft = soft - soft.logsumexp(1, keepdim=True)
    soft = soft - soft.logsumexp(0, keepdim=True)
permutation = soft.exp()
(permutation * torch.arange(16.0).view(4, 4)).sum().backward()
print((permutation.sum(0) - 1).abs().max().item() < 1e-6, f"{scores.grad.norm():.4f}")
print(permutation.argmax(1).tolist())
