"""Rewrites common matrix and attention formulas with einsum and compares each with the usual call, like the einsum blog posts."""

import math

import torch

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
a, b = torch.randn(3, 4), torch.randn(4, 5)
u, v = torch.randn(4), torch.randn(4)
square, batch, other = torch.randn(4, 4), torch.randn(2, 3, 4), torch.randn(2, 4, 5)

recipes = [
    ("transpose", torch.einsum("ij->ji", a), a.t()),
    ("sum", torch.einsum("ij->", a), a.sum()),
    ("columns", torch.einsum("ij->j", a), a.sum(0)),
    ("matrix vector", torch.einsum("ik,k->i", a, u), a @ u),
    ("matmul", torch.einsum("ik,kj->ij", a, b), a.mm(b)),
    ("implicit", torch.einsum("ik,kj", a, b), a.matmul(b)),
    ("dot", torch.einsum("i,i->", u, v), torch.dot(u, v)),
    ("outer", torch.einsum("i,j->ij", u, v), torch.outer(u, v)),
    ("hadamard", torch.einsum("ij,ij->ij", a, a), a * a),
    ("trace", torch.einsum("ii", square), square.trace()),
    ("diagonal", torch.einsum("ii->i", square), square.diag()),
    ("batch", torch.einsum("bij,bjk->bik", batch, other), torch.bmm(batch, other)),
    ("ellipsis", torch.einsum("...ij,...jk->...ik", batch, other), batch @ other),
    ("bilinear", torch.einsum("bn,anm,bm->ba", torch.ones(2, 3), torch.ones(5, 3, 4), torch.ones(2, 4)), torch.full((2, 5), 12.0)),
    ("quadratic", torch.einsum("i,ij,j", u, square, v), u @ square @ v),
    ("sublist", torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), a @ b),
    ("list", torch.einsum("ij, jk -> ik", [a, b]), a @ b),
    ("permute", torch.einsum("b i j -> j b i", batch), batch.permute(2, 0, 1)),
    ("capitals", torch.einsum("Bi,Bj->Bij", a, a), a.unsqueeze(2) * a.unsqueeze(1)),
]
for name, result, expected in recipes:
    print(f"{name:<14}{str(tuple(result.shape)):<12}{torch.allclose(result, expected)} {result.sum().item():.5f}")


def attention(x, wq, wk, wv, wo, heads, causal=True):
    B, T, C = x.shape
    q, k, v = (torch.einsum("btc,chd->bhtd", x, w.view(C, heads, C // heads)) for w in (wq, wk, wv))
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / math.sqrt(C // heads)
    if causal:
        scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    out = torch.einsum("bhqk,bhkd->bqhd", scores.softmax(-1), v)
    return torch.einsum("bqhd,hdc->bqc", out, wo.view(heads, C // heads, C))


x = torch.randn(2, 5, 8)
weights = [torch.randn(8, 8, requires_grad=True) for _ in range(4)]
y = attention(x, *weights, heads=2)
y.square().mean().backward()
print(y.shape, y[0, 0, :4], [f"{w.grad.norm().item():.5f}" for w in weights])
print(torch.allclose(torch.tensordot(batch, b, dims=1), batch @ b), torch.tensordot(a, a, dims=([0, 1], [0, 1])), torch.tensordot(a, b, dims=([1], [0])).shape)
print(torch.kron(torch.eye(2), torch.tensor([[1.0, 2.0]])), torch.inner(a, u).shape, torch.linalg.multi_dot([a, b, b.T]).shape)
for bad in (("ij,jk->ik", a, a), ("ij->ijk", a), ("ij,jk", a), ("i", a)):
    try:
        torch.einsum(*bad)
    except RuntimeError as error:
        print("error:", error)
