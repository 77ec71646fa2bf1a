import torch
import torch.nn as nn

def check(x):
    print(f'is_leaf: {x.is_leaf}, requires_grad: {x.requires_grad}, grad_fn: {x.grad_fn}, grad: {x.grad}')

x = torch.rand(3)
check(x)

x = torch.rand(3, requires_grad=True)
check(x)

x = torch.rand(3, requires_grad=True) + 1
check(x)

x = torch.rand(3) + 1
check(x)
