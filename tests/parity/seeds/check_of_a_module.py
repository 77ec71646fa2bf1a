import torch
import torch.nn as nn

def check(x):
    print(f'is_leaf: {x.is_leaf}, requires_grad: {x.requires_grad}, grad_fn: {x.grad_fn}, grad: {x.grad}')

lin = nn.Linear(3, 5)
check(lin.weight)
check(lin.bias)

x = torch.rand(1, 3)
y = lin(x)
check(y)

gt = torch.rand(1, 5)
l = nn.L1Loss()(y, gt)
check(l)

l.backward()
check(lin.weight)
check(lin.bias)
check(x)
check(y)
check(l)
check(gt)
