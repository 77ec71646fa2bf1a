"""A small program as one reads it: a box for each number or small tensor, and the operations between them as signs.

The lens "values" shows it, from left to right, first the values and then, sign by sign, the gradients that come back.
Python decides once what is drawn, where, and which sentence belongs to each step; pictures, texts and the browser
share it. A program too long for this, or with a tensor too large to be read, has none.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise
from typing import Any, TypedDict

from minigrad.trace.expression import expression_text, name_of
from minigrad.trace.format import Names, number
from minigrad_widgets.graph.geometry import HEIGHT
from minigrad_widgets.graph.layout import LAYER, MARGIN, Point, place

Data = dict[str, Any]

MOST_OPS, MOST_ROWS, MOST_COLUMNS = 24, 4, 4
LABELS, ENTRY, ROW = 84, 76, 23  # pixels: the names in a box, and the place of a number
SIGN, BETWEEN = 44, 30
LONGEST = 16  # letters of the name of a result that the program does not name
SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "neg": "−", "pow": "^", "matmul": "@", "sum": "Σ"}
RULES = {("add", 2): "each term gets the gradient as it is", ("add", 1): "the gradient stays as it is",
         ("sub", 2): "the first gets the gradient as it is, the second gets its negative",
         ("mul", 2): "each factor gets the gradient times the other factor",
         ("sum", 1): "each entry of the sum gets the same gradient"}


class Box(TypedDict):
    """A tensor; `node` and `output_nr`: where its gradient arrives, None for a tensor that gets none. `x` and `y` are
    its middle, in pixels."""

    tensor: int
    name: str
    node: int | None
    output_nr: int
    x: float
    y: float
    width: int
    height: int


class Sign(TypedDict):
    """An operation; `inputs` and `outputs` are numbers of boxes, and `ways` the points that the lines from the inputs
    pass."""

    sign: str
    node: int | None
    inputs: list[int]
    outputs: list[int]
    ways: list[list[Point]]
    x: float
    y: float


class Calculation(TypedDict):
    """What the lens shows; `steps` are the events at which it stops, with a sentence for each; `root` is a box."""

    boxes: list[Box]
    signs: list[Sign]
    root: int
    steps: list[tuple[int, str]]
    size: Point


def calculation(data: Data) -> Calculation | None:
    """Return how the program up to its first backward pass is read; None if it is too large for that."""
    return _Reading(data).found()


def gradient(data: Data, box: Box, step: int) -> tuple[list[int], int | None]:
    """Return what has come back for a box up to a step: each gradient, and their sum, as numbers of values."""
    parts: list[int] = []
    total = None
    for event in data["events"][:step + 1]:
        if event["kind"] == "backward_start":
            parts, total = [], next((value for node, nr, value in event["roots"]
                                     if (node, nr) == (box["node"], box["output_nr"])), None)
        elif event["kind"] == "flow" and (event["to"], event["output_nr"]) == (box["node"], box["output_nr"]):
            parts, total = [*parts, event["gradient"]], event["sum"]
    return parts, total


def plain(entry: Any, dtype: str) -> str:
    """Return a number as one writes it by hand: without a point after a whole one, and with a minus sign."""
    return number(entry, dtype).removesuffix(".").replace("-", "−")


def as_drawn(formula: str) -> str:
    """Return a formula with the signs that stand in the picture."""
    return formula.replace(" · ", f" {SIGNS['mul']} ").replace(" / ", f" {SIGNS['div']} ")


def told_at(data: Data, step: int) -> str:
    """Return the number of the lens's step at or before a step of the trace, and its sentence."""
    steps = data["calculation"]["steps"]
    at = max((at for at, (start, _) in enumerate(steps) if start <= step), default=0)
    return f"step {at + 1} of {len(steps)}: {steps[at][1]}"


def summed(terms: list[str]) -> str:
    """Return numbers as a sum."""
    return " + ".join(terms).replace("+ −", "− ")


def calculation_text(data: Data, step: int) -> str:
    """Return the boxes at a step in words, a line for each, in the order of the program."""
    found = data["calculation"]
    lines = []
    for box in found["boxes"]:
        parts, total = gradient(data, box, step)
        sums = f"{summed([_told(data, part) for part in parts])} = " if len(parts) > 1 else ""
        got = "" if total is None else f", gradient {sums}{_told(data, total)}"
        lines.append(f"{box['name']} = {_told(data, data['tensors'][box['tensor']]['value'])}{got}")
    return "\n".join(lines)


def _told(data: Data, value: int) -> str:
    record = data["values"][value]
    texts = [plain(entry, record["dtype"]) for entry in record.get("data", ["?"])]
    columns = record["shape"][-1] if record["shape"] else 1
    rows = [", ".join(texts[at:at + columns]) for at in range(0, len(texts), columns)]
    return f"[{'; '.join(rows)}]" if record["shape"] else texts[0]


class _Reading:
    """Reads a trace as a calculation."""

    def __init__(self, data: Data) -> None:
        self.data, self.events, self.tensors = data, data["events"], data["tensors"]
        starts = [at for at, event in enumerate(self.events) if event["kind"] == "backward_start"]
        self.start = starts[0] if starts else None
        self.made: dict[int, int] = {}  # by tensor, the event of its op
        self.names: dict[int, str] = {}

    def found(self) -> Calculation | None:
        before = self.events[:self.start]
        ops = [(at, event) for at, event in enumerate(before) if event["kind"] == "forward" and not event.get("depth")]
        if any(event["op"].endswith("_") for _, event in ops):
            return None
        for at, event in ops:
            for output in event["outputs"]:
                self.made.setdefault(output, at)
        root = self.root()
        if root not in self.made:
            return None
        self.steps, shown = self.needed(root)
        if len(self.steps) > MOST_OPS or not all(map(self.readable, shown)):
            return None
        self.order = sorted(shown, key=lambda tensor: (self.made.get(tensor, -1), tensor))
        self.signs = [self.sign(step) for step in self.steps]
        self.boxes = [self.box(tensor) for tensor in self.order]
        size = self.arrange()
        at = self.order.index(root)
        return Calculation(boxes=self.boxes, signs=self.signs, root=at, steps=self.told(self.boxes[at]), size=size)

    def root(self) -> int | None:
        if self.start is None:
            return max(self.made, key=lambda tensor: self.made[tensor], default=None)
        (node, nr, _), *others = self.events[self.start]["roots"]
        own = [tensor for tensor in self.data["nodes"][node]["outputs"] if self.tensors[tensor]["output_nr"] == nr]
        return own[0] if own and not others else None

    def given(self, step: int) -> list[int]:
        """Return the tensors that an op takes."""
        event = self.events[step]
        return [tensor for tensor in [*event["inputs"], *event.get("reads", ())] if tensor is not None]

    def needed(self, root: int | None) -> tuple[list[int], set[int]]:
        """Return the ops on which the root depends, in their order, and all their tensors; of too many ops, some."""
        steps: set[int] = set()
        shown: set[int] = set()
        todo = [root]
        while todo and len(steps) <= MOST_OPS:
            tensor = todo.pop()
            if tensor is None or tensor in shown:
                continue
            shown.add(tensor)
            step = self.made.get(tensor)
            if step is not None and step not in steps:
                steps.add(step)
                todo += self.given(step)
        return sorted(steps), shown

    def readable(self, tensor: int) -> bool:
        value = self.data["values"][self.tensors[tensor]["value"]]
        rows, columns = ([1, 1, *value["shape"]])[-2:]
        return (len(value["shape"]) <= 2 and rows <= MOST_ROWS and columns <= MOST_COLUMNS
                and len(value.get("data", ())) > 0)

    def box(self, tensor: int) -> Box:
        record = self.tensors[tensor]
        leaf = next((at for at, node in enumerate(self.data["nodes"]) if node.get("variable") == tensor), None)
        rows, columns = ([1, 1, *record["shape"]])[-2:]
        return Box(tensor=tensor, name=self.name(tensor), node=leaf if record["node"] is None else record["node"],
                   output_nr=record["output_nr"], x=0.0, y=0.0, width=LABELS + ENTRY * columns,
                   height=16 + 2 * ROW * rows)

    def expression(self, step: int) -> Any:
        at = (self.events[step].get("expressions") or [None])[0]
        return None if at is None else self.data["expressions"][at]

    def name(self, tensor: int) -> str:
        """Return the name of a tensor in the program, or the formula that makes it, if that is short."""
        record, step = self.tensors[tensor], self.made.get(tensor)
        if record["name"] or step is None:
            return str(record["name"] or Names(self.data).tensor(tensor))
        if tensor not in self.names:
            self.names[tensor] = self.operation(step)  # unless the formula is short
            expression = self.expression(step)
            text = as_drawn(expression_text(expression, lambda operand: self.operand(step, operand)))
            if self.operation(step) == "²":
                text = f"{self.operand(step, expression[1])}²"
            if expression is not None and len(text) <= LONGEST:
                self.names[tensor] = text
        return self.names[tensor]

    def operand(self, step: int, operand: str) -> str:
        at = operand.removeprefix("inputs[").removesuffix("]")
        tensor = self.events[step]["inputs"][int(at)] if at.isdigit() else None
        text = operand if tensor is None else self.name(tensor)
        return f"({text})" if " " in text else text

    def operation(self, step: int) -> str:
        match self.expression(step):
            case ["mul", first, second] if first == second and len(self.given(step)) == 1:
                return "²"
            case expression:
                return SIGNS.get(name_of(expression), str(self.events[step]["op"]))

    def sign(self, step: int) -> Sign:
        event, expression, place_of = self.events[step], self.expression(step), self.order.index
        sign = self.operation(step)
        match expression:
            case [head, str(), int() | float() as constant] if head in SIGNS and len(self.given(step)) == 1:
                sign = f"{sign} {plain(constant, 'float')}"
            case [head, int() | float() as constant, str()] if head in SIGNS and len(self.given(step)) == 1:
                sign = f"{plain(constant, 'float')} {sign}"
        inputs = [place_of(tensor) for tensor in self.given(step)]
        return Sign(sign=sign, node=event["node"], inputs=inputs, ways=[[] for _ in inputs], x=0.0, y=0.0,
                    outputs=[place_of(tensor) for tensor in event["outputs"] if tensor in self.order])

    def arrange(self) -> Point:
        """Place everything, the root at the right; return the size."""
        count = len(self.boxes)
        down = {(output, count + at) for at, sign in enumerate(self.signs) for output in sign["outputs"]}
        down |= {(count + at, given) for at, sign in enumerate(self.signs) for given in sign["inputs"]}
        heights = [box["height"] for box in self.boxes] + [SIGN] * len(self.signs)
        placed, bends, lowest, deepest = place(down, heights)
        layer = {at: round((y - MARGIN - HEIGHT / 2) / LAYER) for at, (_, y) in placed.items()}
        last = round((deepest - MARGIN - HEIGHT / 2) / LAYER)
        wide = [0] * (last + 1)
        for at, depth in layer.items():
            own = self.boxes[at]["width"] if at < count else _width(self.signs[at - count]["sign"])
            wide[last - depth] = max(wide[last - depth], own)
        edges = [0, *accumulate(width + BETWEEN for width in wide)]
        middles = [round(MARGIN + (a + b - BETWEEN) / 2, 1) for a, b in pairwise(edges)]
        shapes: list[Any] = [*self.boxes, *self.signs]
        for at, shape in enumerate(shapes):
            shape["x"], shape["y"] = middles[last - layer[at]], round(placed[at][0], 1)
        for at, sign in enumerate(self.signs):
            sign["ways"] = [[[middles[last - round((y - MARGIN - HEIGHT / 2) / LAYER)], round(x, 1)]
                             for x, y in reversed(bends.get((count + at, given), []))] for given in sign["inputs"]]
        return [edges[-1] - BETWEEN + 2 * MARGIN, round(lowest, 1)]

    def told(self, root: Box) -> list[tuple[int, str]]:
        """Return the steps of the lens, each with its sentence."""
        name = root["name"]
        first = f"the numbers go in at the left, and {name} comes out at the right"
        if self.start is None:
            return [(len(self.events) - 1, first)]
        end = next((at for at, event in enumerate(self.events) if at > self.start and event["kind"] == "backward_end"),
                   len(self.events) - 1)
        second = f"now backwards: the gradient of {name} is 1, since {name} moves exactly as far as {name}"
        value = self.data["values"][self.events[self.start]["roots"][0][2]]
        if value.get("data") != [1.0]:
            second = f"now backwards, with the gradient that was given for {name}"
        steps = [(max(0, self.start - 1), first), (self.start, second)]
        own = {sign["node"]: (step, sign) for step, sign in zip(self.steps, self.signs, strict=True)}
        arrived: Counter[int] = Counter()
        for at in range(self.start, end):
            event = self.events[at]
            if event["kind"] == "run" and event["node"] in own:
                step, sign = own[event["node"]]
                flows = [i for i in range(at, end) if self.events[i]["kind"] == "flow"
                         and self.events[i]["node"] == event["node"]]
                arrived.update(sign["inputs"])
                again = [self.boxes[box]["name"] for box in dict.fromkeys(sign["inputs"]) if arrived[box] > 1]
                added = f"; {again[0]} receives more than one, and they are added" if again else ""
                steps.append((flows[-1] if flows else at, f"back through {sign['sign']}: {self.rule(step)}{added}"))
        return [*steps, (end, f"move a number a little: its gradient says how many times as far {name} moves")]

    def rule(self, step: int) -> str:
        """Return in words what an op does with the gradient."""
        event, given = self.events[step], self.given(step)
        told = RULES.get((name_of(self.expression(step)), len(given)))
        stretched = len({tuple(self.tensors[tensor]["shape"]) for tensor in [*given, *event["outputs"]]}) > 1
        if told and len(given) > 1 and stretched:
            return f"{told}, summed over the copies that broadcasting made"
        node = {} if event["node"] is None else self.data["nodes"][event["node"]]
        derivative = next((each for each in node.get("derivatives", ()) if each is not None), None)
        if told or derivative is None:
            return told or "the gradient goes on"
        names = {"grad": "gradient", "self": self.name(given[0]), "result": self.name(event["outputs"][0])}
        formula = expression_text(self.data["expressions"][derivative], lambda operand: names.get(operand, operand))
        return f"{self.name(given[0])} gets {as_drawn(formula)}"


def _width(sign: str) -> int:
    """Return the width of a sign: a word needs more than a circle."""
    return SIGN if len(sign) <= 2 else 24 + 10 * len(sign)
