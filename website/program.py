"""The program that the first page shows."""

import minigrad as torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
h = x * w
loss = (h * h).sum()
loss.backward()
