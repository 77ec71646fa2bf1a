"""What the README says is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from minigrad_lessons.path import in_order
from tests.house import PARTS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_its_program_prints_what_it_shows(tmp_path: Path) -> None:
    (program,), (shown,) = blocks("python"), blocks("text")
    (tmp_path / "example.py").write_text(program)
    done = subprocess.run([sys.executable, "example.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == shown, done.stderr


def test_it_says_how_long_the_book_is() -> None:
    book = PARTS["minigrad/core"]
    assert f"The book** is `{book.folders[0].rstrip('/')}`" in README
    assert f"in at most {book.lines:,} lines, which a test" in README


def test_its_two_commands_are_one_line_each() -> None:
    lessons, tests = blocks("sh")
    assert lessons.count("\n") == tests.count("\n") == 1
    assert lessons.endswith("minigrad lab\n") and tests.endswith("-m tests\n")


def test_its_links_open_every_lesson() -> None:
    first, *lessons = re.findall(r"urlpath=lab/tree/([^)]+)", README)
    assert first == lessons[0]
    files = {int(path.name[:2]): path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert lessons == [f"notebooks/{files[number]}" for number in in_order(files)]


def test_its_first_links_need_nothing_installed_and_are_for_users_of_pytorch() -> None:
    links = re.findall(r"^(?!\[!).*?\[[^]!]+\]\(([^)]+)\)", README, re.MULTILINE)
    lab, own = links[:2]
    assert lab.endswith("/lab/lab/index.html?path=00_build_it_yourself.ipynb") and own == "docs/your_own_model.md"
    assert README.partition("</picture>")[2].lstrip().startswith("**[Open a lesson in your browser](")
