"""Links from the docs into the source. `python -m tests.links` gives every one of them the line it means.

A link to a line names what is there: [`Node.release`](../minigrad/core/graph.py#L180). Lines move, names stay, so
the line is found by the name; tests/test_docs.py holds the pages to what is found.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md")))
LINK = re.compile(r"\[(?P<text>[^\]\n]+)\]\((?P<target>[^)\s]+)\)")
TO_A_LINE = re.compile(r"\[`(?P<name>[\w.]+)`\]\((?P<file>[^)\s#]+\.py)#L(?P<line>\d+)\)")


class DeadLink(Exception):
    """A link to a name that its file does not define."""


@functools.cache
def definitions(path: Path) -> dict[str, int]:
    """The classes, functions, methods and variables that a file defines, with the line of each."""
    found: dict[str, int] = {}

    def look(body: list[ast.stmt], inside: str) -> None:
        for node in body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                found.setdefault(inside + node.name, node.lineno)
                if isinstance(node, ast.ClassDef):
                    look(node.body, f"{inside}{node.name}.")
            for target in (node.targets if isinstance(node, ast.Assign) else
                           [node.target] if isinstance(node, ast.AnnAssign) else []):
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found.setdefault(inside + name.id, node.lineno)

    look(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def corrected(text: str, page: Path) -> str:
    """A page's text with the line of each link as it is now.

    Raises:
        DeadLink: where a file does not define what a link names.
    """

    def with_line(link: re.Match[str]) -> str:
        lines = definitions((page.parent / link["file"]).resolve())
        if link["name"] not in lines:
            raise DeadLink(f"{page.name}: {link['file']} does not define {link['name']}")
        return f"[`{link['name']}`]({link['file']}#L{lines[link['name']]})"

    return TO_A_LINE.sub(with_line, text)


def links_of(text: str) -> Iterator[tuple[str, str]]:
    """What each link says, and where it goes."""
    for link in LINK.finditer(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        yield link["text"], link["target"]


def main() -> None:
    """Correct all pages."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if corrected(text, page) != text:
            page.write_text(corrected(text, page), encoding="utf-8")
            print(f"{page.relative_to(ROOT)}: lines brought up to date")


if __name__ == "__main__":
    main()
