"""Dense blocks that concatenate and an Inception block of four branches, with auxiliary outputs while training."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import OrderedDict, namedtuple

torch.manual_seed(11)
Outputs = namedtuple("Outputs", ["logits", "aux_logits"])
Outputs.__annotations__ = {"logits": torch.Tensor, "aux_logits": torch.Tensor}


class _DenseLayer(nn.Module):
    def __init__(self, inputs, growth, bn_size=2, drop_rate=0.0):
        super().__init__()
        self.add_module("norm1", nn.BatchNorm2d(inputs))
        self.add_module("conv1", nn.Conv2d(inputs, bn_size * growth, kernel_size=1, bias=False))
        self.add_module("conv2", nn.Conv2d(bn_size * growth, growth, kernel_size=3, padding=1, bias=False))
        self.drop_rate = float(drop_rate)

    def forward(self, *prev_features):
        out = self.conv2(F.relu(self.conv1(F.relu(self.norm1(torch.cat(prev_features, 1))))))
        return F.dropout(out, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else out


class _DenseBlock(nn.ModuleDict):
    def __init__(self, num_layers, inputs, growth, **options):
        super().__init__()
        for i in range(num_layers):
            self.add_module("denselayer%d" % (i + 1), _DenseLayer(inputs + i * growth, growth, **options))

    def forward(self, init_features):
        features = [init_features]
        for name, layer in self.items():
            features.append(layer(*features))
        return torch.cat(features, 1)


class Inception(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.branch1 = nn.Conv2d(cin, 4, 1)
        self.branch2 = nn.Sequential(nn.Conv2d(cin, 3, 1), nn.Conv2d(3, 4, (1, 3), padding=(0, 1)),
                                     nn.Conv2d(4, 4, (3, 1), padding=(1, 0)))
        self.branch3 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1, ceil_mode=True), nn.Conv2d(cin, 4, 1))
        self.branch4 = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)

    def forward(self, x):
        return torch.cat([b(x) for b in (self.branch1, self.branch2, self.branch3, self.branch4)], dim=1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(OrderedDict([
            ("conv0", nn.Conv2d(1, 4, 3, bias=False)), ("block", _DenseBlock(3, 4, 2, drop_rate=0.2)),
            ("inception", Inception(10))]))
        self.aux, self.head = nn.LazyLinear(3), nn.LazyLinear(3)

    def forward(self, x):
        features = self.features(x)
        aux = self.aux(F.adaptive_avg_pool2d(features, (2, 2)).flatten(1)) if self.training else None
        logits = self.head(features.mean([2, 3]))
        return Outputs(logits, aux) if self.training else logits


net = Net()
x, y = torch.randn(4, 1, 8, 8), torch.tensor([0, 2, 1, 1])
out = net(x)
loss = F.cross_entropy(out.logits, y) + 0.4 * F.cross_entropy(out.aux_logits, y)
loss.backward()
print(f"{loss.item():.4f}", out.aux_logits.shape, net.aux)
print(net.eval()(x).shape, list(net.features.block))
print([tuple(p.shape) for n, p in net.named_parameters() if n.startswith("features.block.denselayer3")])
print(f"{net.features.conv0.weight.grad.norm().item():.4f}")
