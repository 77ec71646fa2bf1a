"""Reports about schedules of rates: sequences, restarts, resumed runs, skipped steps."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


def optimizer(m: Any, **options: Any) -> Any:
    """An optimizer of one parameter at a rate of 1."""
    return m.optim.SGD([{"params": [m.nn.Parameter(m.ones(1))], **options}], lr=1.0)


def rates(owner: Any, schedule: Any, steps: int) -> list[float]:
    """The rate before each step, and after the last."""
    found = []
    for _ in range(steps):
        found.append(owner.param_groups[0]["lr"])
        owner.step()
        schedule.step()
    return [*found, owner.param_groups[0]["lr"]]


@reports("pytorch/pytorch/issues/162591", "a sequence that is made with `last_epoch` starts at another rate",
         still="its schedules are made before it and know nothing of the epoch")
def sequence_from_an_epoch(m):
    s = m.optim.lr_scheduler
    own = optimizer(m)
    parts = [s.ConstantLR(own, factor=0.1, total_iters=20), s.CosineAnnealingLR(own, T_max=7)]
    whole = rates(own, s.SequentialLR(own, parts, milestones=[3]), 5)
    other = optimizer(m, initial_lr=1.0)
    parts = [s.ConstantLR(other, factor=0.1, total_iters=20), s.CosineAnnealingLR(other, T_max=7)]
    return whole, rates(other, s.SequentialLR(other, parts, milestones=[3], last_epoch=4), 3)


@reports("pytorch/pytorch/pull/171515", "and by its state it goes on where it was")
def sequence_from_a_state(m):
    s = m.optim.lr_scheduler

    def made():
        own = optimizer(m)
        parts = [s.ConstantLR(own, factor=0.1), s.ExponentialLR(own, gamma=0.9)]
        return own, s.SequentialLR(own, parts, milestones=[3])

    own, schedule = made()
    rates(own, schedule, 4)
    other, again = made()
    again.load_state_dict(schedule.state_dict())
    other.load_state_dict(own.state_dict())
    return rates(own, schedule, 3), rates(other, again, 3)


@reports("pytorch/pytorch/pull/195633", "a plateau can be a part neither of a sequence nor of a chain",
         still="since its `step` wants a metric")
def plateau_as_a_part(m):
    s, found = m.optim.lr_scheduler, []
    for kind in ("SequentialLR", "ChainedScheduler"):
        own = optimizer(m)
        parts = [s.ConstantLR(own), s.ReduceLROnPlateau(own)]
        try:
            made = s.SequentialLR(own, parts, [2]) if kind == "SequentialLR" else s.ChainedScheduler(parts)
            found.append(rates(own, made, 3))
        except (TypeError, ValueError) as error:
            found.append([type(error).__name__, str(error)])
    return found


@reports("pytorch/pytorch/pull/151289", "warm restarts counted on from a wrong place after a step to an epoch")
def restarts_at_an_epoch(m):
    own = optimizer(m)
    schedule = m.optim.lr_scheduler.CosineAnnealingWarmRestarts(own, T_0=4, T_mult=2, eta_min=0.1)
    found = []
    for epoch in (None, 3, None, None, 11, None, 2.5):
        own.step()
        schedule.step(*[] if epoch is None else [epoch])
        found.append([own.param_groups[0]["lr"], schedule.T_cur, schedule.T_i, schedule.last_epoch])
    return found


@reports("meta-pytorch/torchtune/issues/2730", "a state that is not loaded leaves the number of steps behind")
def steps_in_a_state(m):
    s = m.optim.lr_scheduler
    own = optimizer(m)
    schedule = s.CosineAnnealingLR(own, T_max=5)
    rates(own, schedule, 2)
    state = schedule.state_dict()
    resumed = optimizer(m, initial_lr=1.0)
    by_epoch = s.CosineAnnealingLR(resumed, T_max=5, last_epoch=1)
    before = by_epoch.state_dict()
    by_epoch.load_state_dict(state)
    return state, before, by_epoch.state_dict()


@reports("bghira/SimpleTuner/pull/3045", "a warm-up must be loaded with its state, or begins anew")
def warm_up_that_goes_on(m):
    def made():
        own = optimizer(m)
        return own, m.optim.lr_scheduler.LambdaLR(own, lambda step: min(1.0, (step + 1) / 4))

    own, schedule = made()
    rates(own, schedule, 2)
    other, again = made()
    fresh = rates(other, again, 1)
    again.load_state_dict(schedule.state_dict())
    return fresh, again.get_last_lr(), rates(other, again, 2)


@reports("Lightning-AI/pytorch-lightning/issues/21339", "a step that the scaler skips makes the schedule warn of order",
         still="it only sees that the optimizer has not stepped")
def skipped_step_and_schedule(m):
    own = optimizer(m)
    schedule, scaler = m.optim.lr_scheduler.StepLR(own, 1), m.amp.GradScaler("cpu")
    scaler.scale(m.tensor(1.0))  # or it has no state to step with
    own.param_groups[0]["params"][0].grad = m.tensor([float("inf")])
    scaler.step(own)
    scaler.update()
    schedule.step()
    return scaler.get_scale(), own.param_groups[0]["params"][0].detach(), schedule.get_last_lr()


@reports("Lightning-AI/pytorch-lightning/pull/21426", "whether a step was skipped can be told by the scale alone")
def skipped_step_told_by_the_scale(m):
    own, scaler, found = optimizer(m), m.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2), []
    for value in (1.0, float("nan"), 1.0, 1.0):
        before = scaler.get_scale()
        loss = (own.param_groups[0]["params"][0] * value).sum()
        scaler.scale(loss).backward()
        scaler.step(own)
        scaler.update()
        own.zero_grad()
        found.append([before > scaler.get_scale(), scaler.get_scale(), own.param_groups[0]["params"][0].item()])
    return found


@reports("Haian-Jin/LVSM/pull/19", "without `update` after a skipped step, `unscale_` refuses to be called again")
def unscale_without_update(m):
    own, scaler = optimizer(m), m.amp.GradScaler("cpu")
    scaler.scale(own.param_groups[0]["params"][0].sum()).backward()
    scaler.unscale_(own)
    try:
        scaler.unscale_(own)
    except RuntimeError as error:
        found = str(error)
    scaler.update()
    scaler.unscale_(own)
    return found, own.param_groups[0]["params"][0].grad
