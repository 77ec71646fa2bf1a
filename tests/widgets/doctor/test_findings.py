"""Findings: one cause is one finding, whose list has what else it brings with it."""

from __future__ import annotations

from typing import Any

import pytest

from minigrad_widgets.doctor.card import card
from minigrad_widgets.doctor.findings import Finding, Place, with_effects
from tests.widgets.doctor.corpus_runs import FAULTY, LEARNING, findings


def one(rule: str, line: int, severity: str = "warning", what: str = "") -> Finding:
    return Finding(rule, severity, what or rule, [Place("a.py", line, "x", "here")])


def told(found: list[Finding]) -> list[tuple[str, str, list[str]]]:
    return [(each.rule, each.severity, list(each.list())) for each in found]


def test_one_rule_at_one_line_is_one_finding() -> None:
    found = with_effects([one("mode-mismatch", 3, what="a"), one("nan-forward", 3),
                          one("mode-mismatch", 3, "error", "b"), one("mode-mismatch", 4, what="c"),
                          one("mode-mismatch", 3, what="a")])
    assert told(found) == [("mode-mismatch", "error", ["b"]), ("nan-forward", "warning", []),
                           ("mode-mismatch", "warning", [])]


def test_an_effect_goes_to_its_nearest_cause_and_both_to_the_first() -> None:
    found = with_effects([one("exploding-gradient", 3, "error"), one("dead-relu", 3), one("dead-relu", 5),
                          one("input-scale", 3)])
    assert told(found) == [("dead-relu", "warning", []),
                           ("input-scale", "error", ["exploding-gradient: exploding-gradient", "dead-relu: dead-relu"])]
    assert "    dead-relu: dead-relu\n" in str(found[1]) and "<li>dead-relu: dead-relu</li>" in card(found[1])


def test_what_has_no_place_stays_by_itself() -> None:
    found = [Finding("zero-gradient", "error", "a"), Finding("dead-relu", "warning", "b")]
    assert with_effects(found) == found


@pytest.mark.parametrize("name, rules", [
    ("cut_graph__transformer_no_grad", ["cut-graph"]),
    ("stale_in_optimizer__head_replaced", ["stale-in-optimizer"]),
    ("zero_gradient__relu_on_the_logits", ["zero-gradient"]),
    ("loss_contract__softmax_of_one_score", ["loss-contract"]),
    ("input_scale__one_column_of_years", ["input-scale"]),
])
def test_a_fault_is_one_finding(torch: Any, name: str, rules: list[str]) -> None:
    planted = next(each for each in FAULTY + LEARNING if each.name == name)
    assert [each.rule for each in findings(planted.program, torch)] == rules


def test_what_learns_nothing_comes_before_what_ends_the_run_later(torch: Any) -> None:
    planted = next(each for each in FAULTY if each.name == "graph_grows__hidden_state_with_a_kept_graph")
    assert [(each.rule, each.severity) for each in findings(planted.program, torch)] == [
        ("nothing-moves", "error"), ("graph-grows", "error")]
