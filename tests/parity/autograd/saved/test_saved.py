"""Saved tensors: handles on them, and version checks. Each program ends alike in both libraries."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import counted as leaf

pytestmark = pytest.mark.torch


def root(m, x):
    """A custom Function that saves its input, its result, None and another tensor."""

    class Root(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.sqrt()
            ctx.save_for_backward(x, y, None, m.ones(1))
            return y

        @staticmethod
        def backward(ctx, g):
            x, y, _, one = ctx.saved_tensors
            return g * one / (2 * y) + 0 * x

    return Root.apply(x)


ALIVE = []  # a handle of PyTorch does not keep its node alive, and crashes without it


def handle(m, y, name="result"):
    """The handle on one saved value."""
    return getattr(alive(y).grad_fn, f"_raw_saved_{name}")


def alive(y):
    """A tensor that stays."""
    ALIVE.append(y)
    return y


def handled(m, pack=lambda t: t, unpack=lambda t: t, op=lambda x: x.sqrt(), name="result"):
    """Hang hooks on one saved value, then run backward."""
    x = leaf(m, 2)
    y = op(x)
    saved = handle(m, y, name)
    saved.register_hooks(pack, unpack)
    y.sum().backward()
    return x.grad, saved.data


def shown(m, y, name="result"):
    """All that a handle shows."""
    saved = handle(m, y, name)
    return saved.data, saved.unpack_hook, attempt(saved.unpack)


def attempt(call, *given):
    """What a call gives, or its error as text."""
    try:
        return call(*given)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
        return type(error).__name__, str(error).split("\n\n")[0]


def fail(t):
    """A hook with an error in it."""
    raise ValueError("mine")


def given_to_pack(m, op, name):
    """What the pack hook of a handle gets."""
    x, got = leaf(m, 2), []
    y = op(x)
    handle(m, y, name).register_hooks(lambda t: (got.append((t, t is x, t is y, m.is_grad_enabled())), t)[1], fail)
    return got


def of_leaf(m):
    """An unpacked leaf is another leaf, whose gradient goes to the same place."""
    x = leaf(m, 2)
    y = x ** 3
    handle(m, y, "self").register_hooks(lambda t: t.clone(), lambda t: t)
    saved = y.grad_fn._saved_self
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    return saved, saved is x, x.grad


def of_all(m):
    """Hooks on every saved value of a Function."""
    x, got = leaf(m, 2), []
    y = root(m, x)
    for saved in y.grad_fn._raw_saved_tensors:
        if saved.data is not None:
            saved.register_hooks(lambda t: (got.append(t), t.clone())[1], lambda t: t * 2)
    y.sum().backward()
    return x.grad, got


def late(m, op, name, change):
    """A saved value is changed, then its handle gets hooks."""
    x = leaf(m, 2)
    z = x * 1
    y = op(z)
    with m.no_grad():
        change(z if name == "self" else y)
    handle(m, y, name).register_hooks(lambda t: t.clone(), lambda t: t)
    y.sum().backward()
    return x.grad


def one_of_two(m):
    """A node saved one tensor twice: the other handle still checks."""
    z = leaf(m, 2) * 1
    y = z * z
    handle(m, y, "self").register_hooks(lambda t: t.clone(), lambda t: t)
    with m.no_grad():
        z.add_(1)
    y.sum().backward()


def after_the_pass(m, retain=False):
    """A handle that outlives what it is a handle on."""
    y = leaf(m, 2).sqrt()
    saved = handle(m, y)
    y.sum().backward(retain_graph=retain)
    return saved.data, attempt(saved.unpack), attempt(saved.register_hooks, print, print), saved.unpack_hook


def of_indices(m):
    """What an op saved that takes elements by indices: None stands for a full slice."""
    i, x = m.tensor([0, 1]), leaf(m, 2, 2)
    return [(alive(y).grad_fn._saved_indices, [s.data for s in y.grad_fn._raw_saved_indices])
            for y in (x[:, i], x[[0, 1]], x[i, :], x[None, :, i], x[x > 1], x[[0, 1], [1, 0]])]


HANDLES = {
    "of a result": lambda m: shown(m, leaf(m, 2).sqrt()),
    "of an input": lambda m: shown(m, (leaf(m, 2) * 1).log(), "self"),
    "of a leaf": lambda m: shown(m, leaf(m, 2).log(), "self"),
    "of nothing": lambda m: shown(m, leaf(m, 2) * m.ones(2), "self"),
    "of a number": lambda m: shown(m, leaf(m, 2) * 2.5, "other"),
    "of a Function": lambda m: [(s.data, s.unpack_hook, attempt(s.unpack))
                                for s in alive(root(m, leaf(m, 2))).grad_fn._raw_saved_tensors],
    "of indices": of_indices,
    "of indices, freed": lambda m: (y := leaf(m, 2)[m.tensor([1])], y.sum().backward(), y.grad_fn._saved_indices),
    "of indices, freed, handles": lambda m: (y := leaf(m, 2)[m.tensor([1])], y.sum().backward(),
                                             y.grad_fn._raw_saved_indices),
    "hooks on indices": lambda m: [attempt(s.register_hooks, id, id) for s in alive(
        leaf(m, 2, 2)[:, m.tensor([1, 0])]).grad_fn._raw_saved_indices],
    "of hooks by block": lambda m: (
        h := m.autograd.graph.saved_tensors_hooks(lambda t: ("kept", t.detach()), lambda kept: kept[1]), h.__enter__(),
        y := (leaf(m, 2) * 1).log(), h.__exit__(), shown(m, y, "self")[::2],
        attempt(handle(m, y, "self").register_hooks, print, print))[4:],
    "the same handle": lambda m: (y := leaf(m, 2).sqrt(), s := handle(m, y), s is handle(m, y), s == handle(m, y))[2:],
    "its data is the tensor": lambda m: (x := leaf(m, 2), y := x.log(), handle(m, y, "self").data is x,
                                         handle(m, y, "self").unpack() is x)[2:],
    "its class": lambda m: type(handle(m, leaf(m, 2).sqrt())).__name__,
    "made by hand": lambda m: type(handle(m, leaf(m, 2).sqrt()))(),
    "its text": lambda m: repr(handle(m, leaf(m, 2).sqrt())).split("0x")[0],
    "after the pass": after_the_pass,
    "after a retained pass": lambda m: after_the_pass(m, True),
    "after the pass of a Function": lambda m: (y := root(m, leaf(m, 2)), y.sum().backward(),
                                               y.grad_fn._raw_saved_tensors),
    "hooks": handled,
    "hooks that scale": lambda m: handled(m, unpack=lambda t: t * 2),
    "hooks on an input": lambda m: handled(m, op=lambda x: x.log(), name="self"),
    "hooks on a number": lambda m: handled(m, unpack=lambda t: t * 2, op=lambda x: x * 3, name="other"),
    "hooks on None": lambda m: handled(m, op=lambda x: x * m.ones(2), name="self"),
    "hooks on all": of_all,
    "hooks on a leaf": of_leaf,
    "pack gets, of a result": lambda m: given_to_pack(m, lambda x: x.sqrt(), "result"),
    "pack gets, of an input": lambda m: given_to_pack(m, lambda x: (x * 1).log(), "self"),
    "pack gets, of a leaf": lambda m: given_to_pack(m, lambda x: x.log(), "self"),
    "pack gets, of a number": lambda m: given_to_pack(m, lambda x: x * 3, "other"),
    "pack raises": lambda m: handled(m, fail),
    "pack writes": lambda m: handled(m, lambda t: t.add_(1)),
    "pack writes to an input": lambda m: handled(m, lambda t: t.add_(1), op=lambda x: (x * 1).log(), name="self"),
    "unpack raises": lambda m: handled(m, unpack=fail),
    "unpack a number": lambda m: handled(m, unpack=lambda t: 1),
    "pack gives the result": lambda m: (y := leaf(m, 2).sqrt(), handle(m, y).register_hooks(lambda t: y, lambda t: t),
                                        y.grad_fn._saved_result, y.grad_fn._saved_result is y)[1:],
    "twice": lambda m: (s := handle(m, leaf(m, 2).sqrt()), s.register_hooks(id, id), s.register_hooks(id, id)),
    "no functions": lambda m: handled(m, 1, 2),
    "one function": lambda m: handled(m, lambda t: t, 2),
    "changed before": lambda m: late(m, lambda z: z.log(), "self", lambda t: t.add_(1)),
    "result changed before": lambda m: late(m, lambda z: z.sqrt(), "result", lambda t: t.add_(1)),
    "one of two": one_of_two,
}


def changed(m, op, change, *others):
    """Change something between forward and backward."""
    x = leaf(m, 4)
    with m.enable_grad():
        y, target = op(x * 1, *others)
    with m.no_grad():
        change(target)
    y.sum().backward()
    return x.grad


def tap(x):
    """The tensor, twice."""
    return x, x


VERSIONS = {
    "input": lambda m: changed(m, lambda z: (z.log(), z), lambda t: t.add_(1)),
    "input, twice": lambda m: changed(m, lambda z: (z * z, z), lambda t: t.add_(1).add_(1)),
    "other input": lambda m: changed(m, lambda z: (z * (w := z + 1), w), lambda t: t.add_(1)),
    "both inputs": lambda m: changed(m, lambda z: (((w := z + 1) * z), (w, z)), lambda t: [v.add_(1) for v in t]),
    "result": lambda m: changed(m, lambda z: tap(z.sqrt()), lambda t: t.add_(1)),
    "result, input": lambda m: changed(m, lambda z: (z.norm(), z), lambda t: t.add_(1)),
    "a constant": lambda m: changed(m, lambda z: (z * (c := m.ones(4)), c), lambda t: t.add_(1)),
    "a double": lambda m: changed(m, lambda z: (z * (c := m.ones(4, dtype=m.float64)), c), lambda t: t.add_(1)),
    "a half": lambda m: changed(m, lambda z: (z.half() * (c := m.ones(4, dtype=m.float16)), c), lambda t: t.add_(1)),
    "integers": lambda m: changed(m, lambda z: (z * (c := m.arange(4)), c), lambda t: t.add_(1)),
    "a mask": lambda m: changed(m, lambda z: (m.where(c := z > 1, z, z * 2), c), lambda t: t.fill_(True)),
    "indices": lambda m: changed(m, lambda z: (z[c := m.tensor([0, 1])], c), lambda t: t.add_(1)),
    "a matrix": lambda m: changed(m, lambda z: (z.reshape(2, 2).mm(c := m.ones(2, 3)), c), lambda t: t.add_(1)),
    "a number in a tensor": lambda m: changed(m, lambda z: (z * (c := m.tensor(2.0)), c), lambda t: t.add_(1)),
    "its view": lambda m: changed(m, lambda z: (z.log(), z[:2]), lambda t: t.add_(1)),
    "its base": lambda m: changed(m, lambda z: (z[:2].log(), z), lambda t: t.add_(1)),
    "another view": lambda m: changed(m, lambda z: (z[:2].log(), z[2:]), lambda t: t.add_(1)),
    "a chunk": lambda m: changed(m, lambda z: (z.chunk(2)[1].log(), z), lambda t: t.add_(1)),
    "what is detached": lambda m: changed(m, lambda z: (z.log(), z.detach()), lambda t: t.add_(1)),
    "its data": lambda m: changed(m, lambda z: (z * z, z.data), lambda t: t.add_(1)),
    "by a view, on record": lambda m: (x := leaf(m, 4), z := x * 1, y := z.log(), z[:2].mul_(2), y.sum().backward()),
    "on record": lambda m: (x := leaf(m, 4), z := x * 1, y := z.log(), z.mul_(2), y.sum().backward()),
    "a view, by its base": lambda m: (x := leaf(m, 4), z := x * 1, v := z[:2], y := v.log(), z.mul_(2),
                                      y.sum().backward()),
    "a view, after its base": lambda m: (x := leaf(m, 4), z := x * 1, v := z[:2], z.mul_(2), y := v.log(), v.grad_fn,
                                         z.add_(1), y.sum().backward()),
    "a leaf": lambda m: (x := leaf(m, 4), y := x.log(), m.autograd.graph.increment_version(x), y.sum().backward()),
    "a Function's input": lambda m: changed(m, lambda z: (root(m, z), z), lambda t: t.add_(1)),
    "a Function's result": lambda m: changed(m, lambda z: tap(root(m, z)), lambda t: t.add_(1)),
    "the result of a Function": lambda m: changed(m, lambda z: ((w := root(m, z)).log(), w), lambda t: t.add_(1)),
    "by hand": lambda m: (x := leaf(m, 4), z := x * 1, y := z.log(), z.detach().add_(1), y.grad_fn(m.ones(4))),
    "read": lambda m: (x := leaf(m, 4), z := x * 1, y := z.log(), z.detach().add_(1), y.grad_fn._saved_self),
    "the other is read": lambda m: (x := leaf(m, 4), z := x * 1, y := z * x, z.detach().add_(1),
                                     y.grad_fn._saved_other),
    "a Function's are read": lambda m: (y := root(m, leaf(m, 4)), y.detach().add_(1), y.grad_fn.saved_tensors),
    "recorded pass": lambda m: (x := leaf(m, 4), z := x * 1, y := z.log(), z.detach().add_(1),
                                m.autograd.grad(y.sum(), x, create_graph=True)),
    "second pass": lambda m: (x := leaf(m, 4), z := x * 1, g := m.autograd.grad(z.log().sum(), z, create_graph=True)[0],
                              z.detach().add_(1), g.sum().backward()),
    "a view of a Function": lambda m: changed(m, lambda z: ((v := root(m, z)[:2]).log(), v), lambda t: t.add_(1)),
    "a leaf, required no more": lambda m: (x := leaf(m, 2), w := leaf(m, 2), y := x * w, x.requires_grad_(False),
                                           y.sum().backward(), x.grad, w.grad)[4:],
    "a leaf, detached": lambda m: (x := leaf(m, 2), w := leaf(m, 2), y := x * w, x.detach_(), y.grad_fn._saved_self,
                                   y.sum().backward(), x.grad, w.grad)[4:],
    "an accumulator, required no more": lambda m: (x := leaf(m, 2), y := x * 2, x.requires_grad_(False),
                                                   y.grad_fn.next_functions[0][0](m.ones(2)), x.grad)[3:],
    "a saved leaf, required later": lambda m: (w := m.ones(2), x := leaf(m, 2), y := x * w, w.requires_grad_(),
                                               y.grad_fn._saved_other is w, y.sum().backward(), w.grad)[4:],
}


@pytest.mark.parametrize("name", HANDLES)
def test_handles(torch, name):
    alike(torch, HANDLES[name])
    ALIVE.clear()


@pytest.mark.parametrize("name", VERSIONS)
def test_versions(torch, name):
    alike(torch, VERSIONS[name])
