"""Looks at what a graph saves and packs it elsewhere with saved-tensor hooks, like the tutorial on saved tensors."""

import torch
import torch.nn as nn
from torch.autograd.graph import saved_tensors_hooks, save_on_cpu

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)

x = torch.randn(5, requires_grad=True)
y = x.pow(2)
print(x.equal(y.grad_fn._saved_self), y.grad_fn._saved_exponent)
y = x.exp()
print(y.equal(y.grad_fn._saved_result), y is y.grad_fn._saved_result)
y.sum().backward()
try:
    print(y.grad_fn._saved_result)
except RuntimeError as error:
    print("after backward:", str(error)[:70])


class Shelf:
    """Keeps each packed tensor under a number."""

    def __init__(self):
        self.store, self.log = {}, []

    def pack(self, tensor):
        key = len(self.store)
        self.store[key] = tensor.detach().to(torch.float32)
        self.log.append(("pack", key, tuple(tensor.shape)))
        return key

    def unpack(self, key):
        self.log.append(("unpack", key))
        return self.store[key].to(torch.float64)


shelf = Shelf()
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
inputs = torch.randn(3, 4)
with saved_tensors_hooks(shelf.pack, shelf.unpack):
    loss = net(inputs).sigmoid().mean()
print(len(shelf.store) > 0, loss.item())
loss.backward()
packed = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
net(inputs).sigmoid().mean().backward()
print("float32 packing changes gradients little:", all((a - p.grad).abs().max() < 1e-6 for a, p in zip(packed, net.parameters())))
print(sum(kind == "pack" for kind, *_ in shelf.log) >= sum(kind == "unpack" for kind, *_ in shelf.log))

with save_on_cpu(pin_memory=False):
    z = (x * x.sin()).sum()
x.grad = None
z.backward()
print(x.grad)

with torch.autograd.graph.disable_saved_tensors_hooks("saved tensors hooks are disabled here"):
    try:
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            (x * x).sum().backward()
    except RuntimeError as error:
        print(error)

with saved_tensors_hooks(lambda t: t * 4, lambda t: t / 2):
    w = x * 3 * x
print(torch.autograd.grad(w.sum(), x)[0] / x.detach())
