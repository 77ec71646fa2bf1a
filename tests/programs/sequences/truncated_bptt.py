"""Carries a hidden state over chunks and cuts the graph between them, with one chunk or two in each backward pass."""
import torch
import torch.nn as nn

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
series = torch.sin(torch.arange(65) * 0.4) + 0.3 * torch.sin(torch.arange(65) * 1.3)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.readout = nn.GRUCell(1, 8), nn.Linear(8, 1)

    def forward(self, chunk, h):
        outputs = []
        for x in chunk.unbind():
            h = self.cell(x.view(1, 1), h)
            outputs.append(self.readout(h))
        return torch.cat(outputs).flatten(), h


def depth(fn):
    seen, todo = set(), [fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo.extend(n for n, _ in node.next_functions)
    return len(seen)


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
h = torch.zeros(1, 8)
for i, start in enumerate(range(0, 64, 8)):
    x, y = series[start:start + 8], series[start + 1:start + 9]
    out, h = model(x, h.detach())
    loss = (out - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 2 == 0:
        print(f"chunk {i} loss {loss.item():.6f} nodes {depth(loss.grad_fn)}")

h = torch.zeros(1, 8)
pending = []
for i, start in enumerate(range(0, 32, 8)):
    out, h_next = model(series[start:start + 8], h)
    pending.append((out - series[start + 1:start + 9]).square().mean())
    if len(pending) == 2:
        opt.zero_grad()
        torch.stack(pending).sum().backward()
        opt.step()
        print(f"two chunks {sum(p.item() for p in pending):.6f}")
        pending, h = [], h_next.detach()
    else:
        h = h_next
try:
    out, h = model(series[:4], torch.zeros(1, 8))
    out.sum().backward()
    out, h = model(series[4:8], h)
    out.sum().backward()
except RuntimeError as error:
    print(str(error).split(".")[0])
print(h.requires_grad, h.grad_fn.name() if h.grad_fn else None)
