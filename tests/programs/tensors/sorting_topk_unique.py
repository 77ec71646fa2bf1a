"""Sorts, ranks, picks the top k and counts unique values, then uses them for precision at k and top-p filtering."""

import torch

torch.manual_seed(0)
x = torch.tensor([[3.0, 1.0, 2.0, 1.0], [0.5, 9.0, -4.0, 9.0]])
values, indices = torch.sort(x, dim=1, descending=True, stable=True)
print(values, indices, sep="\n")
result = x.sort(dim=0)
print(result)
print(type(result).__name__, result.values.shape, result[1].dtype)
print(torch.argsort(x, dim=-1, stable=True), x.msort(), torch.sort(torch.tensor([True, False, True]), stable=True))
top = torch.topk(torch.arange(10.0).sin(), k=3)
print(top, top.indices.tolist())
print(torch.topk(x, 2, dim=1, largest=False, sorted=True).values, x.kthvalue(2, dim=1, keepdim=True).values)

words = "the cat sat on the mat and the dog sat on the log".split()
vocab = {w: i for i, w in enumerate(dict.fromkeys(words))}
ids = torch.tensor([vocab[w] for w in words])
uniq, inverse, counts = torch.unique(ids, return_inverse=True, return_counts=True)
print(uniq, inverse, counts, torch.equal(uniq[inverse], ids))
print(ids.bincount(minlength=12), torch.bincount(ids, weights=torch.ones(len(ids)) / len(ids)))
print(torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 2, 1]), return_counts=True))
print(torch.unique(torch.tensor([[1, 2], [3, 4], [1, 2]]), dim=0), torch.tensor([3, 1, 3]).unique(sorted=True))
print(torch.searchsorted(torch.tensor([1, 3, 5, 7]), torch.tensor([0, 3, 6, 9])), torch.bucketize(torch.tensor([1, 3, 9]), torch.tensor([1, 5]), right=True))


def accuracy(output, target, topk=(1,)):
    """Says the share of targets among the k best."""
    maxk, batch_size = max(topk), target.size(0)
    _, pred = output.topk(maxk, 1, True, True)
    correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
    return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / batch_size) for k in topk]


scores, target = torch.randn(20, 6), torch.randint(6, (20,))
print(accuracy(scores, target, topk=(1, 3, 6)))


def top_k_top_p(logits, k=4, p=0.8):
    threshold = logits.topk(k)[0][..., -1, None]
    logits = logits.masked_fill(logits < threshold, -float("inf"))
    ordered, order = logits.sort(descending=True)
    drop = ordered.softmax(-1).cumsum(-1) > p
    drop[..., 1:] = drop[..., :-1].clone()
    drop[..., 0] = False
    return logits.masked_fill(drop.scatter(1, order, drop), -float("inf"))


filtered = top_k_top_p(scores[:3])
print(filtered, filtered.softmax(-1).count_nonzero(dim=-1), torch.isneginf(filtered).sum())
print(torch.multinomial(filtered.softmax(-1), 1).squeeze(1), scores.argmax(), scores.argmin(dim=0), scores.max(0).indices)
rank = scores[0].argsort().argsort()
print(rank, scores[0][rank.argsort()].diff() >= 0, torch.isin(ids, torch.tensor([0, 2])).sum())
w = torch.randn(5, requires_grad=True)
(w.sort().values * torch.arange(5)).sum().backward()
print(w.grad, w.detach().median(), w.aminmax())
try:
    torch.topk(w, 6)
except RuntimeError as error:
    print(error)
