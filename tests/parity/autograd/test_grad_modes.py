"""Grad modes against PyTorch: as contexts, as decorators, on generators, on classes."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
MODES = Programs()


def now(m):
    """Grad mode and inference mode."""
    return m.is_grad_enabled(), m.is_inference_mode_enabled()


def during(m, *contexts):
    """The modes inside of contexts, entered one after the other, and on the way out."""
    seen = []
    for context in contexts:
        context.__enter__()
        seen.append(now(m))
    for context in reversed(contexts):
        context.__exit__(None, None, None)
        seen.append(now(m))
    return seen


def generator_of(m, log):
    """A generator under no_grad that tells the mode at every step."""
    @m.no_grad()
    def numbers(*given):
        try:
            got = yield now(m), given
        except ValueError as error:
            got = str(error), now(m)
        try:
            yield got, now(m)
        finally:
            log.append(now(m))
        return 5

    return numbers


class Model:
    """To be decorated."""

    def __init__(self, m):
        self.modes = now(m)


MODES.update({
    # as contexts
    "no_grad": lambda m: during(m, m.no_grad()),
    "enable_grad": lambda m: during(m, m.no_grad(), m.enable_grad()),
    "inference_mode": lambda m: during(m, m.inference_mode()),
    "inference_mode(False)": lambda m: during(m, m.inference_mode(False)),
    "inference in no_grad": lambda m: during(m, m.no_grad(), m.inference_mode(), m.enable_grad(), m.no_grad()),
    "normal mode in inference": lambda m: during(m, m.inference_mode(), m.inference_mode(False), m.no_grad()),
    "normal mode in no_grad": lambda m: during(m, m.no_grad(), m.inference_mode(False)),
    "set in inference": lambda m: during(m, m.inference_mode(), m.set_grad_enabled(True)),
    "one object twice": lambda m: during(m, *[m.no_grad()] * 2, m.enable_grad())[:3],
    "one object in turn": lambda m: [during(m, mode) for mode in [m.no_grad()] * 2],
    "what as gives": lambda m: [m.no_grad().__enter__(), m.set_grad_enabled(True).__enter__()],
    # set_grad_enabled
    "set": lambda m: (m.set_grad_enabled(False), now(m))[1],
    "set, then as a context": lambda m: during(m, m.set_grad_enabled(False), m.set_grad_enabled(True)),
    "set, decorating": lambda m: ((f := m.set_grad_enabled(False)(lambda: now(m))), now(m), f(), now(m))[1:],
    "set by its name": lambda m: (m.set_grad_enabled(mode=False), now(m))[1],
    "set 1": lambda m: m.set_grad_enabled(1),
    "set None": lambda m: m.set_grad_enabled(None),
    "set tensor": lambda m: m.set_grad_enabled(m.tensor(True)),
    "set function": lambda m: m.set_grad_enabled(len),
    "set nothing": lambda m: m.set_grad_enabled(),
    "set, printed": lambda m: str(m.set_grad_enabled(True)).split(".", 1)[1],
    "set, in a list": lambda m: repr([m.set_grad_enabled(False)]).split(".", 1)[1],
    # as decorators
    "decorator": lambda m: (m.no_grad()(lambda: now(m))(), now(m)),
    "bare": lambda m: (m.no_grad(lambda: now(m))(), m.enable_grad(lambda: now(m))(), now(m)),
    "inference bare": lambda m: m.inference_mode(lambda: now(m))(),
    "inference by name": lambda m: m.inference_mode(mode=lambda: now(m))(),
    "inference with parentheses": lambda m: m.inference_mode()(lambda: now(m))(),
    "inference off": lambda m: m.no_grad()(lambda: m.inference_mode(False)(lambda: now(m))())(),
    "in no_grad, enabled": lambda m: m.no_grad()(m.enable_grad()(lambda: now(m)))(),
    "of a partial": lambda m: m.no_grad()(functools.partial(now, m))(),
    "of a class": lambda m: m.no_grad()(Model)(m).modes,
    "of a class, bare": lambda m: m.inference_mode(Model)(m).modes,
    "of a class, set": lambda m: (m.set_grad_enabled(False)(Model)(m).modes, now(m)),
    "of a class gives a function": lambda m: inspect.isfunction(m.no_grad()(Model)),
    "of a number": lambda m: m.no_grad()(3)(),
    "keywords of any name": lambda m: m.no_grad()(lambda **given: given)(self=1, call=2, function=3),
    "two arguments": lambda m: m.no_grad(1, 2),
    "calls itself": lambda m: [(f := m.no_grad()(lambda n: [now(m)] + (f(n - 1) if n else [])))(2), now(m)],
    # their objects
    "clones": lambda m: (type(m.no_grad().clone()).__name__, m.inference_mode(False).clone().mode,
                         m.set_grad_enabled(True).clone().mode),
    "pickled": lambda m: (type(pickle.loads(pickle.dumps(m.no_grad()))).__name__,
                          pickle.loads(pickle.dumps(m.inference_mode(False))).mode),
    "copied": lambda m: copy.deepcopy(m.set_grad_enabled(True)).mode,
    "what set found": lambda m: (m.set_grad_enabled(False).prev, m.set_grad_enabled(True).prev),
    "what no_grad found": lambda m: ((mode := m.no_grad()), mode.__enter__(), mode.prev)[2],
    "exit without enter": lambda m: m.enable_grad().__exit__(None, None, None),
    "modules": lambda m: [each.__module__.split(".", 1)[1] for each in
                          (m.no_grad, m.enable_grad, m.set_grad_enabled, m.inference_mode)],
    "a decorator of one's own": lambda m: type("Mine", (m.no_grad,), {})()(lambda: now(m))(),
})


@MODES
def a_decorated_function_keeps_its_name(m):
    @m.no_grad()
    def named(x, y=2):
        """Words."""

    return named.__name__, named.__doc__, named.__wrapped__.__name__, str(inspect.signature(named))


@MODES
def methods(m):
    class Mine:
        @m.no_grad()
        def method(self):
            return now(m)

        @classmethod
        @m.inference_mode()
        def of_class(cls):
            return cls.__name__, now(m)

        @staticmethod
        @m.no_grad
        def static():
            return now(m)

        @property
        @m.no_grad()
        def attribute(self):
            return now(m)

    return Mine().method(), Mine.of_class(), Mine.static(), Mine().attribute, Mine.method.__qualname__.split(".")[-2:]


@MODES
def generators(m):
    log = []
    make = generator_of(m, log)
    running = make(1)
    seen = [next(running), now(m), running.throw(ValueError("thrown")), now(m)]
    running.close()
    return seen, log, now(m), inspect.isgeneratorfunction(make), make.__name__


@MODES
def generators_inside_of_others(m):
    def outer():
        yield (yield from generator_of(m, [])(2))

    return list(outer())


@MODES
def a_generator_that_is_sent_to(m):
    running = generator_of(m, [])()
    return next(running), running.send("sent"), now(m)


@MODES
def an_error_goes_through_a_generator(m):
    running = generator_of(m, [])()
    next(running)
    running.throw(KeyError("through"))


@MODES
def a_generator_that_never_ran(m):
    generator_of(m, [])().close()
    generator_of(m, [])().throw(KeyError("at once"))


@MODES
def a_generator_that_fails(m):
    @m.no_grad()
    def failing():
        yield now(m)
        raise ZeroDivisionError(str(now(m)))

    return list(failing())


@MODES
def writes_that_go_unnoticed(m):
    w, x = m.ones(2), m.ones(2, requires_grad=True)
    y = x * w
    with m.autograd._unsafe_preserve_version_counter(w):
        w.add_(1)
        inside = w._version
    with m.autograd._unsafe_preserve_version_counter((w, x)):
        w[0].add_(1)
    y.sum().backward()
    return inside, w._version, x.grad


MODES.update({
    "unnoticed, of a list": lambda m: m.autograd._unsafe_preserve_version_counter([m.ones(1)]),
    "unnoticed, of a number": lambda m: m.autograd._unsafe_preserve_version_counter((3,)),
    "unnoticed, never written": lambda m: m.autograd._unsafe_preserve_version_counter(x := m.ones(1)).__exit__() or
    x._version,
    "unnoticed, of inference mode": lambda m: m.autograd._unsafe_preserve_version_counter(
        m.inference_mode()(lambda: m.ones(1))()),
})


@MODES
def coroutines_run_without_the_mode(m):
    @m.no_grad()
    async def work():
        return now(m)

    return inspect.iscoroutinefunction(work), asyncio.run(work())


@MODES
def an_error_restores_all(m):
    try:
        with m.inference_mode(), m.enable_grad(), m.no_grad():
            raise KeyError
    except KeyError:
        return now(m)


def run(program, lib):
    """What a program comes to; whatever mode it leaves on is off again after it."""
    try:
        return outcome(program, lib)
    finally:
        lib.set_grad_enabled(True)


@pytest.mark.parametrize("name", MODES)
def test_mode(torch, name):
    assert run(MODES[name], minigrad) == run(MODES[name], torch)
