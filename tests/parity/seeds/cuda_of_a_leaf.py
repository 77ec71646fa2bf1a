import torch

def check(x):
    print(f'is_leaf: {x.is_leaf}, requires_grad: {x.requires_grad}, grad_fn: {x.grad_fn}, grad: {x.grad}')

x = torch.rand(3, requires_grad=True).cuda()
check(x)

x = torch.rand(3).cuda()
check(x)
