"""The first page of the site: what minigrad is, with an inspector to play with at once."""

import runpy
from pathlib import Path

from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.inspector import STATE
from website.lessons import live, player
from website.pages import REPOSITORY

PROGRAM = Path(__file__).with_name("program.py")
TEXT = """# minigrad

PyTorch's autograd, small enough to read, and lessons in which you step through a backward pass forwards and backwards
in time.

`import minigrad as torch`, and the program that you know runs: on NumPy, with the same names, the same numbers, the
same graph of `grad_fn` and `next_functions`, the same hooks in the same order, and the same words when something is
wrong. This is a recording of one. Step through it: with the buttons, or with the arrow keys.

{inspector}

Have you a PyTorch model? [Look into it in five steps](your_own_model.md). To run the lessons yourself:

```sh
git clone {repository} && cd minigrad
python3 -m venv .venv && .venv/bin/pip install ".[lessons]" && .venv/bin/minigrad lab
```

```{{toctree}}
:caption: Lessons
:glob:
:maxdepth: 1

lessons/*
```

```{{toctree}}
:caption: Reading
:glob:
:maxdepth: 1

*
```

To print: the cheat sheet as {{download}}`SVG <print/cheatsheet.svg>` or {{download}}`PDF <print/cheatsheet.pdf>`.

```{{toctree}}
:caption: Reference
:maxdepth: 2

api/index
```

{player}
"""


def recorded() -> Trace:
    """What program.py does."""
    with record() as trace:
        runpy.run_path(str(PROGRAM))
    return trace


def front_page() -> str:
    """The page in Markdown."""
    inspector = Inspector(recorded())
    state = {name: getattr(inspector, name) for name in STATE}
    return TEXT.format(repository=REPOSITORY, inspector=live("front", state, inspector.text), player=player("_static/"))
