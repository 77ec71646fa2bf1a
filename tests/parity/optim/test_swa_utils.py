"""optim.swa_utils: averages of weights, BatchNorm after them, and the schedule that goes with them."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike

pytestmark = pytest.mark.torch


def model_of(m):
    """A model with parameters and buffers, of values that do not depend on the library."""
    model = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.BatchNorm1d(3), m.nn.Linear(3, 1)).double()
    with m.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(m.arange(p.numel(), dtype=m.float64).view(p.shape) / 7 + i)
    return model


def averaged(m, made, rounds=4):
    """What an average is after some rounds: its state, and what it says of a batch."""
    model = model_of(m)
    mean = made(m.optim.swa_utils, model)
    for i in range(rounds):
        with m.no_grad():
            for p in model.parameters():
                p.mul_(0.8).add_(i)
        model(m.arange(8, dtype=m.float64).view(4, 2) * (i + 1))
        mean.update_parameters(model)
    mean.eval()
    return [[name, value] for name, value in mean.state_dict().items()], mean(m.ones(2, 2, dtype=m.float64))


def trained(m, run):
    """The learning rates of two groups while a schedule runs."""
    params = [m.ones(2, requires_grad=True), m.ones(3, requires_grad=True)]
    optimizer = m.optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.5}], lr=0.1)
    schedule = run(m.optim.swa_utils, optimizer)
    rates = [schedule.get_last_lr()]
    for _ in range(7):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr())
    return rates, sorted(schedule.state_dict()), [group["swa_lr"] for group in optimizer.param_groups]


def resumed(m):
    """A schedule that goes on from a state."""
    params = [m.ones(2, requires_grad=True)]
    optimizer = m.optim.SGD(params, lr=0.1)
    first = m.optim.swa_utils.SWALR(optimizer, 0.01, 4, "linear")
    optimizer.step()
    first.step()
    second = m.optim.swa_utils.SWALR(m.optim.SGD(params, lr=0.1), 0.5)
    second.load_state_dict(first.state_dict())
    return second.anneal_epochs, second.last_epoch, second.anneal_func(0.3), second.get_last_lr()


def renewed(m, batches, **options):
    """The buffers of a model after `update_bn`, and its momentum and mode."""
    model = model_of(m).train(options.pop("training", True))
    m.optim.swa_utils.update_bn(batches, model, **options)
    return [[n, b] for n, b in model.named_buffers()], model[1].momentum, model.training


PROGRAMS = {
    "mean": lambda m: averaged(m, lambda u, model: u.AveragedModel(model)),
    "mean, one round": lambda m: averaged(m, lambda u, model: u.AveragedModel(model), 1),
    "mean, by avg_fn": lambda m: averaged(m, lambda u, model: u.AveragedModel(model, avg_fn=u.get_swa_avg_fn())),
    "mean, device": lambda m: averaged(m, lambda u, model: u.AveragedModel(model, "cpu")),
    "ema": lambda m: averaged(m, lambda u, model: u.AveragedModel(model, avg_fn=u.get_ema_avg_fn(0.9))),
    "ema, lists": lambda m: averaged(m, lambda u, model: u.AveragedModel(model, multi_avg_fn=u.get_ema_multi_avg_fn())),
    "ema, buffers": lambda m: averaged(m, lambda u, model: u.AveragedModel(
        model, multi_avg_fn=u.get_ema_multi_avg_fn(0.6), use_buffers=True)),
    "ema, buffers, avg_fn": lambda m: averaged(m, lambda u, model: u.AveragedModel(
        model, avg_fn=u.get_ema_avg_fn(0.6), use_buffers=True)),
    "mean, buffers": lambda m: averaged(m, lambda u, model: u.AveragedModel(model, use_buffers=True)),
    "a function of the user's": lambda m: averaged(m, lambda u, model: u.AveragedModel(
        model, avg_fn=lambda mean, new, n: mean + 0.1 * n * new)),
    "both functions": lambda m: m.optim.swa_utils.AveragedModel(m.nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max),
    "decay 2": lambda m: m.optim.swa_utils.get_ema_avg_fn(2),
    "decay -1": lambda m: m.optim.swa_utils.get_ema_multi_avg_fn(-1),
    "printed": lambda m: repr(m.optim.swa_utils.AveragedModel(m.nn.Linear(2, 1))),
    "update_bn": lambda m: renewed(m, [m.arange(8, dtype=m.float64).view(4, 2) * i for i in range(3)]),
    "update_bn of pairs": lambda m: renewed(m, [(m.eye(2, dtype=m.float64), 1)], device="cpu", training=False),
    "update_bn of lists": lambda m: renewed(m, [[m.eye(2, dtype=m.float64) * i, 1] for i in range(4)]),
    "update_bn without any": lambda m: m.optim.swa_utils.update_bn([m.ones(2, 2)], m.nn.Linear(2, 2)),
    "cos": lambda m: trained(m, lambda u, o: u.SWALR(o, 0.05, anneal_epochs=5)),
    "linear": lambda m: trained(m, lambda u, o: u.SWALR(o, [0.05, 0.3], 4, "linear")),
    "at once": lambda m: trained(m, lambda u, o: u.SWALR(o, 0.05, anneal_epochs=0)),
    "resumed": resumed,
    "too many rates": lambda m: trained(m, lambda u, o: u.SWALR(o, [0.1, 0.2, 0.3])),
    "another strategy": lambda m: trained(m, lambda u, o: u.SWALR(o, 0.1, anneal_strategy="step")),
    "epochs -1": lambda m: trained(m, lambda u, o: u.SWALR(o, 0.1, -1)),
    "epochs 1.5": lambda m: trained(m, lambda u, o: u.SWALR(o, 0.1, 1.5)),
    "get_lr": lambda m: m.optim.swa_utils.SWALR(m.optim.SGD([m.ones(1, requires_grad=True)], 0.1), 0.2).get_lr(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_averages(torch, name):
    alike(torch, PROGRAMS[name])
