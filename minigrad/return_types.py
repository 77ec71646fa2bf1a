"""Defines the named tuples that ops with several results return. Mirrors `torch.return_types`.

`x.max(0)` and similar calls return a tuple with named fields: `values, indices = x.max(0)` and `x.max(0).values` both
work.
"""

import operator
from collections.abc import Iterable
from typing import Any, ClassVar, Self

__all__ = ["aminmax", "cummax", "cummin", "kthvalue", "linalg_cholesky_ex", "linalg_eigh", "linalg_inv_ex",
           "linalg_lstsq", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_qr", "linalg_slogdet",
           "linalg_solve_ex", "linalg_svd", "max", "median", "min", "mode", "nanmedian", "qr", "slogdet", "sort",
           "svd", "topk", "triangular_solve"]


class _Parts(tuple[Any, ...]):
    """A tuple with named fields, created from one sequence; `_named` creates a subclass for each list of names."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    n_fields: ClassVar[int]
    n_sequence_fields: ClassVar[int]
    n_unnamed_fields: ClassVar[int] = 0

    def __init_subclass__(cls) -> None:
        cls.n_fields = cls.n_sequence_fields = len(cls.__match_args__)
        for i, name in enumerate(cls.__match_args__):
            setattr(cls, name, property(operator.itemgetter(i)))

    def __new__(cls, sequence: Iterable[Any]) -> Self:
        try:
            parts = tuple(sequence)
        except TypeError:
            raise TypeError("constructor requires a sequence") from None
        if len(parts) != cls.n_fields:
            raise TypeError(f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence "
                            f"({len(parts)}-sequence given)")
        return tuple.__new__(cls, parts)

    def __repr__(self) -> str:
        parts = [f"{name}={part!r}" for name, part in zip(self.__match_args__, self, strict=True)]
        return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(parts) + ")"


def _named(name: str, *parts: str) -> Any:
    """The result type `name` with these fields. (A type checker takes it for `Any`.)"""
    return type(name, (_Parts,), {"__slots__": (), "__match_args__": parts, "__module__": __name__})


aminmax: Any = _named("aminmax", "min", "max")
cummax: Any = _named("cummax", "values", "indices")
cummin: Any = _named("cummin", "values", "indices")
kthvalue: Any = _named("kthvalue", "values", "indices")
linalg_cholesky_ex: Any = _named("linalg_cholesky_ex", "L", "info")
linalg_eigh: Any = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex: Any = _named("linalg_inv_ex", "inverse", "info")
linalg_lstsq: Any = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu: Any = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor: Any = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex: Any = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr: Any = _named("linalg_qr", "Q", "R")
linalg_slogdet: Any = _named("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex: Any = _named("linalg_solve_ex", "result", "info")
linalg_svd: Any = _named("linalg_svd", "U", "S", "Vh")
max: Any = _named("max", "values", "indices")
median: Any = _named("median", "values", "indices")
min: Any = _named("min", "values", "indices")
mode: Any = _named("mode", "values", "indices")
nanmedian: Any = _named("nanmedian", "values", "indices")
qr: Any = _named("qr", "Q", "R")
slogdet: Any = _named("slogdet", "sign", "logabsdet")
sort: Any = _named("sort", "values", "indices")
svd: Any = _named("svd", "U", "S", "V")
topk: Any = _named("topk", "values", "indices")
triangular_solve: Any = _named("triangular_solve", "solution", "cloned_coefficient")
