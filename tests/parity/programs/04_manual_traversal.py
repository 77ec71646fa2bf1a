# calling grad_fn nodes by hand through next_functions
x = torch.arange(16.0).reshape(4, 4).requires_grad_()
y = (torch.arange(16.0).reshape(4, 4) / 10 - 0.5).requires_grad_()
z = x * y
l = z.sum()
l.backward()
print(x.grad)
print(y.grad)
gx, gy = x.grad.clone(), y.grad.clone()

x = x.detach().clone().requires_grad_()
y = y.detach().clone().requires_grad_()
z = x * y
l = z.sum()
dl = torch.tensor(1.)
back_sum = l.grad_fn
print(type(back_sum).__name__, back_sum.name(), back_sum.next_functions)
dz = back_sum(dl)
print(dz)
back_mul = back_sum.next_functions[0][0]
print(back_mul.next_functions)
dx, dy = back_mul(dz)
back_x = back_mul.next_functions[0][0]
print(type(back_x).__name__, back_x.variable is x)
back_x(dx)
back_y = back_mul.next_functions[1][0]
back_y(dy)
print(torch.equal(x.grad, gx), torch.equal(y.grad, gy))
print(x.grad)
