"""Selective checkpointing: which ops run in both runs, what is given, and what is refused, as in PyTorch."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path

import pytest

from minigrad.ops._dispatch.overloads import TABLE
from tests.parity.alike import alike
from tests.parity.ops.overloads import written
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch
programs = Programs()
UNSEEN = {"detach", "gt"}  # PyTorch makes an op of each saved result; what has no derivative is no op here


def mode_of(m):
    return importlib.import_module(f"{m.__name__}.utils._python_dispatch").TorchDispatchMode


def counting(m, log):
    """A mode that notes the ops that really run while `log.on`: outside of the others, it is asked last."""
    class Count(mode_of(m)):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            name = str(func).split(".")[1]
            if log.on and name not in UNSEEN:
                log.append(name)
            return func(*args, **(kwargs or {}))

    return Count()


class Log(list):
    on = False

    def during(self, function):
        """The function, its ops noted."""
        @functools.wraps(function)
        def noted(*args):
            self.append("run")
            self.on = True
            try:
                return function(*args)
            finally:
                self.on = False

        return noted


def runs(m, function, chosen, *args, mutation=False, passes=1, **options):
    """The result and the gradients, and what ran if the second run goes to its end: PyTorch saves inputs before an op
    runs, so the early stop is one op earlier there."""
    checkpoint, log = m.utils.checkpoint, Log()
    args = args or (m.linspace(-1, 1, 9, dtype=m.float64).reshape(3, 3).requires_grad_(),
                    m.linspace(0, 2, 9, dtype=m.float64).reshape(3, 3).requires_grad_())
    contexts = functools.partial(checkpoint.create_selective_checkpoint_contexts, chosen(m), mutation)
    with counting(m, log):
        y = checkpoint.checkpoint(log.during(function), *args, use_reentrant=False, context_fn=contexts, **options)
        for n in range(passes):
            y.sum().backward(retain_graph=n < passes - 1)
    return y, [x.grad for x in args], log if options else None


def aten(*names):
    """A list of ops."""
    def of(m):
        return [functools.reduce(getattr, name.split("."), m.ops.aten) for name in names]

    return of


FUNCTIONS = {
    "two products": lambda m: lambda x, y: ((x @ y) @ y).sigmoid() * y,
    "a linear layer": lambda m: lambda x, y: m.nn.functional.linear(x, y, x.sum(0)).tanh().exp(),
    "normed": lambda m: lambda x, y: m.nn.functional.layer_norm(x @ y, (3,), y[0], y[1]).relu().mm(y),
    "softmax": lambda m: lambda x, y: m.softmax(x.mm(y), 1).mm(y).log_softmax(0),
    "views": lambda m: lambda x, y: (x.mm(y).t().reshape(9)[2:8].view(2, 3).mm(y)).sin(),
    "two outputs": lambda m: lambda x, y: x.mm(y).max(dim=1).values * y.sort(0).values.exp(),
    "several times": lambda m: lambda x, y: x.mm(y).mm(x).mm(y).sin().mm(y).sin(),
    "joined": lambda m: lambda x, y: m.cat([x.mm(y), y.exp()]).mm(y).cos(),
    "where": lambda m: lambda x, y: m.where(x > 0, x.mm(y), y.exp()).sin(),
    "of numbers": lambda m: lambda x, y: ((2 - x) ** 3 / 5 + 1).mm(y).sqrt(),
    "without grad": lambda m: lambda x, y: with_no_grad(m, x, y).exp(),
    "of what needs none": lambda m: lambda x, y: (x.detach().mm(y.detach()).sin() * y).cos(),
}
LISTS = {"mm": aten("mm.default"), "none": aten(), "sin and exp": aten("sin.default", "exp.default"),
         "addmm and tanh": aten("addmm.default", "tanh.default"), "multiplied": aten("mul.Tensor", "add.Tensor"),
         "normed": aten("native_layer_norm.default", "_softmax.default", "_log_softmax.default", "cat.default"),
         "two": aten("max.dim", "sort.default", "where.self"), "all": lambda m: lambda context, op, *args, **kw: (
             not str(op).startswith(("aten.t.", "aten.view", "aten.slice", "aten.select", "aten.transpose")))}


def with_no_grad(m, x, y):
    with m.no_grad():
        z = x.mm(y).sin()
    return z * y


for name, function in FUNCTIONS.items():
    for which, chosen in LISTS.items():
        programs[f"{name}, {which}"] = lambda m, function=function, chosen=chosen: runs(m, function(m), chosen)
        programs[f"{name}, {which}, to its end"] = lambda m, function=function, chosen=chosen: runs(
            m, function(m), chosen, early_stop=False)

both = FUNCTIONS["two products"]
programs["a second pass"] = lambda m: runs(m, both(m), LISTS["mm"], passes=2)
programs["a second pass with nothing chosen"] = lambda m: runs(m, both(m), LISTS["none"], passes=2)
programs["a string"] = lambda m: m.utils.checkpoint.create_selective_checkpoint_contexts("mm")
programs["a list of strings"] = lambda m: m.utils.checkpoint.create_selective_checkpoint_contexts(["mm"])
programs["policies"] = lambda m: [(each.name, each.value) for each in m.utils.checkpoint.CheckpointPolicy]
programs["an op"] = lambda m: [(str(op), repr(op), op.name()) for op in aten("mm.default", "add.Tensor")(m)]
programs["a packet"] = lambda m: [str(m.ops.aten.mm), repr(m.ops.aten.add), m.ops.aten.sin.default in [
    m.ops.aten.cos.default]]
programs["no such op"] = lambda m: m.ops.aten.mmm
programs["an op called"] = lambda m: m.ops.aten.mm.default(m.ones(2, 3), m.ones(3, 2))
for policy in ("MUST_SAVE", "PREFER_SAVE", "MUST_RECOMPUTE", "PREFER_RECOMPUTE", "MUST_CPU_OFFLOAD"):
    programs[policy] = lambda m, policy=policy: runs(m, both(m), lambda m: lambda context, op, *args, **kw: getattr(
        m.utils.checkpoint.CheckpointPolicy, policy))


@programs
def what_a_policy_is_told(m):
    told = []

    def policy(context, op, *args, **kwargs):
        if str(op) not in ("aten.detach.default",):
            told.append((str(op), context.is_recompute, context.op_output.shape, len(args)))
        return False

    return runs(m, both(m), lambda m: policy), told


def changed(m, mutation):
    def function(x, y):
        z = x.mm(y)
        made = z.sin()
        z.mul_(2)
        return made * y

    return runs(m, function, LISTS["mm"], mutation=mutation)


programs["changed in place"] = lambda m: changed(m, False)


@programs
def another_function(m):
    """An op that the first run has not met; then one more of one that it has."""
    given = []
    for then in (lambda x, y: x.mm(y).cos(), lambda x, y: x.mm(y + y.detach().mm(y.detach()))):
        first = []

        def function(x, y, then=then, first=first):
            if first:
                return then(x, y)
            first.append(1)
            return x.mm(y).sin()

        try:
            given.append(runs(m, function, LISTS["mm"], early_stop=False))
        except RuntimeError as error:
            given.append(str(error))
    return given


@programs
def nested_checkpoints(m):
    inner = functools.partial(m.utils.checkpoint.create_selective_checkpoint_contexts, LISTS["sin and exp"](m))

    def function(x, y):
        z = m.utils.checkpoint.checkpoint(lambda t: t.mm(y).sin().cos(), x, use_reentrant=False, context_fn=inner)
        return z.mm(y).exp()

    return runs(m, function, LISTS["mm"])


@programs
def dropout_with_what_is_kept(m):
    m.manual_seed(1)
    given = runs(m, lambda x, y: m.nn.functional.dropout(x.mm(y), 0.5).mm(y).sin(), LISTS["mm"])
    return given[:2]


@programs
def a_function_of_the_users(m):
    class Twice(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.sin().exp()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * x

    return runs(m, lambda x, y: Twice.apply(x.mm(y)).mm(y), LISTS["sin and exp"])


@programs
def modes_in_modes(m):
    """The innermost is asked first; inside of its method it is off; an error leaves all as it was."""
    log = []

    class Mode(mode_of(m)):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            log.append((self.name, str(func)))
            if self.name == "wrong":
                raise ValueError("no")
            return func(*args, **(kwargs or {})) + 1

    x = m.full((2,), 3.0)
    with Mode("a"), Mode("b"):
        y = x * 2
    with pytest.raises(ValueError, match="no"), Mode("wrong"):
        x.exp()
    return y, x.exp(), log


@programs
def words_of_numpy_under_a_mode(m):
    """Arguments in other words than the op's own."""
    with counting(m, Log()):
        return m.sum(m.ones(2, 3), axis=0), m.ones(2, 3).sum(axis=1, keepdims=True), m.exp(input=m.zeros(2))


def test_table(torch):
    """The names of ops are PyTorch's."""
    assert Path(TABLE).read_text(encoding="utf-8") == written()


@pytest.mark.parametrize("name", programs)
def test_selective(name, torch):
    alike(torch, programs[name])
