"""Parametrizations, and the spectral norm by a hook: states, values, gradients and errors as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.nn.utils.names import result_of

pytestmark = pytest.mark.torch

PROGRAMS = """\
one = register(linear(), "weight", Symmetric())
result = (facts(one), step(one, 2, 3))

one = register(linear(), "weight", Symmetric())
one.weight = m.ones(3, 3, dtype=m.float64)
result = facts(one)

one = register(linear(), "weight", Exponential())
result = (facts(one), step(one, 2, 3))

one = register(linear(), "weight", Exponential())
one.weight = m.ones(3, 3)

one = register(linear(), "weight", Two())
result = (facts(one), step(one, 2, 3))

one = register(linear(), "weight", Two(), unsafe=True)
result = (facts(one), step(one, 2, 3))

one = register(register(linear(), "weight", Half()), "weight", Symmetric())
result = (facts(one), step(one, 2, 3))

one = register(register(linear(), "weight", Half()), "weight", Wide())

one = register(register(linear(), "weight", Half()), "weight", Double())
result = facts(one)

one = register(register(nn.Linear(2, 2), "weight", Half()), "weight", Double())

one = register(register(linear(), "weight", Half()), "weight", NoTensor())

one = register(register(linear(), "weight", Half()), "weight", BadInverse())

register(linear(), "weight", BadInverse())

register(linear(), "weight", Wide())

register(linear(), "weight", NoTensor())

register(nn.Linear(2, 2), "weight", Double())

register(linear(), "nothing", Half())

one = register(linear(), "weight", Wide(), unsafe=True)
result = (facts(one), one.weight.shape)

one = register(linear(), "weight", Half())
result = (facts(parametrize.remove_parametrizations(one, "weight")), type(one).__name__)

one = register(linear(), "weight", Half())
result = facts(parametrize.remove_parametrizations(one, "weight", False))

one = register(linear(), "weight", Two(), unsafe=True)
result = facts(parametrize.remove_parametrizations(one, "weight"))

one = register(linear(), "weight", Two(), unsafe=True)
parametrize.remove_parametrizations(one, "weight", False)

parametrize.remove_parametrizations(linear(), "weight")

one = register(linear(), "weight", Half())
known = parametrize.is_parametrized
result = (known(one), known(one, "weight"), known(one, "bias"), known(linear()))
result = (result, parametrize.type_before_parametrizations(one).__name__)

one = register(register(linear(), "weight", Half()), "bias", Half())
two = copy.deepcopy(one)
two.weight = m.zeros(3, 3, dtype=m.float64)
result = (facts(one), facts(two), two.weight)

one = register(linear(), "weight", Half())
two = linear()
two.weight.data.zero_()
result = facts(parametrize.transfer_parametrizations_and_params(one, two))
result = (result, two.weight)

one = register(linear(), "weight", Half())
result = [one.weight is one.weight]
cached = parametrize.cached()
cached.__enter__()
result.append(one.weight is one.weight)
cached.__exit__(None, None, None)
result.append(one.weight is one.weight)

import pickle
pickle.dumps(register(linear(), "weight", Half()))

one = parametrizations.weight_norm(linear(3, 2))
result = (facts(one), step(one, 2, 3))

one = parametrizations.weight_norm(linear(3, 2), dim=None)
result = (facts(one), step(one, 2, 3))

one = parametrizations.weight_norm(nn.Conv2d(2, 3, 2).double(), dim=1)
result = (one.weight.shape, [n for n, _ in one.named_parameters()])

one = parametrizations.weight_norm(linear(3, 2))
one.load_state_dict({"bias": m.zeros(2), "weight_g": m.ones(2, 1), "weight_v": m.ones(2, 3)})
result = one.weight

one = parametrizations.spectral_norm(linear(3, 2))
result = (facts(one), step(one, 2, 3), facts(one))
one.eval()
result = (result, one(x), facts(one))

one = parametrizations.spectral_norm(nn.ConvTranspose2d(2, 3, 2).double())
result = (facts(one)[0], [tuple(v.shape) for v in one.state_dict().values()])

one = parametrizations.spectral_norm(linear(3, 2), "bias")
result = (facts(one), step(one, 2, 3))

parametrizations.spectral_norm(linear(), "nothing")

parametrizations.spectral_norm(linear(), n_power_iterations=0)

parametrizations.spectral_norm(linear(), dim=2)

one = parametrizations.orthogonal(linear())
result = (facts(one)[0], one.weight, [n for n, _ in one.named_parameters()], step(one, 2, 3))

one = parametrizations.orthogonal(linear(), orthogonal_map="cayley")
result = (facts(one)[0], one.weight, step(one, 2, 3))

one = parametrizations.orthogonal(linear(3, 2))
shapes = [tuple(v.shape) for v in one.state_dict().values()]
result = (facts(one)[0], (one.weight @ one.weight.mT).round(decimals=6) + 0.0, shapes)

one = parametrizations.orthogonal(linear(2, 3), orthogonal_map="matrix_exp")
result = (one.weight.mT @ one.weight).round(decimals=6) + 0.0

one = parametrizations.orthogonal(linear(2, 3), orthogonal_map="householder", use_trivialization=False)
result = (facts(one), one.weight, step(one, 2, 2))

one = parametrizations.orthogonal(linear(), use_trivialization=False)
result = (facts(one), one.weight)

one = parametrizations.orthogonal(linear(), use_trivialization=False)
one.weight = m.eye(3, dtype=m.float64)

one = parametrizations.orthogonal(linear())
one.weight = m.eye(3, dtype=m.float64).flip(0)
result = one.weight

one = parametrizations.orthogonal(linear())
one.weight = m.eye(2, dtype=m.float64)

parametrizations.orthogonal(linear(), "bias")

parametrizations.orthogonal(linear(), orthogonal_map="qr")

one = nn.utils.spectral_norm(linear(3, 2))
result = (facts(one), step(one, 2, 3), facts(one))
one.eval()
result = (result, one(x))
nn.utils.remove_spectral_norm(one)
result = (result, facts(one))

nn.utils.spectral_norm(nn.utils.spectral_norm(linear(3, 2)))

nn.utils.remove_spectral_norm(linear())

one = nn.utils.spectral_norm(linear(3, 2))
two = nn.utils.spectral_norm(linear(3, 2))
result = (str(two.load_state_dict(one.state_dict())), one.state_dict()._metadata)
"""


@pytest.mark.parametrize("source", PROGRAMS.strip().split("\n\n"))
def test_program(torch, source):
    assert result_of(minigrad, source) == result_of(torch, source)
