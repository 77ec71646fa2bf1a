"""Explores dtype promotion, casting, integer division and the bridge to NumPy arrays, with the errors that surprise beginners."""

import itertools

import numpy as np
import torch

kinds = [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64]
for a, b in itertools.combinations(kinds, 2):
    if torch.promote_types(a, b) not in (a, b):
        print(a, b, torch.promote_types(a, b))
i, f, d, h = torch.arange(3), torch.ones(3), torch.ones(3, dtype=torch.double), torch.ones(3, dtype=torch.half)
print((i + f).dtype, (i + 1.5).dtype, (f + d).dtype, (f + d[0]).dtype, (h + f[0]).dtype, (i / 2).dtype, (i // 2).dtype, (i * True).dtype, (i > 1).dtype)
print(torch.result_type(i, 1.0), torch.result_type(h, torch.tensor(1.0)), torch.can_cast(torch.double, torch.int), torch.can_cast(torch.float, torch.half))
print(torch.tensor([1, 2.5]).dtype, torch.tensor([True, 2]).dtype, torch.tensor(3).dtype, torch.tensor([]).dtype, torch.arange(0, 1, 0.25), torch.linspace(0, 1, 3, dtype=torch.half), torch.full((2,), 3).dtype, torch.ones(2, dtype=int).dtype)
n = torch.tensor([-7, -1, 7])
print(n // 2, torch.div(n, 2, rounding_mode="trunc"), torch.div(n, 2, rounding_mode="floor"), n % 3, torch.fmod(n, 3), torch.remainder(n.float(), -3.0), n / 2)
print(n.float().half(), n.to(torch.uint8), n.abs().bitwise_and(3), n << 1, 5 & n, ~n, torch.tensor([200], dtype=torch.uint8) + 100, n.pow(2), 2 ** n.abs(), n.sqrt())
print(torch.tensor([2.7, -2.7, 0.5, 1.5]).long(), torch.tensor([2.7, -2.7, 0.5, 1.5]).round(), torch.tensor([2.7, -2.7]).trunc().int(), torch.tensor([-2.5]).floor().item(), torch.tensor([0.0, 2.0]).bool(), torch.tensor([1e10]).float().frac(), torch.tensor(3.14159).round(decimals=2))
for dtype in (torch.float16, torch.float32, torch.float64):
    info = torch.finfo(dtype)
    print(info.bits, f"{info.eps:.3e} {info.max:.4e} {info.tiny:.3e}", info.dtype, dtype.is_floating_point, torch.zeros((), dtype=dtype).itemsize)
print(torch.iinfo(torch.int8), torch.iinfo(torch.int64).max, torch.iinfo(torch.uint8).min)

array = np.arange(6, dtype=np.float32).reshape(2, 3)
shared, copied = torch.from_numpy(array), torch.tensor(array)
array[0, 0] = 42
shared[1] *= 10
print(array, copied, shared.numpy() is array, np.shares_memory(shared.numpy(), array), torch.as_tensor(array).data_ptr() == shared.data_ptr())
print(torch.ones(2).numpy().dtype, torch.tensor(np.float64(2)).dtype, torch.tensor(np.array([1, 2], dtype=np.int32)), torch.from_numpy(np.array([True, False])), torch.tensor([np.pi, np.e]), torch.tensor(np.arange(3) > 1).sum())
print(np.sin(shared.numpy()).sum(), np.asarray(i), np.array(f.tolist(), dtype=int), np.mean(d.numpy()), torch.ones(2) * np.float32(3), np.add(i.numpy(), 1), np.concatenate([i, i]).shape, i.numpy(force=True), isinstance(i.numpy(), np.ndarray), shared.T.numpy().flags["C_CONTIGUOUS"])
print(i.tolist(), d.mean().item(), type(i[0].item()), float(f[0]), int(d[0] * 3.9), [*range(i[2])], f"{f[0]:.2f}", f"{i[2]:03d}", bool(f[0]), list(map(float, d)), torch.tensor(2).__index__(), "abc"[i[1]], divmod(7, 2) == (7 // 2, 1))
print(f.type(), d.type(torch.FloatTensor).dtype, f.double().type_as(h).dtype, torch.is_tensor(f), torch.is_floating_point(i), f.to(d).dtype, f.to("cpu", torch.int).dtype, torch.LongTensor([1, 2]), torch.FloatTensor(2, 3).shape, torch.IntTensor([1.9, 2.1]), f.to(f.dtype) is f, torch.DoubleTensor([1]).equal(d[:1]))
for text, call in {
    "in place": lambda: i.add_(1.5), "mm": lambda: torch.ones(2, 2) @ torch.ones(2, 2).long(), "index": lambda: f[f], "linear": lambda: torch.nn.Linear(3, 1)(d), "out": lambda: torch.add(f, f, out=i),
    "strings": lambda: torch.tensor(["a"]), "ragged": lambda: torch.tensor([[1, 2], [3]]), "negative strides": lambda: torch.from_numpy(np.arange(3)[::-1]), "item": lambda: f.item(), "shift": lambda: f << 1, "none": lambda: torch.tensor([None]), "not": lambda: -torch.tensor([True]), "sub": lambda: torch.tensor(True) - torch.tensor(True),
}.items():
    try:
        print(text, call())
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        print(f"{text}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
previous = torch.get_default_dtype()
torch.set_default_dtype(torch.float64)
print(torch.rand(2).dtype, torch.tensor(1.0), torch.arange(2.0).dtype, previous, torch.ones(2, dtype=torch.float32), (i * 0.5).dtype)
