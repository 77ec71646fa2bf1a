"""Every error against PyTorch: the same call raises the same type with the same first sentence."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.leaves import leaf
from tests.parity.values import first_sentence

pytestmark = pytest.mark.torch


def freed(m):
    """A result whose graph a first pass has freed."""
    y = (leaf(m, 2) ** 2).sum()
    y.backward()
    return y


def function(m, forward=lambda ctx, x: x * 2, backward=lambda ctx, g: g * 2, setup=None):
    """A custom Function."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    if setup is not None:
        body["setup_context"] = staticmethod(setup)
    return type("Mine", (m.autograd.Function,), body)


def changed(m, op, change=lambda y: y.add_(1)):
    """Change a result in place, then run backward."""
    x = leaf(m, 2)
    y = op(x)
    change(y)
    y.sum().backward()


def hooked(m, hook):
    """Backward through a tensor with this hook."""
    x = leaf(m, 2)
    x.register_hook(hook)
    x.sum().backward()


def two_zeros(m, reduce):
    """The second derivative of a product with two factors of 0."""
    x = m.tensor([0.0, 0.0, 3.0], requires_grad=True)
    y = reduce(m.ones(2), 0, m.tensor([0, 0, 1]), x, "prod")
    grad, = m.autograd.grad(y.sum(), x, create_graph=True)
    m.autograd.grad(grad.sum(), x)


def assigned(tensor, **values):
    """Set attributes."""
    for name, value in values.items():
        setattr(tensor, name, value)


ERRORS = {
    # backward
    "not a scalar": lambda m: (leaf(m, 2) * 2).backward(),
    "no graph": lambda m: m.ones(1).backward(),
    "no graph, with gradient": lambda m: m.ones(2).backward(m.ones(2)),
    "twice": lambda m: freed(m).backward(),
    "twice by grad": lambda m: m.autograd.grad(freed(m), leaf(m, 1)),
    "wrong gradient shape": lambda m: (leaf(m, 2) * 2).backward(m.ones(3)),
    "wrong gradient shape in grad": lambda m: m.autograd.grad((x := leaf(m, 2)) * 2, x, m.ones(3)),
    "gradient is a number": lambda m: (leaf(m, 2) * 2).backward(1.0),
    "too few gradients": lambda m: m.autograd.backward([leaf(m, 1), leaf(m, 1)], [m.ones(1)]),
    "empty inputs": lambda m: leaf(m).backward(inputs=[]),
    "unused": lambda m: m.autograd.grad(leaf(m), leaf(m)),
    "input without grad": lambda m: m.autograd.grad(leaf(m) * 2, m.ones(1)),
    "output without grad": lambda m: m.autograd.grad(m.ones(1), leaf(m)),
    "materialize but not allow": lambda m: m.autograd.grad(leaf(m) * 2, leaf(m), allow_unused=False,
                                                           materialize_grads=True),
    "backward of integers": lambda m: m.ones(1, dtype=m.int64).backward(),
    # flags of tensors
    "integer leaf": lambda m: m.tensor([1, 2], requires_grad=True),
    "integer ones": lambda m: m.ones(2, dtype=m.int64, requires_grad=True),
    "integer requires_grad_": lambda m: m.arange(3).requires_grad_(),
    "integer requires_grad": lambda m: assigned(m.arange(3), requires_grad=True),
    "bool requires_grad_": lambda m: m.tensor([True]).requires_grad_(),
    "requires_grad not a bool": lambda m: assigned(m.ones(1), requires_grad=1),
    "requires_grad_ not a bool": lambda m: m.ones(1).requires_grad_(1),
    "unset on a result": lambda m: assigned(leaf(m, 1) * 2, requires_grad=False),
    "unset_ on a result": lambda m: (leaf(m, 1) * 2).requires_grad_(False),
    "retain_grad on data": lambda m: m.ones(1).retain_grad(),
    "is_leaf is read only": lambda m: assigned(m.ones(1), is_leaf=True),
    "grad_fn is read only": lambda m: assigned(leaf(m, 1) * 2, grad_fn=None),
    "grad of another shape": lambda m: assigned(leaf(m, 2), grad=m.ones(3)),
    "grad of another dtype": lambda m: assigned(leaf(m, 2), grad=m.ones(2, dtype=m.float64)),
    "grad is a number": lambda m: assigned(leaf(m, 2), grad=3),
    "grad is itself": lambda m: assigned(x := leaf(m, 2), grad=x),
    "detach_ a view": lambda m: (leaf(m, 2) * 2)[0].detach_(),
    # numbers and arrays
    "numpy of a leaf": lambda m: leaf(m, 2).numpy(),
    "numpy of a result": lambda m: (leaf(m, 2) * 2).numpy(),
    "item of many": lambda m: m.ones(2).item(),
    "item of none": lambda m: m.ones(0).item(),
    "bool of many": lambda m: bool(m.ones(2)),
    "bool of none": lambda m: bool(m.ones(0)),
    "float of many": lambda m: float(m.ones(2)),
    "len of a number": lambda m: len(m.tensor(1.0)),
    "iterate a number": lambda m: list(m.tensor(1.0)),
    "index by a float tensor": lambda m: range(3)[m.tensor(1.0)],
    "ragged": lambda m: m.tensor([[1.0, 2.0], [3.0]]),
    "a word": lambda m: m.tensor("a"),
    "a word in a list": lambda m: m.tensor(["a"]),
    "None": lambda m: m.tensor([None]),
    # in place
    "leaf in place": lambda m: leaf(m, 2).add_(1),
    "leaf augmented": lambda m: leaf(m, 2).__iadd__(1),
    "leaf zero_": lambda m: leaf(m, 2).zero_(),
    "view of a leaf in place": lambda m: leaf(m, 2)[0].fill_(0.0),
    "leaf item": lambda m: leaf(m, 2).__setitem__(0, 1.0),
    "in place does not fit": lambda m: m.ones(2).add_(m.ones(3)),
    "in place would grow": lambda m: m.ones(1).add_(m.ones(3)),
    "in place would promote": lambda m: m.ones(2, dtype=m.int64).add_(1.5),
    "unbound row in place": lambda m: leaf(m, 2, 2).exp().unbind()[0].add_(1),
    "exp changed": lambda m: changed(m, lambda x: x.exp()),
    "sqrt changed": lambda m: changed(m, lambda x: x.sqrt()),
    "sigmoid changed": lambda m: changed(m, lambda x: x.sigmoid()),
    "tanh changed": lambda m: changed(m, lambda x: x.tanh()),
    "relu changed": lambda m: changed(m, lambda x: x.relu()),
    "relu changed twice": lambda m: changed(m, lambda x: x.relu(), lambda y: y.add_(1).mul_(2)),
    "factor changed": lambda m: ((y := leaf(m, 2) * 1), (z := y * y), y.add_(1), z.sum().backward()),
    "input changed": lambda m: ((w := m.ones(2)), (y := leaf(m, 2) * w), w.add_(1), y.sum().backward()),
    "input changed by its detached": lambda m: ((w := m.ones(2)), (y := leaf(m, 2) * w), w.detach().add_(1),
                                                y.sum().backward()),
    "view of input changed": lambda m: ((w := m.ones(2)), (y := leaf(m, 2) * w), w[0].add_(1), y.sum().backward()),
    # hooks
    "hook on data": lambda m: m.ones(1).register_hook(print),
    "hook of another shape": lambda m: hooked(m, lambda g: g.sum()),
    "hook gives a number": lambda m: hooked(m, lambda g: 3),
    "post accumulate on a result": lambda m: (leaf(m, 1) * 2).register_post_accumulate_grad_hook(print),
    "post accumulate on data": lambda m: m.ones(1).register_post_accumulate_grad_hook(print),
    "hook raises": lambda m: hooked(m, lambda g: 1 // 0),
    # nodes
    "node called without": lambda m: (leaf(m, 2) * 2).grad_fn(),
    "node called with two": lambda m: (leaf(m, 2) * 2).grad_fn(m.ones(2), m.ones(2)),
    "node called with a number": lambda m: (leaf(m, 2) * 2).grad_fn(1.0),
    "freed node called": lambda m: ((y := leaf(m, 2).exp()), (n := y.grad_fn), y.sum().backward(), n(m.ones(2))),
    "saved of a freed node": lambda m: ((y := leaf(m, 2).exp()), (n := y.grad_fn), y.sum().backward(), n._saved_result),
    # functions
    "too many gradients": lambda m: function(m, backward=lambda ctx, g: (g, g)).apply(leaf(m, 2)).sum().backward(),
    "too few gradients of Function": lambda m: function(m, lambda ctx, x, y: x * y).apply(
        leaf(m, 2), leaf(m, 2)).sum().backward(),
    "gradient of another shape": lambda m: function(m, backward=lambda ctx, g: m.ones(2, 3)).apply(
        leaf(m, 2)).sum().backward(),
    "gradient is a float": lambda m: function(m, backward=lambda ctx, g: 1.0).apply(leaf(m, 2)).sum().backward(),
    "forward gives a number": lambda m: function(m, lambda ctx, x: 3).apply(leaf(m, 2)).sum(),
    "save a number": lambda m: function(m, lambda ctx, x: ctx.save_for_backward(3)).apply(leaf(m, 2)),
    "Function itself": lambda m: m.autograd.Function.apply(leaf(m, 2)),
    "Function called": lambda m: m.autograd.Function()(leaf(m, 2)),
    "no backward": lambda m: type("Half", (m.autograd.Function,), {
        "forward": staticmethod(lambda ctx, x: x * 2)}).apply(leaf(m, 2)).sum().backward(),
    "saved of a freed Function": lambda m: ((y := function(
        m, lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], lambda ctx, g: ctx.saved_tensors[0] * g).apply(
            leaf(m, 2)).sum()), y.backward(), y.backward()),
    # sizes
    "add sizes": lambda m: m.ones(2) + m.ones(3),
    "add deep sizes": lambda m: m.ones(2, 3) * m.ones(2, 1, 4),
    "matmul sizes": lambda m: m.ones(2, 3) @ m.ones(2, 3),
    "mm of a vector": lambda m: m.mm(m.ones(2), m.ones(2)),
    "mm sizes": lambda m: m.ones(2, 3).mm(m.ones(2, 3)),
    "mv sizes": lambda m: m.ones(2, 3) @ m.ones(2),
    "dot sizes": lambda m: m.ones(2) @ m.ones(3),
    "matmul of a number": lambda m: m.ones(2) @ m.tensor(1.0),
    "matmul dtypes": lambda m: m.ones(2, 2) @ m.ones(2, 2, dtype=m.float64),
    "bmm sizes": lambda m: m.bmm(m.ones(2, 2, 3), m.ones(2, 2, 3)),
    "batch sizes": lambda m: m.ones(2, 2, 3) @ m.ones(3, 3, 2),
    "linear sizes": lambda m: m.nn.Linear(3, 2)(m.ones(4)),
    "linear sizes 2d": lambda m: m.nn.Linear(3, 2)(m.ones(1, 4)),
    "view": lambda m: m.ones(2).view(3),
    "view -1": lambda m: m.ones(3).view(-1, 2),
    "two -1": lambda m: m.ones(4).view(-1, -1),
    "view of a transpose": lambda m: m.ones(2, 3).t().view(6),
    "reshape": lambda m: m.ones(2).reshape(3, 3),
    "t of 3d": lambda m: m.ones(2, 2, 2).t(),
    "permute": lambda m: m.ones(2, 2).permute(0, 0),
    "expand": lambda m: m.ones(2, 3).expand(2, 4),
    "expand fewer": lambda m: m.ones(2, 3).expand(3),
    "stack sizes": lambda m: m.stack([m.ones(2), m.ones(3)]),
    "stack nothing": lambda m: m.stack([]),
    "cat sizes": lambda m: m.cat([m.ones(2, 2), m.ones(2, 3)]),
    "cat nothing": lambda m: m.cat([]),
    "cat dims": lambda m: m.cat([m.ones(2, 2), m.ones(2)]),
    "split sizes": lambda m: m.ones(4).split([1, 2]),
    "chunk 0": lambda m: m.ones(4).chunk(0),
    "unbind a number": lambda m: m.tensor(1.0).unbind(),
    "sum dim": lambda m: m.ones(2).sum(1),
    "sum dim twice": lambda m: m.ones(2, 2).sum((0, 0)),
    "unsqueeze dim": lambda m: m.ones(2).unsqueeze(3),
    "mean of integers": lambda m: m.arange(3).mean(),
    "mse reduction": lambda m: m.nn.functional.mse_loss(m.ones(2), m.ones(2), reduction="no"),
    "allclose dtypes": lambda m: m.allclose(m.ones(2), m.ones(2, dtype=m.float64)),
    "no size": lambda m: m.ones(),
    "negative size": lambda m: m.ones(-1),
    "arange": lambda m: m.arange(3, 1),
    "arange step": lambda m: m.arange(1, 3, 0),
    # operands
    "add a word": lambda m: m.ones(2) + "a",
    "word add": lambda m: "a" + m.ones(2),
    "mul None": lambda m: m.ones(2) * None,
    "matmul a number": lambda m: m.ones(2) @ 3,
    "sub bools": lambda m: m.tensor([True]) - m.tensor([True]),
    "neg bools": lambda m: -m.tensor([True]),
    "integer power": lambda m: m.arange(3) ** -1,
    "relu of a number": lambda m: m.relu(3.0),
    # indices
    "index": lambda m: m.ones(2)[5],
    "index back": lambda m: m.ones(2)[-3],
    "index deep": lambda m: m.ones(2, 3)[0, 3],
    "too many indices": lambda m: m.ones(2)[0, 0],
    "index of a number": lambda m: m.tensor(1.0)[0],
    "float index": lambda m: m.ones(2)[1.0],
    "float tensor index": lambda m: m.ones(2)[m.ones(1)],
    "list index": lambda m: m.ones(2)[[0, 5]],
    "mask size": lambda m: m.ones(2)[m.tensor([True, False, True])],
    "negative step": lambda m: m.ones(3)[::-1],
    "word index": lambda m: m.ones(3)["a"],
    "set sizes": lambda m: m.ones(3).__setitem__(slice(0, 2), m.ones(3)),
    # modes, devices
    "inference tensor saved": lambda m: infer(m),
    "device": lambda m: m.ones(2, device="nowhere"),
    "dtype": lambda m: m.ones(2, dtype="float32"),
    "requires_grad deleted": lambda m: delattr(leaf(m, 2), "requires_grad"),
    # derivatives that there are not
    "elu_ with a negative alpha": lambda m: m.nn.functional.elu_(leaf(m, 2) * 1, -2.0).sum().backward(),
    "celu_ with a negative alpha": lambda m: m.nn.functional.celu_(leaf(m, 2) * 1, -2.0).sum().backward(),
    "rrelu_ with a negative slope": lambda m: m.rrelu_(leaf(m, 2) * 1, -3.0, 1.0).sum().backward(),
    "hardtanh of bytes, a limit below 0": lambda m: m.nn.functional.hardtanh(m.ones(2).byte(), -1, 1),
    "hardtanh of bytes, a limit beyond them": lambda m: m.nn.functional.hardtanh(m.ones(2).byte(), 0, 300),
    "hardtanh of float16, a limit beyond it": lambda m: m.nn.functional.hardtanh(m.ones(2).half(), -3e9, 1),
    "hardtanh of integers, no limit": lambda m: m.nn.functional.hardtanh(m.ones(2).long(), 0, float("inf")),
    "rrelu of float16, training": lambda m: m.rrelu(m.ones(2).half(), training=True),
    "rrelu_ of integers, training": lambda m: m.rrelu_(m.ones(2).long(), training=True),
    "second derivative of scatter_reduce at two zeros": lambda m: two_zeros(m, m.scatter_reduce),
    "second derivative of index_reduce at two zeros": lambda m: two_zeros(m, m.index_reduce),
    # losses and indices
    "class weights in a matrix": lambda m: m.nn.functional.nll_loss(m.ones(4, 3), m.arange(3)[[0, 1, 2, 0]],
                                                                    m.ones(3, 1)),
    "class weights for images": lambda m: m.nn.functional.nll_loss(m.ones(2, 3, 1, 1), m.zeros(2, 1, 1).long(),
                                                                   m.ones(4)),
    "class weights for probabilities": lambda m: m.nn.functional.cross_entropy(m.ones(4, 3), m.ones(4, 3),
                                                                               m.ones(1, 3)),
    "class weights of another dtype": lambda m: m.nn.functional.multi_margin_loss(
        m.ones(2, 3), m.zeros(2).long(), weight=m.ones(3, dtype=m.float64)),
    "no index": lambda m: m.ones(2).index_put([], m.ones(3)),
    # modules
    "attribute": lambda m: m.nn.Linear(2, 2).nothing,
    "parameter of integers": lambda m: m.nn.Parameter(m.arange(3)),
    "module without init": lambda m: setattr(type("M", (m.nn.Module,), {"__init__": lambda s: None})(), "p",
                                             m.nn.Parameter(m.ones(1))),
    "no forward": lambda m: m.nn.Module()(m.ones(1)),
}


def infer(m):
    """Use a tensor of inference mode in a graph."""
    with m.inference_mode():
        x = m.ones(2)
    return leaf(m, 2) * x


# Of these Python writes the text, differently for a class in C.
PYTHONS_WORDS = {"is_leaf is read only", "grad_fn is read only"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ERRORS)
def test_error(torch, name):
    with pytest.raises(Exception) as theirs:
        ERRORS[name](torch)
    with pytest.raises(theirs.type) as ours:
        ERRORS[name](minigrad)
    assert name in PYTHONS_WORDS or first_sentence(ours.value) == first_sentence(theirs.value)
