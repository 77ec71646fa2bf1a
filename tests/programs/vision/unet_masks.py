"""A U-Net with skip connections that learns masks of discs by BCE and Dice loss, as segmentation repositories do."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
torch.set_default_dtype(torch.float64)


class DoubleConv(nn.Module):
    def __init__(self, cin, cout, mid=None):
        super().__init__()
        mid = mid or cout
        self.double_conv = nn.Sequential(
            nn.Conv2d(cin, mid, kernel_size=3, padding=1, bias=False), nn.GroupNorm(2, mid), nn.LeakyReLU(0.1, True),
            nn.Conv2d(mid, cout, kernel_size=3, padding=1, bias=False), nn.GroupNorm(2, cout), nn.LeakyReLU(0.1, True))

    def forward(self, x):
        return self.double_conv(x)


class Up(nn.Module):
    def __init__(self, cin, cout, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(cin, cout, cin // 2)
        else:
            self.up = nn.ConvTranspose2d(cin, cin // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(cin, cout)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        dy, dx = x2.size()[2] - x1.size()[2], x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, bilinear):
        super().__init__()
        self.inc, self.down = DoubleConv(1, 4), nn.Sequential(nn.MaxPool2d(2), DoubleConv(4, 4 if bilinear else 8))
        self.up, self.outc = Up(8, 4, bilinear), nn.Conv2d(4, 1, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        return self.outc(self.up(self.down(x1), x1))


def dice_loss(logits, target, eps=1.0):
    probability = torch.sigmoid(logits)
    overlap = (probability * target).sum(dim=(1, 2, 3))
    return (1 - (2 * overlap + eps) / (probability.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


yy, xx = torch.meshgrid(torch.arange(9), torch.arange(9), indexing="ij")
centres = torch.randint(2, 7, (4, 2))
masks = torch.stack([((yy - a) ** 2 + (xx - b) ** 2 <= 5) for a, b in centres]).unsqueeze(1).double()
images = masks + 0.4 * torch.randn_like(masks)
for bilinear in (True, False):
    net = UNet(bilinear)
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    for step in range(8):
        logits = net(images)
        loss = F.binary_cross_entropy_with_logits(logits, masks, pos_weight=torch.tensor(2.0)) + dice_loss(logits, masks)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step in (0, 7):
            print(bilinear, step, f"{loss.item():.5f}")
    predicted = net(images).sigmoid() > 0.5
    union = (predicted | masks.bool()).sum()
    print("IoU {:.4f}".format(((predicted & masks.bool()).sum() / union).item()), predicted.dtype)
