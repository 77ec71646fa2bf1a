"""nn.init: the same seed fills a tensor with PyTorch's numbers; warnings and errors word for word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.nn import init
from tests.parity.alike import alike, ending

pytestmark = pytest.mark.torch

FILLS = {
    "uniform_": lambda i, w: i.uniform_(w),
    "uniform_ a b": lambda i, w: i.uniform_(w, -0.5, 0.25),
    "normal_": lambda i, w: i.normal_(w),
    "normal_ mean std": lambda i, w: i.normal_(w, mean=3, std=0.5),
    "trunc_normal_": lambda i, w: i.trunc_normal_(w),
    "trunc_normal_, small": lambda i, w: i.trunc_normal_(w, std=0.02),
    "trunc_normal_, one side": lambda i, w: i.trunc_normal_(w, 1.0, 0.5, 0.5, 3.0),
    "trunc_normal_, narrow": lambda i, w: i.trunc_normal_(w, 0.0, 1.0, -0.25, 0.25),
    "trunc_normal_, tail": lambda i, w: i.trunc_normal_(w, 0.0, 1.0, 1.5, 4.0),
    "constant_": lambda i, w: i.constant_(w, 0.3),
    "ones_": lambda i, w: i.ones_(w),
    "zeros_": lambda i, w: i.zeros_(w),
    "eye_": lambda i, w: i.eye_(w),
    "dirac_": lambda i, w: i.dirac_(w),
    "dirac_, groups": lambda i, w: i.dirac_(w, 2),
    "xavier_uniform_": lambda i, w: i.xavier_uniform_(w),
    "xavier_uniform_, gain": lambda i, w: i.xavier_uniform_(w, gain=i.calculate_gain("relu")),
    "xavier_normal_": lambda i, w: i.xavier_normal_(w, 0.5),
    "kaiming_uniform_": lambda i, w: i.kaiming_uniform_(w),
    "kaiming_uniform_, Linear's": lambda i, w: i.kaiming_uniform_(w, a=5**0.5),
    "kaiming_uniform_, fan_out": lambda i, w: i.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"),
    "kaiming_normal_": lambda i, w: i.kaiming_normal_(w, nonlinearity="selu"),
    "kaiming_normal_, FAN_OUT": lambda i, w: i.kaiming_normal_(w, mode="FAN_OUT"),
    "orthogonal_": lambda i, w: i.orthogonal_(w),
    "orthogonal_, gain": lambda i, w: i.orthogonal_(w, gain=2),
    "sparse_": lambda i, w: i.sparse_(w, 0.3),
    "sparse_, std": lambda i, w: i.sparse_(w, sparsity=0.75, std=1.0),
}
SHAPES = st.sampled_from([(3,), (2, 3), (3, 2), (4, 4), (8, 5), (4, 2, 3), (2, 2, 3, 3), (2, 2, 1, 2, 3)])


@given(name=st.sampled_from(sorted(FILLS)), shape=SHAPES, dtype=st.sampled_from(["float32", "float64"]),
       seed=st.integers(0, 2**32), grad=st.booleans())
def test_same_seed_same_weights(torch, name, shape, dtype, seed, grad):
    ends = []
    for lib in (torch, minigrad):
        lib.manual_seed(seed)
        weight = lib.zeros(shape, dtype=getattr(lib, dtype), requires_grad=grad)
        try:
            given = FILLS[name](lib.nn.init, weight)
            assert given is weight
            ends.append((weight.detach().numpy(), weight._version, weight.requires_grad, lib.rand(1).item()))
        except ValueError as error:
            ends.append(str(error))
    if isinstance(ends[0], str) or isinstance(ends[1], str):
        assert ends[0] == ends[1]
        return
    (theirs, _, *rest), (ours, _, *rest_here) = ends
    tolerance = 1e-13 if dtype == "float64" else 2e-5 if "orthogonal" in name else 1e-6
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)
    assert rest_here == rest


def linear(m, *shape):
    """A parameter, and a generator of its own."""
    return m.zeros(shape, requires_grad=True), m.Generator().manual_seed(5)


PROGRAMS = {
    "gains": lambda m: [m.nn.init.calculate_gain(n) for n in (
        "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
        "tanh", "relu", "leaky_relu", "selu")],
    "gain of a slope": lambda m: [m.nn.init.calculate_gain("leaky_relu", p) for p in (0.2, 2, 0, None)],
    "gain, text": lambda m: m.nn.init.calculate_gain("leaky_relu", "a"),
    "gain, True": lambda m: m.nn.init.calculate_gain("leaky_relu", True),
    "gain, unknown": lambda m: m.nn.init.calculate_gain("foo"),
    "eye_ of a vector": lambda m: m.nn.init.eye_(m.zeros(3)),
    "dirac_ of a matrix": lambda m: m.nn.init.dirac_(m.zeros(3, 3)),
    "dirac_, groups": lambda m: m.nn.init.dirac_(m.zeros(4, 2, 3), groups=3),
    "xavier_uniform_ of a vector": lambda m: m.nn.init.xavier_uniform_(m.zeros(3)),
    "xavier_uniform_ of nothing": lambda m: m.nn.init.xavier_uniform_(m.zeros(0, 0)),
    "xavier_uniform_ of no rows": lambda m: m.nn.init.xavier_uniform_(m.zeros(0, 2)),
    "kaiming_uniform_ of a vector": lambda m: m.nn.init.kaiming_uniform_(m.zeros(3)),
    "kaiming_uniform_, mode": lambda m: m.nn.init.kaiming_uniform_(m.zeros(3, 3), mode="foo"),
    "kaiming_uniform_, nonlinearity": lambda m: m.nn.init.kaiming_uniform_(m.zeros(3, 3), nonlinearity="foo"),
    "kaiming_uniform_ of nothing": lambda m: m.nn.init.kaiming_uniform_(m.zeros(0, 3)),
    "kaiming_normal_ of nothing": lambda m: m.nn.init.kaiming_normal_(m.zeros(3, 0)),
    "orthogonal_ of a vector": lambda m: m.nn.init.orthogonal_(m.zeros(3)),
    "orthogonal_ of nothing": lambda m: m.nn.init.orthogonal_(m.zeros(0, 3)),
    "orthogonal_ of halves": lambda m: m.nn.init.orthogonal_(m.zeros(3, 3, dtype=m.float16)),
    "sparse_ of a vector": lambda m: m.nn.init.sparse_(m.zeros(3), 0.5),
    "trunc_normal_, far": lambda m: m.nn.init.trunc_normal_(m.zeros(2), mean=5.0),
    "trunc_normal_, backwards": lambda m: m.nn.init.trunc_normal_(m.zeros(2), a=2, b=-2),
    "uniform_ of integers": lambda m: m.nn.init.uniform_(m.zeros(2, dtype=m.int64)),
    "constant_ of integers": lambda m: m.nn.init.constant_(m.zeros(2, dtype=m.int64), 3),
    "ones_ of bools": lambda m: m.nn.init.ones_(m.zeros(2, dtype=m.bool)),
    "normal_, negative": lambda m: m.nn.init.normal_(m.zeros(2), std=-1),
    "uniform_, backwards": lambda m: m.nn.init.uniform_(m.zeros(2), 2, 1),
    "uniform_ of a number": lambda m: m.nn.init.uniform_(3),
    "zeros_ by name": lambda m: m.nn.init.zeros_(tensor=m.ones(2)),
    **{f"old {name}": lambda m, name=name, rest=rest: getattr(m.nn.init, name)(m.zeros(2, 2), *rest)
       for name, *rest in [("uniform",), ("normal",), ("constant", 3), ("eye",), ("xavier_uniform",),
                           ("xavier_normal",), ("kaiming_uniform",), ("kaiming_normal",), ("orthogonal",),
                           ("sparse", 0.5)]},
    "old dirac": lambda m: m.nn.init.dirac(m.zeros(2, 2, 3)),
    **{f"{name} with a generator": lambda m, name=name, rest=rest: (
        (w := linear(m, 4, 5)), getattr(m.nn.init, name)(w[0], *rest, generator=w[1]), m.rand(1))[1:]
       for name, *rest in [("uniform_",), ("normal_",), ("trunc_normal_",), ("xavier_uniform_",), ("xavier_normal_",),
                           ("kaiming_uniform_",), ("kaiming_normal_",), ("orthogonal_",), ("sparse_", 0.5)]},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    for lib in (torch, minigrad):
        lib.manual_seed(3)
    if "orthogonal" in name:  # LAPACK rounds as it likes
        (theirs, *said), (ours, *said_here) = (ending(PROGRAMS[name], lib) for lib in (torch, minigrad))
        assert said == said_here
        assert str(ours)[:60] == str(theirs)[:60] or np.allclose(numbers(ours), numbers(theirs), atol=1e-5)
        return
    alike(torch, PROGRAMS[name])


def numbers(told):
    """All numbers in what was told."""
    if isinstance(told, (list, tuple)):
        return [n for each in told for n in numbers(each)]
    return [told] if isinstance(told, float) else []


def test_every_name_is_here(torch):
    public = {name for name in dir(torch.nn.init) if name[0] != "_" and name[0].islower()}
    assert public - set(init.__all__) <= {"math", "torch", "warnings", "annotations"}
