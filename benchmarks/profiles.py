"""Where eager steps spend their time in the rows over their limits: `python -m benchmarks.profiles [--seconds N]`.

py-spy looks a few hundred times a second at a process that runs the row, also into the libraries that are not Python
(`pip install py-spy`). What it finds at work is counted under one of `KINDS`. Writes results/profiles.json, from which
docs/performance.md takes a table. Profile right after measuring, on the same machine.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.page import RESULTS, over, read, write
from benchmarks.rows import Row, rows
from benchmarks.timing import Worker

__all__ = ["KINDS", "kind_of", "profile", "shares"]

KINDS = {  # the first whose pattern is found in what was at work
    "products": r"openblas",
    "loops and copies": r"^(FLOAT|DOUBLE|BOOL|U?(BYTE|SHORT|INT|LONG|LONGLONG))_.*_umath"
                        r"|(contig|strided|cast|assign|pairwise|take|sum_of_products|argmax|memset|memmove|memcpy)"
                        r".*(_umath|libc\.so)|^0x\w+ \(libc\.so|libm\.so|\(\[kernel",
    "NumPy's calls": r"_umath|numpy/|libc\.so",
    "Python": r"",
}


def kind_of(frame: str) -> str:
    """Under what a function is counted; `frame` as py-spy writes it: its name, and its file in brackets."""
    return next(kind for kind, pattern in KINDS.items() if re.search(pattern, frame))


def shares(stacks: Iterable[str]) -> dict[str, float]:
    """The share of each kind in stacks as py-spy writes them: frames from the outermost on, then how often."""
    found: Counter[str] = Counter()
    for line in stacks:
        frames, _, count = line.rpartition(" ")
        if "(benchmarks/" in frames and "readline" not in frames:
            found[kind_of(frames.rpartition(";")[2])] += int(count)
    return {kind: found[kind] / found.total() for kind in KINDS}


def profile(row: Row, seconds: int) -> dict[str, float]:
    """The shares in minigrad's time for a row.

    Raises:
        RuntimeError: if py-spy fails; it may have to run as root.
    """
    spy = shutil.which("py-spy") or str(Path(sys.executable).with_name("py-spy"))
    with tempfile.TemporaryDirectory() as folder, Worker("minigrad") as worker:
        worker.order(workload=row.workload, arguments=row.arguments, times=row.times)
        worker.seconds()
        out = Path(folder, "stacks")
        command = [spy, "record", "--native", "--format", "raw", "--rate", "250", "--duration", str(seconds),
                   "--output", str(out), "--pid", str(worker.process.pid)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as looking:
            while looking.poll() is None:
                worker.seconds()
            said = looking.communicate()[1]
        if looking.returncode:
            raise RuntimeError(f"py-spy has ended with {looking.returncode}: {said}")
        return shares(out.read_text(encoding="utf-8").splitlines())


def main() -> None:
    """Profile, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profiles", description=str(__doc__).splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="how long to look at each row")
    given = parser.parse_args()
    measured: Any = read("performance")
    missed = {row["name"] for row in measured["rows"] if row["threads"] == 1 and over(row)
              and row.get("ours", "minigrad") == "minigrad"}
    found = []
    for row in rows():
        if row.threads == 1 and row.name in missed:
            found.append({"name": row.name, "shares": profile(row, given.seconds)})
            print(row.name, {kind: round(share, 2) for kind, share in found[-1]["shares"].items()}, flush=True)
    about = {"cpu": measured["machine"]["cpu"], "py-spy": importlib.metadata.version("py-spy")}
    RESULTS.with_name("profiles.json").write_text(
        json.dumps({**about, "rows": found}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write()


if __name__ == "__main__":
    main()
