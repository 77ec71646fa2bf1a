"""Trains without backward: evolution strategies on the flat vector of parameters, next to the true gradient."""
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(9)
torch.set_default_dtype(torch.float64)
model = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
x = torch.randn(30, 3)
y = x.prod(dim=1, keepdim=True)


@torch.no_grad()
def fitness(vector):
    vector_to_parameters(vector, model.parameters())
    return -nn.functional.mse_loss(model(x), y)


mean = parameters_to_vector(model.parameters()).detach().clone()
sigma, lr, velocity = 0.1, 0.2, torch.zeros_like(mean)
for generation in range(8):
    noise = torch.randn(20, mean.numel())
    noise = torch.cat([noise, -noise])
    scores = torch.stack([fitness(mean + sigma * n) for n in noise])
    ranks = scores.argsort().argsort().to(mean.dtype) / (len(scores) - 1) - 0.5
    estimate = (ranks @ noise) / (len(noise) * sigma)
    velocity.mul_(0.9).add_(estimate)
    mean.add_(velocity, alpha=lr)
    if generation % 2 == 0:
        print(f"generation {generation} fitness {fitness(mean).item():.6f} best {scores.max().item():.6f}")
vector_to_parameters(mean, model.parameters())
loss = nn.functional.mse_loss(model(x), y)
loss.backward()
gradient = torch.cat([p.grad.view(-1) for p in model.parameters()])
scores = torch.stack([fitness(mean + 0.01 * n) - fitness(mean - 0.01 * n) for n in noise])
estimate = (scores[:, None] * noise).mean(0) / 0.02
print(f"cosine {nn.functional.cosine_similarity(estimate, -gradient, dim=0):.5f}", mean.shape, mean.requires_grad)
elites = noise[torch.topk(scores, k=5).indices]
covariance = torch.cov(elites.T)
print(covariance.shape, f"{torch.trace(covariance):.5f}", f"{torch.corrcoef(elites[:2]).det():.5f}")
best, population = None, mean + 0.3 * torch.randn(12, mean.numel())
for generation in range(6):
    values = torch.stack([fitness(v) for v in population])
    a, b, c = (population[torch.randperm(12)] for _ in range(3))
    trial = torch.where(torch.rand_like(population) < 0.7, a + 0.6 * (b - c), population)
    better = torch.stack([fitness(v) for v in trial]) > values
    population = torch.where(better.unsqueeze(1), trial, population)
print(f"differential evolution {torch.stack([fitness(v) for v in population]).max().item():.6f}", better.sum().item())
