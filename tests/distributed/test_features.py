"""The checks of features.py, in one job of three ranks."""

from __future__ import annotations

import re
from pathlib import Path

from tests.distributed.jobs import HERE, need_mpi, start

need_mpi()


def test_three_ranks_pass_all_checks(tmp_path: Path) -> None:
    done = start(3, "features.py")
    assert done.returncode == 0, done.stdout + done.stderr
    checks = re.findall(r"^@check\ndef (\w+)", (HERE / "features.py").read_text(encoding="utf-8"), re.M)
    assert len(checks) > 10
    assert re.findall(r"passed (\w+) in", done.stdout) == checks
