import torch

x = torch.rand(3, requires_grad=True)
y = x.detach()
print(y.requires_grad, y.is_leaf, y.data_ptr() == x.data_ptr())
y = x.clone()
print(y.requires_grad, y.is_leaf, y.data_ptr() == x.data_ptr(), y.grad_fn)
