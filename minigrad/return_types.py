"""Results of several parts, with names: mirrors `torch.return_types`.

What `x.max(0)` and its like return is a tuple whose parts have names: `values, indices = x.max(0)` and
`x.max(0).values` say the same.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, ClassVar, Self

__all__ = ["aminmax", "cummax", "cummin", "kthvalue", "linalg_cholesky_ex", "linalg_eigh", "linalg_inv_ex",
           "linalg_lstsq", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex", "linalg_qr", "linalg_slogdet",
           "linalg_solve_ex", "linalg_svd", "max", "median", "min", "mode", "nanmedian", "qr", "slogdet", "sort",
           "svd", "topk", "triangular_solve"]


class _Parts(tuple[Any, ...]):
    """A tuple whose parts have names, made of one sequence; a subclass lists them as `__match_args__`."""

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


class _Found(_Parts):
    """Values, and where they were found."""

    __slots__ = ()
    __match_args__ = "values", "indices"
    values: Any
    indices: Any


class cummax(_Found):
    __slots__ = ()


class cummin(_Found):
    __slots__ = ()


class kthvalue(_Found):
    __slots__ = ()


class max(_Found):
    __slots__ = ()


class median(_Found):
    __slots__ = ()


class min(_Found):
    __slots__ = ()


class mode(_Found):
    __slots__ = ()


class nanmedian(_Found):
    __slots__ = ()


class sort(_Found):
    __slots__ = ()


class topk(_Found):
    __slots__ = ()


class aminmax(_Parts):
    __slots__ = ()
    __match_args__ = "min", "max"
    min: Any
    max: Any


class linalg_cholesky_ex(_Parts):
    __slots__ = ()
    __match_args__ = "L", "info"
    L: Any
    info: Any


class linalg_eigh(_Parts):
    __slots__ = ()
    __match_args__ = "eigenvalues", "eigenvectors"
    eigenvalues: Any
    eigenvectors: Any


class linalg_inv_ex(_Parts):
    __slots__ = ()
    __match_args__ = "inverse", "info"
    inverse: Any
    info: Any


class linalg_lstsq(_Parts):
    __slots__ = ()
    __match_args__ = "solution", "residuals", "rank", "singular_values"
    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


class linalg_lu(_Parts):
    __slots__ = ()
    __match_args__ = "P", "L", "U"
    P: Any
    L: Any
    U: Any


class linalg_lu_factor(_Parts):
    __slots__ = ()
    __match_args__ = "LU", "pivots"
    LU: Any
    pivots: Any


class linalg_lu_factor_ex(_Parts):
    __slots__ = ()
    __match_args__ = "LU", "pivots", "info"
    LU: Any
    pivots: Any
    info: Any


class linalg_qr(_Parts):
    __slots__ = ()
    __match_args__ = "Q", "R"
    Q: Any
    R: Any


class linalg_slogdet(_Parts):
    __slots__ = ()
    __match_args__ = "sign", "logabsdet"
    sign: Any
    logabsdet: Any


class linalg_solve_ex(_Parts):
    __slots__ = ()
    __match_args__ = "result", "info"
    result: Any
    info: Any


class linalg_svd(_Parts):
    __slots__ = ()
    __match_args__ = "U", "S", "Vh"
    U: Any
    S: Any
    Vh: Any


class qr(linalg_qr):
    __slots__ = ()


class slogdet(linalg_slogdet):
    __slots__ = ()


class svd(_Parts):
    __slots__ = ()
    __match_args__ = "U", "S", "V"
    U: Any
    S: Any
    V: Any


class triangular_solve(_Parts):
    __slots__ = ()
    __match_args__ = "solution", "cloned_coefficient"
    solution: Any
    cloned_coefficient: Any
