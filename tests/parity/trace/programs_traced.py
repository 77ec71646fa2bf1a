"""Programs that are recorded with both libraries: one source text each, for `torch` and for minigrad."""

from __future__ import annotations

from typing import Any

__all__ = ["PROGRAMS"]


def digits(torch: Any, *shape: int) -> Any:
    """Numbers that look arbitrary and are the same everywhere."""
    n = 1
    for size in shape:
        n *= size
    return (torch.arange(float(n)) * 37 % 23 / 16 - 0.7).reshape(shape)


def mlp(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3))
    loss = nn.functional.cross_entropy(model(digits(torch, 2, 4)), torch.tensor([0, 2]))
    loss.backward()
    return [p.grad for p in model.parameters()]


def cnn(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3))
    loss = nn.functional.cross_entropy(model(digits(torch, 2, 1, 6, 6)), torch.tensor([0, 2]))
    loss.backward()
    return [p.grad for p in model.parameters()]


def transformer(torch: Any) -> Any:
    model = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    loss = model(digits(torch, 2, 3, 4)).pow(2).mean()
    loss.backward()
    return [p.grad for p in model.parameters()]


def shared_weights(torch: Any) -> Any:
    w = digits(torch, 3, 3).requires_grad_()
    x = digits(torch, 2, 3)
    y = torch.tanh(torch.tanh(x @ w) @ w)
    (y * y).sum().backward()
    return w.grad


def several_outputs(torch: Any) -> Any:
    x = digits(torch, 6, 2).requires_grad_()
    a, b, c = x.split(2)
    u, v = (a * c).unbind(1)
    top, places = b.max(dim=1)
    (u * v + top).sum().backward()
    return x.grad, places


def views_in_place(torch: Any) -> Any:
    x = digits(torch, 3, 4).requires_grad_()
    y = x * 2
    row = y[1]
    row.mul_(3)
    y[:, 0].add_(x[0, 0])
    y.t().exp_()
    y.sum().backward()
    return x.grad


def own_function(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = digits(torch, 3).requires_grad_()
    y = Cube.apply(x * 2)
    (y + 1).sum().backward()
    return x.grad


def block(torch: Any, w: Any, x: Any) -> Any:
    return torch.tanh(torch.sin(x @ w) * x)


def checkpointed(torch: Any, reentrant: bool) -> Any:
    from_checkpoint = torch.utils.checkpoint.checkpoint
    w = digits(torch, 3, 3).requires_grad_()
    x = digits(torch, 2, 3).requires_grad_()

    def layer(h: Any) -> Any:
        return block(torch, w, h)

    y = x * 2
    for _ in range(2):
        y = from_checkpoint(layer, y, use_reentrant=reentrant)
    y.sum().backward()
    return w.grad, x.grad


def checkpoint_reentrant(torch: Any) -> Any:
    return checkpointed(torch, True)


def checkpoint_non_reentrant(torch: Any) -> Any:
    return checkpointed(torch, False)


def hooks(torch: Any) -> Any:
    x, w = digits(torch, 3).requires_grad_(), digits(torch, 3).requires_grad_()

    def double(g: Any) -> Any:
        return g * 2

    def look(*grads: Any) -> None:
        return None

    y = x * w
    y.retain_grad()
    y.register_hook(double)
    y.register_hook(look)
    x.register_hook(double)
    w.register_post_accumulate_grad_hook(look)
    y.grad_fn.register_prehook(look)
    y.grad_fn.register_hook(lambda made, received: (made[0] * 3, made[1]))
    z = y.exp().sum()
    z.register_hook(look)
    z.backward()
    return x.grad, w.grad, y.grad


def double_backward(torch: Any) -> Any:
    x = digits(torch, 3).requires_grad_()
    y = (x * x * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return g, h


def rnn(torch: Any) -> Any:
    model = torch.nn.RNN(2, 3)
    _, h = model(digits(torch, 200, 1, 2))
    h.sum().backward()
    return [p.grad for p in model.parameters()]


def frozen_layer(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    model[2].requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        model(digits(torch, 2, 3)).sum().backward()
        optimizer.step()
    return [p.grad for p in model.parameters()]


PROGRAMS = (mlp, cnn, transformer, shared_weights, several_outputs, views_in_place, own_function, checkpoint_reentrant,
            checkpoint_non_reentrant, hooks, double_backward, rnn, frozen_layer)
