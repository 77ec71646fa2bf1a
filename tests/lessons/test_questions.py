"""Every question has its cell, docs/questions.md is up to date, and every claim is contradicted by both libraries."""

import importlib
import re
from types import ModuleType
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

import minigrad
from minigrad_lessons.bank import lesson_of
from minigrad_lessons.folder import shipped
from minigrad_lessons.lint import CALL
from minigrad_lessons.path import ORDER
from minigrad_lessons.questions import CLAIMS, IN_SHORT, OPEN, QUESTIONS
from minigrad_lessons.teaching.course import lessons
from tests.groups import has_torch, require
from tests.lessons import questions_page, teaching_page
from tests.lessons.answers import KEYS
from tests.lessons.claims import CONTRADICTED
from tests.lessons.play import lesson as notebook


def test_every_question_has_its_cell_but_for_those_that_are_listed_as_open() -> None:
    assert len(set(OPEN)) == len(OPEN) and set(OPEN) <= QUESTIONS.keys() | CLAIMS.keys()
    unanswered = questions_page.unanswered()
    assert unanswered == set(OPEN), f"answered: {sorted(set(OPEN) - unanswered)}; not: {sorted(unanswered - set(OPEN))}"


def test_every_question_has_its_answer_in_one_sentence() -> None:
    assert IN_SHORT.keys() == QUESTIONS.keys()
    for answer in IN_SHORT.values():
        assert answer.endswith(".") and ". " not in answer and len(answer.split()) <= 40, answer


def test_the_page_is_what_the_command_makes() -> None:
    said = questions_page.PAGE.read_text(encoding="utf-8")
    assert said == questions_page.page(), "run `python -m tests.lessons.pages`"
    assert all(text in said for text in (*(q.text for q in QUESTIONS.values()), *(c.text for c in CLAIMS.values())))


def test_a_cell_that_asks_first_is_named_as_one() -> None:
    """Its picture on the site says "not yet": who follows the link is told before."""
    places = questions_page.cells()
    assert [waits for name, id, waits in places["answers:s2.4"] if id == "r3"] == [" (after your prediction)"]
    assert [waits for name, id, waits in places["answers:row8"] if id == "open2"] == [" (after your answer)"]
    assert sum(waits != "" for tag in places for _, _, waits in places[tag]) > 8


@pytest.fixture(params=["minigrad", "torch"])
def library(request: pytest.FixtureRequest) -> ModuleType:
    if request.param == "minigrad":
        return minigrad
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return importlib.import_module("torch")


@pytest.mark.parametrize("id", CLAIMS)
def test_the_claim_does_not_hold(id: str, library: ModuleType) -> None:
    assert CONTRADICTED[id](library)


def test_each_claim_has_its_program() -> None:
    assert CONTRADICTED.keys() == CLAIMS.keys()


def test_the_pages_for_teachers_are_what_the_command_makes() -> None:
    pages = teaching_page.pages()
    assert {page.stem for page in pages} == {"teaching", *KEYS}
    assert set(teaching_page.PAGE.with_suffix("").iterdir()) == pages.keys() - {teaching_page.PAGE}
    for page, text in pages.items():
        assert page.read_text(encoding="utf-8") == text, "run `python -m tests.lessons.pages`"


def test_a_page_for_teachers_spends_the_minutes_that_the_lesson_states() -> None:
    for lesson in lessons().values():
        assert sum(part.minutes for part in lesson.parts) == lesson.minutes > 0
        assert lesson.count("predictions") == len(lesson.asked) and all(lesson.asked.values())


def test_in_class_a_picture_is_stepped_through_where_there_is_one() -> None:
    told = {part.heading: teaching_page.in_class(part) for lesson in lessons().values() for part in lesson.parts}
    assert told["See the mode"] == teaching_page.SHOWN
    assert told["Real data"] == teaching_page.RUN
    assert told["What is left"] == teaching_page.TOLD


def test_a_lesson_recalls_lessons_that_stand_above_it_in_the_table() -> None:
    for number, each in lessons().items():
        asked = (CALL["recall"].findall(cell.source) for cell in notebook(each.name).cells)
        recalled = {lesson_of(id) for found in asked for id, _ in found}
        assert all(ORDER.index(each) < ORDER.index(number) for each in recalled), number


def test_the_link_for_students_opens_a_lesson_and_the_values_are_yaml() -> None:
    text = (questions_page.ROOT / "docs" / "jupyterhub.md").read_text(encoding="utf-8")
    (link,) = re.findall(r"https://HUB/\S+", text)
    asked = parse_qs(urlsplit(link).query)
    assert asked["urlpath"][0].rpartition("/")[2] in shipped() and asked["repo"] and asked["branch"]
    values = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])
    assert values["singleuser"]["memory"] == {"guarantee": "512M", "limit": "1G"}
    assert values["hub"]["config"]["Authenticator"]["allow_all"] is True  # else JupyterHub 5 lets in nobody
    compile(values["hub"]["extraConfig"]["pages"], "pages", "exec")
