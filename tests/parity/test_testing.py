"""`testing.assert_close`: what it accepts, and the words in which it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
import minigrad.testing
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch
NAN = float("nan")
PROGRAMS = """
x, x + 1e-9
x, m.tensor([1.0, 2.5, 3.0])
x, m.tensor([1.0, 2.5, 4.0]), {"rtol": 0, "atol": 0}
x, x.double()
x, x.double(), {"check_dtype": False}
x, x[:2]
x[0], x[1]
x[0], x[0]
1.0, 2.0
1, 2
1, 1.0
1, 1.0, {"check_dtype": False}
0.0, 1e-9
2.0, 0.0
[1.0, 2.0], [1.0, 3.0]
[x, x], [x, x + 1]
[x], [x, x]
[1], (1,)
(1, (2, 3)), (1, (2, 4))
{"a": x}, {"a": x + 1}
{"a": x}, {"b": x}
{"a": {"b": 1}}, {"a": {"b": 2}}
x, m.tensor([1.0, NAN, 3.0])
m.tensor([NAN]), m.tensor([NAN])
m.tensor([NAN]), m.tensor([NAN]), {"equal_nan": True}
NAN, NAN
NAN, NAN, {"equal_nan": True}
m.tensor([1, 2]), m.tensor([1, 3])
m.tensor([True]), m.tensor([False])
m.tensor([1, 2]), m.tensor([1.0, 2.0])
x, x + 1, {"msg": "hello"}
x, x + 1, {"msg": lambda text: "before " + text}
x, [1.0, 2.0, 3.0]
x, x + 1, {"rtol": 0.1}
x, x + 1, {"atol": 0.1}
x, x + 1, {"rtol": 0.1, "atol": 0.3}
x, x + 1, {"rtol": 1.0, "atol": 0.0}
"a", "a"
None, None
None, 1
x.reshape(3, 1), x.reshape(3, 1) + m.tensor([[0.0], [1.0], [0.0]])
x, x.clone().requires_grad_()
x[0], 2.0
True, False
True, True
1 + 1j, 2j
np.array([1.0, 2.0]), np.array([1.0, 3.0])
np.array([1.0, 2.0]), np.array([1.0])
x, np.array([1.0, 2.0, 3.0], dtype=np.float32)
x.half(), (x + 1).half()
m.zeros(2, 0), m.zeros(2, 0)
x.repeat(2)[::2], x.repeat(2)[::2].contiguous(), {"check_stride": True}
m.zeros(2), m.tensor([0.0, 1.0])
m.tensor([float("inf"), 1.0]), m.tensor([float("inf"), 1.0])
m.tensor([float("inf"), 1.0]), m.tensor([1.0, float("inf")])
m.tensor([float("inf")]), m.tensor([-float("inf")])
""".strip().splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_it_accepts_and_says_the_same(torch, program):
    def run(lib):
        given = eval(program, {"m": lib, "x": lib.tensor([1.0, 2.0, 3.0]), "np": np, "NAN": NAN})
        options = given[2] if len(given) == 3 else {}
        return lib.testing.assert_close(given[0], given[1], **options)

    assert outcome(run, minigrad)[0] is None or outcome(run, minigrad)[0][0] == outcome(run, torch)[0][0]
    assert whole_text(run, minigrad) == whole_text(run, torch)


def whole_text(run, lib):
    try:
        return run(lib)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
        return str(error).replace("minigrad.Tensor", "torch.Tensor")


@given(st.lists(st.tuples(st.floats(-3, 3, width=32), st.sampled_from([0.0, 1e-7, 1e-5, 1e-4, 1.0])), min_size=1,
                max_size=6), st.sampled_from([(None, None), (0.0, 0.0), (1e-5, 0.0), (0.0, 1e-4), (0.1, 0.1)]))
def test_drawn_numbers(torch, numbers, tolerances):
    def run(lib):
        expected = lib.tensor([value for value, _ in numbers])
        actual = expected + lib.tensor([step for _, step in numbers])
        return lib.testing.assert_close(actual, expected, rtol=tolerances[0], atol=tolerances[1])

    assert whole_text(run, minigrad) == whole_text(run, torch)
