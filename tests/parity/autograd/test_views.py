"""Random programs of views and in-place ops: values, flags, versions, nodes, gradients, second gradients or errors are
PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minigrad
from tests.parity.leaves import put, quietly
from tests.parity.outcome import Programs, sentence
from tests.parity.outcome import outcome as outcome_of

# PyTorch crashes, with no message, where a hook is hung on a view that requires grad and has no node: it gets none.
# Each takes the library and two tensors of 0 to 3 dimensions; the result is kept, the first may have changed.
VIEWS = {
    "first": lambda m, a, b: a[0],
    "rest": lambda m, a, b: a[1:],
    "every second": lambda m, a, b: a[::2],
    "last column": lambda m, a, b: a[..., -1],
    "columns": lambda m, a, b: a[..., 1:],
    "transposed": lambda m, a, b: a.transpose(0, -1),
    "flat": lambda m, a, b: a.view(-1),
    "row": lambda m, a, b: a.unsqueeze(0),
    "squeezed": lambda m, a, b: a.squeeze(),
    "repeated": lambda m, a, b: a.expand(2, *a.shape),
    "all": lambda m, a, b: a[...],
    "unbound": lambda m, a, b: a.unbind(0)[0],
    "split": lambda m, a, b: a.split(1)[-1] if a.dim() else a,
    "detached": lambda m, a, b: a.detach(),
    "taken quietly": lambda m, a, b: quietly(m, lambda: a[...]),
}
CHANGES = {
    "mul_": lambda m, a, b: a.mul_(b),
    "mul_ number": lambda m, a, b: a.mul_(0.5),
    "add_": lambda m, a, b: a.add_(b),
    "tanh_": lambda m, a, b: a.tanh_(),
    "sigmoid_": lambda m, a, b: a.sigmoid_(),
    "zero_": lambda m, a, b: a.zero_(),
    "fill_": lambda m, a, b: a.fill_(0.5),
    "copy_": lambda m, a, b: a.copy_(b),
    "put one": lambda m, a, b: put(a, 0, b),
    "put number": lambda m, a, b: put(a, slice(1, None) if a.dim() else ..., 0.25),
    "put mask": lambda m, a, b: put(a, a.detach() > 0 if a.dim() and 0 not in a.stride() else ..., 0.5),
    # PyTorch keeps the gradient that had been asked for before such a change in its old shape, or asserts
    "t_": lambda m, a, b: a if a.retains_grad else a.t_(),
    "transpose_": lambda m, a, b: a if a.retains_grad else a.transpose_(0, -1),
    "squeeze_": lambda m, a, b: a if a.retains_grad else a.squeeze_(),
    "squeeze_ the first": lambda m, a, b: a if a.retains_grad else a.squeeze_(0),
    "unsqueeze_": lambda m, a, b: a if a.retains_grad else a.unsqueeze_(-1),
    "quiet change": lambda m, a, b: quietly(m, lambda: a.mul_(0.5)),
    "behind its back": lambda m, a, b: a.data.mul_(0.5),
}
OTHERS = {
    "product": lambda m, a, b: a * b,
    "sum": lambda m, a, b: a + a.sum(),
    "clone": lambda m, a, b: a.clone(),
    "retain": lambda m, a, b: (a.retain_grad(), a)[1],
    "hook": lambda m, a, b: (a.register_hook(lambda g: g * 2), a)[1] if a.grad_fn or not a._is_view() else a,
    "wanted": lambda m, a, b: a.requires_grad_(),
    "not wanted": lambda m, a, b: a.requires_grad_(False),
}
STEPS = {**VIEWS, **CHANGES, **OTHERS}
programs = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 20), st.integers(0, 20)), min_size=2,
                    max_size=12)


def seen(value):
    """All that can be seen of a tensor from outside."""
    def look():
        node = value.grad_fn
        return (value.requires_grad, value.is_leaf, value.retains_grad, value._version, value.output_nr,
                value._is_view(), None if node is None else node.name(),
                None if node is None else [(n and n.name(), nr) for n, nr in node.next_functions])
    return attempt(look)


def attempt(step):
    """What a step gives, or its error."""
    try:
        return step()
    except (RuntimeError, IndexError, ValueError) as error:
        return type(error).__name__, sentence(str(error))


def numbers(tensors):
    """Values, None for None."""
    return [None if t is None else np.array(t.detach().numpy(force=True)) for t in tensors]


def outcome(m, program, seed):
    """Everything that can be seen of a program: each step's error, then flags, values and gradients."""
    random = np.random.RandomState(seed)
    leaves = [m.from_numpy(random.uniform(-1, 1, shape)).requires_grad_() for shape in ((2, 3), (3,))]
    made = [leaves[0] * 1.5, leaves[1].clone(), m.from_numpy(random.uniform(-1, 1, (2, 3))), leaves[1]]
    story, values = [], []
    for name, i, j in program:
        result = attempt(lambda name=name, i=i, j=j: STEPS[name](m, made[i % len(made)], made[j % len(made)]))
        story.append(result if isinstance(result, tuple) else name)
        if not isinstance(result, tuple):
            made.append(result)
    story += [seen(t) for t in made]
    values += numbers(made)

    def first():
        total = sum((t * t).sum() for t in made if t.requires_grad)
        return m.autograd.grad(total, leaves, create_graph=True, allow_unused=True)

    grads = attempt(first)
    if isinstance(grads[0], str):
        return [*story, grads], values
    values += numbers(grads)
    second = attempt(lambda: m.autograd.grad(sum((g * g).sum() for g in grads if g is not None), leaves,
                                             allow_unused=True))
    if second and isinstance(second[0], str):
        return [*story, second], values
    return story, values + numbers(second) + numbers([t.grad for t in made if t.retains_grad and not t.is_leaf])


@given(program=programs, seed=st.integers(0, 1000))
@example(program=[("first", 0, 0), ("mul_", 4, 1), ("tanh_", 0, 0), ("last column", 0, 0), ("put one", 5, 1)], seed=1)
@example(program=[("transposed", 0, 0), ("clone", 4, 0), ("transposed", 5, 0), ("first", 6, 0), ("add_", 7, 2)], seed=2)
def test_views_and_changes(torch, program, seed):
    ours, theirs = outcome(minigrad, program, seed), outcome(torch, program, seed)
    assert ours[0] == theirs[0]
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def base_of(m, *shape):
    """A leaf and a result that views can be taken of."""
    x = m.ones(*shape, dtype=m.float64, requires_grad=True)
    return x, x * 2


def inferred(m):
    """A matrix that was made in inference mode."""
    with m.inference_mode():
        return m.ones(2, 3)


def names_of(x):
    """A tensor's shape and strides, and the names of the nodes above it."""
    return tuple(x.shape), x.stride(), x.grad_fn.name(), [n and n.name() for n, _ in x.grad_fn.next_functions]


programs_by_name = Programs({
    "a leaf": lambda m: m.ones(2, requires_grad=True).add_(1),
    "a leaf is turned": lambda m: m.ones(2, 3, requires_grad=True).t_(),
    "a view of a leaf is turned": lambda m: m.ones(2, 3, requires_grad=True)[:1].unsqueeze_(0),
    "a leaf is turned by dimensions that it has not": lambda m: m.ones(2, requires_grad=True).transpose_(0, 7),
    "a tensor of inference mode is turned": lambda m: inferred(m).t_(),
    "one of many is squeezed": lambda m: base_of(m, 4, 1)[1].split(2)[1].squeeze_(1),
    "what was saved is turned": lambda m: (y := base_of(m, 2, 3)[1].exp(), y.t_(), y.sum().backward()),
    "an input that was saved is turned": lambda m: (
        x := base_of(m, 2, 3)[1], y := x * x, x.swapaxes_(0, 1), y.sum().backward()),
    "turned, looked at": lambda m: [names_of(base_of(m, 1, 3)[1].t_()), names_of(base_of(m, 1, 3)[1].transpose_(0, 1)),
                                    names_of(base_of(m, 1, 3)[1].squeeze_()), names_of(base_of(m, 1, 3)[1].squeeze_(0)),
                                    names_of(base_of(m, 1, 3)[1].squeeze_((0, 1))),
                                    names_of(base_of(m, 1, 3)[1].swapdims_(0, 1)),
                                    names_of(base_of(m, 1, 3)[1].unsqueeze_(1))],
    "a quiet turn of a leaf": lambda m: (
        x := base_of(m, 1, 3)[0], quietly(m, lambda: x.t_()), (x * 2).sum().backward(), x.grad, x._version)[3:],
    "a quiet turn of a view": lambda m: (
        b := base_of(m, 2, 3), v := b[1][:1], quietly(m, lambda: v.t_()), names_of(v), v.sum().backward(),
        b[0].grad)[3:],
    "a base is turned below its view": lambda m: (
        b := base_of(m, 2, 3), v := b[1][:, :2], v.mul_(2), b[1].t_(), v.mul_(b[1].detach()[:2].t().clone()),
        names_of(v), names_of(b[1]), (b[1] * b[1]).sum().backward(), b[0].grad)[5:],
    "turned, and a second gradient": lambda m: (
        b := base_of(m, 2, 3), b[1].t_(), g := m.autograd.grad((b[1] ** 3).sum(), b[0], create_graph=True),
        m.autograd.grad(g[0].sum(), b[0]))[2:],
    "a matrix has two dimensions": lambda m: m.ones(2, 3, 4).t_(),
    "a view of a leaf": lambda m: m.ones(2, requires_grad=True)[0].add_(1),
    "a part of a leaf is set": lambda m: put(m.ones(2, requires_grad=True), 0, 1.0),
    "a quiet view of a leaf": lambda m: quietly(m, lambda: m.ones(2, requires_grad=True)[0:1]).mul_(2),
    "a quiet view": lambda m: (x := base_of(m, 3)[1], quietly(m, lambda: x[0]).mul_(2)),
    "a quiet view of data": lambda m: quietly(m, lambda: m.ones(3)[0:2]).mul_(m.ones(2, requires_grad=True)),
    "a quiet view, looked at after a change": lambda m: (
        x := base_of(m, 3)[1], v := quietly(m, lambda: x[0:2]), x.mul_(2), v.grad_fn),
    "a quiet view that was zeroed quietly": lambda m: (
        x := base_of(m, 3)[1], v := quietly(m, lambda: x[0:2]), quietly(m, lambda: v.zero_()), v.grad_fn),
    "a view of a quiet view": lambda m: (x := base_of(m, 3)[1], v := quietly(m, lambda: x[0:2]), v[0:1].mul_(2)),
    "one of many": lambda m: base_of(m, 4)[1].split(2)[1].mul_(2),
    "one of many, unbound": lambda m: base_of(m, 4)[1].unbind()[2].mul_(2),
    "one of many, in chunks": lambda m: base_of(m, 4)[1].chunk(2)[0].mul_(2),
    "one of many of data": lambda m: m.ones(4).split(2)[0].mul_(m.ones(2, requires_grad=True)),
    "a view of one of many": lambda m: base_of(m, 4)[1].split(2)[0].view(2, 1).mul_(2),
    "one of many, looked at": lambda m: (x := base_of(m, 4)[1], v := x.split(2), x.mul_(2), v[0].grad_fn),
    "one of many quietly": lambda m: quietly(m, lambda: base_of(m, 4)[1].split(2)[0].mul_(2)),
    "detached from one of many": lambda m: base_of(m, 4)[1].split(2)[0].detach().mul_(2),
    "a view is detached in place": lambda m: base_of(m, 4)[1][0].detach_(),
    "an expanded tensor": lambda m: base_of(m, 1)[1].expand(3).mul_(2),
    "zeros for an expanded tensor": lambda m: (x := m.ones(1), x.expand(3).zero_(), x),
    "a number for an expanded tensor": lambda m: (x := m.ones(1), x.expand(3).fill_(2), x),
    "a tensor for an expanded tensor": lambda m: m.ones(1).expand(3).fill_(m.tensor(2.0)),
    "all of an expanded tensor is set": lambda m: put(m.ones(1).expand(3), ..., 2.0),
    "across itself": lambda m: (x := m.ones(4), x[1:].add_(x[:-1])),
    "transposed onto itself": lambda m: (x := m.ones(2, 2), x.t().copy_(x)),
    "flags of a view of data that is wanted later": lambda m: (
        x := m.ones(3), v := x[0:2], x.requires_grad_(), v.requires_grad, v.grad_fn, v.is_leaf, v._is_view()),
    "flags taken back": lambda m: (
        x := m.ones(3), v := x[0:2], x.requires_grad_(), x.requires_grad_(False), v.requires_grad),
    "a quiet view of a leaf that is wanted no more": lambda m: (
        x := base_of(m, 3)[0], v := quietly(m, lambda: x[:1]), x.requires_grad_(False), v.requires_grad,
        x.requires_grad_(), v.requires_grad)[3:],
    "a quiet view of what is detached in place": lambda m: (
        x := base_of(m, 3)[1], v := quietly(m, lambda: x[:1]), x.detach_(), v, v.is_leaf)[3:],
    "a recorded view of what is detached in place": lambda m: (
        x := base_of(m, 3)[1], v := x[:1], x.detach_(), v, v.is_leaf)[3:],
    "a quiet view that is wanted itself": lambda m: (
        x := base_of(m, 3)[0], v := quietly(m, lambda: x[:1]).requires_grad_(), x.requires_grad_(False), v)[3:],
    "a quiet view of a view": lambda m: (
        x := base_of(m, 3)[0], v := quietly(m, lambda: x[:2].view(1, 2)), x.requires_grad_(False), v)[3:],
    "a quiet view of a base that is written to": lambda m: (
        x := m.ones(3), v := quietly(m, lambda: x[:2]), x.mul_(base_of(m, 3)[0]), v.requires_grad),
    "a view that is a leaf of its own": lambda m: (
        x := m.ones(3), v := x[0:2].requires_grad_(), w := x[1:], (v * 2).sum().backward(), v.grad, w.requires_grad,
        x.requires_grad),
    "what detach and views share": lambda m: (
        x := base_of(m, 3)[1], x[0].mul_(2), x.detach().mul_(2), x._version, x[1]._version, x.data._version),
    "hooks stay where they were hung": lambda m: (
        pair := base_of(m, 3), seen := [], pair[1].register_hook(lambda g: seen.append(("base", g.tolist()))),
        v := pair[1][0:2], v.register_hook(lambda g: seen.append(("view", g.tolist()))), v.mul_(3),
        (v.sum() + pair[1].sum()).backward(), seen, pair[0].grad)[5:],
    "retain_grad goes along": lambda m: (
        pair := base_of(m, 3), v := pair[1][0:2], v.retain_grad(), pair[1].retain_grad(), v.mul_(3),
        (v.sum() + pair[1].sum()).backward(), v.grad, pair[1].grad, v.retains_grad, pair[1].retains_grad)[4:],
    "retain_grad stays below a change of shape": lambda m: [
        (v := m.ones(1, 3, requires_grad=True) * 2, v.retain_grad(), change(v), (v * 5).sum().backward(), v.grad,
         v.retains_grad)[3:] for change in (lambda v: v.t_(), lambda v: v.unsqueeze_(0), lambda v: v.squeeze_(0),
                                            lambda v: v.transpose_(0, 1), lambda v: v.as_strided_((3,), (1,)))],
    "a buffer filled by a loop": lambda m: (
        x := m.ones(3, requires_grad=True), b := m.zeros(4), v := b[1:],
        [put(b, i, x[i % 3] * (b[i - 1] + 1)) for i in range(4)], v.sum().backward(), x.grad, v.grad_fn)[4:],
    "a second pass": lambda m: (b := base_of(m, 3)[1], b[0].add_(1), b.sum().backward(), b.sum().backward()),
    "what was saved, seen to be changed": lambda m: (
        b := base_of(m, 3)[1], v := b[0:2], y := v.exp_(), v.mul_(2), y.sum().backward()),
    "a base that was given other data": lambda m: [
        (x := m.arange(4.0).requires_grad_(), v := x[1:3], setattr(x, "data", other(m)), v.detach().add_(1),
         names_of(v), (x.sum() + (v * v).sum()).backward(), x.grad)[4:]
        for other in (lambda m: m.zeros(4), lambda m: m.ones(6)[:4])],
    "columns of a transposed base": lambda m: (
        x := m.arange(6.0).view(2, 3).requires_grad_(), b := x.t().clone(), b.t()[1].mul_(5), (b * b).sum().backward(),
        x.grad)[3:],
})


@pytest.mark.parametrize("name", programs_by_name)
def test_by_name(torch, name):
    ours, theirs = outcome_of(programs_by_name[name], minigrad), outcome_of(programs_by_name[name], torch)
    assert ours == theirs
