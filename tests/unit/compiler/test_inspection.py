"""The record of a compiled step: what the inspector shows of its passes, as plain data."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import minigrad as torch
from minigrad.compiler.inspection import SENTENCES, excerpt
from minigrad.compiler.loops.loop_source import WITH_LOOPS

X = [1.0, -1.0, 2.0]


def inspected(step: Callable[[Any], Any], x: Any = None, backend: str = "numpy") -> Any:
    """The record of a step that has been called twice; and the step."""
    compiled = torch.compile(step, backend=backend)
    for _ in range(2):
        compiled(torch.tensor(X) if x is None else x)
    return compiled.inspection(), compiled


def small() -> Callable[[Any], Any]:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        loss = (torch.relu(x * w) * 2.0).sum()
        loss.backward()
        return loss

    return step


def codes(record: Any, name: str) -> list[str]:
    """The statements after a pass."""
    step = next(step for step in record["steps"] if step["name"] == name)
    return [record["statements"][k]["code"] for k in step["statements"]]


def numbers(record: Any, name: str) -> list[int]:
    step = next(step for step in record["steps"] if step["name"] == name)
    return [record["statements"][k]["id"] for k in step["statements"]]


def said(record: Any, name: str) -> str:
    text: str = next(step["sentence"] for step in record["steps"] if step["name"] == name)
    return text


def lost(record: Any, name: str) -> list[str]:
    """The statements that a pass has removed."""
    names = [step["name"] for step in record["steps"]]
    before = names[names.index(name) - 1]
    left = set(numbers(record, name))
    return [code for number, code in zip(numbers(record, before), codes(record, before)) if number not in left]


def test_every_pass_has_a_sentence() -> None:
    assert {name.removesuffix(", again") for name in WITH_LOOPS} == set(SENTENCES)


def test_the_record_is_plain_data_and_ends_with_what_runs() -> None:
    record, compiled = inspected(small())
    assert json.loads(json.dumps(record))["steps"] == record["steps"]
    statements = [record["statements"][k] for k in record["steps"][-1]["statements"]]
    written = [line.strip() for line in compiled.source.splitlines()]
    assert written[0] == record["head"][0] == "def step(x, t4, w_grad):" and written[-1] == "return"
    assert [tuple(part.strip() for part in line.split("  # ")) for line in written[1:-1]] == [
        (each["code"], each["origin"]) for each in statements]
    assert [name for name, _ in compiled.passes] == [step["name"] for step in record["steps"][:-1]]


def test_each_pass_says_what_it_did_to_a_small_step() -> None:
    record, _ = inspected(small())
    assert said(record, "traced") == "As it was traced: 10 statements, one for each call that writes memory."
    assert said(record, "dead code") == "Dead code: 2 of 10 statements wrote what nobody reads."
    assert [code.partition("(")[0].split(".")[-1] for code in lost(record, "dead code")] == ["fill", "fill"]
    assert said(record, "common subexpressions") == "Common subexpressions: nothing is computed twice."
    assert "where(t5, k0_0, k2_0)" in codes(record, "common subexpressions")[-3]
    assert lost(record, "copies forwarded") == ["copyto(w_grad, t7)"]
    assert codes(record, "copies forwarded")[-1] == "multiply(t6, x, out=w_grad)"
    assert codes(record, "sums as products")[3] == "dot(ones3, t3, out=t4)"
    assert said(record, "memory plan") == (
        "Memory plan: 5 temporaries lie in one buffer of 128 bytes, with gaps, since each begins at a multiple of 64; "
        "without gaps they have 51. This is what runs.")
    assert [step["buffers"] for step in record["steps"]] == [8, 8, 8, 8, 6, 6, 5, 5, 5, 5, 5, 5, 5, 2]


def test_a_statement_keeps_its_number_and_a_value_its_name() -> None:
    record, _ = inspected(small())
    assert numbers(record, "traced") == list(range(10))
    assert numbers(record, "dead code, again") == [0, 1, 2, 3, 6, 7, 8]
    assert codes(record, "traced")[0] == codes(record, "memory plan")[0] == "multiply(x, w, out=t1)"
    for step in record["steps"]:
        found = [record["statements"][k]["id"] for k in step["statements"]]
        assert len(set(found)) == len(found)


def test_common_subexpressions_are_those_of_the_later_statement() -> None:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    record, _ = inspected(lambda x: ((x * w).exp() + (x * w).exp()).detach())
    assert said(record, "common subexpressions") == (
        "Common subexpressions: 2 of 5 statements computed what had been computed before.")
    assert [code.partition("(")[0] for code in lost(record, "common subexpressions")] == ["multiply", "exp"]
    assert codes(record, "common subexpressions")[-1] == "add(t2, t2, out=t3)"


def test_a_value_that_is_written_over_gets_a_name() -> None:
    record, _ = inspected(lambda x: torch.nn.functional.gelu(x * 2.0))
    outs = {name: [code.rpartition("out=")[2] for code in codes(record, name) if "out=" in code]
            for name in ("traced", "one name for each value")}
    assert len(set(outs["traced"])) < len(outs["traced"])
    assert len(set(outs["one name for each value"])) == len(outs["one name for each value"])
    assert said(record, "one name for each value").startswith(
        "One name for each value: what was written over an earlier value has a name of its own, which changes ")


def test_a_choice_becomes_two_statements_of_which_the_last_keeps_the_number() -> None:
    w = torch.tensor(X, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        (torch.relu(x * w) ** 2).sum().backward()

    record, _ = inspected(step)
    (choice,) = [n for n, code in zip(numbers(record, "copies forwarded"), codes(record, "copies forwarded"))
                 if "where" in code]
    after = dict(zip(numbers(record, "masks as bits"), codes(record, "masks as bits")))
    (new,) = set(after) - set(numbers(record, "copies forwarded"))
    assert after[choice].startswith("bitwise_and(") and after[new].startswith("subtract(")
    assert new == len(numbers(record, "traced")) and list(after).index(choice) == list(after).index(new) + 1


def test_ops_are_all_that_an_eager_step_calls() -> None:
    record, _ = inspected(small())
    assert [op["name"] for op in record["ops"]] == [
        "Mul", "Relu", "Mul", "Sum", "backward", "SumBackward0", "MulBackward0", "ReluBackward0", "MulBackward0",
        "AccumulateGrad"]
    assert [op["phase"] for op in record["ops"]] == ["forward"] * 4 + ["backward"] * 6
    assert [op["recorded_by"] for op in record["ops"]] == [None] * 5 + [3, 2, 1, 0, None]
    used = {op for each in record["statements"] for op in each["ops"]}
    assert set(range(10)) - used == {5}  # the gradient of a sum is a view
    (file,) = record["files"]
    text = dict(file["lines"])
    assert file["name"] == "test_inspection.py"
    assert [text[op["line"]].strip() for op in record["ops"][::4]] == [
        "loss = (torch.relu(x * w) * 2.0).sum()", "loss.backward()", "loss.backward()"]
    assert next(iter(text.values())) == "    def step(x: Any) -> Any:"


def test_an_optimizer_is_an_op() -> None:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    record, _ = inspected(step)
    ops = [op for op in record["ops"] if op["phase"] == "optimizer"]
    text = dict(record["files"][0]["lines"])
    assert {op["name"] for op in ops} >= {"SGD"} and {text[op["line"]].strip() for op in ops} == {"optimizer.step()"}


def test_loops_hold_the_statements_they_are_made_of() -> None:
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    record, compiled = inspected(small(), backend="numba")
    assert said(record, "loops") == "Loops: 7 statements run in loops over the same elements; 2 remain."
    first, second = [record["statements"][k] for k in record["steps"][-1]["statements"]]
    assert (first["parts"], second["parts"]) == ([0, 1, 2, 3, 6], [7, 8])
    assert first["ops"] == [0, 1, 2, 3, 7] and first["code"] == "loop1(x, w, t1_v, t2)"
    assert compiled.source.startswith("\n".join(first["loop"])) and "\n".join(second["loop"]) in compiled.source


def test_buffers_have_their_places() -> None:
    record, _ = inspected(small())
    places = {name: each.get("place") for name, each in record["buffers"].items()}
    assert [places[name] for name in ("t1", "t2", "t3", "t4", "t6", "x")] == [0, 0, 1, None, 0, None]
    assert {name: each["kind"] for name, each in record["buffers"].items() if name in ("x", "t4", "w_grad")} == {
        "x": "input", "t4": "kept", "w_grad": "kept"}
    assert record["buffers"]["t3"] | {"first": 2, "last": 3, "offset": 64} == record["buffers"]["t3"]
    assert all(record["names"][name] in record["buffers"] for name in record["names"])


def test_what_has_no_program_is_refused() -> None:
    compiled = torch.compile(lambda x: x * 2 if x.sum().item() > 0 else x, backend="numpy")
    with pytest.raises(RuntimeError, match=r"no program of <lambda> to inspect\n\nA step is traced at its second call"):
        compiled.inspection()
    compiled(torch.tensor(X))
    with pytest.warns(UserWarning, match="runs eagerly"):
        compiled(torch.tensor(X))
    with pytest.raises(RuntimeError, match="no program: a number is read from a tensor, as by .item"):
        compiled.inspection()


def test_what_python_cannot_parse_shows_its_lines_alone(tmp_path: Any) -> None:
    file = tmp_path / "cell.py"
    file.write_text("%time\ndef step(x):\n    return x * 2\n", encoding="utf-8")
    assert excerpt(str(file), {3}) == [(3, "    return x * 2")]
    assert excerpt(str(tmp_path / "gone.py"), {3}) == [(3, "")]
    whole = tmp_path / "whole.py"
    whole.write_text("import a\n\n\n@b\ndef step(x):\n    return x * 2\n\n\nstep(1)\n", encoding="utf-8")
    assert [number for number, _ in excerpt(str(whole), {6, 9})] == [4, 5, 6, 9]
