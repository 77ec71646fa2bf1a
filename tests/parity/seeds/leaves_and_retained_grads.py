import torch
import torch.nn.functional as F

x = torch.ones(1, 3)
W = torch.ones(3, 2, requires_grad=True)
b = torch.ones(1, 2, requires_grad=True)
y = torch.ones(1, 2)

z = (x @ W) + b
y_pred = F.relu(z)
loss = F.mse_loss(y_pred, y)

print(f"{x.is_leaf=}")
print(f"{z.is_leaf=}")

print(f"{x.requires_grad=}")
print(f"{W.requires_grad=}")
print(f"{z.requires_grad=}")

print(f"{W.grad=}")
print(f"{b.grad=}")
loss.backward()
print(f"{W.grad=}")
print(f"{b.grad=}")
print(f"{x.grad=}")
print(f"{y.grad=}")
print(f"{z.grad=}")

z = (x @ W) + b
y_pred = F.relu(z)
loss = F.mse_loss(y_pred, y)

z.retain_grad()
y_pred.retain_grad()
loss.retain_grad()

W.grad = None
b.grad = None

loss.backward()

print(f"{W.grad=}")
print(f"{b.grad=}")
print(f"{z.grad=}")
print(f"{y_pred.grad=}")
print(f"{loss.grad=}")
