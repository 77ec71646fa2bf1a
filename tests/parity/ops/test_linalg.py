"""Linear algebra where it has no answer: the same errors with the same sentences, singular matrices, return types."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
import minigrad.linalg
from tests.parity.outcome import outcome, plain

pytestmark = pytest.mark.torch


def twice(m, op):
    """The derivative of a derivative."""
    a = m.ones(2, 2, requires_grad=True)
    (g,) = m.autograd.grad(op(a).sum(), a, create_graph=True)
    g.sum().backward()


ERRORS = {
    "outer": lambda m: m.outer(m.ones(2, 2), m.ones(2)),
    "outer, second": lambda m: m.outer(m.ones(2), m.ones(2, 2)),
    "inner": lambda m: m.inner(m.ones(2, 3), m.ones(2, 2)),
    "inner, dtypes": lambda m: m.inner(m.ones(3), m.ones(3).double()),
    "vdot": lambda m: m.vdot(m.ones(2), m.ones(3)),
    "vdot, matrix": lambda m: m.vdot(m.ones(2, 2), m.ones(3)),
    "addbmm, bias": lambda m: m.addbmm(m.ones(5), m.ones(4, 2, 5), m.ones(4, 5, 3)),
    "addbmm, bias of 4": lambda m: m.addbmm(m.ones(1, 1, 1, 3), m.ones(4, 2, 5), m.ones(4, 5, 3)),
    "addbmm, dtype": lambda m: m.addbmm(m.ones(2, 3).double(), m.ones(4, 2, 5), m.ones(4, 5, 3)),
    "addbmm, matrix": lambda m: m.addbmm(m.ones(2, 3), m.ones(4, 2, 5), m.ones(5, 3)),
    "addbmm, sizes": lambda m: m.addbmm(m.ones(2, 3), m.ones(4, 2, 5), m.ones(3, 5, 3)),
    "baddbmm, bias": lambda m: m.baddbmm(m.ones(5), m.ones(4, 2, 5), m.ones(4, 5, 3)),
    "baddbmm, dtypes": lambda m: m.baddbmm(m.ones(3), m.ones(4, 2, 5), m.ones(4, 5, 3).double()),
    "baddbmm, dtype": lambda m: m.baddbmm(m.ones(3).double(), m.ones(4, 2, 5), m.ones(4, 5, 3)),
    "baddbmm, bools": lambda m: m.baddbmm(*[m.ones(1, 1, 1, dtype=m.bool)] * 3),
    "addmv": lambda m: m.addmv(m.ones(2), m.ones(3), m.ones(2, 3)),
    "addmv, bias": lambda m: m.addmv(m.ones(5), m.ones(2, 3), m.ones(3)),
    "addmv, dtypes": lambda m: m.addmv(m.ones(2).double(), m.ones(2, 3), m.ones(3)),
    "addr": lambda m: m.addr(m.ones(2, 3), m.ones(()), m.ones(3)),
    "addr, bias": lambda m: m.addr(m.ones(5), m.ones(2), m.ones(3)),
    "addr, alpha": lambda m: m.addr(m.ones(2, 3).long(), m.ones(2).long(), m.ones(3).long(), alpha=0.5),
    "addr, flag": lambda m: m.addr(m.ones(2, 3), m.ones(2), m.ones(3), alpha=True),
    "addmm, vector": lambda m: m.addmm(m.ones(2), m.ones(2), m.ones(2, 2)),
    "tensordot": lambda m: m.tensordot(m.ones(2, 3), m.ones(2, 3), 1),
    "tensordot, below 0": lambda m: m.tensordot(m.ones(2, 3), m.ones(2, 3), -1),
    "tensordot, too many": lambda m: m.tensordot(m.ones(2, 3), m.ones(2, 3), 3),
    "tensordot, lists": lambda m: m.tensordot(m.ones(2, 3), m.ones(2, 3), ([0], [0, 1])),
    "tensordot, out of range": lambda m: m.tensordot(m.ones(2, 3), m.ones(2, 3), ([5], [0])),
    "tensordot, dtypes": lambda m: m.tensordot(m.ones(2, 3), m.ones(3, 2).double(), 1),
    "multi_dot of one": lambda m: m.linalg.multi_dot([m.ones(2, 3)]),
    "multi_dot": lambda m: m.linalg.multi_dot([m.ones(2, 3), m.ones(2, 3)]),
    "multi_dot, first": lambda m: m.linalg.multi_dot([m.ones(2, 3, 1), m.ones(2, 3)]),
    "multi_dot, middle": lambda m: m.linalg.multi_dot([m.ones(2, 3), m.ones(3), m.ones(2, 3)]),
    "multi_dot, dtypes": lambda m: m.linalg.multi_dot([m.ones(2, 3), m.ones(3, 2).double()]),
    "chain_matmul": lambda m: m.chain_matmul(m.ones(2)),
    "chain_matmul of two": lambda m: m.chain_matmul(m.ones(2, 3), m.ones(3, 3)),
    "chain_matmul of none": lambda m: m.chain_matmul(),
    "trace": lambda m: m.trace(m.ones(3)),
    "trace of bools": lambda m: m.trace(m.ones(3, 3, dtype=m.bool)),
    "cross": lambda m: m.linalg.cross(m.ones(2, 2), m.ones(2, 2)),
    "cross, dims": lambda m: m.linalg.cross(m.ones(3), m.ones(2, 3)),
    "cross, sizes": lambda m: m.linalg.cross(m.ones(3, 3), m.ones(2, 3)),
    "torch.cross": lambda m: m.cross(m.ones(2, 2), m.ones(2, 2)),
    "torch.cross, found": lambda m: m.cross(m.ones(3, 2), m.ones(3, 2)),
    "vecdot": lambda m: m.linalg.vecdot(m.ones(2).long(), m.ones(2).long()),
    "vecdot, dtypes": lambda m: m.linalg.vecdot(m.ones(2), m.ones(2).double()),
    "matrix_power": lambda m: m.linalg.matrix_power(m.ones(2, 3), 2),
    "matrix_power of a vector": lambda m: m.linalg.matrix_power(m.ones(2), 2),
    "matrix_power, singular": lambda m: m.linalg.matrix_power(m.zeros(2, 2), -2),
    "inv": lambda m: m.linalg.inv(m.zeros(3, 3)),
    "inv in a batch": lambda m: m.linalg.inv(m.stack([m.eye(3), m.zeros(3, 3)])),
    "inv of rank 1": lambda m: m.inverse(m.ones(3, 3)),
    "inv of a vector": lambda m: m.linalg.inv(m.ones(3)),
    "inv of a rectangle": lambda m: m.linalg.inv(m.ones(2, 3)),
    "inv of integers": lambda m: m.linalg.inv(m.ones(3, 3).long()),
    "inv of half": lambda m: m.linalg.inv(m.ones(3, 3).half()),
    "inv_ex, checked": lambda m: m.linalg.inv_ex(m.zeros(3, 3), check_errors=True),
    "solve, singular": lambda m: m.linalg.solve(m.zeros(3, 3), m.ones(3)),
    "solve in a batch": lambda m: m.linalg.solve(m.stack([m.eye(3), m.zeros(3, 3)]), m.ones(3, 2)),
    "solve": lambda m: m.linalg.solve(m.eye(3), m.ones(2)),
    "solve, right": lambda m: m.linalg.solve(m.eye(3), m.ones(3, 2), left=False),
    "solve of 0-d": lambda m: m.linalg.solve(m.eye(3), m.ones(())),
    "solve, dtypes": lambda m: m.linalg.solve(m.eye(3), m.ones(3).double()),
    "solve, batches": lambda m: m.linalg.solve(m.eye(3).expand(2, 3, 3), m.ones(4, 3, 3)),
    "solve_triangular": lambda m: m.linalg.solve_triangular(m.eye(3), m.ones(2, 3), upper=True),
    "solve_triangular of a vector": lambda m: m.linalg.solve_triangular(m.eye(3), m.ones(3), upper=True),
    "det": lambda m: m.det(m.ones(2, 3)),
    "det of half": lambda m: m.det(m.ones(2, 2).half()),
    "slogdet": lambda m: m.slogdet(m.ones(3)),
    "logdet": lambda m: m.logdet(m.ones(2, 3)),
    "cholesky": lambda m: m.linalg.cholesky(-m.eye(3)),
    "cholesky, second": lambda m: m.linalg.cholesky(m.tensor([[1., 2.], [2., 1.]])),
    "cholesky in a batch": lambda m: m.linalg.cholesky(m.stack([m.eye(3), m.zeros(3, 3)])),
    "cholesky of integers": lambda m: m.linalg.cholesky(m.ones(3, 3).long()),
    "torch.cholesky": lambda m: m.cholesky(-m.eye(3)),
    "cholesky_inverse": lambda m: m.cholesky_inverse(m.zeros(3, 3)),
    "lu_factor": lambda m: m.linalg.lu_factor(m.zeros(3, 3)),
    "lu_factor in a batch": lambda m: m.linalg.lu_factor(m.stack([m.eye(2), m.ones(2, 2)])),
    "lu_factor of a vector": lambda m: m.linalg.lu_factor(m.ones(3)),
    "lu_factor, no pivots": lambda m: m.linalg.lu_factor(m.eye(3), pivot=False),
    "lu_factor_ex, checked": lambda m: m.linalg.lu_factor_ex(m.zeros(3, 3), check_errors=True),
    "lu of integers": lambda m: m.linalg.lu(m.ones(3, 3).long()),
    "lu of a vector": lambda m: m.linalg.lu(m.ones(3)),
    "lu, no pivots": lambda m: m.linalg.lu(m.eye(3), pivot=False),
    "lu_solve": lambda m: m.linalg.lu_solve(m.ones(2, 3), m.ones(2).int(), m.ones(2, 2)),
    "lu_solve, sizes": lambda m: m.linalg.lu_solve(*m.linalg.lu_factor(m.eye(3)), m.ones(2, 2)),
    "cdist": lambda m: m.cdist(m.ones(3, 2), m.ones(4, 3)),
    "cdist of a vector": lambda m: m.cdist(m.ones(3), m.ones(4, 3)),
    "cdist, p": lambda m: m.cdist(m.ones(3, 2), m.ones(4, 2), p=-1),
    "cdist, mode": lambda m: m.cdist(m.ones(3, 2), m.ones(4, 2), compute_mode="x"),
    "cdist, twice": lambda m: twice(m, lambda a: m.cdist(a, a)),
    "cond": lambda m: m.linalg.cond(m.ones(2, 3), 1),
    "cond, order": lambda m: m.linalg.cond(m.ones(2, 3), 3),
    "tensorinv": lambda m: m.linalg.tensorinv(m.ones(2, 3, 4), 2),
    "tensorinv at 0": lambda m: m.linalg.tensorinv(m.ones(2, 2), 0),
    "tensorsolve": lambda m: m.linalg.tensorsolve(m.ones(2, 3, 4), m.ones(2, 3)),
    "vander": lambda m: m.linalg.vander(m.ones(3), N=1),
    "matrix_exp": lambda m: m.matrix_exp(m.ones(2, 3)),
    "qr of a vector": lambda m: m.linalg.qr(m.ones(3)),
    "qr, mode": lambda m: m.linalg.qr(m.ones(3, 3), "x"),
    "qr, r": lambda m: m.linalg.qr(m.ones(3, 2, requires_grad=True), "r")[1].sum().backward(),
    "qr, complete": lambda m: m.linalg.qr(m.ones(3, 2, requires_grad=True), "complete")[1].sum().backward(),
    "torch.qr": lambda m: m.qr(m.ones(3)),
    "svd of a vector": lambda m: m.svd(m.ones(3)),
    "svd, driver": lambda m: m.linalg.svd(m.ones(3, 3), driver="gesvd"),
    "svd of NaN": lambda m: m.linalg.svd(m.ones(3, 3) * float("nan")),
    "svdvals of half": lambda m: m.linalg.svdvals(m.ones(3, 3).half()),
    "eigh": lambda m: m.linalg.eigh(m.ones(2, 3)),
    "eigh, triangle": lambda m: m.linalg.eigh(m.ones(3, 3), "X"),
    "eigvalsh of integers": lambda m: m.linalg.eigvalsh(m.ones(3, 3).long()),
    "pinv": lambda m: m.linalg.pinv(m.ones(3)),
    "pinv, hermitian": lambda m: m.linalg.pinv(m.ones(2, 3), hermitian=True),
    "norm fro": lambda m: m.linalg.norm(m.ones(3), "fro"),
    "norm nuc": lambda m: m.linalg.norm(m.ones(3, 3), "nuc", 0),
    "norm foo": lambda m: m.linalg.norm(m.ones(3, 3), "foo"),
    "norm 3": lambda m: m.linalg.norm(m.ones(3, 3), 3),
    "norm, dims": lambda m: m.linalg.norm(m.ones(3, 3), 2, (0, 0)),
    "norm, three dims": lambda m: m.linalg.norm(m.ones(3, 3, 3), 2, (0, 1, 2)),
    "norm of three dims": lambda m: m.linalg.norm(m.ones(3, 3, 3), 2),
    "norm of integers": lambda m: m.linalg.norm(m.ones(3, 3).long(), 2),
    "matrix_norm of a vector": lambda m: m.linalg.matrix_norm(m.ones(3)),
    "matrix_norm of half": lambda m: m.linalg.matrix_norm(m.ones(3, 3).half(), 2),
    "matrix_norm, narrow": lambda m: m.linalg.matrix_norm(m.ones(3, 3).double(), 1, dtype=m.float32),
    "einsum": lambda m: m.einsum("ij"),
    "einsum, result": lambda m: m.einsum("ij->jk", m.ones(2, 3)),
    "einsum, twice": lambda m: m.einsum("ij->ii", m.ones(2, 3)),
    "einsum, letter": lambda m: m.einsum("i1->i", m.ones(2, 3)),
    "einsum, letter of the result": lambda m: m.einsum("ij->i1", m.ones(2, 3)),
    "einsum, dims": lambda m: m.einsum("ijk", m.ones(2, 3)),
    "einsum, ellipsis twice": lambda m: m.einsum("...i...", m.ones(2, 3)),
    "einsum, dot": lambda m: m.einsum("i.j", m.ones(2, 3)),
    "einsum, dots of the result": lambda m: m.einsum("ij->..", m.ones(2, 3)),
    "einsum, too many dims": lambda m: m.einsum("ijk...", m.ones(2, 3)),
    "einsum, operands": lambda m: m.einsum("ij,jk", m.ones(2, 3)),
    "einsum, more operands": lambda m: m.einsum("ij", m.ones(2, 3), m.ones(2, 3)),
    "einsum, sizes": lambda m: m.einsum("ij,jk", m.ones(2, 3), m.ones(2, 3)),
    "einsum, diagonal": lambda m: m.einsum("ii", m.ones(2, 3)),
    "einsum, sizes of ellipses": lambda m: m.einsum("...,...", m.ones(2, 3), m.ones(2, 2)),
    "einsum, number": lambda m: m.einsum(m.ones(2, 3), [0, 52], [0]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error(torch, name):
    ours, theirs = (outcome(ERRORS[name], lib)[0] for lib in (minigrad, torch))
    assert ours == theirs


def test_the_error_is_the_public_one(torch):
    for lib in (minigrad, torch):
        assert issubclass(lib.linalg.LinAlgError, RuntimeError)
        with pytest.raises(lib.linalg.LinAlgError):
            lib.linalg.inv(lib.zeros(2, 2))


SMALL_INTEGERS = {
    "einsum, row sums": lambda m, a: m.einsum("ij->i", a),
    "einsum, expanded": lambda m, a: m.einsum("...i,...i->...", a[:, 0], a[:, :1]),
    "einsum, both expanded": lambda m, a: m.einsum("ij,kj->k", a[:, :1], a[:, :1]),
    "einsum, product": lambda m, a: m.einsum("ij,kj->ik", a, a),
    "tensordot, expanded": lambda m, a: m.tensordot(a[:, :1], a, ([1], [0])),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("name", SMALL_INTEGERS)
def test_small_integers(torch, name, dtype):
    ours, theirs = (outcome(lambda m: SMALL_INTEGERS[name](m, m.full((2, 2), 100, dtype=getattr(m, dtype))), lib)
                    for lib in (minigrad, torch))
    assert ours == theirs


FAILED = {
    "inv_ex": lambda m, a: m.linalg.inv_ex(a).info,
    "solve_ex": lambda m, a: m.linalg.solve_ex(a, m.ones(2)).info,
    "cholesky_ex": lambda m, a: m.linalg.cholesky_ex(a).info,
    "det": lambda m, a: m.linalg.det(a),
    "slogdet": lambda m, a: m.linalg.slogdet(a),
    "logdet": lambda m, a: a.logdet(),
    "matrix_rank": lambda m, a: m.linalg.matrix_rank(a),
}


@pytest.mark.parametrize("name", FAILED)
def test_some_of_a_batch_fail(torch, name):
    batch = [[[1., 0.], [0., 1.]], [[0., 0.], [0., 1.]], [[1., 1.], [1., 1.]], [[-1., 2.], [3., 4.]]]
    ours, theirs = (repr(plain(FAILED[name](lib, lib.tensor(batch)))) for lib in (minigrad, torch))
    assert ours == theirs


def test_the_regular_ones_of_a_batch_are_solved(torch):
    batch = [[[2., 0.], [0., 4.]], [[0., 0.], [0., 1.]]]
    for lib in (minigrad, torch):
        inverse = lib.linalg.inv_ex(lib.tensor(batch)).inverse
        assert inverse[0].tolist() == [[0.5, 0.], [0., 0.25]]
        assert not lib.isfinite(inverse[1]).all()
        assert lib.linalg.cholesky_ex(lib.tensor(batch)).L[0].tolist() == [[np.float32(np.sqrt(2)), 0.], [0., 2.]]


@pytest.mark.parametrize("batch", [[[0.]], [[2., 2.], [2., 2.]], [[1., 2., 3.], [2., 4., 6.], [1., 0., 5.]]], ids=len)
def test_the_gradient_of_a_zero_determinant(torch, batch):
    found = []
    for lib, recorded in ((minigrad, False), (minigrad, True), (torch, True)):  # unrecorded, PyTorch says that it is 0
        a = lib.tensor(batch, dtype=lib.float64, requires_grad=True)
        (g,) = lib.autograd.grad(lib.linalg.det(a), a, create_graph=recorded)
        found.append(g.detach().numpy())
    np.testing.assert_allclose(found[0], found[2], atol=1e-12)
    np.testing.assert_allclose(found[1], found[2], atol=1e-12)


TYPES = {
    "slogdet": lambda m: m.slogdet(m.eye(2)),
    "linalg.slogdet": lambda m: m.linalg.slogdet(m.eye(2)),
    "linalg.inv_ex": lambda m: m.linalg.inv_ex(m.eye(2)),
    "linalg.solve_ex": lambda m: m.linalg.solve_ex(m.eye(2), m.ones(2)),
    "linalg.cholesky_ex": lambda m: m.linalg.cholesky_ex(m.eye(2)),
    "linalg.qr": lambda m: m.linalg.qr(m.eye(2), "r"),
    "linalg.lu": lambda m: m.linalg.lu(m.eye(2)),
    "linalg.lu_factor": lambda m: m.linalg.lu_factor(m.tensor([[1., 2.], [4., 8.5]])),
    "linalg.lu_factor_ex": lambda m: m.linalg.lu_factor_ex(m.ones(2, 2)),
    "linalg.svd": lambda m: m.linalg.svd(m.zeros(2, 0)),
    "svd": lambda m: m.svd(m.zeros(0, 2)),
    "svd, values": lambda m: m.svd(m.eye(2), compute_uv=False),
    "linalg.eigh": lambda m: m.linalg.eigh(m.zeros(0, 0)),
}


@pytest.mark.parametrize("name", TYPES)
def test_the_parts_have_names(torch, name):
    ours, theirs = (TYPES[name](lib) for lib in (minigrad, torch))
    assert (type(ours).__name__, type(ours).__match_args__) == (type(theirs).__name__, type(theirs).__match_args__)
    assert [tuple(part.shape) for part in ours] == [tuple(part.shape) for part in theirs]
    assert repr(ours) == repr(theirs)


LEAST_SQUARES = {
    "least squares of a row": lambda m: m.linalg.lstsq(m.ones(3), m.ones(3, 1)),
    "least squares of a number": lambda m: m.linalg.lstsq(m.ones(3, 2), m.tensor(1.0)),
    "least squares of two dtypes": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1).double()),
    "least squares of integers": lambda m: m.linalg.lstsq(m.ones(3, 2).long(), m.ones(3, 1).long()),
    "least squares of other rows": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(2, 1)),
    "least squares of other dimensions": lambda m: m.linalg.lstsq(m.ones(1, 1, 3, 2), m.ones(3, 1)),
    "least squares by no such driver": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1), driver="best"),
    "least squares without full rank": lambda m: m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1), driver="gels"),
    "the rank of least squares": lambda m: [m.linalg.lstsq(m.ones(3, 2), m.ones(3, 1)).rank,
                                            m.linalg.lstsq(m.eye(2), m.ones(2, 1), driver="gelsd")[3],
                                            m.linalg.lstsq(m.tensor([[1, 0], [0, 1e-3]]), m.ones(2), rcond=0.1).rank],
    "least squares of no tensor": lambda m: m.linalg.lstsq(3, m.ones(2, 2)),
}


@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_least_squares(torch, name):
    assert outcome(LEAST_SQUARES[name], minigrad) == outcome(LEAST_SQUARES[name], torch)


@pytest.mark.parametrize("name", ["int16", "int64", "uint8", "int8", "bool", "float16", "bfloat16"])
def test_a_product_of_two_dtypes_is_refused_with_the_names_of_cpp(torch, name):
    def run(lib):
        return lib.ones(2, 2) @ lib.ones(2, 2).to(getattr(lib, name))

    assert outcome(run, minigrad) == outcome(run, torch)
    assert "expected m1 and m2 to have the same dtype" in outcome(run, minigrad)[0][1]


@pytest.mark.parametrize("values", [[[1.0, 1, 0], [0, 1, 1]], [[-1.0, 0.5, 0], [2, -0.5, -2]],
                                    [[0.0, 0, 0], [3, -4, 0]]])
@pytest.mark.parametrize("p", [1, 2, 3, float("inf")])
def test_second_derivatives_of_renorm_where_elements_are_0(torch, p, values):
    def program(m):
        x = m.tensor(values, dtype=m.float64, requires_grad=True)
        weights = m.arange(1.0, 7, dtype=m.float64).view(2, 3)
        (g,) = m.autograd.grad((x.renorm(p, 0, 0.5) * weights).sum(), x, create_graph=True)
        return plain(g.detach()), plain(m.autograd.grad((g * weights).sum(), x)[0])

    (first, second), (theirs, others) = program(minigrad), program(torch)
    np.testing.assert_allclose(first[2], theirs[2], atol=1e-6)
    np.testing.assert_allclose(second[2], others[2], atol=1e-6)
