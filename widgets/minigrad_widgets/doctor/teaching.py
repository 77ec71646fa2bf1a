"""Which lesson teaches the subject of each rule: its number, and the heading of the part.

What no lesson teaches (losses, activations, the sizes of gradients along the depth) has no entry.
"""

Lesson = tuple[int, str]

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
