"""The table of ops, linear algebra: see `cases.py`."""

from __future__ import annotations

import warnings

from tests.parity.compare import frozen, leaf

CASES = {
    # products that add, and the small ones
    "addbmm": (lambda m, a, b, c: m.addbmm(a, b, c), [leaf(2, 3), leaf(4, 2, 3), leaf(4, 3, 3)]),
    "addbmm scaled": (lambda m, a, b, c: a.addbmm(b, c, beta=2, alpha=0.5), [leaf(3), leaf(4, 2, 3), leaf(4, 3, 3)]),
    "baddbmm": (lambda m, a, b, c: m.baddbmm(a, b, c), [leaf(4, 2, 3), leaf(4, 2, 3), leaf(4, 3, 3)]),
    "baddbmm scaled": (lambda m, a, b, c: a.baddbmm(b, c, beta=2, alpha=0.5), [leaf(3), leaf(4, 2, 3), leaf(4, 3, 3)]),
    "addmv": (lambda m, a, b, c: m.addmv(a, b, c), [leaf(2), leaf(2, 3), leaf(3)]),
    "addmv scaled": (lambda m, a, b, c: a.addmv(b, c, beta=2, alpha=0.5), [leaf(), leaf(2, 3), leaf(3)]),
    "addr": (lambda m, a, b, c: m.addr(a, b, c), [leaf(2, 3), leaf(2), leaf(3)]),
    "addr scaled": (lambda m, a, b, c: a.addr(b, c, beta=2, alpha=0.5), [leaf(3), leaf(2), leaf(3)]),
    "addmm without bias": (lambda m, a, b, c: m.addmm(a, b, c, beta=0), [leaf(2, 3), leaf(2, 3), leaf(3, 3)]),
    "outer": (lambda m, a, b: m.outer(a, b), [leaf(2), leaf(3)]),
    "ger": (lambda m, a, b: a.ger(b), [leaf(2), leaf(3)]),
    "vdot": (lambda m, a, b: m.vdot(a, b), [leaf(3), leaf(3)]),
    "inner": (lambda m, a, b: m.inner(a, b), [leaf(3), leaf(3)]),
    "inner of a number": (lambda m, a, b: m.inner(a, b), [leaf(3), leaf()]),
    "trace": (lambda m, a: m.trace(a), [leaf(2, 3)]),
    "cross": (lambda m, a, b: m.cross(a, b, dim=1), [leaf(2, 3), leaf(2, 3)]),
    # products made of others
    "tensordot": (lambda m, a, b: m.tensordot(a, b), [leaf(2, 3, 4), leaf(3, 4, 2)]),
    "tensordot of all": (lambda m, a, b: m.tensordot(a, b, ([0, 1], [1, 0])), [leaf(2, 3), leaf(3, 2)]),
    "tensordot of none": (lambda m, a, b: m.tensordot(a, b, 0), [leaf(2), leaf(3)]),
    "tensordot lists": (lambda m, a, b: m.tensordot(a, b, ([0, -1], [2, 0])), [leaf(2, 3, 4), leaf(4, 5, 2)]),
    "tensordot summed": (lambda m, a, b: m.tensordot(a, b, 1), [leaf(2, 3), leaf(1, 2)]),
    "renorm": (lambda m, a: [a.renorm(2, 0, 0.5), m.renorm(a, 1, -1, 1.5), a.renorm(3.5, 1, 0.1)], [leaf(2, 3)]),
    "renorm_": (lambda m, a: a.clone().renorm_(2, 0, 0.5), [leaf(2, 3)]),
    "kron": (lambda m, a, b: m.kron(a, b), [leaf(2, 3), leaf(2)]),
    "tensordot of rows": (lambda m, a, b: m.tensordot(a, b, ([1], [0])), [leaf(1, 3), leaf(3, 1)]),
    "tensordot turned": (lambda m, a, b: m.tensordot(a.t(), b, 2), [leaf(3, 2), leaf(2, 3)]),
    "multi_dot": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), [leaf(2, 3), leaf(3, 4), leaf(4, 2)]),
    "multi_dot of vectors": (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), [leaf(3), leaf(3, 4), leaf(4)]),
    "multi_dot of two": (lambda m, a, b: m.linalg.multi_dot([a, b]), [leaf(2, 3), leaf(3, 4)]),
    "multi_dot of four": (lambda m, *a: m.linalg.multi_dot(a), [leaf(3, 2), leaf(2, 4), leaf(4, 1), leaf(1, 3)]),
    "matrix_power 0": (lambda m, a: m.matrix_power(a, 0), [leaf(2, 2)]),
    "matrix_power 1": (lambda m, a: a.matrix_power(1), [leaf(2, 2)]),
    "matrix_power 3": (lambda m, a: m.linalg.matrix_power(a, 3), [leaf(2, 2)]),
    "matrix_power 6": (lambda m, a: m.linalg.matrix_power(a, 6), [leaf(2, 2, 2)]),
    "matrix_power -2": (lambda m, a: m.linalg.matrix_power(regular(m, a), -2), [leaf(3, 3)]),
    "vecdot": (lambda m, a, b: m.linalg.vecdot(a, b), [leaf(2, 3), leaf(3)]),
    "linalg.cross": (lambda m, a, b: m.linalg.cross(a, b), [leaf(2, 1, 3), leaf(1, 2, 3)]),
    "linalg.matmul": (lambda m, a, b: m.linalg.matmul(a, b), [leaf(2, 3), leaf(3, 2)]),
    # einsum
    "einsum mm": (lambda m, a, b: m.einsum("ij,jk->ik", a, b), [leaf(2, 3), leaf(3, 4)]),
    "einsum mv": (lambda m, a, b: m.einsum("ij,j->i", a, b), [leaf(2, 3), leaf(3)]),
    "einsum bmm": (lambda m, a, b: m.einsum("bij,bjk->bik", a, b), [leaf(2, 3, 4), leaf(2, 4, 2)]),
    "einsum, implicit": (lambda m, a, b: m.einsum("ba,ac", a, b), [leaf(2, 3), leaf(3, 4)]),
    "einsum diagonal": (lambda m, a: m.einsum("ii->i", a), [leaf(3, 3)]),
    "einsum trace": (lambda m, a: m.einsum("ii", a), [leaf(3, 3)]),
    "einsum batch trace": (lambda m, a: m.einsum("bii->b", a), [leaf(2, 3, 3)]),
    "einsum transpose": (lambda m, a: m.einsum("ij->ji", a), [leaf(2, 3)]),
    "einsum sum": (lambda m, a: m.einsum("ij->j", a), [leaf(2, 3)]),
    "einsum outer": (lambda m, a, b: m.einsum("i,j->ij", a, b), [leaf(2), leaf(3)]),
    "einsum dot": (lambda m, a, b: m.einsum("i,i", a, b), [leaf(3), leaf(3)]),
    "einsum all": (lambda m, a, b: m.einsum("ij,ij->", a, b), [leaf(2, 3), leaf(2, 3)]),
    "einsum ellipsis": (lambda m, a, b: m.einsum("...ij,...jk->...ik", a, b), [leaf(2, 3, 4), leaf(4, 2)]),
    "einsum ellipsis summed": (lambda m, a: m.einsum("i...->i", a), [leaf(2, 3, 2)]),
    "einsum middle": (lambda m, a, b: m.einsum("ijk,j->ik", a, b), [leaf(2, 3, 4), leaf(3)]),
    "einsum sums first": (lambda m, a, b: m.einsum("ij,kl->ik", a, b), [leaf(2, 3), leaf(2, 3)]),
    "einsum bilinear": (lambda m, a, b, c: m.einsum("bn,anm,bm->ba", a, b, c), [leaf(2, 3), leaf(4, 3, 2), leaf(2, 2)]),
    "einsum of a width of 1": (lambda m, a, b: m.einsum("ij,jk->ik", a, b), [leaf(2, 1), leaf(3, 2)]),
    "einsum lists": (lambda m, a, b: m.einsum(a, [0, ..., 1], b, [1, 2], [..., 0, 2]), [leaf(2, 2, 3), leaf(3, 4)]),
    # systems and determinants
    "inverse": (lambda m, a: a.inverse(), [leaf(1, 1)]),
    "inv": (lambda m, a: m.linalg.inv(regular(m, a)), [leaf(2, 3, 3)]),
    "inv_ex": (lambda m, a: m.linalg.inv_ex(regular(m, a)), [leaf(3, 3)]),
    "solve": (lambda m, a, b: m.linalg.solve(regular(m, a), b), [leaf(3, 3), leaf(3, 2)]),
    "solve, vector": (lambda m, a, b: m.linalg.solve(regular(m, a), b), [leaf(2, 3, 3), leaf(3)]),
    "solve, batch": (lambda m, a, b: m.linalg.solve(regular(m, a), b), [leaf(2, 1, 3, 3), leaf(2, 3, 1)]),
    "solve, right": (lambda m, a, b: m.linalg.solve(regular(m, a), b, left=False), [leaf(3, 3), leaf(2, 3)]),
    "solve_ex": (lambda m, a, b: m.linalg.solve_ex(regular(m, a), b), [leaf(3, 3), leaf(3)]),
    "solve_triangular": (lambda m, a, b: m.linalg.solve_triangular(regular(m, a), b, upper=True),
                         [leaf(3, 3), leaf(2, 3, 2)]),
    "solve_triangular right": (lambda m, a, b: m.linalg.solve_triangular(a, b, upper=False, left=False,
                                                                         unitriangular=True), [leaf(3, 3), leaf(2, 3)]),
    "det": (lambda m, a: m.linalg.det(a), [leaf(2, 3, 3)]),
    "det, method": (lambda m, a: a.det(), [leaf(2, 2)]),
    "slogdet": (lambda m, a: m.linalg.slogdet(regular(m, a)), [leaf(2, 3, 3)]),
    "slogdet, function": (lambda m, a: m.slogdet(regular(m, a))[1], [leaf(3, 3)]),
    "logdet": (lambda m, a: m.logdet(definite(m, a)), [leaf(3, 3)]),
    # factors
    "cholesky": (lambda m, a: unwarned(m.cholesky, definite(m, a)), [leaf(2, 3, 3)]),
    "cholesky upper": (lambda m, a: unwarned(definite(m, a).cholesky, upper=True), [leaf(3, 3)]),
    "torch.qr": (lambda m, a: unwarned(m.qr, a), [leaf(3, 2)]),
    "linalg.cholesky": (lambda m, a: m.linalg.cholesky(definite(m, a)), [leaf(2, 3, 3)]),
    "linalg.cholesky upper": (lambda m, a: m.linalg.cholesky(definite(m, a), upper=True), [leaf(3, 3)]),
    "cholesky_ex": (lambda m, a: m.linalg.cholesky_ex(definite(m, a)), [leaf(3, 3)]),
    "cholesky_inverse": (lambda m, a: regular(m, a).cholesky_inverse(), [leaf(3, 3)]),
    "cholesky_inverse upper": (lambda m, a: m.cholesky_inverse(regular(m, a), upper=True), [leaf(2, 3, 3)]),
    "cholesky_solve": (lambda m, a, b: m.cholesky_solve(a, regular(m, b)), [leaf(3, 2), leaf(3, 3)]),
    "cholesky_solve upper": (lambda m, a, b: a.cholesky_solve(regular(m, b), upper=True), [leaf(3, 2), leaf(2, 3, 3)]),
    "lu_factor": (lambda m, a: m.linalg.lu_factor(a), [leaf(2, 3, 3)]),
    "lu_factor_ex": (lambda m, a: m.linalg.lu_factor_ex(a), [leaf(2, 4)]),
    "linalg.lu": (lambda m, a: m.linalg.lu(a), [leaf(4, 2)]),
    "matmul by a frozen matrix": (lambda m, a, b: a.mT @ b, [leaf(2, 3, 4), frozen(3, 2)]),
    "matmul of frozen rows": (lambda m, a, b: b @ a, [leaf(2, 3, 2), frozen(4, 3)]),
    "matmul by a frozen vector": (lambda m, a, b: a.mT @ b, [leaf(2, 3, 4), frozen(3)]),
    "matmul of a frozen vector": (lambda m, a, b: b @ a, [leaf(2, 3, 2), frozen(3)]),
    "matmul by a frozen matrix, in a row": (lambda m, a, b: a @ b, [leaf(2, 3, 4), frozen(4, 2)]),
    "linalg.lu_solve": (lambda m, a, b: m.linalg.lu_solve(*m.linalg.lu_factor(regular(m, a)), b),
                        [leaf(2, 3, 3), leaf(3, 2)]),
    "linalg.lu_solve right": (lambda m, a, b: m.linalg.lu_solve(*m.linalg.lu_factor(regular(m, a)), b, left=False,
                                                                adjoint=True), [leaf(3, 3), leaf(2, 3)]),
    "lu_solve": (lambda m, a, b: unwarned(b.lu_solve, *m.linalg.lu_factor(regular(m, a))), [leaf(3, 3), leaf(3, 2)]),
    "linalg.qr": (lambda m, a: m.linalg.qr(a), [leaf(3, 2)]),
    "linalg.qr wide": (lambda m, a: m.linalg.qr(regular(m, a)), [leaf(2, 4)]),
    "linalg.qr complete": (lambda m, a: m.linalg.qr(regular(m, a), mode="complete"), [leaf(2, 3, 3)]),
    "linalg.qr, Q": (lambda m, a: m.linalg.qr(a).Q, [leaf(3, 2)]),
    "linalg.qr, R": (lambda m, a: m.linalg.qr(a).R, [leaf(2, 3)]),
    "svd of a matrix": (lambda m, a: apart(m.linalg.svd(graded(m, a), full_matrices=False)), [leaf(3, 2)]),
    "svd wide": (lambda m, a: apart(m.linalg.svd(graded(m, a), full_matrices=False)), [leaf(2, 3)]),
    "svd full": (lambda m, a: m.linalg.svd(graded(m, a)).S, [leaf(2, 3)]),
    "svd, function": (lambda m, a: m.svd(graded(m, a)).V ** 2, [leaf(3, 2)]),
    "svdvals": (lambda m, a: m.linalg.svdvals(graded(m, a)), [leaf(2, 2, 3)]),
    "eigh": (lambda m, a: apart(m.linalg.eigh(graded(m, a))), [leaf(3, 3)]),
    "eigh upper": (lambda m, a: m.linalg.eigh(graded(m, a), "U").eigenvectors ** 2, [leaf(2, 3, 3)]),
    "eigvalsh": (lambda m, a: m.linalg.eigvalsh(graded(m, a)), [leaf(3, 3)]),
    "pinv": (lambda m, a: m.linalg.pinv(a), [leaf(3, 2)]),
    "pinv hermitian": (lambda m, a: m.linalg.pinv(definite(m, a), hermitian=True), [leaf(3, 3)]),
    "pinverse": (lambda m, a: a.pinverse(), [leaf(2, 3)]),
    "matrix_exp": (lambda m, a: m.matrix_exp(a), [leaf(2, 3, 3)]),
    "cond": (lambda m, a: m.linalg.cond(graded(m, a)), [leaf(2, 2, 3)]),
    "cond -2": (lambda m, a: m.linalg.cond(graded(m, a), -2), [leaf(3, 3)]),
    "cond nuc": (lambda m, a: m.linalg.cond(graded(m, a), "nuc"), [leaf(3, 3)]),
    "linalg.diagonal": (lambda m, a: m.linalg.diagonal(a), [leaf(2, 3, 3)]),
    "tensorinv": (lambda m, a: m.linalg.tensorinv(regular(m, a).view(2, 2, 4)), [leaf(4, 4)]),
    "tensorsolve": (lambda m, a, b: m.linalg.tensorsolve(regular(m, a).view(2, 2, 4), b), [leaf(4, 4), leaf(2, 2)]),
    "tensorsolve dims": (lambda m, a, b: m.linalg.tensorsolve(regular(m, a).view(4, 2, 2), b, dims=(0,)),
                         [leaf(4, 4), leaf(2, 2)]),
    "vander of a vector": (lambda m, a: [m.vander(a, 1, True) * a, m.vander(a.detach()), m.vander(m.arange(3), 5)],
                           [leaf(3)]),
    "vander": (lambda m, a: m.linalg.vander(a, N=4), [leaf(2, 3)]),
    "cdist by product": (lambda m, a, b: m.cdist(a, b, compute_mode="use_mm_for_euclid_dist"),
                         [leaf(3, 2), leaf(2, 2)]),
    # norms
    "linalg.norm": (lambda m, a: m.linalg.norm(a), [leaf(2, 3)]),
    "linalg.norm 2": (lambda m, a: m.linalg.norm(graded(m, a), 2), [leaf(2, 3)]),
    "linalg.norm -2": (lambda m, a: m.linalg.norm(graded(m, a), -2, dim=(2, 0), keepdim=True), [leaf(3, 2, 3)]),
    "linalg.norm nuc": (lambda m, a: m.linalg.norm(graded(m, a), "nuc", dim=(0, 2)), [leaf(2, 2, 3)]),
    "linalg.norm fro": (lambda m, a: m.linalg.norm(a, "fro", dim=(0, 2), keepdim=True), [leaf(2, 2, 3)]),
    "linalg.norm 1": (lambda m, a: m.linalg.norm(a, 1), [leaf(2, 3)]),
    "linalg.norm -1": (lambda m, a: m.linalg.norm(a, -1, dim=(2, 0)), [leaf(2, 3, 2)]),
    "linalg.norm inf": (lambda m, a: m.linalg.norm(a, float("inf"), keepdim=True), [leaf(2, 3)]),
    "linalg.norm -inf": (lambda m, a: m.linalg.norm(a, -float("inf"), dim=(0, 2)), [leaf(2, 3, 2)]),
    "linalg.norm of rows": (lambda m, a: m.linalg.norm(a, 3, dim=1), [leaf(2, 3)]),
    "matrix_norm": (lambda m, a: m.linalg.matrix_norm(a), [leaf(2, 2, 3)]),
    "vector_norm": (lambda m, a: m.linalg.vector_norm(a, 1, dim=0), [leaf(2, 3)]),
    "lstsq": (lambda m, a, b: m.linalg.lstsq(a, b), [leaf(4, 2), leaf(4, 3)]),
    "lstsq of fewer rows": (lambda m, a, b: m.linalg.lstsq(a, b).solution, [leaf(2, 2, 3), leaf(2, 2, 1)]),
    "lstsq of a vector": (lambda m, a, b: m.linalg.lstsq(a, b, driver="gelsd")[:3], [leaf(4, 2), leaf(4)]),
}


PLAIN = {  # PyTorch raises in a backward pass: it writes into the inverse that it has saved
    "cond fro": (lambda m, a: m.linalg.cond(graded(m, a), "fro"), [leaf(2, 3, 3)]),
    "cond 1": (lambda m, a: [m.linalg.cond(graded(m, a), 1), m.linalg.cond(m.zeros(2, 2), 1)], [leaf(3, 3)]),
    "cond of nothing": (lambda m, a: m.linalg.cond(a), [leaf(2, 0, 3)]),
    "matrix_norm of nothing": (lambda m, a: [m.linalg.matrix_norm(a, p, keepdim=p > 1) for p in (1, 2)], [leaf(2, 0)]),
    "matrix_rank": (lambda m, a: [m.linalg.matrix_rank(a), m.linalg.matrix_rank(a, atol=10.0)], [leaf(2, 3, 3)]),
}


def eye_of(m, a):
    """A matrix of the shape of `a`, with ones on the diagonal."""
    return m.eye(*a.shape[-2:], dtype=a.dtype)


def regular(m, a):
    """A matrix that is far from singular."""
    return a + 6 * eye_of(m, a)


def definite(m, a):
    """A symmetric matrix that is positive definite."""
    return a @ a.mT + eye_of(m, a)


def graded(m, a):
    """A matrix whose singular values and eigenvalues are far apart."""
    return a / 4 + m.arange(1, a.shape[-1] + 1, dtype=a.dtype) * eye_of(m, a)


def unwarned(op, *args, **options):
    """What an op gives that warns of being deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return op(*args, **options)


def apart(parts):
    """Factors without what is chosen freely, the signs of vectors."""
    return [part if name in ("S", "eigenvalues") else part ** 2
            for name, part in zip(type(parts).__match_args__, parts, strict=True)]


# By node: the names that PyTorch shows and minigrad does not (test_saved_names.py).
MISSING = {
    "AddbmmBackward0": {"batch1_sym_argsize_0", "batch1_sym_argsize_1", "batch2_sym_argsize_2"},
    "CholeskySolveBackward0": {"self"},
    "LinalgDetBackward0": {"LU", "pivots"},
    "LinalgLuBackward0": {"P"},
    "LinalgLuSolveBackward0": {"pivots"},
    "LinalgSlogdetBackward0": {"LU", "pivots", "sign"},
    "LinalgSolveExBackward0": {"LU", "pivots"},
    "LinalgSvdBackward0": {"S_sym_argsize_minus_1"},
}

ONE_TRIANGLE = "as in PyTorch the derivative is that of a whole matrix, though one triangle is read"
SYMMETRIC = "as in PyTorch the derivative is the symmetric part, though one triangle is read"
NOT_COMPARABLE = {
    "cholesky_inverse": ONE_TRIANGLE, "cholesky_inverse upper": ONE_TRIANGLE, "cholesky_solve": ONE_TRIANGLE,
    "cholesky_solve upper": ONE_TRIANGLE, "eigh": SYMMETRIC, "eigh upper": SYMMETRIC, "eigvalsh": SYMMETRIC,
}
