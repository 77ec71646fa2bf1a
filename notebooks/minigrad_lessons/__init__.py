"""What the lessons call: ask first, then run, then judge the answer by what the engine does.

No answer key is in this package. A question holds the program that finds its answer out, and, for each
known misconception, the program that computes what somebody who holds it would say.
"""

import logging
import sys

from minigrad_lessons import check
from minigrad_lessons.exercises.graph import takes
from minigrad_lessons.exercises.moons import two_moons
from minigrad_lessons.hint import hint
from minigrad_lessons.predict import predict, reveal
from minigrad_lessons.processes.ranks import ranks
from minigrad_lessons.progress import progress
from minigrad_lessons.recall import recall
from minigrad_lessons.same_in_torch import same_in_torch
from minigrad_lessons.summary import edge_table, state_table, table
from minigrad_lessons.tracebacks import shorten

__all__ = ["check", "edge_table", "hint", "predict", "progress", "ranks", "recall", "reveal",
           "same_in_torch", "state_table", "table", "takes", "two_moons"]

shorten()
if sys.platform == "emscripten":  # there the fonts are listed anew in each kernel, which would be said above a plot
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
