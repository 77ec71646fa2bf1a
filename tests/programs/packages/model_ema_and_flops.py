"""Keeps a shadow of a model that follows it, and counts the multiplications of a forward pass by hooks."""
import copy
import math
from contextlib import contextmanager

import torch
import torch.nn as nn

torch.manual_seed(9)
torch.set_default_dtype(torch.float64)


def de_parallel(model):
    return model.module if type(model) in (nn.parallel.DataParallel,) else model


class ModelEMA:
    def __init__(self, model, decay=0.99, tau=10, updates=0):
        self.ema = copy.deepcopy(de_parallel(model)).eval()
        self.updates = updates
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        self.updates += 1
        d = self.decay(self.updates)
        msd = de_parallel(model).state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v *= d
                v += (1 - d) * msd[k].detach()


@contextmanager
def swapped(model, ema):
    backup = [p.data for p in model.parameters()]
    for p, e in zip(model.parameters(), ema.parameters()):
        p.data = e.data
    try:
        yield model
    finally:
        for p, b in zip(model.parameters(), backup):
            p.data = b


def count_flops(model, x):
    flops, handles = {}, []

    def conv(m, i, o):
        flops[m] = o.numel() * m.weight[0].numel()

    def linear(m, i, o):
        flops[m] = o.numel() * m.in_features

    for m in model.modules():
        if isinstance(m, nn.modules.conv._ConvNd):
            handles.append(m.register_forward_hook(conv))
        elif isinstance(m, nn.Linear):
            handles.append(m.register_forward_hook(linear))
    with torch.no_grad():
        model(x)
    for h in handles:
        h.remove()
    return {f"{type(m).__name__}{tuple(m.weight.shape)}": f for m, f in flops.items()}


model = nn.Sequential(nn.Conv1d(2, 4, 3, stride=2), nn.BatchNorm1d(4), nn.ReLU(), nn.ConvTranspose1d(4, 3, 2), nn.Flatten(),
                      nn.Linear(15, 2))
ema = ModelEMA(model)
x, y = torch.randn(6, 2, 9), torch.randn(6, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True, momentum=0.9)
for step in range(6):
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    if step % 2 == 0:
        distance = sum((a - b).norm() for a, b in zip(model.parameters(), ema.ema.parameters()))
        print(f"{step} {loss.item():.6f} distance {distance.item():.6f} decay {ema.decay(ema.updates):.5f}")
print(count_flops(model, x))
before = model(x).sum().item()
with swapped(model, ema.ema) as averaged:
    inside = averaged(x).sum().item()
print(f"{before:.6f} {inside:.6f}", abs(model(x).sum().item() - before) < 1e-12, ema.ema.training)
print([p.requires_grad for p in ema.ema.parameters()][:2], ema.ema[1].num_batches_tracked, model[1].num_batches_tracked)
wrapped = nn.DataParallel(model)
print(torch.allclose(wrapped(x), model(x)), type(de_parallel(wrapped)).__name__)
