"""The names of nodes: what every op is called in the graph, with its edges, in both libraries.

One line per name: the expressions whose result has a node of that name. A new op gets its expression here.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import minigrad
from minigrad import ops
from minigrad.core.graph import Node
from tests.ops_page import graphs, methods_of
from tests.parity.ops.overloads import classes
from tests.parity.tables import merged, modules
from tests.parity.tables import text as source

pytestmark = pytest.mark.torch

# x, y: matrices that require grad; v: a vector; s: a number; b: a batch of matrices; d: data; z: a fresh result, for
# ops in place; i: indices; j: a matrix of them; F: torch.nn.functional
NAMES = {
    # pointwise
    "AddBackward0": "x + y, x + 1, 1 + x, torch.add(x, y), torch.add(x, 1), torch.add(x, y, alpha=2), x.add(y), "
                    "z.add_(y), z.add_(1), z.__iadd__(y), z.__iadd__(2), x.add(1, alpha=2), z.add_(y, alpha=2), x + v, "
                    "x + s, d + x",
    "SubBackward0": "x - y, x - 1, torch.sub(x, y), torch.sub(x, 1), torch.sub(x, y, alpha=2), x.sub(y), z.sub_(y), "
                    "z.sub_(1), z.__isub__(y), d - x, z.sub_(y, alpha=2)",
    "RsubBackward1": "1 - x, 2.5 - x, torch.rsub(x, 2)",
    "MulBackward0": "x * y, x * 2, 2 * x, torch.mul(x, y), torch.mul(x, 2), x.mul(y), z.mul_(y), z.mul_(2), "
                    "z.__imul__(y), d * x, x * d, x * x, x * s, 2 / x",
    "DivBackward0": "x / y, x / 2, torch.div(x, y), x.div(2), z.div_(y), z.div_(2), z.__itruediv__(y), d / x",
    "ReciprocalBackward0": "x.reciprocal(), torch.reciprocal(x), z.reciprocal_()",
    "NegBackward0": "-x, x.neg(), torch.neg(x), z.neg_()",
    "PowBackward0": "x ** 2, x ** 0.5, x ** 3, x ** 1, x ** 0, x ** -1, torch.pow(x, 2), x.pow(2), z.pow_(2), "
                    "z.__ipow__(3), x.square(), torch.square(x), "
                    "z.square_()",
    "PowBackward1": "x ** y, torch.pow(x, y), x.pow(y), z.pow_(y), d ** x, x ** s",
    "PowBackward2": "2 ** x, torch.pow(2, x), 0.5 ** s",
    "ExpBackward0": "x.exp(), torch.exp(x), z.exp_()",
    "LogBackward0": "x.log(), torch.log(x), z.log_()",
    "SqrtBackward0": "x.sqrt(), torch.sqrt(x), z.sqrt_()",
    "SinBackward0": "x.sin(), torch.sin(x), z.sin_()",
    "CosBackward0": "x.cos(), torch.cos(x), z.cos_()",
    "AbsBackward0": "x.abs(), abs(x), torch.abs(x), z.abs_()",
    "SignBackward0": "x.sign(), torch.sign(x), z.sign_()",
    "WhereBackward0": "torch.where(d > 0, x, y), torch.where(d > 0, x, 0.0), torch.where(d > 0, 0.0, x)",
    "ReluBackward0": "x.relu(), torch.relu(x), F.relu(x), z.relu_(), torch.nn.ReLU()(x)",
    "ThresholdBackwardBackward0": "torch.autograd.grad(x.relu(), x, y, create_graph=True)[0]",
    "SigmoidBackward0": "x.sigmoid(), torch.sigmoid(x), z.sigmoid_()",
    "TanhBackwardBackward0": "torch.autograd.grad(x.tanh(), x, y, create_graph=True)[0]",
    "TanhBackward0": "x.tanh(), torch.tanh(x), z.tanh_()",
    # reductions
    "SumBackward0": "x.sum(), torch.sum(x), s.sum()",
    "SumBackward1": "x.sum(0), x.sum(dim=1), x.sum((0, 1)), x.sum(1, keepdim=True), torch.sum(x, 0), x.sum(-1)",
    "MeanBackward0": "x.mean(), torch.mean(x), F.l1_loss(x, d)",
    "MeanBackward1": "x.mean(0), x.mean((0, 1)), x.mean(1, keepdim=True), torch.mean(x, dim=0)",
    "LinalgVectorNormBackward0": "x.norm(), torch.norm(x), x.norm(2), x.norm(p=1), x.norm(dim=1), x.norm(2, 1)",
    # products of matrices
    "MmBackward0": "x @ x.t(), x.mm(y.t()), torch.mm(x, y.t()), torch.matmul(x, y.t()), x.matmul(y.t())",
    "MvBackward0": "x @ v, x.mv(v), torch.mv(x, v)",
    "DotBackward0": "v @ v, v.dot(v), torch.dot(v, v)",
    "BmmBackward0": "b.bmm(b), torch.bmm(b, b)",
    "AddmmBackward0": "torch.addmm(w, w, w), w.addmm(w, w), F.linear(x, y, v[:2])",
    # shapes
    "ViewBackward0": "x.view(6), x.view(3, 2), x.reshape(6), torch.reshape(x, (3, 2)), x.view_as(x), x.flatten(), "
                     "torch.flatten(x), x.view(-1)",
    "UnsafeViewBackward0": "x.t().reshape(6), x.t().flatten(), b @ b, b @ w",
    "TBackward0": "x.t(), torch.t(x), v.t()",
    "TransposeBackward0": "x.transpose(0, 1), torch.transpose(x, 0, 1), x.mT, x.swapaxes(0, 1)",
    "PermuteBackward0": "x.T, x.permute(1, 0), torch.permute(x, (1, 0)), x.movedim(0, 1), torch.movedim(x, 0, 1)",
    "UnsqueezeBackward0": "x.unsqueeze(0), torch.unsqueeze(x, -1), x[None], x[:, None]",
    "SqueezeBackward0": "x.squeeze(), torch.squeeze(x)",
    "SqueezeBackward1": "x.squeeze(0), x.squeeze(dim=-1)",
    "SqueezeBackward2": "x.squeeze((0, 1))",
    "SqueezeBackward4": "v @ w, torch.matmul(v, w)",
    "ExpandBackward0": "x.expand(4, 2, 3), x.expand_as(b[:, :2]), s.expand(3), "
                       "x.expand(-1, -1)",
    # joining and splitting
    "CatBackward0": "torch.cat([x, y]), torch.cat([x, d], 1)",
    "StackBackward0": "torch.stack([x, y]), torch.stack([x, d], 1)",
    "SplitBackward0": "x.split(1)[1], torch.split(x, 2, 1)[0], x.chunk(2)[1], torch.chunk(x, 2)[0]",
    "SplitWithSizesBackward0": "x.split([1, 1])[0], torch.split(x, [1, 2], 1)[1]",
    "UnbindBackward0": "x.unbind()[1], torch.unbind(x, 1)[2], list(x)[0]",
    # indices
    "SelectBackward0": "x[0], x[0, 1], x[-1], v[0], x[..., 0], x[:, 0]",
    "SliceBackward0": "x[1:], x[0:1], x[:, 1:], x[::2], x[0, 1:], v[:2], x[:]",
    "AliasBackward0": "x[...], s[...], x[:, :]",
    "IndexBackward0": "x[[0, 1]], x[i], x[d > 0], v[i], x[i, i], x[0, [1, 2]], x[1:, i]",
    "IndexPutBackward0": "put(z, i, 1.0), put(z, i, x[:2]), put(z, d > 0, 0.0)",
    "CopySlices": "put(z, 0, 1.0), put(z, slice(1, None), y[1:]), put(z, (0, 1), s)",
    # copies
    "CloneBackward0": "x.clone(), torch.clone(x), x.t().contiguous()",
    "CopyBackwards": "z.copy_(y), z.copy_(d), torch.zeros(2, 3).copy_(x), put(z, ..., y)",
    "ToCopyBackward0": "x.to(torch.float64), x.double(), x.half(), x.to(dtype=torch.float64), x.to(x, copy=True), "
                       "x.double().float()",
    "ZeroBackward0": "z.zero_()",
    "FillBackward2": "z.fill_(1.0)",
    "FillBackward3": "z.fill_(s)",
    # random numbers
    "UniformBackward0": "z.uniform_()",
    "NormalBackward0": "z.normal_()",
    "NormalBackward1": "torch.normal(x, 1.0)",
    "NormalBackward2": "torch.normal(1.0, x * x)",
    "NormalBackward3": "torch.normal(x, y * y)",
    "ExponentialBackward0": "z.exponential_()",
    "LogNormalBackward0": "z.log_normal_()",
    "CauchyBackward0": "z.cauchy_()",
    "GeometricBackward0": "z.geometric_(0.5)",
    "RandomBackward0": "z.random_(2, 5)",
    "RandomBackward1": "z.random_(5)",
    "RandomBackward2": "z.random_()",
    "BernoulliBackward0": "torch.bernoulli(x * 0), (x * 0).bernoulli()",
    "BernoulliBackward1": "z.bernoulli_(d * 0)",
    "BernoulliBackward2": "z.bernoulli_(0.5)",
    "PoissonBackward0": "torch.poisson(x * x)",
    "AsStridedBackward0": "after(z, lambda z: z[0], lambda z: z.mul_(2)), "
                          "after(z, lambda z: z.t(), lambda z: z.add_(1)), "
                          "after(z, lambda z: z[0], lambda z: z[1].mul_(2))",
    # losses
    "MseLossBackward0": "F.mse_loss(x, d), F.mse_loss(x, y, reduction='none'), torch.nn.MSELoss(reduction='sum')(x, y)",
    "NoneType": "x.detach(), x.data, x > 0, x.eq(y), x != y, x.long(), x.int(), x.bool(), x.short(), x.char(), "
                "x.byte(), x.cpu(), x.contiguous(), x.float(), x.to('cpu'), d * 2, torch.zeros_like(x), x.sign() > 0",
}

# Subjects bring their expressions in files of their own, names_<subject>.py.
for _module in modules("names"):
    for _name, _row in _module.NAMES.items():
        NAMES[_name] = f"{NAMES[_name]}, {_row}" if _name in NAMES else _row


def put(tensor, index, value):
    """`tensor[index] = value`."""
    tensor[index] = value
    return tensor


def after(tensor, view, write):
    """A view of a tensor that was written to after the view was taken."""
    seen = view(tensor)
    write(tensor)
    return seen


def inputs(lib):
    """What the expressions speak of."""
    def tensor(*shape):
        count = int(np.prod(shape))
        return lib.from_numpy(np.linspace(0.3, 1.7, count).reshape(shape).astype("float32")).requires_grad_()

    x = tensor(2, 3)
    return {"torch": lib, "F": lib.nn.functional, "put": put, "after": after, "x": x, "y": tensor(2, 3),
            "v": tensor(3), "s": tensor(), "b": tensor(2, 3, 3), "w": tensor(3, 3), "d": tensor(2, 3).detach() - 1,
            "z": x.clone(), "i": lib.tensor([0, 1]), "j": lib.tensor([[0, 1, 0], [1, 0, 0]])}


def cases():
    """The expressions, each with the name of its node."""
    for name, row in NAMES.items():
        depth, start = 0, 0
        for at, letter in enumerate(row + ","):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                yield row[start:at].strip(), name
                start = at + 1


def described(tensor):
    """All names that a result shows: of its node, in print, along its edges."""
    node = tensor.grad_fn
    if node is None:
        return "NoneType", tensor.requires_grad, "grad_fn" in str(tensor)
    edges = [(None if other is None else other.name(), number) for other, number in node.next_functions]
    return (type(node).__name__, node.name(), re.sub("0x[0-9a-f]+", "", repr(node)),
            re.findall("grad_fn=<[^>]*>", str(tensor)), edges, tensor.output_nr)


@pytest.mark.filterwarnings("ignore:The use of `x.T`")
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
@pytest.mark.parametrize(("expression", "name"), list(cases()))
def test_name(torch, expression, name):
    ours, theirs = (described(eval(expression, inputs(lib))) for lib in (minigrad, torch))
    assert ours == theirs
    assert ours[0] == name


def test_every_op_is_in_a_table():
    """Of names, or of cases, whose whole graphs are compared."""
    text = " ".join([*NAMES.values(), source("cases")])
    without_a_node = {*methods_of("pointwise.compare", "factory", "tensor.storage",
                                  "tensor.properties", "compat.complex"), "cuda", "multinomial"}
    methods = {*ops.METHODS} - without_a_node
    assert {name for name in methods if not re.search(rf"\b{name}\(", text)} == set()


def test_every_node_is_in_a_table():
    made = {cls.__name__ for cls in classes(Node) if cls.__module__.startswith("minigrad.ops.") and cls.op}
    of_recorded_passes = {"ScatterBackward0", "MaskedBackward0", *merged("names", "XP")}  # PyTorch has other ops
    # inside of the graph of quantile, so that no result has them; and of what PyTorch warns of
    never_last = {"TransposeBackward1", "UnsqueezeBackward1", "CholeskyBackward0"}
    of_devices = {"NativeDropoutBackward0"}  # tests/device/ops/test_random.py looks at it
    of_cases = {cls.__name__ for nodes in graphs().values() for cls in nodes}
    assert made - of_recorded_passes - never_last - of_devices - of_cases <= set(NAMES)
