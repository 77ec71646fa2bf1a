"""Stops in the middle of training, saves everything, and goes on from the file as if nothing had happened."""
import io

import torch
import torch.nn as nn

torch.set_default_dtype(torch.float64)


def build():
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 10), nn.Dropout(0.3), nn.Tanh(), nn.Linear(10, 3))
    optimizer = torch.optim.Adam([{"params": model[0].parameters(), "lr": 1e-2}, {"params": model[3].parameters()}], lr=3e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[0.05, 0.1], total_steps=12)
    return model, optimizer, scheduler


def epoch(model, optimizer, scheduler):
    x = torch.randn(12, 6)
    y = x[:, :3].argmax(dim=1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    return loss.item()


straight = build()
losses = [epoch(*straight) for _ in range(8)]
print(" ".join(f"{v:.6f}" for v in losses))

model, optimizer, scheduler = build()
first = [epoch(model, optimizer, scheduler) for _ in range(4)]
file = io.BytesIO()
torch.save({"epoch": 4, "model_state_dict": model.state_dict(), "optimizer_state_dict": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(), "rng": torch.get_rng_state(), "losses": first}, file)
print(f"{sum(first):.6f}", file.tell() > 0)

torch.manual_seed(999)
model, optimizer, scheduler = build()
file.seek(0)
checkpoint = torch.load(file, weights_only=False)
print(model.load_state_dict(checkpoint["model_state_dict"]))
optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
scheduler.load_state_dict(checkpoint["scheduler"])
torch.set_rng_state(checkpoint["rng"])
rest = [epoch(model, optimizer, scheduler) for _ in range(checkpoint["epoch"], 8)]
print(" ".join(f"{v:.6f}" for v in rest))
print(checkpoint["losses"] + rest == losses, scheduler.last_epoch, [f"{v:.6f}" for v in scheduler.get_last_lr()])
state = optimizer.state_dict()
print(sorted(state["state"][0]), state["param_groups"][1]["params"], state["state"][0]["step"])
try:
    model.load_state_dict({"0.weight": torch.zeros(2, 2), "extra": torch.zeros(1)})
except RuntimeError as error:
    print(error)
