"""A trained backbone with a new head: saved and loaded weights, frozen layers, hooks, early stopping."""
import copy
import os
import tempfile
import torch
import torch.nn as nn
import torch.optim as optim
import torch.backends.cudnn as cudnn

cudnn.benchmark = True
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Backbone(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.features(x), 1))


folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "backbone.pt")
torch.save(Backbone().state_dict(), path)
model = Backbone()
print(model.load_state_dict(torch.load(path, map_location=device, weights_only=True)))
for parameter in model.parameters():
    parameter.requires_grad = False
model.fc = nn.Linear(model.fc.in_features, 2)
model = model.to(device)
print([name for name, p in model.named_parameters() if p.requires_grad])

x = torch.randn(32, 3, 8, 8)
y = (x.mean((1, 2, 3)) > 0).long()
optimizer = optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.5, momentum=0.9)
scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.1, patience=1)
best, best_weights, waited = float("inf"), None, 0
for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[:24]), y[:24])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.set_grad_enabled(False):
        val = nn.functional.cross_entropy(model(x[24:]), y[24:])
    scheduler.step(val)
    print(f"{epoch}: train {loss.item():.4f}, val {val:.4f}, lr {optimizer.param_groups[0]['lr']:.3g}")
    if val < best:
        best, best_weights, waited = val.item(), copy.deepcopy(model.state_dict()), 0
        torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": loss}, path)
    else:
        waited += 1
        if waited == 4:
            print(f"stopped, best {best:.4f}")
            break
model.load_state_dict(best_weights)
checkpoint = torch.load(path)
fresh = Backbone(2)
fresh.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
print(checkpoint["epoch"], checkpoint["loss"], all(map(torch.equal, fresh.parameters(), model.parameters())))
backbone = {name: value for name, value in Backbone().state_dict().items() if not name.startswith("fc")}
print(model.load_state_dict(backbone, strict=False))
try:
    model.load_state_dict(backbone)
except RuntimeError as error:
    print(error)

seen = {}
handle = model.features[4].register_forward_hook(lambda module, args, output: seen.update(conv=output.detach()))
model(x)
handle.remove()
print(seen["conv"].shape, nn.Sequential(*list(model.children())[:-1])(x).shape)
print(optim.Adam([{"params": model.features.parameters(), "lr": 1e-4}, {"params": model.fc.parameters()}], lr=1e-3))
folder.cleanup()
