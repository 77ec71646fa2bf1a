"""The checks of all lessons: `check.twelve(...)`, `check.walk(...)` and so on.

Each answers at once. It says "not yet" while dots stand in the answer, "passed" and what was run, or the
misconception that it recognises.
"""

from minigrad_lessons.exercises.lesson00 import (
    backpropagate,
    chain,
    multiply,
    order,
    slopes,
    tanh,
    value_class,
)
from minigrad_lessons.exercises.lesson01 import non_leaf, twelve, two_ways
from minigrad_lessons.exercises.lesson02 import flags, reach, result_flag
from minigrad_lessons.exercises.lesson03 import diamond, integers, walk
from minigrad_lessons.exercises.lesson04 import jacobian, second_backward, waiting_walk
from minigrad_lessons.exercises.lesson05 import arrivals, forgot, parts
from minigrad_lessons.exercises.lesson06 import clip, event_order, watch_layers
from minigrad_lessons.exercises.lesson07 import decorator, modes, repaired, set_mode
from minigrad_lessons.exercises.lesson08 import changed, parameter, spoil
from minigrad_lessons.exercises.lesson09 import matmul, returns, square, straight_through
from minigrad_lessons.exercises.lesson10 import by_hooks, segments, unstable
from minigrad_lessons.exercises.lesson11 import frozen, module, momentum
from minigrad_lessons.exercises.lesson12 import divergence, eikonal, hvp
from minigrad_lessons.exercises.lesson13 import facts, operation
from minigrad_lessons.exercises.lesson16 import engine

__all__ = [
    "arrivals", "backpropagate", "by_hooks", "chain", "changed", "clip", "decorator", "diamond", "divergence",
    "eikonal", "engine", "event_order", "facts", "flags", "forgot", "frozen", "hvp", "integers", "jacobian", "matmul",
    "modes", "module", "momentum", "multiply", "non_leaf", "operation", "order", "parameter", "parts", "reach",
    "repaired", "result_flag", "returns", "second_backward", "segments", "set_mode", "slopes", "spoil", "square",
    "straight_through", "tanh", "twelve", "two_ways", "unstable", "value_class", "waiting_walk", "walk", "watch_layers",
]
