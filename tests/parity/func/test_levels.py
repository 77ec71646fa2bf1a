"""What belongs to which level, against PyTorch's: `.data`, random draws, where the examples of a batch are, counts."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.alike import ending
from tests.parity.func.test_func import func_of

pytestmark = pytest.mark.torch


def vector(m):
    return m.tensor([1.0, 2.0, 3.0])


def table(m, *shape):
    return (m.arange(float(m.ones(shape).numel())) * 7 % 5 / 4 - 0.5).reshape(shape)


def grad_of(m, f, x=None):
    return func_of(m).grad(f)(vector(m) if x is None else x)


def twice(m, inner):
    """The gradient of a sum of gradients."""
    return grad_of(m, lambda x: grad_of(m, lambda y: inner(x, y).sum(), x).sum())


def moved(m, f):
    return func_of(m).jvp(f, (vector(m),), (vector(m),))


def assigned(m, x):
    y = m.ones(3)
    y.data = m.zeros(3)
    return (x * y).sum()


def by_leaf(m):
    """What is outside of all transforms differentiates by the data of what is inside."""
    p = vector(m).requires_grad_()
    return m.autograd.grad(grad_of(m, lambda y: (y.data * y * p).sum(), p).sum(), p)


def pulled_later(m):
    """A pass of a level whose function has returned."""
    out, pull = func_of(m).vjp(lambda x: x.data * x, vector(m))
    return out, pull(vector(m))


DATA = {
    "in both": lambda m: twice(m, lambda x, y: y.data * y * x),
    "of the inner one": lambda m: twice(m, lambda x, y: y.data * y),
    "of the outer one": lambda m: twice(m, lambda x, y: x.data * y),
    "detached": lambda m: twice(m, lambda x, y: y.detach() * y),
    "of a result": lambda m: twice(m, lambda x, y: (x * y).exp().data * y.sin()),
    "of a constant": lambda m: twice(m, lambda x, y: m.ones(3).data * y * x * y),
    "forward": lambda m: moved(m, lambda x: x.data * x),
    "forward, twice": lambda m: moved(m, lambda x: func_of(m).jvp(lambda y: y.data * y, (x,), (m.ones(3),))[1]),
    "forward over reverse": lambda m: moved(m, lambda x: grad_of(m, lambda y: (y.data * y).sum(), x)),
    "reverse over forward": lambda m: grad_of(m, lambda x: func_of(m).jvp(lambda y: (y.data * y).sum(), (x,),
                                                                          (x,))[1]),
    "of the outer one, reverse over forward": lambda m: grad_of(m, lambda x: func_of(m).jvp(
        lambda y: (x.data * y).sum(), (x,), (x,))[1]),
    "of examples": lambda m: func_of(m).vmap(lambda v: grad_of(m, lambda x: grad_of(
        m, lambda y: (y.data * y).sum(), x).sum(), v))(table(m, 2, 3)),
    "of a batch": lambda m: func_of(m).vmap(lambda v: v.data * 2)(table(m, 2, 3)),
    "of a batch outside": lambda m: func_of(m).vmap(lambda v: grad_of(m, lambda x: (v.data * x).sum()))(table(m, 2, 3)),
    "of what is the same": lambda m: func_of(m).vmap(lambda v: vector(m).data * v)(table(m, 2, 3)),
    "assigned": lambda m: grad_of(m, lambda x: assigned(m, x)),
    "outside": by_leaf, "later": pulled_later,
    "a jacobian": lambda m: func_of(m).jacrev(lambda x: func_of(m).jacrev(lambda y: y.data * y.sin())(x))(vector(m)),
    "a hessian": lambda m: func_of(m).hessian(lambda x: (x.data * x ** 3).sum())(vector(m)),
}


def product(m, log):
    class Product(m.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def vmap(info, in_dims, x, y):
            log.append((in_dims, info.batch_size, list(x.shape), list(y.shape)))
            x, y = [each if dim is None else each.movedim(dim, 0) for each, dim in zip((x, y), in_dims, strict=True)]
            return Product.apply(x, y), 0

    return Product.apply


def with_dims(m, in_dims, *args, nested=False):
    """What a Function's `vmap` is told of where the examples are."""
    log, vmap = [], func_of(m).vmap
    f = product(m, log)
    inner = (lambda a: vmap(lambda b: f(a, b), in_dims=1)(table(m, 3, 2))) if nested else f
    return vmap(inner, in_dims=in_dims)(*args), log


def through_grad(m, in_dims, x, depth=1):
    """The same where `grad` enters the argument in between."""
    log, f = [], lambda a: product(m, log)(a, a * 1).sum()
    for _ in range(depth):
        f = (lambda inner: lambda a: func_of(m).grad(inner)(a).sum())(f)
    return func_of(m).vmap(f, in_dims=in_dims)(x), log


def drawn(m, f, x, **options):
    m.manual_seed(3)
    return func_of(m).jacfwd(f, randomness="different", **options)(x)


def each(m, f, *shape):
    """A function of each row of a table, in a nested `vmap`."""
    return func_of(m).vmap(func_of(m).vmap(f))(table(m, 2, *shape))


PROGRAMS = {
    "dims": lambda m: with_dims(m, (1, 0), table(m, 3, 2), table(m, 2, 3)),
    "dims, one for all": lambda m: with_dims(m, (None, -1), vector(m), table(m, 3, 2)),
    "dims, of an alias": lambda m: through_grad(m, 1, table(m, 3, 2)),
    "dims, of an alias of an alias": lambda m: through_grad(m, -1, table(m, 2, 3, 2), depth=2),
    "dims, nested": lambda m: with_dims(m, 1, table(m, 3, 2), nested=True),
    "chances that are the same": lambda m: drawn(m, lambda x: m.bernoulli(x.sigmoid()) * x, vector(m)),
    "like it": lambda m: drawn(m, lambda x: m.randn_like(x) * x, vector(m)),
    "like it, as aux": lambda m: drawn(m, lambda x: func_of(m).grad(
        lambda y: ((y * y).sum(), m.randn_like(y)), has_aux=True)(x)[1] * x, vector(m)),
    "histc": lambda m: each(m, lambda v: m.histc(v, 3, -1, 1), 3, 4),
    "histc of its own range": lambda m: each(m, lambda v: m.histc(v, 3), 3, 4),
    "bincount": lambda m: each(m, lambda v: m.bincount((v * 2).abs().long(), minlength=3), 3, 4),
    "bincount, weights": lambda m: each(m, lambda v: m.bincount((v * 2).abs().long(), v, 3), 3, 4),
    "unique": lambda m: each(m, lambda v: v.unique(), 3, 4),
    "unique slices": lambda m: each(m, lambda v: m.unique(v, dim=0), 3, 4),
    "unique_consecutive": lambda m: each(m, lambda v: v.unique_consecutive(), 3, 4),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", [*DATA, *PROGRAMS])
def test_program(torch, name):
    theirs, ours = [ending({**DATA, **PROGRAMS}[name], m)[0] for m in (torch, minigrad)]  # which warn of other things
    assert without_nodes(ours) == without_nodes(theirs)


def without_nodes(found):
    """An ending without the names of nodes: batches leave by one of their own."""
    if isinstance(found, (tuple, list)):
        return ["tensor", *found[1:-1]] if found[:1] == ("tensor",) else [without_nodes(each) for each in found]
    return found


def test_data_is_itself_again_outside():
    before = vars(minigrad.Tensor)["data"]
    minigrad.func.grad(lambda x: (x.data * x).sum())(minigrad.ones(2))
    assert vars(minigrad.Tensor)["data"] is before
