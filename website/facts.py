"""What the cheat sheet says, found by running: each fact is an expression, and what a library answers.

The functions take the library, minigrad or PyTorch, under the name that programs know it by.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Row = tuple[str, ...]
Tensor = Any  # of the library that is asked


@dataclass(frozen=True)
class Table:
    """A titled table: the first row is its head."""

    title: str
    rows: tuple[Row, ...]


def leaf(torch: ModuleType, *values: float) -> Tensor:
    """A fresh leaf that requires grad."""
    return torch.tensor(list(values) or [1.0, 2.0], requires_grad=True)


def node(tensor: Tensor) -> str:
    """The name of a tensor's node."""
    return "None" if tensor.grad_fn is None else tensor.grad_fn.name()


def fresh(torch: ModuleType) -> dict[str, object]:
    """What expressions are about: `x` and `w` are leaves that require grad, `d` is data, `m` a matrix."""
    return {"torch": torch, "x": leaf(torch), "w": leaf(torch, 3.0, 4.0), "d": torch.tensor([5.0, 6.0]),
            "m": torch.ones(2, 2, requires_grad=True), "i": torch.tensor([0, 1])}


def evaluated(torch: ModuleType, code: str, mode: Callable[[], AbstractContextManager[object]] = nullcontext) -> Tensor:
    """What an expression gives in a mode; what it is about was made outside."""
    names = fresh(torch)
    with mode():
        found = eval(code, names)
    return found


def states(torch: ModuleType) -> Table:
    """What a tensor says of itself."""
    made = ("torch.ones(2)", "torch.ones(2, requires_grad=True)", "x * 2", "d * 2", "x.detach()", "x.clone()", "x[0]",
            "x.double()", "x.requires_grad_(False)", "torch.nn.Parameter(d)")
    found = [(code, evaluated(torch, code)) for code in made]
    return Table("States: x requires grad, d does not", (("made by", "leaf", "requires_grad", "grad_fn"), *(
        (code, str(t.is_leaf), str(t.requires_grad), node(t)) for code, t in found)))


def modes(torch: ModuleType) -> Table:
    """What requires grad when it is made in a mode."""
    made = ("x * 2", "x.view(2)", "x.detach()", "torch.ones(2, requires_grad=True)")
    everywhere = (torch.enable_grad, torch.no_grad, torch.inference_mode)
    rows = ((code, *(str(evaluated(torch, code, mode).requires_grad) for mode in everywhere)) for code in made)
    return Table("requires_grad of what is made in a mode", (("made by", "plain", "no_grad", "inference"), *rows))


def nodes(torch: ModuleType) -> Table:
    """The node that an expression leaves in the graph."""
    made = ("x + 1", "1 - x", "x * w", "1 / x", "x ** 2", "2 ** x", "x.sum()", "x.sum(0)", "x.max()", "x.max(0)[0]",
            "m.T", "m @ m", "m @ x", "x @ w", "x[0]", "x[:1]", "x[i]", "m.reshape(4)", "x.double()", "x.clone()")
    rows = ((code, node(evaluated(torch, code))) for code in made)
    return Table("Names of nodes", (("expression", "grad_fn"), *rows))


def changed(torch: ModuleType) -> Table:
    """Whether backward still runs when a result or an input was changed in place before it."""
    rows = []
    for code in ("exp", "sigmoid", "tanh", "sqrt", "relu", "sin", "add", "mul"):
        operands = (3.0,) if code in ("add", "mul") else ()
        rows.append((f"a.{code}({', '.join(map(str, operands))})", _after(torch, code, operands, "result"),
                     _after(torch, code, operands, "input")))
    return Table("Changed in place, then backward", (("y = ", "y.add_(1)", "a.add_(1)"), *rows))


def _after(torch: ModuleType, name: str, operands: tuple[float, ...], what: str) -> str:
    a = leaf(torch) * 1
    y = getattr(a, name)(*operands)
    (y if what == "result" else a).add_(1)
    return _told(lambda: y.sum().backward()) and "raises" or "runs"


def _told(program: Callable[[], object]) -> str:
    """The first sentence of the error that a program raises; nothing if it raises none."""
    try:
        program()
    except (RuntimeError, TypeError, ValueError) as error:
        return str(error).partition("\n")[0]
    return ""


def hooks(torch: ModuleType) -> Table:
    """The order in which hooks are called, at a node and at a leaf."""
    told: list[str] = []
    x = leaf(torch)
    y = x * 2
    x.register_post_accumulate_grad_hook(lambda _: told.append("post-accumulate hook of x"))
    x.register_hook(lambda _: told.append("tensor hook of x"))
    y.register_hook(lambda _: told.append("tensor hook of y"))
    node = y.grad_fn
    node.register_hook(lambda *_: told.append("hook of y.grad_fn"))
    node.register_prehook(lambda *_: told.append("prehook of y.grad_fn"))
    y.sum().backward()
    return Table("Order of hooks", (("", "called"), *((str(at), name) for at, name in enumerate(told, 1))))


def gradients(torch: ModuleType) -> Table:
    """What is in `.grad` after `y = x * 2; y.sum().backward()`, and after more."""
    x = leaf(torch)
    y = x * 2
    y.retain_grad()
    inner = y * 3
    inner.sum().backward(retain_graph=True)
    rows = [("x.grad", _short(x.grad)), ("y.grad, after y.retain_grad()", _short(y.grad))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that this .grad does not belong to a leaf
        rows.append(("z.grad", _short(inner.grad)))
    inner.sum().backward()
    rows.append(("x.grad, after a second backward", _short(x.grad)))
    torch.optim.SGD([x], lr=0.1).zero_grad()
    return Table(".grad, where y = x * 2 and z = y * 3", (("", "holds"), *rows,
                                                          ("x.grad, after zero_grad()", _short(x.grad))))


def _short(grad: Tensor | None) -> str:
    return "None" if grad is None else str(grad.tolist())


def edges(torch: ModuleType) -> Table:
    """What is in `next_functions`."""
    made = ("x * w", "x * 5", "x * d", "m.unbind()[1] * x")
    return Table("next_functions", (("expression", "pairs"), *(
        (code, "  ".join(f"({_class(below)}, {nr})" for below, nr in evaluated(torch, code).grad_fn.next_functions))
        for code in made)))


def _class(node: object) -> str:
    return "None" if node is None else type(node).__name__


def errors(torch: ModuleType) -> Table:
    """What goes wrong, in PyTorch's words."""
    def twice() -> None:
        y = (leaf(torch) * leaf(torch)).sum()
        y.backward()
        y.backward()

    def inplace() -> None:
        leaf(torch).add_(1)

    programs: dict[str, Callable[[], object]] = {
        "(x * 2).backward()": lambda: (leaf(torch) * 2).backward(),
        "d.sum().backward()": lambda: torch.tensor([1.0]).sum().backward(),
        "y.backward(), again": twice,
        "x.add_(1)": inplace,
        "torch.autograd.grad(x.sum(), w)": lambda: torch.autograd.grad(leaf(torch).sum(), leaf(torch)),
        "x.numpy()": lambda: leaf(torch).numpy(),
        "(x * 2).requires_grad_(False)": lambda: (leaf(torch) * 2).requires_grad_(False),
        "torch.tensor([1], requires_grad=True)": lambda: torch.tensor([1], requires_grad=True),
    }
    return Table("Errors", (("program", "PyTorch says"), *(
        (code, _told(program)) for code, program in programs.items())))


def tables(torch: ModuleType) -> Iterator[Table]:
    """All of the sheet."""
    for make in (states, modes, nodes, changed, hooks, errors, gradients, edges):
        yield make(torch)
