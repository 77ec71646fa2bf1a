"""Influence of single examples by Hessian-vector products and conjugate gradients, and the largest eigenvalue."""
import torch
import torch.nn as nn

torch.manual_seed(13)
torch.set_default_dtype(torch.float64)
x, y = torch.randn(15, 4), torch.randint(0, 2, (15,)).double()
model = nn.Linear(4, 1)
criterion = nn.BCEWithLogitsLoss(reduction="none")
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=50, line_search_fn="strong_wolfe")


def objective():
    return criterion(model(x).squeeze(1), y).mean() + 0.05 * sum(p.pow(2).sum() for p in model.parameters())


def closure():
    optimizer.zero_grad()
    loss = objective()
    loss.backward()
    return loss


optimizer.step(closure)
print(f"loss {objective().item():.6f} grad {sum(p.grad.norm() for p in model.parameters()).item() < 1e-4}")
params = [p for p in model.parameters() if p.requires_grad]


def hvp(v):
    grads = torch.autograd.grad(objective(), params, create_graph=True)
    flat = torch.cat([g.reshape(-1) for g in grads])
    out = torch.autograd.grad(flat, params, grad_outputs=v, retain_graph=False)
    return torch.cat([g.contiguous().view(-1) for g in out])


def conjugate_gradient(b, iterations=10):
    s, r = torch.zeros_like(b), b.clone()
    p, rr = r.clone(), r.dot(r)
    for _ in range(iterations):
        hp = hvp(p)
        alpha = rr / p.dot(hp)
        s.add_(p, alpha=alpha.item())
        r.sub_(alpha * hp)
        new = r.dot(r)
        if new < 1e-20:
            break
        p, rr = r + new / rr * p, new
    return s


def grad_of(i):
    loss = criterion(model(x[i:i + 1]).squeeze(1), y[i:i + 1]).mean()
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, params)])


test = grad_of(0)
solution = conjugate_gradient(test)
print(f"residual {(hvp(solution) - test).norm().item() < 1e-8}")
influence = torch.stack([-solution @ grad_of(i) for i in range(15)])
print(influence.topk(3).indices.sort().values, f"{influence.sum():.6f}")
v = torch.ones(5) / 5 ** 0.5
for _ in range(30):
    hv = hvp(v)
    eigenvalue = v @ hv
    v = hv / hv.norm()
full = torch.stack([hvp(e) for e in torch.eye(5)])
print(f"{eigenvalue:.6f} {torch.linalg.eigvalsh(full).max():.6f}", torch.allclose(full, full.T))
per_sample = torch.stack([grad_of(i) for i in range(15)])
fisher = per_sample.T @ per_sample / 15
print(f"{torch.trace(fisher):.6f} {torch.linalg.eigvalsh(fisher).min():.6f}")
