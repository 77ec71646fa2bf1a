"""The forward pass of a trace as expressions: each result in terms of the operands of its op."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest

import minigrad
from minigrad.nn.functional import cross_entropy, dropout
from minigrad.ops._dispatch.torch_function import overridable
from minigrad.recorder import Trace, record
from minigrad.recording.forward_expressions import Count, Reader, observed
from tests.expressions import check_results, line_recorded
from tests.fuzz.differential.search import program
from tests.parity.tables import all_cases
from tests.unit.recording.test_backward_formulas import recorded

A, B = "inputs[0]", "inputs[1]"
PROGRAMS = [
    ("a * b", ["mul", A, B]),
    ("3 - a", ["sub", 3, A]),
    ("a @ b", ["matmul", A, B]),
    ("a.tanh()", ["tanh", A]),
    ("a.sum(0, keepdim=True)", ["sum", A, ["tuple", 0], True]),
    ("m.stack([row, row], 1)", ["stack", ["tuple", A, A], 1]),
    ("m.where(a > 2, a, 0.)", ["where", "reads[0]", A, B]),
    ("row[m.tensor([1, 0])]", ["getitem", A, ["array", ["dtype", "int64"], ["tuple", 2], 1, 0]]),
]
# What these write in their course to a tensor that they have made, no event says.
WRITES_INSIDE = ("pad circular 1", "pad circular 2", "vander of a vector", "gaussian_nll_loss full", "fill_diagonal_")


def results_of(trace: Trace) -> Any:
    """The expressions of the first op with a node."""
    event = next(event for event in trace.events if event["kind"] == "forward" and event["node"] is not None)
    return [trace.expressions[index] for index in event["expressions"]]


@pytest.mark.parametrize(("text", "expected"), PROGRAMS, ids=[text for text, _ in PROGRAMS])
def test_the_expression_of_a_result(text: str, expected: object) -> None:
    assert results_of(recorded(text)) == [expected]


def test_an_op_in_place_has_the_expression_of_what_it_writes() -> None:
    x = minigrad.tensor([1., 2.])
    with record() as trace:
        x.mul_(3).add_(x)
    first, second = [event for event in trace.events if event["kind"] == "forward"]
    assert [trace.expressions[event["expressions"][0]] for event in (first, second)] == [["mul", A, 3], ["add", A, A]]


def test_what_a_derivative_needs_of_the_operands_is_noted() -> None:
    a = minigrad.tensor([[1., 2.], [3., 1.]], requires_grad=True)
    with record() as trace:
        a.max(1)[0].sum().backward()
    node = next(node for node in trace.nodes if node["name"] == "MaxBackward0")
    parameters = {name: trace.expressions[index] for name, index in node["parameters"]}
    assert set(parameters) == {"indices", "positions"} and parameters["positions"][0] == "add"
    assert Trace.from_json(trace.to_json()) == trace


def test_a_function_whose_closure_holds_itself_is_an_argument_like_others() -> None:
    """As of an operator under autocast, which is handed on to `__torch_function__`."""
    operator: Any = overridable(minigrad.Tensor.__matmul__, is_operator=True)
    assert operator in [cell.cell_contents for cell in operator.__closure__]
    assert Reader((), None).plain(operator) is operator


def test_what_the_program_read_is_marked() -> None:
    a, b = minigrad.tensor([1., 2.], requires_grad=True), minigrad.tensor([3., 4.])
    with record() as trace:
        c = a * b
        loss = c.sum()
        if loss > 3:
            loss = loss * loss.item()
        loss.backward()
        b.tolist()
        c.argmax()
    read = [(record["dtype"], record["shape"], trace.events[record["read"]]["kind"]) for record in trace.tensors
            if "read" in record]
    assert read == [("float32", [2], "backward_end"), ("float32", [], "forward"), ("bool", [], "forward")]


def test_ops_without_a_derivative_are_recorded() -> None:
    a = minigrad.tensor([1., -2.], requires_grad=True)
    with record() as trace:
        ((a > 0) & (a < 2)).float()
        a.long()
        a.argmax()
        minigrad.zeros(2)
    ops = [event["op"] for event in trace.events if event["kind"] == "forward"]
    assert ops == ["gt", "lt", "bitwise_and", "to_copy", "to_copy", "argmax"]


def test_what_nothing_explains_is_marked() -> None:
    a = minigrad.tensor([1., 2.], requires_grad=True)
    data = minigrad.tensor([0.5, 0.5])
    with record() as trace:
        a.register_hook(lambda grad: grad * minigrad.tensor([2., 2.]) + data)
        (a * minigrad.ones(2)).sum().backward()
    marked = [record["value"] for record in trace.tensors if record.get("unexplained")]
    leaf = next(number for number, node in enumerate(trace.nodes) if node.get("variable") == 0)
    run = next(event for event in trace.events if event["kind"] == "run" and event["node"] == leaf)
    assert marked == run["gradient"]  # what the hook is given, and none of the tensors that hold constants


def test_random_draws_have_no_expression_and_nothing_is_drawn_again() -> None:
    x, y = minigrad.ones(8, requires_grad=True), minigrad.ones(8)
    minigrad.manual_seed(0)
    with record() as trace:
        dropout(x)
        y.uniform_()
    drawn = minigrad.rand(3)
    minigrad.manual_seed(0)
    with record() as again:
        dropout(x)
        y.uniform_()
    assert len(again) == len(trace)  # now they are encoded: functions run over symbols
    assert minigrad.equal(minigrad.rand(3), drawn)
    draws = [event for event in trace.events if event["kind"] == "forward" and event["op"] == "uniform_"]
    assert draws and not any("expressions" in event for event in draws)


def test_a_trace_that_is_looked_at_while_it_grows_notes_nothing_of_that() -> None:
    a = minigrad.tensor([1., 2.], requires_grad=True)
    with record() as trace:
        loss = cross_entropy(a, minigrad.tensor(1))
        count = len(trace)
        assert len(trace) == count
        loss.backward()
    assert [event["op"] for event in trace.events if event["kind"] == "forward"] == ["log_softmax", "nll_loss"]


def test_an_observer_comes_back_after_an_error() -> None:
    with record() as trace:
        with pytest.raises(ZeroDivisionError), observed(Count()):
            raise ZeroDivisionError
        minigrad.ones(2) * 2
    assert any(event["kind"] == "forward" for event in trace.events)


def test_every_op_evaluates_to_what_was_recorded() -> None:
    """All lines of the op table."""
    checked = Counter[str]()
    for name, (call, inputs, *args) in all_cases().items():
        trace = None if name in WRITES_INSIDE else line_recorded(
            minigrad, record, call, inputs, args[0] if args else ())
        if trace is not None:
            checked += check_results(trace, name, 1e-11)
    assert sum(checked.values()) > 5200 and len(checked) > 180


def test_random_programs_evaluate_to_what_was_recorded() -> None:
    """Those of 300 random programs that write nothing in place and set no `.data`; the front end follows writes."""
    checked = Counter[str]()
    for seed in range(300):
        with record() as trace, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program(minigrad, minigrad, seed)
        moved = Counter(who for event in trace.events for _, what, who in event.get("held", ()) if what < 2)
        if any(event["kind"] == "version" for event in trace.events) or max(moved.values(), default=1) > 1:
            continue
        seen = {(each["storage"], each.get("offset"), *each["shape"], each["value"]) for each in trace.tensors}
        if len(seen) > len({where[:-1] for where in seen}):
            continue  # other numbers were seen in the same place
        checked += check_results(trace, f"seed {seed}", 1e-5)
    assert sum(checked.values()) > 400
