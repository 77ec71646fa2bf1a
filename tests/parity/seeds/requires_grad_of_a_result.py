import torch
from torch import nn

x = torch.rand(1, 3)
y = nn.Linear(3, 5)(x)
y.requires_grad = False
