"""Walks a graph from its result to its leaves and writes it as dot text, as graph drawing packages do."""
import torch
import torch.nn as nn
from torch.autograd import Variable

SAVED_PREFIX = "_saved_"


def make_dot(var, params=None, show_attrs=False):
    names = {id(v): k for k, v in dict(params or {}).items()}
    lines, ids, seen = [], {}, set()

    def number(node):
        return ids.setdefault(node, len(ids))

    def size_to_str(size):
        return "(" + ", ".join(["%d" % v for v in size]) + ")"

    def add_nodes(fn):
        assert not torch.is_tensor(fn)
        if fn in seen:
            return
        seen.add(fn)
        attrs = ""
        if show_attrs:
            found = {a[len(SAVED_PREFIX):]: getattr(fn, a) for a in sorted(dir(fn)) if a.startswith(SAVED_PREFIX)}
            shown = {k: size_to_str(v.shape) if torch.is_tensor(v) else v for k, v in found.items()
                     if isinstance(v, (int, float, bool)) or torch.is_tensor(v)}
            attrs = " ".join(f"{k}={v}" for k, v in shown.items() if k in ("self", "mat1", "mat2", "result", "dim", "alpha"))
        lines.append(f"{number(fn)} [{type(fn).__name__}{' ' + attrs if attrs else ''}]")
        if hasattr(fn, "variable"):
            lines.append(f"{names.get(id(fn.variable), '?')} {size_to_str(fn.variable.size())} -> {number(fn)}")
        for u in fn.next_functions:
            if u[0] is not None:
                lines.append(f"{number(u[0])} -> {number(fn)}")
                add_nodes(u[0])

    add_nodes(var.grad_fn)
    return "\n".join(lines)


torch.manual_seed(2)
model = nn.Sequential()
model.add_module("W0", nn.Linear(8, 16))
model.add_module("tanh", nn.Tanh())
model.add_module("W1", nn.Linear(16, 1))
x = Variable(torch.randn(1, 8))
y = model(x)
print(make_dot(y.mean(), params=dict(model.named_parameters()), show_attrs=True))
inputs = torch.randn(2, 8, requires_grad=True)
hidden = (inputs.relu() @ torch.ones(8, 3, requires_grad=True)).sigmoid()
print(make_dot((hidden * hidden.detach()).sum(dim=1, keepdim=True)[0], params={"inputs": inputs}))
lstm = nn.LSTMCell(2, 3)
h, c = lstm(torch.randn(1, 2))
text = make_dot(h.sum(), params=dict(lstm.named_parameters()))
print(len(text.splitlines()), sorted({line.split("[")[1].rstrip("]") for line in text.splitlines() if "[" in line}))
g, = torch.autograd.grad(y.sum(), model.W0.weight, create_graph=True)
print(g.grad_fn.name(), [f.name() if f else None for f, _ in g.grad_fn.next_functions])
