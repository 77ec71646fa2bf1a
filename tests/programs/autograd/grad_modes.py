"""Compares no_grad, enable_grad, set_grad_enabled and inference_mode as context managers, decorators and functions."""

import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.ones(2, 3, requires_grad=True)

with torch.no_grad():
    y = x * 2
    with torch.enable_grad():
        z = x * 3
    p = nn.Parameter(torch.zeros(2))
print(y.requires_grad, z.requires_grad, p.requires_grad, torch.is_grad_enabled())


@torch.no_grad()
def evaluate(model, batch):
    """Says the mean prediction."""
    assert not torch.is_grad_enabled()
    return model(batch).mean()


@torch.inference_mode()
def infer(model, batch):
    return model(batch)


@torch.enable_grad()
def saliency(model, batch):
    batch = batch.detach().requires_grad_()
    return torch.autograd.grad(model(batch).sum(), batch)[0]


@torch.no_grad
def batches(n):
    for _ in range(n):
        yield torch.is_grad_enabled(), torch.randn(1, 3)


model = nn.Linear(3, 1)
print(evaluate.__name__, evaluate.__doc__, evaluate(model, x).requires_grad)
result = infer(model, x)
print(result.is_inference(), result.requires_grad, x.is_inference(), torch.is_inference_mode_enabled())
with torch.no_grad():
    print("saliency", saliency(model, x))
for enabled, batch in batches(2):
    print(enabled, torch.is_grad_enabled(), model(batch).requires_grad)

for is_train in (True, False):
    with torch.set_grad_enabled(is_train):
        out = model(x)
    print(is_train, out.requires_grad, out.grad_fn is None)
torch.set_grad_enabled(False)
print((x + 1).requires_grad)
torch.set_grad_enabled(True)

for label, action in {
    "inference tensor in a graph": lambda: (result * model(x)).sum().backward(),
    "in place on an inference tensor": lambda: result.add_(1),
    "numpy of a graph's tensor": lambda: model(x).numpy(),
    "backward without a graph": lambda: evaluate(model, x).backward(),
    "requires_grad of an integer": lambda: torch.arange(3).requires_grad_(),
    "turning off a non-leaf": lambda: setattr(model(x), "requires_grad", False),
}.items():
    try:
        action()
    except RuntimeError as error:
        print(label, ":", error)

with torch.inference_mode(False):
    print(torch.is_inference_mode_enabled(), (x * 1).requires_grad)
with torch.inference_mode():
    inside = torch.zeros(2)
    inside += 5
copy = inside.clone().requires_grad_()
copy.sum().backward()
print(copy.grad, inside.is_inference(), copy.is_inference())
model.requires_grad_(False)
print([n for n, q in model.named_parameters() if q.requires_grad], model(x.detach()).requires_grad)
