"""The gallery: what docs/gallery.md shows, as the programs that make each picture, and the page around them.

`python -m tests.browser.gallery` runs the programs, takes the pictures in a browser, and writes both.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
IMAGES = ROOT / "docs" / "images" / "gallery"
THEMES = ("light", "dark")

PROGRAM = """import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad_widgets import Inspector

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 0.5], requires_grad=True)

with record() as trace:
    h = x * w
    a, b = (h + x).unbind()
    y = a * b
    loss = y * y
    loss.backward()
"""

CHECKPOINTS = """from minigrad.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList([nn.Sequential(nn.Linear(8, 8), nn.Tanh()) for _ in range(3)])
batch = torch.randn(4, 8, requires_grad=True)

def step(**how):
    with record() as recorded:
        h = batch
        for block in blocks:
            h = checkpoint(block, h, **how) if how else block(h)
        h.sum().backward()
    return recorded
"""

TRAINING = """from minigrad_widgets import ParameterLedger

torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with record() as training:
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(3, 2)).sum().backward()
        optimizer.step()

ParameterLedger(training)"""

COMPILED = """from minigrad_widgets import inspect

def step(x):
    w.grad = None
    loss = (torch.relu(x * w) * 2.0).sum()
    loss.backward()
    return loss

compiled = torch.compile(step, backend="numpy")
for _ in range(2):
    compiled(torch.tensor([1.0, -1.0]))

inspect(compiled)"""

DEEP = """torch.manual_seed(0)
layers = [layer for _ in range(5) for layer in (nn.Linear(10, 10), nn.Sigmoid())]
deep, batch = nn.Sequential(*layers, nn.Linear(10, 3)), torch.randn(8, 10)
with record() as passed:
    nn.functional.cross_entropy(deep(batch), torch.arange(8) % 3).backward()
"""

DETACHED = """from minigrad_widgets import compare

def step(detach=False):
    w = torch.tensor([2.0, 3.0], requires_grad=True)
    with record() as recorded:
        h = w.sin()
        if detach:
            h = h.detach()
        (h * w).sum().backward()
    return recorded
"""

WRONG = """from minigrad_widgets import explain

def train():
    h = torch.sigmoid(torch.ones(3, requires_grad=True))
    h += 1
    h.sum().backward()
"""

LINKED = """from ipywidgets import IntSlider, Play, VBox, jslink

inspector = Inspector(trace, lens="all")
last = len(trace.events) - 1
play, slider = Play(max=last, interval=400), IntSlider(max=last, description="step")
jslink((play, "value"), (slider, "value"))
jslink((slider, "value"), (inspector, "step"))
VBox([play, slider, inspector])
"""


@dataclass(frozen=True)
class Entry:
    """One picture: the program whose last line is the widget, and what is done with it before the picture is taken.

    `acts` are keys to press, `click SELECTOR`, `choose SELECTOR VALUE` or `fill SELECTOR TEXT`, where none has a space.
    """

    name: str
    title: str
    words: str
    code: str
    acts: tuple[str, ...] = ()
    alt: str = ""

    @property
    def files(self) -> list[str]:
        return [f"{self.name}-{theme}.png" for theme in THEMES]


def right(times: int) -> tuple[str, ...]:
    return ("ArrowRight",) * times


ENTRIES = [
    Entry("backward", "Backward", "The engine at work: which nodes wait, and for how many gradients, which are ready, "
          "which one runs; each gradient on its edge, the integer of `next_functions` at the end of the edge, and "
          "beside each node the line of code that made it.", "Inspector(trace)", right(13),
          "the backward lens: source, graph with gradients on the edges, details of the node that runs"),
    Entry("forward", "Forward", "The same program as it runs: the graph grows op by op, with what each op saves.",
          'Inspector(trace, lens="forward")', right(6), "the forward lens: half of the graph is drawn"),
    Entry("traversal", "Call by hand", "You are the engine. A click calls a node; gradients pile up where paths meet; "
          "the same calls are written out as Python that runs when pasted.", 'Inspector(trace, lens="traversal")',
          ("click .mg-chips .mg-next", "Enter", "click .mg-chips .mg-next", "Enter", "click .mg-chips .mg-next",
           "Enter"), "the traversal lens: three nodes were called, and the calls are shown as Python on the left"),
    Entry("every-step", "Every step", "Forward and backward in one walk, modes and hooks among them.",
          'Inspector(trace, lens="all")', right(10), "the lens of every step"),
    Entry("checkpoint", "Checkpoint", "Bytes held over time, what runs a second time and where it stops early.",
          CHECKPOINTS + '\nInspector(step(use_reentrant=False), lens="checkpoint")', right(60),
          "the checkpoint lens: bytes over steps above the graph's controls"),
    Entry("comparison", "Traces side by side", "One axis of steps and one of bytes for several runs of one program.",
          CHECKPOINTS + "\nInspector.compare({\n    \"plain\": step(),\n    \"reentrant\": step(use_reentrant=True),\n"
          "    \"non-reentrant\": step(use_reentrant=False),\n})", right(70),
          "three charts of bytes over one another: plain, reentrant, non-reentrant"),
    Entry("differences", "What differs", "Two recordings side by side, at the same event: their graphs, with marks "
          "for what is in only one of them and where numbers differ, and a table of both, event by event.",
          DETACHED + "\ncompare({\"plain\": step(), \"detach\": step(detach=True)})", ("End",),
          "two graphs beside each other; edges and nodes that differ are marked, and a table lists the events"),
    Entry("live", "Live numbers", "Type a leaf's number, or drag it: every value and every gradient follows, in the "
          "browser, without a kernel. What cannot follow is marked.", "Inspector(trace, live=True)",
          ("End", *("ArrowLeft",) * 2, "fill [aria-label='x[0]'] 3", "fill [aria-label='w[1]'] 2"),
          "the list of leaves with two numbers changed, and gradients that differ from those that were recorded"),
    Entry("follow", "Follow one number", "One number of a large tensor, followed all the way through: its entry, its "
          "value and its gradient at each tensor that it reaches, and at each node the arithmetic of that entry.",
          DEEP + "\nInspector(passed)", ("End", "click .mg-follow>summary",
                                         "fill [aria-label$='dimension_0'] 2", "fill [aria-label$='dimension_1'] 4",
                                         "click .mg-follow_tr:nth-child(3)_button"),
          "a table of seven tensors with one entry of each; the nodes that it reaches are marked in the graph"),
    Entry("heat", "Gradients as colours", "Edges and boxes in the colour of the size of the gradient that went there: "
          "here the gradients vanish.", DEEP + "\nInspector(passed)",
          ("End", "choose .mg-colour_select gradient"),
          "edges and boxes whose colours change from the last layer to the first"),
    Entry("cost", "The summary, and costs as colours", "What each module and op did: output, parameters, saved bytes, "
          "FLOPs, the gradient that came and, in a recording with `times=True`, times. A click sorts by a column; one "
          "choice colours the boxes.", DEEP + "\nInspector(passed)",
          ("End", "choose .mg-colour_select saved", "click .mg-summary>summary"),
          "nodes shaded by the bytes that they have saved, and below them a table of all modules and ops"),
    Entry("levels", "From the model to its ops", "The mouse wheel, buttons or digits lead from one box for the model "
          "to blocks and to single ops.", DEEP + "\nInspector(passed)", ("End", "2"),
          "eleven boxes, one for each layer of the model"),
    Entry("memory", "Memory", "What holds how much memory at this step: parameters, activations, saved tensors, "
          "gradients.", "Inspector(trace)", (*right(8), "click .mg-memory button"),
          "the memory pane, open: bytes by who holds them"),
    Entry("ask", "Ask mode", "The inspector stops and asks which node runs next, what shape arrives, what `.grad` is "
          "then; the trace judges the answer. `score` is a trait that a lesson can read.",
          'Inspector(trace, ask=["next", "shape"])', right(30), "a question above the graph, with answers to choose"),
    Entry("folded", "Modules and repeats", "A large graph opens with its modules folded, and with long runs of the "
          "same ops as one box; a click unfolds one. Search, a list and a map help to find the way.",
          "net = nn.Sequential(*[nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4)) for _ in range(90)])\n"
          "with record() as large:\n    net(torch.ones(1, 4)).sum().backward()\n\nInspector(large)",
          (*right(80), "click .mg-outline > summary"), "a graph of 800 nodes: folded modules, their list, a map"),
    Entry("state-card", "State card", "What autograd knows about some tensors, side by side.",
          "from minigrad_widgets import state_card\n\nstate_card(x=x, h=h, b=b, loss=loss, detached=h.detach())",
          alt="a table: five tensors, and which of them are leaves, require grad, have a grad_fn"),
    Entry("state-explorer", "States of a tensor", "Every state that calls can reach, found by running them; a letter "
          "on an arrow is a call, and the table says which errors the others raise.",
          "from minigrad_widgets import StateExplorer, explore\n\nStateExplorer(explore(torch))",
          alt="states as boxes, calls as arrows between them, and a table of both"),
    Entry("alias-view", "Who shares memory", "Storages, the tensors that share them, version counters, and which "
          "node saved which version: why a backward pass will fail, before it does.",
          "from minigrad_widgets import AliasView\n\nwith record() as shared:\n    y = x * 2\n"
          "    v, d = y[:1], y.detach()\n    z = (y * y).sum()\n    d.add_(1)\n\nAliasView(shared)", ("End",),
          "one storage with three tensors on it, its version 1, and a node that saved version 0"),
    Entry("compiled", "A compiled step", "Lines, the ops that they call, and the program after each pass: point at "
          "anything, and what belongs to it is highlighted. [The compiler](compiler.md) makes the program.",
          COMPILED, (*right(4), "click [data-op='6']"),
          "three columns: the lines of a step, its ops, and statements, two of which are struck out"),
    Entry("explain", "Why it raised", "The doctor runs a program that raises an error, and says where it began and "
          "what to do. docs/doctor.md lists what it knows.", WRONG + "\nexplain(train)",
          alt="a card: the rule inplace-on-saved, the lines that are to blame, and what to do"),
    Entry("parameter-ledger", "Parameter ledger", "What each step does to the values, gradients and versions of "
          "parameters.", TRAINING, ("End",), "a table: parameters against the events that changed them"),
]


def run(entry: Entry) -> Any:
    """Runs the program and an entry's code; gives its last line's value."""
    names: dict[str, Any] = {}
    execute(PROGRAM, "program.py", names)
    body, _, last = entry.code.rpartition("\n\n")
    execute(body, f"{entry.name}.py", names)
    return eval(compile(last, f"{entry.name}.py", "eval"), names)


def execute(code: str, name: str, names: dict[str, Any]) -> None:
    """Runs code as if it stood in a file, so that a trace can quote its lines."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec"), names)


def page() -> str:
    """docs/gallery.md."""
    return "\n".join([HEAD.format(program=PROGRAM), *map(section, ENTRIES), FOOT.format(linked=LINKED)])


def section(entry: Entry) -> str:
    light, dark = (f"images/gallery/{file}" for file in entry.files)
    return f"""## {entry.title}

{entry.words}

```python
{entry.code}
```

<picture>
  <source media="(prefers-color-scheme: dark)" srcset="{dark}">
  <img src="{light}" alt="{entry.alt}">
</picture>
"""


HEAD = """# Gallery

What `minigrad_widgets` shows, each picture with the code that makes it. `python -m tests.browser.gallery` takes the
pictures. All of them start from this program:

```python
{program}```

You step a widget with its buttons, or with keys once you have clicked it or reached it with Tab:

| key | what it does |
|---|---|
| → and ← | one step on, one step back |
| Home, End | the first step, the last one |
| Space | play, pause |
| ↑ and ↓ | walk along the graph; Enter selects a node |
| − and + | fold or unfold the module of a node |
| 1 to 9 | fold the graph to a level: from modules to every op; the mouse wheel does too |
| f | the inspector fills the window; Escape restores it |
| s | [slide view](teaching.md#show-it-to-a-class); s or Escape leaves it |
| PageDown and PageUp | step in the slide view, as a presenter's clicker does |
| Shift+Enter | go on to the next cell of a notebook |

The bars between the inspector's panes can be dragged. Each widget can be saved as a page that
needs no kernel and no network, `.to_html("page.html")`, or as a picture, `.to_svg()` and `.to_png()`; each also has a
deterministic text form, `.text`.
"""

FOOT = """## Linked to other widgets

`step` is a trait. A link made by `jslink` runs in the browser, so it still works when the kernel is gone, in a saved
notebook or in a page made by nbconvert. `inspector.observe(…, "step")` tells Python at which step a student stopped.

```python
{linked}```
"""
