"""What draws the picture of a graph, without matplotlib: lines and dashes, boxes, texts, as PNG and as SVG."""

from __future__ import annotations

from itertools import pairwise
from math import hypot
from xml.etree import ElementTree

import numpy as np
import pytest

from minigrad_widgets.pictures.sketch import FINE, POINT, Look, Shape, Sketch, font, strokes, with_note


def pixels(sketch: Sketch) -> np.ndarray:
    return np.asarray(sketch.image()).astype(int)


def test_a_box_is_where_it_is_said_and_no_larger() -> None:
    sketch = Sketch(100, 50, 80, 40)
    sketch.box(140, 70, 40, 20, 0, Look(None, "#ff0000"))
    red = np.argwhere((pixels(sketch) == (255, 0, 0)).all(axis=2))
    assert [*red.min(axis=0)] == [10, 20] and 29 <= red.max(axis=0)[0] <= 30 and 59 <= red.max(axis=0)[1] <= 60


def test_round_corners_are_empty() -> None:
    sketch = Sketch(0, 0, 40, 40)
    sketch.box(20, 20, 40, 40, 20, Look(None, "#000000"))
    shown = pixels(sketch)
    assert shown[1, 1].min() == 255 and shown[20, 1].max() < 60 and shown[20, 20].max() == 0


def test_a_line_is_as_wide_as_its_points_say() -> None:
    sketch = Sketch(0, 0, 30, 30)
    sketch.line([(0, 15), (30, 15)], Look("#000000", width=3.6))
    dark = (255 - pixels(sketch)[:, 15, 0]).sum() / 255
    assert dark == pytest.approx(3.6 * POINT, abs=1 / FINE)


@pytest.mark.parametrize("lengths", [[4.0, 2.0], [1.0, 1.0], [7.0, 3.0, 2.0, 3.0], [100.0, 1.0]])
def test_dashes_cover_their_part_of_a_line(lengths: list[float]) -> None:
    line = [(0.0, 0.0), (30.0, 0.0), (30.0, 30.0)]
    drawn = sum(hypot(bx - ax, by - ay) for stroke in strokes(line, lengths)
                for (ax, ay), (bx, by) in pairwise(stroke))
    period, on = sum(lengths), sum(lengths[::2])
    assert abs(drawn - min(60, 60 * on / period)) <= max(lengths) or drawn == 60


def test_a_curve_ends_where_its_points_end() -> None:
    shape = Shape([(0, 0), (0, 10), (10, 10), (10, 20), (10, 20), (10, 30), (10, 30)], Look("#000000"))
    flat = shape.flat()
    assert flat[0] == (0, 0) and flat[-1] == (10, 30)
    assert all(0 <= x <= 10 and 0 <= y <= 30 for x, y in flat)


def test_what_has_a_higher_order_is_on_top() -> None:
    sketch = Sketch(0, 0, 10, 10)
    sketch.box(5, 5, 10, 10, 0, Look(None, "#00ff00"), order=2)
    sketch.box(5, 5, 10, 10, 0, Look(None, "#ff0000"), order=1)
    assert tuple(pixels(sketch)[5, 5]) == (0, 255, 0)


def test_texts_are_data_in_svg() -> None:
    sketch = Sketch(0, 0, 100, 20)
    written = sketch.text(50, 10, '<img src="x"> & $x$', "#123456", 8, bold=True, align="center")
    sketch.pill(written, Look("#abcdef"), 0.2, 0.5, 1)
    root = ElementTree.fromstring(sketch.svg())
    texts = [each for each in root if each.tag.endswith("text")]
    assert [each.text for each in texts] == ['<img src="x"> & $x$']
    assert texts[0].get("text-anchor") == "middle" and texts[0].get("font-weight") == "bold"


def test_a_text_is_as_wide_as_its_letters() -> None:
    sketch = Sketch(0, 0, 200, 30)
    written = sketch.text(20, 15, "AccumulateGrad", "#000000", 9)
    dark = np.argwhere(pixels(sketch).min(axis=2) < 128)
    assert dark[:, 1].min() >= 20 and dark[:, 1].max() == pytest.approx(20 + written.width, abs=3)
    assert abs(dark[:, 0].mean() - 15) < 2


def test_every_glyph_of_a_picture_is_in_the_font() -> None:
    missing = font(20).getmask("￿").getbbox(), bytes(font(20).getmask("￿"))
    for letter in "✓↻×‖Σ…–·’":
        assert (font(20).getmask(letter).getbbox(), bytes(font(20).getmask(letter))) != missing, letter


def test_a_note_is_a_strip_below() -> None:
    sketch = Sketch(0, 0, 40, 30)
    noted = with_note(sketch.image(), "This is a note that is wider than the picture.")
    assert noted.height > 30 and noted.width > 40
    assert noted.crop((0, 0, 40, 30)).tobytes() == sketch.image().tobytes()
