"""Lines of the table of ops for shapes, joining, splitting and elements by index: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import Input, frozen, integers, leaf
from tests.parity.tables.cases_linalg import unwarned


def numbers(m, *values):
    """A tensor of indices."""
    return m.tensor(values)


ROWS = [[0, 2, 1, 0], [1, 1, 0, 2]]  # indices along the first dimension of (3, 4)
TWICE = [[0, 0, 1, 2], [0, 1, 1, 2]]


def done(x, name, *args, **options):
    """A copy of x after an op in place."""
    return getattr(x.clone(), name)(*args, **options)


CASES = {
    # shapes
    "reshape_as": (lambda m, a, b: a.reshape_as(b), [leaf(2, 3), frozen(6)]),
    "ravel": (lambda m, a: [a.ravel(), m.ravel(a.t())], [leaf(2, 3)]),
    "unflatten": (lambda m, a: [a.unflatten(1, (2, -1)), m.unflatten(a, 0, (1, 2))], [leaf(2, 4)]),
    "swapaxes, swapdims": (lambda m, a: [m.swapaxes(a, 0, 1), a.swapdims(-1, 0), m.swapdims(a, 0, 0)], [leaf(2, 3)]),
    "moveaxis": (lambda m, a: [a.moveaxis((0, 1), (2, 0)), m.moveaxis(a, -1, 0)], [leaf(2, 3, 4)]),
    "movedim, several": (lambda m, a: m.movedim(a, (0, 2), (1, 0)), [leaf(2, 3, 4)]),
    "broadcast_to": (lambda m, a: [a.broadcast_to((2, 3)), m.broadcast_to(a, [3])], [leaf(3)]),
    "broadcast_tensors": (lambda m, a, b: m.broadcast_tensors(a, b), [leaf(3), leaf(2, 1)]),
    "squeeze of some": (lambda m, a: [a.squeeze((0, 2)), a.squeeze(()), m.squeeze(a, (1, -1))], [leaf(1, 2, 1)]),
    "t_, transpose_": (lambda m, a: [done(a, "t_"), done(a, "transpose_", 0, -1), done(a, "swapaxes_", 1, 0),
                                     done(a, "swapdims_", 0, 1)], [leaf(2, 3)]),
    "squeeze_, unsqueeze_": (lambda m, a: [done(a, "squeeze_"), done(a, "squeeze_", 0), done(a, "squeeze_", (0, -1)),
                                           done(a, "unsqueeze_", 1)], [leaf(1, 2, 1)]),
    "H, mH, adjoint": (lambda m, a: [a.H, a.mH, a.adjoint(), m.adjoint(a)], [leaf(2, 3)]),
    "atleast": (lambda m, a, b, c: [m.atleast_1d(a), m.atleast_2d(a), m.atleast_3d(a), *m.atleast_2d(b, c),
                                    *m.atleast_3d([b, c])], [leaf(), leaf(3), leaf(2, 2)]),
    "repeat": (lambda m, a: [a.repeat(2, 1, 3), a.repeat((1, 2))], [leaf(2, 3)]),
    "tile": (lambda m, a: [a.tile(2), m.tile(a, (2, 1, 1))], [leaf(2, 3)]),
    "repeat_interleave": (lambda m, a: [a.repeat_interleave(2), m.repeat_interleave(a, 3, dim=1)], [leaf(2, 3)]),
    "repeat_interleave, each": (lambda m, a: a.repeat_interleave(numbers(m, 2, 0, 1), dim=1), [leaf(2, 3)]),
    "repeat_interleave of a number": (lambda m, a: a.repeat_interleave(2), [leaf()]),
    "meshgrid": (lambda m, a, b: m.meshgrid(a, b, indexing="ij"), [leaf(2), leaf(3)]),
    "meshgrid, xy": (lambda m, a, b: m.meshgrid([a, b], indexing="xy"), [leaf(2), leaf()]),
    "cartesian_prod": (lambda m, a, b: [m.cartesian_prod(a, b), m.cartesian_prod(a) * 1], [leaf(2), leaf(3)]),
    "combinations": (lambda m, a: [m.combinations(a), m.combinations(a, 3, with_replacement=True)], [leaf(3)]),
    "flip": (lambda m, a: [a.flip(0), m.flip(a, (0, 1)), a.flip([])], [leaf(2, 3)]),
    "fliplr, flipud": (lambda m, a: [a.fliplr(), m.fliplr(a), a.flipud(), m.flipud(a)], [leaf(2, 3)]),
    "roll": (lambda m, a: [a.roll(1), m.roll(a, 2, 1), a.roll((1, 2), (0, 1))], [leaf(2, 3)]),
    "rot90": (lambda m, a: [a.rot90(), m.rot90(a, 2), a.rot90(3, (1, 0)), a.rot90(-4)], [leaf(2, 3)]),
    "sum_to_size": (lambda m, a: [a.sum_to_size(3), a.sum_to_size((2, 1)), a.sum_to_size(1, 3), a.sum_to_size(2, 3) * 1,
                                  a.sum_to_size(())], [leaf(2, 3)]),
    "constant_pad_nd": (lambda m, a: m.constant_pad_nd(a, (1, 2, 0, 1), 3.0), [leaf(2, 3)]),
    "fill": (lambda m, a, b: [m.fill(a, 3), m.fill(a, b)], [leaf(2, 3), leaf()]),
    # parts
    "narrow_copy": (lambda m, a: [a.narrow_copy(1, 1, 2), m.narrow_copy(a, 0, 0, 1)], [leaf(2, 3)]),
    "as_strided": (lambda m, a: [a.as_strided((2, 2), (1, 1)), m.as_strided(a, (3,), (2,), 1), a.as_strided((), ())],
                   [leaf(2, 3)]),
    "as_strided of an expanded": (lambda m, a: a.expand(3, 2).as_strided((2, 2), (0, 1)), [leaf(2)]),
    "as_strided of a part": (lambda m, a: (a * 1)[1:].as_strided((2, 2), (1, 2)), [leaf(3, 2)]),
    "as_strided_": (lambda m, a: done(a, "as_strided_", (2, 2), (1, 2)), [leaf(2, 3)]),
    "select_scatter": (lambda m, a, b: [a.select_scatter(b, 1, -1), m.select_scatter(a, b, 1, 0)],
                       [leaf(2, 3), leaf(2)]),
    "slice_scatter": (lambda m, a, b: [a.slice_scatter(b, 1, 1), m.slice_scatter(a, b, 1, 0, 3, 2)],
                      [leaf(2, 3), leaf(2, 2)]),
    "diagonal_scatter": (lambda m, a, b: [a.diagonal_scatter(b), m.diagonal_scatter(a, b, 1)], [leaf(2, 3), leaf(2)]),
    "unsafe_split": (lambda m, a: [*m.unsafe_split(a, 2), *a.unsafe_split(1, 1)], [leaf(3, 2)]),
    "unsafe_split_with_sizes": (lambda m, a: [*m.unsafe_split_with_sizes(a, [2, 1]),
                                              *a.unsafe_split_with_sizes((1, 1), 1)], [leaf(3, 2)]),
    "unsafe_chunk": (lambda m, a: [*m.unsafe_chunk(a, 2), *a.unsafe_chunk(2, 1)], [leaf(3, 2)]),
    "select, narrow": (lambda m, a: [a.select(1, -1), m.select(a, 0, 1), a.narrow(1, 1, 2), m.narrow(a, 0, -1, 1)],
                       [leaf(2, 3)]),
    "as_subclass": (lambda m, a: [a.as_subclass(m.Tensor), (a * 2).as_subclass(m.Tensor)], [leaf(2, 3)]),
    "unfold": (lambda m, a: [a.unfold(1, 2, 1), a.unfold(0, 2, 2), a.unfold(-1, 0, 1)], [leaf(2, 5)]),
    "unfold of a number": (lambda m, a: a.unfold(0, 1, 1), [leaf()]),
    "diagonal": (lambda m, a: [a.diagonal(), m.diagonal(a, 1, 1, 2), a.diagonal(-1, 2, 0)], [leaf(2, 3, 4)]),
    "diag": (lambda m, a, b: [a.diag(), a.diag(-1), b.diag(), m.diag(b, 1)], [leaf(3), leaf(2, 3)]),
    "diag_embed": (lambda m, a: [a.diag_embed(), m.diag_embed(a, 1, 0, 2), a.diag_embed(-1, 1, 0)], [leaf(2, 3)]),
    "diagflat": (lambda m, a: [a.diagflat(), m.diagflat(a, 1)], [leaf(2, 2)]),
    "tril, triu": (lambda m, a: [a.tril(), m.tril(a, 1), a.triu(), m.triu(a, -1)], [leaf(2, 3, 3)]),
    "fill_diagonal_": (lambda m, a, b: [done(a, "fill_diagonal_", 2.5), done(a, "fill_diagonal_", 2, wrap=True),
                                        done(a.t(), "fill_diagonal_", 1), done(b, "fill_diagonal_", m.tensor(3))],
                       [leaf(6, 2), leaf(3, 3, 3)]),
    "tril_, triu_": (lambda m, a: [done(a, "tril_"), done(a, "triu_", 1)], [leaf(2, 3)]),
    # joining and splitting
    "concat": (lambda m, a, b: [m.concat([a, b], 1), m.concatenate((a, b), axis=0)], [leaf(2, 3), leaf(2, 3)]),
    "hstack": (lambda m, a, b: [m.hstack([a, b]), m.hstack([a[0], b[1]]), m.hstack([a[0, 0]])],
               [leaf(2, 3), leaf(2, 3)]),
    "vstack": (lambda m, a, b: [m.vstack([a, b]), m.row_stack([a, b[0]])], [leaf(2, 3), leaf(2, 3)]),
    "dstack": (lambda m, a, b: [m.dstack([a, b]), m.dstack([a[0], b[0]])], [leaf(2, 3), leaf(2, 3)]),
    "column_stack": (lambda m, a, b: m.column_stack([a, b]), [leaf(2), leaf(2, 3)]),
    "block_diag": (lambda m, a, b, c: m.block_diag(a, b, c), [leaf(2, 3), leaf(2), leaf()]),
    "block_diag of dtypes": (lambda m, a, b: m.block_diag(a, b), [leaf(2, 3), Input((2,), "float64")]),
    "split_with_sizes": (lambda m, a: [*a.split_with_sizes([1, 3], 1), *m.split_with_sizes(a, (1, 1))], [leaf(2, 4)]),
    "tensor_split": (lambda m, a: [*a.tensor_split(3, 1), *m.tensor_split(a, (1, 0, -1), dim=1)], [leaf(2, 4)]),
    "hsplit, vsplit": (lambda m, a: [*a.hsplit(2), *m.hsplit(a, (1,)), *a.vsplit(2), *m.vsplit(a, [1])], [leaf(2, 4)]),
    "dsplit": (lambda m, a: [*a.dsplit(2), *m.dsplit(a, [1, 1])], [leaf(2, 1, 4)]),
    "chunk of nothing": (lambda m, a: a.chunk(3), [leaf(0, 2)]),
    # elements by index
    "gather": (lambda m, a: [a.gather(0, m.tensor(ROWS)), m.gather(a, 1, m.tensor([[0, 3], [1, 1]]))], [leaf(3, 4)]),
    "gather of a number": (lambda m, a: [a.gather(0, m.tensor(0)), a.gather(0, numbers(m, 0, 0))], [leaf()]),
    "scatter": (lambda m, a, b: m.scatter(a, 0, m.tensor(ROWS), b), [leaf(3, 4), leaf(2, 4)]),
    "scatter to data": (lambda m, a, b: a.scatter(0, m.tensor(ROWS), b), [frozen(3, 4), leaf(2, 4)]),
    "scatter a number": (lambda m, a: [a.scatter(0, m.tensor(ROWS), 2.0), a.scatter(1, m.tensor([[1]]), value=3)],
                         [leaf(3, 4)]),
    "scatter_": (lambda m, a, b: [done(a, "scatter_", 1, m.tensor(TWICE), b),
                                    done(a, "scatter_", 1, m.tensor([[2]]), 4)],
                 [leaf(3, 4), leaf(2, 4)]),
    "scatter_add": (lambda m, a, b: m.scatter_add(a, 1, m.tensor(TWICE), b), [leaf(3, 4), leaf(2, 4)]),
    "scatter_add_": (lambda m, a, b: done(a, "scatter_add_", 0, m.tensor(TWICE), b), [leaf(3, 4), leaf(2, 4)]),
    "scatter_reduce": (lambda m, a, b: [m.scatter_reduce(a, 1, m.tensor(TWICE), b, how)
                                        for how in ("sum", "mean", "prod", "amax", "amin")], [leaf(3, 4), leaf(2, 4)]),
    "scatter_reduce, without self": (
        lambda m, a, b: [a.scatter_reduce(1, m.tensor(TWICE), b, how, include_self=False)
                         for how in ("sum", "mean", "prod", "amax", "amin")], [leaf(3, 4), leaf(2, 4)]),
    "scatter_reduce, ties": (lambda m, a: a.scatter_reduce(1, m.tensor(TWICE), a * 0 + 2, "amax"), [leaf(2, 4)]),
    "scatter_reduce_": (lambda m, a, b: done(a, "scatter_reduce_", 0, m.tensor(ROWS), b, "sum"),
                        [leaf(3, 4), leaf(2, 4)]),
    "take_along_dim": (lambda m, a: [a.take_along_dim(m.tensor([[-1, 0]]), 1), m.take_along_dim(a, m.tensor([5, 0]))],
                       [leaf(2, 3)]),
    "index_select": (lambda m, a: [a.index_select(0, numbers(m, 2, 0, 2)), m.index_select(a, -1, m.tensor(1))],
                     [leaf(3, 4)]),
    "index_select of a number": (lambda m, a: a.index_select(0, numbers(m, 0)), [leaf()]),
    "index_add": (lambda m, a, b: [a.index_add(1, numbers(m, 2, 0, 2), b),
                                   m.index_add(a, 1, numbers(m, 0, 1, 2), b, alpha=3)],
                  [leaf(2, 4), leaf(2, 3)]),
    "index_reduce": (lambda m, a, b: [m.index_reduce(a, 1, numbers(m, 2, 0, 2), b, how, include_self=own)
                                      for how in ("mean", "prod", "amax", "amin") for own in (True, False)],
                     [leaf(2, 4), leaf(2, 3)]),
    "index_reduce_": (lambda m, a, b: done(a, "index_reduce_", 0, numbers(m, 1, 1), b, "mean"),
                      [leaf(2, 3), leaf(2, 3)]),
    "index_add_": (lambda m, a, b: done(a, "index_add_", 0, numbers(m, 1, 1), b), [leaf(2, 3), leaf(2, 3)]),
    "index_copy": (lambda m, a, b: [a.index_copy(0, numbers(m, 2, 0), b), m.index_copy(a, 0, m.tensor(1), b[:1])],
                   [leaf(3, 4), leaf(2, 4)]),
    "index_copy_": (lambda m, a, b: done(a, "index_copy_", 1, numbers(m, 0), b), [leaf(2, 3), leaf(2, 1)]),
    "index_fill": (lambda m, a, b: [a.index_fill(0, numbers(m, -1, 0), 2.0), m.index_fill(a, 1, m.tensor(1), b)],
                   [leaf(3, 4), leaf()]),
    "index_fill_": (lambda m, a, b: [done(a, "index_fill_", 0, numbers(m, 1), 1),
                                     done(a, "index_fill_", 1, numbers(m, 0), b)],
                    [leaf(3, 4), leaf()]),
    "index_put": (lambda m, a, b: [a.index_put((numbers(m, 0, 0),), b), m.index_put(a, [numbers(m, 2, 1)], b, True)],
                  [leaf(3, 4), leaf(4)]),
    "index_put a mask": (lambda m, a, b: a.index_put((a > 0,), b), [leaf(3, 4), leaf()]),
    "index_put_": (lambda m, a, b: done(a, "index_put_", (numbers(m, 0, 2), numbers(m, 1, 1)), b, accumulate=True),
                   [leaf(3, 4), leaf(2)]),
    "take": (lambda m, a: [a.take(m.tensor([[0, -1], [3, 0]])), m.take(a.t(), m.tensor(1))], [leaf(2, 3)]),
    "put": (lambda m, a, b: [a.put(numbers(m, 4, -6), b), m.put(a, numbers(m, 1, 1), b, accumulate=True)],
            [leaf(2, 3), leaf(2)]),
    "put_": (lambda m, a, b: done(a, "put_", m.tensor(3), b), [leaf(2, 3), leaf()]),
    "masked_fill": (lambda m, a, b: [a.masked_fill(a > 0, 2.5), m.masked_fill(a, a < 0, b)], [leaf(2, 3), leaf()]),
    "masked_fill, wider": (lambda m, a, b: [a.masked_fill(b > 0, 2), a.masked_fill(b > 0, b[0, 0])],
                           [leaf(3), leaf(2, 3)]),
    "masked_fill_": (lambda m, a, b: [done(a, "masked_fill_", a > 0, 1), done(a, "masked_fill_", a[0] > 0, b)],
                     [leaf(2, 3), leaf()]),
    "masked_select": (lambda m, a, b: [a.masked_select(a > 0), m.masked_select(b, a > 0)], [leaf(2, 3), leaf(3)]),
    "masked_scatter": (lambda m, a, b: [a.masked_scatter(a > 0, b), m.masked_scatter(a[0], a > 0, b)],
                       [leaf(2, 3), leaf(7)]),
    "masked_scatter_": (lambda m, a, b: done(a, "masked_scatter_", a < 0, b), [leaf(2, 3), leaf(2, 3)]),
    "separated indices": (lambda m, a: [a[numbers(m, 0, 1), :, numbers(m, 1, 2)], a[:, [0, 1], [2, 2]], a[[0], ..., 1]],
                          [leaf(2, 3, 4)]),
    "a mask and a list": (lambda m, a: [a[a[:, 0, 0] > 0, :, numbers(m, 1)], a[:, a[0] > 0], a[None, :, [1, 0]]],
                          [leaf(2, 3, 4)]),
    "indices that are bools": (lambda m, a: [a[True], a[False], a[:, None, m.tensor(True)], a[m.tensor(False), 0]],
                               [leaf(2, 3)]),
    "a range": (lambda m, a: a[range(2)], [leaf(3)]),
}

PLAIN = {
    "nonzero_static": (lambda m, a: [m.nonzero_static(a > 0, size=2), a.nonzero_static(size=9, fill_value=5)],
                       [integers(2, 3)]),
    "unravel_index": (lambda m: [*m.unravel_index(m.tensor([[7, 1], [-1, 0]]), (2, 4)),
                                 *m.unravel_index(m.tensor(3), 5)], []),
    "resize_, resize_as_": (lambda m, a: [a.resize_(2, 2) * 1, a.resize_((6,)) * 1, a.resize_as_(m.ones(3, 1)) * 1,
                                          a.view(-1)[1:].resize_(2)], [frozen(2, 3)]),
    "set_": (lambda m, a, b: [a.set_(b) * 1, a.set_(b.untyped_storage(), 1, (2, 2), (1, 3)) * 1,
                              a.set_(b.untyped_storage(), 2, (3,)) * 1, a.set_(), a.new_empty_strided((0, 2), (1, 1))],
             [frozen(2, 3), frozen(3, 3)]),
    "apply_, map_": (lambda m, a, b: [a.apply_(lambda v: v * v) * 1, a.map_(b, lambda v, w: v - w)],
                     [frozen(2, 3), frozen(3)]),
    "new": (lambda m, a: [a.new([1, 2]), a.new(2, 0)], [frozen(2, 3)]),
    "range": (lambda m: [unwarned(m.range, 1, 2.5, 0.5), unwarned(m.range, 3, 1, -1),
                         unwarned(m.range, 0, 4, 3, dtype=m.int64)], []),
    "empty_strided": (lambda m, a: [m.tensor(m.empty_strided((2, 3), (1, 4)).stride()),
                                      m.tensor(a.new_empty_strided((2, 3), (1, 4)).stride())], [frozen(2)]),
    "storage, is_shared": (lambda m, a: [m.tensor(unwarned(lambda: a[1:].storage()).tolist()), m.tensor(a.is_shared())],
                           [frozen(2, 3)]),
    "broadcast_shapes": (lambda m: [m.broadcast_shapes((2, 1), (3,)), m.broadcast_shapes(), m.broadcast_shapes(3)], []),
    "tril_indices": (lambda m: [m.tril_indices(3, 4), m.tril_indices(3, 2, -1), m.triu_indices(3, 4, 1),
                                m.triu_indices(0, 2), m.triu_indices(2, 2, dtype=m.int32)], []),
    "nonzero": (lambda m, a: [m.nonzero(a > 0), *a.nonzero(as_tuple=True), m.argwhere(a), a.argwhere()],
                [integers(2, 3)]),
    "nonzero of a number": (lambda m, a: [m.nonzero(a), *a.nonzero(as_tuple=True)], [integers()]),
    "repeat_interleave of numbers": (lambda m: m.repeat_interleave(numbers(m, 2, 0, 1)), []),
    "index in integers": (lambda m, a: [a.gather(1, m.tensor([[2, 0]])), a.index_select(1, numbers(m, 1)),
                                        a.take(a.abs()),
                                        a.scatter_reduce(0, (a > 0).long(), a, "mean"), a.masked_fill(a > 0, 1.7),
                                        a.index_fill(0, numbers(m, 0), 7)], [integers(2, 3)]),
    "scatter of more than there is room for": (
        lambda m, a, b: [a.scatter(0, m.tensor(ROWS), b), a.scatter_add(0, m.tensor(ROWS), b),
                         a.scatter(0, m.zeros(0, dtype=m.int64), b), a.scatter_reduce(0, m.tensor(ROWS), b, "sum")],
        [leaf(3, 4), leaf(3, 5)]),
    "view as a dtype": (lambda m, a: [a.view(m.int64), a.view(m.float32), a.view(m.uint8).view(m.float64)],
                        [Input((2, 3), "float64")]),
}

# What PyTorch saves for the shapes of its backward, where a formula here needs the places alone.
MISSING = {
    "PutBackward0": {"source"},
    "IndexCopyBackward0": {"source", "source_dim"},
}

OVERWRITTEN = "an element is named twice: PyTorch's derivative, and so ours, counts what was overwritten too"
NOT_COMPARABLE = {"index_put": OVERWRITTEN, "scatter_": OVERWRITTEN}
