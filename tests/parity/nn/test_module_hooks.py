"""Hooks of modules against PyTorch: what they get, what they may return, and when each of them is called."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from tests.parity.nn.hooked import Log, everywhere, leaf, twice
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
programs = Programs()


def in_order(m, train):
    """Which hooks a module calls in a pass, with two of each kind, local and global, the second one put in front."""
    log, module, handles = [], twice(m), []

    def note(name):
        return lambda *given: log.append(name)

    for place in ("first", "second"):
        front = {"prepend": place == "second"}
        for kind in ("forward_pre", "forward", "full_backward_pre", "full_backward"):
            handles.append(getattr(module, f"register_{kind}_hook")(note(f"{kind} {place}"), **front))
            register = getattr(everywhere(m), f"register_module_{kind}_hook")
            handles.append(register(note(f"global {kind} {place}")))
    x = leaf(m).requires_grad_(train)
    x_is_hooked = train and x.register_hook(note("tensor x"))
    y = module(x)
    log.append("called")
    if train:
        y.register_hook(note("tensor y"))
        y.sum().backward()
    for handle in handles:
        handle.remove()
    module(leaf(m)).sum().backward()
    return log, bool(x_is_hooked)


programs["the order in a pass"] = lambda m: in_order(m, True)
programs["the order without grad"] = lambda m: in_order(m, False)


def called(m, *args, register="forward", result=None, forward=None, kwargs=None, **options):
    """What one hook is given, and the output of the module that has it."""
    log, module = Log(), twice(m, forward=forward)
    getattr(module, f"register_{register}_hook")(log.hook("hook", result), **options)
    return module(*args, **(kwargs or {})), log


def both(*args, **kwargs):
    return args[0], kwargs


programs |= {
    "forward": lambda m: called(m, m.ones(2)),
    "forward gives": lambda m: called(m, m.ones(2), result=m.zeros(1)),
    "forward with kwargs": lambda m: called(m, 1, kwargs={"a": 3}, with_kwargs=True, forward=both),
    "forward without kwargs": lambda m: called(m, 1, kwargs={"a": 3}, forward=both),
    "forward gives False": lambda m: called(m, 1, result=False, forward=both),
    "pre": lambda m: called(m, m.ones(2), register="forward_pre"),
    "pre gives one": lambda m: called(m, m.ones(2), register="forward_pre", result=m.zeros(1)),
    "pre gives a tuple": lambda m: called(m, m.ones(2), register="forward_pre", result=(m.zeros(1), 3)),
    "pre gives a list": lambda m: called(m, m.ones(2), register="forward_pre", result=[m.zeros(1), 3]),
    "pre with kwargs": lambda m: called(m, 1, register="forward_pre", kwargs={"a": 3}, with_kwargs=True, forward=both,
                                        result=((5,), {"b": 4})),
    "pre with kwargs gives one": lambda m: called(m, 1, register="forward_pre", with_kwargs=True, result=5),
    "pre with kwargs gives three": lambda m: called(m, 1, register="forward_pre", with_kwargs=True, result=(5, 6, 7)),
    "pre and forward on one": lambda m: called(m, m.ones(2), register="forward", result=m.zeros(1), prepend=True),
}


@programs
def always_called(m):
    """Which hooks run after an error in forward, in a hook, and in an always called hook itself."""
    log = []

    def hook(name, fails=False):
        def called(module, args, output):
            log.append((name, output))
            if fails:
                raise ValueError(name)
        return called

    ends = []
    for broken in ("forward", "hook", "always"):
        module = twice(m, forward=lambda x, broken=broken: ().nothing if broken == "forward" else x * 2)
        module.register_forward_hook(hook("always 1", broken == "always"), always_call=True)
        module.register_forward_hook(hook("hook", broken == "hook"))
        module.register_forward_hook(hook("always 2", broken == "forward"), always_call=True)
        handle = everywhere(m).register_module_forward_hook(hook("global always"), always_call=True)
        failing = everywhere(m).register_module_forward_hook(hook("global fails", broken == "hook"), always_call=True)
        try:
            ends.append(module(m.ones(1)))
        except (AttributeError, ValueError) as error:
            ends.append((type(error).__name__, str(error)))
        handle.remove()
        failing.remove()
        log.append(broken)
    return ends, log


@programs
def always_called_with_kwargs(m):
    log, module = Log(), twice(m, forward=lambda x, a: ().nothing)
    module.register_forward_hook(log.hook("always", 3), always_call=True, with_kwargs=True)
    module.register_forward_hook(log.hook("after"), always_call=True)
    try:
        module(m.ones(1), a=4)
    except AttributeError:
        log.append("error")
    return log


@programs
def handles(m):
    """Hooks taken off, by hand and by `with`; ids of one module are kept apart."""
    log, module = Log(), twice(m)
    first = module.register_forward_hook(log.hook("first"), with_kwargs=True, always_call=True)
    with module.register_forward_hook(log.hook("second")):
        module(1)
    first.remove()
    first.remove()
    module(1)
    return log, [len(getattr(module, name)) for name in (
        "_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")]


@programs
def hooks_added_in_hooks(m):
    log, module = Log(), twice(m)
    module.register_forward_hook(lambda *given: module.register_forward_hook(log.hook("late")) and None)
    module(1)
    module(2)
    return log


@programs
def copied_with_hooks(m):
    """A copy has the same hooks, but its own dict of them."""
    log, module = [], m.nn.ReLU()
    module.register_forward_hook(lambda mod, args, output: log.append(mod is module))
    twin = copy.deepcopy(module)
    twin.register_forward_hook(lambda mod, args, output: log.append("twin"))
    module(m.ones(1))
    twin(m.ones(1))
    return log


@programs
def registration_hooks(m):
    """The hooks that see what is registered; what they return takes its place."""
    log, nn, place = [], m.nn, everywhere(m)
    handles = [getattr(place, f"register_module_{kind}_registration_hook")(
        lambda module, name, value, kind=kind: log.append((kind, type(module).__name__, name, type(value).__name__)))
        for kind in ("buffer", "module", "parameter")]
    given = nn.Parameter(m.zeros(1, 1))
    handles.append(place.register_module_parameter_registration_hook(lambda module, name, value: given))
    module = nn.Module()
    module.a = nn.Parameter(m.ones(1))
    module.a = None
    module.register_parameter("b", None)
    module.c = nn.ReLU()
    module.c = None
    module.add_module("d", nn.Identity())
    module.register_buffer("e", m.ones(1))
    module.e = None
    module.register_buffer("f", None)
    linear = nn.Linear(1, 1)
    for handle in handles:
        handle.remove()
    return log, linear.weight is given, module.a


def test_hooks_pickle():
    module = minigrad.nn.Linear(1, 1)
    module.register_load_state_dict_pre_hook(shown)
    again = pickle.loads(pickle.dumps(module))
    assert again.load_state_dict(module.state_dict()) is not None
    assert SHOWN == [again]


SHOWN = []


def shown(module, *given):
    SHOWN.append(module)


@pytest.mark.parametrize("name", programs)
def test_alike(torch, every_warning, name):
    program = programs[name]
    assert outcome(program, minigrad) == outcome(program, torch)
