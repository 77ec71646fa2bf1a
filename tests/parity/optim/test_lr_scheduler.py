"""Schedules: the same rates and momenta for 100 steps, the same states, warnings and refusals."""

from __future__ import annotations

import copy
import inspect
import math

import pytest

import minigrad.optim.lr_scheduler
from tests.parity.alike import alike, ending
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch


class Wave:
    """A function with attributes, which states keep."""

    def __init__(self, speed):
        self.speed = speed

    def __call__(self, epoch):
        return 1.5 + math.sin(self.speed * epoch)


def optimizer(m, kind="SGD", **options):
    """An optimiser of two groups with rates of their own."""
    groups = [{"params": [m.ones(2, requires_grad=True)]}, {"params": [m.zeros(1, requires_grad=True)], "lr": 0.05}]
    return getattr(m.optim, kind)(groups, lr=0.5, **({"momentum": 0.9} if kind == "SGD" else {}) | options)


SCHEDULES = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.95**epoch),
    "LambdaLR, two": lambda s, o: s.LambdaLR(o, [lambda epoch: epoch // 30, Wave(0.1)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "MultiplicativeLR, two": lambda s, o: s.MultiplicativeLR(o, (lambda epoch: 1 - epoch / 200, Wave(0.3))),
    "StepLR": lambda s, o: s.StepLR(o, 7),
    "StepLR, gamma": lambda s, o: s.StepLR(o, step_size=30, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [30, 80]),
    "MultiStepLR, twice": lambda s, o: s.MultiStepLR(o, [80, 10, 10, 25], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "ConstantLR, options": lambda s, o: s.ConstantLR(o, 0.7, 13),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR, options": lambda s, o: s.LinearLR(o, 0.9, 0.1, 40),
    "LinearLR, down to zero": lambda s, o: s.LinearLR(o, 1.0, 0.0, 40),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o),
    "PolynomialLR, options": lambda s, o: s.PolynomialLR(o, 60, 2.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 100),
    "CosineAnnealingLR, there and back": lambda s, o: s.CosineAnnealingLR(o, 13, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 9),
    "CosineAnnealingWarmRestarts, longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.001),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 17),
    "CyclicLR, uneven": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.4, 0.3], 5, 11, base_momentum=0.3),
    "CyclicLR, triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 10, mode="triangular2", cycle_momentum=False),
    "CyclicLR, exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 10, mode="exp_range", gamma=0.98),
    "CyclicLR, function": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 10, scale_fn=lambda x: 1 / x),
    "CyclicLR, function of steps": lambda s, o: s.CyclicLR(o, 0.01, 0.4, 10, scale_fn=Wave(1), scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, 100),
    "OneCycleLR, linear": lambda s, o: s.OneCycleLR(o, [0.5, 0.1], epochs=10, steps_per_epoch=11, pct_start=0.45,
                                                    anneal_strategy="linear", div_factor=10, final_div_factor=100),
    "OneCycleLR, three phases": lambda s, o: s.OneCycleLR(o, 0.5, 120, three_phase=True, base_momentum=[0.7, 0.8]),
    "OneCycleLR, rate alone": lambda s, o: s.OneCycleLR(o, 0.5, 100, cycle_momentum=False),
    "SequentialLR": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 20), s.ExponentialLR(o, 0.9)], [20]),
    "SequentialLR, three": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.01, total_iters=10), s.CosineAnnealingLR(o, 50), s.StepLR(o, 5)], milestones=[10, 60]),
    "SequentialLR, nested": lambda s, o: s.SequentialLR(o, [s.SequentialLR(
        o, [s.LambdaLR(o, lambda e: e / 9), s.ConstantLR(o)], [5]), s.PolynomialLR(o, 20)], [30]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 20), s.ExponentialLR(o, 0.9)]),
    "ChainedScheduler, three": lambda s, o: s.ChainedScheduler(
        [s.StepLR(o, 30), s.CosineAnnealingLR(o, 25, 0.001), s.MultiplicativeLR(o, lambda epoch: 0.99)], o),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o),
    "ReduceLROnPlateau, soon": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=3, min_lr=1e-4),
    "ReduceLROnPlateau, max": lambda s, o: s.ReduceLROnPlateau(
        o, "max", 0.3, 1, 0.2, "abs", min_lr=[1e-3, 0.01], eps=1e-3),
    "ReduceLROnPlateau, max rel": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.9, 3, 0.3),
    "ReduceLROnPlateau, min abs": lambda s, o: s.ReduceLROnPlateau(o, "min", 0.9, 0, 0.05, threshold_mode="abs"),
}


def rates(opt):
    """What a schedule may change."""
    return [(float(group["lr"]), group.get("momentum"), group.get("betas")) for group in opt.param_groups]


def advance(schedule, opt, epoch, *by_number):
    """One step of the optimiser, and one of the schedule."""
    opt.step()
    if type(schedule).__name__ == "ReduceLROnPlateau":
        schedule.step(1 / (epoch + 1) + 0.3 * math.sin(epoch), *by_number)
    else:
        schedule.step(*by_number)
    return rates(opt), [float(lr) for lr in schedule.get_last_lr()]


def close(ours, theirs):
    """Nested lists whose numbers agree to 1e-12."""
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    if isinstance(theirs, dict):
        return list(ours) == list(theirs) and all(close(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-15)
    return ours == theirs


NESTED = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")  # in both, and see `one_in_another`


@NESTED
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_hundred_steps(torch, name, kind):
    def program(m):
        opt = optimizer(m, kind)
        schedule = SCHEDULES[name](m.optim.lr_scheduler, opt)
        start = rates(opt)
        return [start, *[advance(schedule, opt, epoch) for epoch in range(100)]], schedule.state_dict()

    (ours, our_state), (theirs, their_state) = program(minigrad), program(torch)
    assert close(ours, theirs)
    assert len({str(each) for each in theirs}) > 1
    assert close(our_state, their_state)


@NESTED
@pytest.mark.parametrize("name", SCHEDULES)
def test_state_goes_on(torch, name):
    def program(m, source):
        """Ten steps, and ten more of another schedule that takes over the state of the first, from either library."""
        s, opt = m.optim.lr_scheduler, optimizer(m)
        schedule = SCHEDULES[name](s, opt)
        for epoch in range(10):
            advance(schedule, opt, epoch)
        state = copy.deepcopy(source(schedule))
        again = optimizer(m)
        other = SCHEDULES[name](s, again)
        given = copy.deepcopy(state)
        other.load_state_dict(state)
        assert state == given or m is not minigrad  # PyTorch's CyclicLR takes out what it used
        again.load_state_dict(opt.state_dict())
        return [advance(other, again, epoch) for epoch in range(10, 20)], given

    theirs, their_state = program(torch, lambda schedule: schedule.state_dict())
    assert close(program(minigrad, lambda schedule: schedule.state_dict())[0], theirs)
    assert close(program(minigrad, lambda schedule: their_state)[0], theirs)


BY_NUMBER = [name for name in SCHEDULES if not name.startswith(("Sequential", "Chained"))]


@pytest.mark.parametrize("name", BY_NUMBER)
def test_epochs_by_number(torch, name):
    def program(m):
        opt = optimizer(m)
        schedule = SCHEDULES[name](m.optim.lr_scheduler, opt)
        return [advance(schedule, opt, epoch, epoch) for epoch in (1, 2, 3, 20, 21, 7, 0, 50)]

    assert ending(program, minigrad) == ending(program, torch)


@pytest.mark.parametrize("name", [name for name in BY_NUMBER if not name.startswith("Reduce")])
def test_begun_in_the_middle(torch, name):
    def program(m):
        opt = optimizer(m)
        schedule = SCHEDULES[name](m.optim.lr_scheduler, opt)
        for epoch in range(12):
            advance(schedule, opt, epoch)
        named = {parameter: value for parameter, value in vars(schedule).items() if parameter in inspect.signature(
            type(schedule)).parameters and parameter not in ("optimizer", "last_epoch")}
        lambdas = {"lr_lambda": schedule.lr_lambdas} if hasattr(schedule, "lr_lambdas") else {}
        rest = {"CyclicLR": (0.01, 0.4), "OneCycleLR": (0.5, 100)}.get(type(schedule).__name__, ())
        named = {} if rest else named
        again = type(schedule)(opt, *rest, **named, **lambdas, last_epoch=12)
        return [rates(opt), *[advance(again, opt, epoch) for epoch in range(12, 20)]]

    assert ending(program, minigrad) == ending(program, torch)


programs = Programs()


@programs
def tensors_as_rates(m):
    s = m.optim.lr_scheduler
    ends = []
    for make in (lambda o: s.StepLR(o, 2), lambda o: s.LambdaLR(o, lambda e: 0.5**e), lambda o: s.ExponentialLR(o, 0.5),
                 lambda o: s.CosineAnnealingLR(o, 5), lambda o: s.ReduceLROnPlateau(o, patience=0),
                 lambda o: s.CyclicLR(o, 0.25, m.tensor(1.0), 4)):
        rate = m.tensor(0.5)
        opt = m.optim.SGD([m.ones(2, requires_grad=True)], lr=rate, momentum=0.5)
        schedule = make(opt)
        for epoch in range(5):
            advance(schedule, opt, epoch)
        ends.append([rate, schedule.get_last_lr(), opt.param_groups[0]["lr"] is rate])
    return ends


@programs
def too_early(m):
    schedule = m.optim.lr_scheduler.StepLR(optimizer(m), 2)
    for _ in range(3):
        schedule.step()
    return schedule.get_last_lr()


@programs
def too_early_once(m):
    opt = optimizer(m)
    opt.step()
    schedule = m.optim.lr_scheduler.StepLR(opt, 2)
    opt.step()
    schedule.step()
    other = m.optim.lr_scheduler.StepLR(opt, 2)
    other.step()
    return rates(opt)


@programs
def replaced_step(m):
    opt = optimizer(m)
    schedule = m.optim.lr_scheduler.StepLR(opt, 2)
    opt.step = lambda: None
    opt.step()
    schedule.step()
    return rates(opt)


@programs
def step_replaced_before(m):
    class Own(m.optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    opt = Own([m.ones(2, requires_grad=True)], lr=0.5)
    schedule = m.optim.lr_scheduler.StepLR(opt, 2)
    opt.step()
    schedule.step()
    return rates(opt)


@programs
def one_in_another(m):
    return rates(SCHEDULES["SequentialLR, nested"](m.optim.lr_scheduler, optimizer(m)).optimizer)


@programs
def asked_outside(m):
    s, opt = m.optim.lr_scheduler, optimizer(m)
    return [schedule.get_lr() for schedule in (
        s.StepLR(opt, 2), s.LambdaLR(opt, lambda e: 2), s.MultiplicativeLR(opt, lambda e: 2), s.ExponentialLR(opt, 0.5),
        s.CosineAnnealingWarmRestarts(opt, 3), s.CyclicLR(opt, 0.1, 0.2), s.OneCycleLR(opt, 0.1, 30))]


@programs
def one_of_ones_own(m):
    class Third(m.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [lr / (self.last_epoch + 3) for lr in self.base_lrs]

    class Closed(m.optim.lr_scheduler._LRScheduler):
        def get_lr(self):
            return [group["lr"] / 2 for group in self.optimizer.param_groups]

        def _get_closed_form_lr(self):
            return [lr / 2**self.last_epoch for lr in self.base_lrs]

    ends = []
    for kind in (Third, Closed):
        opt = optimizer(m)
        schedule = kind(opt)
        ends += [advance(schedule, opt, 0), advance(schedule, opt, 1, 4), sorted(schedule.state_dict())]
    return ends


@programs
def changed_by_hand_and_fractions_of_epochs(m):
    opt = optimizer(m)
    schedule = m.optim.lr_scheduler.StepLR(opt, 2)
    opt.param_groups[0]["lr"] = 7.0
    ends = [advance(schedule, opt, epoch) for epoch in range(3)]
    schedule = m.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, 3, 2)
    return ends, [advance(schedule, opt, 0, epoch / 4) for epoch in range(50)]


@programs
def a_group_comes_late(m):
    opt = optimizer(m)
    schedule = m.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    opt.add_param_group({"params": [m.ones(3, requires_grad=True)], "lr": 2.0})
    for _ in range(3):
        opt.step()
        schedule.step(1.0)
    return rates(opt)


@programs
def a_group_comes_late_without_a_floor(m):
    opt = optimizer(m)
    schedule = m.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0, min_lr=[0.1, 0.2])
    opt.add_param_group({"params": [m.ones(3, requires_grad=True)]})
    schedule.step(1.0)
    schedule.step(m.tensor(1.0))


REFUSED = {
    "abstract": lambda s, o: s.LRScheduler(o),
    "no optimizer": lambda s, o: s.StepLR(3, 2),
    "no optimizer, plateau": lambda s, o: s.ReduceLROnPlateau("a"),
    "no optimizer, cyclic": lambda s, o: s.CyclicLR(None, 0.1, 0.2),
    "no optimizer, one cycle": lambda s, o: s.OneCycleLR(None, 0.1, 2),
    "no optimizer, lambda": lambda s, o: s.LambdaLR(None, 0.1),
    "resumed too early": lambda s, o: s.StepLR(o, 2, last_epoch=3),
    "lambdas": lambda s, o: s.LambdaLR(o, [abs]),
    "lambdas, product": lambda s, o: s.MultiplicativeLR(o, [abs] * 3),
    "no function": lambda s, o: s.MultiplicativeLR(o, 3),
    "constant": lambda s, o: s.ConstantLR(o, 1.5),
    "linear start": lambda s, o: s.LinearLR(o, 0),
    "linear end": lambda s, o: s.LinearLR(o, 0.5, 1.5),
    "T_0": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "T_0, float": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2.0),
    "T_mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0),
    "eta_min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, eta_min="a"),
    "epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    "base_lr": lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    "max_lr": lambda s, o: s.CyclicLR(o, 0.1, [0.2] * 3),
    "mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="round"),
    "total_steps": lambda s, o: s.OneCycleLR(o, 0.1, 0),
    "total_steps, float": lambda s, o: s.OneCycleLR(o, 0.1, 2.5),
    "epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=3),
    "steps_per_epoch": lambda s, o: s.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=-3),
    "neither": lambda s, o: s.OneCycleLR(o, 0.1, epochs=2),
    "pct_start": lambda s, o: s.OneCycleLR(o, 0.1, 10, pct_start=2.0),
    "pct_start, int": lambda s, o: s.OneCycleLR(o, 0.1, 10, pct_start=1),
    "strategy": lambda s, o: s.OneCycleLR(o, 0.1, 10, anneal_strategy="round"),
    "max_momentum": lambda s, o: s.OneCycleLR(o, 0.1, 10, max_momentum=[0.5]),
    "too many steps": lambda s, o: [advance(c, o, i) for c in [s.OneCycleLR(o, 0.1, 3)] for i in range(5)],
    "factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "min_lr": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, "mean"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="mean"),
    "in sequence: none": lambda s, o: s.SequentialLR(o, [], []),
    "in sequence: no schedule": lambda s, o: s.SequentialLR(o, [3], []),
    "in sequence: plateau": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "in sequence: milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [3]),
    "chained: none": lambda s, o: s.ChainedScheduler([]),
    "chained: no schedule": lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), 3]),
    "chained: plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
}


@pytest.mark.parametrize("name", programs)
def test_program(torch, name):
    alike(torch, programs[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(torch, name):
    alike(torch, lambda m: REFUSED[name](m.optim.lr_scheduler, optimizer(m)))


@pytest.mark.parametrize("kind", ["SequentialLR", "ChainedScheduler"])
def test_schedules_of_two_optimizers(torch, kind):
    def program(m):
        s, one, two = m.optim.lr_scheduler, optimizer(m), optimizer(m)
        schedules = [s.StepLR(one, 2), s.StepLR(two, 2)]
        return s.SequentialLR(one, schedules, [3]) if kind == "SequentialLR" else s.ChainedScheduler(schedules)

    (_, ours), (_, theirs) = ending(program, minigrad)[0], ending(program, torch)[0]
    assert ours.split("(")[0] == theirs.split("(")[0]  # then the optimiser is printed


@pytest.mark.parametrize("name", ["CyclicLR", "OneCycleLR"])
def test_no_momentum_to_move(torch, name):
    alike(torch, lambda m: getattr(m.optim.lr_scheduler, name)(m.optim.Adagrad([m.ones(1, requires_grad=True)]), 1, 20))


@pytest.mark.parametrize("name", sorted(minigrad.optim.lr_scheduler.__all__))
def test_signature(torch, name):
    def parameters(m):
        return [(p.name, p.default, p.kind) for p in inspect.signature(
            getattr(m.optim.lr_scheduler, name)).parameters.values()]

    assert parameters(minigrad) == parameters(torch)


def test_every_name_is_here(torch):
    assert set(minigrad.optim.lr_scheduler.__all__) == {*torch.optim.lr_scheduler.__all__, "_LRScheduler"}


def test_nothing_is_left_on_the_optimizer():
    opt = optimizer(minigrad)
    minigrad.optim.lr_scheduler.StepLR(opt, 2)
    minigrad.optim.lr_scheduler.StepLR(opt, 2)
    opt.step()
    assert not opt._optimizer_step_pre_hooks
    assert "step" not in vars(opt)
