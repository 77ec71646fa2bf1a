"""Sliced score matching with a Hessian-vector product, and Langevin dynamics that samples from what was learned."""
import torch
import torch.nn as nn

torch.manual_seed(14)
torch.set_default_dtype(torch.float64)
score = nn.Sequential(nn.Linear(2, 20), nn.Softplus(beta=2), nn.Linear(20, 20), nn.Softplus(), nn.Linear(20, 2))
optimizer = torch.optim.Adam(score.parameters(), lr=2e-2)


def sliced_score_matching(model, samples):
    samples.requires_grad_(True)
    vectors = torch.randn_like(samples)
    vectors = vectors / torch.norm(vectors, dim=-1, keepdim=True)
    logp = model(samples)
    gradvec = torch.sum(logp * vectors)
    grad_of_it = torch.autograd.grad(gradvec, samples, create_graph=True)[0]
    loss = torch.sum(vectors * grad_of_it, dim=-1) + 0.5 * torch.norm(logp, dim=-1) ** 2
    return loss.mean()


def denoising_score_matching(model, samples, sigma=0.3):
    noise = torch.randn_like(samples)
    target = -noise / sigma
    return 0.5 * sigma ** 2 * (model(samples + sigma * noise) - target).square().sum(-1).mean()


means = torch.tensor([[1.5, 0.0], [-1.5, 0.5]])
for step in range(25):
    data = means[torch.randint(2, (64,))] + 0.5 * torch.randn(64, 2)
    loss = sliced_score_matching(score, data) if step % 2 else denoising_score_matching(score, data)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        print(f"{step:3d} {loss.item():+.6f}")
x = torch.randn(40, 2)
with torch.no_grad():
    for _ in range(30):
        x = x + 0.05 * score(x) + torch.sqrt(torch.tensor(0.1)) * torch.randn_like(x)
print(f"{x.mean():.5f} {x.std():.5f}", x.requires_grad)
point = torch.zeros(2)
jacobian = torch.autograd.functional.jacobian(score, point)
print(jacobian.shape, f"{(jacobian - jacobian.T).abs().max():.5f}", f"{torch.trace(jacobian):.5f}")
print(torch.autograd.functional.vjp(score, point, torch.ones(2))[1])
