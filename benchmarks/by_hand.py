"""The same work in NumPy alone, its derivatives written by hand, as by somebody who knows both.

No graph, no dispatch: what is left is arithmetic. Nothing is reused from one step to the next but the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks import drawn

__all__ = ["BY_HAND"]

Run = Callable[[], Sequence[Any]]
CUBE, ROOT = np.float32(0.044715), np.float32(math.sqrt(2 / math.pi))  # of gelu by tanh


def one_op(op: str, shape: Sequence[int], times: int) -> Run:
    """The op alone, on arrays."""
    a, b = (np.full(tuple(shape), value, np.float32) for value in (0.5, 0.25))
    do = {"add": lambda: a + b, "mul": lambda: a * b, "matmul": lambda: a @ b, "relu": lambda: np.maximum(a, 0),
          "sum": lambda: a.sum()}[op]

    def run() -> Sequence[Any]:
        for _ in range(times):
            result = do()
        return [result]

    return run


def cross_entropy(z: Any, y: Any) -> tuple[Any, Any]:
    """The mean loss, and its gradient."""
    at = np.arange(len(y))
    z = z - z.max(1, keepdims=True)
    e = np.exp(z)
    total = e.sum(1, keepdims=True)
    loss = (np.log(total[:, 0]) - z[at, y]).mean()
    e /= total
    e[at, y] -= 1
    e /= np.float32(len(y))
    return loss, e


def learner(weights: Sequence[Any], gradients: Callable[[], tuple[Any, list[Any]]]) -> Run:
    """A step of training by SGD."""
    rate = np.float32(0.01)

    def run() -> Sequence[Any]:
        loss, grads = gradients()
        for w, g in zip(weights, grads, strict=True):
            w -= rate * g
        return [loss, *grads]

    return run


def mlp(batch: int) -> Run:
    """784-256-128-10 with relu."""
    x, y, weights = drawn.mlp(batch)
    w1, b1, w2, b2, w3, b3 = weights

    def gradients() -> tuple[Any, list[Any]]:
        h1 = x @ w1.T
        h1 += b1
        np.maximum(h1, 0, out=h1)
        h2 = h1 @ w2.T
        h2 += b2
        np.maximum(h2, 0, out=h2)
        loss, g3 = cross_entropy(h2 @ w3.T + b3, y)
        g2 = g3 @ w3
        g2 *= h2 > 0
        g1 = g2 @ w2
        g1 *= h1 > 0
        return loss, [g1.T @ x, g1.sum(0), g2.T @ h1, g2.sum(0), g3.T @ h2, g3.sum(0)]

    return learner(weights, gradients)


def columns(x: Any) -> Any:
    """The windows of 3 × 3, around each place, as (channels * 9, batch * places)."""
    n, c, h, w = x.shape
    padded = np.zeros((c, h + 2, w + 2, n), x.dtype)
    padded[:, 1:-1, 1:-1] = x.transpose(1, 2, 3, 0)
    cols = sliding_window_view(padded, (3, 3), (1, 2)).transpose(0, 4, 5, 1, 2, 3)
    return cols.reshape(c * 9, h * w * n)


def conv(x: Any, w: Any) -> tuple[Any, Any]:
    """A convolution with padding 1, and the columns that its derivative needs."""
    n, _, height, width = x.shape
    cols = columns(x)
    y = (w.reshape(len(w), -1) @ cols).reshape(len(w), height, width, n)
    return y.transpose(3, 0, 1, 2), cols


def conv_back(g: Any, cols: Any, w: Any, for_input: bool) -> tuple[Any, Any]:
    """What goes back to the weights and to the input: again a convolution, by turned weights."""
    rows = g.transpose(1, 2, 3, 0).reshape(len(w), -1)
    back = conv(g, w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3))[0] if for_input else None
    return (rows @ cols.T).reshape(w.shape), back


def pool(x: Any) -> tuple[Any, Any]:
    """The maxima of 2 × 2, and where they stand: the first one counts."""
    n, c, h, w = x.shape
    parts = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(3, 5, 0, 1, 2, 4).reshape(4, n, c, h // 2, w // 2)
    y = np.maximum(np.maximum(parts[0], parts[1]), np.maximum(parts[2], parts[3]))
    return y, parts == y


def pool_back(g: Any, where: Any) -> Any:
    """The gradient at the first maximum of each four."""
    taken = np.zeros(g.shape, bool)
    n, c, h, w = g.shape
    back = np.empty((n, c, h, 2, w, 2), g.dtype)
    for i, mask in enumerate(where):
        back[:, :, :, i // 2, :, i % 2] = g * (mask & ~taken)
        taken |= mask
    return back.reshape(n, c, 2 * h, 2 * w)


def cnn(batch: int, side: int) -> Run:
    """Two convolutions with relu and pool, and a linear layer."""
    x, y, weights = drawn.cnn(batch, side)
    w1, b1, w2, b2, w3, b3 = weights

    def gradients() -> tuple[Any, list[Any]]:
        z1, cols1 = conv(x, w1)
        z1 += b1[:, None, None]
        np.maximum(z1, 0, out=z1)
        p1, where1 = pool(z1)
        z2, cols2 = conv(p1, w2)
        z2 += b2[:, None, None]
        np.maximum(z2, 0, out=z2)
        p2, where2 = pool(z2)
        flat = p2.reshape(batch, -1)
        loss, g3 = cross_entropy(flat @ w3.T + b3, y)
        g2 = pool_back((g3 @ w3).reshape(p2.shape), where2)
        g2 *= z2 > 0
        gw2, g = conv_back(g2, cols2, w2, True)
        g1 = pool_back(g, where1)
        g1 *= z1 > 0
        gw1, _ = conv_back(g1, cols1, w1, False)
        return loss, [gw1, g1.sum((0, 2, 3)), gw2, g2.sum((0, 2, 3)), g3.T @ flat, g3.sum(0)]

    return learner(weights, gradients)


def normal(x: Any, w: Any, b: Any) -> tuple[Any, Any]:
    """A normalisation of the last dimension, and what its derivative needs."""
    y = x - x.mean(-1, keepdims=True)
    scale = 1 / np.sqrt((y * y).mean(-1, keepdims=True) + np.float32(1e-5))
    y *= scale
    return y * w + b, (y, scale, w)


def normal_back(g: Any, kept: Any) -> tuple[Any, Any, Any]:
    """What goes back to input, weights and bias."""
    y, scale, w = kept
    inner = g * w
    back = inner - inner.mean(-1, keepdims=True)
    back -= y * (inner * y).mean(-1, keepdims=True)
    back *= scale
    return back, np.einsum("ij,ij->j", g.reshape(-1, g.shape[-1]), y.reshape(-1, g.shape[-1])), summed(g)


def summed(g: Any) -> Any:
    """The sum over all but the last dimension."""
    return g.reshape(-1, g.shape[-1]).sum(0)


def linear_back(g: Any, x: Any, w: Any) -> tuple[Any, Any, Any]:
    """What goes back to input, weights and bias of x @ w.T + b."""
    return g @ w, g.reshape(-1, g.shape[-1]).T @ x.reshape(-1, x.shape[-1]), summed(g)


def attention(x: Any, p: Sequence[Any]) -> tuple[Any, Any]:
    """Self-attention, and what its derivative needs."""
    batch, length, width = x.shape
    split = (x @ p[0].T + p[1]).reshape(batch, length, 3, drawn.HEADS, -1).transpose(2, 0, 3, 1, 4)
    q, k, v = split
    share = q @ k.swapaxes(-2, -1)
    share /= np.float32(math.sqrt(width // drawn.HEADS))
    share -= share.max(-1, keepdims=True)
    np.exp(share, out=share)
    share /= share.sum(-1, keepdims=True)
    seen = (share @ v).swapaxes(1, 2).reshape(batch, length, width)
    return seen @ p[2].T + p[3], (x, q, k, v, share, seen)


def attention_back(g: Any, kept: Any, p: Sequence[Any]) -> tuple[Any, list[Any]]:
    """What goes back to the input, and to the four parameters."""
    x, q, k, v, share, seen = kept
    batch, length, width = x.shape
    g_seen, gw, gb = linear_back(g, seen, p[2])
    g_seen = g_seen.reshape(batch, length, drawn.HEADS, -1).swapaxes(1, 2)
    back = np.empty((3, *q.shape), x.dtype)
    np.matmul(share.swapaxes(-2, -1), g_seen, out=back[2])
    inner = g_seen @ v.swapaxes(-2, -1)
    inner *= share
    inner -= share * inner.sum(-1, keepdims=True)
    inner /= np.float32(math.sqrt(width // drawn.HEADS))
    np.matmul(inner, k, out=back[0])
    np.matmul(inner.swapaxes(-2, -1), q, out=back[1])
    gx, gw_in, gb_in = linear_back(back.transpose(1, 3, 0, 2, 4).reshape(batch, length, -1), x, p[0])
    return gx, [gw_in, gb_in, gw, gb]


def gelu(x: Any) -> tuple[Any, Any]:
    """gelu by tanh, and the tanh."""
    t = np.tanh(ROOT * (x + CUBE * (x * x * x)))
    return (x * (1 + t)) * np.float32(0.5), t


def gelu_back(g: Any, x: Any, t: Any) -> Any:
    """What goes back to the input."""
    slope = (1 - t * t) * x
    slope *= ROOT * (1 + 3 * CUBE * (x * x))
    slope += 1 + t
    slope *= np.float32(0.5)
    slope *= g
    return slope


def block(x: Any, p: Sequence[Any]) -> tuple[Any, Any]:
    """A transformer block, and what its derivative needs."""
    normal1, kept1 = normal(x, p[0], p[1])
    seen, kept2 = attention(normal1, p[2:6])
    x = x + seen
    normal2, kept3 = normal(x, p[6], p[7])
    h = normal2 @ p[8].T + p[9]
    act, t = gelu(h)
    return x + act @ p[10].T + p[11], (kept1, kept2, kept3, normal2, h, act, t)


def block_back(g: Any, kept: Any, p: Sequence[Any]) -> tuple[Any, list[Any]]:
    """What goes back to the input, and to the twelve parameters."""
    kept1, kept2, kept3, normal2, h, act, t = kept
    g_act, gw2, gb2 = linear_back(g, act, p[10])
    g_normal2, gw1, gb1 = linear_back(gelu_back(g_act, h, t), normal2, p[8])
    back, g_scale2, g_shift2 = normal_back(g_normal2, kept3)
    g = g + back
    g_normal1, inner = attention_back(g, kept2, p[2:6])
    back, g_scale1, g_shift1 = normal_back(g_normal1, kept1)
    return g + back, [g_scale1, g_shift1, *inner, g_scale2, g_shift2, gw1, gb1, gw2, gb2]


def transformer(batch: int, blocks: int) -> Run:
    """Transformer blocks, one above the other, forward and backward."""
    x, factor, p = drawn.transformer(batch, blocks)
    parts = [p[start:start + 12] for start in range(0, len(p), 12)]

    def run() -> Sequence[Any]:
        h, kept = x, []
        for part in parts:
            h, found = block(h, part)
            kept.append(found)
        g, grads = factor / np.float32(factor.size), []
        for part, found in zip(reversed(parts), reversed(kept)):
            g, mine = block_back(g, found, part)
            grads = mine + grads
        return [(h * factor).mean(), *grads]

    return run


def optimizer(rule: str, count: int) -> Run:
    """Steps of an optimiser over `count` parameters of 64 × 64 with given gradients."""
    p = [drawn.rows(64, 64, seed=i) for i in range(count)]
    grads = [drawn.rows(64, 64, seed=i + count) for i in range(count)]
    first, second = [np.zeros_like(w) for w in p], [np.zeros_like(w) for w in p]
    rate, steps = np.float32(1e-3), 0

    def sgd() -> Sequence[Any]:
        for w, g, v in zip(p, grads, first):
            v *= np.float32(0.9)
            v += g
            w -= rate * v
        return [p[0], p[-1]]

    def adam() -> Sequence[Any]:
        nonlocal steps
        steps += 1
        size, root = np.float32(1e-3 / (1 - 0.9 ** steps)), np.float32(math.sqrt(1 - 0.999 ** steps))
        for w, g, m, v in zip(p, grads, first, second):
            m += np.float32(0.1) * (g - m)
            v *= np.float32(0.999)
            v += np.float32(0.001) * (g * g)
            w -= size * (m / (np.sqrt(v) / root + np.float32(1e-8)))
        return [p[0], p[-1]]

    return {"SGD": sgd, "Adam": adam}[rule]


def layer_norm(batch: int) -> Run:
    """One normalisation, forward and backward, of (batch, 64, 64)."""
    x, w, b = drawn.rows(batch, 64, 64), drawn.rows(64, seed=5), drawn.rows(64, seed=6)
    g = drawn.rows(batch, 64, 64, seed=7)

    def run() -> Sequence[Any]:
        y, kept = normal(x, w, b)
        return [y, *normal_back(g, kept)]

    return run


BY_HAND: dict[str, Callable[..., Run]] = {
    "one op": one_op, "mlp": mlp, "cnn": cnn, "transformer": transformer, "optimizer": optimizer,
    "layer_norm": layer_norm,
}
