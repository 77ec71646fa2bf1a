"""bfloat16 is as in PyTorch: what it prints, what it meets, how it rounds, and what gradients it gets."""

import copy
import io
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import minigrad
import minigrad.nn
import minigrad.utils.checkpoint
from minigrad._base.optional import MissingExtra
from minigrad.recorder import record

pytestmark = pytest.mark.torch


def said(program, m):
    """What a program gives, as text: its result, or its error."""
    m.manual_seed(0)
    try:
        return str(program(m))
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


FACTS = {
    "printed": lambda m: m.tensor([1.0, 2.0], dtype=m.bfloat16),
    "rounded": lambda m: m.linspace(-3, 3, 50).to(m.bfloat16),
    "meets float16": lambda m: m.result_type(m.ones(1, dtype=m.bfloat16), m.ones(1, dtype=m.float16)),
    "meets a number": lambda m: m.result_type(m.ones(1, dtype=m.bfloat16), 2.0),
    "meets integers": lambda m: m.ones(2, dtype=m.bfloat16) + m.arange(2),
    "meets float32": lambda m: m.ones(2, dtype=m.bfloat16) * m.linspace(0, 0.1, 2),
    "meets bools": lambda m: m.ones(2, dtype=m.bfloat16) + m.tensor([True, False]),
    "finfo": lambda m: m.finfo(m.bfloat16),
    "numpy": lambda m: m.ones(2, dtype=m.bfloat16).numpy(),
    "item": lambda m: m.tensor(0.1, dtype=m.bfloat16).item(),
    "tolist": lambda m: m.tensor([0.1, 3.0], dtype=m.bfloat16).tolist(),
    "facts": lambda m: (m.bfloat16.is_floating_point, m.bfloat16.itemsize, m.ones(1).bfloat16().type()),
    "bits": lambda m: m.tensor([0.1, -2.0], dtype=m.bfloat16).view(m.int16),
    "module": lambda m: m.nn.Linear(3, 2).bfloat16().weight,
    "to": lambda m: m.nn.BatchNorm1d(2).to(m.bfloat16).state_dict(),
    "rand": lambda m: m.rand(40, dtype=m.bfloat16),
    "randn": lambda m: m.randn(40, dtype=m.bfloat16),
    "normal_": lambda m: m.empty(3, dtype=m.bfloat16).normal_(1, 2),
    "uniform_": lambda m: m.empty(9, dtype=m.bfloat16).uniform_(-1, 3),
    "in place": lambda m: m.ones(3, dtype=m.bfloat16).add_(1.3).mul_(m.full((3,), 1.01)),
    "written": lambda m: m.zeros(3).copy_(m.full((3,), 1.01, dtype=m.bfloat16)),
    "stacked with float32": lambda m: m.stack([m.ones(2), m.full((2,), 0.1, dtype=m.bfloat16)]),
    "norm with float32": lambda m: m.nn.utils.get_total_norm([m.ones(3), m.ones(2, dtype=m.bfloat16)]),
    "sum in bfloat16": lambda m: (m.linspace(0, 1, 50).sum(dtype=m.bfloat16), m.ones(2, 3).sum(0, dtype=m.bfloat16)),
    "sum in float16": lambda m: m.ones(5000).sum(dtype=m.float16),
    "sum of many": lambda m: m.ones(1000, dtype=m.bfloat16).sum(),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts(torch, name):
    assert said(FACTS[name], minigrad) == said(FACTS[name], torch)


OPS = {
    "mul": lambda m, x, w: x * w, "add": lambda m, x, w: m.add(x, w, alpha=2), "div": lambda m, x, w: x / w,
    "by a number": lambda m, x, w: x * 2.3, "matmul": lambda m, x, w: x @ w.t(),
    "linear": lambda m, x, w: m.nn.functional.linear(x, w, m.tensor([0.5, 0.25], dtype=m.bfloat16)),
    "bmm": lambda m, x, w: m.bmm(x[None], w.t()[None]), "softmax": lambda m, x, w: m.softmax(x, 1),
    "conv1d": lambda m, x, w: m.nn.functional.conv1d(x[None], w[None]), "exp": lambda m, x, w: x.exp(),
    "gelu": lambda m, x, w: m.nn.functional.gelu(x), "tanh": lambda m, x, w: x.tanh(),
    "mse_loss": lambda m, x, w: m.nn.functional.mse_loss(x, w), "sum": lambda m, x, w: x.sum(0),
    "mean": lambda m, x, w: x.mean(), "max": lambda m, x, w: x.max(1)[0], "cat": lambda m, x, w: m.cat([x, w]),
    "where": lambda m, x, w: m.where(x > 1, x, w), "float": lambda m, x, w: x.float() * 2,
    "embedding": lambda m, x, w: m.nn.functional.embedding(m.tensor([0, 1, 1]), x), "power": lambda m, x, w: x ** 2,
    "einsum": lambda m, x, w: m.einsum("ij,kj->ik", x, w), "unbind": lambda m, x, w: x.unbind(0)[1],
    "expand": lambda m, x, w: x.expand(4, 2, 3), "max_pool1d": lambda m, x, w: m.nn.functional.max_pool1d(x[None], 2),
}
CLOSE = {  # PyTorch rounds between its steps, or has other functions: to a few of the last bits
    "rsub": lambda m, x, w: 1.1 - x, "log_softmax": lambda m, x, w: m.log_softmax(x, 1),
    "var": lambda m, x, w: x.var(1),
    "cross_entropy": lambda m, x, w: m.nn.functional.cross_entropy(x, m.tensor([0, 2])),
    "layer_norm": lambda m, x, w: m.nn.functional.layer_norm(x, (3,)), "erf": lambda m, x, w: m.erf(x),
    "batch_norm": lambda m, x, w: m.nn.functional.batch_norm(x, None, None, training=True),
    "logsumexp": lambda m, x, w: x.logsumexp(1), "std": lambda m, x, w: x.std(),
    "rms_norm of small numbers": lambda m, x, w: m.nn.functional.rms_norm(x / 1000, (3,), w[0]) / 1000,
}


def graph(node):
    """The names of a graph's nodes, as a tree."""
    return node and (node.name(), [graph(each) for each, _ in node.next_functions])


def run(m, program):
    """The result of a program, the gradients of its two inputs, and the graph."""
    x = m.tensor([[1.0, 2.0, 3.5], [0.1, -4.0, 7.0]], dtype=m.bfloat16, requires_grad=True)
    w = m.tensor([[0.3, 0.2, 0.7], [1.0, 2.0, 3.0]], dtype=m.bfloat16, requires_grad=True)
    y = program(m, x, w)
    names = graph(y.grad_fn)
    y.float().sum().backward()
    return [y, *[v.grad for v in (x, w) if v.grad is not None]], names


@pytest.mark.parametrize("name", {**OPS, **CLOSE})
def test_op(torch, name):
    (ours, our_graph), (theirs, their_graph) = [run(m, {**OPS, **CLOSE}[name]) for m in (minigrad, torch)]
    assert our_graph == their_graph
    assert [str(v.dtype) for v in ours] == [str(v.dtype) for v in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        if name in OPS:
            assert mine.tolist() == other.tolist()
        else:
            np.testing.assert_allclose(mine.tolist(), other.tolist(), rtol=2 ** -7, atol=2 ** -6.5)


def test_second_order(torch):
    def program(m):
        x = m.tensor([1.5, -0.3], dtype=m.bfloat16, requires_grad=True)
        first, = m.autograd.grad((x ** 3).sum(), x, create_graph=True)
        return first.tolist(), m.autograd.grad(first.sum(), x)[0].tolist()
    assert program(minigrad) == program(torch)


def in_default_dtype(m):
    m.set_default_dtype(m.bfloat16)
    try:
        m.manual_seed(0)
        x = m.tensor([1.5, 2.5])
        return str((x, m.rand(3), m.nn.Linear(2, 2)(x), m.arange(0, 1, 0.25), m.linspace(0, 1, 3), m.ones(2) * 2.5,
                    m.zeros(2, dtype=m.int64) + 1.5, m.full((2,), 0.1), m.eye(2), m.Tensor([1, 2])))
    finally:
        m.set_default_dtype(m.float32)


def test_as_the_default_dtype(torch):
    assert in_default_dtype(minigrad) == in_default_dtype(torch)


def recomputed(m):
    x = m.tensor([1.0, 2.0], dtype=m.bfloat16, requires_grad=True)
    m.utils.checkpoint.checkpoint(lambda v: v.exp() * v, x, use_reentrant=False).sum().backward()
    return x.grad.tolist()


def test_checkpoint(torch):
    assert recomputed(minigrad) == recomputed(torch)


def test_views_and_writes_share_memory(torch):
    def program(m):
        x = m.zeros(2, 3, dtype=m.bfloat16)
        x.t()[1].add_(1.3)
        x[1, 2] = 0.7
        x.view(m.int16)[0, 0] = 0x3F80
        y = x.as_strided((2, 2), (1, 2))
        return str((x, y, x.stride(), x.data_ptr() == x[0].data_ptr(), x.untyped_storage().nbytes(), copy.deepcopy(x),
                    pickle.loads(pickle.dumps(x)), x._version))
    assert program(minigrad) == program(torch)


def test_a_compiled_function_runs_eagerly():
    step = minigrad.compile(lambda x: (x * 2).exp().sum())
    x = minigrad.ones(3, dtype=minigrad.bfloat16)
    with pytest.warns(UserWarning, match="runs eagerly from now on: a tensor is of bfloat16"):
        results = [step(x).item() for _ in range(3)]
    assert results == [(x * 2).exp().sum().item()] * 3


def test_a_compiled_step_that_casts_runs_eagerly():
    net = minigrad.nn.Sequential(minigrad.nn.Linear(4, 2), minigrad.nn.Dropout(0.5))

    def step():
        net.zero_grad()
        with minigrad.autocast("cpu"):
            y = net(minigrad.ones(3, 4)) * minigrad.rand(2, dtype=minigrad.bfloat16)
        y.sum().backward()
        return y

    def run(function):
        minigrad.manual_seed(0)
        return [(function().tolist(), net[0].weight.grad.tolist()) for _ in range(3)]

    compiled = minigrad.compile(step)
    with pytest.warns(UserWarning, match="runs eagerly from now on: a tensor is of bfloat16") as warned:
        results = run(compiled)
    assert len(warned) == 1 and results == run(step)


def test_a_recording_has_the_numbers():
    with record() as trace:
        x = minigrad.tensor([1.0, 0.1], dtype=minigrad.bfloat16, requires_grad=True)
        (x * 2).sum().backward()
    shown = json.dumps(trace.to_dict())
    assert "bfloat16" in shown and "0.10009765625" in shown


def test_numpy_takes_none_without_a_word():
    with pytest.raises(TypeError, match="NumPy has no bfloat16"):
        np.asarray(minigrad.ones(2, dtype=minigrad.bfloat16).array)


def test_pickled_in_another_process(tmp_path):
    with open(tmp_path / "x.pkl", "wb") as file:
        pickle.dump((minigrad.tensor([0.1, 2.0], dtype=minigrad.bfloat16), minigrad.bfloat16), file)
    program = "import pickle, sys, minigrad; x, d = pickle.load(open(sys.argv[1], 'rb')); print(x + 1, x.dtype is d)"
    shown = subprocess.run([sys.executable, "-c", program, tmp_path / "x.pkl"], capture_output=True, text=True,
                           check=True)
    assert shown.stdout == "tensor([1.1016, 3.0000], dtype=torch.bfloat16) True\n"


def test_files_go_both_ways(torch):
    theirs, ours = io.BytesIO(), io.BytesIO()
    torch.save({"x": torch.tensor([0.1, 2.0], dtype=torch.bfloat16), "d": torch.bfloat16}, theirs)
    minigrad.save({"x": minigrad.tensor([0.1, 2.0], dtype=minigrad.bfloat16), "d": minigrad.bfloat16}, ours)
    assert str(minigrad.load(io.BytesIO(theirs.getvalue()))) == str(torch.load(io.BytesIO(ours.getvalue())))


def test_without_the_package_the_extra_is_named(monkeypatch):
    for name in ("minigrad.ops._dispatch.bfloat16", "minigrad.backends.bfloat16"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(MissingExtra, match=r"minigrad-kit\[bfloat16\]"):
        minigrad.bfloat16  # noqa: B018 (the attribute raises)
