import torch

x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = x**2+y
torch.autograd.backward(
    tensors=z,
    grad_tensors=None,
    retain_graph=None,
    create_graph=False,
    grad_variables=None
)
print(z, x.grad, y.grad)
