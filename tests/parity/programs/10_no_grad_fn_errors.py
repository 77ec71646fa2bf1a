# backward without a graph; changing flags of a non-leaf
x = torch.ones(1, 3)
W = torch.ones(3, 2)
loss = (x @ W).sum()
raises(lambda: loss.backward())
W.requires_grad_()
print(W.requires_grad, W.is_leaf)
y = torch.nn.Linear(3, 5)(torch.rand(1, 3))
def off():
    y.requires_grad = False
raises(off)
raises(lambda: y.requires_grad_(False))
raises(lambda: torch.tensor([1, 2], requires_grad=True))
raises(lambda: torch.arange(3).requires_grad_())
w = torch.ones(2, requires_grad=True)
raises(lambda: w.add_(1))
raises(lambda: (w * 2).numpy())
raises(lambda: w[0].fill_(0.0))
