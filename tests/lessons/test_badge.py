"""The badge: one line as a picture, which in a browser is made without matplotlib."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from minigrad_lessons.badge import Badge


def test_it_is_a_png() -> None:
    assert Badge("live")._repr_mimebundle_().keys() == {"text/plain", "image/png"}
    assert Badge("live").png().startswith(b"\x89PNG")


def test_in_a_browser_it_is_an_svg_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "emscripten")
    shown = Badge("stored: PyTorch <2.13>")._repr_mimebundle_()
    assert shown.keys() == {"text/plain", "image/svg+xml"}
    root = ElementTree.fromstring(shown["image/svg+xml"])
    assert "".join(root.itertext()) == "PyTorch's side is stored: PyTorch <2.13>"
    assert float(root.attrib["width"]) > 200
