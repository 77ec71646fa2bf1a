"""Modules against PyTorch: what is assigned to them, how it is found again, how they are converted, copied, printed."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from tests.parity.alike import told
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def module(m, **attributes):
    """A module with these attributes."""
    made = m.nn.Module()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def param(m, *size):
    return m.nn.Parameter(m.ones(size or (1,)))


def early(m):
    """A module whose `__init__` forgot to call that of Module."""

    class Early(m.nn.Module):
        def __init__(self):
            """Forgets it."""

    return Early()


def model(m):
    """A model with a parameter used twice, a module used twice, buffers of both kinds, and places that are empty."""
    m.manual_seed(0)
    inner = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.ReLU())
    made = module(m, a=inner, b=m.nn.Linear(2, 2, bias=False), again=inner, own=param(m, 2), nothing=None)
    made.b.weight = inner[0].weight
    made.register_buffer("kept", m.arange(2.0))
    made.register_buffer("passing", m.arange(2), persistent=False)
    made.register_buffer("empty", None)
    made.register_parameter("missing", None)
    made.register_module("hole", None)
    return made


def after(made, *changes):
    """A module after changes to it, and where its attributes are."""
    for change in changes:
        change(made)
    return [made, list(made._parameters), list(made._buffers), list(made._modules),
            sorted(made._non_persistent_buffers_set), sorted(k for k in vars(made) if not k.startswith("_"))]


def put(**attributes):
    """A change: assign these."""
    def change(made):
        for name, value in attributes.items():
            setattr(made, name, value)
    return change


def buffer(name, value, **options):
    """A change: register this buffer."""
    return lambda made: made.register_buffer(name, value, **options)


REGISTERED = {
    "parameters": lambda m: after(module(m, a=param(m), b=3, c=m.ones(1))),
    "None in place of a parameter": lambda m: after(module(m, a=param(m)), put(a=None)),
    "a parameter in place of None": lambda m: after(module(m, a=None), put(a=param(m))),
    "a parameter in place of a module": lambda m: after(module(m, a=m.nn.ReLU()), put(a=param(m))),
    "a parameter in place of a buffer": lambda m: after(
        module(m), buffer("a", m.ones(1), persistent=False), put(a=param(m))),
    "a parameter in place of a value": lambda m: after(module(m, a=3), put(a=param(m))),
    "a module in place of a parameter": lambda m: after(module(m, a=param(m)), put(a=m.nn.ReLU())),
    "a module in place of a buffer": lambda m: after(module(m), buffer("a", m.ones(1)), put(a=m.nn.ReLU())),
    "a module in place of a value": lambda m: after(module(m, a=3), put(a=m.nn.ReLU())),
    "None in place of a module": lambda m: after(module(m, a=m.nn.ReLU()), put(a=None)),
    "a buffer in place of a module": lambda m: after(module(m, a=m.nn.ReLU()), buffer("a", m.ones(1))),
    "a tensor in place of a parameter": lambda m: after(module(m, a=param(m)), put(a=m.ones(1))),
    "a number in place of a parameter": lambda m: after(module(m, a=param(m)), put(a=3)),
    "a module in place of itself": lambda m: after(module(m, a=m.nn.ReLU()), put(a=m.nn.Tanh())),
    "a tensor in place of a module": lambda m: after(module(m, a=m.nn.ReLU()), put(a=m.ones(1))),
    "a number in place of a buffer": lambda m: after(module(m), buffer("a", m.ones(1)), put(a=3)),
    "a tensor in place of a buffer": lambda m: after(module(m), buffer("a", m.ones(1)), put(a=m.zeros(2))),
    "a tensor in place of a passing buffer": lambda m: after(
        module(m), buffer("a", m.ones(1), persistent=False), put(a=m.zeros(2))),
    "None in place of a buffer": lambda m: after(module(m), buffer("a", m.ones(1)), put(a=None)),
    "a buffer twice": lambda m: after(module(m), buffer("a", m.ones(1), persistent=False), buffer("a", m.zeros(1))),
    "Buffer": lambda m: after(module(m, a=m.nn.Buffer(m.ones(2)), b=m.nn.Buffer(m.ones(2), persistent=False))),
    "Buffer of nothing": lambda m: [m.nn.Buffer(), isinstance(m.nn.Buffer(), m.nn.Buffer), m.nn.Buffer().persistent],
    "Buffer in place of a parameter": lambda m: after(module(m, a=param(m)), put(a=m.nn.Buffer(m.ones(1)))),
    "Buffer in place of a value": lambda m: after(module(m, a=3), put(a=m.nn.Buffer(m.ones(1)))),
    "Buffer that requires grad": lambda m: [m.nn.Buffer(m.ones(1, requires_grad=True)), repr(m.nn.Buffer(m.ones(1)))],
    "Buffer is the same data": lambda m: [x := m.ones(2), m.nn.Buffer(x).fill_(3), x],
    "a tensor in place of Buffer": lambda m: after(
        module(m, a=m.nn.Buffer(m.ones(1), persistent=False)), put(a=m.zeros(1))),
    "deleted": lambda m: after(model(m), *[lambda made, name=name: delattr(made, name) for name in (
        "a", "own", "kept", "passing", "nothing", "missing", "training")]),
    "deleted and not there": lambda m: delattr(model(m), "nobody"),
    "not there": lambda m: model(m).nobody,
    "found": lambda m: [getattr(model(m), name) for name in ("own", "kept", "passing", "empty", "missing", "hole")],
    "dir": lambda m: [name for name in dir(model(m)) if name in (
        "own", "kept", "a", "again", "training", "forward", "_modules", "nothing")],
    "dir without digits": lambda m: [name for name in dir(m.nn.Sequential(m.nn.ReLU())) if name[0].isdigit()],
    "vars": lambda m: list(vars(m.nn.Module())),
    "vars of hooks": lambda m: [repr(value) for value in vars(m.nn.Module()).values()],
    "init with an argument": lambda m: m.nn.Module(3),
    "init with a keyword": lambda m: m.nn.Module(a=3),
    "no forward": lambda m: m.nn.Module()(3),
    "a module has no such dict": lambda m: m.nn.Module().weight,
}
EARLY = {
    "call": lambda e, m: e(1),
    "look": lambda e, m: e.x,
    "value": lambda e, m: setattr(e, "x", 3) or e.x,
    "parameter": lambda e, m: setattr(e, "x", param(m)),
    "module": lambda e, m: setattr(e, "x", m.nn.ReLU()),
    "Buffer": lambda e, m: setattr(e, "x", m.nn.Buffer(m.ones(1))),
    "register_parameter": lambda e, m: e.register_parameter("x", None),
    "register_buffer": lambda e, m: e.register_buffer("x", None),
    "add_module": lambda e, m: e.add_module("x", None),
    "repr": lambda e, m: repr(e),
    "parameters": lambda e, m: list(e.parameters()),
    "delete": lambda e, m: delattr(e, "x"),
    "state_dict": lambda e, m: e.state_dict(),
    "train": lambda e, m: e.train(),
    "hook": lambda e, m: e.register_forward_hook(print),
}
REGISTERED |= {f"early {name}": lambda m, program=program: program(early(m), m) for name, program in EARLY.items()}
REGISTERED |= {
    f"{register} {name!r}": lambda m, register=register, name=name: getattr(module(m), register)(name, None)
    for register in ("register_parameter", "register_buffer", "add_module")
    for name in (3, None, "a.b", "", "training", "forward", b"x")
}
VALUES = {"number": lambda m: 3, "tensor": lambda m: m.ones(1), "parameter": param, "class": lambda m: m.nn.Linear,
          "module": lambda m: m.nn.ReLU(), "result": lambda m: m.nn.Parameter(m.ones(1)) * 2}
REGISTERED |= {
    f"{register} {kind}": lambda m, register=register, value=value: getattr(made := module(m), register)(
        "n", value(m)) or after(made)
    for register in ("register_parameter", "register_buffer", "add_module") for kind, value in VALUES.items()
}
WALKED = {
    "named_modules": lambda m: [name for name, _ in model(m).named_modules()],
    "named_modules with options": lambda m: [
        name for name, _ in model(m).named_modules(prefix="p", remove_duplicate=False)],
    "named_modules with memo": lambda m: [
        name for made in [model(m)] for name, _ in made.named_modules(memo={made.a, made.b})],
    "modules": lambda m: list(model(m).modules()),
    "modules with duplicates": lambda m: list(model(m).modules(remove_duplicate=False)),
    "children": lambda m: [list(model(m).children()), [name for name, _ in model(m).named_children()]],
    "generators": lambda m: [model(m).parameters(), model(m).named_modules(), model(m).children()],
    "named_parameters": lambda m: list(model(m).named_parameters()),
    "named_parameters with options": lambda m: [
        [name for name, _ in model(m).named_parameters(prefix="p", recurse=recurse, remove_duplicate=remove)]
        for recurse in (True, False) for remove in (True, False)],
    "parameters": lambda m: [len(list(model(m).parameters(recurse=recurse))) for recurse in (True, False)],
    "named_buffers": lambda m: list(model(m).named_buffers()),
    "named_buffers with options": lambda m: [
        [name for name, _ in model(m).named_buffers("p", recurse, remove)] for recurse in (True, False)
        for remove in (True, False)],
    "buffers": lambda m: list(model(m).buffers()),
    "apply": lambda m: [seen := [], model(m).apply(lambda each: seen.append(type(each).__name__))],
    "train": lambda m: [each.training for each in model(m).eval().modules()],
    "train of some": lambda m: (made := model(m), made.a.eval(), [each.training for each in made.modules()])[2],
    "train of a number": lambda m: model(m).train(3),
    "train is passed on": lambda m: trained(m),
    "requires_grad_": lambda m: [each.requires_grad for each in model(m).requires_grad_(False).parameters()],
    "zero_grad": lambda m: [passed(m).zero_grad(), [each.grad for each in passed(m).parameters()]],
    "zero_grad to zeros": lambda m: zeroed(m, set_to_none=False),
    "zero_grad to None": lambda m: zeroed(m),
    "get_submodule": lambda m: [model(m).get_submodule(target) for target in ("", "a", "a.0")],
    "get_parameter": lambda m: model(m).get_parameter("a.0.bias"),
    "get_buffer": lambda m: model(m).get_buffer("passing"),
    "set_submodule": lambda m: [made := model(m), made.set_submodule("a.0", m.nn.Tanh()), made.set_submodule(
        "new", m.nn.Tanh()), made.set_submodule("a", m.nn.Tanh(), strict=True)],
    "set_submodule of nothing": lambda m: model(m).set_submodule("", m.nn.Tanh()),
    "set_submodule strict": lambda m: model(m).set_submodule("q", m.nn.Tanh(), strict=True),
    "set_submodule in none": lambda m: model(m).set_submodule("q.r", m.nn.Tanh()),
    "set_submodule of a parameter": lambda m: model(m).set_submodule("a.0.weight", m.nn.Tanh()),
    "set_submodule to a number": lambda m: model(m).set_submodule("a.0", 3),
}
WALKED |= {f"{verb} {target}": lambda m, verb=verb, target=target: getattr(model(m), verb)(target)
           for verb in ("get_submodule", "get_parameter", "get_buffer")
           for target in ("q", "a.q", "a..q", "own", "a.0.bias", "a.0.in_features", "training", "kept", "hole", "a.0")}


def trained(m):
    """`train` of a child that has its own."""

    class Frozen(m.nn.Linear):
        def train(self, mode=True):
            return super().train(False)

    made = m.nn.Sequential(Frozen(1, 1), m.nn.ReLU()).train()
    return [each.training for each in made.modules()]


def passed(m, create_graph=False):
    """A model with gradients."""
    made = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Linear(2, 1))
    made(m.ones(1, 2)).exp().sum().backward(create_graph=create_graph)
    return made


def zeroed(m, **options):
    """Gradients after `zero_grad`, which had a graph."""
    made = passed(m, create_graph=True)
    made.zero_grad(**options)
    return [each.grad for each in made.parameters()]


def lines(m, text):
    """A module that says this of itself."""

    class Said(m.nn.Module):
        def extra_repr(self):
            return text

    return Said()


def nested(m):
    said = lines(m, "one\n\n  two")
    said.inner = lines(m, "a=1")
    said.other = m.nn.Sequential(lines(m, "x\ny"), m.nn.Sequential(), None)
    return said


PRINTED = {
    "model": model, "nested": nested, "empty": lambda m: m.nn.Module(), "one line": lambda m: lines(m, "a=1"),
    "two lines": lambda m: lines(m, "a=1\nb=2"),
    "empty in a row": lambda m: m.nn.Sequential(m.nn.Sequential(m.nn.Sequential())),
    "parameter": lambda m: [param(m, 2), m.nn.Parameter(m.ones(1), requires_grad=False), m.nn.Parameter()],
}


def same(made, changed):
    """Whether a conversion kept the parameters, and gave back the module; what became of the tensors."""
    before = list(made.parameters())
    result = changed(made)
    kept = [a is b for a, b in zip(before, made.parameters(), strict=True)]
    tensors = [*made.named_parameters(), *made.named_buffers()]
    return result is made, kept, [(name, each.dtype, each.requires_grad, each.is_leaf) for name, each in tensors], [
        None if each.grad is None else each.grad.dtype for each in made.parameters()]


CONVERSIONS = {
    "double": lambda m: lambda made: made.double(),
    "float": lambda m: lambda made: made.float(),
    "half": lambda m: lambda made: made.half(),
    "cpu": lambda m: lambda made: made.cpu(),
    "type": lambda m: lambda made: made.type(m.float64),
    "type by name": lambda m: lambda made: made.type("torch.DoubleTensor"),
    "to dtype": lambda m: lambda made: made.to(m.float64),
    "to named dtype": lambda m: lambda made: made.to(dtype=m.float64),
    "to device": lambda m: lambda made: made.to("cpu"),
    "to device and dtype": lambda m: lambda made: made.to("cpu", m.float64, True),
    "to named device": lambda m: lambda made: made.to(device=m.device("cpu"), dtype=m.float16, non_blocking=True),
    "to tensor": lambda m: lambda made: made.to(m.ones(1, dtype=m.float64)),
    "to nothing": lambda m: lambda made: made.to(),
    "to None": lambda m: lambda made: made.to(None),
    "to int": lambda m: lambda made: made.to(m.int64),
    "to an unknown device": lambda m: lambda made: made.to("q"),
    "cuda": lambda m: lambda made: made.cuda(),
    "to cuda": lambda m: lambda made: made.to("cuda"),
    "to_empty": lambda m: lambda made: made.to_empty(device="cpu"),
    "to_empty of nowhere": lambda m: lambda made: made.to_empty(),
    "_apply": lambda m: lambda made: made._apply(lambda t: t.double()),
    "_apply alone": lambda m: lambda made: made._apply(lambda t: t.double(), recurse=False),
}
CONVERTED = {f"{name} of {what}": lambda m, make=make, made=made: same(made(m), make(m))
             for name, make in CONVERSIONS.items() for what, made in (("a model", model), ("gradients", passed))}
CONVERTED["the optimiser's tensor"] = lambda m: [
    made := m.nn.Linear(1, 1), weight := made.weight, made.double(), weight is made.weight, weight.dtype]


def looked_up(m):
    """A class that looks for what is not there in another module."""

    class Wrapped(m.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(super().__getattr__("inner"), name)

    made = Wrapped(m.nn.Linear(2, 3))
    return made.in_features, made.weight.shape, made.nobody


def with_super(m):
    """A class whose other parent wants arguments."""

    class Named:
        def __init__(self, name):
            self.name = name

    class Both(m.nn.Module, Named):
        call_super_init = True

    return Both("x").name, Both("x").training


def copied(m, how):
    """A model and its copy: which of them share tensors, and what came along."""
    made = model(m)
    made.attribute = {"a": [1]}
    made.eval()
    twin = how(made)
    with m.no_grad():
        twin.own.add_(1)
        twin.kept.add_(1)
    return [type(twin).__name__, repr(twin) == repr(made), made.own, twin.own, made.kept, twin.kept,
            twin.b.weight is twin.a[0].weight, twin.again is twin.a, twin.training, twin.attribute is made.attribute,
            list(twin.state_dict()), sorted(twin._non_persistent_buffers_set)]


OTHERS = {
    "__getattr__ of a class": looked_up,
    "call_super_init": with_super,
    "copy": lambda m: copied(m, copy.copy),
    "deepcopy": lambda m: copied(m, copy.deepcopy),
    "pickle": lambda m: copied(m, lambda made: pickle.loads(pickle.dumps(made))),
    "state of old times": lambda m: restored(m),
    "names": lambda m: [m.nn.Module.parameters.__qualname__, m.nn.ReLU()._get_name()],
    "wrong call": lambda m: m.nn.Module().parameters(1, 2),
    "hashed": lambda m: [made := m.nn.ReLU(), made in {made}, made == m.nn.ReLU()],
}


def restored(m):
    """A state without hooks gets them."""
    made = m.nn.Module.__new__(m.nn.ReLU)
    made.__setstate__({"training": True, "_parameters": {}, "_buffers": {}, "_modules": {}, "inplace": False,
                       "_backward_hooks": {}, "_backward_pre_hooks": {}, "_forward_hooks": {}})
    return made(m.ones(1)), made.state_dict()


PROGRAMS = {f"{kind}: {name}": program for kind, programs in (
    ("registered", REGISTERED), ("walked", WALKED), ("printed", PRINTED), ("converted", CONVERTED), ("others", OTHERS),
) for name, program in programs.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_alike(torch, every_warning, name):
    def program(m):
        return told(PROGRAMS[name](m))
    assert outcome(program, minigrad) == outcome(program, torch)
