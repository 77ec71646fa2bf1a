import torch

x = torch.rand(3, requires_grad=True)
y = x * 2
print(y.grad)
