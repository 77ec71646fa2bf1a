"""Lesson 10: recall questions about it (asked later) and its predictions."""

import ast
import warnings
from collections.abc import Callable
from typing import Any

import minigrad as torch
from minigrad.utils.checkpoint import checkpoint
from minigrad_lessons.bank.kinds import Belief, Case, Names, Prediction, Question, Reason, Why

Fn = Callable[[torch.Tensor], Any]


def _x(requires_grad: bool = True) -> torch.Tensor:
    return torch.ones(8, requires_grad=requires_grad)


def _starts(run: Callable[[Fn], Any]) -> int:
    """How often a function begins, over forward and backward, if `run` runs it."""
    starts = []

    def block(x: torch.Tensor) -> Any:
        starts.append(x)
        return x.exp().sin()

    run(block).sum().backward()
    return len(starts)


def _out(use_reentrant: bool) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reentrant, it warns that no input requires grad
        return bool(checkpoint(torch.nn.Linear(8, 8), _x(False), use_reentrant=use_reentrant).requires_grad)


def _ends_again(**options: Any) -> bool:
    """Whether the line after the last operation of a block runs a second time."""
    ends = []

    def block(x: torch.Tensor) -> Any:
        y = x.exp()
        ends.append(y.shape)
        return y

    checkpoint(block, _x(), use_reentrant=False, **options).sum().backward()
    return len(ends) > 1


def same_mask_again(**options: Any) -> bool:
    """Whether dropout in a checkpointed block draws the same mask when the block runs again."""
    drop, masks = torch.nn.Dropout(0.5), []

    def block(x: torch.Tensor) -> Any:
        dropped = drop(x)
        masks.append((dropped.detach() != 0).tolist())
        return dropped.exp() * x

    x = torch.ones(64, requires_grad=True)
    checkpoint(block, x, **({"use_reentrant": False} | options)).sum().backward()
    return bool(masks[0] == masks[1])


def _kept(run: Callable[[Fn, torch.Tensor], Any]) -> int:
    """How many different tensors are kept for backward."""
    kept: set[int] = set()

    def pack(t: torch.Tensor) -> torch.Tensor:
        kept.add(t.data_ptr())
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        run(lambda x: x.exp().exp().exp(), _x())
    return len(kept)


def _without_recording(block: Fn, x: torch.Tensor) -> Any:
    with torch.no_grad():
        return block(x)


OPS: dict[str, Fn] = {"exp": lambda t: t.exp(), "sin": lambda t: t.sin(), "+ 1": lambda t: t + 1}


def again(*steps: str, **options: Any) -> int:
    """How many steps of a block begin in its second run."""
    begun: list[str] = []

    def block(x: torch.Tensor) -> torch.Tensor:
        for step in steps:
            begun.append(step)
            x = OPS[step](x)
        return x

    out = checkpoint(block, _x(), **({"use_reentrant": False} | options))
    first = len(begun)
    out.sum().backward()
    return len(begun) - first


def modes(way: str) -> list[bool]:
    """Grad mode at the start of each run of a block, over forward and backward."""
    seen = []

    def block(x: torch.Tensor) -> Any:
        seen.append(torch.is_grad_enabled())
        return x.exp()

    ways: dict[str, Callable[[], Any]] = {
        "plain": lambda: block(_x()), "reentrant": lambda: checkpoint(block, _x(), use_reentrant=True),
        "non-reentrant": lambda: checkpoint(block, _x(), use_reentrant=False)}
    ways[way]().sum().backward()
    return seen


def flag(way: str, detaches: bool) -> bool:
    """Whether the output of a block requires grad, if the block detaches its result or does not."""
    def block(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).detach() if detaches else x * 2

    out = block(_x()) if way == "plain" else checkpoint(block, _x(), use_reentrant=way == "reentrant")
    return bool(out.requires_grad)


def _last_keeper(steps: list[str]) -> int:
    return max((place + 1 for place, step in enumerate(steps) if step != "+ 1"), default=0)


def _names() -> Names:
    return {"again": again, "modes": modes, "flag": flag, "same_mask": same_mask_again}


def _call(case: Case) -> tuple[list[Any], dict[str, Any]]:
    """What stands in the brackets of a call, by place and by name."""
    call: Any = ast.parse(case.code, mode="eval").body
    return ([ast.literal_eval(part) for part in call.args],
            {part.arg: ast.literal_eval(part.value) for part in call.keywords})


QUESTIONS = (
    Question(
        "q10.1", "A block runs under checkpoint; then backward runs. How many times does the block start in all?",
        lambda: _starts(lambda block: checkpoint(block, _x(), use_reentrant=False)),
        (Belief("checkpoint keeps what it needs, so the block runs once", lambda: _starts(lambda block: block(_x()))),),
        "let the block print a word at its start"),
    Question(
        "q10.2", "x does not require grad, but the layer's weights do. Does checkpoint(layer, x, use_reentrant=False) "
        "require grad?",
        lambda: _out(use_reentrant=False),
        (Belief("the output follows the inputs that I pass in", lambda: _out(use_reentrant=True)),),
        "print requires_grad of the output, with use_reentrant=False and with True"),
    Question(
        "q10.3", "Dropout in a checkpointed block: does the second run draw the same mask?",
        lambda: same_mask_again(),
        (Belief("every run draws a new mask", lambda: same_mask_again(preserve_rng_state=False)),),
        "let the block store its masks"),
    Question(
        "q10.4", "checkpoint(lambda x: x.exp().exp().exp(), x, use_reentrant=False): how many tensors are kept?",
        lambda: _kept(lambda block, x: checkpoint(block, x, use_reentrant=False)),
        (Belief("checkpoint changes what runs, not what is kept", lambda: _kept(lambda block, x: block(x))),
         Belief("nothing is recorded, so nothing is kept", lambda: _kept(_without_recording))),
        "count the tensors that a pack hook around it gets"),
    Question(
        "q10.5", "Non-reentrant. A print follows the block's last operation. Does it print twice?",
        lambda: _ends_again(),
        (Belief("in backward the whole block runs again", lambda: _ends_again(early_stop=False)),),
        "put a print there, and call it with early_stop=False too"),
)

PREDICTIONS = (
    Prediction(
        "10.1",
        (Belief("the first run is under no_grad, since nothing is to be kept", lambda: modes("reentrant")[0]),),
        Why("What is grad mode in each run of the block?", _names,
            ('modes("non-reentrant")', 'modes("reentrant")', 'modes("plain")'), lambda value: value, {
                "a": Reason("off, then on: nothing is recorded until backward",
                            lambda case: [False, True] if "plain" not in case.code else [True]),
                "b": Reason("on, then on: both variants record, and a hook takes the saved values away",
                            lambda case: [True, True] if "plain" not in case.code else [True]),
                "c": Reason("reentrant off, then on; non-reentrant records both times, and a hook takes the saved "
                            "values away",
                            lambda case: [*(["reentrant"] == _call(case)[0] and [False] or []), True,
                                          *(["non-reentrant"] == _call(case)[0] and [True] or [])])})),
    Prediction(
        "10.2",
        (Belief("in backward the whole block runs again", lambda: again("exp", "sin", "+ 1", early_stop=False)),
         Belief("checkpoint keeps what it needs, so nothing runs again",
                lambda: _starts(lambda block: block(_x())) - 1)),
        Why("Where does the second run stop?", _names,
            ('again("exp", "sin", "+ 1")', 'again("exp", "+ 1", "+ 1")', 'again("exp", "sin", "exp")',
             'again("exp", "sin", "+ 1", use_reentrant=True)'), lambda value: value, {
                "a": Reason("nowhere, it runs to its end", lambda case: len(_call(case)[0])),
                "b": Reason("as soon as the last saved value has been recomputed; the reentrant kind never stops early",
                            lambda case: len(_call(case)[0]) if _call(case)[1] else _last_keeper(_call(case)[0])),
                "c": Reason("before the last operation: the output is known already",
                            lambda case: len(_call(case)[0]) - 1)})),
    Prediction(
        "10.3",
        (Belief("the output says what the function's own result says", lambda: flag("plain", True)),),
        Why("What decides whether out requires grad?", _names,
            ('flag("reentrant", True)', 'flag("non-reentrant", True)', 'flag("non-reentrant", False)',
             'flag("plain", True)'), lambda value: value, {
                "a": Reason("reentrant: the inputs, because the output belongs to a node of checkpoint; "
                            "non-reentrant: the function",
                            lambda case: _call(case)[0][0] == "reentrant" or not _call(case)[0][1]),
                "b": Reason("the function, always", lambda case: not _call(case)[0][1]),
                "c": Reason("checkpoint, always: what it returns requires grad",
                            lambda case: _call(case)[0][0] != "plain" or not _call(case)[0][1])})),
    Prediction(
        "10.4",
        (Belief("checkpoint remembers which mask the block drew", lambda: same_mask_again()),),
        Why("If the mask is the same in the second run, why?", _names,
            ("same_mask()", "same_mask(preserve_rng_state=False)", "same_mask(use_reentrant=True)",
             "same_mask(preserve_rng_state=False, use_reentrant=True)"), lambda value: value, {
                "a": Reason("the mask is one of the values that are kept", lambda case: True),
                "b": Reason("only the reentrant kind repeats it exactly",
                            lambda case: "use_reentrant" in _call(case)[1]),
                "c": Reason("the state of the random generator is saved, and restored before the second run",
                            lambda case: "preserve_rng_state" not in _call(case)[1])})),
)
