# the whole tutorial
import warnings
F = torch.nn.functional
x = torch.ones(1, 3)
W = torch.ones(3, 2, requires_grad=True)
b = torch.ones(1, 2, requires_grad=True)
y = torch.ones(1, 2)
z = (x @ W) + b
y_pred = F.relu(z)
loss = F.mse_loss(y_pred, y)
print(f"{x.is_leaf=} {z.is_leaf=}")
print(f"{x.requires_grad=} {W.requires_grad=} {z.requires_grad=}")
print(f"{W.grad=} {b.grad=}")
print(z, y_pred, loss)
print(z.grad_fn, y_pred.grad_fn, loss.grad_fn, z.grad_fn.next_functions)
loss.backward()
print(f"{W.grad=}")
print(f"{b.grad=}")
print(f"{x.grad=} {y.grad=}")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(f"{z.grad=}")
print(len(caught), caught[0].category.__name__)
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
print(z.retains_grad, y_pred.retains_grad, loss.retains_grad, W.retains_grad, x.retains_grad)
raises(lambda: x.retain_grad())
