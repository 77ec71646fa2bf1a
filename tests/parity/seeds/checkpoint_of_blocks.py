import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(100, 100)
        self.blocks = nn.Sequential(*[
            nn.Linear(100, 100),
            nn.Linear(100, 100)
        ])

    def forward(self, x):
        x = self.linear(x)
        x1 = x2 = x

        with torch.no_grad():
            for block in self.blocks:
                x1 = block(x1)
                print(f'no_grad requires_grad: {x1.requires_grad}')

        for block in self.blocks:
            x2 = checkpoint(block, x2)
            print(f'checkpoint requires_grad: {x2.requires_grad}')

        return x2

model = Model()
x = torch.randn((2, 100))
outs = model(x)
