"""The pages of docs/ as the site shows them: a link into the source leads to a page of the site, at its line."""

import re
import tomllib
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path, PurePosixPath

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_for_filename

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Repository"]
UP = re.compile(r"(?<!!)\[(?P<text>[^\[\]]+)\]\((?P<target>\.\./[^)\s]+)\)")
# GitHub chooses by the reader's system; the site has a switch of its own, and classes for both themes.
PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="(?P<dark>[^"]+)">\s*'
                     r'<img\s+src="(?P<light>[^"]+)"\s+alt="(?P<alt>[^"]*)">\s*</picture>\n?')
BOTH = "![{alt}]({light}){{.only-light}}\n\n![{alt}]({dark}){{.only-dark}}\n"
CODE = re.compile(r"`([^`]+)`")
SHOWN_BY = re.compile(r"\[(?P<lesson>[^\[\]]+)\]\(\.\./notebooks/(?P<file>\w+)\.ipynb\), `(?P<cell>[\w-]+)`")


def copy_pages(target: Path, changed: Mapping[str, Callable[[str], str]]) -> None:
    """Put the pages of docs/ into the folder, and a page for each source file that one of them names.

    `changed` has a function for each page, by its name, whose text is not to be shown as it stands.
    """
    named: set[str] = set()
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = changed.get(page.name, str)(page.read_text(encoding="utf-8"))
        text = PICTURE.sub(lambda found: BOTH.format(**found.groupdict()), text)
        text = UP.sub(lambda link: _link(link["text"], link["target"], named), text)
        place = target / page.relative_to(ROOT / "docs")
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for file in sorted(named):
        _source_page(file, target)


def to_cells(text: str) -> str:
    """The page of questions, with links to the cells that answer them (lessons.py marks these)."""
    return SHOWN_BY.sub(r'<a href="lessons/\g<file>.html#cell-\g<cell>">\g<lesson>, <code>\g<cell></code></a>', text)


def _link(text: str, target: str, named: set[str]) -> str:
    """A link that leads out of docs/: to a lesson, to the page of a source file, or to the repository."""
    file, _, line = target.replace("../", "").partition("#")
    if file.startswith("notebooks/") and file.endswith(".ipynb"):
        return f"[{text}]({'../' * (target.count('../') - 1)}lessons/{file.removeprefix('notebooks/')})"
    if not (ROOT / file).is_file() or not file.endswith(".py"):
        return f"[{text}]({REPOSITORY}/tree/main/{file})"
    named.add(file)
    place = f"#L-{line.removeprefix('L')}" if line else ""
    words = CODE.sub(r"<code>\1</code>", escape(text, quote=False))
    return f'<a href="{_page_of(file)}.html{place}">{words}</a>'


def _page_of(file: str) -> PurePosixPath:
    return PurePosixPath("source") / PurePosixPath(file).with_suffix("")


def _source_page(file: str, target: Path) -> None:
    """A page with one source file, an anchor at each line."""
    formatter = HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True, wrapcode=True)
    code = highlight((ROOT / file).read_text(encoding="utf-8"), get_lexer_for_filename(file), formatter)
    page = target / f"{_page_of(file)}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"---\norphan: true\nnosearch: true\nhtml_theme.sidebar_secondary.remove: true\n---\n\n# {file}\n\n"
                    f"````{{raw}} html\n{code}\n````\n", encoding="utf-8")
