"""The two scripts of docs/your_own_model.md that a user saves and runs print what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.groups import has_models, require

require("models", has_models(), "the extra `models` is not installed, or PyTorch is missing")

PAGE = (Path(__file__).parents[2] / "docs" / "your_own_model.md").read_text(encoding="utf-8")
SAID = re.compile(r"`(\w+\.py)`:\n\n```python\n(.*?)```.*?```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize(("name", "script", "said"), SAID.findall(PAGE))
def test_a_script_of_the_page(name: str, script: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(script, encoding="utf-8")
    done = subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line.rstrip() for line in done.stdout.splitlines()] == said.splitlines()


def test_the_page_has_both() -> None:
    assert [name for name, _, _ in SAID.findall(PAGE)] == ["gpt2.py", "train.py"]
