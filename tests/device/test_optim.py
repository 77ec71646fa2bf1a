"""Every optimiser and scheduler on the stand-in device: the steps of the CPU, and nothing comes to the host."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

import minigrad
from minigrad import optim
from tests.device.strict import COUNTS

OPTIMIZERS = {
    "SGD": lambda p: optim.SGD(p, lr=0.1, weight_decay=0.01),
    "SGD nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "SGD maximize": lambda p: optim.SGD(p, lr=0.1, maximize=True),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "Adam amsgrad": lambda p: optim.Adam(p, lr=0.1, amsgrad=True, weight_decay=0.1),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "Adamax": lambda p: optim.Adamax(p, lr=0.1),
    "NAdam": lambda p: optim.NAdam(p, lr=0.1),
    "RAdam": lambda p: optim.RAdam(p, lr=0.1),
    "Adadelta": lambda p: optim.Adadelta(p),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.1, centered=True, momentum=0.5),
    "Rprop": lambda p: optim.Rprop(p, lr=0.1),
    "ASGD": lambda p: optim.ASGD(p, lr=0.1, t0=2),
}
SEARCHES = [None, "strong_wolfe"]


def start(device):
    """Two parameters, of a problem whose gradients have both signs."""
    a = minigrad.tensor([[1.0, -2.0], [0.5, 3.0]]).to(device).requires_grad_()
    b = minigrad.tensor(0.7).to(device).requires_grad_()
    return a, b


def loss_of(a, b):
    return ((a * a).sum() - 1) ** 2 / 10 + (a.sin() * b).sum() + b * b


def steps(opt, params, count):
    """Some steps, each from gradients of None."""
    for _ in range(count):
        opt.zero_grad()
        loss_of(*params).backward()
        opt.step()


def same(ours, theirs, rtol=1e-5):
    for a, b in zip(ours, theirs, strict=True):
        assert b.device.type == "cuda" and a.dtype is b.dtype
        np.testing.assert_allclose(b.detach().cpu().numpy(), a.detach().numpy(), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(cuda, name):
    here, there = start("cpu"), start("cuda")
    steps(OPTIMIZERS[name](here), here, 4)
    opt = OPTIMIZERS[name](there)
    steps(opt, there, 4)
    assert COUNTS.to_host == 0
    same(here, there)
    for p in there:
        for key, value in opt.state[p].items():
            if isinstance(value, minigrad.Tensor):  # as in PyTorch counts stay on the CPU, where they are read
                assert value.device.type == ("cpu" if value.dim() == 0 and p.dim() else value.device.type), key
                assert (value.device.type == "cuda") == (key not in ("step", "mu_product", "eta", "mu")), key


@pytest.mark.parametrize("search", SEARCHES)
def test_lbfgs(cuda, search):
    found = []
    for device in ("cpu", "cuda"):
        params = start(device)
        opt = optim.LBFGS(params, lr=0.5, max_iter=4, line_search_fn=search)

        def closure(opt=opt, params=params):
            opt.zero_grad()
            loss = loss_of(*params)
            loss.backward()
            return loss

        opt.step(closure)
        found.append(params)
    same(*found, rtol=1e-4)


def test_set_to_zero(cuda):
    params = start("cuda")
    opt = optim.SGD(params, lr=0.1)
    loss_of(*params).backward()
    opt.zero_grad(set_to_none=False)
    assert COUNTS.to_host == 0
    assert all(p.grad.device.type == "cuda" and not p.grad.any() for p in params)


@pytest.mark.parametrize("name", ["Adam", "SGD nesterov", "NAdam", "ASGD"])
def test_state_from_another_device(cuda, name):
    here, there = start("cpu"), start("cuda")
    ours, theirs = OPTIMIZERS[name](here), OPTIMIZERS[name](there)
    steps(ours, here, 2)
    with minigrad.no_grad():
        for p, q in zip(there, here, strict=True):
            p.copy_(q)
    theirs.load_state_dict(copy.deepcopy(ours.state_dict()))
    steps(ours, here, 2)
    COUNTS.to_host = 0
    steps(theirs, there, 2)
    assert COUNTS.to_host == 0
    same(here, there)


def test_state_in_a_file(cuda):
    params, file = start("cuda"), io.BytesIO()
    opt = optim.Adam(params)
    steps(opt, params, 2)
    minigrad.save(opt.state_dict(), file)
    file.seek(0)
    found = minigrad.load(file)["state"][0]
    assert found["step"].device.type == "cpu" and found["step"].item() == 2
    assert found["exp_avg"].device.type == "cuda"
    np.testing.assert_array_equal(found["exp_avg"].cpu().numpy(), opt.state[params[0]]["exp_avg"].cpu().numpy())


SCHEDULERS = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 2),
    "ExponentialLR": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.5),
    "CosineAnnealingLR": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 4),
    "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.5, 5),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_scheduler(cuda, name):
    found = []
    for device in ("cpu", "cuda"):
        params = start(device)
        opt = optim.SGD(params, lr=0.1, momentum=0.9)
        scheduler = SCHEDULERS[name](opt)
        for _ in range(3):
            steps(opt, params, 1)
            scheduler.step()
        found.append(params)
    assert COUNTS.to_host == 0
    same(*found)


def test_plateau(cuda):
    params = start("cuda")
    opt = optim.SGD(params, lr=0.1)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    for _ in range(3):
        scheduler.step(minigrad.ones((), device="cuda"))
    assert opt.param_groups[0]["lr"] < 0.1


def test_averaged_model(cuda):
    model = minigrad.nn.Linear(2, 1).cuda()
    averaged = optim.swa_utils.AveragedModel(model)
    for value in (1.0, 3.0):
        with minigrad.no_grad():
            model.bias.fill_(value)
        averaged.update_parameters(model)
    assert averaged.module.bias.device.type == "cuda" and averaged.module.bias.item() == 2


def test_rate_on_the_device(cuda):
    here, there = start("cpu"), start("cuda")
    steps(optim.Adam(here, lr=minigrad.tensor(0.1)), here, 2)
    steps(optim.Adam(there, lr=minigrad.tensor(0.1, device="cuda")), there, 2)
    same(here, there)


def test_differentiable(cuda):
    found = []
    for device in ("cpu", "cuda"):
        w = minigrad.tensor([1.0, 2.0], device=device, requires_grad=True)
        p = w.clone()
        opt = optim.Adam([p], lr=0.1, differentiable=True)
        p.grad = (w * w).clone()
        opt.step()
        p.sum().backward()
        found.append(w.grad)
    same(found[:1], found[1:])
