"""Modules that hold modules or parameters against PyTorch: each change of one, what is in it then, how it prints."""

from __future__ import annotations

import operator
from collections import OrderedDict

import pytest

import minigrad
from tests.parity.alike import told
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def names(made):
    """A container as it prints, with the names of what is in it."""
    return [made, list(made._modules), list(made._parameters), len(made)]


def changed(made, change):
    """What a change gives, and the container after it, also where the change is an error."""
    try:
        given = told(change(made))
    except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
        given = [type(error).__name__, str(error).replace("minigrad", "torch")]
    return [given, names(made)]


def sequential(m):
    return m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh(), m.nn.Sigmoid())


def named(m):
    return m.nn.Sequential(OrderedDict(a=m.nn.ReLU(), b=m.nn.Tanh()))


def listed(m):
    return m.nn.ModuleList([m.nn.ReLU(), m.nn.ReLU(), m.nn.Tanh()])


def mapped(m):
    return m.nn.ModuleDict({"a": m.nn.ReLU(), "b": m.nn.Tanh()})


def param(m, *size):
    return m.nn.Parameter(m.ones(size or (1,)))


def parameters(m):
    return m.nn.ParameterList([param(m, 2), param(m, 3, 2)])


def keyed(m):
    return m.nn.ParameterDict({"a": param(m, 2), "b": m.ones(3)})


MADE = {
    "Sequential": [lambda m: sequential(m), lambda m: named(m), lambda m: m.nn.Sequential(),
                   lambda m: m.nn.Sequential(3), lambda m: m.nn.Sequential({"a": m.nn.ReLU()}),
                   lambda m: m.nn.Sequential(m.nn.ReLU(), None), lambda m: m.nn.Sequential(m.nn.ReLU),
                   lambda m: m.nn.Sequential(OrderedDict({1: m.nn.ReLU()})), lambda m: bool(m.nn.Sequential()),
                   lambda m: m.nn.Sequential()(3), lambda m: sequential(m)(m.ones(2)), lambda m: named(m).a,
                   lambda m: sequential(m)(1, 2), lambda m: m.nn.Sequential(m.nn.ReLU(), None)(m.ones(1)),
                   lambda m: list(sequential(m)), lambda m: m.nn.ReLU() in sequential(m)],
    "ModuleList": [lambda m: m.nn.ModuleList(), lambda m: m.nn.ModuleList(3), lambda m: m.nn.ModuleList([3]),
                   lambda m: m.nn.ModuleList(None), lambda m: m.nn.ModuleList([None, m.nn.ReLU()]),
                   lambda m: m.nn.ModuleList(m.nn.Linear(2, n) for n in (3, 3, 4, 4, 3)),
                   lambda m: m.nn.ModuleList([m.nn.Sequential(m.nn.ReLU()), m.nn.Sequential(m.nn.ReLU())]),
                   lambda m: m.nn.ModuleList([m.nn.ModuleList(), m.nn.ModuleList([m.nn.ReLU()])]),
                   lambda m: listed(m)(3), lambda m: list(reversed(listed(m))),
                   lambda m: m.nn.Sequential(listed(m), listed(m))],
    "ModuleDict": [lambda m: m.nn.ModuleDict(), lambda m: m.nn.ModuleDict([["a", m.nn.ReLU()], ("b", m.nn.Tanh())]),
                   lambda m: m.nn.ModuleDict(3), lambda m: m.nn.ModuleDict([1]), lambda m: m.nn.ModuleDict([[1, 2, 3]]),
                   lambda m: m.nn.ModuleDict({1: m.nn.ReLU()}), lambda m: m.nn.ModuleDict({"a.b": m.nn.ReLU()}),
                   lambda m: m.nn.ModuleDict({"a": 3}), lambda m: m.nn.ModuleDict({"keys": m.nn.ReLU()}),
                   lambda m: m.nn.ModuleDict({"training": m.nn.ReLU()}), lambda m: m.nn.ModuleDict({"a": None}),
                   lambda m: m.nn.ModuleDict("ab"), lambda m: m.nn.ModuleDict(["ab"]),
                   lambda m: m.nn.ModuleDict({"a": mapped(m)}), lambda m: mapped(m)(3)],
    "ParameterList": [lambda m: parameters(m), lambda m: m.nn.ParameterList(), lambda m: m.nn.ParameterList(3),
                      lambda m: m.nn.ParameterList(m.ones(2)), lambda m: m.nn.ParameterList("ab"),
                      lambda m: m.nn.ParameterList([m.ones(2), 3, "x", m.nn.Linear(2, 2), param(m).double()]),
                      lambda m: m.nn.ParameterList([None]), lambda m: m.nn.ParameterList([m.tensor([1])]),
                      lambda m: m.nn.ParameterList([m.nn.ReLU(), m.nn.ParameterList([m.ones(1)])]),
                      lambda m: m.nn.ParameterList([m.tensor(1.0)]), lambda m: parameters(m)(3),
                      lambda m: list(m.nn.ParameterList([m.ones(2), 5]).state_dict()),
                      lambda m: m.nn.ParameterList([m.ones(1), 2]).double(), lambda m: parameters(m).extra_repr(),
                      lambda m: list(parameters(m).named_parameters()), lambda m: list(vars(parameters(m)))],
    "ParameterDict": [lambda m: keyed(m), lambda m: m.nn.ParameterDict(), lambda m: m.nn.ParameterDict(3),
                      lambda m: m.nn.ParameterDict([("a", m.ones(1)), ["b", param(m)]]),
                      lambda m: m.nn.ParameterDict([1]), lambda m: m.nn.ParameterDict([[1, 2, 3]]),
                      lambda m: m.nn.ParameterDict({1: m.ones(1)}), lambda m: m.nn.ParameterDict({"a.b": m.ones(1)}),
                      lambda m: m.nn.ParameterDict({"a": 3, "b": "x", "c": m.nn.ReLU(), "d": None}),
                      lambda m: m.nn.ParameterDict({"b": m.ones(1), "a": m.ones(1)}),
                      lambda m: m.nn.ParameterDict(OrderedDict(b=m.ones(1), a=m.ones(1))),
                      lambda m: m.nn.ParameterDict({"keys": m.ones(1)}), lambda m: keyed(m)(3),
                      lambda m: list(m.nn.ParameterDict({"a": m.ones(1), "b": 3}).state_dict()),
                      lambda m: keyed(m).a, lambda m: keyed(m).extra_repr(), lambda m: list(vars(keyed(m)))],
    "Flatten": [lambda m: m.nn.Flatten(), lambda m: m.nn.Flatten(0, 2), lambda m: m.nn.Flatten()(m.ones(2, 3, 4)).shape,
                lambda m: m.nn.Flatten(5)(m.ones(2)), lambda m: m.nn.Flatten()(m.ones(2))],
    "Unflatten": [lambda m: m.nn.Unflatten(1, (2, 3)), lambda m: m.nn.Unflatten(1, [2, 3]),
                  lambda m: m.nn.Unflatten(1, m.Size([2, 3])), lambda m: m.nn.Unflatten(1, 3),
                  lambda m: m.nn.Unflatten(1, (2, 3.0)), lambda m: m.nn.Unflatten(1, ()),
                  lambda m: m.nn.Unflatten("a", (("b", 2),)), lambda m: m.nn.Unflatten("a", {"b": 2}),
                  lambda m: m.nn.Unflatten(1, (2, -1))(m.ones(1, 6)).shape,
                  lambda m: m.nn.Unflatten(1, (2, 4))(m.ones(1, 6)),
                  lambda m: m.nn.Unflatten(1.5, (2, 4))(m.ones(1, 6)),
                  lambda m: m.nn.Unflatten(1, [2, 3])(m.ones(1, 6)).shape],
    "Identity": [lambda m: m.nn.Identity(3, a=4), lambda m: m.nn.Identity()(3)],
}
KEYS = [0, -1, 3, -4, "0", 1.5, "a", None, slice(1, None), slice(None, None, -1), slice(5, 1)]
ROWS = {f"[{key}]": lambda m, made, key=key: made[key] for key in KEYS}
ROWS |= {f"del [{key}]": lambda m, made, key=key: operator.delitem(made, key) for key in KEYS}
ROWS |= {f"pop {key}": lambda m, made, key=key: made.pop(key) for key in KEYS}
ROWS |= {f"[{key}] =": lambda m, made, key=key: operator.setitem(made, key, m.nn.ELU()) for key in KEYS}
ROWS |= {f"insert {at}": lambda m, made, at=at: made.insert(at, m.nn.ELU()) for at in (0, 1, 3, 9, -1, -9)}
ROWS |= {
    "[0] = number": lambda m, made: operator.setitem(made, 0, 3),
    "[0] = None": lambda m, made: operator.setitem(made, 0, None),
    "insert a number": lambda m, made: made.insert(0, 3),
    "append": lambda m, made: made.append(m.nn.ELU()),
    "append a number": lambda m, made: made.append(3),
    "extend": lambda m, made: made.extend([m.nn.ELU(), m.nn.CELU()]),
    "extend with itself": lambda m, made: made.extend(list(made)),
    "extend with a number": lambda m, made: made.extend(3),
    "extend with numbers": lambda m, made: made.extend([m.nn.ELU(), 3]),
    "extend with a dict": lambda m, made: made.extend({"a": m.nn.ELU()}),
    "+": lambda m, made: made + made,
    "+ number": lambda m, made: made + 3,
    "+ list": lambda m, made: operator.add(made, [m.nn.ELU()]),
    "+= ": lambda m, made: operator.iadd(made, type(made)()),
    "+= list": lambda m, made: operator.iadd(made, [m.nn.ELU()]),
    "+= module": lambda m, made: operator.iadd(made, m.nn.ELU()),
    "* 2": lambda m, made: made * 2,
    "2 *": lambda m, made: 2 * made,
    "* 0": lambda m, made: made * 0,
    "* text": lambda m, made: made * "a",
    "*= 3": lambda m, made: operator.imul(made, 3),
    "*= -1": lambda m, made: operator.imul(made, -1),
    "*= text": lambda m, made: operator.imul(made, "a"),
}
DICTS = {
    "['a']": lambda m, made: made["a"],
    "['z']": lambda m, made: made["z"],
    "[1]": lambda m, made: made[1],
    "pop": lambda m, made: made.pop("a"),
    "pop of none": lambda m, made: made.pop("z"),
    "del": lambda m, made: operator.delitem(made, "a"),
    "del of none": lambda m, made: operator.delitem(made, "z"),
    "in": lambda m, made: ["a" in made, "z" in made, 3 in made],
    "keys": lambda m, made: [made.keys(), list(made), list(made.values()), list(made.items())],
    "reversed": lambda m, made: list(reversed(made)),
    "clear": lambda m, made: made.clear(),
    "get": lambda m, made: [made.get("a"), made.get("z"), made.get("z", 3)],
    "setdefault": lambda m, made: [made.setdefault("a", 3), made.setdefault("z"), made.setdefault("y", m.ones(1))],
    "popitem": lambda m, made: made.popitem(),
    "copy": lambda m, made: made.copy(),
    "fromkeys": lambda m, made: [made.fromkeys(["a", "c"]), made.fromkeys(["a"], m.ones(2))],
    "update of a number": lambda m, made: made.update(3),
    "update of names": lambda m, made: made.update(["a"]),
    "update of threes": lambda m, made: made.update([("a", 1, 2)]),
    "update of itself": lambda m, made: made.update(made),
}
MODULES = {
    "= ": lambda m, made: operator.setitem(made, "c", m.nn.ELU()),
    "= again": lambda m, made: operator.setitem(made, "a", m.nn.ELU()),
    "= number": lambda m, made: operator.setitem(made, "a", 3),
    "= of a number": lambda m, made: operator.setitem(made, 3, m.nn.ELU()),
    "update": lambda m, made: made.update({"z": m.nn.ELU(), "a": m.nn.CELU()}),
    "update of pairs": lambda m, made: made.update([("z", m.nn.ELU())]),
    "| ": lambda m, made: made | {"z": m.nn.ELU()},
}
VALUES = {
    "= ": lambda m, made: operator.setitem(made, "c", m.ones(4)),
    "= again": lambda m, made: operator.setitem(made, "a", m.ones(4)),
    "= number": lambda m, made: operator.setitem(made, "a", 3),
    "= of a number": lambda m, made: operator.setitem(made, 3, m.ones(4)),
    "update": lambda m, made: made.update({"z": m.ones(4), "c": 3}),
    "update of pairs": lambda m, made: made.update([("z", m.ones(4))]),
    "| ": lambda m, made: [made | {"z": m.ones(4)}, made | {"a": m.ones(4)}],
    "| ParameterDict": lambda m, made: made | m.nn.ParameterDict({"z": m.ones(4)}),
    "|  from the right": lambda m, made: list({"z": m.ones(4)} | made),
    "|= ": lambda m, made: operator.ior(made, {"z": m.ones(4)}),
}
PARAMETERS = {name: program for name, program in ROWS.items() if name.startswith(("[", "del")) and "=" not in name}
PARAMETERS |= {
    "[0] =": lambda m, made: operator.setitem(made, 0, m.ones(4)),
    "[-1] =": lambda m, made: operator.setitem(made, -1, param(m, 4)),
    "[9] =": lambda m, made: operator.setitem(made, 9, param(m)),
    "[0] = number": lambda m, made: operator.setitem(made, 0, 3),
    "append": lambda m, made: made.append(m.ones(4)),
    "append that requires grad": lambda m, made: made.append(m.ones(4, requires_grad=True)),
    "extend": lambda m, made: made.extend([m.ones(4), 3]),
    "extend with a tensor": lambda m, made: made.extend(m.ones(4)),
    "extend with a parameter": lambda m, made: made.extend(param(m)),
    "extend with a number": lambda m, made: made.extend(3),
    "extend with a list": lambda m, made: made.extend(m.nn.ParameterList([param(m)])),
    "+=": lambda m, made: operator.iadd(made, [m.ones(4)]),
    "+= number": lambda m, made: operator.iadd(made, 3),
    "+": lambda m, made: made + made,
    "pop": lambda m, made: made.pop(0),
}
CHANGES = [("Sequential", sequential, ROWS), ("named Sequential", named, ROWS), ("ModuleList", listed, ROWS),
           ("ModuleDict", mapped, DICTS | MODULES), ("ParameterDict", keyed, DICTS | VALUES),
           ("ParameterList", parameters, PARAMETERS)]
PROGRAMS = {f"{kind}: {number}": program for kind, programs in MADE.items() for number, program in enumerate(programs)}
PROGRAMS |= {
    f"{kind}: {name}": lambda m, make=make, change=change: changed(make(m), lambda made: change(m, made))
    for kind, make, changes in CHANGES for name, change in changes.items()
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_alike(torch, name):
    def program(m):
        return told(PROGRAMS[name](m))
    assert outcome(program, minigrad) == outcome(program, torch)
