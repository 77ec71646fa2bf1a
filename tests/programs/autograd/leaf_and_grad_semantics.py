"""Explains leaves, .grad, accumulation, retain_graph and backward with vectors, printing each fact as lecture notes would."""

import torch

a = torch.tensor([2.0, 3.0], requires_grad=True)
b = torch.tensor([6.0, 4.0], requires_grad=True)
Q = 3 * a ** 3 - b ** 2
print(Q, Q.requires_grad, Q.is_leaf, a.is_leaf)
external_grad = torch.tensor([1.0, 1.0])
Q.backward(gradient=external_grad)
print(9 * a ** 2 == a.grad, -2 * b == b.grad)

inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
print(f"First call\n{inp.grad}")
out.backward(torch.ones_like(out), retain_graph=True)
print(f"\nSecond call\n{inp.grad}")
inp.grad.zero_()
out.backward(torch.ones_like(out))
print(f"\nCall after zeroing gradients\n{inp.grad}")
try:
    out.backward(torch.ones_like(out))
except RuntimeError as e:
    print("Error:", e)

for label, function in {
    "vector": lambda: (a * 2).backward(),
    "wrong shape": lambda: (a * 2).backward(torch.ones(3)),
    "unused": lambda: torch.autograd.grad(a.sum(), b),
    "constant": lambda: torch.ones(2).sum().backward(),
    "integer result": lambda: a.argmax().backward(),
    "assign shape": lambda: setattr(a, "grad", torch.zeros(3)),
    "deepcopy": lambda: __import__("copy").deepcopy(a * 2),
    "list of a graph": lambda: (a * 2).numpy().tolist(),
}.items():
    try:
        print(label, function())
    except (RuntimeError, TypeError) as e:
        print(f"{label}: {type(e).__name__}: {e}")
print(torch.autograd.grad(a.sum(), [a, b], allow_unused=True))
print(torch.autograd.grad(a.sum(), [a, b], allow_unused=True, materialize_grads=True))
print(torch.autograd.grad([(a * b).sum(), a.prod()], [a, b]))

c = (a * 2).detach()
c[0] = 100.0
d = torch.zeros(2, requires_grad=True).add(1)
e = torch.zeros(2).requires_grad_().double()
print(c.requires_grad, c.is_leaf, d.is_leaf, e.is_leaf, e.grad_fn.name())
f = torch.tensor(1.5, requires_grad=True)
g = f * f
g.retain_grad()
h = g.sin()
print(f.retains_grad, g.retains_grad, h.retains_grad)
h.backward(inputs=[f])
print(f.grad, g.grad, a.grad is b.grad)
h = (f * f).sin()
torch.autograd.backward([h, f * 2], [torch.tensor(1.0), torch.tensor(0.5)])
print(f.grad)
f.grad.detach_().fill_(0)
print(f.grad, f.grad.requires_grad, f.item(), repr(f))
a.grad = None
((a.detach() * a).sum() + (a.data ** 2).sum()).backward()
print(a.grad)
