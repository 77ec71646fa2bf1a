"""The table of ops with drawn shapes, linear algebra: see `drawn.py`."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.parity.compare import Input
from tests.parity.tables.cases_linalg import apart, definite, eye_of, graded, regular, unwarned
from tests.parity.tables.drawn import matrices


@st.composite
def contraction(draw):
    """Two inputs and the dimensions over which they are contracted."""
    letters = draw(st.lists(st.sampled_from("ijk"), unique=True, max_size=3))
    size = {c: draw(st.integers(0, 3)) for c in "abijk"}
    first, second = (draw(st.permutations([*letters, c])) for c in "ab")
    dims = [first.index(c) for c in letters], [second.index(c) for c in letters]
    return [Input(tuple([size[c] for c in word])) for word in (first, second)], (dims,)


@st.composite
def crossed(draw):
    """Two inputs with a dimension of size 3, which broadcast, and that dimension."""
    shape = draw(st.lists(st.integers(0, 2), max_size=2))
    dim = draw(st.integers(0, len(shape)))
    other = [draw(st.sampled_from((1, n))) for n in shape]
    return [Input((*s[:dim], 3, *s[dim:])) for s in (tuple(shape), tuple(other))], (dim,)


@st.composite
def summed(draw):
    """Inputs and an equation of `einsum` that fits them."""
    words = draw(st.lists(st.text("ijk", max_size=3), min_size=1, max_size=3))
    size = {c: draw(st.integers(0, 3)) for c in "ijk"}
    free = sorted(set("".join(words)))
    out = draw(st.permutations(free))[:draw(st.integers(0, len(free)))]
    return [Input(tuple([size[c] for c in word])) for word in words], (f"{','.join(words)}->{''.join(out)}",)


square = st.tuples(st.lists(st.integers(0, 2), max_size=2), st.integers(0, 3)).map(
    lambda drawn: ([Input((*drawn[0], drawn[1], drawn[1]))], ()))
powers = st.tuples(st.integers(0, 3), st.integers(-3, 5)).map(lambda drawn: ([Input((drawn[0],) * 2)], drawn[1:]))
rectangle = st.tuples(st.lists(st.integers(0, 2), max_size=1), st.integers(1, 3), st.integers(1, 3)).map(
    lambda drawn: ([Input((*drawn[0], *drawn[1:]))], ()))


DRAWN = {
    "addbmm": (lambda m, a, b, c: m.addbmm(a, b, c, beta=2, alpha=0.5), matrices("ik", "bij", "bjk")),
    "baddbmm": (lambda m, a, b, c: m.baddbmm(a, b, c, beta=2, alpha=0.5), matrices("bik", "bij", "bjk")),
    "baddbmm, broadcast": (lambda m, a, b, c: m.baddbmm(a, b, c), matrices("k", "bij", "bjk")),
    "addmv": (lambda m, a, b, c: m.addmv(a, b, c, beta=2, alpha=0.5), matrices("i", "ij", "j")),
    "addr": (lambda m, a, b, c: m.addr(a, b, c, beta=2, alpha=0.5), matrices("ij", "i", "j")),
    "addbmm_": (lambda m, a, b, c: a.clone().addbmm_(b, c), matrices("ik", "bij", "bjk")),
    "baddbmm_": (lambda m, a, b, c: a.clone().baddbmm_(b, c), matrices("bik", "bij", "bjk")),
    "addmv_": (lambda m, a, b, c: a.clone().addmv_(b, c), matrices("i", "ij", "j")),
    "addr_": (lambda m, a, b, c: a.clone().addr_(b, c), matrices("ij", "i", "j")),
    "addmm_": (lambda m, a, b, c: a.clone().addmm_(b, c), matrices("ik", "ij", "jk")),
    "outer": (lambda m, a, b: m.outer(a, b), matrices("i", "j")),
    "ger": (lambda m, a, b: a.ger(b), matrices("i", "j")),
    "vdot": (lambda m, a, b: m.vdot(a, b), matrices("i", "i")),
    "inner": (lambda m, a, b: m.inner(a, b), matrices("ij", "kj")),
    "trace": (lambda m, a, b: m.trace(a) * b, matrices("ij", "k")),
    "cross": (lambda m, a, b, dim: m.linalg.cross(a, b, dim=dim), crossed()),
    "torch.cross": (lambda m, a, b, dim: m.cross(a, b, dim=dim), crossed()),
    "vecdot": (lambda m, a, b: m.linalg.vecdot(a, b), matrices("*i", "*i")),
    "tensordot": (lambda m, a, b, dims: m.tensordot(a, b, dims), contraction()),
    "renorm": (lambda m, a, b: m.renorm(a, 2, 0, 0.5) * b + b.clone().renorm_(1.5, 1, 1), matrices("ij", "ij")),
    "kron": (lambda m, a, b: m.kron(a, b), matrices("ij", "k")),
    "multi_dot": (lambda m, a, b, c, d: m.linalg.multi_dot([a, b, c, d]), matrices("i", "ij", "jk", "kl")),
    "matrix_power": (lambda m, a, n: m.matrix_power(regular(m, a) / 8, n), powers),
    "einsum": (lambda m, *given: m.einsum(given[-1], *given[:-1]), summed()),
    # systems, determinants, factors
    "inverse": (lambda m, a: m.inverse(regular(m, a)), square),
    "solve": (lambda m, a, b: m.linalg.solve(regular(m, a), b), matrices("*ii", "*ij")),
    "solve, right": (lambda m, a, b: m.linalg.solve(regular(m, a), b, left=False), matrices("*ii", "*ji")),
    "solve, vector": (lambda m, a, b: m.linalg.solve(regular(m, a), b), matrices("bii", "bi")),
    "solve_triangular": (lambda m, a, b: m.linalg.solve_triangular(regular(m, a), b, upper=False),
                         matrices("*ii", "*ij")),
    "det": (lambda m, a: m.det(a), square),
    "slogdet": (lambda m, a: m.slogdet(regular(m, a)), square),
    "logdet": (lambda m, a: m.logdet(definite(m, a)), square),
    "cholesky": (lambda m, a: unwarned(m.cholesky, definite(m, a)), square),
    "linalg.cholesky": (lambda m, a: m.linalg.cholesky(definite(m, a)), square),
    "cholesky_inverse": (lambda m, a: m.cholesky_inverse(regular(m, a)), square),
    "cholesky_solve": (lambda m, a, b: m.cholesky_solve(b, regular(m, a)), matrices("*ii", "*ij")),
    "lu_factor": (lambda m, a: m.linalg.lu_factor(a + 3 * eye_of(m, a)).LU, rectangle),
    "linalg.lu": (lambda m, a: m.linalg.lu(a + 3 * eye_of(m, a)), rectangle),
    "lu_solve": (lambda m, a, b: unwarned(m.lu_solve, b, *m.linalg.lu_factor(regular(m, a))), matrices("*ii", "*ij")),
    "linalg.qr": (lambda m, a: m.linalg.qr(graded(m, a)), rectangle),
    "svd of a matrix": (lambda m, a: apart(m.linalg.svd(graded(m, a), full_matrices=False)), rectangle),
    "svd, function": (lambda m, a: apart(m.svd(graded(m, a))), rectangle),
    "eigh": (lambda m, a: apart(m.linalg.eigh(graded(m, a))), square),
    "pinv": (lambda m, a: m.pinverse(graded(m, a)), rectangle),
    "matrix_exp": (lambda m, a: m.matrix_exp(a.contiguous() / 2), square),
    "cdist": (lambda m, a, b: m.cdist(a, b), matrices("*ij", "*kj")),
    "cdist, by product": (lambda m, a, b: m.cdist(a, b + 3, compute_mode="use_mm_for_euclid_dist"),
                          matrices("ij", "kj")),
    "linalg.norm": (lambda m, a: [m.linalg.norm(graded(m, a), p, dim=(-2, -1)) for p in ("nuc", "fro", 2, -2)],
                    rectangle),
    "matrix_norm": (lambda m, a: [m.linalg.matrix_norm(a, p) for p in (1, -1, float("inf"), -float("inf"))], rectangle),
    "lstsq": (lambda m, a, b: m.linalg.lstsq(a + 3 * eye_of(m, a), b).solution, matrices("bij", "bik")),
}

# Inputs that do not fit and of which PyTorch's answer says nothing.
MISMATCHED = {
    "addmv": (lambda a, b, v: 0 in b.shape, "of an empty matrix PyTorch's result has the bias's shape"),
    "addbmm_": (lambda a, b, c: a.shape != (*b.shape[1:2], *c.shape[2:3]), "PyTorch gives the tensor another shape"),
    "logdet": (lambda a: a.shape[-1:] == (1,) < a.shape[-2:-1], "the determinant is 0 but for rounding"),
}
