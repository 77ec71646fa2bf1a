# no_grad / enable_grad / set_grad_enabled, as context and as decorator
x = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    y = x * 2
    print(y, y.requires_grad, torch.is_grad_enabled())
    with torch.enable_grad():
        print((x * 2).requires_grad)
@torch.no_grad()
def func(x):
    return x * 3
print(func(x).requires_grad, func.__name__)
for mode in (True, False):
    with torch.set_grad_enabled(mode):
        print(mode, (x * 2).requires_grad)
torch.set_grad_enabled(False)
print((x * 2).requires_grad)
torch.set_grad_enabled(True)
raises(lambda: y.backward())
try:
    with torch.no_grad():
        raise ValueError("inside")
except ValueError:
    print("restored", torch.is_grad_enabled())
@torch.no_grad()
def gen():
    for _ in range(2):
        yield torch.is_grad_enabled()
print([(v, torch.is_grad_enabled()) for v in gen()])
with torch.no_grad():
    w = torch.ones(2, requires_grad=True)
print(w.requires_grad, w.is_leaf)
with torch.inference_mode():
    print((x * 2).is_inference(), torch.is_inference_mode_enabled())
