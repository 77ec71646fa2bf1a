"""Walks the backward graph of a small network and writes it as text, as the graph-drawing packages for PyTorch do."""

from collections import Counter, deque

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3, padding=1)
        self.bn = nn.BatchNorm2d(2)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn(self.conv(x))), 2)
        x = torch.flatten(x, 1)
        return F.log_softmax(self.fc(x), dim=1)


def size_to_str(size):
    return "(" + ", ".join("%d" % v for v in size) + ")"


def make_dot(var, params):
    names = {id(p): n for n, p in params.items()}
    lines, seen = [], set()

    def add(node, depth):
        label = str(type(node).__name__)
        if hasattr(node, "variable"):
            label += " %s %s" % (names.get(id(node.variable), "input"), size_to_str(node.variable.size()))
        lines.append("  " * depth + label + (" (again)" if node in seen else ""))
        if node in seen:
            return
        seen.add(node)
        for child, _ in node.next_functions:
            if child is not None:
                add(child, depth + 1)

    add(var.grad_fn, 0)
    return "\n".join(lines)


net = Net()
x = torch.randn(4, 1, 4, 4)
out = net(x)
print(out.grad_fn.name(), out.grad_fn.next_functions[0][1])
loss = F.nll_loss(out, torch.tensor([0, 1, 2, 0])) + 1e-3 * sum(p.pow(2).sum() for p in net.parameters())
print(make_dot(loss, dict(net.named_parameters())))


def breadth_first(root):
    queue, visited = deque([root]), {root}
    while queue:
        node = queue.popleft()
        yield node
        for nxt, _ in node.next_functions:
            if nxt is not None and nxt not in visited:
                visited.add(nxt)
                queue.append(nxt)


print(sorted(Counter(type(n).__name__ for n in breadth_first(loss.grad_fn)).items()))
leaves = [n.variable for n in breadth_first(loss.grad_fn) if type(n).__name__ == "AccumulateGrad"]
print(len(leaves), sum(v.numel() for v in leaves), all(v.is_leaf for v in leaves))
pieces = {
    "cat": torch.cat([out, out]), "stack": torch.stack([out, out]), "index": out[torch.tensor([0, 1])], "slice": out[1:3],
    "mm": out @ out.T, "einsum": torch.einsum("ij,ij->i", out, out), "mean": out.mean(0), "var": out.var(), "max": out.max(1)[0],
    "where": torch.where(out > -1, out, 0.0), "gelu": F.gelu(out), "drop": F.dropout(out, 0.5), "t": out.t(), "neg": -out,
    "rsub": 1 - out, "rdiv": 1 / out, "pow": 2 ** out, "abs": abs(out), "float": out.double(), "unbind": out.unbind()[0],
    "squeeze": out.unsqueeze(0).squeeze(), "bce": F.binary_cross_entropy_with_logits(out, torch.ones(4, 3)), "mse": F.mse_loss(out, out * 2),
    "embedding": F.embedding(torch.tensor([1]), out), "ln": F.layer_norm(out, (3,)), "clamp": out.clamp(min=-1), "sdpa": F.scaled_dot_product_attention(out[None], out[None], out[None]),
}
for name, piece in pieces.items():
    print(name, type(piece.grad_fn).__name__)
