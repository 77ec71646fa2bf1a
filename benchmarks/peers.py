"""The same work in other libraries, as far as they can do it: MyGrad, HIPS autograd, micrograd, tinygrad, JAX.

Each has a table of workloads. A library that is not installed, or cannot run here, is left out.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import drawn
from benchmarks.training import WARM

__all__ = ["PEERS"]

Run = Callable[[], Sequence[Any]]
Table = dict[str, Callable[..., Run]]
RATE = 0.01


def constants(shape: Sequence[int]) -> list[Any]:
    """The two operands of a single op."""
    return [np.full(tuple(shape), value, np.float32) for value in (0.5, 0.25)]


def repeated(do: Callable[[], Any], times: int) -> Any:
    """One thing many times over, giving its last result."""

    def run() -> Sequence[Any]:
        for _ in range(times):
            result = do()
        return [result]

    return run


def chained(start: Callable[[], tuple[Any, Any, Any]], tanh: Callable[[Any], Any], length: int,
            finish: Callable[[Any, Sequence[Any]], Sequence[Any]]) -> Run:
    """The chain of small ops, for libraries that record as they go."""

    def run() -> Sequence[Any]:
        x0, w, b = leaves = start()
        x = x0
        for _ in range(length // 3):
            x = x * w
            x = x + b
            x = tanh(x)
        x.backward()
        return finish(x, leaves)

    return run


def mygrad() -> Table:
    """MyGrad: NumPy with a tape."""
    mg = importlib.import_module("mygrad")
    losses = importlib.import_module("mygrad.nnet.losses")
    layers = importlib.import_module("mygrad.nnet.layers")

    def one_op(op: str, shape: Sequence[int], times: int) -> Run:
        a, b = map(mg.tensor, constants(shape))
        return repeated({"add": lambda: a + b, "mul": lambda: a * b, "matmul": lambda: mg.matmul(a, b),
                         "relu": lambda: mg.maximum(a, 0), "sum": lambda: mg.sum(a)}[op], times)

    def chain(length: int) -> Run:
        return chained(lambda: tuple(mg.tensor(np.float32(v)) for v in (0.5, 1.0, 1e-6)), mg.tanh, length,
                       lambda x, leaves: [x, *[leaf.grad for leaf in leaves]])

    def learner(forward: Callable[..., Any], x: Any, y: Any, arrays: Sequence[Any]) -> Run:
        p = [mg.tensor(w) for w in arrays]

        def run() -> Sequence[Any]:
            loss = losses.softmax_crossentropy(forward(x, p), y)
            loss.backward()
            found = [loss, *[w.grad for w in p]]
            for w in p:
                w.data[...] -= np.float32(RATE) * w.grad
                w.null_grad()
            return found

        return run

    def cnn_forward(x: Any, p: Sequence[Any]) -> Any:
        for w, b in ((p[0], p[1]), (p[2], p[3])):
            x = layers.conv_nd(x, w, stride=1, padding=1) + mg.reshape(b, (1, -1, 1, 1))
            x = layers.max_pool(mg.maximum(x, 0), (2, 2), 2)
        return mg.matmul(mg.reshape(x, (len(x), -1)), mg.transpose(p[4])) + p[5]

    def mlp(batch: int) -> Run:
        return learner(functools.partial(layered, lambda x, w: mg.matmul(x, mg.transpose(w)),
                                         lambda x: mg.maximum(x, 0)), *drawn.mlp(batch))

    return {"one op": one_op, "chain": chain, "mlp": mlp,
            "cnn": lambda batch, side: learner(cnn_forward, *drawn.cnn(batch, side))}


def layered(product: Callable[[Any, Any], Any], relu: Callable[[Any], Any], x: Any, p: Sequence[Any]) -> Any:
    """The MLP's forward pass."""
    for i in range(0, len(p), 2):
        x = product(x, p[i]) + p[i + 1]
        x = relu(x) if i + 2 < len(p) else x
    return x


def mean_loss(xp: Any, z: Any, y: Any) -> Any:
    """Cross-entropy, in words that HIPS autograd and JAX share."""
    z = z - xp.max(z, axis=1, keepdims=True)
    return xp.mean(xp.log(xp.sum(xp.exp(z), axis=1)) - z[np.arange(len(y)), y])


def mlp_loss(xp: Any, p: Sequence[Any], x: Any, y: Any) -> Any:
    """The MLP's loss."""
    return mean_loss(xp, layered(lambda a, w: xp.dot(a, w.T), lambda a: xp.maximum(a, 0), x, p), y)


def normal(xp: Any, x: Any, w: Any, b: Any) -> Any:
    """A normalisation of the last dimension."""
    x = x - xp.mean(x, axis=-1, keepdims=True)
    return x / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-5)) * w + b


def block(xp: Any, x: Any, p: Sequence[Any]) -> Any:
    """A transformer block."""
    batch, length, width = x.shape
    split = xp.dot(normal(xp, x, p[0], p[1]), p[2].T) + p[3]
    q, k, v = xp.transpose(xp.reshape(split, (batch, length, 3, drawn.HEADS, -1)), (2, 0, 3, 1, 4))
    share = xp.matmul(q, xp.swapaxes(k, -2, -1)) / np.float32(math.sqrt(width // drawn.HEADS))
    share = xp.exp(share - xp.max(share, axis=-1, keepdims=True))
    share = share / xp.sum(share, axis=-1, keepdims=True)
    x = x + xp.dot(xp.reshape(xp.swapaxes(xp.matmul(share, v), 1, 2), (batch, length, width)), p[4].T) + p[5]
    h = xp.dot(normal(xp, x, p[6], p[7]), p[8].T) + p[9]
    root, cube = np.float32(math.sqrt(2 / math.pi)), np.float32(0.044715)
    return x + xp.dot(np.float32(0.5) * h * (1 + xp.tanh(root * (h + cube * h * h * h))), p[10].T) + p[11]


def transformer_loss(xp: Any, p: Sequence[Any], x: Any, factor: Any) -> Any:
    """Blocks, one above the other."""
    for start in range(0, len(p), 12):
        x = block(xp, x, p[start:start + 12])
    return xp.mean(x * factor)


def hips_learner(loss: Callable[..., Any], x: Any, y: Any, p: list[Any], rate: float) -> Run:
    """A step of SGD with HIPS autograd."""
    both, anp = importlib.import_module("autograd").value_and_grad(loss, 1), importlib.import_module("autograd.numpy")

    def run() -> Sequence[Any]:
        value, grads = both(anp, p, x, y)
        for w, g in zip(p, grads):
            w -= np.float32(rate) * g
        return [value, *grads]

    return run


def autograd() -> Table:
    """HIPS autograd: functions of arrays, traced at each call."""
    anp = importlib.import_module("autograd.numpy")
    vjp = importlib.import_module("autograd.core").make_vjp

    def one_op(op: str, shape: Sequence[int], times: int) -> Run:
        operands = constants(shape)
        do = {"add": lambda ab: ab[0] + ab[1], "mul": lambda ab: ab[0] * ab[1],
              "matmul": lambda ab: anp.dot(ab[0], ab[1]), "relu": lambda ab: anp.maximum(ab[0], 0),
              "sum": lambda ab: anp.sum(ab[0])}[op]
        start = importlib.import_module("autograd.tracer")
        node = importlib.import_module("autograd.core").VJPNode
        with start.trace_stack.new_trace() as level:  # one trace, in which the op is done again and again
            boxes = [start.new_box(a, level, node.new_root()) for a in operands]
            do(boxes)
            return repeated(lambda: do(boxes)._value, times)

    def chain(length: int) -> Run:
        def forward(leaves: Any) -> Any:
            x, w, b = leaves
            for _ in range(length // 3):
                x = anp.tanh(x * w + b)
            return x

        def run() -> Sequence[Any]:
            backward, x = vjp(forward, tuple(np.float32(v) for v in (0.5, 1.0, 1e-6)))
            return [x, *backward(np.float32(1))]

        return run

    return {"one op": one_op, "chain": chain, "mlp": lambda batch: hips_learner(mlp_loss, *drawn.mlp(batch), RATE),
            "transformer": lambda batch, blocks: hips_learner(transformer_loss, *drawn.transformer(batch, blocks), 0)}


def micrograd() -> Table:
    """micrograd: one number at a time, in pure Python."""
    value = importlib.import_module("micrograd.engine").Value

    def one_op(op: str, shape: Sequence[int], times: int) -> Run:
        if shape or op not in ("add", "mul", "relu"):
            raise NotImplementedError(f"{op} of {shape}")
        a, b = value(0.5), value(0.25)
        run = repeated({"add": lambda: a + b, "mul": lambda: a * b, "relu": a.relu}[op], times)
        return lambda: [run()[0].data]

    return {"one op": one_op}


def jax_cnn_loss(xp: Any, p: Sequence[Any], x: Any, y: Any) -> Any:
    """The CNN's loss, in JAX's words."""
    lax = importlib.import_module("jax").lax
    for w, b in ((p[0], p[1]), (p[2], p[3])):
        x = xp.maximum(lax.conv(x, w, (1, 1), "SAME") + b[:, None, None], 0)
        x = lax.reduce_window(x, -xp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return mean_loss(xp, xp.dot(x.reshape(len(x), -1), p[4].T) + p[5], y)


def warmed(make: Callable[..., Run], *arguments: Any, **options: Any) -> Run:
    """A step after as many calls as the others make before they are timed."""
    run = make(*arguments, **options)
    for _ in range(WARM):
        run()
    return run


def jax(compiled: bool) -> Table:
    """JAX, eager or compiled."""
    library = importlib.import_module("jax")
    jnp = library.numpy
    make = library.jit if compiled else lambda f: f

    def one_op(op: str, shape: Sequence[int], times: int) -> Run:
        a, b = map(jnp.asarray, constants(shape))
        f = {"add": jnp.add, "mul": jnp.multiply, "matmul": jnp.matmul, "relu": lambda a, b: jnp.maximum(a, 0),
             "sum": lambda a, b: jnp.sum(a)}[op]
        part = 20  # it takes so long that a part of the turns will do
        run = repeated(lambda: library.vjp(f, a, b)[0].block_until_ready(), max(1, times // part))
        run.part = times / max(1, times // part)
        return run

    def learner(loss: Callable[..., Any], x: Any, y: Any, arrays: Sequence[Any], rate: float) -> Run:
        p, x, y = [jnp.asarray(w) for w in arrays], jnp.asarray(x), jnp.asarray(y)
        both = library.value_and_grad(functools.partial(loss, jnp))

        def step(p: Any, x: Any, y: Any) -> Any:
            value, grads = both(p, x, y)
            return value, grads, [w - rate * g for w, g in zip(p, grads)]

        step = make(step)

        def run() -> Sequence[Any]:
            nonlocal p
            value, grads, p = library.block_until_ready(step(p, x, y))
            return [value, *grads]

        return run

    table = {"mlp": lambda batch: learner(mlp_loss, *drawn.mlp(batch), RATE),
             "cnn": lambda batch, side: learner(jax_cnn_loss, *drawn.cnn(batch, side), RATE),
             "transformer": lambda batch, blocks: learner(transformer_loss, *drawn.transformer(batch, blocks), 0.0)}
    if compiled:
        return table | {f"{name}, new inputs": functools.partial(warmed, make) for name, make in table.items()}
    return {"one op": one_op, **table}


def tinygrad() -> Table:
    """tinygrad, its step of training compiled once and replayed (TinyJit)."""
    tg = importlib.import_module("tinygrad")
    tg.Tensor([1.0]).sum().item()  # an error here where it has no compiler

    def mlp(batch: int) -> Run:
        x, y, arrays = drawn.mlp(batch)
        images, answers = tg.Tensor(x), tg.Tensor(y.astype(np.int32))
        p = [tg.Tensor(w) for w in arrays]
        for w in p:
            w.requires_grad = True

        @tg.TinyJit  # type: ignore[untyped-decorator]  # tinygrad may be missing: all of it is Any then
        def step() -> Any:
            for w in p:
                w.grad = None
            z = layered(lambda a, w: a.matmul(w.transpose()), lambda a: a.relu(), images, p)
            loss = z.sparse_categorical_crossentropy(answers)
            loss.backward()
            grads = [w.grad.realize() for w in p]
            for w, g in zip(p, grads):
                w.assign(w - RATE * g).realize()
            return loss.realize(), *grads

        first = [each.numpy() for each in step()]
        step(), step()  # TinyJit compiles on the second call
        results = iter([first])

        def run() -> Sequence[Any]:
            found = step()
            value = found[0].numpy()
            return next(results, [value])

        return run

    return {"mlp": mlp}


PEERS: dict[str, Callable[[], Table]] = {
    "mygrad": mygrad, "autograd": autograd, "micrograd": micrograd, "tinygrad": tinygrad,
    "jax": functools.partial(jax, False), "jax-jit": functools.partial(jax, True),
}
