# why do checkpoint outputs require grad?
from_mod = torch.utils.checkpoint
nn = torch.nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.blocks = nn.Sequential(*[nn.Linear(4, 4), nn.Linear(4, 4)])
    def forward(self, x):
        x = self.linear(x)
        x1 = x2 = x
        with torch.no_grad():
            for block in self.blocks:
                x1 = block(x1)
                print(f'no_grad requires_grad: {x1.requires_grad}')
        for use_reentrant in (True, False):
            x2 = x
            for block in self.blocks:
                x2 = from_mod.checkpoint(block, x2, use_reentrant=use_reentrant)
                print(f'checkpoint requires_grad: {x2.requires_grad} {type(x2.grad_fn).__name__}')
        return x2
model = Model()
outs = model(torch.randn((2, 4)))
class MyCheckpointFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.no_grad():
            y = x + 1
        print('inside', y.requires_grad)
        return y
    @staticmethod
    def backward(ctx, g):
        return g
f = MyCheckpointFunction.apply
print('outside', f(torch.randn(1, requires_grad=True)).requires_grad)
print('outside', f(torch.randn(1)).requires_grad)
