# z = x**2 + y, scalar backward
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = x**2 + y
print(z)
z.backward()
print(x.grad, y.grad)
z2 = x**2 + y
torch.autograd.backward(z2)          # same as z2.backward(); accumulates
print(x.grad, y.grad)
x.grad.zero_()
print(x.grad, y.grad)
x.grad = None
print(x.grad)
