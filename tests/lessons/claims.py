"""For each claim of `minigrad_lessons.questions`, a program that is True where the claim does not hold.

`python -m pytest tests/lessons/test_questions.py` runs each with minigrad and with PyTorch.
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

Program = Callable[[ModuleType], bool]


def leaf(torch: ModuleType, *values: float) -> Any:
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def raised(run: Callable[[], object]) -> str:
    """The type and the words of the error; empty if there is none."""
    try:
        run()
    except Exception as error:  # noqa: BLE001 (it is returned)
        return f"{type(error).__name__}: {error}"
    return ""


def warned(run: Callable[[], object]) -> str:
    """The words of the first warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return str(caught[0].message) if caught else ""


def node(tensor: Any) -> str:
    return type(tensor.grad_fn).__name__


def checkpointed(torch: ModuleType, x: Any, block: Any = None) -> Any:
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    return checkpoint(block or torch.nn.Linear(2, 2), x, use_reentrant=block is not None)


def packed_in_forward(torch: ModuleType) -> tuple[int, int]:
    """How many values a plain forward pass saves for backward, and how many a checkpointed one."""
    def block(x: Any) -> Any:
        return x.exp().sin()

    counts = []
    for run in (block, lambda x: checkpointed(torch, x, block)):
        packed: list[object] = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t, packed=packed: packed.append(t) or t, lambda t: t):
            run(leaf(torch))
        counts.append(len(packed))
    return counts[0], counts[1]


def modes_of_segments(torch: ModuleType) -> list[bool]:
    found: list[bool] = []

    def segment(x: Any) -> Any:
        found.append(torch.is_grad_enabled())
        return x * 2

    sequential = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint_sequential
    sequential([segment, segment, segment], 3, leaf(torch), use_reentrant=False)
    return found


def wrong_name(torch: ModuleType) -> bool:
    x = leaf(torch)
    was_there = hasattr(x, "require_grad")
    x.require_grad = False
    return not was_there and bool(x.requires_grad)


def by_hand(torch: ModuleType) -> bool:
    x = leaf(torch)
    mul = (x * leaf(torch)).grad_fn
    mul.next_functions[0][0](mul(torch.ones(2))[0])
    return x.grad.tolist() == [1.0, 2.0] and x.grad.grad_fn is not None


def backward_twice(torch: ModuleType) -> bool:
    x = leaf(torch)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return bool(x.grad.tolist() == [2.0, 2.0] and y.grad_fn.next_functions)


def state(tensor: Any) -> tuple[bool, bool, bool]:
    return tensor.is_leaf, tensor.requires_grad, tensor.retains_grad


def retained(torch: ModuleType) -> Any:
    y = leaf(torch) * 2
    y.retain_grad()
    return y


def unreached(torch: ModuleType) -> bool:
    x, other = leaf(torch), leaf(torch)
    x.sum().backward()
    return x.grad is not None and other.grad is None


def named_input(torch: ModuleType) -> bool:
    x = leaf(torch)
    y = x * 2
    y.sum().backward(inputs=[y])
    return y.grad is not None and x.grad is None and not y.is_leaf


def view_without_recording(torch: ModuleType) -> Any:
    with torch.no_grad():
        return leaf(torch)[:1]


def backward_without_recording(torch: ModuleType) -> bool:
    x = leaf(torch)
    y = x.sum()
    with torch.no_grad():
        y.backward()
    return x.grad is not None


def kept_and_not_recorded(torch: ModuleType) -> bool:
    x = leaf(torch)
    (kept,) = torch.autograd.grad((x**3).sum(), x, retain_graph=True)
    (recorded,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return not kept.requires_grad and recorded.requires_grad


def leaf_backward(torch: ModuleType) -> bool:
    x = leaf(torch, 3.0)
    x.backward()
    return x.is_leaf and x.grad.tolist() == [1.0]


def saved(tensor: Any) -> list[str]:
    return [name for name in dir(tensor.grad_fn) if name.startswith("_saved")]


def signature_differs(torch: ModuleType) -> bool:
    grad = inspect.signature(torch.autograd.grad).parameters
    return grad["allow_unused"].default is None and "inputs" in inspect.signature(torch.autograd.backward).parameters


CONTRADICTED: dict[str, Program] = {
    "c0.1": lambda t: packed_in_forward(t)[0] > packed_in_forward(t)[1],
    "c0.2": lambda t: raised(lambda: t.no_grad.__enter__()).startswith("TypeError"),
    "c1.1": lambda t: checkpointed(t, leaf(t), lambda x: x * 2).requires_grad,
    "c1.2": lambda t: all(modes_of_segments(t)),
    "c1.3": lambda t: checkpointed(t, t.ones(2)).requires_grad,
    "c1.4": lambda t: "Checkpoint" not in node(checkpointed(t, leaf(t))),
    "c2.1": wrong_name,
    "c2.2": lambda t: not any(isinstance(below, t.Tensor) for below, _ in (leaf(t) * leaf(t)).grad_fn.next_functions),
    "c2.3": lambda t: (t.ones(2) + 1).is_leaf,
    "c2.4": lambda t: len((leaf(t) * leaf(t)).grad_fn.next_functions) == 2,
    "c2.5": lambda t: (leaf(t).split(1)[1] * 3).grad_fn.next_functions[0][1] == 1,
    "c2.6": lambda t: node(leaf(t).exp()) == "ExpBackward0",
    "c2.7": lambda t: leaf(t, 3.0).shape == (1,) and not raised((leaf(t, 3.0) * 2).backward),
    "c2.8": backward_twice,
    "c2.9": signature_differs,
    "c2.10": by_hand,
    "c3.1": lambda t: state(retained(t).detach_())[2],
    "c3.2": lambda t: retained(t).retains_grad,
    "c3.3": lambda t: "RuntimeError" in raised(lambda: (leaf(t) * 2).requires_grad_(False)),
    "c3.4": lambda t: "RuntimeError: can't retain_grad" in raised(t.ones(2).retain_grad),
    "c3.5": lambda t: state(retained(t).detach_()) == (True, False, True),
    "c3.6": lambda t: view_without_recording(t).is_leaf and view_without_recording(t).requires_grad,
    "c3.7": lambda t: not any(r.requires_grad for r in (leaf(t) > 0, leaf(t).argmax(), leaf(t).detach())),
    "c3.8": lambda t: leaf(t).detach().is_leaf,
    "c3.9": unreached,
    "c3.10": lambda t: (leaf(t) * t.ones(2)).grad_fn.next_functions[1][0] is None,
    "c4.1": lambda t: isinstance((leaf(t) * 2).grad_fn, t.autograd.graph.Node) and not isinstance(
        (leaf(t) * 2).grad_fn, t.autograd.Function),
    "c4.2": lambda t: saved(leaf(t) + leaf(t)) == ["_saved_alpha"] and len(saved(leaf(t) * leaf(t))) == 2,
    "c4.3": leaf_backward,
    "c4.4": named_input,
    "c4.5": lambda t: "If you indeed want the .grad field" in warned(lambda: (leaf(t) * 2).grad),
    "c4.6": lambda t: view_without_recording(t).requires_grad,
    "c4.7": backward_without_recording,
    "c4.8": lambda t: not raised(leaf(t).retain_grad),
    "c4.9": lambda t: "only for scalar" in raised(lambda: t.autograd.grad(leaf(t) * 2, leaf(t))),
    "c4.10": kept_and_not_recorded,
    "c4.11": lambda t: [node(leaf(t) + 1), node(leaf(t).to(t.float64))] == ["AddBackward0", "ToCopyBackward0"],
    "c4.12": lambda t: node(t.nn.Linear(2, 2)(t.ones(1, 2))) == "AddmmBackward0",
    "c4.13": lambda t: "RuntimeError" in raised(lambda: t.nn.L1Loss(leaf(t), t.ones(2)))
    and node(t.nn.L1Loss()(leaf(t), t.ones(2))) == "MeanBackward0",
}
