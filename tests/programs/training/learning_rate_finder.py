"""Raises the learning rate until the loss explodes, restores the model, and tries schedules that follow."""
import copy
import math

import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)


class LRFinder:
    def __init__(self, model, optimizer, criterion):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.state = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
        self.history = {"lr": [], "loss": []}

    def range_test(self, batches, start=1e-4, end=10.0, smooth=0.3, diverge=4.0):
        for group in self.optimizer.param_groups:
            group["lr"] = start
            group["initial_lr"] = start
        schedule = lr_scheduler.LambdaLR(self.optimizer, lambda i: (end / start) ** (i / (len(batches) - 1)))
        best = math.inf
        for x, y in batches:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            value = loss.item()
            if self.history["loss"]:
                value = smooth * value + (1 - smooth) * self.history["loss"][-1]
            self.history["lr"].append(schedule.get_last_lr()[0])
            self.history["loss"].append(value)
            schedule.step()
            best = min(best, value)
            if value > diverge * best:
                break

    def suggestion(self):
        losses, rates = torch.tensor(self.history["loss"]), torch.tensor(self.history["lr"])
        slope = torch.diff(losses) / torch.diff(rates.log())
        return rates[slope.argmin()].item()

    def reset(self):
        self.model.load_state_dict(self.state[0])
        self.optimizer.load_state_dict(self.state[1])


model = nn.Sequential(nn.Linear(3, 12), nn.ELU(), nn.Linear(12, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.8)
batches = []
for _ in range(20):
    x = torch.randn(8, 3)
    batches.append((x, torch.cos(x).sum(1, keepdim=True)))
finder = LRFinder(model, optimizer, nn.MSELoss())
finder.range_test(batches)
print(len(finder.history["loss"]), f"{finder.suggestion():.6f}", [f"{v:.5f}" for v in finder.history["loss"][::5]])
finder.reset()
print(optimizer.param_groups[0]["lr"], len(optimizer.state))
schedules = {
    "step": lambda o: lr_scheduler.StepLR(o, step_size=3, gamma=0.1),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, base_lr=0.001, max_lr=0.1, step_size_up=3, mode="triangular2"),
    "warm restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=2, T_mult=2),
    "one cycle": lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.1, total_steps=10, pct_start=0.3),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, total_iters=6, power=2.0),
    "chained": lambda o: lr_scheduler.ChainedScheduler([lr_scheduler.ConstantLR(o, factor=0.5, total_iters=2),
                                                        lr_scheduler.ExponentialLR(o, gamma=0.9)]),
    "multiplicative": lambda o: lr_scheduler.MultiplicativeLR(o, lambda e: 0.95 if e % 2 else 1.0)}
for name, make in schedules.items():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.05, momentum=0.9)
    schedule, rates = make(optimizer), []
    for _ in range(8):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    print(f"{name:15s}", " ".join(f"{v:.5f}" for v in rates), f"momentum {optimizer.param_groups[0]['momentum']:.4f}")
