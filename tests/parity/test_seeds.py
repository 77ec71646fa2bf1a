"""The code of the questions that the kit answers: the same text with `import torch` and `import minigrad as torch`.

What a snippet prints, the warnings that it gives and the error that it ends in are equal.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

from tests.parity.runner import difference

pytestmark = pytest.mark.torch
SNIPPETS = Path(__file__).parent / "seeds"


def with_minigrad(source):
    """The text with minigrad in PyTorch's place, as a reader would change it."""
    source = re.sub(r"^import torch$", "import minigrad as torch", source, flags=re.M)
    return re.sub(r"^(import|from) torch\b", r"\1 minigrad", source, flags=re.M)


def run(source):
    """What a program shows: its output, its warnings, and the error that ended it."""
    out, ended = io.StringIO(), ""
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minigrad\.")  # as minigrad does itself
        try:
            exec(compile(source, "snippet", "exec"), {"__name__": "__main__"})
        except Exception as error:  # noqa: BLE001 (whichever it is, it is compared)
            ended = f"{type(error).__name__}: {error}"
    said = [f"{w.category.__name__}: {w.message}".split(" (Triggered")[0] for w in warned]  # in PyTorch's own source
    return [re.sub(r"0x[0-9a-f]+", "0x", text) for text in (out.getvalue(), "\n".join(said), ended)]


@pytest.mark.parametrize("source", [
    pytest.param("import torch\ntorch.manual_seed(0)\n" + path.read_text(), id=path.stem)
    for path in sorted(SNIPPETS.glob("*.py"))])
def test_minigrad_shows_what_pytorch_shows(torch, source):
    mine, reference = run(with_minigrad(source)), run(source)
    assert difference(reference[0], mine[0]) == ""
    assert mine[1] == reference[1]
    assert mine[2] == reference[2] or reference[2] and mine[2].startswith(reference[2] + "\n\n")  # and a word of ours
    assert any(reference), "a snippet shows something"


def test_minigrad_stands_in_for_every_import():
    before = "import torch\nimport torch.nn as nn\nfrom torch.autograd import Function\nx = torch.nn"
    after = "import minigrad as torch\nimport minigrad.nn as nn\nfrom minigrad.autograd import Function\nx = torch.nn"
    assert with_minigrad(before) == after
