"""A compiled step: the user's lines, the eager ops that they call, and the program after each pass, side by side.

What is shown is a record, plain data that `inspection()` of a compiled step returns (docs/compiler.md); the browser
draws it (frontend/src/lenses/compiled_step.ts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from minigrad_widgets.widget.base import Widget

__all__ = ["CompiledStep"]

MOST_LINES = 24  # lines of a program, in the text


class CompiledStep(Widget):
    """Shows how passes turned a step into a program; `step` is the pass that is shown, and can be observed.

    CompiledStep(compiled.inspection())   # the same as inspect(compiled)
    """

    STATE = ("compiled", "step")
    PICTURE = "compiled_step"

    compiled = traitlets.Dict(help="what is shown: lines, ops, and the statements after each pass").tag(sync=True)
    step = traitlets.Int(0, help="the pass that is shown; 0: the program as it was traced").tag(sync=True)

    def __init__(self, record: Mapping[str, Any], step: int = 0) -> None:
        self._record = dict(record)
        super().__init__(compiled=self._record, step=step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        return max(0, min(int(proposal["value"]), len(self._record["steps"]) - 1))

    @property
    def text(self) -> str:
        """How many statements there are after each pass, and those of the pass that is shown."""
        record, steps = self._record, self._record["steps"]
        lines = [f"CompiledStep of {record['name']}, on {record['backend']}"]
        lines += [f"{'>' if at == self.step else ' '} {len(step['statements']):4}  {step['name']}"
                  for at, step in enumerate(steps)]
        shown = statements_of(record, self.step)
        rest = len(shown) - MOST_LINES
        lines += [steps[self.step]["sentence"], *[f"    {line}" for line in shown[:MOST_LINES]]]
        return "\n".join([*lines, f"    ... and {rest:,} more"] if rest > 0 else lines)


def statements_of(record: Any, step: int) -> list[str]:
    """Return the statements after a pass, each with its op and the line that it comes from."""
    found = [record["statements"][place] for place in record["steps"][step]["statements"]]
    width = min(max([len(each["code"]) for each in found], default=0), 60)
    return [f"{each['code']:<{width}}  # {each['origin']}" for each in found]
