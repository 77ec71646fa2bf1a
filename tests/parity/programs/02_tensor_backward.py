# non-scalar output needs grad_tensors
x = torch.ones(2, requires_grad=True)
z = x + 2
raises(lambda: z.backward())
z = x + 2
z.backward(torch.ones_like(z))
print(x.grad)
z = x + 2
raises(lambda: z.backward(torch.ones(3)))
z = x * x
torch.autograd.backward([z], grad_tensors=[torch.tensor([1.0, 10.0])])
print(x.grad)
z = (x * 3).sum()
z.backward()
raises(lambda: (z.backward()))
z = (x * x).sum()
z.backward()
raises(lambda: z.backward())
z = (x * x).sum()
z.backward(retain_graph=True)
z.backward()
print(x.grad)
