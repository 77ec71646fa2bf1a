"""A GPU's generator, on NumPy's arrays: known answers of the algorithm, and numbers that PyTorch printed on GPUs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from minigrad.backends import curand, draws
from minigrad.backends.curand import Philox, Source, philox, policy
from minigrad.backends.registry import HOST

# From the known answers that Random123 (Salmon et al.) comes with: counter, key, words.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
# What PyTorch prints on an NVIDIA GPU after manual_seed(0), as found in what people have published.
RAND = [0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096, 0.1183, 0.0752]
NEXT_RAND = [0.9722, 0.7910, 0.4690, 0.3300]  # of a second call, after one of 4 to 12 elements
RANDN = [-0.9247, -0.4253, -2.6438, 0.1452, -0.1209, -0.5797, -0.6229, -0.3284, -1.0745, -0.3631, -1.6711, 2.2655,
         0.3117, -0.1842, 1.2866, 1.1820, -0.1271, 1.2169, 1.4353, 1.0605, -0.4941, -1.4244, -0.7244, -1.2973]
FEW = 512  # threads of a GPU so small that loops begin early


def source(seed=0, most=108 * 2048, offset=0):
    """A stream on NumPy's arrays, as on a GPU that runs `most` threads at once."""
    stream = Philox()
    stream.manual_seed(seed)
    stream.set_offset(offset)
    return Source(stream, HOST, most)


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "answer"), KNOWN)
def test_known_answers(counter, key, answer):
    low, high = words(key)
    arrays = tuple([np.full(3, word, np.uint64) for word in words(counter)])
    for found, wanted in zip(philox(arrays, high << 32 | low), words(answer), strict=True):
        assert found.tolist() == [wanted] * 3


def test_the_numbers_that_pytorch_prints_on_a_gpu():
    drawing = source()
    np.testing.assert_allclose(draws.uniform(drawing, (12,)), RAND, atol=6e-5)
    assert drawing.stream.offset == 4
    np.testing.assert_allclose(draws.uniform(drawing, (4,)), NEXT_RAND, atol=6e-5)
    np.testing.assert_allclose(draws.normal(source(), (3, 8)).ravel(), RANDN, atol=6e-5)


def scalar_words(seed, thread, call):
    """Four words, written out for one thread with Python's integers."""
    x, y, z, w = call & 0xFFFFFFFF, call >> 32, thread, 0
    for i in range(10):
        p, q = 0xD2511F53 * x, 0xCD9E8D57 * z
        low, high = (seed + i * 0x9E3779B9) & 0xFFFFFFFF, ((seed >> 32) + i * 0xBB67AE85) & 0xFFFFFFFF
        x, y, z, w = q >> 32 ^ y ^ low, q & 0xFFFFFFFF, p >> 32 ^ w ^ high, p & 0xFFFFFFFF
    return x, y, z, w


@pytest.mark.parametrize("n", [1, 5, 300, 512, 513, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize("unroll", [4, 2])
def test_which_thread_makes_which_element(n, unroll):
    """The loop of PyTorch's kernel, thread by thread."""
    seed, offset = 0x1234567890ABCDEF, 40
    drawing = source(seed, FEW, offset)
    found = (drawing.draw if unroll == 4 else drawing.draw64)(n)
    threads, calls = policy(n, unroll, FEW)
    wanted = [None] * n
    for thread in range(threads):
        for call in range(calls):
            four = scalar_words(seed, thread, offset // 4 + call)
            values = four if unroll == 4 else (four[0] << 32 | four[1], four[2] << 32 | four[3])
            for i, value in enumerate(values):
                at = thread + call * threads * unroll + i * threads
                if at < n:
                    wanted[at] = value
    assert found.tolist() == wanted
    assert drawing.stream.offset == offset + 4 * calls


@pytest.mark.parametrize(("n", "unroll", "offset"), [(1, 4, 4), (256, 4, 4), (1_000_000, 4, 8), (1_000_000, 2, 12)])
def test_how_far_a_call_moves_the_generator(n, unroll, offset):
    """Of 80 multiprocessors with 2,048 threads each: 163,840 threads, which make 655,360 elements in one go of four."""
    threads, calls = policy(n, unroll, 80 * 2048)
    assert threads == min(163_840, -(-n // 256) * 256)
    assert 4 * calls == offset if unroll == 4 else 4 * calls == 4 * math.ceil(n / (2 * threads))


def test_states():
    drawing, other = source(2**63 + 5, offset=12), Philox()
    state = drawing.stream.state_bytes()
    assert len(state) == 16 and int.from_bytes(state[:8], "little") == 2**63 + 5 and state[8] == 12
    other.set_state_bytes(state)
    assert (other.initial_seed(), other.offset) == (2**63 + 5, 12)
    other.set_state_bytes(state[:8])
    assert (other.initial_seed(), other.offset) == (2**63 + 5, 0)
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        other.set_state_bytes(state + b"\0")
    with pytest.raises(RuntimeError, match="offset must be a multiple of 4"):
        other.set_offset(6)
    other.manual_seed(-1)
    assert other.initial_seed() == 2**64 - 1
    assert other.seed() == other.initial_seed() < 2**53
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        other.manual_seed(2**64)


MOMENTS = {  # mean and variance, or quartiles where there are none
    "uniform": (lambda s, d: draws.uniform(s, (200_000,), d, -1, 3), 1.0, 16 / 12),
    "normal": (lambda s, d: draws.normal(s, (200_000,), d, 2, 3), 2.0, 9.0),
    "exponential": (lambda s, d: draws.exponential(s, (200_000,), d, 2), 0.5, 0.25),
    "log_normal": (lambda s, d: draws.log_normal(s, (200_000,), d, 0, 0.5), math.exp(0.125),
                   (math.exp(0.25) - 1) * math.exp(0.25)),
    "geometric": (lambda s, d: draws.geometric(s, (200_000,), d, 0.25), 4.0, 12.0),
    "bernoulli": (lambda s, d: draws.bernoulli(s, 0.3, (200_000,), d), 0.3, 0.21),
    "bernoulli of an array": (lambda s, d: draws.bernoulli(s, np.full(200_000, 0.3, d), (200_000,), d), 0.3, 0.21),
    "randint": (lambda s, d: draws.randint(s, -3, 7, (200_000,), d), 1.5, 99 / 12),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name, dtype):
    draw, mean, variance = MOMENTS[name]
    drawn = draw(source(3), np.dtype(dtype))
    assert drawn.dtype == dtype and drawn.shape == (200_000,)
    exact = drawn.astype(np.float64)
    assert abs(exact.mean() - mean) < 5 * math.sqrt(variance / 200_000)
    assert abs(exact.var() / variance - 1) < 0.05


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_quartiles_of_cauchy(dtype):
    drawn = draws.cauchy(source(4), (200_000,), np.dtype(dtype), 2, 3)
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), [-1, 2, 5], atol=0.06)


def test_the_ends_of_intervals(monkeypatch):
    """Where cuRAND gives 1: uniform numbers become the lower end, waiting times do not become 0."""
    ones = {4: tuple([np.full((1, 256), 2**32 - 1, np.uint64)] * 4)}
    monkeypatch.setattr(Source, "words", lambda self, n, unroll: ones[unroll])
    assert curand.fractions(source(), 3, np.dtype("float32")).tolist() == [1, 1, 1]
    assert draws.uniform(source(), (3,), np.float32, 2, 5).tolist() == [2, 2, 2]
    assert draws.exponential(source(), (3,)).tolist() == [2.0**-24] * 3


@pytest.mark.parametrize("vector", [1, 2, 4, 8])
def test_the_mask_of_dropout(vector):
    """Thread by thread as in PyTorch's kernels: elements that a thread takes at once lie side by side."""
    n, seed = 8 * 600, 7
    found = curand.dropout_mask(source(seed, FEW), n, 0.7, np.dtype("float32"), vector)
    threads, calls = policy(n, 4, FEW)
    wanted = np.zeros(n, bool)
    for thread in range(threads):
        count = 0
        for start in range(thread, n, threads * 4) if vector == 1 else range(thread * vector, n, threads * vector):
            for part in range(max(vector, 4) // 4):
                four = scalar_words(seed, thread, count)
                count += 1
                for i in range(min(vector, 4) if vector > 1 else 4):
                    at = start + (i * threads if vector == 1 else 4 * part + i)
                    if at < n:
                        wanted[at] = np.float32(four[i]) * np.float32(2**-32) + np.float32(2**-33) < np.float32(0.7)
    assert found.tolist() == wanted.tolist()
    assert 4 * calls == 4 * -(-n // (threads * 4))


@pytest.mark.parametrize("n", [0, 1, 2, 10, 1000])
def test_permutations(n):
    drawing = source(5)
    assert sorted(draws.randperm(drawing, n).tolist()) == list(range(n))
    assert n < 2 or drawing.stream.offset == 4 + (n + 3) // 4 * 4


def test_permutations_of_three_are_equally_likely():
    drawing = source(6)  # of so few, one in forty has equal keys
    counts = Counter(tuple(draws.randperm(drawing, 3).tolist()) for _ in range(3_000))
    assert len(counts) == 6 and all(abs(count - 500) < 120 for count in counts.values())


def test_equal_keys_are_shuffled():
    seen = Counter(tuple(curand.shuffled_runs(source(seed), np.array([True, True, False, True]), 0).tolist())
                   for seed in range(600))
    assert len(seen) == 12 and all({*order[:3]} == {0, 1, 2} for order in seen)
