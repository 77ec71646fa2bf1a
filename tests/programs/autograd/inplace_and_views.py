"""Collects what in-place changes do to autograd: version counters, views, copy-on-slice graphs and the errors a beginner meets."""

import torch

x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x * 2
print(y._version, y.grad_fn.name())
y.add_(1)
y[0, 0] = 0.0
print(y._version, type(y.grad_fn).__name__)
y.sum().backward()
print(x.grad)

row = (x * 1)[0]
print(row._is_view(), row._base is None, type(row.grad_fn).__name__)

base = x.clone()
view = base.view(-1)
view.mul_(torch.tensor([1.0, 10.0, 100.0, 1000.0]))
print(base, base.grad_fn.name(), view.grad_fn.name())
x.grad = None
base.sum().backward()
print(x.grad)


def attempt(title, function):
    try:
        print(title, "->", function())
    except RuntimeError as error:
        print(title, "->", str(error).split(". ")[0][:110])


def leaf_in_place():
    x.add_(1)


def saved_then_changed():
    a = x.exp()
    a += 1
    a.sum().backward()


def saved_but_not_needed():
    a = x + 3
    a *= 2
    return torch.autograd.grad(a.sum(), x)[0].tolist()


def chunk_in_place():
    p, q = (x * 1).chunk(2)
    p.mul_(2)


def no_grad_view():
    with torch.no_grad():
        v = x[1]
    v.mul_(2)
    return x.tolist()


def expanded():
    e = torch.zeros(1, 2).expand(3, 2)
    e += 1


for case in (leaf_in_place, saved_then_changed, saved_but_not_needed, chunk_in_place, no_grad_view, expanded):
    attempt(case.__name__, case)

state = torch.zeros(4)
w = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
for i in range(1, 4):
    state[i] = state[i - 1].clone() * 0.5 + w[i] ** 2
print(state, state.requires_grad)
state[-1].backward()
print(w.grad, w.data_ptr() == w.data.data_ptr())
w.data.clamp_(max=2.5)
print(w, w._version)
