"""`module.to` and its like with new parameters (`torch.__future__`), and with new data for those that are there."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.alike import alike

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def switched_back(torch):
    yield
    for lib in (minigrad, torch):
        lib.__future__.set_overwrite_module_params_on_conversion(False)


CONVERSIONS = {
    "double": lambda net: net.double(),
    "no change": lambda net: net.float(),
    "to": lambda net: net.to("cpu"),
    "half": lambda net: net.half(),
}


@pytest.mark.parametrize("graded", [False, True], ids=["without gradients", "with gradients"])
@pytest.mark.parametrize("overwrite", [False, True], ids=["kept", "overwritten"])
@pytest.mark.parametrize("name", CONVERSIONS)
def test_parameters_of_a_converted_module(torch, name, overwrite, graded):
    def program(m):
        m.__future__.set_overwrite_module_params_on_conversion(overwrite)
        net = m.nn.BatchNorm1d(2)
        net.bias.requires_grad_(False)
        if graded:
            net(m.arange(6.0).view(3, 2)).sum().backward()
        before = dict(net.named_parameters())
        grads = {key: p.grad for key, p in before.items()}
        CONVERSIONS[name](net)
        after = dict(net.named_parameters())
        return [(after[key] is p, after[key].grad is grads[key], after[key].requires_grad, str(after[key].dtype),
                 str(p.dtype), None if after[key].grad is None else str(after[key].grad.dtype))
                for key, p in before.items()], m.__future__.get_overwrite_module_params_on_conversion()

    alike(torch, program)
