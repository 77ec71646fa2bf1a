"""Finds where a NaN enters the backward pass with anomaly detection, then mends the loss with the double-where trick."""

import warnings

import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


def bad_distance(a, b):
    return ((a - b) ** 2).sum(-1).sqrt()


def safe_distance(a, b):
    squared = ((a - b) ** 2).sum(-1)
    positive = squared > 0
    root = torch.where(positive, squared, torch.ones_like(squared)).sqrt()
    return torch.where(positive, root, torch.zeros_like(root))


points = torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, -1.0]])
embed = nn.Linear(2, 2)
for distance in (bad_distance, safe_distance):
    embed.zero_grad()
    z = embed(points)
    loss = distance(z[:, None], z[None]).mean()
    loss.backward()
    print(f"{distance.__name__}: loss {loss.item():.5f}, nan in grad: {torch.isnan(embed.weight.grad).any().item()}, norm {embed.weight.grad.norm().item():.5f}")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        with torch.autograd.detect_anomaly():
            print("enabled:", torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())
            z = embed(points)
            bad_distance(z[:, None], z[None]).mean().backward()
    except RuntimeError as error:
        print("RuntimeError:", error)
print(len(caught), [w.category.__name__ for w in caught])
print(str(caught[0].message).splitlines()[0])
print("Error detected in" in str(caught[-1].message), "bad_distance" in str(caught[-1].message))
print(torch.is_anomaly_enabled())


class MyFunc(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inp):
        return inp.clone()

    @staticmethod
    def backward(ctx, gO):
        raise RuntimeError("Some error in backward")


torch.autograd.set_detect_anomaly(True, check_nan=False)
inp = torch.rand(3, requires_grad=True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        MyFunc.apply(inp).sum().backward()
    except RuntimeError as error:
        print("caught:", error)
print(len(caught), "MyFuncBackward" in str(caught[0].message))
torch.autograd.set_detect_anomaly(False)

x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
print(torch.autograd.grad(torch.where(x > 0, x.log(), x).sum(), x)[0])
print(torch.autograd.grad((x * 0 / x).nansum(), x)[0])
print(torch.autograd.grad(x.norm(), x)[0], torch.autograd.grad(x[:1].norm(), x)[0])
print(torch.nan_to_num(torch.tensor([float("nan"), float("inf"), -1.0]), nan=0.5, posinf=9.0))
