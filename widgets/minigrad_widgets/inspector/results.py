"""Which tensor of a call's result is meant, where a backward pass is to start."""

from __future__ import annotations

from typing import Any

from minigrad_widgets.doctor.library import Named, contents, is_module, is_optimizer, is_tensor

__all__ = ["root_of"]

DEPTH = 6  # how deep a tree is searched
SHOWN = 6  # paths in a sentence


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


def root_of(result: Any, notes: list[dict[str, Any]]) -> Any:
    """Return the tensor that is meant: the nearest called `loss`, else the only one, else the only scalar; else None.

    If several could be meant, a note lists them and says what to do.
    """
    found = tensors_in(result)
    losses = [each.value for each in found if each.name.endswith((".loss", '["loss"]'))]
    scalars = [each.value for each in found if each.value.numel() == 1]
    if losses or len(scalars) == 1:
        return (losses or scalars)[0]
    if len(found) > 1:
        paths = [each.name for each in found]
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        notes.append({"where": "inspect", "count": 1, "text": (
            f"the result `out` holds several tensors with a graph, {', '.join(paths[:SHOWN])}{more}, so no backward "
            f"pass was run: say which is meant, for example with loss_fn=lambda out: {paths[0]}.sum()")})
    return found[0].value if len(found) == 1 else None
