"""The tables of docs/comparison.md, made from the results of `python -m tests.comparison`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.comparison.models import MODELS
from tests.comparison.tools import TOOLS

__all__ = ["IMAGES", "LARGEST", "PAGE", "RESULTS", "ROOT", "page"]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "comparison.md"
IMAGES = ROOT / "docs" / "images" / "comparison"
RESULTS = IMAGES / "results.json"
LARGEST = 60_000  # bytes of a picture
BEGIN, END = "<!-- results -->\n", "<!-- end of results -->\n"
NAMES = {"here": "minigrad’s inspector", "explorer": "Model Explorer"}


def page(results: dict[str, Any]) -> str:
    """The page with the tables that it should have."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + tables(results) + END + rest.partition(END)[2]


def tables(results: dict[str, Any]) -> str:
    """The seconds by model and tool, what failed and why, and the pictures side by side."""
    titles = {tool: NAMES.get(tool, package) for tool, (package, *_) in TOOLS.items()}
    made = ", ".join(f"{titles[tool]} {number}" for tool, number in results["versions"].items())
    lines = [f"Made with PyTorch {results['torch']}, {made}.", "",
             "| CPU seconds | " + " | ".join(titles.values()) + " |", "|---|" + "--:|" * len(titles)]
    failures = []
    for model, (title, _) in MODELS.items():
        cells = []
        for tool in TOOLS:
            found = results.get(f"{model} {tool}", {"error": "not run"})
            cells.append(f"{found['seconds']:.2g}" if "seconds" in found else "failed")
            if "error" in found:
                failures.append(f"- {titles[tool]}, {title}: `{found['error'].replace('`', chr(39))}`")
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    lines += ["", *(["What failed, in its own words:", "", *failures, ""] if failures else [])]
    for model, (title, make) in MODELS.items():
        lines += [f"## {title}", "", f"{(make.__doc__ or '').strip()}", ""]
        shown = [tool for tool in TOOLS if (IMAGES / model / f"{tool}.png").exists()]
        for at in range(0, len(shown), 2):
            pair = shown[at:at + 2]
            lines += ["| " + " | ".join(titles[tool] for tool in pair) + " |", "|---" * len(pair) + "|",
                      "| " + " | ".join(f"![{title} in {titles[tool]}](images/comparison/{model}/{tool}.png)"
                                        for tool in pair) + " |", ""]
    return "\n".join(lines)
