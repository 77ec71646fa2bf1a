"""The table of ops with drawn shapes: one line each, `(the call, what it is given)`. `m` is torch or minigrad.

A new op gets its line here, or in `drawn_<subject>.py` beside it. What is drawn: empty,
one-element and 0-d tensors, dimensions of size 1, operands that broadcast, inputs that want no gradient.
`test_drawn.py` says what is compared.
"""

from __future__ import annotations

from math import prod

from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tests.parity.compare import Input
from tests.parity.leaves import put

sides = st.integers(0, 3)
shapes = st.lists(sides, max_size=3).map(tuple)


@st.composite
def given(draw, *drawn, positive=()):
    """Inputs of these shapes, and which of them want a gradient (one at least); `positive`: the numbers of those."""
    wanted = draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn)).map(lambda w: w if any(w) else
                                                                                        [True] * len(w)))
    return [Input(s, positive=i in positive, grad=g) for i, (s, g) in enumerate(zip(drawn, wanted, strict=True))]


one = shapes.map(lambda s: ([Input(s)], ()))
log_one = shapes.map(lambda s: ([Input(s, positive=True)], ()))
filled = st.lists(st.integers(1, 3), max_size=3).map(lambda s: ([Input(tuple(s))], ()))


@st.composite
def together(draw, count=2, positive=()):
    """Inputs that broadcast against each other."""
    drawn = draw(mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_side=3, max_dims=3)).input_shapes
    return draw(given(*drawn, positive=positive)), ()


@st.composite
def into(draw):
    """An input, and another that broadcasts to its shape."""
    target = draw(shapes)
    kept = draw(st.integers(0, len(target)))
    source = tuple([draw(st.sampled_from((1, n))) for n in target[kept:]])
    return draw(given(target, source)), ()


@st.composite
def alike(draw, count=2):
    """Inputs of one shape."""
    return draw(given(*[draw(shapes)] * count)), ()


@st.composite
def a_dim(draw, count=1, least=0, room=0):
    """An input of `least` or more in each of its dimensions, and numbers of these dimensions (`room` more than are)."""
    shape = tuple(draw(st.lists(st.integers(least, 3), min_size=1, max_size=3)))
    ndim = len(shape) + room
    return [Input(shape)], tuple([draw(st.integers(-ndim, ndim - 1)) for _ in range(count)])


@st.composite
def some_dims(draw, least=0):
    """An input, a set of its dimensions, and whether they are kept."""
    shape = tuple(draw(st.lists(st.integers(least, 3), min_size=1, max_size=3)))
    dims = draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1).map(tuple))
    return [Input(shape)], (dims, draw(st.booleans()))


@st.composite
def regrouped(draw):
    """An input, and another shape of as many elements."""
    shape = draw(shapes)
    return [Input(shape)], (draw(st.sampled_from([(prod(shape),), shape[::-1], (1, *shape), (*shape, 1)])),)


@st.composite
def reordered(draw):
    """An input and an order of its dimensions."""
    shape = draw(shapes)
    return [Input(shape)], (tuple(draw(st.permutations(range(len(shape))))),)


@st.composite
def stretched(draw):
    """An input and a shape to which it expands."""
    target = draw(shapes)
    kept = draw(st.integers(0, len(target)))
    return [Input(tuple([draw(st.sampled_from((1, n))) for n in target[kept:]]))], (target,)


@st.composite
def matrices(draw, *letters, least=0):
    """Inputs whose dimensions are letters: equal ones are equal sizes. A letter `*` stands for more that broadcast."""
    size = {c: draw(st.integers(least, 3)) for c in sorted({*"".join(letters)} - {"*"})}
    batches = iter(draw(mutually_broadcastable_shapes(num_shapes=len(letters), min_side=0, max_side=2, max_dims=2))
                   .input_shapes)
    drawn = [(*(next(batches) if "*" in word else ()), *[size[c] for c in word if c != "*"]) for word in letters]
    return draw(given(*drawn)), ()


@st.composite
def indexed(draw):
    """An input and an index into it: numbers, slices, lists, None, an ellipsis."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    parts = [draw(st.one_of(
        st.integers(-n, n - 1), st.slices(n).filter(lambda s: s.step is None or s.step > 0),
        st.lists(st.integers(-n, n - 1), min_size=2, max_size=2))) for n in shape[:draw(st.integers(0, len(shape)))]]
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return [Input(shape)], ((*parts, ...) if draw(st.booleans()) else tuple(parts),)


@st.composite
def parts(draw):
    """An input, a dimension of it, and the sizes of parts along it."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    dim = draw(st.integers(0, len(shape) - 1))
    cut = draw(st.integers(0, shape[dim]))
    return [Input(shape)], (dim, draw(st.integers(1, 3)), [cut, shape[dim] - cut])


@st.composite
def rows(draw):
    """Two inputs that differ in one dimension at most, and that dimension."""
    shape = draw(st.lists(sides, min_size=1, max_size=3))
    dim = draw(st.integers(0, len(shape) - 1))
    other = [*shape[:dim], draw(sides), *shape[dim + 1:]]
    return draw(given(tuple(shape), tuple(other))), (dim,)


DRAWN = {
    # pointwise, two operands
    "add": (lambda m, a, b: a + b, together()),
    "add, alpha": (lambda m, a, b: m.add(a, b, alpha=2.5), together()),
    "sub": (lambda m, a, b: a - b, together()),
    "sub, alpha": (lambda m, a, b: m.sub(a, b, alpha=2.5), together()),
    "mul": (lambda m, a, b: a * b, together()),
    "div": (lambda m, a, b: a / b, together()),
    "pow tensor": (lambda m, a, b: a.pow(b), together(positive=(0,))),
    "where": (lambda m, a, b, c: m.where(a > 0, b, c), together(3)),
    "mse_loss": (lambda m, a, b: m.nn.functional.mse_loss(a, b), alike()),
    "mse_loss, none": (lambda m, a, b: m.nn.functional.mse_loss(a, b, reduction="none"), alike()),
    "l1_loss": (lambda m, a, b: m.nn.functional.l1_loss(a, b, reduction="sum"), alike()),
    # pointwise, one operand and a number
    "add a number": (lambda m, a: 2 + a + 1, one),
    "sub a number": (lambda m, a: a - 2.5, one),
    "rsub": (lambda m, a: m.rsub(1.5 - a, 2), one),
    "mul a number": (lambda m, a: 2 * a * 1.5, one),
    "div by a number": (lambda m, a: a / 3, one),
    "rdiv": (lambda m, a: 3 / a, one),
    "pow": (lambda m, a: a ** 3, one),
    "pow, real": (lambda m, a: a ** 2.5, log_one),
    "rpow": (lambda m, a: 2 ** a, one),
    "square": (lambda m, a: a.square(), one),
    "where, number": (lambda m, a: m.where(a > 0, a, 0.5), one),
    # pointwise, one operand
    "neg": (lambda m, a: -a, one),
    "reciprocal": (lambda m, a: a.reciprocal(), one),
    "exp": (lambda m, a: a.exp(), one),
    "log": (lambda m, a: a.log(), log_one),
    "sqrt": (lambda m, a: a.sqrt(), log_one),
    "sin": (lambda m, a: a.sin(), one),
    "cos": (lambda m, a: a.cos(), one),
    "abs": (lambda m, a: a.abs(), one),
    "sign": (lambda m, a: a.sign() * a, one),
    "relu": (lambda m, a: a.relu() * a, one),
    "sigmoid": (lambda m, a: a.sigmoid(), one),
    "tanh": (lambda m, a: a.tanh(), one),
    # sums
    "sum": (lambda m, a: a.sum() * a, one),
    "sum, dims": (lambda m, a, dims, keep: a.square().sum(dims, keepdim=keep), some_dims()),
    "mean": (lambda m, a: a.mean() * a, filled),
    "mean, dims": (lambda m, a, dims, keep: a.square().mean(dims, keepdim=keep), some_dims(least=1)),
    "norm": (lambda m, a: a.norm(), filled),
    "norm, dim": (lambda m, a, dim: a.norm(dim=dim, keepdim=True), a_dim(least=1)),
    "norm, 1": (lambda m, a, dim: a.norm(1, dim), a_dim(least=1)),
    # products
    "mm": (lambda m, a, b: a.mm(b), matrices("ij", "jk")),
    "mv": (lambda m, a, b: a.mv(b), matrices("ij", "j")),
    "dot": (lambda m, a, b: a.dot(b), matrices("i", "i")),
    "bmm": (lambda m, a, b: m.bmm(a, b), matrices("bij", "bjk")),
    "matmul": (lambda m, a, b: a @ b, matrices("*ij", "*jk")),
    "matmul, vector": (lambda m, a, b: m.matmul(a, b), matrices("i", "*ij")),
    "matmul, by vector": (lambda m, a, b: a.matmul(b), matrices("*ij", "j")),
    "addmm": (lambda m, a, b, c: m.addmm(a, b, c, beta=2, alpha=3), matrices("k", "ij", "jk")),
    "linear": (lambda m, a, b, c: m.nn.functional.linear(a, b, c), matrices("nj", "kj", "k")),
    "linear, no bias": (lambda m, a, b: m.nn.functional.linear(a, b), matrices("*j", "kj", least=1)),
    # shapes
    "view": (lambda m, a, shape: a.view(shape).square(), regrouped()),
    "view_as": (lambda m, a, b: a.view_as(b) * b, alike()),
    "reshape": (lambda m, a, shape: a.permute(tuple(range(a.ndim))[::-1]).reshape(shape).square(), regrouped()),
    "flatten": (lambda m, a, start: a.flatten(start).square(), a_dim()),
    "t": (lambda m, a, b: a.t() * b, matrices("ij", "ji")),
    "transpose": (lambda m, a, i, j: a.transpose(i, j).square(), a_dim(2)),
    "permute": (lambda m, a, order: a.permute(order).square(), reordered()),
    "movedim": (lambda m, a, i, j: a.movedim(i, j).square(), a_dim(2)),
    "swapaxes": (lambda m, a, i, j: a.swapaxes(i, j).square(), a_dim(2)),
    "unsqueeze": (lambda m, a, i: a.unsqueeze(i).square(), a_dim(room=1)),
    "squeeze": (lambda m, a: a.squeeze().square(), one),
    "squeeze, dim": (lambda m, a, i: a.squeeze(i).square(), a_dim()),
    "squeeze, dims": (lambda m, a, dims, keep: a.squeeze(dims).square(), some_dims()),
    "expand": (lambda m, a, shape: a.expand(shape).square(), stretched()),
    "expand_as": (lambda m, a, b: b.expand_as(a) * a, into()),
    "T": (lambda m, a, b: a.T * b.mT.T, matrices("ij", "ji")),
    # parts, and tensors together
    "getitem": (lambda m, a, index: a[index].square(), indexed()),
    "select": (lambda m, a, i: a[-1].square(), a_dim(least=1)),
    "slice": (lambda m, a, i: a[:2].square(), a_dim(least=1)),
    "setitem, twice": (lambda m, a, i: put(a.clone(), [0, 0], a.sum()).square(), a_dim(least=1)),
    "setitem": (lambda m, a, index: put(a.clone(), index, a.sum()).square(), indexed()),
    "alias": (lambda m, a: a[...] * a, one),
    "as_subclass": (lambda m, a: a.as_subclass(m.Tensor) * a, one),
    "unbind": (lambda m, a, i: [v.square() for v in a.unbind(i)], a_dim(least=1)),
    "chunk": (lambda m, a, dim, n, sizes: [v.square() for v in a.chunk(n, dim)], parts()),
    "split": (lambda m, a, dim, n, sizes: [v.square() for v in a.split(n, dim)], parts()),
    "split, sizes": (lambda m, a, dim, n, sizes: [v.square() for v in a.split(sizes, dim)], parts()),
    "stack": (lambda m, a, b: m.stack([a, b], -1).square(), alike()),
    "cat": (lambda m, a, b, dim: m.cat([a, b, a], dim).square(), rows()),
    # copies
    "clone": (lambda m, a: a.clone() * a, one),
    "contiguous": (lambda m, a, order: a.permute(order).contiguous().square(), reordered()),
    "casts": (lambda m, a: a.float().to(m.float64).double() * a, one),
    "type": (lambda m, a: a.type(m.float32).double() * a, one),
    # in place
    "add_": (lambda m, a, b: a.clone().add_(b).square(), into()),
    "sub_": (lambda m, a, b: a.clone().sub_(b).square(), into()),
    "mul_": (lambda m, a, b: a.clone().mul_(b), into()),
    "div_": (lambda m, a, b: a.clone().div_(b), into()),
    "pow_": (lambda m, a: a.clone().pow_(3), one),
    "copy_": (lambda m, a, b: a.clone().copy_(b).square(), into()),
    "zero_": (lambda m, a: a.clone().zero_() + a * a, one),
    "fill_": (lambda m, a: a.clone().fill_(2.0) + a * a, one),
    "fill_, tensor": (lambda m, a: a.clone().fill_(a.sum()).square(), one),
    "neg_": (lambda m, a: a.clone().neg_().square(), one),
    "abs_": (lambda m, a: a.clone().abs_() * a, one),
    "exp_": (lambda m, a: a.clone().exp_(), one),
    "sqrt_": (lambda m, a: a.clone().sqrt_(), log_one),
    "relu_": (lambda m, a: m.nn.functional.relu_(a.clone()) * a, one),
    "sigmoid_": (lambda m, a: a.clone().sigmoid_(), one),
    "tanh_": (lambda m, a: a.clone().tanh_(), one),
    "sin_": (lambda m, a: a.clone().sin_(), one),
    "cos_": (lambda m, a: a.clone().cos_(), one),
    "log_": (lambda m, a: a.clone().log_(), log_one),
    "sign_": (lambda m, a: a.clone().sign_() * a, one),
    "square_": (lambda m, a: a.clone().square_(), one),
    "reciprocal_": (lambda m, a: a.clone().reciprocal_(), one),
    "view in place": (lambda m, a, index: inside(a * 1, index), indexed()),
}


def inside(x, index):
    """x, a view of which was changed in place, and that view."""
    if isinstance(index, tuple) and any(isinstance(i, list) for i in index):
        index = ...
    part = x[index]
    part.mul_(part.detach() + 2)
    return [x.square(), part.square()]
