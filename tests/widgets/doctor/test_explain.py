"""`explain`: every error and warning of its table is provoked, under both libraries."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import Any

import pytest

import minigrad
from minigrad_widgets import explain
from minigrad_widgets.address import SITE
from minigrad_widgets.doctor import teaching
from minigrad_widgets.doctor.argument_texts import ARGUMENTS, text_for
from minigrad_widgets.doctor.card import card
from minigrad_widgets.doctor.findings import Finding
from minigrad_widgets.doctor.texts import TEXTS
from tests.doctor_page import PAGE, RULES
from tests.links import ROOT
from tests.widgets.doctor.provoked import PROGRAMS

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


def explanation(name: str, library: str) -> Any:
    pytest.importorskip(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is explained is shown as well
        return explain(PROGRAMS[name], importlib.import_module(library))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_provoked_is_explained(name: str, library: str) -> None:
    got = explanation(name, library)
    rules = [got.rule, *[each.rule for each in got.warnings]]
    assert name.split("__")[0].replace("_", "-") in rules
    told = got if got.rule != "no-error" else got.warnings[0]
    assert told.what.endswith(".") and 1 <= len(told.mends) <= 3
    assert all(mend.what.endswith(".") for mend in told.mends)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_warning_that_comes_once_per_program_is_explained_again(library: str) -> None:
    for _ in range(2):
        got = explanation("kept_graph__create_graph", library)
        assert [each.rule for each in got.warnings] == ["kept-graph"]
    assert not importlib.import_module(library).is_warn_always_enabled()


def test_a_program_whose_source_nobody_has() -> None:
    names: dict[str, Any] = {"m": minigrad}
    exec("def f():\n    y = m.ones(2, requires_grad=True).exp().sum()\n    y.backward()\n    y.backward()", names)
    assert explain(names["f"]).rule == "second-backward"


def test_the_table_knows_enough() -> None:
    assert len(TEXTS) >= 40 and len(PROGRAMS) >= 40


def test_the_lessons_have_these_headings() -> None:
    lessons = [each for name, each in vars(teaching).items() if name.isupper() and isinstance(each, tuple)]
    assert len(lessons) > 10
    for number, heading in lessons:
        source = ROOT / "notebooks" / "src" / f"{teaching.FILES[number]}.py"
        assert f"\n# ## {heading}\n" in source.read_text(encoding="utf-8")
        assert (ROOT / "notebooks" / teaching.file_of((number, heading))).is_file()


def test_every_rule_has_a_lesson_or_a_reason() -> None:
    rules = re.findall(r"^### ([a-z-]+)\n(.*?)(?=^##)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    taught = {name for name, shown in rules if "teaches it, under" in shown}
    taught |= {text.rule for text in [*TEXTS, *ARGUMENTS] if text.lesson is not None} | set(teaching.TAUGHT)
    known = {name for name, _ in rules} | {text.rule for text in [*TEXTS, *ARGUMENTS]}
    assert len(rules) == len(RULES)
    assert known - taught == set(teaching.UNTAUGHT)


def test_a_finding_names_the_notebook_of_its_lesson_and_its_card_leads_to_the_site() -> None:
    finding = Finding("cut-graph", "error", "Cut.", lesson=teaching.RETAIN)
    assert "Lesson 4 teaches it, under “A second belief: " in str(finding)
    assert str(finding).endswith("04_engine.ipynb.")
    assert (f": <a href='{SITE}/lessons/04_engine.html#a-second-belief-retain-graph-true-is-the-cure' target='_blank' "
            "rel='noopener'>04_engine.ipynb</a>.</p>") in card(finding)


def test_a_link_names_a_heading_as_the_site_does() -> None:
    names = pytest.importorskip("docutils.nodes", reason="the site's extra is not installed")
    for lesson in (each for name, each in vars(teaching).items() if name.isupper() and isinstance(each, tuple)):
        assert teaching.link_to(lesson).partition("#")[2] == names.make_id(lesson[1])


def test_the_culprit_comes_first() -> None:
    got = explanation("inplace_on_saved__exp", "minigrad")
    assert [(p.source, p.role) for p in got.where] == [
        ("y.add_(1)", "changed here"), ("y = x.exp()", "saved here"),
        ("y.sum().backward()", "the error is raised here")]
    assert got.trace.events[got.step]["line"] == got.where[0].line
    assert "RuntimeError: one of the variables needed" in str(got) and "y = y.add(1)" in str(got)


def test_an_unknown_error_goes_on_with_a_note() -> None:
    def program() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        explain(program)
    (note,) = raised.value.__notes__
    assert note.startswith("explain does not know this error.\n  It was raised here: test_explain.py:")
    assert note.endswith('  raise KeyError("mine")  # raised here')
    assert text_for("a sentence of nobody's") is None


def test_a_program_that_does_not_raise() -> None:
    got = explain(lambda: minigrad.ones(3, requires_grad=True).sum().backward())
    assert (got.rule, got.what, got.where) == ("no-error", "Nothing was raised.", [])


def test_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="takes a function and its arguments, not Tensor"):
        explain(minigrad.ones(3))


def test_it_is_a_page_too() -> None:
    page = explanation("inplace_on_saved__exp", "minigrad").to_html()
    assert "y.add_(1)" in page and "<script src" not in page
    assert re.findall(r"(\S+)http", page) == ["href='"]  # of the lesson: it is requested by who follows it
