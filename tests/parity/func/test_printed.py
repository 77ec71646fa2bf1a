"""What tensors print inside of transforms, and which of them have no numbers to read, against PyTorch's."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.func.test_func import func_of
from tests.parity.outcome import outcome

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:There is a performance drop")]


def vector(m):
    return m.tensor([1.0, 2.0, 3.0])


def table(m):
    return m.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def ones(m):
    return m.ones(3)


def traced(m):
    return m.tensor([7.0, 8.0], requires_grad=True)


def without_grad(m, f):
    with m.no_grad():
        return f()


def captured(m, t, see, w):
    return t.grad(lambda x: (see(w), see(w * 2), x.sum())[2])(vector(m))


# Programs of a library, its transforms, and `see`, which notes what a value shows and returns the value.
SHOWN = {
    "input of grad": lambda m, t, see: t.grad(lambda x: see(x).sum())(vector(m)),
    "results of grad": lambda m, t, see: t.grad(lambda x: see(see(x * 2).sum()))(vector(m)),
    "a constant": lambda m, t, see: t.grad(lambda x: (see(m.ones(2)), x.sum())[1])(vector(m)),
    "captured": lambda m, t, see: captured(m, t, see, traced(m)),
    "what requires grad": lambda m, t, see: t.grad(lambda x: (see(x), see(x * 2), x.sum())[2])(traced(m)),
    "what has a graph": lambda m, t, see: t.grad(lambda x: (see(x), see(x * 2), x.sum())[2])(traced(m) * 3),
    "views": lambda m, t, see: t.grad(lambda x: (see(x.detach()), see(x[:2]).sum())[1])(vector(m)),
    "integers": lambda m, t, see: t.grad(lambda x: (see(x.argmax()), see(x > 1), x.sum())[2])(vector(m)),
    "texts": lambda m, t, see: t.grad(
        lambda x: (see(f"{x.sum()} {x.sum():.2f} {x}"), see(str([x])), x.sum())[2])(vector(m)),
    "many": lambda m, t, see: t.grad(lambda x: (see(x.expand(3, 20) * 1), x.sum())[1])(m.arange(20.0)),
    "no_grad": lambda m, t, see: t.grad(lambda x: (see(without_grad(m, lambda: x * 2)), x.sum())[1])(vector(m)),
    "vjp": lambda m, t, see: see(t.vjp(lambda x: see(see(x) * 2), vector(m))[1](ones(m))[0]),
    "jvp": lambda m, t, see: t.jvp(lambda x: (see(m.ones(2)), see(see(x) * 2))[1], (vector(m),), (ones(m),)),
    "vmap": lambda m, t, see: t.vmap(lambda x: see(see(x) * 2).sum())(table(m)),
    "vmap of columns": lambda m, t, see: t.vmap(lambda x: (see(x), see(x * 2), see(x.view(2)))[1], in_dims=1)(table(m)),
    "the same for all": lambda m, t, see: t.vmap(lambda x, y: (see(m.ones(2)), see(y), see(y * x))[2],
                                                 in_dims=(0, None))(table(m), vector(m)),
    "examples of what requires grad": lambda m, t, see: t.vmap(lambda x: see(see(x) * 2))(traced(m)),
    "vmap of vmap": lambda m, t, see: t.vmap(t.vmap(see))(table(m)),
    "vmap of grad": lambda m, t, see: t.vmap(t.grad(lambda x: see((see(x) * 2).sum())))(table(m)),
    "columns of grad": lambda m, t, see: t.vmap(t.grad(lambda x: see(x).sum()), in_dims=1)(table(m)),
    "grad of vmap": lambda m, t, see: t.grad(lambda x: t.vmap(lambda y: see(see(y) * 2))(x).sum())(table(m)),
    "grad of grad": lambda m, t, see: t.grad(
        lambda x: t.grad(lambda y: (see(x), see(y), see(x * y), see(y.sum()))[3])(x).sum())(vector(m)),
    "jvp of grad": lambda m, t, see: t.jvp(lambda x: t.grad(lambda y: (see(x), see((see(y) * y).sum()))[1])(x),
                                           (vector(m),), (ones(m),)),
    "grad of jvp": lambda m, t, see: t.grad(lambda x: t.jvp(lambda y: see(see(y) * 2), (x,), (x,))[1].sum())(vector(m)),
    "vmap of jvp": lambda m, t, see: t.vmap(lambda x: t.jvp(lambda y: see(see(y) * 2), (x,), (x,))[1])(table(m)),
    "jacobians": lambda m, t, see: (t.jacrev(lambda x: see(x * 2))(vector(m)),
                                    t.jacfwd(lambda x: see(see(x) * 2))(vector(m))),
    "a hessian": lambda m, t, see: t.hessian(lambda x: see(see(x) * x).sum())(vector(m)),
    "an inner gradient": lambda m, t, see: t.grad(lambda x: see(t.grad(lambda y: (y ** 3).sum())(x)).sum())(vector(m)),
    "an inner batch": lambda m, t, see: t.vmap(lambda x: see(t.vmap(lambda y: y * 2)(x)))(table(m)),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown(torch, name):
    def seen(m):
        texts = []

        def see(value):
            texts.append(value if isinstance(value, str) else repr(value))
            return value

        SHOWN[name](m, func_of(m), see)
        return texts

    ours, theirs = seen(minigrad), seen(torch)
    assert [each.replace("minigrad", "torch") for each in ours] == theirs
    assert any("Tensor(lvl=" in each for each in theirs)


READ = {
    "item": lambda x: x[0].item(), "float": lambda x: float(x[0]), "int": lambda x: int(x[0]),
    "bool": lambda x: bool(x[0]), "if": lambda x: 1 if x.sum() > 0 else 2, "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy().tolist(), "format": lambda x: f"{x[0]:.1f}",
    "index": lambda x: [5, 6, 7, 8][x[0].long()],
    "detached": lambda x: x.detach().numpy().tolist(), "data_ptr": lambda x: bool(x.data_ptr()),
}
AROUND = {
    "grad": lambda m, t, f: t.grad(lambda x: (f(x), x.sum())[1])(vector(m)),
    "jvp": lambda m, t, f: t.jvp(lambda x: (f(x), x)[1], (vector(m),), (ones(m),)),
    "vmap": lambda m, t, f: t.vmap(lambda x: (f(x), x)[1])(table(m)),
    "grad of vmap": lambda m, t, f: t.grad(lambda x: t.vmap(lambda y: (f(y), y)[1])(x).sum())(table(m)),
    "vmap of grad": lambda m, t, f: t.vmap(t.grad(lambda x: (f(x), x.sum())[1]))(table(m)),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", READ)
def test_read(torch, name, around):
    def read(m):
        values = []
        result, _ = outcome(lambda m: AROUND[around](m, func_of(m), lambda x: values.append(READ[name](x))), m)
        return values, result if result[0] == "RuntimeError" else None

    assert read(minigrad) == read(torch)


# A write of what differs between the examples into a tensor that is the same for all.
INTO_ONE = {
    **{name: lambda m, w, x, name=name: getattr(w, name)(x) for name in (
        "add_", "sub_", "mul_", "div_", "pow_", "copy_", "atan2_", "fmod_", "remainder_", "eq_", "lt_", "logical_and_",
        "xlogy_", "hypot_", "copysign_", "nextafter_", "heaviside_", "floor_divide_", "clamp_min_", "clamp_max_",
        "clamp_", "ldexp_")},
    "part": lambda m, w, x: w[:2].add_(x[:2]), "scalar": lambda m, w, x: m.tensor(1.0).add_(x[0]),
    "table": lambda m, w, x: m.ones(2, 3).add_(x), "fill_": lambda m, w, x: w.fill_(x[0]),
    "masked_fill_": lambda m, w, x: w.masked_fill_(m.tensor([True, False, True]), x[0]),
    "masked_fill_ by a mask": lambda m, w, x: w.masked_fill_(x > 4, 0.0),
    "index_put_": lambda m, w, x: w.index_put_((m.tensor([0]),), x[:1]),
    "index_add_": lambda m, w, x: w.index_add_(0, m.tensor([0]), x[:1]),
    "index_copy_": lambda m, w, x: w.index_copy_(0, m.tensor([0]), x[:1]),
    "index_fill_": lambda m, w, x: w.index_fill_(0, m.tensor([0]), x[0]),
    "scatter_": lambda m, w, x: w.scatter_(0, m.tensor([0]), x),
    "scatter_add_": lambda m, w, x: w.scatter_add_(0, m.tensor([0]), x),
    "addcmul_": lambda m, w, x: w.addcmul_(x, x), "lerp_": lambda m, w, x: w.lerp_(x, 0.5),
    "addr_": lambda m, w, x: m.ones(3, 3).addr_(x, x), "item": lambda m, w, x: w.__setitem__(0, x[0]),
    "larger": lambda m, w, x: x.clone().add_(m.ones(5, 3)), "larger, of all": lambda m, w, x: w.add_(x.expand(5, 3)),
    "larger, mul": lambda m, w, x: w.mul_(x.expand(5, 3)),
    "a larger copy": lambda m, w, x: x.clone().copy_(m.ones(5, 3)),
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", INTO_ONE)
def test_written_into_one_for_all(torch, name, nested):
    def refused(m):
        w, vmap = ones(m), func_of(m).vmap
        program = vmap(lambda x: (INTO_ONE[name](m, w, x), x)[1])
        result, _ = outcome(lambda m: (vmap(program) if nested else program)(table(m)[None] if nested else table(m)), m)
        assert result[0] == "RuntimeError"
        return result, w.tolist()

    assert refused(minigrad) == refused(torch)
