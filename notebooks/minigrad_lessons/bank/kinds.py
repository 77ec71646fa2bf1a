"""The kinds of entries in the bank.

Nothing here holds an answer. A Question runs something; a Belief computes what somebody who holds it would
answer; a Reason is a rule, and `Why` tests the rule on small programs until the engine contradicts it.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

import minigrad as torch

Names = dict[str, Any]


@dataclass(frozen=True)
class Belief:
    """A misconception in one sentence, and what it would make somebody answer (`beliefs.answers_to` has it as data)."""

    text: str
    answer: Callable[[], object]


@dataclass(frozen=True)
class Question:
    """A recall question; `run` finds the answer out, `look` tells the student how to do the same.

    `choices` are answers to click where a number is asked for and few make sense; `word` is a word that fits too.
    """

    id: str
    text: str
    run: Callable[[], object]
    beliefs: tuple[Belief, ...]
    look: str
    choices: tuple[str, ...] = ()
    word: str = ""


@dataclass(frozen=True)
class Case:
    """One small program, with what it was made of and what it gave: an expression, or a block of one expression, such
    as `with torch.no_grad(): w * 3`.
    """

    code: str
    names: Names

    @property
    def value(self) -> Any:
        """What the expression gives."""
        if not self.code.startswith("with "):
            return eval(self.code, dict(self.names))
        block, _, expression = self.code.partition(": ")
        names = dict(self.names)
        exec(f"{block}: value = {expression}", names)
        return names["value"]

    def names_used(self) -> list[str]:
        """The names in the expression, in the order in which they are written."""
        nodes = [n for n in ast.walk(ast.parse(self.code)) if isinstance(n, ast.Name) and n.id in self.names]
        return [n.id for n in sorted(nodes, key=lambda n: (n.lineno, n.col_offset))]

    def tensors(self) -> list[torch.Tensor]:
        """The tensors that the expression names, in the order in which they are written."""
        found = [self.names[name] for name in self.names_used()]
        return [value for value in found if isinstance(value, torch.Tensor)]

    def operands(self) -> list[Any]:
        """The values on the two sides of the operator, for an expression such as `x * 5`."""
        return [eval(code, dict(self.names)) for code in self.operand_codes()]

    def operand_codes(self) -> list[str]:
        """The text on the two sides of the operator."""
        top = ast.parse(self.code, mode="eval").body
        if not isinstance(top, ast.BinOp):
            raise ValueError(f"{self.code!r} has no operator at its top")
        return [ast.unparse(top.left), ast.unparse(top.right)]

    def arguments(self) -> list[object]:
        """What stands in the brackets, for a call such as `nested("no", True)`: words, numbers, True and False."""
        top = ast.parse(self.code, mode="eval").body
        if not isinstance(top, ast.Call):
            raise ValueError(f"{self.code!r} is no call")
        return [ast.literal_eval(part) for part in top.args]

    def operators(self) -> int:
        """How many operations it writes: operators and method calls."""
        tree = ast.parse(self.code)
        methods = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)]
        return len(methods) + len([n for n in ast.walk(tree) if isinstance(n, ast.BinOp)])


@dataclass(frozen=True)
class Reason:
    """One answer to "why?": a rule that says what it would expect of a case."""

    text: str
    expects: Callable[[Case], object]


class Trial(NamedTuple):
    """A reason on one case: what it expects, and what the run gives."""

    code: str
    expected: object
    found: object

    @property
    def agrees(self) -> bool:
        """Whether the run gives what the reason expects."""
        return bool(self.expected == self.found)


@dataclass(frozen=True)
class Why:
    """The question after a run, three reasons, and the cases that tell them apart.

    `names` makes fresh names for each case, so that no case feels what an earlier one did. `shows` says how to read
    what a case gives, and the first line of a function's docstring what that function does in a case.
    """

    text: str
    names: Callable[[], Names]
    cases: tuple[str, ...]
    observe: Callable[[Any], object]
    reasons: dict[str, Reason]
    shows: str = ""

    def notes(self, *codes: str) -> list[str]:
        """What a reader of these cases has to know: how to read what they give, and the functions in them."""
        names, found = self.names(), [self.shows] if self.shows else []
        for name in dict.fromkeys(name for code in codes for name in Case(code, names).names_used()):
            about = getattr(names[name], "__doc__", None) if isinstance(names[name], FunctionType) else None
            if about and vars(torch).get(name) is not names[name]:
                found.append(f"{name}: {about.splitlines()[0]}")
        return found

    def tried(self, letter: str) -> list[Trial]:
        """A reason on the cases in their order, up to the first that the engine contradicts.

        The engine runs here, when the student asks, and no table that was made before: it is what contradicts them.
        """
        trials: list[Trial] = []
        for code in self.cases:
            found = self.observe(Case(code, self.names()).value)
            trials.append(Trial(code, self.reasons[letter].expects(Case(code, self.names())), found))
            if not trials[-1].agrees:
                break
        return trials


@dataclass(frozen=True)
class Prediction:
    """A prediction: the lesson's own cell gives the answer, the bank knows who would answer otherwise.

    `choices` and `word` are as in `Question`.
    """

    id: str
    beliefs: tuple[Belief, ...]
    why: Why
    look: str = field(default="Run the lines one by one in a new cell and print what they make.")
    choices: tuple[str, ...] = ()
    word: str = ""


def fails(run: Callable[[], object], error: type[Exception] = RuntimeError) -> bool:
    """Whether this raises an error."""
    try:
        run()
    except error:
        return True
    return False
