import torch

x = torch.rand(1)
x.backward()
