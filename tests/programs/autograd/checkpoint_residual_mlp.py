"""Trades compute for memory by activation checkpointing in a residual network and counts the recomputed blocks."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(42)
torch.set_default_dtype(torch.float64)


class Block(nn.Module):
    calls = 0

    def __init__(self, dim, p=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        Block.calls += 1
        return x + self.drop(self.fc2(F.gelu(self.fc1(self.norm(x)))))


class Net(nn.Module):
    def __init__(self, dim=8, depth=3, use_checkpoint=False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 3)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        for block in self.blocks:
            if self.use_checkpoint and self.training:
                x = checkpoint(block, x, use_reentrant=False, preserve_rng_state=True)
            else:
                x = block(x)
        return self.head(x)


net = Net()
x, target = torch.randn(10, 8), torch.randint(0, 3, (10,))
results = {}
for flag in (False, True):
    net.use_checkpoint, Block.calls = flag, 0
    net.zero_grad(set_to_none=True)
    torch.manual_seed(7)  # dropout draws alike
    loss = F.cross_entropy(net(x), target)
    forward_calls = Block.calls
    loss.backward()
    results[flag] = {name: p.grad.clone() for name, p in net.named_parameters()}
    print(f"checkpoint={flag}: loss {loss.item():.6f}, calls {forward_calls} then {Block.calls}")
print("same gradients:", all(torch.allclose(results[True][k], g) for k, g in results[False].items()))
print({k: round(g.norm().item(), 5) for k, g in list(results[True].items())[:4]})

layers = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.ELU()) for _ in range(4)])
inp = x.clone().requires_grad_()
out = checkpoint_sequential(layers, 2, inp, use_reentrant=False)
out.square().mean().backward()
print(out.shape, f"{out.mean().item():.6f}", f"{inp.grad.norm().item():.6f}")


def two(a, b, *, scale=1.0):
    return a.matmul(b) * scale, a.sum() * b.sum()


a, b = torch.randn(2, 3, requires_grad=True), torch.randn(3, 2, requires_grad=True)
m, s = checkpoint(two, a, b, scale=0.5, use_reentrant=False)
(m.sum() + s).backward()
print(a.grad, b.grad, sep="\n")
net.eval()
print(net(x).argmax(-1).tolist())
r = checkpoint(lambda t: t.sin() * t, inp, use_reentrant=True)
print(r.requires_grad, f"{torch.sum(r).item():.5f}")
