"""The second corpus: faults planted by a program in the healthy ones, wherever they fit.

A mutation changes the text of a program at one line, and says which line must be named. Where a model's own code is to
be changed, `NETWORK` gives one with many layers.
"""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.widgets.doctor.corpus_runs import HEALTHY, Planted

__all__ = ["MUTANTS", "compiled"]

NETWORK = '''
def program(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.l0 = nn.Linear(8, 12)
            self.l1 = nn.Linear(12, 12)
            self.l2 = nn.Linear(12, 12)
            self.l3 = nn.Linear(12, 12)
            self.last = nn.Linear(12, 3)

        def forward(self, x):
            h = torch.tanh(self.l0(x))
            h = torch.tanh(self.l1(h))
            h = torch.tanh(self.l2(h))
            h = torch.tanh(self.l3(h))
            return self.last(h)

    model = Net()
    x, y = torch.randn(16, 8), torch.arange(16) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}
'''.lstrip()
# In the network: the rule, a line to look for, and what stands in its place; the line that ends in a mark is the fault.
IN_NETWORK = [
    ("cut-graph", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = torch.tanh(self.\1(\2)).detach()  # <-"),
    ("cut-graph", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = torch.tanh(self.\1(\2).data)  # <-"),
    ("cut-graph", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", "with torch.no_grad():  # <-\n"
     r"                h = torch.tanh(self.\1(\2))"),
    ("cut-graph", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = (self.\1(\2) > 0).float()  # <-"),
    ("inplace-on-saved", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)",
     "h = torch.tanh(self.\\1(\\2))\n            h *= 0.9  # <-"),
    ("nan-forward", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = torch.tanh(self.\1(\2) / (\2.sum() * 0))  # <-"),
    ("nan-backward", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = torch.relu(self.\1(\2) - 9) ** 0.5  # <-"),
    ("saturated", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = torch.tanh(self.\1(\2) * 1e4)  # <-"),
    ("dead-relu", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)", r"h = torch.relu(self.\1(\2) - 20.0)  # <-"),
    ("unused-parameter", r"self\.(l\d) = nn\.Linear\((\d+), 12\)",
     "self.\\1 = nn.Linear(\\2, 12)\n            self.other_\\1 = nn.Linear(5, 5)  # <-"),
    ("inplace-on-leaf", r"h = torch\.tanh\(self\.(l\d)\((\w)\)\)",
     "self.\\1.weight.mul_(0.9)  # <-\n            h = torch.tanh(self.\\1(\\2))"),
]
# In the usual steps of the other healthy programs.
IN_STEPS = [
    ("grad-accumulates", r"^ +\w*optimi[sz]er(_\w)?\.zero_grad\(\)\n((?:.*\n)*? +loss\.backward\(\))", r"\2  # <-"),
    ("kept-graph", r"loss\.backward\(\)(?=\n)", r"loss.backward(retain_graph=True)  # <-"),
    ("wrong-order", r"( +)loss\.backward\(\)\n +optimizer\.step\(\)",
     r"\1optimizer.step()  # <-" "\n" r"\1loss.backward()"),
    ("second-backward", r"( +)loss\.backward\(\)(?=\n)", r"\1loss.backward()" "\n" r"\1loss.backward()  # <-"),
    ("no-graph-loss", r"( +)loss\.backward\(\)(?=\n)", r"\1loss = loss.detach()  # <-" "\n" r"\1loss.backward()"),
    ("wrong-order", r"( +)loss\.backward\(\)\n( +)optimizer\.step\(\)",
     r"\1loss.backward()" "\n" r"\1optimizer.zero_grad()  # <-" "\n" r"\2optimizer.step()"),
]


def mutants() -> Iterator[Planted]:
    """The programs with a fault."""
    for rule, pattern, replacement in IN_NETWORK:
        for place, match in enumerate(re.finditer(pattern, NETWORK)):
            yield compiled(f"network {place}", rule, changed(NETWORK, match, replacement), {})
    for healthy in HEALTHY:
        text = inspect.getsource(healthy.program)
        for number, (rule, pattern, replacement) in enumerate(IN_STEPS):
            matches = list(re.finditer(pattern, text, re.MULTILINE))
            if len(matches) == 1 and fits(rule, text):
                changed_text = changed(text, matches[0], replacement)
                yield compiled(f"{healthy.name} {number}", rule, changed_text, vars(inspect.getmodule(healthy.program)))


def fits(rule: str, text: str) -> bool:
    """Whether a fault is one in this program: not where gradients are accumulated, or nothing is updated."""
    once = text.count(".backward(") == 1 and "calls[0]" not in text and "zero_grad" in text
    if rule == "wrong-order" and "set_to_none=False" in text:  # gradients of 0 are there: an update in between raises
        return False
    return once and "autograd.grad" not in text and ("optimizer.step()" in text or rule == "kept-graph")


def changed(text: str, match: re.Match[str], replacement: str) -> str:
    """A text with one match replaced."""
    return text[:match.start()] + match.expand(replacement) + text[match.end():]


def compiled(name: str, rule: str, text: str, names: dict[str, Any], file: str | None = None) -> Planted:
    """A program of this text, whose lines can be shown, in a file of that name."""
    file = file or f"mutant {rule} {name}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    made = dict(names)
    exec(compile(text, file, "exec"), made)
    function: Callable[[Any], Any] = made[re.search(r"def (\w+)", text).group(1)]  # type: ignore[union-attr]  # there is one
    lines = tuple(i for i, line in enumerate(text.splitlines(), 1) if line.rstrip().endswith("# <-"))
    return Planted(f"{rule}: {name}", function, rule, lines)


MUTANTS = list(mutants())
