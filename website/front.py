"""The first page of the site: what minigrad is, with an inspector to play with at once."""

import runpy
from pathlib import Path

from minigrad.recorder import Trace, record
from minigrad_lessons.teaching.course import lessons
from minigrad_widgets import Inspector
from website.course import course_map
from website.lessons import live, player
from website.pages import REPOSITORY

PROGRAM = Path(__file__).with_name("program.py")
TEXT = """---
hide-toc: true
---

# See how PyTorch computes gradients

**Drag a number**, and every gradient follows. minigrad is PyTorch's autograd, small enough to read: the same numbers,
the same graph and the same errors, on NumPy.

{inspector}

<ul class="ways">
<li><a href="#the-lessons"><strong>Learn</strong></a> Never seen a gradient? Build autograd in 40 lines. Called
<code>backward()</code> before? Predict, run, and see where your idea and the engine disagree.</li>
<li><a href="teaching.html"><strong>Teach</strong></a> What to hand out, how long it takes, which wrong answers to
expect. Exercises check themselves and can be graded. What students install holds hints, but no answer key.</li>
<li><a href="your_own_model.html"><strong>Look into your own model</strong></a> Five steps from a PyTorch model to the
layer where its gradient is lost. <a href="gallery.html">The gallery</a> shows every inspector.</li>
</ul>

## The lessons

{course}

## Run them yourself

{lab}```sh
git clone {repository} && cd minigrad
python3 -m venv .venv && .venv/bin/pip install ".[lessons]" && .venv/bin/minigrad lab
```

To print: the cheat sheet as {{download}}`SVG <print/cheatsheet.svg>` or {{download}}`PDF <print/cheatsheet.pdf>`.

```{{toctree}}
:caption: Lessons
:hidden:
:maxdepth: 1

{lessons}
```

```{{toctree}}
:caption: Reading
:glob:
:hidden:
:maxdepth: 1

*
```

```{{toctree}}
:caption: Teaching
:glob:
:hidden:
:maxdepth: 1

teaching/*
```

```{{toctree}}
:caption: Reference
:hidden:
:maxdepth: 2

api/index
```

{player}
"""


LAB = """<a href="lab/lab/index.html?path=00_build_it_yourself.ipynb">Open a lesson in your browser</a>: nothing to
install. On the pages of the lessons, too, each cell can be edited and run in place, also in a copy of this site that is
opened from a folder, without a network; there `python -m http.server` serves JupyterLab. Or install them:

"""


def recorded() -> Trace:
    """What program.py does."""
    with record() as trace:
        made = runpy.run_path(str(PROGRAM))
        # The recorder names tensors by the variables around it.
        x, y, w, error, loss = (made[name] for name in ("x", "y", "w", "error", "loss"))  # noqa: RUF059 (named for the recorder)
    return trace


def front_page(lab: bool) -> str:
    """The page in Markdown. `lab`: whether the site has one, in which the lessons run."""
    inspector = Inspector(recorded(), lens="values", parts=[])
    state = {name: getattr(inspector, name) for name in Inspector.STATE}
    return TEXT.format(repository=REPOSITORY, inspector=live("front", state, inspector.text, plays=True),
                       lab=LAB if lab else "", course=course_map(), player=player("_static/"),
                       lessons="\n".join(f"lessons/{lesson.name}" for lesson in lessons().values()))
