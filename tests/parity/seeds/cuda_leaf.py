import torch

x = torch.rand(3, requires_grad=True, device='cuda')
print(f'is_leaf: {x.is_leaf}, requires_grad: {x.requires_grad}, grad_fn: {x.grad_fn}, grad: {x.grad}')
