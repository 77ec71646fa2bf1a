"""What a profiler finds at work is counted under the right kind, and each row over its limit has its profile."""

from __future__ import annotations

import pytest

from benchmarks import page
from benchmarks.profiles import KINDS, kind_of, shares


@pytest.mark.parametrize(("frame", "kind"), [
    ("sgemm_kernel_SKYLAKEX (libscipy_openblas64_-32a4b2a6.so)", "products"),
    ("FLOAT_add_X86_V3 (numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so)", "loops and copies"),
    ("_aligned_strided_to_contig_size4 (numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so)",
     "loops and copies"),
    ("__memmove_avx512_unaligned_erms (libc.so.6)", "loops and copies"),
    ("0x7f279ad8c0ba (libc.so.6)", "loops and copies"),
    ("ufunc_generic_fastcall (numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so)", "NumPy's calls"),
    ("ones (numpy/_core/numeric.py:170)", "NumPy's calls"),
    ("malloc (libc.so.6)", "NumPy's calls"),
    ("run (minigrad/core/engine.py:131)", "Python"),
    ("gc_collect_main (libpython3.11.so.1.0)", "Python"),
])
def test_kinds(frame, kind):
    assert kind_of(frame) == kind


def test_shares_are_of_what_a_worker_did():
    stacks = ["serve (benchmarks/worker.py:94);run (minigrad/core/engine.py:9) 3",
              "serve (benchmarks/worker.py:94);sgemm_kernel (libscipy_openblas64_.so) 1",
              "serve (benchmarks/worker.py:90);readline (codecs.py:319);read (libc.so.6) 50",
              "start (other.py:1) 50"]
    found = shares(stacks)
    assert found["Python"] == 0.75 and found["products"] == 0.25 and list(found) == list(KINDS)


def test_each_row_over_its_limit_has_its_profile():
    rows = page.read("performance")["rows"]
    eager = [row for row in rows if row["threads"] == 1 and row.get("ours", "minigrad") == "minigrad"]
    missed = [row["name"] for row in eager if "torch" in row["times"] and page.over(row)]
    profiled = page.read("profiles")
    assert [row["name"] for row in profiled["rows"]] == missed, "run `python -m benchmarks.profiles`"
    assert all(abs(sum(row["shares"].values()) - 1) < 1e-6 for row in profiled["rows"])
