"""The program that the first page shows: a line is fitted to one point."""

import minigrad as torch

x = torch.tensor(2.0)
y = torch.tensor(1.0)
w = torch.tensor(1.5, requires_grad=True)
error = w * x - y
loss = error * error
loss.backward()
