"""The checks of all lessons: `check.twelve(...)`, `check.walk(...)` and so on.

Each answers at once. It says "not yet" while dots stand in the answer, "passed" and what was run, or the
misconception that it recognises.
"""

from minigrad_lessons.exercises.lesson01 import non_leaf, twelve, two_ways
from minigrad_lessons.exercises.lesson03 import diamond, integers, walk
from minigrad_lessons.exercises.lesson04 import jacobian, second_backward, waiting_walk
from minigrad_lessons.exercises.lesson07 import decorator, modes, repaired, set_mode
from minigrad_lessons.exercises.lesson09 import matmul, returns, square, straight_through

__all__ = [
    "decorator", "diamond", "integers", "jacobian", "matmul", "modes", "non_leaf", "repaired", "returns",
    "second_backward", "set_mode", "square", "straight_through", "twelve", "two_ways", "waiting_walk", "walk",
]
