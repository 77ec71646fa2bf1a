"""`state_dict` and `load_state_dict` against PyTorch: what is in it, what is loaded, what is said of the rest."""

from __future__ import annotations

import collections
import copy
import gc
import pickle

import pytest

import minigrad
from tests.parity.alike import told
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
programs = Programs()


def model(m, seed=0):
    """A model with buffers of both kinds, a 0-d one, an integer one, and a parameter that two modules share."""
    m.manual_seed(seed)
    made = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.ReLU(), m.nn.Linear(2, 2, bias=False))
    made[2].weight = made[0].weight
    made.register_buffer("kept", m.rand(3))
    made.register_buffer("passing", m.rand(3), persistent=False)
    made[1].register_buffer("steps", m.tensor(seed))
    made[1].register_buffer("none", None)
    return made


def unwritable(m):
    """A layer whose parameters are single numbers in memory."""
    made = m.nn.Linear(2, 2)
    made.weight, made.bias = (m.nn.Parameter(m.ones(1).expand(*shape)) for shape in ((2, 2), (2,)))
    return made


def with_state(m, state="state", tensor=False):
    """A module with extra state, and a version of its own."""

    class Extra(m.nn.Linear):
        _version = 7

        def get_extra_state(self):
            return m.ones(1) if tensor else {"said": state}

        def set_extra_state(self, state):
            self.taken = state

    m.manual_seed(0)
    return m.nn.Sequential(Extra(1, 1), m.nn.ReLU())


def loaded(m, change=None, made=model, other=1, **options):
    """A model after it has loaded the state of another one, changed in place by `change`; what that returned."""
    target = made(m)
    state = (model(m, other) if made is model else made(m)).state_dict()
    result = change(m, state) if change is not None else None
    found = target.load_state_dict(state if result is None else result, **options)
    return found, list(found), list(target.state_dict().items())


def broken(m, change, **options):
    """What an error in loading says; whether the model is as it was. PyTorch has loaded what fits by then."""
    target = model(m)
    before, tensors = copy.deepcopy(target.state_dict()), list(target.parameters()) + list(target.buffers())
    try:
        target.load_state_dict(change(m, model(m, 1).state_dict()), **options)
    except RuntimeError as error:
        after = target.state_dict()
        same = (list(after) == list(before) and all(m.equal(after[key], before[key]) for key in before)
                and all(a is b for a, b in zip(tensors, [*target.parameters(), *target.buffers()], strict=True)))
        assert same or m is not minigrad
        return str(error)


def without(*keys, **others):
    """A change of a state dict: these keys are gone, those have other values."""
    def change(m, state):
        for key in keys:
            del state[key]
        state.update({key.replace("__", "."): value(m) if callable(value) else value for key, value in others.items()})
    return change


def plain_dict(m, state):
    return dict(state)


def no_metadata(m, state):
    del state._metadata


programs |= {
    "state": lambda m: list(model(m).state_dict().items()),
    "repr": lambda m: repr(m.nn.Linear(1, 1, bias=False).state_dict()).partition("tensor")[0],
    "keep_vars": lambda m: [[type(v).__name__, v.requires_grad] for v in model(m).state_dict(keep_vars=True).values()],
    "detached": lambda m: [v.requires_grad for v in model(m).state_dict().values()],
    "shared memory": lambda m: [made := m.nn.Linear(1, 1), made.state_dict()["weight"].fill_(3), made.weight],
    "prefix": lambda m: list(model(m).state_dict(prefix="p.")),
    "metadata": lambda m: [model(m).state_dict()._metadata, model(m).state_dict(prefix="p.")._metadata],
    "metadata of versions": lambda m: with_state(m).state_dict()._metadata,
    "destination": lambda m: [to := collections.OrderedDict(a=1), model(m).state_dict(destination=to) is to, list(to)],
    "destination dict": lambda m: list(model(m).state_dict(destination={})),
    "positional": lambda m: list(model(m).state_dict({}, "p.", True)),
    "positional one": lambda m: list(model(m).state_dict({}, prefix="p.")),
    "extra state": lambda m: list(with_state(m).state_dict().items()),
    "no extra state": lambda m: m.nn.Module().get_extra_state(),
    "no extra state to set": lambda m: m.nn.Module().set_extra_state(3),
    "loaded": loaded,
    "loaded of a dict": lambda m: loaded(m, plain_dict),
    "loaded without metadata": lambda m: loaded(m, no_metadata),
    "loaded repr": lambda m: repr(loaded(m)[0]),
    "missing": lambda m: loaded(m, without("0.weight", "kept")),
    "missing, not strict": lambda m: loaded(m, without("0.weight", "kept"), strict=False),
    "unexpected": lambda m: loaded(m, without(a=1, b__c=2, **{"0__weight__x": 3, "0__x": 4, "0_weight": 5})),
    "unexpected, not strict": lambda m: loaded(m, without(a=1, b__c=2, **{"0__x": 4}), strict=False),
    "both": lambda m: loaded(m, without("0.weight", a=1)),
    "passing is unexpected": lambda m: loaded(m, without(passing=lambda m: m.zeros(3))),
    "wrong shape": lambda m: loaded(m, without(kept=lambda m: m.ones(2, 3))),
    "wrong shape, not strict": lambda m: loaded(m, without(kept=lambda m: m.ones(1)), strict=False),
    "wrong shapes": lambda m: loaded(m, without(kept=lambda m: m.ones(()), **{"0__weight": lambda m: m.ones(2)}, q=1)),
    "no tensor": lambda m: loaded(m, without(kept=3, **{"0__bias": None, "0__weight": [1]})),
    "no mapping": lambda m: m.nn.ReLU().load_state_dict([("a", 1)]),
    "nothing": lambda m: m.nn.ReLU().load_state_dict({}),
    "nothing for all": lambda m: model(m).load_state_dict({}),
    "another dtype": lambda m: loaded(m, without(kept=lambda m: m.ones(3, dtype=m.float64))),
    "integers": lambda m: loaded(m, without(kept=lambda m: m.tensor([1, 2, 3]), **{
        "1__steps": lambda m: m.tensor(2.7)})),
    "one for a 0-d": lambda m: loaded(m, without(**{"1__steps": lambda m: m.tensor([5])})),
    "two for a 0-d": lambda m: loaded(m, without(**{"1__steps": lambda m: m.tensor([5, 6])})),
    "one for a 0-d of two dims": lambda m: loaded(m, without(**{"1__steps": lambda m: m.tensor([[5]])})),
    "with grad": lambda m: loaded(m, without(kept=lambda m: m.ones(3, requires_grad=True) * 2)),
    "extra state loaded": lambda m: [made := with_state(m), made.load_state_dict(with_state(m, "new").state_dict()),
                                     made[0].taken],
    "extra state is missing": lambda m: loaded(m, without("0._extra_state"), with_state),
    "extra state is missing, not strict": lambda m: loaded(m, without("0._extra_state"), with_state, strict=False),
    "extra state is unexpected": lambda m: loaded(m, without(_extra_state=3)),
    "after missing": lambda m: broken(m, lambda m, s: {k: v for k, v in s.items() if k != "kept"}),
    "after missing, assigned": lambda m: broken(m, lambda m, s: {k: v for k, v in s.items() if k != "kept"},
                                                assign=True),
    "after a wrong shape": lambda m: broken(m, lambda m, s: {k: v if k != "0.weight" else m.ones(3)
                                                             for k, v in s.items()}),
    "wrong in many": lambda m: broken(m, lambda m, s: {k: m.ones(5) for k in s}, strict=False),
    "assign": lambda m: assigned(m),
    "assign wrong shape": lambda m: loaded(m, without(kept=lambda m: m.ones(2, 3)), assign=True),
    "assign a parameter": lambda m: assigned(m, keep_vars=True),
    "assign integers": lambda m: loaded(m, without(**{"0__bias": lambda m: m.tensor([1, 2])}), assign=True),
    "of a view": lambda m: [made := m.nn.Linear(2, 2), made.load_state_dict(
        {"weight": m.arange(4.0).view(2, 2).t(), "bias": m.zeros(1).expand(2)}), made.weight, made.bias],
    "versions go up": lambda m: [made := m.nn.Linear(2, 2), made.load_state_dict(made.state_dict()),
                                 made.weight._version],
    "into what cannot be written to": lambda m: unwritable(m).load_state_dict(m.nn.Linear(2, 2).state_dict()),
    "of one's own": lambda m: [made := model(m), made.load_state_dict(made.state_dict()), made.kept],
    "in a graph": lambda m: in_a_graph(m),
    "of buffers that are nn.Buffer": lambda m: buffers(m),
}


def assigned(m, keep_vars=False):
    """Which tensors are taken over, and what they require then."""
    made, other = model(m), model(m, 1).requires_grad_(False)
    weight, state = made[0].weight, other.state_dict(keep_vars=keep_vars)
    made[0].bias.requires_grad_(False)
    made.load_state_dict(state, assign=True)
    return [made[0].weight is weight, made[0].weight is other[0].weight, made.kept is state["kept"],
            [(name, type(each).__name__, each.requires_grad, each.dtype) for name, each in made.named_parameters()],
            list(made.state_dict().items()), made[2].weight is made[0].weight, made.passing]


def in_a_graph(m):
    """Loading changes parameters in place: a graph that saved them notices."""
    made = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Linear(2, 1))
    y = made(m.ones(1, 2, requires_grad=True))
    made.load_state_dict(made.state_dict())
    return str(y.sum().backward())


def buffers(m):
    made = m.nn.Module()
    made.a, made.b = m.nn.Buffer(m.ones(2)), m.nn.Buffer(m.ones(2), persistent=False)
    result = made.load_state_dict({"a": m.zeros(2)})
    return [result, type(made.state_dict()["a"]).__name__, made.a, made.double().a, isinstance(made.a, m.nn.Buffer)]


@programs
def hooks_of_state_dict(m):
    """The hooks before and after, in their order, and what they may return."""
    log, made = [], model(m)
    for name, module in [("", made), ("0", made[0])]:
        module.register_state_dict_pre_hook(
            lambda mod, prefix, keep_vars, name=name: log.append(("pre", name, prefix, keep_vars)))
        module.register_state_dict_post_hook(
            lambda mod, state, prefix, meta, name=name: log.append(("post", name, list(state), prefix, meta)))
        module._register_state_dict_hook(
            lambda mod, state, prefix, meta, name=name: log.append(("old", name, mod is made)))
    made[0]._register_state_dict_hook(lambda mod, state, prefix, meta: {"other": 1})
    made._register_state_dict_hook(lambda mod, state, prefix, meta: {"replaced": len(state)})
    return made.state_dict(prefix="p.", keep_vars=True), log


@programs
def post_hook_that_returns(m):
    made = m.nn.ReLU()
    made.register_state_dict_post_hook(lambda *given: 3)
    return made.state_dict()


@programs
def one_hook_of_both_kinds(m):
    made = m.nn.ReLU()

    def hook(*given):
        return None

    made.register_state_dict_post_hook(hook)
    return made._register_state_dict_hook(hook)


@programs
def hooks_of_loading(m):
    """The hooks before and after, in their order, and what they get."""
    log, made = [], model(m)

    def before(mod, state, prefix, meta, strict, missing, unexpected, errors):
        log.append(("pre", type(mod).__name__, prefix, list(state), meta, strict, missing[:], unexpected[:], errors[:]))
        state[prefix + "new"] = state.pop(prefix + "weight", None)

    def old(state, prefix, *given):
        log.append(("old", prefix, len(given)))
        if prefix + "new" in state:
            state[prefix + "weight"] = state.pop(prefix + "new")

    for name, module in [("", made), ("0", made[0])]:
        module.register_load_state_dict_pre_hook(before)
        module._register_load_state_dict_pre_hook(old)
        module._register_load_state_dict_pre_hook(lambda mod, *given: log.append(type(mod).__name__), with_module=True)
        module.register_load_state_dict_post_hook(
            lambda mod, keys, name=name: log.append(("post", name, mod is made, repr(keys))))
    try:
        result = made.load_state_dict(model(m, 1).state_dict())
    except RuntimeError as error:
        result = str(error)
    return result, log


@programs
def post_hook_that_forgives(m):
    made = m.nn.Linear(1, 1)
    made.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    return made.load_state_dict({})


@programs
def load_post_hook_that_returns(m):
    made = m.nn.ReLU()
    made.register_load_state_dict_post_hook(lambda *given: 3)
    return made.load_state_dict({})


@programs
def own_loading(m):
    """A class that renames keys of an old version, and one that saves more."""

    class Renamed(m.nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state, prefix, metadata, *given):
            if metadata.get("version") is None or metadata["version"] < 2:
                state[prefix + "weight"] = state.pop(prefix + "old_weight")
            super()._load_from_state_dict(state, prefix, metadata, *given)

        def _save_to_state_dict(self, destination, prefix, keep_vars):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = 3

    made = m.nn.Sequential(Renamed(1, 1, bias=False))
    state = {"0.old_weight": m.ones(1, 1)}
    return made.load_state_dict(state), made[0].weight, list(state), list(made.state_dict()), made.load_state_dict(
        made.state_dict(), strict=False)


@programs
def copies_of_a_state(m):
    """A state dict is copied and pickled with its metadata."""
    state = model(m).state_dict()
    return [[list(other.items()), other._metadata] for other in (
        copy.deepcopy(state), copy.copy(state), pickle.loads(pickle.dumps(state)))]


def test_loading_leaves_no_cycle_of_references():
    net = minigrad.nn.LSTM(4, 4, bidirectional=True)
    state = copy.deepcopy(net).state_dict()
    while gc.collect():  # what goes may leave more behind
        pass
    net.load_state_dict(state)
    with pytest.raises(RuntimeError):
        net.load_state_dict({})
    assert not gc.collect()


@pytest.mark.parametrize("name", programs)
def test_alike(torch, name):
    def program(m):
        return told(programs[name](m))
    assert outcome(program, minigrad) == outcome(program, torch)
