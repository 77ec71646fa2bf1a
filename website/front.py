"""The first page of the site: what minigrad is, with an inspector to play with at once."""

import runpy
from pathlib import Path

from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from website.lessons import live, player
from website.pages import REPOSITORY

PROGRAM = Path(__file__).with_name("program.py")
TEXT = """# minigrad

Step through a backward pass, forwards and backwards in time. minigrad is PyTorch's autograd, small enough to read:
`import minigrad as torch`, and your program runs on NumPy with the same numbers, the same graph and the same errors.
Try it: press → below, or open **numbers** and drag one of them, and every gradient follows.

{inspector}

- **Learn.** Never seen autograd? [Build it yourself](lessons/00_build_it_yourself) in 40 lines. If you have called
  `backward()` before, start with [tensors and leaves](lessons/01_tensors_and_leaves). You predict, run, and see where
  your idea and the engine disagree. Afterwards: [21 puzzles](lessons/21_puzzles), one line each.
- **Teach.** [What to hand out, how long it takes, which wrong answers to expect](teaching.md), with nbgrader and
  [JupyterHub](jupyterhub.md). What students install contains no answers.
- **Look into your own model.** [Five steps](your_own_model.md) from a PyTorch model to the layer where its gradient
  is lost. [The gallery](gallery.md) shows every inspector.

{lab}To install the lessons:

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
:caption: Teaching
:glob:
:maxdepth: 1

teaching/*
```

```{{toctree}}
:caption: Reference
:maxdepth: 2

api/index
```

{player}
"""


LAB = """To run the lessons yourself, with nothing to install:
<a href="lab/lab/index.html?path=00_build_it_yourself.ipynb">open a lesson in your browser</a>. In a copy of this site,
without a network, `python -m http.server` serves them.

"""


def recorded() -> Trace:
    """What program.py does."""
    with record() as trace:
        made = runpy.run_path(str(PROGRAM))
        # The recorder names tensors by the variables around it.
        x, w, h, loss = (made[name] for name in ("x", "w", "h", "loss"))  # noqa: RUF059 (named for the recorder)
    return trace


def front_page(lab: bool) -> str:
    """The page in Markdown. `lab`: whether the site has one, in which the lessons run."""
    inspector = Inspector(recorded())
    state = {name: getattr(inspector, name) for name in Inspector.STATE}
    return TEXT.format(repository=REPOSITORY, lab=LAB if lab else "", player=player("_static/"),
                       inspector=live("front", state, inspector.text))
