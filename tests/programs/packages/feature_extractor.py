"""Takes intermediate outputs of a model by names, by hooks and by a getter that stops early."""
from collections import OrderedDict
from typing import Dict

import torch
from torch import nn

torch.manual_seed(7)


class IntermediateLayerGetter(nn.ModuleDict):
    def __init__(self, model: nn.Module, return_layers: Dict[str, str]) -> None:
        if not set(return_layers).issubset([name for name, _ in model.named_children()]):
            raise ValueError("return_layers are not present in model")
        orig, return_layers = return_layers, dict(return_layers)
        layers = OrderedDict()
        for name, module in model.named_children():
            layers[name] = module
            return_layers.pop(name, None)
            if not return_layers:
                break
        super().__init__(layers)
        self.return_layers = orig

    def forward(self, x):
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


class Hooked:
    def __init__(self, model, names):
        self.outputs = {}
        self.handles = [model.get_submodule(n).register_forward_hook(self.keep(n)) for n in names]

    def keep(self, name):
        def hook(module, args, output):
            self.outputs[name] = output.detach().flatten(1).mean(dim=1)
        return hook

    def __enter__(self):
        return self.outputs

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()


backbone = nn.Sequential(OrderedDict([("conv1", nn.Conv2d(1, 4, 3)), ("relu", nn.ReLU()), ("layer1", nn.Sequential(
    nn.Conv2d(4, 6, 3, stride=2), nn.BatchNorm2d(6, track_running_stats=False))), ("layer2", nn.Conv2d(6, 8, 1)),
    ("fc", nn.LazyLinear(3))]))
getter = IntermediateLayerGetter(backbone, {"relu": "low", "layer2": "high"})
x = torch.randn(2, 1, 9, 9)
out = getter(x)
print({k: tuple(v.shape) for k, v in out.items()}, list(getter))
with Hooked(backbone, ["conv1", "layer1.0", "layer1.1"]) as outputs:
    getter(x)
    print({k: [round(f, 4) for f in v.tolist()] for k, v in outputs.items()})
print(len(backbone.conv1._forward_hooks), isinstance(getter["conv1"], nn.Conv2d), "fc" in getter)
calls = []
handle = backbone.layer1.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
with_kwargs = backbone.layer2.register_forward_hook(lambda m, args, kwargs, output: calls.append((len(args), kwargs)),
                                                    with_kwargs=True)
every = nn.modules.module.register_module_forward_hook(lambda m, i, o: calls.append(type(m).__name__))
doubled = getter(x)["high"]
for h in (handle, with_kwargs, every):
    h.remove()
print(calls)
print(torch.allclose(getter(2 * x)["low"], 2 * getter(x)["low"]) or "not linear", f"{doubled.std():.4f}")
swapped = backbone.get_submodule("layer1")
swapped[1] = nn.Identity()
print([n for n, _ in backbone.named_modules()][1:6], backbone.get_parameter("layer1.0.weight").shape)
try:
    IntermediateLayerGetter(backbone, {"nothing": "x"})
except ValueError as error:
    print(error)
try:
    backbone.get_submodule("layer1.7")
except AttributeError as error:
    print(error)
