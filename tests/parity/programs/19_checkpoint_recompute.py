# what is saved, what is recomputed, and that gradients agree
checkpoint = torch.utils.checkpoint.checkpoint
calls = []
def block(x, w):
    calls.append(torch.is_grad_enabled())
    return (x @ w).tanh().exp().sum()
base = torch.linspace(-1, 1, 6).reshape(2, 3)
wts = torch.linspace(-0.5, 0.5, 9).reshape(3, 3)
def run(how):
    calls.clear()
    x = base.clone().requires_grad_(); w = wts.clone().requires_grad_()
    out = block(x, w) if how is None else checkpoint(block, x, w, use_reentrant=how)
    fwd = list(calls)
    out.backward()
    print(how, fwd, list(calls), out)
    return x.grad, w.grad
ref = run(None)
for how in (True, False):
    got = run(how)
    print([torch.allclose(a, b) for a, b in zip(ref, got)])
print(ref)
packed = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(tuple(t.shape)), t)[1], lambda t: t):
    x = base.clone().requires_grad_(); w = wts.clone().requires_grad_()
    block(x, w)
    print('plain saves', packed); packed.clear()
    checkpoint(block, x, w, use_reentrant=True)
    print('reentrant saves', packed); packed.clear()
