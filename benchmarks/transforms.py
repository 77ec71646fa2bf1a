"""Functions of functions, written once for minigrad and PyTorch: gradients for each example, and a Hessian.

`python -m benchmarks.transforms` prints what each takes, in turns in one process.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import drawn
from benchmarks.timing import interleaved, timed
from benchmarks.training import cnn_model, filled

__all__ = ["TRANSFORMS", "per_example"]

Run = Callable[[], Sequence[Any]]
HIDDEN = 16  # units of the MLP


def per_example(library: Any, batch: int, side: int, loop: bool = False) -> Run:
    """The gradients of a CNN's loss by its parameters for each picture, by `vmap(grad(f))` or by a loop."""
    func, cross_entropy = importlib.import_module(f"{library.__name__}.func"), library.nn.functional.cross_entropy
    x, y, arrays = drawn.cnn(batch, side)
    model, x, y = filled(library, cnn_model(library, side), arrays), library.tensor(x), library.tensor(y)
    parameters = {name: each.detach() for name, each in model.named_parameters()}

    def loss(parameters: Any, picture: Any, answer: Any) -> Any:
        return cross_entropy(func.functional_call(model, parameters, (picture[None],)), answer[None])

    if not loop:
        of_all = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
        return lambda: list(of_all(parameters, x, y).values())
    of_one = func.grad(loss)

    def run() -> Sequence[Any]:
        found = [of_one(parameters, x[i], y[i]) for i in range(batch)]
        return [library.stack([each[name] for each in found]) for name in parameters]

    return run


def hessian(library: Any, batch: int, inputs: int) -> Run:
    """The second derivatives of an MLP's loss by all pairs of its parameters: two layers with tanh between them."""
    func, linear = importlib.import_module(f"{library.__name__}.func"), library.nn.functional.linear
    x, y = library.tensor(drawn.rows(batch, inputs)), library.tensor(drawn.rows(batch, 1, seed=2))
    shapes = [(HIDDEN, inputs), (HIDDEN,), (1, HIDDEN), (1,)]
    parameters = [library.tensor(each) for each in drawn.weights(shapes)]

    def loss(*p: Any) -> Any:
        return ((linear(linear(x, p[0], p[1]).tanh(), p[2], p[3]) - y) ** 2).mean()

    of_all = func.hessian(loss, tuple(range(len(parameters))))
    return lambda: [part for row in of_all(*parameters) for part in row]


TRANSFORMS: dict[str, Callable[..., Run]] = {
    "per-example gradients": per_example, "loop of gradients": functools.partial(per_example, loop=True),
    "hessian": hessian}


def main() -> None:
    """Print the milliseconds of both, and the ratio."""
    libraries = [importlib.import_module(name) for name in ("minigrad", "torch")]
    libraries[1].set_num_threads(1)
    for name, sizes in (("per-example gradients", {"batch": 64, "side": 8}), ("hessian", {"batch": 32, "inputs": 8}),
                        ("loop of gradients", {"batch": 64, "side": 8})):
        runs = {each.__name__: functools.partial(timed, TRANSFORMS[name](each, **sizes)) for each in libraries}
        medians, ratios = interleaved(runs, 20)
        print(f"{name:<22}", *[f"{key} {1e3 * seconds:.3g} ms" for key, seconds in medians.items()],
              f"ratio {ratios['minigrad']:.2f}")


if __name__ == "__main__":
    main()
