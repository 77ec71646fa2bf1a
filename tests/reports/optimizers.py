"""Reports about optimizers: what they accept, skip, save, and how gradients are clipped before."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


def parameter(m: Any, *values: float) -> Any:
    """A parameter whose gradient is its own double."""
    made = m.nn.Parameter(m.tensor(list(values)))
    made.grad = 2 * made.detach()
    return made


def stepped(m: Any, optimizer: Any, steps: int = 2) -> list[Any]:
    """The parameters after some steps with gradients that are their doubles."""
    for _ in range(steps):
        for group in optimizer.param_groups:
            for p in group["params"]:
                p.grad = 2 * p.detach()
        optimizer.step()
    return [p.detach() for group in optimizer.param_groups for p in group["params"]]


@reports("pytorch/pytorch/issues/149508", "Adam refuses a beta that is a tensor, unless it steps one by one",
         still="many parameters at once need numbers")
def betas_that_are_tensors(m):
    betas = (m.tensor(0.9), m.tensor(0.99))
    found = [stepped(m, m.optim.Adam([parameter(m, 1.0)], lr=m.tensor(0.1), betas=betas, foreach=False))]
    try:
        stepped(m, m.optim.Adam([parameter(m, 1.0)], betas=betas, foreach=True))
    except ValueError as error:
        found.append(str(error))
    return found


@reports("pytorch/pytorch/pull/145674", "a rate that is a tensor of one element and a dimension failed in Adam")
def rate_of_one_element(m):
    found = []
    for kind in ("Adam", "AdamW", "SGD", "Adagrad", "RMSprop"):
        for rate in (m.tensor(0.1), m.tensor([0.1]), m.tensor([0.1, 0.2])):
            try:
                found.append(stepped(m, getattr(m.optim, kind)([parameter(m, 1.0, 2.0)], lr=rate, foreach=False)))
            except (ValueError, RuntimeError) as error:
                found.append(str(error).split("\n")[0])
    return found


@reports("pytorch/pytorch/pull/186444", "Adam that can be captured gave NaN for a rate of 0")
def rate_of_zero(m):
    return [stepped(m, getattr(m.optim, kind)([parameter(m, 1.0, -2.0)], lr=0.0))
            for kind in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax")]


@reports("pytorch/pytorch/pull/193772", "ASGD takes a negative `lambd`, and what should shrink grows",
         still="it checks the rate and the weight decay only")
def negative_decay_term(m):
    return stepped(m, m.optim.ASGD([parameter(m, 1.0)], lr=0.1, lambd=-0.5))


@reports("pytorch/torchtitan/pull/1258", "clipping was skipped for a generator of parameters, as it was used up")
def clipping_a_generator(m):
    p = parameter(m, 3.0, 4.0)
    norm = m.nn.utils.clip_grad_norm_((each for each in [p]), 1.0)
    return norm, p.grad


@reports("pytorch/pytorch/issues/170862", "the norm was that of a part of the parameters, and each was scaled by it")
def norm_of_all_parts(m):
    first, other = parameter(m, 3.0), parameter(m, 4.0)
    total = m.nn.utils.get_total_norm([first.grad, other.grad])
    for each in (first, other):
        m.nn.utils.clip_grads_with_norm_([each], 1.0, total)
    return total, first.grad, other.grad


@reports("deepmodeling/deepmd-kit/pull/5519", "a norm that overflows, or is not a number, must be seen by the caller")
def norm_that_overflows(m):
    found = []
    for bad in (1e30, float("nan"), float("inf")):
        p = m.nn.Parameter(m.zeros(2))
        p.grad = m.tensor([bad, 1.0])
        found.append([m.nn.utils.clip_grad_norm_([p], 2.0), p.grad.clone()])
        try:
            m.nn.utils.clip_grad_norm_([p], 2.0, error_if_nonfinite=True)
        except RuntimeError as error:
            found.append(str(error))
    return found


@reports("NVIDIA/TransformerEngine/issues/3207", "an empty parameter at the end of a group stopped the whole update")
def empty_parameter_at_the_end(m):
    return [stepped(m, m.optim.Adam([parameter(m, 1.0), m.nn.Parameter(m.zeros(0))], lr=0.1, foreach=many))
            for many in (False, True)]


@reports("pytorch/pytorch/pull/186360", "a fused step ignored that gradients were found infinite")
def fused_step_with_infinite_gradients(m):
    p = parameter(m, 1.0, 2.0)
    optimizer = m.optim.Adam([p], lr=0.1, fused=True)
    optimizer.found_inf = m.ones(())
    optimizer.step()
    kept = p.detach().clone()
    optimizer.found_inf, optimizer.grad_scale = m.zeros(()), m.tensor(4.0)
    optimizer.step()
    return kept, p.detach(), p.grad, len(optimizer.state)


@reports("NVIDIA/TransformerEngine/pull/2675", "an error of a fused optimizer named another one")
def scaler_of_fused_optimizers(m):
    found = []
    for kind in ("Adam", "AdamW", "SGD", "Adagrad"):
        p, hooks = parameter(m, 1.0, -2.0), []
        optimizer, scaler = getattr(m.optim, kind)([p], lr=0.1, fused=True), m.amp.GradScaler("cpu", init_scale=4.0)
        optimizer.register_step_post_hook(lambda *_, hooks=hooks: hooks.append("step"))
        for value in (1.0, float("inf"), 1.0):
            optimizer.zero_grad()
            scaler.scale((p * value).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            found.append([kind, p.detach().clone(), p.grad.clone(), scaler.get_scale(), list(hooks)])
        try:
            getattr(m.optim, kind)([p], fused=True, foreach=True)
        except RuntimeError as error:
            found.append(str(error))
    return found


@reports("lightly-ai/lightly/pull/2036", "norms and biases belong into a group without decay, each with its own number")
def groups_with_and_without_decay(m):
    net = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.LayerNorm(2))
    for p in net.parameters():
        p.data.fill_(0.5)
    plain = [p for module in net for name, p in module.named_parameters()
             if name == "bias" or isinstance(module, m.nn.LayerNorm)]
    decayed = [p for p in net.parameters() if not any(p is each for each in plain)]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
    return stepped(m, m.optim.SGD(groups, lr=0.1)), [len(g["params"]) for g in groups]


@reports("nvidia-cosmos/cosmos-predict2.5/issues/165", "groups that are put together again share one decay")
def groups_put_together(m):
    weight, bias = parameter(m, 1.0), parameter(m, 1.0)
    apart = m.optim.AdamW([{"params": [weight]}, {"params": [bias], "weight_decay": 0.0}], lr=0.1, weight_decay=0.5)
    found = stepped(m, apart)
    return found, stepped(m, m.optim.AdamW([parameter(m, 1.0), parameter(m, 1.0)], lr=0.1, weight_decay=0.5))


@reports("WatChMaL/WatChMaL/pull/112", "a first group without parameters, and a list of groups where one was expected")
def empty_first_group(m):
    optimizer = m.optim.AdamW([{"params": []}, {"params": [parameter(m, 1.0)], "weight_decay": 0.0}], lr=0.1)
    found = [stepped(m, optimizer)]
    for given in ([], [{}], [m.zeros(1).tolist()], {"params": []}):
        try:
            m.optim.AdamW(given)
        except (TypeError, ValueError, KeyError) as error:
            found.append([type(error).__name__, str(error)])
    return found


@reports("NVIDIA/makani/pull/127", "groups were broken after a state was loaded")
def groups_after_loading(m):
    def made(decays):
        return m.optim.SGD([{"params": [parameter(m, 1.0)], "weight_decay": d} for d in decays], lr=0.1, momentum=0.9)

    old, new = made([0.1, 0.0]), made([0.3, 0.3])
    stepped(m, old)
    new.load_state_dict(old.state_dict())
    found = [[g["weight_decay"] for g in new.param_groups], stepped(m, new, 1)]
    for wrong in (made([0.1]), m.optim.SGD([parameter(m, 1.0), parameter(m, 2.0)], lr=0.1)):
        try:
            wrong.load_state_dict(old.state_dict())
        except ValueError as error:
            found.append(str(error))
    return found


@reports("huggingface/pytorch-image-models/pull/2704", "the number of steps is a tensor, which a compiler wants")
def steps_are_tensors(m):
    found = {}
    for kind in ("Adam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD", "NAdam"):
        optimizer = getattr(m.optim, kind)([parameter(m, 1.0)], lr=0.1)
        stepped(m, optimizer)
        found[kind] = optimizer.state_dict()["state"][0]["step"]
    return found


@reports("pytorch/pytorch/issues/156846", "a rate given anew is lost when the state of an optimizer is loaded",
         still="rates are a part of the state")
def rate_after_loading(m):
    def made(rate):
        optimizer = m.optim.Adam([{"params": [parameter(m, 1.0)], "lr": rate}], rate)
        return optimizer, m.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.8, end_factor=0.0, total_iters=4)

    old, schedule = made(10.0)
    old.step()
    schedule.step()
    new, again = made(1.0)
    before = new.param_groups[0]["lr"]
    new.load_state_dict(old.state_dict())
    after = new.param_groups[0]["lr"]
    new.step()
    again.step()
    return before, after, new.param_groups[0]["lr"], again.base_lrs


@reports("pytorch/pytorch/pull/149942", "a schedule that is made after loading sets the rate back to its start",
         still="so load the optimizer's state after making the schedule")
def schedule_made_after_loading(m):
    def made(optimizer):
        return m.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=20)

    old = m.optim.SGD([parameter(m, 1.0)], lr=0.5)
    schedule = made(old)
    for _ in range(3):
        old.step()
        schedule.step()
    found = []
    for first in (True, False):
        new = m.optim.SGD([parameter(m, 1.0)], lr=0.5)
        if first:
            made(new)
        new.load_state_dict(old.state_dict())
        if not first:
            made(new)
        found.append(new.param_groups[0]["lr"])
    return found
