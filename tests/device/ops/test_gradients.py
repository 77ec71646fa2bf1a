"""Gradients lie where their tensors do: numbers are moved there, all else is refused in PyTorch's words."""

from __future__ import annotations

import pytest

import minigrad
from minigrad.autograd import Function, grad

MISPLACED = "invalid gradient at index 0 - expected device cuda:0 but got cpu"
TYPE = r"has changed the type of value \(was torch.cuda.FloatTensor got torch.FloatTensor\)"
TO_CUDA = "with device type 'cpu' to a tensor with device type 'cuda'"
pytestmark = pytest.mark.usefixtures("cuda")


def leaf(*shape, device="cuda"):
    return minigrad.ones(shape, device=device, requires_grad=True)


class Given(Function):
    """The backward gives what it was given by the test."""

    @staticmethod
    def forward(ctx, x, made):
        ctx.made = made
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return ctx.made, None


def given(x, made, create_graph=False):
    y = Given.apply(x, made)
    return grad(y, x, minigrad.ones_like(y), create_graph=create_graph)[0]


@pytest.mark.parametrize("made", [lambda: minigrad.ones(3), lambda: minigrad.ones(3, dtype=minigrad.float64)])
def test_that_of_a_root_is_refused(made):
    x = leaf(3)
    with pytest.raises(RuntimeError, match=f"^{MISPLACED}$"):
        (x * 2).backward(made())
    with pytest.raises(RuntimeError, match=f"^{MISPLACED}$"):
        x.backward(made())
    with pytest.raises(RuntimeError, match="^invalid gradient at index 1 - expected device cpu but got cuda:0$"):
        minigrad.autograd.backward([x * 2, leaf(3, device="cpu")], [minigrad.ones(3, device="cuda")] * 2)
    with pytest.raises(RuntimeError, match=f"^{MISPLACED}$"):
        grad(x * 2, x, minigrad.ones(2, 3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="^invalid gradient at index 0 - expected device cuda:0 but got cuda:1$"):
        (x * 2).backward(minigrad.ones(3, device="cuda:1"))
    assert x.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_number_for_a_root_is_moved(create_graph):
    x = leaf()
    vector = minigrad.tensor(3.0, requires_grad=create_graph)
    made, = grad(x * x, x, vector, create_graph=create_graph)
    assert made.device == x.device and made.item() == 6
    if create_graph:
        made.backward()
        assert vector.grad.item() == 2 and vector.grad.device == minigrad.device("cpu")
    found, = grad(x * 2, x, minigrad.tensor([1.0, 2.0]), is_grads_batched=True)
    assert found.tolist() == [2.0, 4.0] and found.device == x.device


@pytest.mark.parametrize("create_graph", [False, True])
def test_that_of_a_function_is_refused(create_graph):
    x, y = leaf(3), leaf(3, device="cpu")
    for made in (minigrad.ones(3), minigrad.ones(2, 3), minigrad.ones(3, dtype=minigrad.float64)):
        with pytest.raises(RuntimeError, match=f"^Function GivenBackward returned an {MISPLACED}$"):
            given(x, made, create_graph)
    with pytest.raises(RuntimeError, match="index 0 - expected device cpu but got cuda:0$"):
        given(y, minigrad.ones(3, device="cuda"), create_graph)
    assert x.grad is y.grad is None


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(("device", "other"), [("cuda", "cpu"), ("cpu", "cuda")])
def test_a_number_of_a_function_is_moved(create_graph, device, other):
    x = leaf(device=device)
    for made, value in ((minigrad.tensor([4.0, 5.0], device=other), 9), (minigrad.tensor(1.0, device=device), 1)):
        found = given(x, made, create_graph)
        assert found.device == x.device and found.item() == value


@pytest.mark.parametrize("shape", [(), (3,)])
def test_that_of_a_hook_is_refused(shape):
    def tensor_hook(x, y):
        y.register_hook(lambda g: g.cpu())

    def leaf_hook(x, y):
        x.register_hook(lambda g: g.cpu())

    def pre_hook(x, y):
        y.grad_fn.register_prehook(lambda gs: (gs[0].cpu(),))

    def post_hook(x, y):
        y.grad_fn.register_hook(lambda made, gs: (made[0].cpu(), *made[1:]))

    for register in (tensor_hook, leaf_hook, pre_hook, post_hook):
        x = leaf(*shape)
        y = x * 2
        register(x, y)
        with pytest.raises(RuntimeError, match=TYPE):
            y.backward(minigrad.ones_like(y))
        assert x.grad is None
    x = leaf(*shape)
    x.register_hook(lambda g: g * 3)
    (x * 2).backward(minigrad.ones_like(x))
    assert x.grad.sum().item() == 6 * x.numel()


def test_that_of_a_tensor_is_refused():
    p, q = leaf(3), leaf(3, device="cpu")
    for tensor, made, what in ((p, minigrad.ones(3), TO_CUDA),
                               (p, minigrad.ones(4), TO_CUDA),
                               (leaf(), minigrad.ones(()), TO_CUDA),
                               (q, minigrad.ones(3, device="cuda"),
                                "with device type 'cuda' to a tensor with device type 'cpu'"),
                               (p, minigrad.ones(3, device="cuda:1"), "located on device with index '1' to a tensor "
                                "located on device with index '0'")):
        with pytest.raises(RuntimeError) as error:
            tensor.grad = made
        assert str(error.value) == (f"attempting to assign a gradient {what}. Please ensure that the gradient and the "
                                    "tensor are on the same device")
        assert tensor.grad is None
    with pytest.raises(RuntimeError, match="with dtype 'double'"):
        p.grad = minigrad.ones(3, dtype=minigrad.float64)
    p.grad = minigrad.ones(3, device="cuda")
    assert p.grad.device == p.device


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_comes_back_in_the_dtype_and_to_the_device_of_its_tensor(cuda, create_graph):
    x = minigrad.ones(3, requires_grad=True)
    y = x.to("cuda", minigrad.float64)
    assert (str(y.device), y.dtype, y.grad_fn.name()) == ("cuda:0", minigrad.float64, "ToCopyBackward0")
    (g,) = minigrad.autograd.grad((y * y).sum(), x, create_graph=create_graph)
    assert (str(g.device), g.dtype, g.tolist()) == ("cpu", minigrad.float32, [2.0, 2.0, 2.0])
