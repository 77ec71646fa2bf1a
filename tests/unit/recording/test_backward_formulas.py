"""The arithmetic of a trace: for each node the expressions of its gradients, which evaluate to what was recorded."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from typing import Any

import pytest

import minigrad
from minigrad.recorder import Trace, record
from tests.expressions import check_line, line_recorded, operands_in
from tests.fuzz.differential.search import program
from tests.parity.compare import arrays_of, copied, outputs_of
from tests.parity.tables import all_cases

GRAD = "grad"
PROGRAMS = [
    ("a * b", [["mul", GRAD, "other"], ["mul", GRAD, "self"]]),
    ("a * 3", [["mul", GRAD, 3], None]),
    ("a + row", [GRAD, ["sum", GRAD, ["tuple", 0], False]]),
    ("a @ b", [["matmul", GRAD, ["swapaxes", "mat2", -1, -2]], ["matmul", ["swapaxes", "self", -1, -2], GRAD]]),
    ("a.exp()", [["mul", GRAD, "result"]]),
    ("a.sum()", [["broadcast_to", GRAD, ["tuple", 2, 2]]]),
    ("m.stack([row, row])", [["getitem", GRAD, ["tuple", 0]], ["getitem", GRAD, ["tuple", 1]]]),
    ("sum(row.unbind())", [["stack", ["tuple", "grads[0]", "grads[1]"], 0]]),
    ("a * b.detach()", [["mul", GRAD, "other"], None]),
    ("m.nn.functional.relu(a)", [["masked", ["invert", ["le", "result", 0]], GRAD]]),
    ("a.tanh()", [["mul", GRAD, ["sub", 1, ["mul", "result", "result"]]]]),
    ("a.log_softmax(1)", [["sub", GRAD, ["mul", ["exp", "result"], ["sum", GRAD, ["tuple", 1], True]]]]),
]


def recorded(text: str) -> Trace:
    """The trace of an expression and its backward pass."""
    names = {"m": minigrad, "a": minigrad.tensor([[1., 2.], [3., 4.]], requires_grad=True),
             "b": minigrad.tensor([[5., 6.], [7., 8.]], requires_grad=True),
             "row": minigrad.tensor([1., -1.], requires_grad=True)}
    with record() as trace:
        eval(text, names).sum().backward()
    return trace


@pytest.mark.parametrize(("text", "expected"), PROGRAMS, ids=[text for text, _ in PROGRAMS])
def test_the_expressions_of_a_node(text: str, expected: list[object]) -> None:
    trace = recorded(text)
    first = next(node for node in trace.nodes if node["name"] != "AccumulateGrad")
    assert [None if i is None else trace.expressions[i] for i in first["derivatives"]] == expected


def test_equal_expressions_are_kept_once() -> None:
    trace = recorded("a * a * a * a")
    assert len(trace.expressions) == len({json.dumps(e) for e in trace.expressions}) < 2 * len(trace.nodes)


def test_a_trace_keeps_them() -> None:
    trace = recorded("(a * b).exp() + float('inf')")
    again = Trace.from_json(trace.to_json())
    assert again == trace and again.expressions


@pytest.mark.parametrize("wrong", [[], [1, 2], {"mul": 1}, ["mul", object], ["add", *["x"] * 1000]],
                         ids=["empty", "no name", "a dict", "an object", "too long"])
def test_what_is_no_expression_is_refused(wrong: object) -> None:
    data = recorded("a * b").to_dict()
    data["expressions"][0] = wrong
    with pytest.raises(ValueError, match=r"one of its 'expressions' is not one"):
        Trace.from_dict(data)


# Some or all of their formulas look at numbers, hold objects that are no arrays, or are very long.
WITHOUT = {
    "AsStridedBackward0", "CopySlices", "CumprodBackward0", "GridSampler2DBackward0", "GridSampler3DBackward0",
    "IndexAddBackward0", "IndexBackward0", "IndexCopyBackward0", "IndexFillBackward0", "IndexFillBackward1",
    "IndexReduceBackward0", "IndexSelectBackward0", "LinalgEighBackward0", "LinalgLstsqBackward0",
    "LinalgLuBackward0", "LinalgLuFactorExBackward0", "LinalgLuSolveBackward0", "LinalgQrBackward0",
    "LinalgSlogdetBackward0", "LinalgSvdBackward0", "LinalgVectorNormBackward0", "MaskedScatterBackward0",
    "MaskedSelectBackward0", "ProdBackward0", "ProdBackward1", "RenormBackward0", "ScatterReduceBackward0",
    "StdMeanBackward0", "VarMeanBackward0",
}


def test_every_op_evaluates_to_what_was_recorded() -> None:
    """All lines of the op table: values of the expressions, and which nodes have none."""
    checked, without = Counter[str](), set[str]()
    for name, (call, inputs, *args) in all_cases().items():
        trace = line_recorded(minigrad, record, call, inputs, args[0] if args else ())
        if trace is not None:
            checked += check_line(trace, name, 1e-11)
            without |= {node["name"] for node in trace.nodes if "derivatives" not in node and node["next"]}
    assert sum(checked.values()) > 6000 and len(checked) > 240
    assert without == WITHOUT


def test_random_programs_evaluate_to_what_was_recorded() -> None:
    """300 random programs, with views, in-place writes, hooks, Functions and checkpoints."""
    checked = 0
    for seed in range(300):
        with record() as trace, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(minigrad, minigrad, seed)
        checked += check_line(trace, f"seed {seed}", 1e-5).total()
    assert checked > 1000


def test_operands_that_the_trace_does_not_have_are_parameters_of_the_formula() -> None:
    trace = recorded("a.max(1)[0]")
    node = next(node for node in trace.nodes if node["name"] == "MaxBackward0")
    assert operands_in(trace.expressions[node["derivatives"][0]]) == {"grad", "positions"}


def test_bfloat16_is_written_as_other_dtypes_are() -> None:
    pytest.importorskip("ml_dtypes", reason="the extra `bfloat16` is not installed")
    a, b = (minigrad.tensor([[1., 2.], [3., 4.]], requires_grad=True) for _ in range(2))
    with record() as trace:
        with minigrad.autocast("cpu", dtype=minigrad.bfloat16):
            c = (a @ b).relu()
        c.float().sum().backward()
    written = {node["name"]: [trace.expressions[i] for i in node["derivatives"] if i is not None]
               for node in trace.nodes if node["next"]}
    assert written["MmBackward0"] == [["matmul", "grad", ["swapaxes", "mat2", -1, -2]],
                                      ["matmul", ["swapaxes", "self", -1, -2], "grad"]]
    assert written["ToCopyBackward0"] in ([["cast", "grad", ["dtype", "bfloat16"]]],
                                          [["cast", "grad", ["dtype", "float32"]]])
    results = [trace.expressions[event["expressions"][0]] for event in trace.events if "expressions" in event]
    assert results[1:4] == [["cast", "inputs[0]", ["dtype", "bfloat16"]], ["matmul", "inputs[0]", "inputs[1]"],
                            ["maximum", 0.0, "inputs[0]"]]


def unwritten(call: Any, inputs: list[Any], dtype: Any) -> Counter[str]:
    """Ops and nodes of a line of the op table that have no expression, where all floats are of a dtype."""
    leaves = [minigrad.from_numpy(copied(array)).requires_grad_(spec.grad)
              for spec, array in zip(inputs, arrays_of(inputs, "float32", 0), strict=True)]
    leaves = [v.detach().to(dtype).requires_grad_(v.requires_grad) if v.is_floating_point() else v for v in leaves]
    minigrad.manual_seed(0)
    with record() as trace, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for result in outputs_of(call(minigrad, *leaves)):
            if getattr(result, "requires_grad", False):
                result.backward(minigrad.ones_like(result), retain_graph=True)
    return Counter([event["op"] for event in trace.events if event["kind"] == "forward" and "expressions" not in event]
                   ) + Counter([node["name"] for node in trace.nodes if node["next"] and "derivatives" not in node])


def test_what_is_written_in_float32_is_in_bfloat16() -> None:
    """All lines of the op table that take bfloat16."""
    pytest.importorskip("ml_dtypes", reason="the extra `bfloat16` is not installed")
    compared, worse = 0, {}
    for name, (call, inputs, *_) in all_cases().items():
        try:
            found = unwritten(call, inputs, minigrad.bfloat16)
        except (RuntimeError, TypeError, NotImplementedError):  # as PyTorch, see tests/parity/test_bfloat16_ops.py
            continue
        compared += 1
        more = found - unwritten(call, inputs, minigrad.float32)
        if more:
            worse[name] = more
    assert compared > 700
    assert set(worse) <= {"fill_diagonal_"}  # writes to a view by strides


# ---- in words
def told(trace: Trace, kind: str) -> list[list[str]]:
    """What `text` says of the arithmetic of the steps of a kind, where it says something."""
    steps = [step for step, event in enumerate(trace.events) if event["kind"] == kind]
    found = [[line for line in trace.text(step).splitlines() if " = " in line] for step in steps]
    return [lines for lines in found if lines]


def test_the_text_of_a_step_has_its_arithmetic():
    a = minigrad.tensor([1., 2.], requires_grad=True)
    b = minigrad.tensor([5., 6.], requires_grad=True)
    with record() as trace:
        c = a * b
        (c * 3 + c).sum().backward()
        (a * 2).sum().backward()
    runs, flows, added = (told(trace, kind) for kind in ("run", "flow", "accumulate"))
    assert ["grad of a = grad · b = [4., 4.] · [5., 6.]", "grad of b = grad · a = [4., 4.] · [1., 2.]"] in runs
    assert ["grad of c = grad · 3 = [1., 1.] · 3 = [3., 3.]",
            "the gradients meet: [1., 1.] + [3., 3.] = [4., 4.]"] in flows
    assert ["grad of a = grad · b = [4., 4.] · [5., 6.] = [20., 24.]"] in flows
    assert added == [["a.grad = [20., 24.] + [2., 2.] = [22., 26.]"]]


def test_what_a_hook_changed_is_what_the_arithmetic_starts_from():
    x = minigrad.tensor(2., requires_grad=True)
    with record() as trace:
        y = x * 3
        y.register_hook(lambda grad: grad * 10)
        y.exp().backward()
    assert told(trace, "flow")[-1] == ["grad of x = grad · 3 = 4034.29 · 3 = 12102.9"]
    with record() as trace:
        y = x * 3
        y.grad_fn.register_hook(lambda given, received: (given[0] * 0, *given[1:]))
        y.backward()
    assert told(trace, "flow") == [["grad of x = grad · 3 = 1. · 3"]]
