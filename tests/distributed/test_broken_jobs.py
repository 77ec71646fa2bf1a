"""A rank that dies, hangs or disagrees ends the job: with one sentence that names it, and nothing is left running."""

from __future__ import annotations

import re
import uuid

import pytest

from tests.distributed.jobs import left_running, need_mpi, start

need_mpi()
HOW = {
    "raises": r"since rank 1 raised KeyError: 'no such key'",
    "ends": r"Rank 1 has left the process group while rank [02] is running all_reduce\(float32 \[2\], SUM\)",
    "dies": r"since rank 1 was ended by signal 9 \(SIGKILL\)",
    "hangs": r"Timed out after 15 s: rank [02] is running all_reduce\(float32 \[2\], SUM\); rank 1 has not called it",
    "order": r"is running collective: broadcast\(float32 \[2\], src=0\)",
    "shape": r"is running collective: all_reduce\(float32 \[3\], SUM\)",
    "dtype": r"is running collective: all_reduce\(float64 \[2\], SUM\)",
    "graph": r"Timed out after 15 s: rank [02] is running all_reduce\(float32 \[12\], SUM\) for bucket 0: "
             r"first.weight, first.bias, second.weight, second.bias; rank 1 has not called it",
}


@pytest.mark.parametrize("how", HOW)
def test_ends_with_a_sentence_and_leaves_nothing(how: str) -> None:
    mark = uuid.uuid4().hex
    done = start(3, "broken.py", how, mark)
    said = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1, done.stdout + done.stderr
    assert said.startswith("minigrad run: all ranks were ended, since rank "), done.stdout + done.stderr
    assert re.search(HOW[how], said), done.stdout + done.stderr
    assert left_running(mark) == []  # though rank 1 would sleep for 1,000 s
