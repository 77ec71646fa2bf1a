"""In which memory format layers answer inputs whose channels lie last, and what depends on it: `view`, and the mask of
a dropout."""

from __future__ import annotations

import math

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def numbers(lib, *shape):
    return lib.arange(float(math.prod(shape))).reshape(shape).sin()


LAYOUTS = {
    "contiguous": lambda lib, n, c, h, w: numbers(lib, n, c, h, w),
    "channels_last": lambda lib, *size: numbers(lib, *size).contiguous(memory_format=lib.channels_last),
    "permuted": lambda lib, n, c, h, w: numbers(lib, n, h, w, c).permute(0, 3, 1, 2),
    "turned": lambda lib, n, c, h, w: numbers(lib, n, c, w, h).transpose(2, 3),
    "one channel": lambda lib, n, c, h, w: numbers(lib, n, h, w, 1).permute(0, 3, 1, 2).expand(n, c, h, w),
    "expanded": lambda lib, n, c, h, w: numbers(lib, n, 1, h, w).expand(n, c, h, w),
}
LAYERS = {
    "conv2d": lambda lib, x: lib.nn.functional.conv2d(x, numbers(lib, 5, 4, 3, 3), padding=1),
    "conv2d grouped": lambda lib, x: lib.nn.functional.conv2d(x, numbers(lib, 8, 2, 3, 3), stride=2, groups=2),
    "conv2d of weights": lambda lib, x: lib.nn.functional.conv2d(
        x, numbers(lib, 5, 4, 3, 3).contiguous(memory_format=lib.channels_last)),
    "conv2d of one filter": lambda lib, x: lib.nn.functional.conv2d(x, numbers(lib, 1, 4, 3, 3)),
    "conv_transpose2d": lambda lib, x: lib.nn.functional.conv_transpose2d(x, numbers(lib, 4, 5, 3, 3), stride=2),
    "max_pool2d": lambda lib, x: lib.nn.functional.max_pool2d(x, 2),
    "max_pool2d indices": lambda lib, x: lib.nn.functional.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda lib, x: lib.nn.functional.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda lib, x: lib.nn.functional.adaptive_max_pool2d(x, 2),
    "lp_pool2d": lambda lib, x: lib.nn.functional.lp_pool2d(x, 2, 2),
    "batch_norm": lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda lib, x: lib.nn.functional.group_norm(x, 2),
    "local_response_norm": lambda lib, x: lib.nn.functional.local_response_norm(x, 2),
    "residual": lambda lib, x: lib.nn.functional.dropout(x + numbers(lib, *x.shape), 0.5),
    "instance_norm": lambda lib, x: lib.nn.functional.instance_norm(x),
    "upsample nearest": lambda lib, x: lib.nn.functional.interpolate(x, scale_factor=2),
    "upsample bilinear": lambda lib, x: lib.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "upsample bicubic": lambda lib, x: lib.nn.functional.interpolate(x, scale_factor=2, mode="bicubic"),
    "upsample area": lambda lib, x: lib.nn.functional.interpolate(x, scale_factor=0.5, mode="area"),
    "pixel_shuffle": lambda lib, x: lib.nn.functional.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda lib, x: lib.nn.functional.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda lib, x: lib.nn.functional.channel_shuffle(x, 2),
    "pad": lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1)),
    "pad reflect": lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "pad replicate": lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="replicate"),
    "pad circular": lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="circular"),
    "relu": lambda lib, x: x.relu(),
    "logsigmoid": lambda lib, x: lib.nn.functional.logsigmoid(x),
    "sum": lambda lib, x: x.sum(1),
    "amax": lambda lib, x: x.amax(1),
    "logsumexp": lambda lib, x: x.logsumexp(1),
    "std": lambda lib, x: x.std(1),
    "cumsum": lambda lib, x: x.cumsum(1),
    "cumprod": lambda lib, x: x.cumprod(1),
    "cat": lambda lib, x: lib.cat([x, x], 1),
    "cat with another": lambda lib, x: lib.cat([x, x.contiguous()], 1),
    "flip": lambda lib, x: x.flip(1),
    "roll": lambda lib, x: x.roll(1, 1),
    "masked_fill": lambda lib, x: x.masked_fill(x > 0, 0),
    "tril": lambda lib, x: x.tril(),
    "clone": lambda lib, x: x.clone(),
    "double": lambda lib, x: x.double(),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "full_like in order": lambda lib, x: lib.full_like(x, 2, memory_format=lib.contiguous_format),
    "ones_like, channels last": lambda lib, x: lib.ones_like(x, memory_format=lib.channels_last),
    "randn_like, channels last": lambda lib, x: lib.randn_like(x, memory_format=lib.channels_last),
    "randint_like in order": lambda lib, x: lib.randint_like(x, 9, memory_format=lib.contiguous_format),
    "rand_like as it is": lambda lib, x: lib.rand_like(x, memory_format=lib.preserve_format),
    "rand_like": lambda lib, x: lib.rand_like(x),
    "one_hot": lambda lib, x: lib.nn.functional.one_hot((x > 0).long()),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_a_result_lies_as_pytorch_lays_it_out(torch, layer, layout):
    def run(lib):
        lib.manual_seed(0)
        result = LAYERS[layer](lib, LAYOUTS[layout](lib, 2, 4, 6, 6))
        strides = [step if size > 1 else 0 for step, size in zip(result.stride(), result.shape, strict=True)]
        return strides, result.flatten().tolist()

    (strides, values), (expected_strides, expected_values) = run(minigrad), run(torch)
    assert strides == expected_strides
    assert values == pytest.approx(expected_values, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dropout_after_a_convolution_drops_the_same_elements(torch, layout):
    def run(lib):
        lib.manual_seed(0)
        y = LAYERS["conv2d"](lib, LAYOUTS[layout](lib, 2, 4, 6, 6))
        return (lib.nn.functional.dropout(y, 0.5) == 0).tolist()

    assert outcome(run, minigrad) == outcome(run, torch)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layer", ["conv3d", "conv_transpose3d", "max_pool3d", "avg_pool3d", "upsample trilinear"])
def test_volumes(torch, layer, dtype):
    def run(lib):
        functional, kind = lib.nn.functional, getattr(lib, dtype)
        x = numbers(lib, 2, 4, 4, 4, 4).to(kind).contiguous(memory_format=lib.channels_last_3d)
        return {
            "conv3d": lambda: functional.conv3d(x, numbers(lib, 5, 4, 2, 2, 2).to(kind)),
            "conv_transpose3d": lambda: functional.conv_transpose3d(x, numbers(lib, 4, 5, 2, 2, 2).to(kind)),
            "max_pool3d": lambda: functional.max_pool3d(x, 2),
            "avg_pool3d": lambda: functional.avg_pool3d(x, 2),
            "upsample trilinear": lambda: functional.interpolate(x, scale_factor=2, mode="trilinear"),
        }[layer]().stride()

    assert outcome(run, minigrad) == outcome(run, torch)


def test_a_view_of_a_result_fails_where_it_fails_in_pytorch(torch):
    def run(lib):
        return LAYERS["conv2d"](lib, LAYOUTS["permuted"](lib, 2, 4, 6, 6)).view(2, -1).shape

    assert outcome(run, minigrad) == outcome(run, torch)
    assert "view size is not compatible" in outcome(run, minigrad)[0][1]


def test_a_hook_may_write_into_the_gradient_of_a_mean(torch):
    def run(lib):
        x = numbers(lib, 2, 3).requires_grad_()

        def hook(g):
            g.mul_(2)

        x.register_hook(hook)
        x.mean().backward()
        x.mean(1).sum().backward()
        return [[round(v, 5) for v in row] for row in x.grad.tolist()]

    assert outcome(run, minigrad) == outcome(run, torch)


def test_a_format_of_another_rank_is_refused(torch):
    def run(lib):
        return lib.zeros_like(lib.ones(2, 3), memory_format=lib.channels_last)

    assert outcome(run, minigrad) == outcome(run, torch)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_instance_norm_copies_what_has_another_order_and_then_sees_no_write(torch, layout):
    def run(lib):
        leaf = LAYOUTS[layout](lib, 2, 4, 6, 6).requires_grad_()
        x = leaf * 1
        y = lib.nn.functional.instance_norm(x)
        names, node = [], y.grad_fn
        while node is not None:
            names.append(node.name())
            node = node.next_functions[0][0] if node.next_functions else None
        x.detach().add_(1)
        (y ** 3).sum().backward()
        return names, round(abs(leaf.grad).max().item(), 3)

    assert outcome(run, minigrad) == outcome(run, torch)
