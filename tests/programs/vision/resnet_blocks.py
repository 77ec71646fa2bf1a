"""Builds a ResNet out of basic and bottleneck blocks, as the model files of vision packages do."""
import torch
from torch import nn, Tensor
from typing import List, Optional, Type, Union

torch.manual_seed(0)


def conv3x3(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion: int = 1

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Optional[nn.Module] = None) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inplanes, planes, stride), nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2, self.bn2 = conv3x3(planes, planes), nn.BatchNorm2d(planes)
        self.downsample, self.stride = downsample, stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class Bottleneck(BasicBlock):
    expansion: int = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Optional[nn.Module] = None) -> None:
        nn.Module.__init__(self)
        layers: List[nn.Module] = [nn.Conv2d(inplanes, planes, 1, bias=False), nn.BatchNorm2d(planes), nn.ReLU(True),
                                   conv3x3(planes, planes, stride), nn.BatchNorm2d(planes), nn.ReLU(True),
                                   nn.Conv2d(planes, 4 * planes, 1, bias=False), nn.BatchNorm2d(4 * planes)]
        self.body, self.relu, self.downsample = nn.Sequential(*layers), nn.ReLU(inplace=True), downsample

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.body(x).add_(x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, block: Type[Union[BasicBlock, Bottleneck]], layers: List[int], num_classes: int = 5) -> None:
        super().__init__()
        self.inplanes = 8
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(kernel_size=3, stride=2, padding=1))
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(16 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                                       nn.BatchNorm2d(planes * block.expansion))
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(torch.flatten(self.avgpool(self.layer2(self.layer1(self.stem(x)))), 1))


for block, layers in ((BasicBlock, [1, 2]), (Bottleneck, [1, 1])):
    net = ResNet(block, layers).double()
    x = torch.randn(2, 3, 32, 32, dtype=torch.double, requires_grad=True)
    y = net(x)
    nn.functional.cross_entropy(y, torch.tensor([1, 4]), label_smoothing=0.1).backward()
    print(block.__name__, tuple(y.shape), sum(p.numel() for p in net.parameters() if p.requires_grad))
    print(f"{x.grad.norm():.6f}", f"{net.stem[0].weight.grad.abs().mean():.6e}")
    print([k for k in net.state_dict() if "running_mean" in k][:3], net.stem[1].num_batches_tracked)
print(net.layer2)
