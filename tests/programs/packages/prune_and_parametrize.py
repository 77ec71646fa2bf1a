"""Prunes, normalises and constrains weights by nn.utils: masks, reparametrisations, orthogonal and symmetric maps."""
import torch
import torch.nn as nn
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import orthogonal, spectral_norm

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)
module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
prune.random_unstructured(module[0], name="weight", amount=0.3)
prune.l1_unstructured(module[0], name="bias", amount=3)
prune.ln_structured(module[2], name="weight", amount=0.5, n=2, dim=1)
print([n for n, _ in module[0].named_parameters()], [n for n, _ in module[0].named_buffers()])
print(f"sparsity {(module[0].weight == 0).double().mean():.4f} {(module[2].weight == 0).double().mean():.4f}")
x = torch.randn(4, 6)
module(x).square().sum().backward()
print(((module[0].weight_orig.grad != 0) & (module[0].weight_mask == 0)).any().item(), module[0].bias)
prune.global_unstructured([(module[0], "weight"), (module[2], "weight")], pruning_method=prune.L1Unstructured, amount=0.2)
print(int(module[0].weight_mask.sum() + module[2].weight_mask.sum()), len(list(module[0]._forward_pre_hooks)))
prune.remove(module[0], "weight")
print(prune.is_pruned(module), sorted(module[0].state_dict()))


class ThresholdPruning(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, threshold):
        self.threshold = threshold

    def compute_mask(self, t, default_mask):
        return (t.abs() > self.threshold).to(default_mask) * default_mask


layer = nn.Linear(3, 3)
ThresholdPruning.apply(layer, "weight", threshold=0.3)
print(layer.weight_mask)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X)


layer = nn.Linear(3, 3)
parametrize.register_parametrization(layer, "weight", Symmetric())
parametrize.register_parametrization(layer, "weight", MatrixExponential(), unsafe=True) if False else None
print(torch.allclose(layer.weight, layer.weight.T), layer)
layer.weight = torch.arange(9.0).view(3, 3)
print(layer.weight.data, layer.parametrizations.weight.original.data)
with parametrize.cached():
    layer(torch.ones(2, 3)).sum().backward()
print(layer.parametrizations.weight.original.grad)
parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
print(type(layer).__name__, layer.weight.is_leaf)
ortho = orthogonal(nn.Linear(4, 4))
print(torch.allclose(ortho.weight @ ortho.weight.T, torch.eye(4)))
opt = torch.optim.SGD(ortho.parameters(), lr=0.5)
for _ in range(3):
    opt.zero_grad()
    loss = (ortho(torch.eye(4)) - torch.eye(4).roll(1, 0)).square().sum()
    loss.backward()
    opt.step()
    print(f"{loss.item():.6f}", torch.allclose(ortho.weight @ ortho.weight.T, torch.eye(4)))
normed = spectral_norm(nn.Linear(5, 4), n_power_iterations=8)
print(f"{torch.linalg.matrix_norm(normed.weight, ord=2).item():.3f}", len(normed.state_dict()))
