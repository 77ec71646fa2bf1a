# a tensor hook sees the gradient and may replace it
def print_grad(grad):
    print(grad)
    return grad / 2
w = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
print(w)
handle = w.register_hook(print_grad)
loss = (w - 1) ** 2
print('before backward')
loss.mean().backward()
print('after backward')
print(w.grad)
handle.remove()
w.grad = None
((w - 1) ** 2).mean().backward()
print(w.grad)
raises(lambda: torch.zeros(1).register_hook(print_grad))
