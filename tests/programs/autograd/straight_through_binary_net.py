"""Trains a network with binary weights and low-bit activations by straight-through estimators on a two-moons problem."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return torch.where(input >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (input,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input.abs() > 1] = 0
        return grad_input


class BinaryLinear(nn.Linear):
    def forward(self, x):
        scale = self.weight.abs().mean(dim=1, keepdim=True).detach()
        return F.linear(x, BinarizeSTE.apply(self.weight) * scale, self.bias)


class Quantize(nn.Module):
    def __init__(self, bits):
        super().__init__()
        self.levels = 2 ** bits - 1
        self.step = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("seen_max", torch.zeros(()))

    def forward(self, x):
        if self.training:
            self.seen_max.copy_(torch.maximum(self.seen_max, x.detach().max()))
        x = torch.clamp(x * self.step, 0, 1)
        q = torch.round(x * self.levels) / self.levels
        return x + (q - x).detach()

    def extra_repr(self):
        return f"levels={self.levels}"


def two_moons(n):
    t = torch.rand(n) * math.pi
    side = torch.arange(n) % 2
    x = torch.stack([torch.where(side == 0, t.cos(), 1 - t.cos()), torch.where(side == 0, t.sin(), 0.5 - t.sin())], 1)
    return x + 0.1 * torch.randn_like(x), side


model = nn.Sequential(BinaryLinear(2, 24), Quantize(bits=3), BinaryLinear(24, 24), Quantize(bits=3), nn.Linear(24, 2))
print(model)
x, y = two_moons(128)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
for epoch in range(30):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, BinaryLinear):
                m.weight.clamp_(-1, 1)
    scheduler.step()
    if epoch % 10 == 9:
        accuracy = (model(x).argmax(1) == y).double().mean()
        print(f"epoch {epoch + 1}: loss {loss:.4f}, accuracy {accuracy:.3f}, lr {scheduler.get_last_lr()[0]:.4f}")
print({k: v.item() for k, v in model.state_dict().items() if v.dim() == 0})

logits = torch.tensor([[0.2, 1.0, -0.5]], requires_grad=True)
sample = F.gumbel_softmax(logits.expand(5, 3), tau=0.7, hard=True)
print(sample.argmax(-1), sample.sum(-1).detach())
