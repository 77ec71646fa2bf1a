"""Tours torch.linalg: solving, factoring, inverting and measuring matrices, each result checked by putting it together again."""

import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
A = torch.tensor([[4.0, 1.0, 2.0], [1.0, 3.0, 0.0], [2.0, 0.0, 5.0]])
b = torch.tensor([1.0, 2.0, 3.0])
x = torch.linalg.solve(A, b)
print(x, torch.dist(A @ x, b) < 1e-12)
print(f"{torch.linalg.det(A):.4f} {A.det().item():.4f}", A.logdet(), torch.linalg.slogdet(-A), A.trace())
print(torch.linalg.inv(A), torch.inverse(A).matmul(A).round(decimals=6).abs(), sep="\n")

L = torch.linalg.cholesky(A)
print(L, torch.cholesky_solve(b.unsqueeze(1), L).squeeze() - x < 1e-12, torch.cholesky_inverse(L).trace())
print(torch.linalg.solve_triangular(L, b[:, None], upper=False).T, torch.linalg.cholesky(A, upper=True)[0])
Q, R = torch.linalg.qr(A)
print(torch.allclose(Q @ R, A), torch.allclose(Q.T @ Q, torch.eye(3)), R.diagonal().abs())
LU, pivots = torch.linalg.lu_factor(A)
P, l, u = torch.linalg.lu(A)
print(pivots, torch.allclose(P @ l @ u, A), u, torch.linalg.lu_solve(LU, pivots, b[:, None]).flatten())

vals, vecs = torch.linalg.eigh(A)
print(vals, torch.allclose(vecs @ torch.diag(vals) @ vecs.mT, A), torch.linalg.eigvalsh(A, UPLO="U"))
M = torch.randn(5, 3)
U, S, Vh = torch.linalg.svd(M, full_matrices=False)
print(U.shape, S, Vh.shape, torch.allclose(U * S @ Vh, M), torch.linalg.svdvals(M) - S < 1e-12)
print([tuple(t.shape) for t in torch.linalg.svd(M)], [tuple(t.shape) for t in torch.svd(M)], torch.allclose(torch.svd(M).S, S))
print(torch.allclose(torch.linalg.pinv(M) @ M, torch.eye(3)), torch.linalg.pinv(M)[0], torch.linalg.matrix_rank(M), torch.linalg.matrix_rank(torch.ones(3, 3)), torch.linalg.cond(A))

for ord in (None, "fro", "nuc", 1, -1, 2, float("inf")):
    print(ord, f"{torch.linalg.norm(A, ord=ord):.5f}", end="; ")
print()
print(torch.linalg.vector_norm(A, 3), torch.linalg.vector_norm(A, ord=0, dim=1), A.norm(dim=0), torch.norm(A, p="fro"), torch.linalg.matrix_norm(torch.stack([A, 2 * A])))
print(torch.matrix_exp(torch.tensor([[0.0, 1.0], [-1.0, 0.0]])), torch.linalg.matrix_power(A, -2)[0], torch.linalg.cross(b, A[0]), torch.cross(A[0], A[1], dim=0), sep="\n")
print(torch.addmm(b, A, A, beta=2, alpha=0.5)[0], torch.addmv(b, A, b), torch.baddbmm(torch.ones(1, 3, 3), A[None], A[None])[0, 0], torch.vdot(b, b), sep="\n")

B = torch.randn(4, 3, 3)
spd = B @ B.mT + 2 * torch.eye(3)
print(torch.linalg.solve(spd, torch.ones(4, 3, 1)).squeeze(-1)[0], torch.linalg.det(spd), torch.linalg.cholesky(spd).diagonal(dim1=-2, dim2=-1).log().sum(-1) * 2 - spd.logdet() < 1e-10)
W = A.clone().requires_grad_()
(torch.linalg.eigvalsh(W)[-1] + torch.linalg.inv(W).trace() + W.logdet() + torch.linalg.svdvals(W)[0]).backward()
print(W.grad)
for text, call in {"singular": lambda: torch.linalg.inv(torch.zeros(2, 2)), "not positive": lambda: torch.linalg.cholesky(-A), "square": lambda: torch.linalg.det(M), "solve": lambda: torch.linalg.solve(torch.ones(2, 2), torch.ones(2)), "sizes": lambda: A @ M, "dtype": lambda: A @ A.float()}.items():
    try:
        print(text, call())
    except RuntimeError as error:
        print(f"{text}: {type(error).__name__}: {error}")
