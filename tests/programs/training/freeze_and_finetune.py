"""Fine-tunes the head of a network, then unfreezes it layer by layer with smaller rates below."""
import torch
from torch import nn, optim

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(8, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU())
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.backbone(x))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)
    module.train(flag)


net = Net()
set_trainable(net.backbone, False)
before = {k: v.clone() for k, v in net.state_dict().items()}
optimizer = optim.SGD(filter(lambda p: p.requires_grad, net.parameters()), lr=0.1)
x = torch.randn(20, 8)
y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
for step in range(4):
    out = net(x)
    loss = nn.functional.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"head {step} {loss.item():.6f}")
print([k for k, v in net.state_dict().items() if not torch.equal(v, before[k])])
print([n for n, p in net.named_parameters() if p.grad is None])
graph, node = 0, loss.grad_fn
while node.next_functions:
    graph, node = graph + 1, node.next_functions[-2 if len(node.next_functions) > 2 else 0][0] or node.next_functions[0][0]
    if node is None:
        break
print(graph)
for depth, layer in enumerate((net.backbone[3], net.backbone[0])):
    set_trainable(layer, True)
    optimizer.add_param_group({"params": list(layer.parameters()), "lr": 0.05 / (depth + 1), "momentum": 0.5})
    for step in range(2):
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"unfrozen {depth + 1} {loss.item():.6f}", [len(g["params"]) for g in optimizer.param_groups])
print(net.backbone[1].num_batches_tracked, net.backbone[1].training, net.backbone[1].weight.requires_grad)
print(optimizer)
