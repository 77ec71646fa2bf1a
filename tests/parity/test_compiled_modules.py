"""Compiled modules and functions with the loss outside, as PyTorch's: its own backend here is `aot_eager`, which needs
no compiler of C++."""

from __future__ import annotations

import contextlib
import importlib
import warnings

import pytest

from tests.parity.alike import alike
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch
programs = Programs()


def compiled(m, what, *arguments):
    """What is compiled, called three times: then it is a program here."""
    found = m.compile(what, backend="aot_eager" if m.__name__ == "torch" else "numpy", fullgraph=True)
    for _ in range(3):
        found(*[each() if callable(each) else each for each in arguments])
    return found


def counted(m, *shape):
    """A leaf of different values."""
    values = m.arange(1.0, 13.0, dtype=m.float64)[:shape[0] * (shape[1] if len(shape) > 1 else 1)] / 8
    return values.reshape(shape).clone().requires_grad_()


def raised(act):
    with pytest.raises((RuntimeError, TypeError)) as caught:
        act()
    return type(caught.value).__name__, str(caught.value).split("\n\n")[0]


def model_of(m):
    model = m.nn.Sequential(m.nn.Linear(3, 4), m.nn.ReLU(), m.nn.Linear(4, 2)).double()
    with m.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(m.arange(p.numel()).double().reshape(p.shape) / 7 - 0.5 * i + 0.2)
    return model


@programs
def the_wrapper(m):
    model = model_of(m)
    called = compiled(m, model, m.ones(2, 3).double())
    called.eval()
    modes = model.training, called.training
    called.mark = 3
    marks = model.mark, called.mark, hasattr(called, "mark")
    del called.mark
    return (repr(called), list(called.state_dict()), [n for n, _ in called.named_parameters()], len(called),
            [n for n, _ in called.named_modules()], called._orig_mod is model, isinstance(called, m.nn.Module), modes,
            marks, hasattr(model, "mark"), raised(lambda: called[0]),
            raised(lambda: len(compiled(m, m.nn.Linear(3, 1).double(), m.ones(2, 3).double()))))


@programs
def the_node(m):
    model = model_of(m)
    called = compiled(m, model, m.ones(2, 3).double())
    y = called(m.ones(2, 3).double())
    edges = [getattr(node, "variable", None) for node, _ in y.grad_fn.next_functions if node is not None]
    kinds = type(y.grad_fn).__name__, type(y.grad_fn).__module__, y.grad_fn.name()
    return (y, kinds, sorted([name for name, p in model.named_parameters() if any(p is each for each in edges)]),
            raised(lambda: y.grad_fn(m.ones(2, 2))))


@programs
def retain_graph_and_twice(m):
    model = model_of(m)
    called = compiled(m, model, m.ones(2, 3).double())
    y = called(m.ones(2, 3).double())
    loss = y.square().sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return raised(loss.backward), raised(lambda: y.grad_fn.saved_tensors), [p.grad for p in model.parameters()]


@programs
def results_of_which_some_get_no_gradient(m):
    one, two = m.nn.Linear(2, 2), m.nn.Linear(2, 2)
    with m.no_grad():
        for p in (*one.parameters(), *two.parameters()):
            p.fill_(0.5)

    def function(x):
        return one(x), two(x), x.sum(), one(x).detach(), x.argmax()

    results = compiled(m, function, m.ones(1, 2))(m.ones(1, 2))
    results[0].sum().backward()
    return results, one.weight.grad, two.weight.grad


@programs
def views_of_inputs_and_of_results(m):
    x, w = counted(m, 2, 2), counted(m, 2, 2)

    def function(x, w):
        hidden = x * w
        return x.view(-1), w, w.t(), hidden, hidden.view(-1), hidden, w.detach(), *m.exp(x).chunk(2), (w * 3).t()

    results = compiled(m, function, x, w)(x, w)
    sum((k + 1) * r.square().sum() for k, r in enumerate(results) if r.requires_grad).backward()
    return ([(r.detach(), r.requires_grad, r._is_view()) for r in results], results[1] is w, results[0]._base is x,
            results[2]._base is w, results[3] is results[5], results[4]._base is results[3], results[6]._base,
            results[6].data_ptr() == w.data_ptr(), x.grad, w.grad)


def changed(what, how):
    """A backward pass after something was changed in place."""
    def program(m):
        x, w = counted(m, 3), counted(m, 3)
        called = compiled(m, lambda x, w: m.exp(x * w), lambda: x * 1, w)
        given = x * 1
        y = called(given, w)
        with contextlib.nullcontext() if what != "parameter" else m.no_grad():
            how({"input": given, "parameter": w, "result": y}[what])
        return raised(y.sum().backward)
    return program


for name in ("input", "parameter", "result"):
    programs[f"a changed {name}"] = changed(name, lambda t: t.mul_(2))


@programs
def double_backward(m):
    w, found = counted(m, 3), []
    for function in (lambda w: w ** 3, m.exp, lambda w: (w * 2).pow(3)):
        grad, = m.autograd.grad(compiled(m, function, w)(w).sum(), w, create_graph=True)
        found += [grad.detach(), grad.requires_grad, raised(lambda grad=grad: grad.sum().backward())]
    return found


@programs
def hooks_and_accumulation(m):
    model, seen = model_of(m), []
    called = compiled(m, model, m.ones(2, 3).double())
    weight = model[0].weight
    weight.register_hook(lambda g: g * 10)
    weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    for i in range(3):
        y = called(m.ones(2, 3).double() * i)
        y.register_hook(lambda g: g * 2)
        y.square().sum().backward()
    return seen, [p.grad for p in model.parameters()]


@programs
def two_forwards_before_backward(m):
    w = counted(m, 3)
    called = compiled(m, lambda x: m.exp(x * w), m.ones(3))
    one, two = called(m.ones(3)), called(m.ones(3) * 2)
    two.sum().backward()
    first = w.grad.clone()
    one.sum().backward()
    return one, two, first, w.grad


@programs
def gradients_of_inputs_alone(m):
    model = model_of(m)
    x = counted(m, 2, 3)
    called = compiled(m, model, x)
    return m.autograd.grad(called(x).square().sum(), x)[0], [p.grad for p in model.parameters()]


@programs
def modes(m):
    model = m.nn.Sequential(m.nn.BatchNorm1d(3), m.nn.Dropout(0.5)).double()
    x, found = counted(m, 4, 3).detach(), []
    called = compiled(m, model, x)
    called.eval()
    for _ in range(3):
        found.append(called(x))
    with m.no_grad():
        for _ in range(3):
            found.append(called(x))
    return [f.detach() for f in found], [f.requires_grad for f in found], list(model.buffers())


@pytest.fixture(scope="module", autouse=True)
def loaded(torch):
    """What PyTorch loads for its first compilation warns; and no saved value may be used up, as some are by default."""
    config = importlib.import_module("torch._functorch.config")
    with warnings.catch_warnings(), config.patch(donated_buffer=False):
        warnings.simplefilter("ignore")
        torch.compile(torch.nn.Linear(1, 1), backend="aot_eager")(torch.ones(1, 1))
        yield


@pytest.mark.parametrize("name", programs)
def test_a_program_ends_alike(torch, name):
    alike(torch, programs[name])
