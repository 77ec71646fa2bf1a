"""A PixelCNN with masked convolutions that draws its pixels one by one, and a check that no pixel sees the future."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(19)
torch.set_default_dtype(torch.float64)


class MaskedConv2d(nn.Conv2d):
    def __init__(self, mask_type, *args, **kwargs):
        super(MaskedConv2d, self).__init__(*args, **kwargs)
        assert mask_type in {"A", "B"}
        self.register_buffer("mask", self.weight.data.clone())
        _, _, kH, kW = self.weight.size()
        self.mask.fill_(1)
        self.mask[:, :, kH // 2, kW // 2 + (mask_type == "B"):] = 0
        self.mask[:, :, kH // 2 + 1:] = 0

    def forward(self, x):
        self.weight.data *= self.mask
        return super(MaskedConv2d, self).forward(x)


def block(cin, cout, kind="B"):
    return nn.Sequential(MaskedConv2d(kind, cin, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True))


net = nn.Sequential(block(1, 6, "A"), block(6, 6), nn.Conv2d(6, 2, 1))
print(net[0][0].mask[0, 0], net[1][0].mask[0, 0].sum())
pictures = torch.zeros(12, 1, 5, 5)
pictures[::2, :, ::2] = 1
pictures[1::2, :, :, ::2] = 1
optimizer = torch.optim.Adam(net.parameters())
for group in optimizer.param_groups:
    group["lr"] = 2e-2
for epoch in range(10):
    logits = net(pictures)
    loss = F.cross_entropy(logits, pictures[:, 0].long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print(f"{epoch} {loss.item() / torch.log(torch.tensor(2.0)).item():.6f} bits per pixel")
net.eval()
x = torch.rand(1, 1, 5, 5, requires_grad=True)
net(x)[0, :, 2, 2].sum().backward()
print((x.grad[0, 0] != 0).int())
sample = torch.zeros(4, 1, 5, 5)
with torch.no_grad():
    for i in range(5):
        for j in range(5):
            probs = net(sample)[:, :, i, j].softmax(1)
            sample[:, 0, i, j] = torch.multinomial(probs, 1).squeeze(1).to(sample.dtype)
print(sample.sum((1, 2, 3)), sample[0, 0].byte())
