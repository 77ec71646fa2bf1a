"""Subclasses of Tensor that see what is called on them, `__torch_function__`: the same calls in both libraries."""

from __future__ import annotations

import gc
import importlib

import pytest

import minigrad
from minigrad.ops._dispatch.torch_function import Overriding
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch

# x: of a class that notes its calls; u: a plain tensor; i: integers of the class
CALLS = """x + 1; 1 + x; u + x; x - 1; 1 - x; u - x; x * 2; 2 * x; u * x; x / 2; 2 / x; u / x; x ** 2; 2 ** x; u ** x
x // 2; 2 // x; u // x; x % 2; 2 % x; -x; +x; abs(x); x @ u; u @ x; x == u; u == x; x != 1; x < 1; 1 < x; u < x; x <= 1
x > 1; x >= 1; i & 1; 1 & i; i | 1; 1 | i; i ^ 1; 1 ^ i; ~i; i << 1; 1 << i; i >> 1; 1 >> i; x[0]; x[0, 1]; u[i[0]]
1 in x; len(x); bool(x[0, 0]); float(x[0, 0].detach()); int(x[0, 0]); f"{x}"; reversed(x); x.shape; x.dtype
x.device; x.grad; x.grad_fn; x.requires_grad; x.is_leaf; x.data; x.T; x.mT; x.ndim; x.size(); x.dim(); x.numel()
x[0, 0].item(); x.tolist(); x.numpy(); x.detach(); x.clone(); x.requires_grad_(); x._version; x._base; x.output_nr
x.is_contiguous(); x.stride(); x.to(torch.float64); x.cpu(); x.double(); x.type(); x.view(4); x.storage_offset()
torch.is_tensor(x); torch.sin(x); torch.add(u, x); torch.sum(x, 0); x.sum(dim=0); torch.cat([u, x])
torch.cat((u, x), dim=0); len(torch.stack(tensors=[u, x])); torch.zeros_like(x); torch.ones(2); torch.tensor(x)
torch.as_tensor(x); F.linear(u, x); F.softmax(x, 0); F.softmax(x, dim=0); F.relu(x); F.relu(x, True); F.dropout(x, 0.1)
F.cross_entropy(x, x); F.mse_loss(u, x); F.gelu(x); F.logsigmoid(x); F.conv1d(x[None], x[None])
torch.where(u > 0, x, u)
torch.einsum("ij,jk", x, u); torch.max(x, 0); x.max(0); x.unbind(); x.split(1); torch.split(x, 1)
torch.meshgrid(x[0], x[1], indexing="ij"); torch.broadcast_tensors(x, u); torch.nn.Linear(2, 2)(x); copy.copy(x)
x.new_zeros(2); torch.linalg.norm(x); torch.special.expit(x); x.is_floating_point(); torch.is_floating_point(x)
torch.allclose(x, u); torch.equal(x, u); torch.numel(x); torch.result_type(x, u); torch.sort(x); x.topk(1); u.add_(x)
u.copy_(x); u.mul(x); u.index_select(0, i[0]); x.add_(1); x.register_hook(len) if x.requires_grad else None
x.as_subclass(torch.Tensor); x.retains_grad; x.is_cuda; x.layout; x.sum().backward() if x.requires_grad else None
T([1.0, 2.0]); T(2, 3).shape; T(u)""".replace("\n", "; ").split("; ")
STATEMENTS = ["x += 1", "x -= 1", "x *= 2", "x /= 2", "x **= 2", "x //= 1", "x %= 2", "i &= 1", "i |= 1", "i ^= 1",
              "i <<= 1", "i >>= 1", "u += x", "u[0] = x[0]", "x[0] = 1", "x.grad = u", "del x.grad", "x.data = u",
              "x.requires_grad = True"]


def noting(m):
    """A subclass that notes its calls, and the list of them: the function, how many arguments, options, types."""
    seen = []

    class T(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            owner = getattr(func, "__self__", None)
            where = func.__name__, owner.__name__ if func.__name__ in ("__get__", "__set__", "__delete__") else ""
            seen.append((where, [t.__name__ for t in types], [type(a).__name__ for a in args], kwargs and [*kwargs]))
            return super().__torch_function__(func, types, args, kwargs or {})

    return T, seen


def ran(m, code, requires_grad):
    """What a line comes to: the calls that were seen, and the type of its result or its error."""
    cls, seen = noting(m)
    x = m.ones(2, 2).as_subclass(cls)
    names = {"torch": m, "F": m.nn.functional, "T": cls, "copy": importlib.import_module("copy"), "x": x,
             "u": m.ones(2, 2), "i": m.ones(2, 2).long().as_subclass(cls)}
    if requires_grad:
        x.requires_grad_()
    seen.clear()
    if code in STATEMENTS:
        exec(code, names)
        return type(names[code[0]]).__name__, seen
    result = eval(code, names)
    return type(result).__name__, result if isinstance(result, (bool, int, float)) else None, seen


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("code", CALLS + STATEMENTS)
def test_calls(torch, code, requires_grad):
    mine, theirs = (outcome(lambda m: ran(m, code, requires_grad), lib) for lib in (minigrad, torch))
    assert mine == theirs


PROGRAMS = Programs()


@PROGRAMS
def plain_subclass(m):
    class Mine(m.Tensor):
        pass

    x = m.tensor([1.0, 2.0], requires_grad=True)
    t = x.as_subclass(Mine)
    y = (t * t).sum()
    y.backward()
    return [type(t).__name__, type(y).__name__, repr(t), repr(y), x.grad, type(x.grad).__name__, t.grad_fn,
            t.is_leaf, t._base is x, type(t + t.numpy()).__name__]


@PROGRAMS
def metadata(m):
    class Labelled(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            labels = [a.label for a in args if hasattr(a, "label")]
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, Labelled):
                result.label = "+".join(labels)
            return result

    a, b = m.ones(2).as_subclass(Labelled), m.ones(2).as_subclass(Labelled)
    a.label, b.label = "a", "b"
    return [(a + b).label, (a * m.ones(2)).sin().label, m.add(b, a).label, type(m.max(a, 0)).__name__]


@PROGRAMS
def no_tensor_at_all(m):
    class Diagonal:
        def __init__(self, n, value):
            self.n, self.value = n, value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func not in handled:
                return NotImplemented
            return handled[func](*args, **(kwargs or {}))

    handled = {m.mean: lambda input: input.value / input.n, m.add: lambda a, b: ("sum", type(b).__name__)}
    keep = type("Keep", (m.Tensor,), {})  # some subclass of Tensor exists
    d = Diagonal(5, 2.0)
    failed = []
    for call in (lambda: m.sin(d), lambda: m.nn.functional.relu(d)):
        try:
            call()
        except TypeError as error:
            failed.append(str(error).split("\n")[0].replace(str(Diagonal), "Diagonal"))
    return [m.mean(d), m.add(d, m.ones(2)), failed, keep.__name__]


@PROGRAMS
def one_class_below_another(m):
    base, seen = noting(m)

    class Lower(base):
        pass

    class Apart(m.Tensor):
        pass

    a, b, c = (m.ones(2).as_subclass(cls) for cls in (base, Lower, Apart))
    found = [type(a + b).__name__, type(b + a).__name__, [types for _, types, *_ in seen]]
    try:
        a + c
    except TypeError as error:
        found.append(str(error))
    return found


@PROGRAMS
def turned_off(m):
    cls, seen = noting(m)
    x = m.ones(2).as_subclass(cls)
    with m._C.DisableTorchFunctionSubclass():
        kinds = [type(x + 1).__name__, type(x.view(2)).__name__, type(x).__name__]

    class Never(m.Tensor):
        __torch_function__ = m._C._disabled_torch_function_impl

    y = m.ones(2).as_subclass(Never)
    return [kinds, seen, [type(each).__name__ for each in (y + 1, y, y.view(2), y.detach(), y.add_(1))]]


@PROGRAMS
def modes(m):
    overrides = importlib.import_module(f"{m.__name__}.overrides")
    seen = []

    class Note(overrides.TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((self.name, func.__name__, len(types)))
            return func(*args, **(kwargs or {}))

    with Note("outer"), Note("inner"):
        x = m.ones(2)
        y = m.sin(x) + 1
    return [seen, type(y).__name__, m.sin(x)]


@PROGRAMS
def functions_of_ones_own(m):
    overrides = importlib.import_module(f"{m.__name__}.overrides")
    cls, seen = noting(m)

    def length(x):
        if overrides.has_torch_function((x,)):
            return overrides.handle_torch_function(length, (x,), x)
        return (x * x).sum().sqrt()

    names = [overrides.resolve_name(f) for f in (m.sin, m.Tensor.add, m.nn.functional.relu)]
    x = m.ones(4).as_subclass(cls)
    return [length(m.ones(4)), type(length(x)).__name__, seen[0][0][0], names, overrides.is_tensor_like(x),
            overrides.is_tensor_like(3), overrides.is_tensor_method_or_property(m.Tensor.add),
            overrides.is_tensor_method_or_property(m.sin), overrides.has_torch_function((m.ones(2), x))]


@PROGRAMS
def as_a_plain_method(m):
    class Five(m.Tensor):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 5

    return m.ones(2).as_subclass(Five) + 1


@PROGRAMS
def gradients(m):
    cls, _ = noting(m)
    x = m.tensor([1.0, 2.0]).as_subclass(cls).requires_grad_()
    (g,) = m.autograd.grad((x ** 3).sum(), x, create_graph=True)
    (second,) = m.autograd.grad(g.sum(), x)
    (x * 2).sum().backward()
    return [type(g).__name__, g, type(second).__name__, second, type(x.grad).__name__, x.grad]


@PROGRAMS
def its_own_error(m):
    class Refuses(m.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise ValueError(f"no {func.__name__}")

    found, x = [], m.ones(2).as_subclass(Refuses)
    for call in (lambda: m.sin(x), lambda: x.sum(), lambda: x + 1, lambda: m.nn.functional.relu(x), lambda: x.grad):
        try:
            call()
        except ValueError as error:
            found.append(str(error))
    return found


@PROGRAMS
def a_parameter_of_a_subclass(m):
    class Named(m.Tensor):
        pass

    class Layer(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = m.nn.Parameter(m.ones(2).as_subclass(Named))

    layer, still = Layer(), m.nn.Parameter(m.ones(1).as_subclass(Named), requires_grad=False)
    layer.weight.sum().backward()
    m.optim.SGD(layer.parameters(), 0.5).step()
    return ([(name, type(p).__name__, isinstance(p, m.nn.Parameter)) for name, p in layer.named_parameters()],
            repr(layer.weight), still.requires_grad, [isinstance(t, m.nn.Parameter) for t in (still, m.ones(1))],
            type(layer.double().weight).__name__, layer.weight.is_leaf)


REFUSED = {
    "a parameter of a subclass that becomes a Tensor": lambda m: m.nn.Parameter(m.ones(1).as_subclass(
        type("Own", (m.Tensor,), {"__torch_function__": m._C._disabled_torch_function_impl}))),
    "no class": lambda m: m.ones(2).as_subclass(3),
    "another class": lambda m: m.ones(2).as_subclass(int),
    "node, outside": lambda m: m._C._will_engine_execute_node(m.ones(2, requires_grad=True).exp().grad_fn),
    "no node": lambda m: m._C._will_engine_execute_node(3),
}


@pytest.mark.parametrize("name", PROGRAMS | REFUSED)
def test_programs(torch, name):
    mine, theirs = (outcome((PROGRAMS | REFUSED)[name], lib) for lib in (minigrad, torch))
    assert mine == theirs


def test_number_of_a_pass(torch):
    def numbers(m):
        x, found = m.ones(1, requires_grad=True), [m._C._current_graph_task_id()]
        y = x.exp()
        y.register_hook(lambda g: found.append(m._C._current_graph_task_id()))
        y.register_hook(lambda g: found.append(m._C._current_graph_task_id()))
        y.backward(retain_graph=True)
        y.backward()
        first, *rest = found
        return first, rest[0] == rest[1] < rest[2] == rest[3]

    assert numbers(minigrad) == numbers(torch) == (-1, True)


def test_without_a_subclass_there_are_no_wrappers():
    gc.collect()
    if Overriding.active:
        pytest.skip("a subclass of another test is alive")
    before = dict(vars(minigrad.Tensor)), minigrad.nn.functional.relu, minigrad.autograd.grad

    class Mine(minigrad.Tensor):
        pass

    assert vars(minigrad.Tensor)["add"] is not before[0]["add"]
    assert minigrad.nn.functional.relu is not before[1]
    del Mine
    gc.collect()
    assert not Overriding.active
    assert (dict(vars(minigrad.Tensor)), minigrad.nn.functional.relu, minigrad.autograd.grad) == before
