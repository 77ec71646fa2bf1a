# torch.autograd.grad leaves .grad alone
x = torch.tensor(2.0, requires_grad=True)
y = torch.tensor(3.0, requires_grad=True)
z = x**2
print(torch.autograd.grad(outputs=z, inputs=x), x.grad)
z = x**2
raises(lambda: torch.autograd.grad(z, [x, y]))
z = x**2
print(torch.autograd.grad(z, [x, y], allow_unused=True))
z = x**2
print(torch.autograd.grad(z, [x, y], allow_unused=True, materialize_grads=True))
z = x**3
(dz,) = torch.autograd.grad(z, x, create_graph=True)
print(dz)
(d2z,) = torch.autograd.grad(dz, x, create_graph=True)
print(d2z)
(d3z,) = torch.autograd.grad(d2z, x)
print(d3z, x.grad)
raises(lambda: torch.autograd.grad(torch.tensor(1.0), x))
