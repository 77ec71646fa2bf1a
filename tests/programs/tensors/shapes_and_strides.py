"""Reshapes, permutes, splits and joins tensors and prints strides, contiguity and shared storage, as internals posts do."""

import torch

x = torch.arange(12)
m = x.view(3, 4)
print(m.shape, m.size(1), m.stride(), m.storage_offset(), m.ndim, m.numel(), m.nelement(), m.element_size())
t = m.t()
print(t.is_contiguous(), t.stride(), t.data_ptr() == m.data_ptr(), t.contiguous().stride())
try:
    t.view(12)
except RuntimeError as error:
    print(error)
print(t.reshape(-1), t.flatten().data_ptr() == t.data_ptr(), m.flatten().data_ptr() == m.data_ptr())
m[0, 0] = 100
print(x[0], t[0, 0], m.untyped_storage().nbytes(), m[1:, 2:].storage_offset())
print(torch.as_strided(x, (3, 2), (4, 2), 1), x.unfold(0, 4, 3), m.unfold(1, 2, 1).shape)

images = torch.arange(2 * 4 * 4 * 3).reshape(2, 4, 4, 3)
chw = images.permute(0, 3, 1, 2)
print(chw.shape, chw.stride(), chw.movedim(1, -1).equal(images), images.transpose(1, 3).swapaxes(2, 3).shape)
last = chw.float().contiguous(memory_format=torch.channels_last)
print(last.stride(), last.is_contiguous(), last.is_contiguous(memory_format=torch.channels_last))
patches = chw.reshape(2, 3, 2, 2, 2, 2).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)
print(patches.shape, patches[0, 1])
print(patches.unflatten(-1, (3, 2, 2)).shape, torch.flatten(chw, start_dim=1).shape, images.view(2, -1, 3).shape, images.view_as(chw.reshape_as(images)).shape)

v = torch.zeros(1, 3, 1)
print(v.squeeze().shape, v.squeeze(0).shape, v.squeeze((0, 2)).shape, v.squeeze(1).shape, v.unsqueeze(-2).shape, v[None, ..., None].shape, v.ravel().shape)
print(torch.cat([m, m], dim=1).shape, torch.stack((m, m), -1).shape, torch.hstack([x, x]).shape, torch.vstack([x, x]).shape, torch.dstack([m, m]).shape, torch.column_stack((x, x)).shape)
print([tuple(s.shape) for s in m.split([1, 3], dim=1)], [s.tolist() for s in x.chunk(5)], [s.shape[0] for s in torch.tensor_split(x, 5)], [s.shape for s in torch.hsplit(m, 2)])
print(torch.block_diag(torch.ones(1, 2), torch.ones(2, 1)), torch.rot90(m), torch.fliplr(m)[0], m.flipud()[0], m.mT.shape, sep="\n")
print(torch.atleast_2d(torch.tensor(3)).shape, torch.tensor(3).reshape(1, 1).item(), torch.empty(0).shape, torch.empty(0, 3).sum(0), torch.zeros(2, 0).numel())
print(torch.empty_like(m, dtype=torch.float).dtype, m.new_zeros(2, 2), m.new_tensor([1.5, 2.5]), m.new_full((2,), 7), torch.full_like(m, 3)[0], torch.ones(2).new_empty(4).shape)
s = m.shape
B, C = s
print(s, s[0], s[:1], s + (2,), s.numel(), tuple(s), isinstance(s, tuple), B * C, torch.Size([1, 2]) == (1, 2), [*s], f"{s}", s == torch.Size((3, 4)))
print(torch.triu_indices(3, 3, 1), torch.tril_indices(2, 2), torch.combinations(torch.arange(3), r=2), torch.diag_embed(torch.tensor([1, 2])), torch.diagflat(torch.tensor([1, 2]), 1), torch.vander(torch.tensor([1, 2, 3])), sep="\n")
for text, call in {"view": lambda: x.view(5, -1), "reshape": lambda: x.reshape(7, 2), "cat": lambda: torch.cat([m, t]), "stack": lambda: torch.stack([m, t]), "dim": lambda: m.sum(2), "permute": lambda: m.permute(0), "expand": lambda: m.expand(3, 5), "two": lambda: m.view(-1, -1), "mm": lambda: m @ m, "split": lambda: m.split([1, 1])}.items():
    try:
        call()
    except (RuntimeError, IndexError) as error:
        print(f"{text}: {error}")
