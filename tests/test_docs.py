"""Every link of the docs resolves; the page about the engine leaves nothing out; what the tour prints is what runs."""

from __future__ import annotations

import doctest
import re
import sysconfig
from pathlib import Path

import pytest

from tests.groups import installed, require
from tests.links import PAGES, ROOT, TO_A_LINE, DeadLink, corrected, definitions, links_of

ENGINE = ROOT / "docs" / "engine.md"
TOUR = ROOT / "docs" / "reading_the_source.md"
MOST_STOPS = 15
WALKED = ("core/graph.py", "core/engine.py", "core/grad_mode.py", "autograd/function.py", "autograd/grad_mode.py")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    for text, target in links_of(page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("#"):
            continue
        assert (page.parent / target.partition("#")[0]).exists(), f"[{text}]({target})"
        assert "#L" not in target or TO_A_LINE.fullmatch(f"[{text}]({target})"), \
            f"[{text}]({target}): a link to a line says in backquotes what is there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_the_lines_that_they_name(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert corrected(text, page) == text, "run `python -m tests.links`"


@pytest.mark.parametrize("name", WALKED)
def test_the_walk_passes_everything(name: str) -> None:
    """Each class and function of the file is linked, but for what is of the file's own."""
    path = ROOT / "minigrad" / name
    linked = {link["name"].split(".")[0] for link in TO_A_LINE.finditer(ENGINE.read_text(encoding="utf-8"))
              if (ENGINE.parent / link["file"]).resolve() == path}
    wanted = {each for each in definitions(path) if "." not in each and not each.isupper() and not each.startswith("_")}
    assert wanted - linked == set()


class TestTheTour:
    """Reading the source, stop by stop."""

    def stops(self) -> list[str]:
        return re.split(r"^### ", TOUR.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    def test_each_stop_names_a_function_a_file_of_pytorch_and_something_to_try(self) -> None:
        stops = self.stops()
        assert 10 <= len(stops) <= MOST_STOPS
        for at, stop in enumerate(stops, 1):
            title, _, text = stop.partition("\n")
            assert title.startswith(f"{at}. ") and re.match(rf"\nHere: {TO_A_LINE.pattern}\.\n", text), title
            assert re.search(r"^PyTorch: `(torch|tools)/[\w./]+`", text, re.MULTILINE), title
            assert "*Try" in text and ">>> " in text, title

    def test_what_it_prints(self) -> None:
        text = TOUR.read_text(encoding="utf-8")
        code = "\n".join(re.findall(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
        tried = doctest.DocTestParser().get_doctest(code, {}, TOUR.name, str(TOUR), 0)
        told: list[str] = []
        result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tried, out=told.append)
        assert result.attempted > MOST_STOPS and result.failed == 0, "".join(told)

    def test_the_files_of_pytorch_are_there(self) -> None:
        require("torch", installed("torch"), "PyTorch is not installed")
        packages = Path(sysconfig.get_path("purelib"))
        named = re.findall(r"`(torch/[\w./]+)`", TOUR.read_text(encoding="utf-8"))
        assert named
        assert [file for file in named if not ((packages / file).exists()
                                               or (packages / "torch" / "include" / file).exists())] == []


class TestTheCheck:
    """The check itself, on pages that are wrong."""

    def page(self, tmp_path: Path) -> Path:
        (tmp_path / "a.py").write_text("class A:\n    x: int = 1\n\n    def f(self):\n        ...\n\n\nB = 2\n")
        return tmp_path / "page.md"

    def test_a_line_that_moved(self, tmp_path: Path) -> None:
        page = self.page(tmp_path)
        assert corrected("[`A.f`](a.py#L1) [`A.x`](a.py#L9) [`B`](a.py#L8)", page) == \
            "[`A.f`](a.py#L4) [`A.x`](a.py#L2) [`B`](a.py#L8)"

    def test_a_name_that_is_gone(self, tmp_path: Path) -> None:
        with pytest.raises(DeadLink, match=r"does not define A\.g"):
            corrected("[`A.g`](a.py#L1)", self.page(tmp_path))

    def test_code_is_not_read(self) -> None:
        assert list(links_of("```\n[a](b)\n```\n[c](d)")) == [("c", "d")]


@pytest.mark.parametrize("page", ["docs/your_own_model.md", "notebooks/src/20_a_whole_model.py"])
def test_a_colour_is_called_what_the_inspector_calls_it(page: str) -> None:
    measures = (ROOT / "widgets" / "frontend" / "src" / "inspector" / "measures.ts").read_text(encoding="utf-8")
    (name,) = re.findall(r'PER_ENTRY = "(.+?)"', measures)
    text = (ROOT / page).read_text(encoding="utf-8")
    assert f"**{name}**" in " ".join(text.replace("\n# ", " ").split())
