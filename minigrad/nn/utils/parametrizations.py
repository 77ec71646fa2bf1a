"""Ready-made parametrizations: mirrors `torch/nn/utils/parametrizations.py`."""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from minigrad.autograd.grad_mode import no_grad
from minigrad.backends.registry import device_like, host, moved
from minigrad.core import Tensor, plain
from minigrad.nn import functional as F
from minigrad.nn.modules.conv import _ConvTransposeNd
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.parametrize import register_parametrization
from minigrad.ops.factory import eye, zeros_like
from minigrad.ops.linalg.matrix_functions import matrix_exp
from minigrad.ops.linalg.solve import solve
from minigrad.ops.nn.normalization import lengths, normalised
from minigrad.ops.pointwise.compare import allclose
from minigrad.ops.random import randn
from minigrad.ops.shape.join import cat
from minigrad.ops.tensor.properties import finfo

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def tensor_of(module: Module, name: str) -> Tensor:
    """Return the parameter or buffer of this name; raise PyTorch's error if there is none."""
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return found


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return normalised(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return lengths(weight, self.dim), weight


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Compute a weight from its lengths g and its directions v: w = g · v / |v| (Salimans and Kingma, 2016).

    `dim`: the dimension along which each slice has a length; None for one length of the whole.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_{letter}" for letter in "gv"]
        if all(key in state_dict for key in old):  # a state of `torch.nn.utils.weight_norm`
            for number, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{number}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """Divides by the greatest singular value, whose estimate each step in training improves."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError("Expected n_power_iterations to be positive, but got n_power_iterations="
                             f"{n_power_iterations}")
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            for buffer, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(buffer, matrix.new_empty(size).normal_(0, 1))
            for buffer in ("_u", "_v"):
                setattr(self, buffer, F.normalize(getattr(self, buffer), dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        order = [self.dim, *[d for d in range(weight.ndim) if d != self.dim]]
        return (weight.permute(order) if self.dim else weight).flatten(1)

    @no_grad()  # type: ignore[untyped-decorator]  # it takes functions and generators
    def _power_method(self, matrix: Tensor, steps: int) -> None:
        """Multiply the estimates of the singular vectors by the matrix and its transpose, in place."""
        for _ in range(steps):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.H.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # backward needs these; the next step overwrites the buffers
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> M:
    """Divide a weight by an estimate of its greatest singular value (Miyato et al., 2018).

    `n_power_iterations`: by how many steps of the power method the estimate is improved at each access in training.
    `eps`: keeps norms from being 0. `dim`: the dimension of outputs; by default 0, or 1 for a transposed convolution.
    """
    weight = tensor_of(module, name)
    dim = int(isinstance(module, _ConvTransposeNd)) if dim is None else dim
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def reflections(a: Tensor, scales: Tensor) -> Tensor:
    """Return the first columns of the product of the reflections 1 - τ v vᵀ, where v are the columns of `a` below its
    diagonal, with 1 on the diagonal (`torch.linalg.householder_product`)."""
    n, k = a.shape[-2:]
    unit = eye(n, k, dtype=a.dtype, device=a.device)
    vectors = a.tril(-1) + unit
    result: Tensor = unit.expand(a.shape)
    for i in reversed(range(k)):
        v = vectors[..., i:i + 1]
        result = result - scales[..., i, None, None] * (v @ (v.mT @ result))
    return result


def qr_reflections(a: Tensor) -> tuple[Tensor, Tensor]:
    """Return the reflections of a QR decomposition, as LAPACK packs them, and their scales (`torch.geqrf`)."""
    packed, scales = np.linalg.qr(host(a.array), mode="raw")
    where = device_like(a.array)
    return plain(moved(np.ascontiguousarray(packed.swapaxes(-1, -2)), where)), plain(moved(scales, where))


def by_cayley(a: Tensor) -> Tensor:
    """(1 - A/2)⁻¹ (1 + A/2), which is orthogonal where A is skew-symmetric."""
    unit = eye(a.shape[-1], dtype=a.dtype, device=a.device)
    return solve(unit.add(a, alpha=-0.5), unit.add(a, alpha=0.5))


# How each map makes an orthogonal matrix from a skew-symmetric one; "householder" does not need that.
MAPS: dict[str, Callable[[Tensor], Tensor] | None] = {
    "matrix_exp": matrix_exp, "cayley": by_cayley, "householder": None}


class _Orthogonal(Module):
    """A matrix with orthonormal columns, or rows if it is wide, computed from an unconstrained one."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        X = X.mT if wide else X
        n, k = X.size(-2), X.size(-1)
        of_skew = MAPS[self.orthogonal_map]
        if of_skew is None:
            A = X.tril(diagonal=-1)
            Q = reflections(A, 2.0 / (1.0 + (A * A).sum(dim=-2)))
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            X = X.tril()
            if n != k:
                X = cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            Q = of_skew(X - X.mH)
            Q = Q if n == k else Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if wide else Q

    @no_grad()  # type: ignore[untyped-decorator]  # as above
    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return the free matrix that yields Q; with a base, Q (made orthonormal if it is not) becomes the base."""
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                             f"{Q.shape}.")
        given, wide = Q, Q.size(-2) < Q.size(-1)
        Q = Q.mT if wide else Q
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError("It is not possible to assign to the matrix exponential or the Cayley "
                                          "parametrizations when use_trivialization=False.")
            packed, scales = qr_reflections(Q)
            packed.diagonal(dim1=-2, dim2=-1).sign_()
            packed.diagonal(dim1=-2, dim2=-1)[scales.eq(0.0)] *= -1
            return packed.mT if wide else packed
        if n != k:
            noise = randn(*Q.shape[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = cat([Q, noise], dim=-1)
        self.base = Q.clone() if n == k and is_orthogonal(Q) else made_orthogonal(Q)
        negative = zeros_like(given)
        negative.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return negative


def is_orthogonal(Q: Tensor) -> bool:
    """Return whether the columns are orthonormal, up to rounding."""
    n, k = Q.size(-2), Q.size(-1)
    unit = eye(k, dtype=Q.dtype, device=Q.device)
    return bool(allclose(Q.mH @ Q, unit, atol=10.0 * n * finfo(Q.dtype).eps))


def made_orthogonal(A: Tensor) -> Tensor:
    """Return the orthogonal factor of the QR decomposition whose R has a positive diagonal, which is unique."""
    packed, scales = qr_reflections(A)
    signs = packed.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return reflections(packed, scales) * signs


def orthogonal(module: M, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> M:
    """Keep a matrix, or each of a batch, orthogonal; if it is not square, its columns or rows are orthonormal.

    The maps are those of Lezcano-Casado (2019). `orthogonal_map`: how it is computed: "matrix_exp", "cayley" or
    "householder"; by default the first for square matrices and the last for others. `use_trivialization`: multiply by a
    fixed base, so that the free matrix starts near 0. Raises ValueError if there is no such tensor, it is not a matrix,
    or there is no such map.
    """
    weight = tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError('orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
                         f"{orthogonal_map}")
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
