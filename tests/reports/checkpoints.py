"""Reports about checkpoints: what is computed again is not what was computed."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


def checkpointed(m: Any, function: Any, x: Any, **options: Any) -> list[Any]:
    """The result and the gradient of a function, as it is and under a checkpoint, both from one seed."""
    found = []
    for call in (function, lambda x: m.utils.checkpoint.checkpoint(function, x, use_reentrant=False, **options)):
        m.manual_seed(7)
        own = x.detach().clone().requires_grad_()
        y = call(own)
        y.sum().backward()
        found.append([y.tolist(), own.grad.tolist()])
    return found


@reports("pytorch/pytorch/issues/141896", "a checkpoint under autocast saved other tensors when it computed again",
         still="weights that autocast has kept are not cast anew: the cache is empty in the backward pass")
def checkpoint_under_autocast(m):
    layer, x = m.nn.Linear(3, 3), m.ones(2, 3, requires_grad=True)
    with m.autocast("cpu", dtype=m.bfloat16):
        layer(x)
        y = m.utils.checkpoint.checkpoint(layer, x, use_reentrant=False)
    y.float().sum().backward()
    return [p.grad.dtype == m.float32 for p in layer.parameters()]


@reports("pytorch/pytorch/issues/155171", "a cache of keys that grows is twice as long when it is computed again")
def cache_that_grows(m):
    cache = []

    def attend(x):
        cache.append(x.detach())
        return x.sum() * m.cat(cache).exp() * m.cat(cache)

    x = m.ones(1, 2, requires_grad=True)
    m.utils.checkpoint.checkpoint(lambda x: attend(x) * x.sum(), x, use_reentrant=False).sum().backward()


@reports("pytorch/torchtitan/issues/1117", "experts get another number of rows when they are chosen again")
def rows_that_are_chosen_anew(m):
    calls = []

    def routed(x):
        calls.append(0)
        chosen = x[: 3 - len(calls)]
        return (chosen.exp() * chosen).sum()

    x = m.ones(3, 2, requires_grad=True)
    m.utils.checkpoint.checkpoint(routed, x, use_reentrant=False).backward()


@reports("Sompote/SAM3_LoRA/issues/10", "a dtype that changes between the passes is told with the place of the tensor")
def another_dtype_in_the_second_pass(m):
    calls = []

    def changing(x):
        calls.append(0)
        return (x.double() if len(calls) > 1 else x).sin().sum()

    x = m.ones(2, requires_grad=True)
    m.utils.checkpoint.checkpoint(changing, x, use_reentrant=False).backward()


@reports("2U1/Phi3-Vision-Finetune/issues/32", "what the one kind of checkpoint refuses the other lets pass")
def reentrant_lets_it_pass(m):
    found = []
    for reentrant in (True, False):
        calls = []

        def growing(x, calls=calls):
            calls.append(x.detach())
            return (x * m.cat(calls).sum()).exp().sum()

        x = m.full((2,), 0.1, requires_grad=True)
        m.utils.checkpoint.checkpoint(growing, x, use_reentrant=reentrant).backward()
        found.append(x.grad)
    return found


@reports("pytorch/pytorch/issues/160534", "`checkpoint` without `use_reentrant` warns, and was to raise by now",
         still="it warns")
def without_use_reentrant(m):
    x = m.ones(2, requires_grad=True)
    m.utils.checkpoint.checkpoint(m.exp, x).sum().backward()
    return x.grad


@reports("pytorch/pytorch/issues/144637", "attention with norms of its keys failed under a checkpoint when compiled")
def attention_with_norms(m):
    norms = m.nn.RMSNorm(2), m.nn.RMSNorm(2)

    def attend(x):
        q, k, v = x.reshape(1, 3, 1, 3, 2).transpose(1, 2).unbind(-2)
        return m.nn.functional.scaled_dot_product_attention(norms[0](q), norms[1](k), v, is_causal=True)

    return checkpointed(m, attend, m.sin(m.arange(18.0)).reshape(1, 3, 6))


@reports("allenai/OLMo-core/pull/828", "without `preserve_rng_state` the gradient is that of another dropout mask")
def dropout_that_is_drawn_anew(m):
    drop = lambda x: m.nn.functional.dropout(x, 0.5)  # noqa: E731 (one op)
    return checkpointed(m, drop, m.ones(8)), checkpointed(m, lambda x: drop(x) * x, m.ones(8),
                                                         preserve_rng_state=False)


@reports("pytorch/torchtitan/issues/1323", "where nothing is drawn, `preserve_rng_state` makes no difference")
def nothing_is_drawn(m):
    x = m.arange(3.0)
    kept, other = (checkpointed(m, lambda x: (x * x).sin(), x, preserve_rng_state=p) for p in (True, False))
    return kept, kept == other


@reports("pytorch/pytorch/pull/194478", "`rand_like` drew other numbers in the second pass on another device")
def random_numbers_again(m):
    return checkpointed(m, lambda x: (x * m.rand_like(x)).exp() + m.randn(3), m.arange(3.0))


@reports("pytorch/pytorch/issues/198333", "dropout of what was turned before had another mask in the backward pass")
def dropout_of_a_turned_tensor(m):
    return checkpointed(m, lambda x: m.nn.functional.dropout(x.transpose(1, 2).contiguous(), 0.5) * 2,
                        m.ones(2, 3, 4))


@reports("FareedKhan-dev/train-deepseek-r1/issues/8", "without an input that requires grad nothing gets a gradient",
         still="in the reentrant kind, which warns of it")
def no_input_requires_grad(m):
    layer, found = m.nn.Linear(2, 1), []
    for reentrant in (True, False):
        y = m.utils.checkpoint.checkpoint(layer, m.ones(1, 2), use_reentrant=reentrant)
        found.append(y.requires_grad)
    y.sum().backward()
    return found, layer.weight.grad
