"""Builds networks from nested dictionaries by a registry with decorators, as large code bases for vision do."""
import copy
import inspect

import torch
from torch import nn


class Registry:
    def __init__(self, name):
        self.name, self.modules = name, {}

    def __repr__(self):
        return f"{self.__class__.__name__}(name={self.name}, items={sorted(self.modules)})"

    def register_module(self, name=None):
        def decorator(cls):
            key = name or cls.__name__
            if key in self.modules:
                raise KeyError(f"{key} is already registered in {self.name}")
            self.modules[key] = cls
            return cls
        return decorator

    def build(self, cfg, **default):
        args = {**default, **cfg}
        kind = args.pop("type")
        cls = self.modules[kind] if isinstance(kind, str) else kind
        if not inspect.isclass(cls):
            raise TypeError(f"type must be a class, not {type(cls)}")
        return cls(**args)


NORMS, ACTIVATIONS, BLOCKS = Registry("norm"), Registry("activation"), Registry("block")
for key, cls in {"BN": nn.BatchNorm1d, "LN": nn.LayerNorm, "GN": nn.GroupNorm}.items():
    NORMS.register_module(key)(cls)
for cls in (nn.ReLU, nn.SiLU, nn.Hardsigmoid, nn.Softshrink, nn.RReLU, nn.Threshold):
    ACTIVATIONS.register_module()(cls)


@BLOCKS.register_module()
class LinearModule(nn.Module):
    def __init__(self, inputs, outputs, norm_cfg=None, act_cfg=dict(type="ReLU"), init="kaiming"):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=norm_cfg is None)
        self.norm_name = None
        if norm_cfg:
            cfg = copy.deepcopy(norm_cfg)
            extra = {"num_groups": cfg.pop("groups"), "num_channels": outputs} if cfg["type"] == "GN" else {}
            self.norm_name = cfg["type"].lower()
            key = {"BN": "num_features", "LN": "normalized_shape"}.get(cfg["type"])
            self.add_module(self.norm_name, NORMS.build(cfg, **(extra or {key: outputs})))
        self.activate = ACTIVATIONS.build(act_cfg)
        {"kaiming": nn.init.kaiming_uniform_, "xavier": nn.init.xavier_normal_, "sparse": lambda w: nn.init.sparse_(w, 0.5),
         "dirac": nn.init.eye_}[init](self.linear.weight)

    @property
    def norm(self):
        return getattr(self, self.norm_name) if self.norm_name else nn.Identity()

    def forward(self, x):
        return self.activate(self.norm(self.linear(x)))


torch.manual_seed(5)
cfg = [dict(type="LinearModule", inputs=6, outputs=8, norm_cfg=dict(type="BN", momentum=0.3)),
       dict(type="LinearModule", inputs=8, outputs=8, norm_cfg=dict(type="GN", groups=2), act_cfg=dict(type="SiLU"), init="xavier"),
       dict(type="LinearModule", inputs=8, outputs=4, norm_cfg=dict(type="LN"), act_cfg=dict(type="Softshrink", lambd=0.2), init="sparse"),
       dict(type="LinearModule", inputs=4, outputs=4, act_cfg=dict(type="Threshold", threshold=0.1, value=-1.0), init="dirac")]
net = nn.Sequential(*[BLOCKS.build(c) for c in cfg])
print(net)
out = net(torch.randn(5, 6))
out.sum().backward()
print(out.shape, f"{out.std().item():.5f}", [f"{m.linear.weight.grad.norm():.5f}" for m in net])
print((net[2].linear.weight == 0).sum(dim=0).tolist(), net[3].linear.weight)
print(ACTIVATIONS)
for broken in (lambda: BLOCKS.register_module()(LinearModule), lambda: BLOCKS.build({"type": 3}), lambda: NORMS.build({"type": "XN"})):
    try:
        broken()
    except (KeyError, TypeError) as error:
        print(type(error).__name__, error)
