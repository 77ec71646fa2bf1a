"""Takes higher derivatives by calling grad again and again with create_graph, as a lesson on double backward does."""

import torch

torch.set_default_dtype(torch.float64)


def nth_derivative(f, wrt, n):
    for _ in range(n):
        (grads,) = torch.autograd.grad(f, wrt, create_graph=True)
        f = grads.sum()
    return grads


x = torch.arange(1.0, 5.0).requires_grad_(True)
for n in range(1, 5):
    print(n, nth_derivative((x ** 4 + torch.sin(x)).sum(), x, n))

# Taylor coefficients of tan at 0.3
t = torch.tensor(0.3, requires_grad=True)
value, coefficients, factorial = torch.tan(t), [], 1.0
for k in range(6):
    coefficients.append(value.item() / factorial)
    value = torch.autograd.grad(value, t, create_graph=True)[0]
    factorial *= k + 1
print(["%.5f" % c for c in coefficients])
h = 0.01
print(f"{sum(c * h**k for k, c in enumerate(coefficients)):.10f} {torch.tan(torch.tensor(0.31)).item():.10f}")

# a Hessian-vector product, and Newton's method that uses whole rows
def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


p = torch.tensor([-1.2, 1.0], requires_grad=True)
for step in range(7):
    loss = rosenbrock(p)
    grad, = torch.autograd.grad(loss, p, create_graph=True)
    H = torch.stack([torch.autograd.grad(g, p, retain_graph=True)[0] for g in grad])
    with torch.no_grad():
        p.sub_(torch.linalg.solve(H, grad))
    print("step {}: loss {:.6f}, |g| {:.6f}, H[0, 0] {:.3f}".format(step, loss.item(), grad.norm().item(), H[0, 0].item()))
print(p)

v = torch.tensor([1.0, -1.0])
grad = torch.autograd.grad(rosenbrock(p), p, create_graph=True)[0]
print("Hv:", torch.autograd.grad(grad, p, grad_outputs=v)[0])
print("second derivative of relu squared:", nth_derivative(torch.relu(x - 2).pow(2).sum(), x, 2))
