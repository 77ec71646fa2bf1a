"""`two_moons(Scalar)`: the class that a student wrote in lesson 0 trains a network, and the picture shows it learn."""

import builtins
import math
import time
from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from minigrad._base.optional import optional
from minigrad_lessons.exercises import report

NAME = "two_moons"
HIDDEN, PASSES, RATE = 6, 40, 0.15
POINTS = 20  # of each moon
CELLS, SIZE = 26, 13  # of the picture: how many cells in a row, and the pixels of each
PAUSE = 0.04  # seconds between two frames
BLUE, ORANGE = "#0072b2", "#d55e00"

Value = Any  # the student's class


class Point(NamedTuple):
    """A point of the plane, and the moon it is of: 1 or -1."""

    x: float
    y: float
    moon: float


class Network:
    """Two numbers in, some hidden neurons, one number out, of which the sign is the answer."""

    def __init__(self, value: Callable[[float], Value]) -> None:
        """Make the parameters of `value`; they start at numbers that no two neurons share."""
        self.value = value
        self.hidden = [[value(math.sin(7.0 * i + 3.0 * k + 2.0)) for k in range(3)] for i in range(1, HIDDEN + 1)]
        self.output = [value(math.cos(5.0 * i + 2.0)) for i in range(HIDDEN + 1)]

    @property
    def parameters(self) -> list[Value]:
        """All of them, as the student's values."""
        return [*(each for neuron in self.hidden for each in neuron), *self.output]

    def __call__(self, point: Point) -> Value:
        """Compute the answer with the student's operations, which remember how."""
        x, y = self.value(point.x), self.value(point.y)
        answer = self.output[-1]
        for (w, v, bias), weight in zip(self.hidden, self.output, strict=False):
            answer = answer + weight * (w * x + v * y + bias).tanh()
        return answer.tanh()

    def learn(self, point: Point) -> None:
        """Take one step down the slope of (answer - moon)², for one point."""
        error = self(point) + self.value(-point.moon)
        (error * error).backward()
        for parameter in self.parameters:
            parameter.data -= RATE * parameter.grad
            parameter.grad = 0.0

    def answer(self, x: float, y: float) -> float:
        """Compute the answer with plain numbers: for the picture, which needs hundreds."""
        total: float = self.output[-1].data
        for (w, v, bias), weight in zip(self.hidden, self.output, strict=False):
            total += weight.data * math.tanh(w.data * x + v.data * y + bias.data)
        return math.tanh(total)

    def right(self, points: list[Point]) -> int:
        """Count the points whose moon it names."""
        return sum(self.answer(point.x, point.y) * point.moon > 0 for point in points)


def moons() -> list[Point]:
    """Two half circles, one inside the open side of the other, in turns."""
    found = []
    for i in range(POINTS):
        angle = math.pi * i / (POINTS - 1)
        found += [Point(math.cos(angle) - 0.5, math.sin(angle) - 0.25, 1.0),
                  Point(0.5 - math.cos(angle), 0.25 - math.sin(angle), -1.0)]
    return found


def two_moons(value: Callable[[float], Value]) -> None:
    """Train a network made of a student's values, and draw it while it learns. `check.value_class` must have passed."""
    if not report.verdicts.get("check.value_class"):
        print(f"{NAME}: not yet. This trains with your class: finish it, and let its check pass.")
        return
    points, network = moons(), Network(value)
    show = _picture() if hasattr(builtins, "get_ipython") else None
    told = []
    for done in range(PASSES + 1):
        if done:
            for point in points:
                network.learn(point)
        told.append(f"after {done * len(points):,} backward passes, {network.right(points)} of {len(points)} points "
                    "are on their side")
        if show is not None:
            show(drawn(network, points, told[-1]))
    if show is None:
        print("\n".join(told[::10]))


def _picture() -> Callable[[str], None]:
    """What draws a frame in the place of the one before."""
    display = optional("IPython.display", "lessons").display
    handle: Any = None

    def show(picture: str) -> None:
        nonlocal handle
        data = {"text/html": picture, "text/plain": f"{NAME}: a picture of two moons"}
        if handle is None:
            handle = display(data, raw=True, display_id=True)
        else:
            handle.update(data, raw=True)
        time.sleep(PAUSE)

    return show


def drawn(network: Network, points: list[Point], told: str) -> str:
    """Return a picture as SVG: the plane in the colours of the answers, the points, and a sentence."""
    side = CELLS * SIZE
    half, scale = side / 2, side / 4.4
    cells = []
    for row in range(CELLS):
        for column in range(CELLS):
            left, top = column * SIZE, row * SIZE
            answer = network.answer((left + SIZE / 2 - half) / scale, (half - top - SIZE / 2) / scale)
            cells.append(f'<path fill="{BLUE if answer > 0 else ORANGE}" fill-opacity="{abs(answer) * 0.5:.2f}" '
                         f'd="M{left} {top}h{SIZE}v{SIZE}h-{SIZE}"/>')
    dots = [f'<circle cx="{half + point.x * scale:.0f}" cy="{half - point.y * scale:.0f}" r="6" stroke="#fff" '
            f'stroke-width="1.5" fill="{BLUE if point.moon > 0 else ORANGE}"/>' for point in points]
    return (f'<svg viewBox="0 0 {side} {side}" width="{side}" height="{side}" role="img" aria-label="{escape(told)}">'
            f'{"".join(cells)}{"".join(dots)}</svg><p>{escape(told)}</p>')
