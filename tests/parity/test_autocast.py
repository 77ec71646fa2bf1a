"""`autocast` on the CPU casts what PyTorch casts, records the casts as PyTorch does, and keeps those of parameters."""

import numpy as np
import pytest

import minigrad
import minigrad.amp
import minigrad.nn
import minigrad.optim
import minigrad.utils.checkpoint
from tests.parity.reference import bfloat16_by_onednn

pytestmark = pytest.mark.torch

OPS = """\
x @ x
m.mm(x, xb)
m.exp(xb)
m.softmax(xb, 0)
F.log_softmax(xb, 0)
F.layer_norm(x, (2,))
m.cat([x, xb])
m.stack([xb, x])
m.cat([xb, xb])
F.nll_loss(xb, t)
F.cross_entropy(xb, t)
F.mse_loss(xb, x)
F.l1_loss(xb, xb)
F.smooth_l1_loss(xb, xb)
F.huber_loss(xb, xb)
F.kl_div(xb, xb, reduction="sum")
F.binary_cross_entropy_with_logits(xb, xb)
xb.prod()
m.trace(xb)
m.mv(x, x[0])
x @ x[0]
m.dot(x[0], x[0])
m.einsum("ij,jk", x, x)
F.conv1d(x[None], x[None])
m.nn.Conv2d(1, 1, 1)(x[None, None])
m.bmm(x[None], x[None])
m.addmm(x, x, x)
m.baddbmm(x[None], x[None], x[None])
x + xb
xb * xb
x.double() @ x.double()
F.scaled_dot_product_attention(x[None, None], x[None, None], x[None, None])
m.nn.GRU(2, 2)(x)[0]
m.nn.LSTMCell(2, 2)(x)[0]
m.nn.MultiheadAttention(2, 1)(x, x, x)[0]
m.nn.Embedding(2, 2)(t)
m.nn.BatchNorm1d(2)(xb)
m.nn.BatchNorm1d(2)(x)
F.prelu(x, m.ones(1))
F.linear(x, x.t())
F.gelu(xb)
xb.sum()
xb.norm()
m.cdist(xb, xb)
m.quantile(xb, 0.5)
m.linalg.multi_dot([x, x, x])
m.tensordot(x, x, 1)
m.outer(x[0], x[0])
m.linalg.matrix_power(x, 3)
m.vstack([x, xb])
m.dstack([x, xb])
x.detach().addmm_(x.detach(), x.detach())
x.detach()[None].baddbmm_(x.detach()[None], x.detach()[None])
m.mm(x.detach(), x.detach(), out=m.zeros(2, 2))
m.prod(xb.detach(), 0, out=m.zeros(2, dtype=xb.dtype))
m.baddbmm(x, xb[None], x[None], beta=2, alpha=0.5)
m.addbmm(x, xb[None], x[None])
F.mse_loss(xb, x.detach())
F.mse_loss(xb, xb.detach(), weight=x)
F.huber_loss(xb, xb.detach(), weight=x)
F.l1_loss(xb, xb.detach(), weight=x)
F.ctc_loss(xb[:, None].log_softmax(2), m.tensor([[1]]), m.tensor([2]), m.tensor([1]))
F.nll_loss(xb[None, :, None], m.tensor([[[0, 1]]]))
m.nn.MultiheadAttention(2, 1)(x, x, x, need_weights=False)[0]
m.nn.MultiheadAttention(2, 1)(x, x, x, attn_mask=m.zeros(2, 2))[0]
m.nn.LSTM(2, 2)(x)[0]
m.nn.LSTM(2, 2)(xb)[0]
m.nn.LSTM(2, 2).to(xb.dtype)(x)[0]
m.nn.LSTM(2, 2).double()(x.double())[0]
m.nn.GRU(2, 2)(xb)[0]
m.nn.RNN(2, 2)(x)[0]
m.linalg.inv(xb + m.eye(2))
m.linalg.inv_ex(xb + m.eye(2)).inverse
m.linalg.svdvals(xb)
m.linalg.solve(xb + m.eye(2), xb)
m.linalg.vecdot(x, x)
F.local_response_norm(xb[None, None], 2)
F.pad(xb, (1, 1), mode="reflect")
""".splitlines()


def seen(m, expression, dtype):
    """The dtype of what an expression gives, and the graph."""
    x, t = m.ones(2, 2, requires_grad=True), m.tensor([0, 1])
    names = {"m": m, "F": m.nn.functional, "x": x, "t": t,
             "xb": m.ones(2, 2, dtype=getattr(m, dtype), requires_grad=True)}
    with m.autocast("cpu", dtype=getattr(m, dtype)):
        result = eval(expression, names)
    return str(result.dtype), graph(result.grad_fn)


# oneDNN has no LSTM of float16 on all processors.
LSTM_TYPES = ("bfloat16",) if bfloat16_by_onednn() else ()


@pytest.mark.parametrize("expression, dtype", [
    (each, dtype) for each in OPS for dtype in (LSTM_TYPES if "LSTM(" in each else ("bfloat16", "float16"))])
def test_dtype_and_graph_of_an_op(torch, expression, dtype):
    assert seen(minigrad, expression, dtype) == seen(torch, expression, dtype)


def network(m):
    m.manual_seed(0)
    return m.nn.Sequential(m.nn.Linear(3, 4), m.nn.ReLU(), m.nn.Linear(4, 2)), m.linspace(0, 1, 6).reshape(2, 3)


def graph(node):
    """The names of a graph's nodes, as a tree."""
    return node and (type(node).__name__, [graph(each) for each, _ in node.next_functions])


def step(m, dtype):
    net, x = network(m)
    with m.autocast("cpu", dtype=getattr(m, dtype)):
        y, again = net(x), net(x)
        loss = m.nn.functional.cross_entropy(y + again, m.tensor([0, 1]))
    loss.backward()
    shared = y.grad_fn.next_functions[0][0] is again.grad_fn.next_functions[0][0]
    return str((y, loss, [p.grad for p in net.parameters()])), shared, graph(loss.grad_fn)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_step(torch, dtype):
    assert step(minigrad, dtype) == step(torch, dtype)


def blocks(m):
    net, x = network(m)
    seen = []
    with m.autocast("cpu", dtype=m.bfloat16):
        seen.append(net(x).dtype)
        with m.autocast("cpu", enabled=False):
            seen += [net(x).dtype, m.is_autocast_enabled("cpu")]
        seen += [net(x).dtype, m.is_autocast_enabled("cpu"), m.get_autocast_dtype("cpu")]
    return str([*seen, m.is_autocast_enabled("cpu"), net(x).dtype])


def shares(m, cache_enabled):
    net, x = network(m)
    with m.autocast("cpu", dtype=m.bfloat16, cache_enabled=cache_enabled):
        one, other = net[0](x), net[0](x)
    return one.grad_fn.next_functions[0][0] is other.grad_fn.next_functions[0][0]


def decorated(m):
    net, x = network(m)
    return str(m.autocast("cpu", dtype=m.bfloat16)(net.forward)(x).dtype)


def scaled(m):
    net, x = network(m)
    optimizer, scales = m.optim.SGD(net.parameters(), lr=0.1), []
    scaler = m.amp.GradScaler("cpu", init_scale=65536.0, growth_interval=2)
    for i in range(4):
        optimizer.zero_grad()
        with m.autocast("cpu", dtype=m.float16):
            loss = m.nn.functional.mse_loss(net(x if i else 100 * x), m.zeros(2, 2))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, str([*net.parameters()])


def cast_without_grad(m):
    """What is cast in a block of `no_grad` is kept, and has a graph outside of it; not so in inference mode."""
    net, x = network(m)
    with m.autocast("cpu"):
        with m.no_grad():
            first = net[0](x)
            net[0].weight.mul_(5)
        with m.inference_mode():
            net[2](first)
        y, z = net[0](x), net[2](first)
    return str((first, y, z)), graph(y.grad_fn), graph(z.grad_fn)


def recomputed(m, use_reentrant):
    """A checkpoint runs again with the settings of its first run, inside of another block and outside of one."""
    net, x = network(m)
    seen = []

    def section(v):
        seen.append(str((m.is_autocast_enabled("cpu"), m.get_autocast_dtype("cpu"))))
        return net(v)

    x.requires_grad_()
    with m.autocast("cpu", dtype=m.float16):
        y = m.utils.checkpoint.checkpoint(section, x, use_reentrant=use_reentrant)
    y.float().sum().backward()
    y = m.utils.checkpoint.checkpoint(section, x, use_reentrant=use_reentrant)
    with m.autocast("cpu"):
        y.sum().backward()
    return seen, str((y.dtype, x.grad.dtype, m.is_autocast_enabled("cpu")))


@pytest.mark.parametrize("program", [
    blocks, lambda m: shares(m, True), lambda m: shares(m, False), decorated, scaled, cast_without_grad,
    lambda m: recomputed(m, True), lambda m: recomputed(m, False)])
def test_program(torch, program):
    assert program(minigrad) == program(torch)


def refused(m, program):
    with pytest.raises((TypeError, ValueError)) as error:
        program(m)
    return type(error.value), str(error.value)


@pytest.mark.parametrize("program", [
    lambda m: m.autocast(1), lambda m: m.autocast("cpu")(3), lambda m: m.get_autocast_dtype(1),
    lambda m: m.is_autocast_enabled(1), lambda m: m.set_autocast_enabled("cpu", "x"),
    lambda m: m.set_autocast_dtype("cpu", 3), lambda m: m.set_autocast_cache_enabled("x"),
    lambda m: m.amp.is_autocast_available(3)])
def test_refusals(torch, program):
    assert refused(minigrad, program) == refused(torch, program)


def old_names(m):
    net, x = network(m)
    with m.cpu.amp.autocast():
        seen = [net(x).dtype, m.is_autocast_enabled("cpu")]
    scaler = m.cpu.amp.GradScaler(init_scale=4.0)
    return str((seen, scaler.scale(m.ones(1)), m.cpu.is_available(), m.cpu.device_count(), m.cpu.current_device(),
                m.cpu.synchronize()))


def test_old_names(torch):
    texts = []
    for m in (minigrad, torch):
        with pytest.warns(FutureWarning) as warned:
            texts.append([old_names(m), *[str(each.message) for each in warned]])
    assert texts[0] == texts[1]


def training(m):
    """Some steps of a network with a norm, under autocast and a scaler; one of them overflows."""
    m.manual_seed(0)
    net = m.nn.Sequential(m.nn.Linear(4, 8), m.nn.LayerNorm(8), m.nn.GELU(), m.nn.Linear(8, 3))
    optimizer, scaler = m.optim.SGD(net.parameters(), lr=0.05), m.amp.GradScaler("cpu", init_scale=256.0)
    x, target = m.linspace(-1, 1, 24).reshape(6, 4), m.arange(6) % 3
    losses = []
    for i in range(5):
        optimizer.zero_grad()
        with m.autocast("cpu", dtype=m.bfloat16):
            loss = m.nn.functional.cross_entropy(net(x if i != 2 else x * float("inf")), target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        m.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, scaler.get_scale(), [p.dtype for p in net.parameters()], [p.tolist() for p in net.parameters()]


def test_training(torch):
    (losses, scale, dtypes, params), (their_losses, their_scale, their_dtypes, theirs) = map(training,
                                                                                            (minigrad, torch))
    assert (scale, str(dtypes)) == (their_scale, str(their_dtypes))
    np.testing.assert_allclose(losses, their_losses, rtol=2 ** -8)
    for ours, other in zip(params, theirs, strict=True):
        np.testing.assert_allclose(ours, other, rtol=2 ** -7, atol=2 ** -10)


def test_another_dtype_is_warned_of_and_switched_off(torch):
    texts = []
    for m in (minigrad, torch):
        with pytest.warns(UserWarning) as warned, m.autocast("cpu", dtype=m.float32):
            assert not m.is_autocast_enabled("cpu")
        texts.append([str(each.message) for each in warned])
    assert texts[0] == texts[1]


def program_with_function(m):
    class Double(m.autograd.Function):
        @staticmethod
        @m.amp.custom_fwd(device_type="cpu", cast_inputs=m.float32)
        def forward(ctx, x):
            ctx.seen = m.is_autocast_enabled("cpu")
            return x * 2

        @staticmethod
        @m.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return g * 2 + ctx.seen

    x = m.ones(2, dtype=m.bfloat16, requires_grad=True)
    with m.autocast("cpu", dtype=m.bfloat16):
        y = Double.apply(x)
    y.sum().backward()
    return str((y.dtype, x.grad))


def test_custom_function(torch):
    assert program_with_function(minigrad) == program_with_function(torch)
