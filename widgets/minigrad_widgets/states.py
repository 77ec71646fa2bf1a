"""The states that a tensor can be in, found by running every call in every state, breadth first. Lesson 2 uses it.

    explore(torch)

The library is an argument, so it runs with minigrad and with PyTorch alike; no table is typed by hand. A state is the
combined value of some attributes of a tensor. Each call is a line of Python about a tensor `t`; it runs on a new `t`
that the shortest known lines have brought into the state. The result is plain data.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypedDict

__all__ = ["ATTRIBUTES", "CALLS", "STARTS", "Exploration", "Move", "State", "explore"]

ATTRIBUTES = ("is_leaf", "requires_grad", "retains_grad", "grad_fn")
STARTS = ("t = torch.ones(2)", "t = torch.ones(2, requires_grad=True)")
CALLS = (
    "t.requires_grad_()",
    "t.requires_grad_(False)",
    "t.retain_grad()",
    "t.detach_()",
    "t.add_(1)",
    "t = t.detach()",
    "t = t * 2",
    "with torch.no_grad(): t = t * 2",
)
MOST = 64

Values = tuple[bool, ...]


class State(TypedDict):
    """The attributes, in order (for `grad_fn` and `grad`: whether there is one), and the way there."""

    values: list[bool]
    recipe: list[str]


Move = TypedDict("Move", {"from": int, "call": int, "to": int | None, "error": str | None})
"""What a call does in a state: the state that it leads to, or the error that forbids it."""


class Exploration(TypedDict):
    """Everything that was found. States and calls are named by their index in their lists."""

    attributes: list[str]
    starts: list[str]
    calls: list[str]
    states: list[State]
    moves: list[Move]


def explore(torch: Any, calls: Sequence[str] = CALLS, starts: Sequence[str] = STARTS,
            attributes: Sequence[str] = ATTRIBUTES) -> Exploration:
    """Find all states that these calls reach from these starts, and what each call does in each of them.

    Args:
        torch: minigrad or PyTorch; the lines refer to it as `torch`.
        calls: lines of Python about a tensor `t`.
        starts: lines that make `t`.
        attributes: which attributes of `t` make up its state; a method is called.

    Raises:
        ValueError: if a call treats two tensors in one state differently, so that the attributes are not enough to tell
            states apart, or if there are more than 64 states.
    """
    known: dict[Values, int] = {}
    states: list[State] = []
    outcomes: list[list[Values | str]] = []  # by state, the result of each call

    def meet(recipe: list[str]) -> None:
        values = run(torch, recipe, attributes)
        if isinstance(values, str):
            raise ValueError(f"{recipe[-1]!r} does not make a tensor: {values}")
        gives = [run(torch, [*recipe, call], attributes) for call in calls]
        if values not in known:
            if len(states) == MOST:
                raise ValueError(f"there are more than {MOST} states: look at fewer attributes, or make fewer calls")
            known[values] = len(states)
            states.append({"values": list(values), "recipe": recipe})
            outcomes.append(gives)
        elif gives != outcomes[known[values]]:
            raise ValueError(unlike(states[known[values]]["recipe"], recipe, calls, outcomes[known[values]], gives))

    for start in starts:
        meet([start])
    at = 0
    while at < len(states):
        for call, gives in zip(calls, outcomes[at], strict=True):
            if not isinstance(gives, str):
                meet([*states[at]["recipe"], call])
        at += 1
    moves: list[Move] = [
        {"from": at, "call": call, "to": None, "error": gives} if isinstance(gives, str)
        else {"from": at, "call": call, "to": known[gives], "error": None}
        for at, row in enumerate(outcomes) for call, gives in enumerate(row)]
    return {"attributes": list(attributes), "starts": list(starts), "calls": list(calls), "states": states,
            "moves": moves}


def run(torch: Any, lines: Sequence[str], attributes: Sequence[str]) -> Values | str:
    """Return the attributes of `t` after these lines, or the error that the last one raised."""
    names = {"torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reading a result's .grad warns
        try:
            for line in lines:
                exec(line, names)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what the call does)
            return f"{type(error).__name__}: {error}"
        return tuple([as_bool(getattr(names["t"], name)) for name in attributes])


def as_bool(value: Any) -> bool:
    """Return an attribute as a bool: for an object, whether there is one."""
    if callable(value) and not hasattr(value, "next_functions"):
        value = value()
    return value if isinstance(value, bool) else value is not None


def unlike(one: list[str], other: list[str], calls: Sequence[str], first: list[Any], second: list[Any]) -> str:
    """Return a message that says which call tells two recipes apart."""
    call = next(call for call, a, b in zip(calls, first, second, strict=True) if a != b)
    return (f"the attributes do not tell two tensors apart that {call!r} does: the one made by {'; '.join(one)!r} and "
            f"the one made by {'; '.join(other)!r}. Look at one attribute more")
