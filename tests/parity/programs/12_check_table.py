# a table of states
nn = torch.nn
def check(x):
    print(f'is_leaf: {x.is_leaf}, requires_grad: {x.requires_grad}, grad_fn: {x.grad_fn}, grad: {x.grad}')
check(torch.rand(3))
check(torch.rand(3, requires_grad=True))
x = torch.rand(3, requires_grad=True) + 1
check(x) if False else print(x.is_leaf, x.requires_grad, x.grad_fn)
x = torch.rand(3) + 1
check(x)
lin = nn.Linear(3, 5)
print(lin)
print(lin.weight.is_leaf, lin.weight.requires_grad, lin.weight.grad_fn, lin.weight.grad, tuple(lin.weight.shape))
x = torch.rand(1, 3)
y = lin(x)
print(y.is_leaf, y.requires_grad, y.grad_fn)
print(y.grad_fn.next_functions)
gt = torch.rand(1, 5)
l = nn.L1Loss()(y, gt)
print(l.is_leaf, l.requires_grad, l.grad_fn)
l.backward()
print(lin.weight.grad.shape, lin.bias.grad.shape, x.grad, gt.grad)
