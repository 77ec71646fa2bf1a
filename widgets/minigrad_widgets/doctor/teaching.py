"""Which lesson teaches the subject of each rule: its number, and the heading of the part; and where it is."""

from __future__ import annotations

import re

from minigrad_widgets.address import SITE

Lesson = tuple[int, str]
FILES = {1: "01_tensors_and_leaves", 2: "02_requires_grad", 4: "04_engine", 5: "05_accumulation", 6: "06_hooks",
         7: "07_grad_modes", 8: "08_inplace_and_versions", 9: "09_function", 10: "10_checkpoint",
         11: "11_modules_and_optimisers", 12: "12_higher_order", 17: "17_broadcasting", 21: "21_puzzles"}

LEAVES: Lesson = (1, "More than an array")
STATES: Lesson = (2, "Walk through the states")
ENGINE: Lesson = (4, "Watch it wait")
RETAIN: Lesson = (4, "A second belief: `retain_graph=True` is the cure")
CREATE: Lesson = (4, "A third belief: `retain_graph` and `create_graph` are the same")
ACCUMULATION: Lesson = (5, "A belief: `backward()` overwrites")
ORDER: Lesson = (5, "Watch `.grad` fill")
HOOKS: Lesson = (6, "Walk past the hooks")
CUT: Lesson = (7, "Where was the graph cut?")
MODES: Lesson = (7, "See the mode")
EVAL: Lesson = (7, "A belief: `eval()` stops gradients")
INPLACE: Lesson = (8, "The version")
FUNCTION: Lesson = (9, "See into `apply`")
CHECKPOINT: Lesson = (10, "Three runs on one axis")
REENTRANT: Lesson = (10, "A third belief: made under `no_grad`, so it does not require grad")
MODULES: Lesson = (11, "A belief: what I put into a module belongs to it")
OPTIMIZERS: Lesson = (11, "A second belief: the optimizer knows my loss")
HIGHER: Lesson = (12, "Two layers of one graph")
MISTAKES: Lesson = (11, "A training step with three mistakes")
SHAPES: Lesson = (17, "A third belief: it runs, so the shapes are right")
NUMBERS: Lesson = (21, "Gradients")

# of rules that name no lesson themselves
TAUGHT: dict[str, Lesson] = {
    "nan-backward": NUMBERS, "softmax-before-cross-entropy": MISTAKES, "broadcast-loss": SHAPES,
    "empty-optimizer": MODULES, "module-not-initialised": MODULES}
SCALES = "how weights begin and how large numbers become along the depth; the lessons are about graphs, not numbers"
LOSSES = "what a loss expects is in its documentation; the lessons are about how its gradient is computed"
ARGUMENTS = "the error is raised before there is a graph: by a shape, a dtype, an index, a file or a missing part"
UNTAUGHT: dict[str, str] = {  # why no lesson teaches it
    **dict.fromkeys(("input-scale", "nan-forward", "exploding-gradient", "vanishing-gradient", "dead-relu", "saturated",
                     "scaler", "symmetric-weights"), SCALES),
    **dict.fromkeys(("loss-contract", "sigmoid-before-bce-with-logits"), LOSSES),
    "batch-leak": "for the graph, a view that mixes examples is a view like any other",
    **dict.fromkeys((
        "other-device", "loader-worker", "shape-mismatch", "dtype-mismatch", "index-out-of-range", "value-out-of-range",
        "one-value-per-channel", "not-a-tensor", "several-elements", "numpy-object", "numpy-stride", "no-cuda",
        "state-dict-mismatch", "weights-only", "missing-class", "broken-file", "optimizer-groups", "no-attribute",
        "no-forward", "wrong-arguments", "collate-type", "empty-dataset", "ddp-unused", "out-of-memory",
        "padding-lengths"), ARGUMENTS)}


def file_of(lesson: Lesson) -> str:
    """The name of a lesson's notebook."""
    return f"{FILES[lesson[0]]}.ipynb"


def link_to(lesson: Lesson) -> str:
    """The address of a part of a lesson on the site, which names a heading as docutils does."""
    heading = re.sub(r"[^a-z0-9]+", "-", lesson[1].lower()).strip("-")
    return f"{SITE}/lessons/{FILES[lesson[0]]}.html#{heading}"
