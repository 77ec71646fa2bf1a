"""Gradient accumulation with clipping and warm-up, compared with one large batch."""
import copy

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LinearLR, SequentialLR, CosineAnnealingLR

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)
data, target = torch.randn(16, 5), torch.randn(16, 2)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
twin = copy.deepcopy(model)
criterion = nn.MSELoss()
accumulation_steps = 4
optimizer, other = (torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, dampening=0.1) for m in (model, twin))
scheduler = SequentialLR(optimizer, [LinearLR(optimizer, start_factor=0.25, total_iters=3),
                                     CosineAnnealingLR(optimizer, T_max=5)], milestones=[3])
for epoch in range(6):
    optimizer.zero_grad()
    running = 0.0
    for i, (x, y) in enumerate(zip(data.chunk(4), target.chunk(4))):
        loss = criterion(model(x), y) / accumulation_steps
        loss.backward()
        running += loss.item()
        if (i + 1) % accumulation_steps == 0:
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
            optimizer.step()
    lr = optimizer.param_groups[0]["lr"]
    other.param_groups[0]["lr"] = lr
    other.zero_grad()
    whole = criterion(twin(data), target)
    whole.backward()
    nn.utils.clip_grad_norm_(twin.parameters(), max_norm=0.5, foreach=False)
    other.step()
    scheduler.step()
    print(f"epoch {epoch} loss {running:.6f} {whole.item():.6f} norm {norm.item():.6f} lr {lr:.5f}")
print(all(torch.allclose(a, b) for a, b in zip(model.parameters(), twin.parameters())))
print({k: v for k, v in scheduler.state_dict().items() if k in ("last_epoch", "_milestones")})
print(nn.utils.get_total_norm([p.grad for p in model.parameters()]))
