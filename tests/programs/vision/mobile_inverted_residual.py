"""Depthwise separable convolutions and inverted residuals with squeeze and excitation, as in small mobile networks."""
import torch
from torch import nn
from functools import partial

torch.manual_seed(5)
torch.set_default_dtype(torch.float64)


def _make_divisible(v, divisor=8):
    new_v = max(divisor, int(v + divisor / 2) // divisor * divisor)
    return new_v + divisor if new_v < 0.9 * v else new_v


class ConvBNActivation(nn.Sequential):
    def __init__(self, cin, cout, kernel_size=3, stride=1, groups=1, activation=nn.ReLU6):
        super().__init__(
            nn.Conv2d(cin, cout, kernel_size, stride, (kernel_size - 1) // 2, groups=groups, bias=False),
            nn.BatchNorm2d(cout, eps=1e-3, momentum=0.01), activation(inplace=True))


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, squeeze):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, squeeze, 1), nn.Conv2d(squeeze, channels, 1)

    def forward(self, x):
        scale = nn.functional.adaptive_avg_pool2d(x, 1)
        return nn.functional.hardsigmoid(self.fc2(nn.functional.relu(self.fc1(scale))), inplace=True) * x


class InvertedResidual(nn.Module):
    def __init__(self, inp, oup, stride, expand_ratio, act=nn.Hardswish):
        super().__init__()
        hidden = int(round(inp * expand_ratio))
        self.use_res_connect = stride == 1 and inp == oup
        conv = partial(ConvBNActivation, activation=act)
        self.conv = nn.Sequential(conv(inp, hidden, 1), conv(hidden, hidden, 3, stride, groups=hidden),
                                  SqueezeExcitation(hidden, _make_divisible(hidden // 4)),
                                  nn.Conv2d(hidden, oup, 1, bias=False), nn.BatchNorm2d(oup))

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


net = nn.Sequential(ConvBNActivation(3, 8, stride=2), InvertedResidual(8, 8, 1, 2),
                    InvertedResidual(8, 16, 2, 3, nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4))
print([_make_divisible(v) for v in (3, 9, 17, 40.5, 100)])
opt = torch.optim.RMSprop(net.parameters(), lr=0.01, alpha=0.9, momentum=0.9, eps=0.0316, weight_decay=1e-5)
x, y = torch.randn(6, 3, 16, 16), torch.tensor([0, 1, 2, 3, 0, 1])
for _ in range(4):
    loss = nn.CrossEntropyLoss()(net(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    print(f"{loss.item():.6f}")
print(net[1].conv[1][0].weight.shape, net[1].use_res_connect, net[2].use_res_connect)
net.eval()
print(net(x).softmax(-1).max(dim=-1).values.round(decimals=4))
