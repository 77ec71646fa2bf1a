"""Model-agnostic meta-learning of sine curves: inner steps that are differentiated, first and second order."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import OrderedDict

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)


class MAMLModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(OrderedDict([("l1", nn.Linear(1, 16)), ("relu1", nn.ReLU()), ("l2", nn.Linear(16, 1))]))

    def parameterised(self, x, weights):
        x = F.relu(F.linear(x, weights[0], weights[1]))
        return F.linear(x, weights[2], weights[3])


class Sine:
    def __init__(self):
        self.amplitude, self.phase = torch.rand(()) * 4.9 + 0.1, torch.rand(()) * math.pi

    def sample(self, k):
        x = torch.rand(k, 1) * 10 - 5
        return x, self.amplitude * torch.sin(x + self.phase)


def inner_loop(net, task, first_order, steps=2, lr=0.02):
    weights = list(net.parameters())
    x, y = task.sample(8)
    for _ in range(steps):
        loss = F.mse_loss(net.parameterised(x, weights), y)
        grads = torch.autograd.grad(loss, weights, create_graph=not first_order)
        weights = [w - lr * g for w, g in zip(weights, grads)]
    x, y = task.sample(8)
    return F.mse_loss(net.parameterised(x, weights), y)


for first_order in (False, True):
    torch.manual_seed(7)
    net = MAMLModel()
    meta = torch.optim.Adam(net.parameters(), 1e-2)
    for iteration in range(6):
        meta_loss = sum(inner_loop(net, Sine(), first_order) for _ in range(3)) / 3
        grads = torch.autograd.grad(meta_loss, list(net.parameters()))
        for w, g in zip(net.parameters(), grads):
            w.grad = g
        meta.step()
        if iteration % 2 == 0:
            print(f"first order {first_order} {iteration} {meta_loss.item():.6f} {sum(g.norm() for g in grads).item():.6f}")

net, task = MAMLModel(), Sine()
initial = [p.detach().clone() for p in net.parameters()]
for outer in range(3):
    start = [p.detach().clone() for p in net.parameters()]
    opt = torch.optim.SGD(net.parameters(), lr=0.02)
    for _ in range(3):
        x, y = task.sample(8)
        opt.zero_grad()
        F.mse_loss(net.parameterised(x, list(net.parameters())), y).backward()
        opt.step()
    with torch.no_grad():
        for p, s in zip(net.parameters(), start):
            p.copy_(torch.lerp(s, p, 0.5))
    print(f"reptile {outer} {sum((p - i).norm() for p, i in zip(net.parameters(), initial)).item():.6f}")
