"""What the programs of these tests are given: layers, parametrizations, and what is compared of a module."""

from __future__ import annotations

import copy
import importlib
import math
from typing import Any

from tests.parity.outcome import outcome


def parametrizations_of(m: Any) -> dict[str, Any]:
    """Parametrizations for one tensor, right and wrong ones."""
    def module(name: str, forward: Any, right_inverse: Any = None) -> Any:
        methods = {"forward": lambda self, *given: forward(*given)}
        if right_inverse is not None:
            methods["right_inverse"] = lambda self, value: right_inverse(value)
        return type(name, (m.nn.Module,), methods)

    return {each.__name__: each for each in (
        module("Symmetric", lambda x: x.triu() + x.triu(1).mT, lambda a: a.triu()),
        module("Exponential", lambda x: x.exp()),
        module("Two", lambda a, b: a + b, lambda w: (w / 2, w / 2)),
        module("Wide", lambda x: m.cat([x, x])),
        module("Double", lambda x: x.double()),
        module("NoTensor", lambda x: 3),
        module("Half", lambda x: x * 2, lambda x: x / 2),
        module("BadInverse", lambda x: x * 2, lambda x: 4))}


def names_for(m: Any) -> dict[str, Any]:
    """The names that a program may use under a library."""
    def linear(inputs: int = 3, outputs: int = 3) -> Any:
        m.manual_seed(0)
        return m.nn.Linear(inputs, outputs).double()

    def facts(module: Any) -> Any:
        names = [name for name, _ in module.named_parameters()]
        return type(module).__name__, str(module), dict(module.state_dict()), names

    def step(module: Any, *shape: int) -> Any:
        out = module(m.linspace(-1, 1, math.prod(shape), dtype=m.float64).view(shape))
        (out ** 2).sum().backward()
        return out, {name: parameter.grad for name, parameter in module.named_parameters()}

    modules = {name: importlib.import_module(f"{m.__name__}.nn.utils.{name}")
               for name in ("parametrize", "parametrizations", "prune", "stateless")}
    x = m.linspace(-1, 1, 6, dtype=m.float64).view(2, 3)
    return {"m": m, "nn": m.nn, "linear": linear, "facts": facts, "step": step, "x": x, "copy": copy,
            "register": modules["parametrize"].register_parametrization, **modules, **parametrizations_of(m)}


def result_of(m: Any, source: str) -> Any:
    """What a program leaves in `result` under a library, or its error, and its warnings."""
    def program(m: Any) -> Any:
        names = names_for(m)
        exec(source, names)
        return names.get("result")

    return outcome(program, m)
