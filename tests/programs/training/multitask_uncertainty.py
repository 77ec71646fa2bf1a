"""Two tasks on one body, weighted by learned uncertainties, with gradient surgery where they pull apart."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
torch.set_default_dtype(torch.float64)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(5, 10), nn.CELU())
        self.heads = nn.ModuleDict({"regress": nn.Linear(10, 1), "classify": nn.Linear(10, 3)})
        self.log_vars = nn.ParameterDict({k: torch.zeros(1) for k in self.heads})

    def forward(self, x):
        h = self.shared(x)
        return {name: head(h) for name, head in self.heads.items()}

    def losses(self, out, targets):
        return {"regress": F.l1_loss(out["regress"].squeeze(-1), targets["regress"]),
                "classify": F.multi_margin_loss(out["classify"], targets["classify"])}


x = torch.randn(24, 5)
targets = {"regress": x.sum(1), "classify": x[:, :3].argmin(1)}
model = MultiTask()
print(model)
optimizer = torch.optim.ASGD(model.parameters(), lr=0.05, t0=5)
for step in range(10):
    losses = model.losses(model(x), targets)
    total = sum(torch.exp(-model.log_vars[k]) * losses[k] + model.log_vars[k] for k in losses)
    optimizer.zero_grad()
    total.sum().backward()
    optimizer.step()
    if step % 3 == 0:
        print(step, {k: round(v.item(), 6) for k, v in losses.items()}, f"{model.log_vars['regress'].item():.6f}")


def pcgrad(model, losses):
    shared = list(model.shared.parameters())
    grads = []
    for loss in losses.values():
        g = torch.autograd.grad(loss, shared, retain_graph=True)
        grads.append(torch.cat([v.reshape(-1) for v in g]))
    projected = [g.clone() for g in grads]
    for i, g in enumerate(projected):
        for j, other in enumerate(grads):
            dot = torch.dot(g, other)
            if i != j and dot < 0:
                g -= dot / other.norm() ** 2 * other
    return grads, torch.stack(projected).mean(dim=0)


grads, merged = pcgrad(model, model.losses(model(x), targets))
print(f"cosine {F.cosine_similarity(*grads, dim=0).item():.6f} merged {merged.norm().item():.6f}")
print([bool(torch.dot(merged, g) >= -1e-9) for g in grads])
offset = 0
for p in model.shared.parameters():
    p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
    offset += p.numel()
optimizer.step()
print(offset, f"{sum(v.item() for v in model.losses(model(x), targets).values()):.6f}", list(model.log_vars.keys()))
