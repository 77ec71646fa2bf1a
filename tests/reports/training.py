"""Reports about training loops: gradients that are added up over several batches."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()
SIZES = (3, 1, 2)


def batches(m: Any) -> tuple[Any, list[Any], list[Any]]:
    """A layer, and some batches of different sizes for it."""
    layer = m.nn.Linear(2, 3)
    with m.no_grad():
        for p in layer.parameters():
            p.copy_(m.sin(m.arange(p.numel()).float()).reshape(p.shape))
    inputs = [m.cos(m.arange(2 * n) + n).reshape(n, 2).float() for n in SIZES]
    return layer, inputs, [m.arange(n) % 3 for n in SIZES]


def accumulated(m: Any, weight: Any, **options: Any) -> Any:
    """The gradient after a pass for each batch, whose loss is weighted by a function of its size and number."""
    layer, inputs, targets = batches(m)
    for number, (x, y) in enumerate(zip(inputs, targets, strict=True)):
        (m.nn.functional.cross_entropy(layer(x), y, **options) * weight(len(x), number)).backward()
    return layer.weight.grad


def whole(m: Any) -> Any:
    """The gradient of the mean over all rows at once."""
    layer, inputs, targets = batches(m)
    m.nn.functional.cross_entropy(layer(m.cat(inputs)), m.cat(targets)).backward()
    return layer.weight.grad


@reports("huggingface/transformers/issues/37766", "a mean of means is not the mean where batches differ in size")
def mean_of_means(m):
    found = accumulated(m, lambda rows, number: 1 / len(SIZES))
    return found, m.allclose(found, whole(m))


@reports("huggingface/transformers/pull/35207", "a loss must be divided before its backward pass, not after")
def divided_before_or_after(m):
    layer, inputs, targets = batches(m)
    loss = m.nn.functional.cross_entropy(layer(inputs[0]), targets[0])
    loss.backward()
    after, told = layer.weight.grad.clone(), loss.detach() / 3
    layer.zero_grad()
    (m.nn.functional.cross_entropy(layer(inputs[0]), targets[0]) / 3).backward()
    return told, m.allclose(after, 3 * layer.weight.grad)


@reports("huggingface/transformers/pull/35527", "labels that are ignored do not count in the number of rows")
def ignored_rows_do_not_count(m):
    layer, inputs, targets = batches(m)
    labels = m.cat(targets)
    labels[::2] = -100
    logits = layer(m.cat(inputs))
    mean = m.nn.functional.cross_entropy(logits, labels)
    total = m.nn.functional.cross_entropy(logits, labels, reduction="sum")
    (total / (labels != -100).sum()).backward()
    return mean, layer.weight.grad, m.allclose(mean, total / 3)


@reports("huggingface/transformers/pull/35438", "sums over batches, divided by the number of all rows, are the mean")
def sums_divided_by_all_rows(m):
    found = accumulated(m, lambda rows, number: 1 / sum(SIZES), reduction="sum")
    return found, m.allclose(found, whole(m))


@reports("MakazhanAlpamys/Soup/issues/720", "without the division the gradient grows with the number of batches")
def without_the_division(m):
    found = accumulated(m, lambda rows, number: rows)
    return found, m.allclose(found, sum(SIZES) * whole(m))


@reports("agokrani/distillKitPlus/issues/5", "the reported loss grew with the number of batches that are added up")
def reported_loss(m):
    layer, inputs, targets = batches(m)
    losses = [m.nn.functional.cross_entropy(layer(x), y) for x, y in zip(inputs, targets, strict=True)]
    total, mean = sum(losses), sum(losses) / len(losses)
    mean.backward()
    return total, mean, layer.bias.grad


@reports("karpathy/nanoGPT/issues/605", "whether to divide by the number of batches so far: no, by that of all")
def divided_by_batches_so_far(m):
    growing = accumulated(m, lambda rows, number: 1 / (number + 1))
    even = accumulated(m, lambda rows, number: 1 / 3)
    return growing, even
