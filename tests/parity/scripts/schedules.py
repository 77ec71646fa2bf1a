"""Optimisers and schedules side by side; averages of weights; penalties."""
import copy
import torch
import torch.nn as nn
from torch.optim import lr_scheduler as schedules
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

torch.manual_seed(0)
x = torch.randn(64, 5)
y = (x ** 2).sum(1, keepdim=True)


def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Dropout(0.1), nn.Linear(16, 1))


for name, schedule in {
    "one cycle": lambda o: schedules.OneCycleLR(o, max_lr=0.05, steps_per_epoch=3, epochs=4),
    "cosine": lambda o: schedules.CosineAnnealingLR(o, T_max=12),
    "lambda": lambda o: schedules.LambdaLR(o, lr_lambda=lambda epoch: 0.95 ** epoch),
    "warm up": lambda o: schedules.SequentialLR(o, [schedules.LinearLR(o, 0.1, total_iters=4),
                                                    schedules.ExponentialLR(o, 0.9)], milestones=[4]),
    "restarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2),
    "cyclic": lambda o: schedules.CyclicLR(o, base_lr=0.001, max_lr=0.1, step_size_up=4),
    "steps": lambda o: schedules.MultiStepLR(o, milestones=[5, 10], gamma=0.1),
}.items():
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
    scheduler, rates = schedule(optimizer), []
    for _ in range(12):
        loss = nn.HuberLoss()(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        rates.append(f"{scheduler.get_last_lr()[0]:.5f}")
    print(name, rates, f"{loss.item():.4f}")

for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD"):
    model = make()
    optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01)
    for _ in range(8):
        loss = nn.L1Loss()(model(x), y) + 1e-3 * sum(p.abs().sum() for p in model.parameters())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(name, f"{loss.item():.4f}")
print(optimizer)

model = nn.Sequential(nn.Linear(5, 8, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=16, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
averaged, ema = AveragedModel(model), AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
slow = copy.deepcopy(model).requires_grad_(False)
annealing = SWALR(optimizer, swa_lr=0.01, anneal_epochs=2)
for epoch in range(4):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        ema.update_parameters(model)
        with torch.no_grad():
            for mine, theirs in zip(slow.parameters(), model.parameters()):
                mine.mul_(0.9).add_(theirs, alpha=0.1)
    averaged.update_parameters(model)
    annealing.step()
    print(epoch, f"{loss.item():.4f}", annealing.get_last_lr())
for name, each in (("last", model), ("average", averaged), ("ema", ema), ("by hand", slow)):
    update_bn(((inputs,) for inputs, _ in loader), each)
    print(name, each.eval()(x[:2]).flatten())
