"""Registers every kind of gradient hook in one small graph and prints the order in which they run."""

import torch
import torch.nn as nn

torch.manual_seed(3)
torch.set_default_dtype(torch.float64)

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a * 3
b.retain_grad()
handle = b.register_hook(lambda grad: grad * 2)
b.register_hook(lambda grad: print("b sees", grad))
a.register_hook(lambda grad: print("a sees", grad))
a.register_post_accumulate_grad_hook(lambda p: print("accumulated", p.grad))
c = (b ** 2).sum()
c.backward()
print(a.grad, b.grad)
handle.remove()

a.grad = None
d = (a * 3).prod()
node = d.grad_fn
node.register_hook(lambda gi, go: print("post:", [g.tolist() for g in gi if g is not None], [g.tolist() for g in go]))
node.register_prehook(lambda go: (go[0] * 10,))
d.backward()
print("---", a.grad)


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid())
        self.head = nn.Linear(4, 2, bias=False)

    def forward(self, x):
        return self.head(self.features(x))


net, seen = Probe(), {}


def save(name):
    def hook(module, inputs, output):
        seen[name] = (tuple(inputs[0].shape), tuple(output.shape))
    return hook


def shout(module, grad_input, grad_output):
    print(module.__class__.__name__, [None if g is None else tuple(g.shape) for g in grad_input], f"{grad_output[0].norm().item():.5f}")


handles = [m.register_forward_hook(save(n)) for n, m in net.named_modules() if not list(m.children())]
handles += [m.register_full_backward_hook(shout) for m in net.modules() if not isinstance(m, nn.Sequential)]
handles.append(net.register_forward_pre_hook(lambda m, args: (args[0] * 0.5,)))
handles.append(net.head.register_full_backward_pre_hook(lambda m, go: (go[0].clamp(-0.1, 0.1),)))
x = torch.randn(5, 3, requires_grad=True)
net(x).pow(2).sum().backward()
print(seen)
for h in handles:
    h.remove()
print({n: f"{p.grad.norm().item():.5f}" for n, p in net.named_parameters()})
print(len(net._forward_hooks), len(net.features[0]._backward_hooks))


def zero_nan(grad):
    return torch.where(torch.isfinite(grad), grad, torch.zeros_like(grad))


u = torch.tensor([0.0, 4.0], requires_grad=True)
u.register_hook(zero_nan)
u.sqrt().sum().backward()
print(u.grad)
try:
    torch.zeros(2).register_hook(print)
except RuntimeError as err:
    print(err)
multi = [torch.ones(2, requires_grad=True) for _ in range(2)]
torch.autograd.graph.register_multi_grad_hook(multi, lambda grads: print("all in:", [g.sum().item() for g in grads]))
(multi[0] * 2 + multi[1] * 5).sum().backward()
