"""`functional_call`, and batch norms folded into layers: values, states and errors as in PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.nn.utils.names import result_of

pytestmark = pytest.mark.torch

PROGRAMS = """\
one = linear()
result = (stateless.functional_call(one, {"weight": m.ones(3, 3, dtype=m.float64, requires_grad=True)}, x), facts(one))

one = linear()
stateless.functional_call(one, {"weight": m.ones(3, 3), "other": m.ones(1)}, (x,), strict=True)

one = linear()
stateless.functional_call(one, {"weight": m.ones(3, 3, dtype=m.float64)}, (x,), strict=True)

one = linear()
one.w2 = one.weight
result = stateless.functional_call(one, {"w2": m.ones(3, 3, dtype=m.float64)}, x)

one = linear()
one.w2 = one.weight
stateless.functional_call(one, {"w2": m.ones(3, 3), "weight": m.zeros(3, 3)}, x)

one = linear()
one.w2 = one.weight
result = stateless.functional_call(one, {"w2": m.ones(3, 3, dtype=m.float64)}, x, tie_weights=False)

one = nn.Sequential(nn.BatchNorm1d(3)).double()
s = {k: v.clone() for k, v in one.state_dict().items()}
result = (stateless.functional_call(one, s, x), s, facts(one))

m.manual_seed(0)
one = nn.Conv2d(2, 3, 2).eval()
two = nn.BatchNorm2d(3).eval()
two.running_mean.add_(0.5)
two.running_var.mul_(2)
result = facts(nn.utils.fuse_conv_bn_eval(one, two))

m.manual_seed(0)
one = nn.ConvTranspose2d(2, 3, 2, bias=False).eval()
two = nn.BatchNorm2d(3, affine=False).eval()
two.running_mean.add_(0.5)
result = nn.utils.fuse_conv_bn_eval(one, two, True)(m.ones(1, 2, 2, 2))

nn.utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3))

nn.utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2).eval(), nn.BatchNorm2d(3, track_running_stats=False).eval())

one = linear().eval()
two = nn.BatchNorm1d(3).double().eval()
two.running_mean.add_(0.5)
result = facts(nn.utils.fuse_linear_bn_eval(one, two))

nn.utils.fuse_linear_bn_eval(linear().eval(), nn.BatchNorm1d(2).eval())
"""


@pytest.mark.parametrize("source", PROGRAMS.strip().split("\n\n"))
def test_program(torch, source):
    assert result_of(minigrad, source) == result_of(torch, source)
