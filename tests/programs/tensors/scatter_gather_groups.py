"""Uses gather, scatter and index_add for one-hot labels, group means, message passing and confusion matrices."""

import torch
import torch.nn.functional as F

torch.manual_seed(2)
labels = torch.tensor([2, 0, 1, 2])
one_hot = torch.zeros(4, 3).scatter_(1, labels.unsqueeze(1), 1.0)
print(one_hot, torch.equal(one_hot.long(), F.one_hot(labels, num_classes=3)), sep="\n")
logits = torch.randn(4, 3, requires_grad=True)
nll = -logits.log_softmax(1).gather(1, labels.view(-1, 1)).squeeze(1)
print(nll, F.cross_entropy(logits, labels, reduction="none") - nll < 1e-6)
nll.mean().backward()
print(logits.grad)

values = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
group = torch.tensor([0, 2, 0, 1, 2, 2])
sums = torch.zeros(3).scatter_add_(0, group, values)
sizes = torch.zeros(3).index_add_(0, group, torch.ones_like(values))
print(sums, sizes, sums / sizes)
for reduce in ("sum", "prod", "mean", "amax", "amin"):
    print(reduce, torch.ones(4).scatter_reduce(0, group, values, reduce=reduce, include_self=False))

# one layer of message passing on a small graph
edge_index = torch.tensor([[0, 1, 1, 2, 3, 3], [1, 0, 2, 1, 0, 2]])
h = torch.randn(4, 2, requires_grad=True)
src, dst = edge_index
degree = torch.bincount(dst, minlength=4).clamp(min=1)
messages = torch.zeros_like(h).index_add(0, dst, h[src]) / degree.unsqueeze(-1)
print(messages)
messages.pow(2).sum().backward()
print(h.grad, degree)
adj = torch.zeros(4, 4, dtype=torch.long).index_put((src, dst), torch.tensor(1))
print(adj, torch.matrix_power(adj, 3).diagonal(), adj.float().mm(h.detach()).shape)
score = torch.randn(6)
exp = (score - score.max()).exp()
alpha = exp / torch.zeros(4).scatter_add(0, dst, exp)[dst]
print(alpha, torch.zeros(4).scatter_add(0, dst, alpha))


def confusion(pred, true, k):
    return torch.bincount(true * k + pred, minlength=k * k).reshape(k, k)


pred, true = torch.randint(0, 3, (30,)), torch.randint(0, 3, (30,))
cm = confusion(pred, true, 3)
print(cm, cm.trace().item() / cm.sum().item(), cm.diag() / cm.sum(1), torch.nan_to_num(cm.diag() / cm.sum(0)))

seq = torch.arange(12.0).view(2, 3, 2)
lengths = torch.tensor([3, 1])
last = seq.gather(1, (lengths - 1).view(-1, 1, 1).expand(-1, 1, seq.size(2))).squeeze(1)
print(last, torch.scatter(torch.zeros(2, 3), 1, torch.tensor([[0, 2], [1, 0]]), 5.0), seq.index_fill(1, torch.tensor([1]), -1.0)[0])
print(torch.zeros(5).index_copy_(0, torch.tensor([4, 0]), torch.tensor([1.0, 2.0])), torch.zeros(3).put_(torch.tensor([1]), torch.tensor([9.0])), torch.zeros(2, 2).masked_scatter_(torch.eye(2).bool(), torch.tensor([1.0, 2.0])))
for call in (lambda: torch.zeros(3).scatter_(0, torch.tensor([3]), 1.0), lambda: torch.zeros(3).gather(0, torch.tensor([[0]])), lambda: torch.zeros(3).scatter_add_(0, group, values.double())):
    try:
        call()
    except RuntimeError as error:
        print(error)
