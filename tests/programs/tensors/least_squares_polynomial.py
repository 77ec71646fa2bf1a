"""Fits a polynomial by the normal equations, lstsq, QR and ridge regression, and by gradient descent from a nn.Linear."""

import torch
import torch.nn as nn

torch.manual_seed(9)
torch.set_default_dtype(torch.float64)

W_target = torch.tensor([[0.5], [-1.2], [0.8]])
b_target = torch.tensor([2.0])


def make_features(x):
    """Columns x, x**2, x**3."""
    x = x.unsqueeze(1)
    return torch.cat([x ** i for i in range(1, 4)], 1)


def poly_desc(W, b):
    result = "y = "
    for i, w in enumerate(W):
        result += "{:+.2f} x^{} ".format(w, i + 1)
    return result + "{:+.2f}".format(b[0])


x = torch.rand(50) * 4 - 2
y = make_features(x).mm(W_target) + b_target + 0.1 * torch.randn(50, 1)
A = torch.hstack([torch.ones(50, 1), make_features(x)])
print(poly_desc(W_target.view(-1), b_target), A.shape)

normal = torch.linalg.solve(A.T @ A, A.T @ y)
lstsq = torch.linalg.lstsq(A, y)
Q, R = torch.linalg.qr(A, mode="reduced")
by_qr = torch.linalg.solve_triangular(R, Q.T @ y, upper=True)
by_pinv = torch.pinverse(A) @ y
print(normal.T)
print([torch.allclose(normal, w) for w in (lstsq.solution, by_qr, by_pinv)])
print(type(lstsq).__name__, lstsq.rank, lstsq.residuals, torch.linalg.lstsq(A, y, driver="gelsd").singular_values)
residual = y - A @ normal
dof = A.size(0) - A.size(1)
sigma2 = residual.square().sum() / dof
stderr = (sigma2 * torch.linalg.inv(A.T @ A).diag()).sqrt()
print(f"sigma {sigma2.sqrt():.4f}, R2 {1 - residual.var() / y.var():.5f}", stderr, normal.flatten() / stderr)

for lam in torch.logspace(-2, 2, 3):
    penalty = lam * torch.diag(torch.tensor([0.0, 1, 1, 1]))
    w = torch.cholesky_solve(A.T @ y, torch.linalg.cholesky(A.T @ A + penalty))
    print(f"lambda {lam:7.2f}: |w| {w[1:].norm():.4f}, error {torch.mean((A @ w - y) ** 2):.4f}")

fc = nn.Linear(W_target.size(0), 1)
optimizer = torch.optim.SGD(fc.parameters(), lr=0.01, momentum=0.9, nesterov=True)
for batch_idx in range(1, 301):
    fc.zero_grad()
    output = nn.functional.smooth_l1_loss(fc(make_features(x)), y)
    loss = output.item()
    output.backward()
    optimizer.step()
    if loss < 4.5e-3 or batch_idx % 50 == 0:
        print("Loss: {:.6f} after {} batches".format(loss, batch_idx))
    if loss < 4.5e-3:
        break
print("==> Learned function:\t" + poly_desc(fc.weight.view(-1), fc.bias))
print("==> Closed form:\t" + poly_desc(normal[1:, 0], normal[0]))

v = torch.vander(torch.tensor([0.0, 1.0, 2.0, 3.0]), N=3, increasing=True)
print(v, torch.linalg.lstsq(v, torch.tensor([1.0, 3.0, 7.0, 13.0]).unsqueeze(-1)).solution.squeeze().round(decimals=3))
horner = torch.zeros(())
for c in normal.flatten().flip(0):
    horner = horner * 1.5 + c
print(horner, torch.dot(normal[:, 0], 1.5 ** torch.arange(4)))
theta = normal.clone().requires_grad_()
(0.5 * (A @ theta - y).pow(2).sum()).backward()
print(theta.grad.abs().max() < 1e-9)
