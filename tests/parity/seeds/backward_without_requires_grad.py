import torch
import torch.nn.functional as F

x = torch.ones(1, 3)
W = torch.ones(3, 2)
b = torch.ones(1, 2)
y = torch.ones(1, 2)

z = (x @ W) + b
y_pred = F.relu(z)
loss = F.mse_loss(y_pred, y)
loss.backward()
