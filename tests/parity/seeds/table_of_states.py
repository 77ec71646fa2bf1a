import torch

for x in [torch.ones(1), torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True) * 2]:
    print(x.is_leaf, x.requires_grad, x.retains_grad)
    x.requires_grad_()
    print(x.is_leaf, x.requires_grad, x.retains_grad)
    x.retain_grad()
    print(x.is_leaf, x.requires_grad, x.retains_grad)
