import torch
from torch import nn

class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(3, 1)

    def forward(self, input):
        with torch.set_grad_enabled(True):
            sigma = self.backbone(input).sigmoid()
            normal = - torch.autograd.grad(torch.sum(sigma), input, create_graph=True)[0]
            return sigma, normal

field = Field()
with torch.no_grad():
    sigma, normal = field(torch.rand(2, 4, 3, requires_grad=True))
print(sigma.shape, normal.shape, normal)
normal.sum().backward()
print(field.backbone.weight.grad)
