"""The inspector: step through a recorded program and its backward pass, in both directions.

`Inspector(trace)` as the last line of a cell shows it. The trace is sent to the browser once and stepping runs there,
so it still works when the kernel is busy or gone. `step`, `lens`, `selected` and `calls` can be set and observed from
Python; the browser sends them when stepping pauses, so an observer sees where a student stopped, not every step.

Where no widget can run, the same frame is a picture and a text: `to_png()`, `to_svg()`, `text`. `to_html()` makes a
page that plays on its own, without a kernel and without network requests.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Mapping
from typing import Any

import traitlets

from minigrad.recorder import Trace, arithmetic, written
from minigrad.trace.format import Names, few
from minigrad.trace.sentences import describe
from minigrad.trace.text import notes_line, traversal_text
from minigrad_widgets.graph.calculation import calculation, calculation_text, told_at
from minigrad_widgets.graph.derived import derived
from minigrad_widgets.graph.folding import Folding, add_runs, failure
from minigrad_widgets.graph.frames import frames
from minigrad_widgets.graph.layout import compute_layout
from minigrad_widgets.graph.model_map import gather, opening
from minigrad_widgets.graph.rows import rows
from minigrad_widgets.inspector.grad_modes import WORDS, mode_at, modes
from minigrad_widgets.inspector.long_strings import shorten
from minigrad_widgets.inspector.questions import choose, is_secret, told
from minigrad_widgets.lenses import checkpoints
from minigrad_widgets.lenses.checkpoints import Comparison, compare
from minigrad_widgets.pictures import load
from minigrad_widgets.widget.base import Widget, refuse_too_many_events
from minigrad_widgets.widget.page import PLAYER

LENSES = ("backward", "forward", "traversal", "checkpoint", "all", "values")
PARTS = ("lenses", "source", "details", "queue", "memory", "tools", "leaves", "outputs", "counts", "norms")
TOO_LARGE = ("the lens 'values' shows a program of at most 24 operations, none of them in place, whose tensors have at "
             "most 4 rows and 4 columns of known numbers; this recording is none: use lens='backward'")


class Inspector(Widget):
    """Shows a trace.

    `lens` is "values" (a box for each number or small tensor, with signs between them; one button turns it into the
    graph), "forward" (what the user's code ran), "backward", "traversal" (call nodes by hand), "checkpoint" (what is
    held, and what runs again) or "all" (every recorded step). With `ask` it stops before chosen steps and asks: True, a
    list of kinds among "next" (which node runs next?), "shape" (what arrives?) and "grad" (what is `.grad` then?), or
    of `{"kind": …, "step": the step that answers it}`; `score` and `answers` hold how a student did.

    The numbers of the leaves can be changed in the browser, where all values and gradients follow without a kernel:
    `live=True` opens the list of leaves, `live=False` omits it. The trace, and what Python says about it, stay as
    recorded.

    `parts` names what is shown besides the picture and its steps, of "lenses", "source", "details", "queue", "memory"
    and "tools", and in the picture of "leaves" (the names of their nodes), "outputs" (each edge's output_nr), "counts"
    (how many gradients a node waits for) and "norms" (those of the whole pass, on a map); the button "more" shows the
    rest. None shows everything.

    A graph of up to 30 nodes is drawn whole; with `model=True` modules are folded if there are two layers or 13 nodes.

    Raises ValueError for a lens "values" of a program too large to be read in it, and for unknown parts.
    """

    STATE = ("trace", "lens", "step", "selected", "calls", "collapsed", "live", "parts", "ask", "answers", "score",
             "player")

    trace = traitlets.Unicode(help="the trace as JSON, sent once").tag(sync=True)
    lens = traitlets.Enum(LENSES, default_value="backward").tag(sync=True)
    step = traitlets.Int(0, help="the event that is shown").tag(sync=True)
    selected = traitlets.Int(None, allow_none=True, help="the node that is selected").tag(sync=True)
    calls = traitlets.List(traitlets.Int(), help="the nodes called by hand, in order").tag(sync=True)
    collapsed = traitlets.List(traitlets.Int(), None, allow_none=True,
                               help="the calls of modules that are folded, or None for as many as fit").tag(sync=True)

    live = traitlets.Bool(None, allow_none=True, help="whether numbers can be changed: True opens their list").tag(
        sync=True)
    parts = traitlets.List(traitlets.Unicode(), None, allow_none=True,
                           help="the parts that are shown at first, or None for all").tag(sync=True)
    ask = traitlets.List(traitlets.Dict(), help="the questions: a kind, and the step that answers it").tag(sync=True)
    answers = traitlets.List(traitlets.Dict(), help="what was answered, and whether it was right").tag(sync=True)
    score = traitlets.Dict(help="how many answers are right, how many were given, of how many questions").tag(sync=True)

    player = traitlets.Unicode(PLAYER, help="the page that a copied link leads to").tag(sync=True)

    def __init__(self, trace: Trace, lens: str = "backward", step: int | None = None,
                 ask: bool | Iterable[str | Mapping[str, Any]] = (), live: bool | None = None,
                 parts: Iterable[str] | None = None, model: bool = False) -> None:
        refuse_too_many_events(trace)
        collects = gc.isenabled()
        try:
            gc.disable()  # all that is made here stays: the collections of a large trace took longer than the rest
            questions, small = self._prepare(trace, ask, model)
            text = written(self._data)
        finally:
            if collects:
                gc.enable()
        walks = lens in LENSES and lens not in ("traversal", "values")
        first = next(iter(trace.steps(lens if walks else "backward")), 0)
        if small and lens == "values":
            first = small["steps"][0][0]
        super().__init__(trace=text, lens=lens, step=first if step is None else step, ask=questions, live=live,
                         parts=None if parts is None else list(parts),
                         score={"right": 0, "answered": 0, "of": len(questions)})

    def _prepare(self, trace: Trace, ask: bool | Iterable[str | Mapping[str, Any]],
                 model: bool) -> tuple[list[Any], Any]:
        """Fill `_data`: the trace, and what Python adds to it; return the questions, and the calculation or None.

        Positions are those of what is drawn at first: the browser lays out what is unfolded later.
        """
        self._trace = trace
        self._data: dict[str, Any] = shorten(trace.to_dict())
        gather(self._data, model)
        add_runs(self._data)
        call = trace.failed()
        if call is not None and (failed := failure(self._data, call)):
            self._data["failed"] = failed
        self._folding: Folding | None = None
        self._data["folded"] = opening(self._data, model=model)
        if self._data["folded"]:
            self._folding = Folding(self._data, self._data["folded"], compute_layout)
            self._data["opening"] = self._folding.layout()
        else:
            self._lay_out()
        questions = choose(trace, ask)
        self._data.update(derived(self._data), modes=modes(self._data), rows=rows(trace, self._data, not questions))
        small = calculation(self._data)
        if small:
            self._data["calculation"] = small
        return questions, small

    def _lay_out(self) -> dict[str, Any]:
        """Return the graph with positions of all nodes."""
        if not self._data["layout"]:
            self._data["layout"] = compute_layout(self._data)
        return self._data

    @staticmethod
    def compare(traces: Mapping[str, Trace], step: int = 0) -> Comparison:
        """Show several traces on one axis of steps: `Inspector.compare({"plain": one, "reentrant": other})`."""
        return compare(traces, step)

    @traitlets.validate("lens")
    def _fitting_lens(self, proposal: dict[str, Any]) -> str:
        if proposal["value"] == "values" and "calculation" not in self._data:
            raise ValueError(TOO_LARGE)
        return str(proposal["value"])

    @traitlets.validate("parts")
    def _known_parts(self, proposal: dict[str, Any]) -> list[str] | None:
        parts: list[str] | None = proposal["value"]
        unknown = [part for part in parts or () if part not in PARTS]
        if unknown:
            raise ValueError(f"there is no part {unknown[0]!r} of an inspector; the parts are {', '.join(PARTS)}")
        return parts

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self._data["events"]) - 1))

    @traitlets.validate("selected")
    def _known_node(self, proposal: dict[str, Any]) -> int | None:
        node = proposal["value"]
        return node if node is not None and 0 <= node < len(self._data["nodes"]) else None

    @traitlets.validate("calls")
    def _known_calls(self, proposal: dict[str, Any]) -> list[int]:
        return [node for node in proposal["value"] if 0 <= node < len(self._data["nodes"])]

    @traitlets.validate("collapsed")
    def _known_scopes(self, proposal: dict[str, Any]) -> list[int] | None:
        folded = proposal["value"]
        return None if folded is None else [scope for scope in folded if 0 <= scope < len(self._data["scopes"])]

    @property
    def recording(self) -> Trace:
        """The trace that it shows, to be asked by name: `inspector.recording["h.0"].output`."""
        return self._trace

    @property
    def frame(self) -> dict[str, Any]:
        """The state of the world after the current step: `trace.frame(step)`."""
        return dict(self._trace.frame(self.step)) if self._data["events"] else {}

    @property
    def text(self) -> str:
        """The current frame in words, the same on every machine; then a line of notes, if there are any."""
        return "\n".join(filter(None, [self._told(), notes_line(self._trace.notes)]))

    def _told(self) -> str:
        if not self._data["events"]:
            return "Inspector: nothing was recorded"
        if self.lens == "traversal":
            return f"Inspector, calling nodes by hand\n{self._told_by_hand()}"
        if self.lens == "values":
            return f"Inspector, {self._title()}\n{calculation_text(self._data, self.step)}"
        if self.lens == "checkpoint":
            return f"Inspector, checkpoints\n{checkpoints.lens_text(self._data, self.step)}"
        if self.ask:
            return f"Inspector, {self._told_of_asking()}"
        mode = mode_at(self._data["modes"], self.step)
        shown = mode != "on" and self.lens in ("forward", "all")
        drawn = [] if self._data["folded"] else frames(self._data)  # a folded map has a box for each instead
        framed = [f"\n{each.title}: a frame around what it runs" for each in drawn]
        return "".join([f"Inspector, {self._trace.text(self.step)}", f"\n{WORDS[mode]}" if shown else "", *framed])

    def picture(self, step: int | None = None) -> Any:
        """Return the graph at a step or the current one, folded as it is; or the chart of the checkpoint lens."""
        if self.lens == "checkpoint" and step is None and self._data["events"]:
            return load("checkpoints").draw({"": self._data}, self.step, self._title())
        if self.lens == "values" and step is None:
            return load("calculation").draw(self._data, self.step, self._title())
        return load("graph").draw(*self._drawn_at(step), hidden=self._hidden())

    def to_png(self, step: int | None = None) -> bytes:
        """Return the graph as a PNG picture, folded as it is, at a step or the current one; or the checkpoint lens."""
        png: bytes = load("sketch").to_png(self.picture(step).image())
        return png

    def to_svg(self, step: int | None = None) -> str:
        """Return the graph as SVG text, folded as it is, at a step or the current one; or the checkpoint lens."""
        svg: str = self.picture(step).svg()
        return svg

    def _drawn_at(self, step: int | None) -> tuple[dict[str, Any], dict[str, Any], str]:
        """Return what a picture shows: the graph and its frame, folded as `collapsed` says, and the title."""
        frame = self._drawn() if step is None else dict(self._trace.frame(step))
        title = self._title() if step is None else self._told_of(step)
        chosen: list[int] | None = self.collapsed
        folded = self._data["folded"] if chosen is None else chosen
        if not folded:
            return self._lay_out(), frame, title
        if self._folding is None or self._folding.folded != set(folded):
            self._folding = Folding(self._data, folded, compute_layout)
        return self._folding.data, self._folding.frame(frame), title

    def _drawn(self) -> dict[str, Any]:
        if not self._data["events"]:
            return EMPTY
        if self.lens == "traversal" and self._has_pass():
            return by_hand(self._data, self.frame, dict(self._trace.traverse(self.calls)))
        return self.frame

    def _has_pass(self) -> bool:
        return any(event["kind"] == "backward_start" for event in self._data["events"])

    def _told_by_hand(self) -> str:
        if not self._has_pass():
            return "no backward pass was recorded: there is nothing to call"
        return traversal_text(self._data, dict(self._trace.traverse(self.calls)))

    def _told_of_asking(self) -> str:
        """Return the frame and the questions; without the ready queue if it would answer one."""
        lines = self._trace.text(self.step).splitlines()
        if is_secret(self._trace, self.ask, self.answers, self.step):
            lines = [line for line in lines if not line.startswith("ready: ")]
        return "\n".join([*lines, told(self._trace, self.ask, self.answers)])

    def _title(self) -> str:
        if not self._data["events"]:
            return "nothing was recorded"
        if self.lens == "traversal":
            return f"called by hand: {len(self.calls)} of {len(self._data['nodes'])} nodes"
        if self.lens == "values":
            return told_at(self._data, self.step)
        return self._told_of(self.step)

    def _hidden(self) -> set[str]:
        """Return the parts that the button "more" would show."""
        parts: list[str] | None = self.parts
        return set() if parts is None else set(PARTS).difference(parts)

    def _number(self, step: int) -> str:
        """Return which step of a pass it is, and of the forward pass which operation, as the browser numbers them."""
        steps = self._trace.steps(self.lens) if self.lens in ("forward", "backward") else []
        if not steps:
            return f"step {step}"
        events = self._data["events"]
        ran = [each for each in steps if events[each]["kind"] == "forward"]
        now = sum(each <= step for each in ran)
        told = self.lens == "forward" and len(ran) < len(steps) and now
        operation = f", operation {now} of {len(ran)}" if told else ""
        return f"step {sum(each <= step for each in steps)} of {len(steps)}{operation}"

    def _told_of(self, step: int) -> str:
        """Return a step in words, and below it what it computes."""
        words = Names(self._data)
        lines = [] if self.ask else arithmetic(self._data, step, lambda value: few(words.value(value)))
        told = describe(words, self._data["events"][step])
        if "leaves" in self._hidden():  # growing.ts and format.ts say it so, too
            told = re.sub(r"AccumulateGrad\((.+?)\)", r"the leaf \1", told)
        if "counts" in self._hidden():
            told = told.replace("; the engine counts the gradients to come", "")
        if "queue" in self._hidden():
            told = told.replace("joins the ready queue", "can run")
        return "\n".join([f"{self._number(step)}: {told}", *lines])


EMPTY: dict[str, Any] = {
    "lit": None, "status": {}, "needs": {}, "ready": [], "pending": {}, "edges": {}, "saved": {}, "grads": {},
    "versions": {}, "rebased": {}, "recomputed": [], "hooked": [],
}


def by_hand(data: dict[str, Any], frame: dict[str, Any], walk: dict[str, Any]) -> dict[str, Any]:
    """Return a frame that shows a traversal: which nodes were called, where gradients wait, which can be called now."""
    piles = walk["pending"]
    needs = {node: pile["of"] - pile["arrived"] for node, pile in piles.items() if pile["arrived"] < pile["of"]}
    status = {**dict.fromkeys(frame["status"], "recorded"), **dict.fromkeys(walk["calls"], "done")}
    status.update({node: "waiting" if node in needs else "ready" for node in piles})
    # A single number is not shown as the gradient of a node that waits for several outputs.
    single = {node for node in piles if len(data["nodes"][node]["outputs"]) < 2}
    pending = {node: [pile["gradient"]] for node, pile in piles.items() if node in single}
    return {**frame, **EMPTY, "status": status, "needs": needs, "pending": pending, "saved": frame["saved"]}
