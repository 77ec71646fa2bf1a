import torch

x = torch.ones(1, 3)
x.retain_grad()
