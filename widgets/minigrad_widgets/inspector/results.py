"""Which tensor of a call's result is meant, where a backward pass is to start."""

from __future__ import annotations

from typing import Any

from minigrad_widgets.doctor.library import Named, contents, is_module, is_optimizer, is_tensor

__all__ = ["LOSS_FN", "root_of"]

DEPTH = 6  # how deep a tree is searched
SHOWN = 6  # paths in a sentence
INSPECT = "inspect"  # where such a note comes from
LOSS_FN = "For a training step give loss_fn= and, if it takes one, target="


def tensors_in(result: Any) -> list[Named]:
    """Return the tensors with a graph that a result holds, by their paths, the nearest first, and each once."""
    found: list[Named] = []
    level, known = [Named("out", result)], set[int]()
    for _ in range(DEPTH):
        inner: list[Named] = []
        for path, value in level:
            if id(value) in known or is_module(value) or is_optimizer(value):
                continue
            known.add(id(value))
            if not is_tensor(value):
                inner += [Named(path + step, each) for step, each in contents(value).items()]
            elif value.requires_grad:
                found.append(Named(path, value))
        level = inner
    return found


def root_of(result: Any, notes: list[dict[str, Any]], remedy: str = LOSS_FN) -> Any:
    """Return the tensor that is meant: the nearest called `loss`, else the only one, else the only scalar; else None.

    Where it is no loss, or none could be chosen, a note says so, and the `remedy`: how to give a loss.
    """
    found = tensors_in(result)
    losses = [each.value for each in found if each.name.endswith((".loss", '["loss"]'))]
    scalars = [each.value for each in found if each.value.numel() == 1]
    if losses or len(scalars) == 1:
        return (losses or scalars)[0]
    if not found:
        if any(map(is_tensor, [result, *contents(result).values()])):
            say(notes, "The result has no graph, so there is no backward pass to show: nothing in it requires grad, or "
                       "it was computed under no_grad")
        return None
    paths = [each.name for each in found]
    if len(found) == 1:
        name = "The tensor" if paths[0] == "out" else f"The only tensor with a graph, {paths[0]}"
        if found[0].value.numel() != 1:
            say(notes, f"{name}, of shape {list(found[0].value.shape)}, is no loss: this is the backward pass of its "
                       f"sum. {remedy}")
        return found[0].value
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    say(notes, f"The result `out` holds several tensors with a graph, {', '.join(paths[:SHOWN])}{more}, so no backward "
               f"pass was run: this is the forward pass. {remedy}, for example loss_fn=lambda out: {paths[0]}.sum()")
    return None


def say(notes: list[dict[str, Any]], text: str) -> None:
    """Add a note, which the inspector shows at its top."""
    notes.append({"where": INSPECT, "count": 1, "text": text})
