"""Programs in which numbers take a way that autograd does not follow: comparisons, casts, `detach`, `item`, NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minigrad.recorder import Trace, record

__all__ = ["DETOURS", "both"]

NUMBERS = {"a": ([1.5, -2., 3.], [-1.25, 2.5, 0.5]), "b": ([0.5, 2., -1.], [1., -2., 2.])}


def mask(m: Any, a: Any, b: Any) -> None:
    (a * (a > b).to(m.float32) * b).sum().backward()


def mask_in_where(m: Any, a: Any, b: Any) -> None:
    (m.where(a > 0, a, 2 * a) * b).sum().backward()


def logic(m: Any, a: Any, b: Any) -> None:
    (a * m.logical_and(a > 0, ~(b > 1)).float()).sum().backward()


def detach_of_gone(m: Any, a: Any, b: Any) -> None:
    c = (a * 2).detach()
    (c * b + a).sum().backward()


def data(m: Any, a: Any, b: Any) -> None:
    c = (a * b).data
    (c * b + a.data * b).sum().backward()


def integers(m: Any, a: Any, b: Any) -> None:
    (a.long() * b + a).sum().backward()


def rounded(m: Any, a: Any, b: Any) -> None:
    ((a.detach() * 2).int().float() * b).sum().backward()


def largest(m: Any, a: Any, b: Any) -> None:
    index = a.argmax()
    (a * b)[index].backward()


def chosen(m: Any, a: Any, b: Any) -> None:
    a.gather(0, b.argsort()).cumsum(0).sum().backward()


def masked(m: Any, a: Any, b: Any) -> None:
    a.masked_fill(b < 0, 0.5).prod().backward()


def gradient_given(m: Any, a: Any, b: Any) -> None:
    y = a * b
    y.backward(b.detach() * 3)


def gradient_of_gone(m: Any, a: Any, b: Any) -> None:
    (a * b).backward((a * 2).detach())


def outputs_given(m: Any, a: Any, b: Any) -> None:
    found, = m.autograd.grad(a * a, a, grad_outputs=b.detach())
    (found * b).sum().backward()


def item(m: Any, a: Any, b: Any) -> None:
    (a * a.sum().item()).sum().backward()


def tensor_of_item(m: Any, a: Any, b: Any) -> None:
    (a * m.tensor(a.sum().item())).sum().backward()


def of_list(m: Any, a: Any, b: Any) -> None:
    (a * m.tensor(b.tolist())).sum().backward()


def numpy(m: Any, a: Any, b: Any) -> None:
    (a * m.tensor(b.detach().numpy() * 2)).sum().backward()


def shared_with_numpy(m: Any, a: Any, b: Any) -> None:
    (a * m.from_numpy((b * 2).detach().numpy())).sum().backward()


def clipped(m: Any, a: Any, b: Any) -> None:
    (a * b * 5).sum().backward()
    m.nn.utils.clip_grad_norm_([a, b], 1.)
    with m.no_grad():
        a -= a.grad
    (a * b).sum().backward()


def clipped_values(m: Any, a: Any, b: Any) -> None:
    (a * b * 5).sum().backward()
    m.nn.utils.clip_grad_value_([a, b], 1.)
    with m.no_grad():
        a -= a.grad
    (a * b).sum().backward()


def scaled_grad(m: Any, a: Any, b: Any) -> None:
    (a * b).sum().backward()
    a.grad = a.grad * 2
    with m.no_grad():
        a -= a.grad
    (a * b).sum().backward()


def copied(m: Any, a: Any, b: Any) -> None:
    c = m.zeros(3)
    c.copy_(a.detach())
    (c * b).sum().backward()


def written_slices(m: Any, a: Any, b: Any) -> None:
    c = m.zeros(3)
    c[1:] = a[1:]
    c[0] = b[2]
    (c * b).sum().backward()


def made_like(m: Any, a: Any, b: Any) -> None:
    (m.full_like(a, 2.) * a + m.ones_like(b) * b).sum().backward()


def new_tensor(m: Any, a: Any, b: Any) -> None:
    (m.tensor(a.detach()) * b).sum().backward()


def optimizer(m: Any, a: Any, b: Any) -> None:
    step = m.optim.SGD([a, b], lr=0.1, momentum=0.9)
    for _ in range(2):
        step.zero_grad()
        (a * b * a).sum().backward()
        step.step()


def adam(m: Any, a: Any, b: Any) -> None:
    step = m.optim.Adam([a, b], lr=0.1)
    for _ in range(2):
        step.zero_grad()
        (a * b * a).sum().backward()
        step.step()


def hook(m: Any, a: Any, b: Any) -> None:
    c = a * b
    c.register_hook(lambda grad: grad * a.detach())
    (c * c).sum().backward()


def two_hooks(m: Any, a: Any, b: Any) -> None:
    c = a * b
    c.register_hook(lambda grad: grad * 2)
    c.register_hook(lambda grad: grad + b.detach())
    c.sum().backward()


def penalty(m: Any, a: Any, b: Any) -> None:
    slope, = m.autograd.grad((a * a * b).sum(), a, create_graph=True)
    (slope * slope).sum().backward()


def function(m: Any, a: Any, b: Any) -> None:
    class Double(m.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    (Double.apply(a) * b).sum().backward()


def condition(m: Any, a: Any, b: Any) -> None:
    (a * b if a.sum() > 2 else a + b).sum().backward()


def counted(m: Any, a: Any, b: Any) -> None:
    ((a > 0).sum() * b).sum().backward()


def any_of_them(m: Any, a: Any, b: Any) -> None:
    (m.where((a > 2).any(), a, b) * b).sum().backward()


def sign(m: Any, a: Any, b: Any) -> None:
    (a.sign() * b + a.floor() + m.heaviside(a.detach(), b.detach())).sum().backward()


def under_no_grad(m: Any, a: Any, b: Any) -> None:
    with m.no_grad():
        scale = a.abs().max()
    (a / scale * b).sum().backward()


def norms(m: Any, a: Any, b: Any) -> None:
    with m.no_grad():
        scale = m.stack([a.norm(), b.norm()]).norm()
    (a / scale * b).sum().backward()


def equal(m: Any, a: Any, b: Any) -> None:
    (a if m.equal(a, b) or a.max() > 2 else b).sum().backward()


Program = Callable[[Any, Any, Any], None]
DETOURS: list[Program] = [
    mask, mask_in_where, logic, detach_of_gone, data, integers, rounded, chosen, masked, gradient_given,
    gradient_of_gone, outputs_given, clipped, clipped_values, scaled_grad, copied, written_slices, made_like,
    new_tensor, optimizer, adam, hook, two_hooks, counted, any_of_them, sign, under_no_grad, norms, penalty, function]
# Those in which Python or NumPy does something with the numbers.
READERS: list[Program] = [largest, item, tensor_of_item, of_list, numpy, shared_with_numpy, equal, condition]


def both(m: Any, program: Program, recorder: Any = record) -> tuple[Trace, Trace]:
    """The traces of a program with the numbers that are recorded, and with others."""

    def traced(which: int) -> Trace:
        leaves = {name: m.tensor(numbers[which], requires_grad=True) for name, numbers in NUMBERS.items()}
        with recorder(leaves) as trace:
            program(m, **leaves)
        return trace

    return traced(0), traced(1)
