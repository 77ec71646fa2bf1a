"""Lines of the table of drawn shapes for views in place: see `drawn.py`."""

from __future__ import annotations

from tests.parity.tables.drawn import a_dim, one, some_dims

DRAWN = {
    "t_": (lambda m, a: a.clone().t_().square(), one),
    "transpose_": (lambda m, a, i, j: a.clone().transpose_(i, j).square(), a_dim(2)),
    "swapaxes_, swapdims_": (lambda m, a, i, j: (a.clone().swapaxes_(i, j) + a.clone().swapdims_(j, i)).square(),
                             a_dim(2)),
    "unsqueeze_": (lambda m, a, i: a.clone().unsqueeze_(i).square(), a_dim(room=1)),
    "squeeze_": (lambda m, a: a.clone().squeeze_().square(), one),
    "squeeze_, dim": (lambda m, a, i: a.clone().squeeze_(i).square(), a_dim()),
    "squeeze_, dims": (lambda m, a, dims, keep: a.clone().squeeze_(dims).square(), some_dims()),
}
