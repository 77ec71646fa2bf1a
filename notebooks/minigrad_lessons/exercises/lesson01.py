"""The checks of lesson 1: classify twelve tensors, a non-leaf without arithmetic, a leaf in two ways."""

import ast
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.graph import nodes_of

# The first part of the names of nodes that compute new numbers.
ARITHMETIC = ("Abs", "Add", "Dot", "Div", "Exp", "Log", "Mean", "Mm", "Mul", "Mv", "Neg", "Pow", "Reciprocal", "Relu",
              "Rsub", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh")

Rule = Callable[[str, torch.Tensor], bool]


def _is_operation(code: str) -> bool:
    top = ast.parse(code, mode="eval").body
    made_by_torch = isinstance(top, ast.Call) and ast.unparse(top.func).startswith("torch.")
    return isinstance(top, ast.BinOp | ast.Subscript) or (isinstance(top, ast.Call) and not made_by_torch)


LEAF_BELIEFS: tuple[tuple[str, Rule], ...] = (
    ("a leaf is a tensor that I want gradients for", lambda code, t: t.requires_grad),
    ("a leaf is plain data, without gradients", lambda code, t: not t.requires_grad),
    ("the result of an operation is never a leaf", lambda code, t: not _is_operation(code)),
    ("only parameters and data that I made are leaves; what is cut off stays a result",
     lambda code, t: t.is_leaf and "detach" not in code),
    ("every tensor that I can name is a leaf", lambda code, t: True),
)


def twelve(answers: dict[str, object], **names: Any) -> None:
    """Judge `{expression: is it a leaf?}` by running each expression with the given names."""
    name = "check.twelve"
    open_ones = [code for code, answer in answers.items() if answer is ...]
    if open_ones:
        report.not_yet(name, f"{len(open_ones)} of {len(answers)} are open. The next: {open_ones[0]}")
        return
    tensors = {code: eval(code, {"torch": torch, **names}) for code in answers}
    wrong = [code for code in answers if answers[code] is not tensors[code].is_leaf]
    if not wrong:
        leaves = sum(t.is_leaf for t in tensors.values())
        report.passed(name, f"All {len(answers)} were run: {leaves} are leaves, {len(answers) - leaves} are not.")
        return

    def agreement(rule: Rule) -> tuple[int, int]:
        agrees = [code for code in answers if answers[code] is rule(code, tensors[code])]
        return sum(code in agrees for code in wrong), len(agrees)

    text, rule = max(LEAF_BELIEFS, key=lambda belief: agreement(belief[1]))
    explained = agreement(rule)[0]
    lines = [f"These differ from the run: {'; '.join(wrong)}", "For each, print grad_fn: is there a node?"]
    if explained:
        text = f'{explained} of the {len(wrong)} that differ fit the thought "{text}".'
    else:
        text = f"{len(wrong)} differ, and no one thought explains them."
    report.misconception(name, text, *lines)


def _fresh_leaf() -> torch.Tensor:
    return torch.tensor([[1.5, -2.25], [0.5, 7.0]], requires_grad=True)


def _numbers(tensor: torch.Tensor) -> list[float]:
    return sorted(set(tensor.detach().reshape(-1).tolist()))


def _shares_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Write into a, look at b, and put things back."""
    first, other = a.detach().reshape(-1), b.detach()
    before, kept = other.tolist(), first.clone()
    first.add_(1.0)
    changed = bool(other.tolist() != before)
    first.copy_(kept)
    return changed


def non_leaf(build: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Judge `build(w)`: does it make a non-leaf out of the leaf w without computing a number?"""
    name = "check.non_leaf"
    if report.has_dots(build):
        report.not_yet(name, "Write what build(w) returns.")
        return
    w = _fresh_leaf()
    result = build(w)
    if not isinstance(result, torch.Tensor):
        report.misconception(name, f"build must return a tensor; it returned a {type(result).__name__}.")
    elif result is w:
        report.misconception(name, "this is w itself. A second name for a tensor is no second tensor.")
    elif result.is_leaf:
        report.misconception(name, _why_leaf(result, w), "Its grad_fn is None, so it is a leaf.")
    elif computed := [type(node).__name__ for node in nodes_of(result.grad_fn)
                      if type(node).__name__.startswith(ARITHMETIC)]:
        report.misconception(
            name, "to multiply by 1 or to add 0 is arithmetic too: the result is not judged by its numbers.",
            f"Its graph holds {', '.join(computed)}.")
    else:
        report.passed(name, f"{type(result.grad_fn).__name__} moved numbers and computed none; is_leaf is False.")


def _why_leaf(result: torch.Tensor, w: torch.Tensor) -> str:
    if _shares_memory(w, result):
        return "it shows w's memory, but it was cut off from w: no operation was recorded."
    return "its numbers were copied outside the graph: for minigrad it is new data."


def two_ways(first: Callable[[torch.Tensor], torch.Tensor], second: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Judge two functions that each make a leaf with the numbers of the non-leaf y, in different ways."""
    name = "check.two_ways"
    if report.has_dots(first) or report.has_dots(second):
        report.not_yet(name, "Write both functions.")
        return
    lines = []
    for way in (first, second):
        y = _fresh_leaf() * 2
        fault, told = _judge_way(way, y)
        if fault:
            report.misconception(name, f"{way.__name__}(y): {fault}")
            return
        lines.append(f"{way.__name__}(y): {told}")
    if _steps(first) == _steps(second):
        report.misconception(name, "both functions do the same thing. Another name is not another way.", *lines)
        return
    report.passed(name, *lines)


def _judge_way(way: Callable[[torch.Tensor], torch.Tensor], y: torch.Tensor) -> tuple[str, str]:
    """What is wrong with the leaf that this way makes (empty if nothing), and what is to be told of it."""
    numbers = y.detach().tolist()
    try:
        leaf = way(y)
    except RuntimeError as error:
        return f"a result cannot drop the flag, its history says otherwise. {report.first_line(error)}", ""
    if not isinstance(leaf, torch.Tensor):
        return f"it must return a tensor; it returned a {type(leaf).__name__}.", ""
    if not leaf.is_leaf:
        made_by = type(leaf.grad_fn).__name__
        if leaf is y:
            return f"this is y itself, and {made_by} still stands behind it.", ""
        return f"a copy, or a new view, is still a recorded result: {made_by} stands behind it.", ""
    if leaf.tolist() != numbers:
        return "a leaf, but not with the numbers of y: it is new data of the same kind.", ""
    if leaf is y:
        return "", "y itself has become a leaf"
    return "", "a leaf that shares memory with y" if _shares_memory(y, leaf) else "a leaf with numbers of its own"


def _steps(function: Callable[..., object]) -> tuple[object, ...]:
    code = function.__code__
    return code.co_names, tuple(c for c in code.co_consts if not isinstance(c, str)), code.co_code
