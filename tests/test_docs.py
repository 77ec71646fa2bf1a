"""Every link of the docs resolves; the page about the engine leaves nothing out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.links import PAGES, ROOT, TO_A_LINE, DeadLink, corrected, definitions, links_of

ENGINE = ROOT / "docs" / "engine.md"
WALKED = ("graph.py", "engine.py", "function.py", "grad_mode.py")


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
    path = ROOT / "minigrad" / "autograd" / name
    linked = {link["name"].split(".")[0] for link in TO_A_LINE.finditer(ENGINE.read_text(encoding="utf-8"))
              if (ENGINE.parent / link["file"]).resolve() == path}
    wanted = {each for each in definitions(path) if "." not in each and not each.isupper() and not each.startswith("_")}
    assert wanted - linked == set()


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
