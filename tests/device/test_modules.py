"""Modules on the stand-in device: moved, saved, loaded, taken through functions of the user's."""

from __future__ import annotations

import io

import numpy as np
import pytest

import minigrad
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.nn import utils
from minigrad.utils.data import DataLoader, TensorDataset
from tests.device.strict import COUNTS


def model():
    """A model with parameters, buffers and a buffer of integers, in training, with gradients."""
    minigrad.manual_seed(0)
    made = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    made(minigrad.randn(5, 3)).sum().backward()
    return made


def devices(module):
    return {t.device.type for t in [*module.parameters(), *module.buffers(), *[p.grad for p in module.parameters()]]}


MOVES = {
    "to": lambda m: m.to("cuda"),
    "cuda": lambda m: m.cuda(),
    "device": lambda m: m.to(minigrad.device("cuda", 0)),
    "like": lambda m: m.to(minigrad.ones(1, device="cuda")),
}


@pytest.mark.parametrize("name", MOVES)
def test_there_and_back(cuda, name):
    made, move = model(), MOVES[name]
    before, values = list(made.parameters()), [p.detach().numpy().copy() for p in made.parameters()]
    assert move(made) is made
    assert devices(made) == {"cuda"}
    assert all(a is b for a, b in zip(made.parameters(), before, strict=True))
    assert all(p.is_leaf and p.requires_grad for p in made.parameters())
    made.cpu()
    assert devices(made) == {"cpu"}
    for p, value in zip(made.parameters(), values, strict=True):
        np.testing.assert_array_equal(p.detach().numpy(), value)


def test_device_and_dtype(cuda):
    made = model().to("cuda:1", minigrad.float64)
    assert {str(p.device) for p in made.parameters()} == {"cuda:1"}
    assert {p.dtype for p in made.parameters()} == {minigrad.float64}
    assert made[1].num_batches_tracked.dtype is minigrad.int64
    assert str(made[1].num_batches_tracked.device) == "cuda:1"


def test_made_there(cuda):
    made = nn.Linear(3, 2, device="cuda")
    assert {p.device.type for p in made.parameters()} == {"cuda"}
    with minigrad.device("cuda"):
        assert {p.device.type for p in nn.LayerNorm(3).parameters()} == {"cuda"}


def test_an_optimizer_goes_on_after_the_move(cuda):
    made = nn.Linear(3, 1)
    opt = minigrad.optim.SGD(made.parameters(), lr=1.0)
    made.cuda()
    made(minigrad.ones(2, 3, device="cuda")).sum().backward()
    before = made.bias.item()
    opt.step()
    assert made.bias.item() == pytest.approx(before - 2)


def test_state_dicts_between_devices(cuda):
    here, there = model(), model().cuda()
    with minigrad.no_grad():
        there[0].weight.mul_(2)
    here.load_state_dict(there.state_dict())
    assert devices(here) == {"cpu"}
    np.testing.assert_array_equal(here[0].weight.detach().numpy(), there[0].weight.detach().cpu().numpy())
    there.load_state_dict(model().state_dict())
    assert devices(there) == {"cuda"}
    np.testing.assert_array_equal(there[0].weight.detach().cpu().numpy(), model()[0].weight.detach().numpy())


def test_saved_and_loaded_where_it_was(cuda):
    state = {"model": model().cuda().state_dict(), "epoch": 3, "here": minigrad.arange(3)}
    file = io.BytesIO()
    minigrad.save(state, file)
    file.seek(0)
    found = minigrad.load(file)
    assert found["epoch"] == 3 and found["here"].device.type == "cpu"
    for key, value in state["model"].items():
        assert found["model"][key].device == value.device
        np.testing.assert_array_equal(found["model"][key].cpu().numpy(), value.cpu().numpy())


LOCATIONS = {
    "a device": (minigrad.device("cpu"), "cpu", "cpu"),
    "a string": ("cuda:1", "cuda:1", "cuda:1"),
    "a dict": ({"cuda:0": "cuda:1"}, "cuda:1", "cpu"),
    "a function": (lambda tensor, location: tensor, "cpu", "cpu"),
    "a function that moves": (lambda tensor, location: tensor.cuda(1), "cuda:1", "cuda:1"),
    "a function that leaves it": (lambda tensor, location: None, "cuda:0", "cpu"),
}


@pytest.mark.parametrize("name", LOCATIONS)
def test_map_location(cuda, name):
    location, there, here = LOCATIONS[name]
    file = io.BytesIO()
    minigrad.save([minigrad.ones(2, device="cuda", requires_grad=True), minigrad.arange(3)], file)
    file.seek(0)
    first, second = minigrad.load(file, map_location=location)
    assert (str(first.device), str(second.device)) == (there, here)
    assert first.requires_grad and first.is_leaf and not second.requires_grad
    assert first.tolist() == [1, 1] and second.tolist() == [0, 1, 2]


def test_a_file_from_a_device_that_is_not_here(cuda, monkeypatch):
    file = io.BytesIO()
    minigrad.save(minigrad.ones(2, device="cuda:1"), file)
    monkeypatch.setattr(cuda, "device_count", lambda: 1)
    file.seek(0)
    with pytest.raises(RuntimeError, match="CUDA device 1 but torch.cuda.device_count\\(\\) is 1"):
        minigrad.load(file)
    monkeypatch.setattr(cuda, "device_count", lambda: 0)
    file.seek(0)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but"):
        minigrad.load(file)
    file.seek(0)
    assert minigrad.load(file, map_location="cpu").tolist() == [1, 1]


def test_clipped(cuda):
    here, there = model(), model().cuda()
    a, b = [utils.clip_grad_norm_(m.parameters(), 0.1) for m in (here, there)]
    assert b.device.type == "cuda" and COUNTS.to_host == 0
    assert b.item() == pytest.approx(a.item())
    for p, q in zip(here.parameters(), there.parameters(), strict=True):
        np.testing.assert_allclose(q.grad.cpu().numpy(), p.grad.numpy(), rtol=1e-5)
    utils.clip_grad_value_(there.parameters(), 1e-3)
    assert max(p.grad.abs().max().item() for p in there.parameters()) <= 1e-3 * 1.0001


def test_gradients_on_two_devices_are_clipped_together(cuda):
    first, second = minigrad.ones(2, device="cuda:0", requires_grad=True), minigrad.ones(2, requires_grad=True)
    first.grad, second.grad = minigrad.full((2,), 3.0, device="cuda:0"), minigrad.full((2,), 4.0)
    norm = utils.clip_grad_norm_([first, second], 1.0)
    assert str(norm.device) == "cuda:0" and norm.item() == pytest.approx(50 ** 0.5)
    assert second.grad.device.type == "cpu" and second.grad[0].item() == pytest.approx(4 / 50 ** 0.5, rel=1e-4)


def test_one_vector(cuda):
    made = model().cuda()
    vector = utils.parameters_to_vector(made.parameters())
    assert vector.device.type == "cuda"
    utils.vector_to_parameters(vector * 2, made.parameters())
    assert devices(made) == {"cuda"}
    assert made[0].bias[0].item() == pytest.approx(2 * vector[12].item())


def test_data_loader(cuda):
    data = TensorDataset(minigrad.arange(6.0).reshape(6, 1), minigrad.arange(6))
    for x, y in DataLoader(data, batch_size=4, pin_memory=True):
        assert x.device.type == "cpu"
        assert x.to("cuda", non_blocking=True).device.type == y.cuda().device.type == "cuda"


def test_hooks(cuda):
    made, seen = nn.Linear(2, 1).cuda(), []
    made.register_forward_hook(lambda module, args, out: seen.append(out.device.type))
    made.register_full_backward_hook(lambda module, into, out: seen.append(out[0].device.type))
    made.weight.register_hook(lambda g: seen.append(g.device.type))
    made.weight.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device.type))
    made(minigrad.ones(3, 2, device="cuda", requires_grad=True)).sum().backward()
    assert seen == ["cuda"] * 4 and COUNTS.to_host == 0


class Square(minigrad.autograd.Function):
    """x², by hand."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        assert x.device == g.device
        return 2 * x * g


def test_a_function_of_the_users(cuda):
    x = minigrad.tensor([1.0, -3.0], device="cuda", requires_grad=True)
    (g,) = minigrad.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    (h,) = minigrad.autograd.grad(g.sum(), x)
    assert COUNTS.to_host == 0
    assert g.tolist() == [2, -6] and h.tolist() == [2, 2] and h.device.type == "cuda"


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck(cuda, fast):
    x = minigrad.tensor([[0.3, -0.4], [0.5, 0.7]], dtype=minigrad.float64, device="cuda", requires_grad=True)
    assert minigrad.autograd.gradcheck(lambda v: F.softmax(v.tanh() @ v, 1), (x,), fast_mode=fast)
    assert minigrad.autograd.gradgradcheck(lambda v: (v * v).sin(), (x,), fast_mode=fast)
    assert minigrad.autograd.gradcheck(Square.apply, (x,), fast_mode=fast)


def test_jacobian_and_hessian(cuda):
    x = minigrad.tensor([1.0, 2.0], device="cuda")
    jacobian = minigrad.autograd.functional.jacobian(lambda v: v * v, x)
    hessian = minigrad.autograd.functional.hessian(lambda v: (v ** 3).sum(), x)
    assert jacobian.device.type == hessian.device.type == "cuda"
    assert jacobian.tolist() == [[2, 0], [0, 4]] and hessian.tolist() == [[6, 0], [0, 12]]
