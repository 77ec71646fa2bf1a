"""A localisation network turns and moves its input by affine_grid and grid_sample, as in spatial transformers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)
torch.set_default_dtype(torch.float64)


class STN(nn.Module):
    def __init__(self):
        super().__init__()
        self.localization = nn.Sequential(nn.Conv2d(1, 4, kernel_size=3), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.fc_loc = nn.Sequential(nn.Linear(4 * 3 * 3, 8), nn.ReLU(True), nn.Linear(8, 3 * 2))
        self.fc_loc[2].weight.data.zero_()
        self.fc_loc[2].bias.data.copy_(torch.tensor([0.93, 0.02, 0.01, -0.03, 0.95, 0.02], dtype=torch.float))

    def theta(self, x):
        return self.fc_loc(self.localization(x).view(-1, 4 * 3 * 3)).view(-1, 2, 3)

    def forward(self, x):
        grid = F.affine_grid(self.theta(x), x.size(), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


picture = torch.zeros(1, 1, 8, 8)
picture[..., 2:6, 3:5] = 1.0
angle = torch.tensor([0.0, 0.4, -0.4, 0.8])
turn = torch.stack([torch.stack([angle.cos(), -angle.sin(), torch.zeros(4)], -1),
                    torch.stack([angle.sin(), angle.cos(), 0.1 * angle], -1)], dim=1)
turned = F.grid_sample(picture.expand(4, -1, -1, -1), F.affine_grid(turn, (4, 1, 8, 8), align_corners=True),
                       mode="bilinear", padding_mode="border", align_corners=True)
print(turned.sum((1, 2, 3)))
net = STN()
print(torch.allclose(net(turned), turned))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(10):
    loss = F.mse_loss(net(turned), picture.expand_as(turned))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        print(f"{step} {loss.item():.6f}")
print(net.theta(turned)[1])
for mode in ("nearest", "bicubic"):
    print(mode, f"{F.grid_sample(turned, F.affine_grid(turn, turned.shape, align_corners=False), mode=mode, padding_mode='reflection', align_corners=False).pow(2).sum():.5f}")
