"""Averages weights while training: an exponential average, stochastic weight averaging, and BatchNorm afterwards."""
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, get_ema_multi_avg_fn, update_bn

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
by_hand = AveragedModel(model, avg_fn=lambda averaged, new, count: 0.5 * averaged + 0.5 * new)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
swa_scheduler = SWALR(optimizer, anneal_strategy="linear", anneal_epochs=3, swa_lr=0.02)
x = torch.randn(32, 4)
y = torch.sin(x.sum(dim=1, keepdim=True))
loader = [(x[i:i + 8], y[i:i + 8]) for i in range(0, 32, 8)]
for epoch in range(10):
    for a, b in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(a), b)
        loss.backward()
        optimizer.step()
        ema_model.update_parameters(model)
    if epoch > 5:
        swa_model.update_parameters(model)
        by_hand.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    if epoch % 3 == 0:
        print(f"{epoch} {loss.item():.6f} lr {optimizer.param_groups[0]['lr']:.6f}")
update_bn(loader, swa_model)
for name, m in (("model", model), ("swa", swa_model), ("ema", ema_model), ("by hand", by_hand)):
    m.eval()
    with torch.no_grad():
        print(f"{name:8s} {nn.functional.mse_loss(m(x), y).item():.6f}")
print(swa_model.n_averaged, list(swa_model.state_dict())[:3], ema_model.module[1].running_mean.shape)
