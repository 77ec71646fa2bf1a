import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        self.linear = nn.Linear(100, 100)
        self.blocks = nn.Sequential(*[
            nn.Linear(100, 100),
            nn.Linear(100, 100)
        ])

model = Model()
