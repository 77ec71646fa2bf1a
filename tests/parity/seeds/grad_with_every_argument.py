import torch

x = torch.tensor(2.0, requires_grad=True)
z = x**2
print(torch.autograd.grad(
    outputs=z,
    inputs=x,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=False
))
