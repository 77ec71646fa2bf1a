"""What the models are fed with and start from: the same random arrays, float32, for every contender."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["CNN_CHANNELS", "HEADS", "classes", "cnn", "embedding", "lstm", "mlp", "rows", "transformer", "wide_conv"]

Arrays = list[Any]
MLP = (784, 256, 128, 10)
CNN_CHANNELS = (1, 16, 32)
WIDTH, LENGTH, HEADS = 64, 64, 4  # of the transformer


def rows(*shape: int, seed: int = 1) -> Any:
    """Numbers from a normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def classes(count: int, batch: int) -> Any:
    """The right answers, int64."""
    return np.random.default_rng(2).integers(0, count, batch)


def weights(shapes: Sequence[tuple[int, ...]]) -> Iterator[Any]:
    """Parameters: matrices and kernels scaled by their inputs, the others near zero."""
    for seed, shape in enumerate(shapes, 10):
        yield rows(*shape, seed=seed) * np.float32(1 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else 0.01)


def mlp(batch: int) -> tuple[Any, Any, Arrays]:
    """Input, classes, weights and biases by turns."""
    shapes = [shape for n, m in itertools.pairwise(MLP) for shape in ((m, n), (m,))]
    return rows(batch, MLP[0]), classes(MLP[-1], batch), list(weights(shapes))


def cnn(batch: int, side: int) -> tuple[Any, Any, Arrays]:
    """Two convolutions of 3 × 3, each halved by a pool, and a linear layer."""
    a, b, c = CNN_CHANNELS
    shapes = [(b, a, 3, 3), (b,), (c, b, 3, 3), (c,), (10, c * (side // 4) ** 2), (10,)]
    return rows(batch, a, side, side), classes(10, batch), list(weights(shapes))


def wide_conv(batch: int) -> tuple[Any, Arrays]:
    """A convolution of 3 × 3 from 32 to 64 channels, on 16 × 16."""
    return rows(batch, 32, 16, 16), list(weights([(64, 32, 3, 3), (64,)]))


def transformer(batch: int, blocks: int) -> tuple[Any, Any, Arrays]:
    """Input, what the result is multiplied by, and 12 parameters per block."""
    d = WIDTH
    shapes = [(d,), (d,), (3 * d, d), (3 * d,), (d, d), (d,), (d,), (d,), (4 * d, d), (4 * d,), (d, 4 * d), (d,)]
    found = list(weights(shapes * blocks))
    for start in range(0, len(found), 12):  # the weights of the two normalisations are around 1
        found[start] += 1
        found[start + 6] += 1
    return rows(batch, LENGTH, d), rows(batch, LENGTH, d, seed=3), found


def lstm(batch: int, steps: int) -> tuple[Any, Arrays]:
    """32 inputs, 64 hidden units: W_ih, W_hh and their biases."""
    return rows(steps, batch, 32), list(weights([(256, 32), (256, 64), (256,), (256,)]))


def embedding(batch: int, words: int) -> tuple[Any, Any, Arrays]:
    """Ids of words, ids of the words that follow, table, weights and bias."""
    table = list(weights([(words, 64), (words, 64), (words,)]))
    return classes(words, batch), classes(words, batch)[::-1].copy(), table
