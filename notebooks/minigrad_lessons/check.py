"""The checks of all lessons: `check.twelve(...)`, `check.walk(...)` and so on.

Each answers at once. It says "not yet" while dots stand in the answer, "passed" and what was run, or the
misconception that it recognises.
"""

import re

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
from minigrad_lessons.exercises.lesson09 import marks, matmul, returns, square, straight_through
from minigrad_lessons.exercises.lesson10 import by_hooks, segments, unstable
from minigrad_lessons.exercises.lesson11 import frozen, module, momentum
from minigrad_lessons.exercises.lesson12 import divergence, eikonal, hvp
from minigrad_lessons.exercises.lesson13 import facts, operation
from minigrad_lessons.exercises.lesson14 import accumulate, hooks, parallel, sharded
from minigrad_lessons.exercises.lesson14_power_sgd import power_sgd
from minigrad_lessons.exercises.lesson15 import dead_code, repeats
from minigrad_lessons.exercises.lesson16 import engine
from minigrad_lessons.exercises.lesson17 import center, paired, sum_back
from minigrad_lessons.exercises.lesson18 import no_negatives, powers, set_row
from minigrad_lessons.exercises.lesson19 import entropy, log_sum_exp, scaled_step
from minigrad_lessons.exercises.lesson20 import gradient_norms, patched, where_it_dies
from minigrad_lessons.exercises.lesson21.gradients import (
    broadcast,
    differentiable,
    half_constant,
    no_nan,
    one_row,
    only_x,
    zeros,
)
from minigrad_lessons.exercises.lesson21.graphs import (
    freeze,
    last_node,
    no_graph_error,
    none_first,
    recorded_anyway,
    third_output,
    twice,
    twin,
)
from minigrad_lessons.exercises.lesson21.memory import (
    alive,
    in_place_step,
    let_go,
    modified_error,
    running_total,
    seen,
)
from minigrad_lessons.exercises.lesson22 import by_columns, dual, forward_hvp

__all__ = [
    "accumulate", "alive", "arrivals", "backpropagate", "broadcast", "by_columns", "by_hooks", "center", "chain",
    "changed", "clip", "dead_code", "decorator", "diamond", "differentiable", "divergence", "dual", "eikonal",
    "engine", "entropy", "event_order", "facts", "flags", "forgot", "forward_hvp", "freeze", "frozen",
    "gradient_norms", "half_constant", "hooks", "hvp", "in_place_step", "integers", "jacobian", "last_node",
    "let_go", "log_sum_exp", "marks", "matmul", "modes", "modified_error", "module", "momentum", "multiply",
    "no_graph_error", "no_nan", "no_negatives", "non_leaf", "none_first", "one_row", "only_x", "operation", "order",
    "paired", "parallel", "parameter", "parts", "patched", "power_sgd", "powers", "reach", "recorded_anyway",
    "repaired", "repeats", "result_flag", "returns", "running_total", "scaled_step", "second_backward", "seen",
    "segments", "set_mode", "set_row", "sharded", "slopes", "spoil", "square", "straight_through", "sum_back",
    "tanh", "third_output", "twelve", "twice", "twin", "two_ways", "unstable", "value_class", "waiting_walk",
    "walk", "watch_layers", "where_it_dies", "zeros",
]


def lesson_of(name: str) -> int:
    """The number of the lesson that a check belongs to: its module, or the package of its module, is named for it."""
    return int(re.search(r"\.lesson(\d+)", globals()[name].__module__)[1])  # type: ignore[index]  # a test calls it for all
