import torch
from torch import nn

x = torch.rand(1, 3, requires_grad=True)

@torch.no_grad()
def func(x):
    return x * 2
print(func(x))

with torch.no_grad():
    print((x * 2).requires_grad)
    with torch.enable_grad():
        print((x * 2).requires_grad)

for mode in (True, False):
    with torch.set_grad_enabled(mode):
        print((x * 2).requires_grad)

model = nn.Linear(3, 5)
model.eval()
with torch.no_grad():
    y = model(x)
print(y, model.training)
