"""Exercises that ask yes or no of several expressions. Each is run, and the wrong answers are explained together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import minigrad as torch
from minigrad_lessons.exercises import report
from minigrad_lessons.values import unsure

Rule = Callable[[str, Any], bool]


@dataclass(frozen=True)
class Truths:
    """The expressions, what is asked of each, and the thoughts that would answer otherwise.

    `run` makes a value of an expression and the names that were handed over, `holds` says what is true of it; a
    belief is a sentence, and what it would say of an expression and its value.
    """

    name: str
    codes: tuple[str, ...]
    count: str
    hand_over: str
    run: Callable[[str, dict[str, Any]], Any]
    holds: Callable[[Any], bool]
    beliefs: tuple[tuple[str, Rule], ...]
    look: str
    told: tuple[str, str]

    def judge(self, answers: object, names: dict[str, Any]) -> None:
        """Judge `{expression: True or False}` by running each expression with the given names."""
        if not isinstance(answers, dict) or answers.keys() != set(self.codes):
            report.not_yet(self.name, f"It asks for the {self.count} expressions as they were handed out, each with an "
                                      "answer.")
            return
        said = {code: _yes_or_no(answer) for code, answer in answers.items()}
        open_ones = [code for code, answer in said.items() if answer is ...]
        if any(answer is ... for answer in answers.values()):
            report.not_yet(self.name, f"{len(open_ones)} of {len(answers)} are open. The next: {open_ones[0]}")
        elif strange := [code for code, answer in said.items() if answer is None]:
            report.not_yet(self.name, f"Write True or False for: {'; '.join(strange)}")
        else:
            self._compare(said, open_ones, names)

    def _compare(self, said: dict[str, object], open_ones: list[str], names: dict[str, Any]) -> None:
        values = {}
        for code in self.codes:
            try:
                values[code] = self.run(code, {"torch": torch, **names})
            except Exception as error:  # noqa: BLE001 (whatever it raises is reported)
                report.misconception(self.name, f"{code} raised {report.first_line(error)}. "
                                                f"Pass {self.hand_over} too.")
                return
        wrong = [code for code, answer in said.items() if answer not in (..., self.holds(values[code]))]
        if wrong:
            self._explain(wrong, said, values)
        elif open_ones:
            report.not_yet(self.name, f"You left {len(open_ones)} of {len(said)} open; the others agree with the run. "
                                      f"The next: {open_ones[0]}. {self.look}")
        else:
            yes = sum(self.holds(value) for value in values.values())
            report.passed(self.name, f"All {len(said)} were run: {yes} {self.told[0]}, {len(said) - yes} "
                                     f"{self.told[1]}.")

    def _explain(self, wrong: list[str], said: dict[str, object], values: dict[str, Any]) -> None:
        """Name the thought that fits most of the wrong answers, and of such thoughts the one that fits most answers."""
        def agreement(rule: Rule) -> tuple[int, int]:
            agrees = [code for code in said if said[code] is rule(code, values[code])]
            return sum(code in agrees for code in wrong), len(agrees)

        thought, rule = max(self.beliefs, key=lambda belief: agreement(belief[1]))
        explained = agreement(rule)[0]
        if len(wrong) == 1:
            text = f'1 is wrong; you may be thinking: "{thought}".' if explained else "1 is wrong."
        elif 2 * explained > len(wrong):  # fewer would rather have another reason
            which = f"All {len(wrong)}" if explained == len(wrong) else f"{explained} of the {len(wrong)}"
            text = f'{which} wrong answers fit one idea: "{thought}".'
        else:
            text = f"{len(wrong)} are wrong, and no single thought explains them."
        report.misconception(self.name, text, f"What does not agree with the run: {'; '.join(wrong)}",
                             f"For each: {self.look[0].lower()}{self.look[1:]}")


def _yes_or_no(answer: object) -> object:
    """True or False, also in quotes; dots for an answer that is open; None for what is no answer at all."""
    if answer is ... or unsure(answer):
        return ...
    if isinstance(answer, str):
        return {"true": True, "false": False}.get(answer.strip().lower())
    return answer if isinstance(answer, bool) else None
