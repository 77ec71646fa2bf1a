"""The course as a map: the lessons in the order in which they are read, stage by stage, each with its picture."""

from base64 import b64decode
from html import escape
from io import BytesIO
from pathlib import Path

import nbformat
import numpy as np
from matplotlib.image import imread, imsave
from numpy.typing import NDArray

from minigrad_lessons.build import STILL
from minigrad_lessons.path import STAGES
from minigrad_lessons.teaching.course import Lesson, lessons
from website.pages import ROOT

ABOVE, BELOW = 0.16, 0.92  # where a still picture has its drawing: shares of its height
EDGE = 8  # pixels that are left around it
PICTURES = "_static/lessons"
STAGE = '<li><h3>{name}</h3><ol class="lessons">\n{lessons}\n</ol></li>'
CARD = ('<li><a href="lessons/{name}.html"><img src="{picture}" alt="" loading="lazy">'
        "<strong>{title}</strong><span>{minutes} minutes</span></a></li>")


def course_map() -> str:
    """Return the map as HTML that fits into a page in Markdown: it has no empty line."""
    found = lessons()
    stages = [STAGE.format(name=escape(name), lessons="\n".join(_card(found[number]) for number in numbers))
              for name, numbers in STAGES]
    return '<ol class="course">\n' + "\n".join(stages) + "\n</ol>"


def _card(lesson: Lesson) -> str:
    return CARD.format(name=lesson.name, picture=f"{PICTURES}/{lesson.name}.png", title=escape(lesson.title),
                       minutes=lesson.minutes)


def write_pictures(site: Path) -> None:
    """Write what the first inspector of each lesson draws into the site."""
    folder = site / PICTURES
    folder.mkdir(parents=True)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        still = next(cell for cell in nbformat.read(path, as_version=4).cells if cell.id == "still")
        imsave(folder / f"{path.stem}.png", _drawing(b64decode(still.attachments[STILL]["image/png"])))


def _drawing(picture: bytes) -> NDArray[np.float32]:
    """Cut the graph out of a still picture, between the sentence above it and the note below."""
    pixels = imread(BytesIO(picture))
    middle = pixels[int(len(pixels) * ABOVE):int(len(pixels) * BELOW)]
    rows, columns = (np.flatnonzero((middle != middle[0, 0]).any(axis=(2, other))) for other in (1, 0))
    return middle[max(0, rows[0] - EDGE):rows[-1] + EDGE, max(0, columns[0] - EDGE):columns[-1] + EDGE]
