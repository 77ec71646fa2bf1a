"""The doctor's output as HTML: cards, bars, and a page for them, light or dark like their surroundings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from minigrad_widgets.doctor.findings import lesson_text, number
from minigrad_widgets.doctor.teaching import file_of, link_to

__all__ = ["bars", "card", "page", "quiet", "styled"]

STYLE = """
.mgd { --mgd-bg: var(--jp-layout-color1, #fff); --mgd-bg2: var(--jp-layout-color2, #f3f4f6);
  --mgd-line: var(--jp-border-color2, #d9dce1); --mgd-ink: var(--jp-ui-font-color1, #1d2127);
  --mgd-error: #b3001b; --mgd-warning: #8a5a00; --mgd-note: #005a8e; --mgd-bar: #56b4e9;
  --mgd-soft: color-mix(in srgb, var(--mgd-ink) 72%, var(--mgd-bg)); color: var(--mgd-ink); max-width: 860px;
  font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif); }
[data-jp-theme-light=false] .mgd, .vscode-dark .mgd, .mg-dark .mgd { --mgd-bg: var(--jp-layout-color1, #15181d);
  --mgd-bg2: var(--jp-layout-color2, #1f242b); --mgd-line: var(--jp-border-color2, #363d47);
  --mgd-ink: var(--jp-ui-font-color1, #e8eaed); --mgd-error: #ff7b87; --mgd-warning: #f3be4e; --mgd-note: #8ccdf3;
  --mgd-bar: #3c83ab; }
.mgd.mgd h3 { margin: 4px 0 8px; font-size: 14px; font-weight: 600; }
.mgd.mgd h4 { margin: 14px 0 6px; font-size: 13px; font-weight: 600; }
.mgd-card { margin: 0 0 10px; padding: 10px 14px 12px; border: 1px solid var(--mgd-line); border-radius: 8px;
  border-left: 4px solid var(--mgd-tone); background: var(--mgd-bg); }
.mgd .mgd-card p { margin: 4px 0; }
.mgd-rule { color: var(--mgd-tone); font-weight: 600; }
.mgd-soft, .mgd-where td:last-child { color: var(--mgd-soft); }
.mgd.mgd pre, .mgd.mgd code { padding: 0; background: none; color: inherit;
  font: 12.5px/1.5 var(--jp-code-font-family, ui-monospace, Menlo, Consolas, monospace); }
.mgd.mgd pre { margin: 4px 0 6px; padding: 6px 10px; border-radius: 6px; background: var(--mgd-bg2);
  white-space: pre-wrap; word-break: normal; overflow-wrap: anywhere; }
.mgd.mgd table { margin: 6px 0; border-collapse: collapse; }
.mgd.mgd .mgd-where td { padding: 2px 14px 2px 0; border: 0; text-align: left; vertical-align: top; }
.mgd.mgd.mgd .mgd-where tr { background: none; }
.mgd.mgd .mgd-where tr:first-child code { font-weight: 600; }
.mgd-bars { display: grid; grid-template-columns: max-content minmax(80px, 1fr) max-content; gap: 3px 10px;
  align-items: center; font-variant-numeric: tabular-nums; }
.mgd-bar { height: 10px; border-radius: 2px; background: var(--mgd-bar); }
"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ margin: 24px; background: #fff; }} .mg-dark body {{ background: #0d0f12; }}</style>
</head>
<body>
<script>if (matchMedia("(prefers-color-scheme: dark)").matches)
  document.documentElement.classList.add("mg-dark")</script>
<main>{body}</main>
</body>
</html>
"""


def styled(body: str) -> str:
    """Return some HTML in the doctor's style."""
    return f"<div class='mgd'><style>{STYLE}</style>{body}</div>"


def page(title: str, body: str) -> str:
    """Return a page that requests nothing from the network."""
    return PAGE.format(title=escape(title), body=body)


def card(told: Any) -> str:
    """Return a finding or an explanation as a card: what it is, where, and what to do."""
    severity = getattr(told, "severity", "error")
    parts = [f"<span class='mgd-rule'>{escape(severity)}: {escape(told.rule)}</span>", f"<p>{escape(told.what)}</p>"]
    if getattr(told, "also", None):
        parts.append("<ul>" + "".join(f"<li>{escape(each)}</li>" for each in told.list()) + "</ul>")
    error = getattr(told, "error", "")
    if error:
        parts.append(f"<pre>{escape(error)}</pre>")
    if told.where:
        rows = "".join(f"<tr><td>{escape(p.file)}:{p.line}</td><td><code>{escape(p.source)}</code></td>"
                       f"<td>{escape(p.role)}</td></tr>" for p in told.where)
        parts.append(f"<table class='mgd-where'>{rows}</table>")
    evidence = getattr(told, "evidence", {})
    if evidence:
        text = ", ".join(f"{key} {number(value)}" for key, value in evidence.items())
        parts.append(f"<p class='mgd-soft'>{escape(text)}</p>")
    for mend in told.mends:
        code = f"<pre>{escape(mend.code)}</pre>" if mend.code else ""
        parts.append(f"<p>{escape(mend.what)}</p>{code}")
    if told.lesson is not None:
        file = file_of(told.lesson)
        link = f"<a href='{link_to(told.lesson)}' target='_blank' rel='noopener'>{file}</a>"
        parts.append(f"<p class='mgd-soft'>{escape(lesson_text(told.lesson)).replace(file, link)}</p>")
    return f"<section class='mgd-card' style='--mgd-tone: var(--mgd-{severity})'>{''.join(parts)}</section>"


def quiet(notes: Iterable[str]) -> str:
    """Return sentences that are only worth a glance."""
    return "".join(f"<p class='mgd-soft'>{escape(note)}</p>" for note in notes)


def bars(title: str, values: Mapping[str, float], text: Callable[[Any], str], log: bool = False) -> str:
    """Return numbers by name as bars; with `log`, of logarithmic length."""
    positive = [v for v in values.values() if 0 < v < math.inf]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)

    def width(value: float) -> float:
        if not 0 < value < math.inf:
            return 0.0 if value == 0 else 100.0
        if log:
            return 8 + 92 * (math.log(value / low) / math.log(high / low) if high > low else 1)
        return 100 * value / high

    rows = "".join(f"<code>{escape(name)}</code><span><span class='mgd-bar' style='display:block;width:"
                   f"{width(value):.1f}%'></span></span><span>{escape(text(value))}</span>"
                   for name, value in values.items())
    return f"<h4>{escape(title)}</h4><div class='mgd-bars'>{rows}</div>"
