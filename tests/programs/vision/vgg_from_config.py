"""Builds VGG-like networks from lists of numbers and letters, and strips them to features, as model zoos do."""
import torch
import torch.nn as nn

torch.manual_seed(3)
cfgs = {"A": [8, "M", 16, "M"], "B": [8, 8, "M", 16, 16, "M"]}


def make_layers(cfg, batch_norm=False):
    layers, in_channels = [], 3
    for v in cfg:
        if v == "M":
            layers += [nn.MaxPool2d(kernel_size=2, stride=2)]
        else:
            conv2d = nn.Conv2d(in_channels, v, kernel_size=3, padding=1)
            layers += [conv2d, nn.BatchNorm2d(v), nn.ReLU(inplace=True)] if batch_norm else [conv2d, nn.ReLU(True)]
            in_channels = v
    return nn.Sequential(*layers)


class VGG(nn.Module):
    def __init__(self, features, num_classes=10, init_weights=True):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((3, 3))
        self.classifier = nn.Sequential(nn.Linear(16 * 9, 32), nn.ReLU(True), nn.Dropout(), nn.Linear(32, num_classes))
        if init_weights:
            for m in self.modules():
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, 0, 0.01)
                    nn.init.zeros_(m.bias)
                elif isinstance(m, nn.Conv2d):
                    nn.init.xavier_uniform_(m.weight, gain=nn.init.calculate_gain("relu"))

    def forward(self, x):
        return self.classifier(torch.flatten(self.avgpool(self.features(x)), start_dim=1))


plain, normed = VGG(make_layers(cfgs["A"])), VGG(make_layers(cfgs["B"], batch_norm=True))
print(plain)
x = torch.rand(2, 3, 16, 16)
for name, net in (("A", plain), ("B", normed.eval())):
    out = net.eval()(x)
    print(name, out.shape, f"{out.std().item():.5f}", sum(p.numel() for p in net.parameters()))
backbone = nn.Sequential(*list(normed.features.children())[:-1])
print(len(backbone), backbone(x).shape)
removed = nn.Sequential(*[m for m in normed.classifier if not isinstance(m, nn.Dropout)])
print([type(m).__name__ for m in removed.children()])
normed.classifier[-1] = nn.Linear(32, 2)
for p in normed.features.parameters():
    p.requires_grad_(False)
normed(x).sum().backward()
print(sorted({n.split(".")[0] for n, p in normed.named_parameters() if p.grad is not None}))
