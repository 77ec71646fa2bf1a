"""Would numba or numexpr pay? `python -m benchmarks.acceleration [--out FILE] [--quick]`.

The two places with most passes over memory, on arrays as lessons have them and larger: gelu (by tanh) with its
derivative, and Adam's rule. NumPy as minigrad does it, beside the same formula compiled by numba (one loop, one thread)
and by numexpr (blocks, one thread); compiling is not timed. A dependency would have to give 1.5 × on a lesson's sizes.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, timed
from minigrad.backends.numpy import XP
from minigrad.ops.activation import GeluTanh

RESULTS = Path(__file__).parent / "results" / "acceleration.json"
TWICE = np.float32(2 * math.sqrt(2 / math.pi))
CUBE = np.float32(0.044715)
GELU = "g * (h + a * (h * (1 - h)) * (1 + 3 * CUBE * (a * a)) * TWICE)"
HALF = "1 / (1 + exp(-a * (1 + CUBE * (a * a)) * TWICE))"
Run = Callable[[], Any]


def gelu_runs(shape: tuple[int, ...]) -> dict[str, Run]:
    """The derivative of gelu, three times."""
    rng = np.random.default_rng(0)
    a, g = (rng.standard_normal(shape, np.float32) for _ in range(2))
    numba, numexpr = importlib.import_module("numba"), importlib.import_module("numexpr")
    numexpr.set_num_threads(1)

    @numba.vectorize([numba.float32(numba.float32, numba.float32)], fastmath=True)
    def compiled(g: Any, a: Any) -> Any:
        h = np.float32(1) / (np.float32(1) + math.exp(-a * (np.float32(1) + CUBE * a * a) * TWICE))
        return g * (h + a * (h * (np.float32(1) - h)) * (np.float32(1) + np.float32(3) * CUBE * a * a) * TWICE)

    names = {"a": a, "g": g, "CUBE": CUBE, "TWICE": TWICE}
    text = GELU.replace("h", f"({HALF})")
    return {"numba": lambda: compiled(g, a), "numexpr": lambda: numexpr.evaluate(text, names),
            "numpy": lambda: GeluTanh.backward(None, XP, g, a)}  # type: ignore[arg-type]  # it asks its node nothing


def adam_runs(shape: tuple[int, ...]) -> dict[str, Run]:
    """Adam's rule: both means, then the step."""
    rng = np.random.default_rng(1)
    start = [abs(rng.standard_normal(shape, np.float32)) for _ in range(4)]  # p, g, m, v
    numba, numexpr = importlib.import_module("numba"), importlib.import_module("numexpr")
    one, two, size, root, eps = map(np.float32, (0.1, 0.001, 1e-3, 0.9, 1e-8))

    @numba.njit(fastmath=True)
    def loop(p: Any, g: Any, m: Any, v: Any) -> None:
        for i in range(p.size):
            m[i] += one * (g[i] - m[i])
            v[i] += two * (g[i] * g[i] - v[i])
            p[i] -= size * m[i] / (math.sqrt(v[i]) / root + eps)

    def compiled(p: Any, g: Any, m: Any, v: Any) -> Any:
        loop(*[each.reshape(-1) for each in (p, g, m, v)])
        return p

    def expressions(p: Any, g: Any, m: Any, v: Any) -> Any:
        names = {"p": p, "g": g, "m": m, "v": v, "one": one, "two": two, "size": size, "root": root, "eps": eps}
        numexpr.evaluate("m + one * (g - m)", names, out=m)
        numexpr.evaluate("v + two * (g * g - v)", names, out=v)
        return numexpr.evaluate("p - size * m / (sqrt(v) / root + eps)", names, out=p)

    def plain(p: Any, g: Any, m: Any, v: Any) -> Any:
        way = g - m
        way *= one
        np.add(m, way, m)
        np.multiply(g, g, way)
        way -= v
        way *= two
        np.add(v, way, v)
        np.sqrt(v, way)
        way /= root
        way += eps
        np.divide(m, way, way)
        way *= size
        return np.subtract(p, way, p)

    return {name: functools.partial(rule, *[each.copy() for each in start])
            for name, rule in (("numba", compiled), ("numexpr", expressions), ("numpy", plain))}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.acceleration", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="the JSON file to write")
    parser.add_argument("--quick", action="store_true", help="next to nothing: to test this file")
    given = parser.parse_args(arguments)
    rows = []
    for name, make in (("derivative of gelu", gelu_runs), ("Adam's rule", adam_runs)):
        for shape in ((32, 128), (128, 256), (1024, 1024)):
            runs = make(shape)
            wanted = runs["numpy"]()
            for run in runs.values():
                np.testing.assert_allclose(run() if run is not runs["numpy"] else wanted, wanted, 1e-4, 1e-5)
            times, ratios = interleaved({key: lambda run=run: timed(lambda: [run() for _ in range(10)])
                                         for key, run in runs.items()}, 2 if given.quick else 31)
            rows.append({"name": f"{name}, {shape[0]} × {shape[1]}", "ratios": ratios,
                         "times": {key: seconds * 1e5 for key, seconds in times.items()}})
            print(f"{rows[-1]['name']:<35}", ", ".join(f"{k} {v:.2f}" for k, v in ratios.items()))
    versions = {name: importlib.import_module(name).__version__ for name in ("numba", "numexpr", "numpy")}
    given.out.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1, ensure_ascii=False) + "\n",
                         encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
