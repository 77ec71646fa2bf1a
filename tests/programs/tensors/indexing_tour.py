"""Shows slices, integer and boolean indexing, ellipsis, None and assignment by index, as the tensor chapter of a course does."""

import torch

torch.manual_seed(0)
x = torch.arange(24).reshape(2, 3, 4)
print(x[0, 1], x[..., -1], x[:, None, 0].shape, x[1, ::2, 1:3], sep="\n")
print(x[-1, -1, -1], x[0][2][3].item(), x[0, 0, 0:0].shape)

rows, cols = torch.tensor([0, 2, 1]), torch.tensor([3, 0, 1])
print(x[1][rows, cols], x[:, rows, cols], x[0, rows][:, cols])
print(x[torch.tensor([[0], [1]]), torch.tensor([0, 2]), 1])
print(x[[0, 1], [2, 0]], x[(1, 2)], x[:, [0, 2], ::3].shape)

m = torch.randn(4, 5)
mask = m > 0.5
print(mask.sum(), m[mask].shape, m[mask.any(dim=1)].shape, m[:, mask.all(0)].shape)
print(torch.nonzero(mask)[:3], mask.nonzero(as_tuple=True)[0])
print(torch.masked_select(m, m.abs() < 0.4).numel(), m[m.argmax() // 5, m.argmax() % 5] == m.max())

z = torch.zeros(4, 4)
z[1] = 1
z[:, 2] = torch.arange(4.0)
z[2:, :2] += 5
z[[0, 3], [0, 3]] = torch.tensor([-1.0, -2.0])
z[z > 4] *= 10
z[..., 3][0] = 7
print(z)
z[torch.eye(4, dtype=torch.bool)] = 0.5
z[:2, :2] = z[2:, 2:].clone()
print(z)
z.index_put_((torch.tensor([0, 0, 1]), torch.tensor([1, 1, 1])), torch.ones(3), accumulate=True)
print(z, z.diagonal(), z.diagonal(offset=1).sum())

print(x.index_select(2, torch.tensor([3, 0]))[0], x.select(1, 2), x.narrow(2, 1, 2).shape)
print(torch.take(x, torch.tensor([0, 5, 23])), x.take_along_dim(x.argmax(2, keepdim=True), dim=2).squeeze(-1))
print(m.gather(1, m.argsort(1)[:, :2]).shape, x.flip(0, 2)[0], x.roll(1, -1)[0, 0])
a, b, *rest = x.view(4, 6)
print(a, b.tolist(), len(rest), [int(v) for v in a if v % 2])
print(x.view(-1)[::5], x.unbind(1)[2], 7 in x, torch.tensor(99) in x, len(x))

for text, function in {
    "too large": lambda: x[2],
    "too many": lambda: x[0, 0, 0, 0],
    "mask shape": lambda: m[torch.ones(3, dtype=torch.bool)],
    "gone past": lambda: m[torch.tensor([5])],
    "floats": lambda: m[torch.tensor([1.0])],
    "shapes": lambda: m[torch.tensor([0, 1]), torch.tensor([0, 1, 2])],
    "assign": lambda: z.__setitem__(0, torch.ones(3)),
    "negative step": lambda: m[::-1],
}.items():
    try:
        print(function())
    except (IndexError, RuntimeError, ValueError) as error:
        print(f"{text}: {type(error).__name__}: {error}")
