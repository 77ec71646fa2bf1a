import torch
import torch.nn as nn

lin = nn.Linear(3, 5)
x = torch.rand(1, 3)
y = lin(x)
gt = torch.rand(1, 5)
l = nn.L1Loss(y, gt)
