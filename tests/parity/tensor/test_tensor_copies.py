"""pickle, copy, deepcopy, and tensors as keys."""

from __future__ import annotations

import copy
import pickle
import weakref

import pytest

import minigrad
from tests.parity.leaves import leaf
from tests.parity.tensors import having, outcome

pytestmark = pytest.mark.torch


def again(x, protocol=2):
    """A thing through pickle and back."""
    return pickle.loads(pickle.dumps(x, protocol))


def hooked(m):
    """A leaf with a hook."""
    x = leaf(m, 2)
    x.register_hook(same)
    return x


def same(grad):
    """A hook that changes nothing."""
    return grad


def unhooked(m):
    """A leaf whose hook was removed."""
    x = leaf(m, 2)
    x.register_hook(same).remove()
    return x


def graded(m):
    """A leaf with a gradient."""
    x = leaf(m, 2)
    (x * 3).sum().backward()
    return x


PICKLED = {
    "pickle": lambda m: again(m.arange(6).view(2, 3)),
    "pickle all protos": lambda m: [again(m.ones(2), p) for p in range(6)],
    "pickle leaf": lambda m: ((y := again(leaf(m, 2))), y, y.grad)[1:],
    "pickle grad": lambda m: again(graded(m)).grad,
    "pickle param": lambda m: again(m.nn.Parameter(m.ones(2))),
    "pickle frozen param": lambda m: again(m.nn.Parameter(m.ones(2), requires_grad=False)),
    "pickle param type": lambda m: type(again(m.nn.Parameter(m.ones(2)))).__name__,
    "pickle non-leaf": lambda m: again(leaf(m, 2) * 2),
    "pickle view": lambda m: ((x := m.zeros(2, 3)), (y := again((x, x[0], x.t()))), y[0].add_(1), y)[-1],
    "pickle view of": lambda m: ((x := m.zeros(2, 3)), (y := again((x[1], x.t()))), y[0].add_(1), y,
        [v._base for v in y])[-2:],
    "pickle twice one": lambda m: ((x := m.zeros(2)), (y := again([x, x])), y[0] is y[1])[-1],
    "pickle data & leaf": lambda m: ((x := leaf(m, 2)), (y := again([x, x.data])), y[1].add_(1), y)[-1],
    "pickle detach": lambda m: ((x := leaf(m, 2)), (y := again([x, x.detach()])), y[1].add_(1), y,
        [v._version for v in y])[-2:],
    "pickle stride": lambda m: again(m.zeros(2, 3).t()),
    "pickle expand": lambda m: again(m.zeros(3).expand(2, 3)),
    "pickle 0d": lambda m: again(m.tensor(2.5)),
    "pickle result 0d": lambda m: again(m.ones(2).sum()),
    "pickle empty": lambda m: again(m.ones(0, 3)),
    "pickle bool": lambda m: again(m.tensor([True, False])),
    "pickle half": lambda m: again(m.ones(2, dtype=m.float16)),
    "pickle hook": lambda m: again(hooked(m)),
    "pickle stale hook": lambda m: again(unhooked(m)),
    "pickle param hook": lambda m: ((p := m.nn.Parameter(m.ones(2))), p.register_hook(lambda g: g), again(p))[-1],
    "pickle attr": lambda m: again(having(leaf(m, 2), note="x", other=[1])).__dict__,
    "pickle attr param": lambda m: again(having(m.nn.Parameter(m.ones(2)), note="x")).__dict__,
    "pickle dtype": lambda m: again(m.float32) is m.float32,
    "pickle size": lambda m: again(m.ones(2, 3).shape),
    "pickle device": lambda m: again(m.device("cpu")),
    "pickle postacc": lambda m: ((p := leaf(m, 2)), p.register_post_accumulate_grad_hook(lambda g: None), again(p))[-1],
    "pickle retained": lambda m: ((y := (leaf(m, 2) * 2)), y.retain_grad(), y.detach_(), (z := again(y)), z,
        z.retains_grad)[-2:],
    "pickle nograd view": lambda m: ((x := leaf(m, 2)), m.no_grad().__enter__(), (v := x[0]),
        m.set_grad_enabled(True), again(v))[-1],
    "pickle module": lambda m: len(list(again(m.nn.Linear(2, 1)).parameters())),
    "pickle shared param": lambda m: ((p := m.nn.Parameter(m.ones(2))), (a := again({"a": p, "b": p})),
        a["a"] is a["b"])[-1],
}

COPIED = {
    "copy": lambda m: ((x := m.ones(2)), (y := copy.copy(x)), y.add_(1), x, y, x._version, y._version, y._base)[-5:],
    "copy leaf": lambda m: ((x := graded(m)), (y := copy.copy(x)), y, y.grad, y is x)[-3:],
    "copy leaf data": lambda m: ((x := leaf(m, 2)), (y := copy.copy(x)), y.data.add_(1), x)[-1],
    "copy non-leaf": lambda m: copy.copy(leaf(m, 2) * 2),
    "copy param": lambda m: ((p := m.nn.Parameter(m.ones(2))), (q := copy.copy(p)), q, type(q).__name__,
        q.data.add_(1), p)[2:],
    "copy hook": lambda m: copy.copy(hooked(m)),
    "copy attr": lambda m: ((x := having(m.ones(2), n=[1])), (y := copy.copy(x)), y.n is x.n)[-1],
    "copy version": lambda m: ((x := m.ones(2)), x.add_(1), (y := copy.copy(x)), y._version, x._version)[-2:],
    "deepcopy": lambda m: copy.deepcopy(graded(m)),
    "deepcopy grad": lambda m: ((x := graded(m)), (y := copy.deepcopy(x)), y.grad, y.grad is x.grad)[-2:],
    "deepcopy param grad": lambda m: ((p := m.nn.Parameter(m.ones(2))), (p * 2).sum().backward(), having(p, n=1),
        (q := copy.deepcopy(p)), q, q.grad, q.__dict__, type(q).__name__)[-4:],
    "deepcopy base+view": lambda m: ((x := m.zeros(2, 2)), (a := copy.deepcopy([x, x[0], x.t()])), a[1].add_(1), a,
        [v._base for v in a], x)[-3:],
    "deepcopy view alone": lambda m: ((x := m.zeros(4, 4)), (y := copy.deepcopy(x[1:3, ::2])), y,
        y.storage_offset(), y._base, y.untyped_storage().nbytes())[-4:],
    "deepcopy leaf+data": lambda m: ((x := leaf(m, 2)), (a := copy.deepcopy([x, x.data])), a[1].add_(1), a)[-1],
    "deepcopy shared": lambda m: ((x := leaf(m, 2)), (a := copy.deepcopy([x, x])), a[0] is a[1])[-1],
    "deepcopy hook": lambda m: ((x := hooked(m)), (y := copy.deepcopy(x)), y._backward_hooks, y)[-2:],
    "deepcopy attr": lambda m: ((x := having(leaf(m, 2), n=[1])), (y := copy.deepcopy(x)), y.n, y.n is x.n)[-2:],
    "deepcopy non-leaf": lambda m: copy.deepcopy(leaf(m, 2) * 2),
    "deepcopy expand": lambda m: copy.deepcopy(m.zeros(3).expand(2, 3)),
    "deepcopy noncontig": lambda m: copy.deepcopy(m.zeros(2, 3).t()),
    "deepcopy 0d": lambda m: copy.deepcopy(m.ones(3).sum()),
    "deepcopy in dict": lambda m: copy.deepcopy({"a": leaf(m, 2)}),
    "deepcopy version": lambda m: ((x := m.ones(2)), x.add_(1), copy.deepcopy(x)._version)[-1],
    "deepcopy module": lambda m: ((a := m.nn.Linear(2, 1)), (b := copy.deepcopy(a)), b.weight is a.weight,
        b.weight is b._parameters["weight"])[-2:],
    "deepcopy no_grad view of leaf": lambda m: ((x := leaf(m, 2)), m.no_grad().__enter__(), (v := x[0]),
        m.set_grad_enabled(True), copy.deepcopy(v))[-1],
    "deepcopy view of leaf": lambda m: ((x := leaf(m, 2)), copy.deepcopy(x[0]))[-1],
    "deepcopy detached view": lambda m: ((x := leaf(m, 2)), (a := copy.deepcopy([x, x[0].detach()])), a[1].add_(1),
        a)[-1],
}

HELD = {
    "weakref": lambda m: ((x := m.ones(2)), (r := weakref.ref(x)), r() is x)[-1],
    "weakref dead": lambda m: weakref.ref(m.ones(2))(),
    "WeakKeyDictionary": lambda m: ((x := m.ones(1)), (d := weakref.WeakKeyDictionary()), d.__setitem__(x, 1),
        d[x])[-1],
    "WeakKeyDictionary 2": lambda m: ((x := m.ones(2)), (y := m.ones(2)), (d := weakref.WeakKeyDictionary()),
        d.__setitem__(x, 1), d.__setitem__(y, 2), d[x], d[y], len(d))[-3:],
    "WeakSet": lambda m: ((x := m.ones(2)), (y := m.ones(2)), (s := weakref.WeakSet([x, y])), len(s), x in s)[-2:],
    "WeakValue": lambda m: ((x := m.ones(2)), (d := weakref.WeakValueDictionary(a=x)), d["a"] is x)[-1],
    "proxy": lambda m: ((x := m.ones(2)), weakref.proxy(x).sum().item())[-1],
    "dict key": lambda m: ((x := m.ones(2)), (y := m.ones(2)), (d := {x: 1, y: 2}), d[x], len(d))[-2:],
}

ALL = PICKLED | COPIED | HELD


@pytest.mark.parametrize("name", ALL)
def test_both_give_the_same(torch, every_warning, name):
    assert outcome(ALL[name], minigrad) == outcome(ALL[name], torch)
