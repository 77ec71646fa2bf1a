"""Rearranges, reduces and repeats tensors by a pattern in words, as a well-liked package for shapes does."""
import re
from math import prod

import torch

torch.manual_seed(4)


def parse(side):
    return [tuple(g[1:-1].split()) if g.startswith("(") else (g,) for g in re.findall(r"\([^)]*\)|\S+", side)]


def transform(x, pattern, reduction=None, **sizes):
    left, right = (parse(side) for side in pattern.split("->"))
    assert len(left) == x.dim(), f"{pattern!r} does not fit {tuple(x.shape)}"
    axes = []
    for group, size in zip(left, x.shape):
        known = prod(sizes[n] for n in group if n in sizes)
        unknown = [n for n in group if n not in sizes]
        assert len(unknown) <= 1 and size % known == 0, (group, size)
        for n in unknown:
            sizes[n] = size // known
        axes.extend(group)
    x = x.reshape([sizes[n] for n in axes])
    wanted = [n for group in right for n in group]
    gone = [n for n in axes if n not in wanted]
    if gone:
        x = getattr(x, reduction)(dim=tuple(axes.index(n) for n in gone))
        axes = [n for n in axes if n in wanted]
    x = x.permute([axes.index(n) for n in wanted if n in axes])
    for i, n in enumerate(wanted):
        if n not in axes:
            x = x.unsqueeze(i).expand(*x.shape[:i], sizes[n], *x.shape[i:])
    return x.reshape([prod(sizes[n] for n in group) for group in right])


x = torch.arange(48.0).view(2, 4, 6).requires_grad_()
print(transform(x, "b h w -> b (h w)").shape, transform(x, "b (h h2) w -> (b h) w h2", h2=2).shape)
pooled = transform(x, "b (h a) (w c) -> b h w", reduction="mean", a=2, c=3)
print(pooled)
pooled.square().sum().backward()
print(x.grad[0, :2])
print(torch.equal(transform(x, "b h w -> w h b"), x.permute(2, 1, 0)), transform(x, "b h w -> b k h w", k=3).stride())
patches = transform(torch.randn(1, 8, 8, 3), "b (h p1) (w p2) c -> b (h w) (p1 p2 c)", p1=4, p2=4)
print(patches.shape, patches.is_contiguous(), f"{patches.sum():.4f}")
q, k = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4)
scores = torch.einsum("bhid,bhjd->bhij", q, k)
print(scores.shape, torch.allclose(scores, q @ k.transpose(-1, -2), atol=1e-5))
print(torch.einsum("ii->i", torch.arange(9.0).view(3, 3)), torch.einsum("...ij,...jk->...ik", q, k.mT).shape)
print(torch.einsum("i,j,ij->", torch.ones(2), torch.ones(3), torch.full((2, 3), 0.5)))
try:
    transform(x, "b h -> h b")
except AssertionError as error:
    print(error)
