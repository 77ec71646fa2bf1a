import torch
from torch import nn

x = torch.rand(3, requires_grad=True)
x.requires_grad = True
x.requires_grad_(True)
x = nn.Parameter(torch.rand(3))
print(x.is_leaf, x.requires_grad, x.grad_fn, x.grad)
x = nn.Linear(3, 5).weight
print(x.is_leaf, x.requires_grad, x.grad_fn, x.grad)
