# checkpoint_sequential, all segments but the last are recomputed
nn = torch.nn
log = []
class Probe(nn.Module):
    def __init__(self, name):
        super().__init__(); self.name = name
    def forward(self, x):
        log.append((self.name, torch.is_grad_enabled())); return x * 2
model = nn.Sequential(*[Probe(i) for i in range(4)])
x = torch.ones(2, requires_grad=True)
for how in (True, False):
    log.clear()
    y = torch.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=how)
    print('forward', how, log); log.clear()
    y.sum().backward()
    print('backward', log, x.grad)
    x.grad = None
