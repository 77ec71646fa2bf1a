"""Steps that change nothing, or nothing of a part of the model, and beside each one in which that is meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minigrad_widgets import checkup
from minigrad_widgets.doctor.findings import Finding
from tests.widgets.doctor.models import batch


def iteration(torch: Any, model: Any, optimizer: Any) -> None:
    x, y = batch(torch)
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


def found(torch: Any, model: Any, optimizer: Any, before: Callable[[Any, int], Any]) -> list[Finding]:
    """What a checkup finds in steps with something between the backward pass and the update."""
    (x, y), done = batch(torch), [0]

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        before(model, done[0])
        optimizer.step()
        done[0] += 1

    return checkup(step, model=model, optimizer=optimizer).findings


def net(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))


def of_nothing_moves(findings: list[Finding]) -> list[tuple[str, str]]:
    """The severity and the first line of each finding of the rule, which are all that there are."""
    assert {each.rule for each in findings} <= {"nothing-moves"}
    return [(each.severity, each.where[0].source) for each in findings]


def test_one_group_with_a_rate_of_zero(torch: Any) -> None:
    model = net(torch)
    optimizer = torch.optim.SGD([
        {"params": model[0].parameters(), "lr": 0.0},
        {"params": model[2].parameters()},
    ], lr=0.1)
    [finding] = checkup(lambda: iteration(torch, model, optimizer)).findings
    assert of_nothing_moves([finding]) == [("warning", '{"params": model[0].parameters(), "lr": 0.0},')]
    assert "nothing of model.0.weight, model.0.bias." in finding.what
    assert str(finding.mends[0].code) == 'optimizer.param_groups[0]["lr"] = 1e-3'


def test_a_group_whose_rate_is_set_to_zero_afterwards(torch: Any) -> None:
    model = net(torch)
    optimizer = torch.optim.SGD([{"params": model[0].parameters()}, {"params": model[2].parameters()}], lr=0.1)
    optimizer.param_groups[1]["lr"] = 0
    findings = checkup(lambda: iteration(torch, model, optimizer)).findings
    assert of_nothing_moves(findings) == [("warning", 'optimizer.param_groups[1]["lr"] = 0')]


def test_a_group_that_the_program_calls_frozen(torch: Any) -> None:
    model = net(torch)
    optimizer = torch.optim.SGD([
        # the backbone stays frozen for the first epochs
        {"params": model[0].parameters(), "lr": 0.0},
        {"params": model[2].parameters()},
    ], lr=0.1)
    findings = checkup(lambda: iteration(torch, model, optimizer)).findings
    assert [severity for severity, _ in of_nothing_moves(findings)] == ["note"]


def test_a_group_with_the_name_frozen(torch: Any) -> None:
    model, rate = net(torch), 1 // 10
    groups = [{"params": model[0].parameters(), "lr": rate, "name": "frozen"}, {"params": model[2].parameters()}]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    findings = checkup(lambda: iteration(torch, model, optimizer)).findings
    assert [severity for severity, _ in of_nothing_moves(findings)] == ["note"]


def test_a_group_whose_rate_the_step_raises_later(torch: Any) -> None:
    model, epoch = net(torch), 0
    optimizer = torch.optim.SGD([{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}],
                                lr=0.1)

    def step() -> None:
        iteration(torch, model, optimizer)
        if epoch > 2:
            optimizer.param_groups[0]["lr"] = 0.01

    assert [severity for severity, _ in of_nothing_moves(checkup(step).findings)] == ["note"]


def test_a_group_that_waits_for_its_schedule(torch: Any) -> None:
    model, (x, y) = net(torch), batch(torch)
    optimizer = torch.optim.SGD([{"params": model[0].parameters()}, {"params": model[2].parameters()}], lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda i: float(i > 5), lambda i: 1.0])

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        schedule.step()

    findings = checkup(step, model=model, optimizer=optimizer).findings
    assert [severity for severity, _ in of_nothing_moves(findings)] == ["note"]


@pytest.mark.parametrize("requires_grad", [True, False])
def test_a_group_without_gradients_is_frozen(torch: Any, requires_grad: bool) -> None:
    model, rate = net(torch), 0.0
    model[0].requires_grad_(requires_grad)
    optimizer = torch.optim.SGD([{"params": model[0].parameters(), "lr": rate}, {"params": model[2].parameters()}],
                                lr=0.1)
    findings = checkup(lambda: iteration(torch, model, optimizer)).findings
    rules = [each.rule for each in findings if each.rule != "frozen-by-mistake"]
    assert rules == (["nothing-moves"] if requires_grad else [])


# gradients that are lost after the backward pass
def times_zero(model: Any, i: int) -> None:
    for p in model.parameters():
        p.grad *= 0


def replaced(model: Any, i: int) -> None:
    for p in model.parameters():
        p.grad = p.grad * (p.grad > 1e9)


def filled(model: Any, i: int) -> None:
    for p in model.parameters():
        p.grad.data.zero_()


@pytest.mark.parametrize("lose", [times_zero, replaced, filled])
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])  # the weight decay of AdamW moves the parameters all the same
def test_gradients_that_are_lost_after_the_backward_pass(torch: Any, lose: Any, optimizer: str) -> None:
    model = net(torch)
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    [(severity, line)] = of_nothing_moves(found(torch, model, made, lose))
    assert severity == "error"
    assert "p.grad" in line
    assert "for" not in line


def test_lost_gradients_are_found_while_a_lazy_module_waits(torch: Any) -> None:
    waiting = torch.nn.LazyLinear(2)  # until it has run, minigrad's functions stand behind wrappers
    test_gradients_that_are_lost_after_the_backward_pass(torch, times_zero, "SGD")
    assert waiting.has_uninitialized_params()


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_gradients_that_are_lost_in_some_steps_only(torch: Any, optimizer: str) -> None:
    model = net(torch)
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=0.01)
    assert found(torch, model, made, lambda model, i: times_zero(model, i) if i == 0 else None) == []


@pytest.mark.parametrize("largest", [0.0, 1e-4])
def test_clipping_to_nothing_beside_weight_decay(torch: Any, largest: float) -> None:
    model = net(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def clip(model: Any, i: int) -> None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), largest)

    assert of_nothing_moves(found(torch, model, optimizer, clip)) == (
        [] if largest else [("error", "torch.nn.utils.clip_grad_norm_(model.parameters(), largest)")])


def test_an_optimizer_that_finds_its_gradients_in_its_closure(torch: Any) -> None:
    model, (x, y) = net(torch), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss

    def step() -> None:
        optimizer.step(closure)
        optimizer.zero_grad(set_to_none=False)

    assert checkup(step, model=model, optimizer=optimizer).findings == []


@pytest.mark.parametrize("mistaken", [True, False])
def test_the_optimizer_of_another_model(torch: Any, mistaken: bool) -> None:
    teacher, student, (x, _) = net(torch), net(torch), batch(torch)
    optimizer = torch.optim.Adam((teacher if mistaken else student).parameters(), lr=0.01)

    def step() -> None:
        with torch.no_grad():
            soft = torch.softmax(teacher(x), 1)
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(torch.softmax(student(x), 1), soft).backward()
        optimizer.step()

    findings = [each for each in checkup(step, model=student, optimizer=optimizer).findings
                if each.rule != "not-in-optimizer"]
    assert [each.what for each in findings] == [
        "optimizer holds the parameters of teacher, which got no gradient: nothing changes those of student, which "
        "did."] * mistaken


# leaves that a module keeps, and that are no parameters
def shifted(torch: Any, keep: Callable[[Any, Any], None]) -> Any:
    """A layer that adds what `keep` has it keep."""
    class Shifted(torch.nn.Module):  # type: ignore[misc]  # the base is known when it runs
        def __init__(self) -> None:
            super().__init__()
            self.body = torch.nn.Linear(8, 3)
            keep(self, torch.zeros(3, requires_grad=True))

        def forward(self, x: Any) -> Any:
            held = self.shift
            return self.body(x) + (held[0] if isinstance(held, list) else held)

    return Shifted()


def as_attribute(module: Any, tensor: Any) -> None:
    module.shift = tensor


def in_list(module: Any, tensor: Any) -> None:
    module.shift = [tensor]


def as_buffer(module: Any, tensor: Any) -> None:
    module.register_buffer("shift", tensor)


@pytest.mark.parametrize("keep", [as_attribute, in_list, as_buffer])
def test_a_leaf_that_is_kept_beside_the_parameters(torch: Any, keep: Any) -> None:
    model = torch.nn.Sequential(shifted(torch, keep))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    [finding] = checkup(lambda: iteration(torch, model, optimizer)).findings
    assert (finding.severity, finding.rule) == ("warning", "not-in-optimizer")
    assert finding.what == {
        as_attribute: "model.0.shift got a gradient, but it is a plain attribute, not a parameter: model.parameters() "
                      "leaves it out, and it will never change.",
        as_buffer: "model.0.shift got a gradient, but it is a buffer, not a parameter: model.parameters() leaves it "
                   "out, and it will never change.",
        in_list: "model.0.shift[0] got a gradient, but self.shift is a plain list, which registers nothing: "
                 "model.parameters() leaves out what is in it, and it will never change."}[keep]


def unused(tensor: Any, grad: Any) -> None:
    pass


def descended(tensor: Any, grad: Any) -> None:
    tensor.data -= 0.1 * grad


@pytest.mark.parametrize("use", [unused, descended])
def test_a_leaf_whose_gradient_the_step_uses_itself(torch: Any, use: Any) -> None:
    model, (x, y) = shifted(torch, as_attribute), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        use(model.shift, model.shift.grad)
        model.shift.grad = None

    assert checkup(step).findings == []


@pytest.mark.parametrize("held", [True, False])
def test_a_leaf_kept_beside_the_parameters_that_the_optimizer_holds(torch: Any, held: bool) -> None:
    model = shifted(torch, as_attribute)
    optimizer = torch.optim.SGD([*model.parameters(), *[model.shift] * held], lr=0.1)
    rules = [each.rule for each in checkup(lambda: iteration(torch, model, optimizer)).findings]
    assert rules == ["not-in-optimizer"] * (not held)


def test_gradients_that_are_zero_from_the_start_are_not_lost(torch: Any) -> None:
    model, scale, (x, y) = torch.nn.Linear(8, 3), torch.zeros(3, requires_grad=True), batch(torch)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD([scale], lr=0.1)

    def step() -> None:
        model.zero_grad()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x) * scale + model.bias, y).backward()
        optimizer.step()

    assert "nothing-moves" not in [each.rule for each in checkup(step, model=model, optimizer=optimizer).findings]


def test_the_fix_of_what_no_optimizer_holds_names_it(torch: Any) -> None:
    model, (x, y) = torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(3)), torch.nn.Linear(8, 3)), batch(torch)
    opt = torch.optim.SGD([*model[0].parameters(), *model[3].parameters()], lr=0.1)

    def step() -> None:
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        opt.step()

    [finding] = checkup(step).findings
    assert finding.rule == "not-in-optimizer" and [each.code for each in finding.mends] == [
        'opt.add_param_group({"params": [model[1].weight, model[1].bias, model[2].weight]})  # and 1 more',
        "model[1].weight.requires_grad_(False)\nmodel[1].bias.requires_grad_(False)\n"
        "model[2].weight.requires_grad_(False)  # and 1 more"]
    ran: dict[str, Any] = {"opt": opt, "model": model}
    for mend in finding.mends:
        exec(mend.code or "", ran)
    assert len(opt.param_groups[-1]["params"]) == 3 and not model[2].weight.requires_grad


def test_the_fix_of_a_rate_of_0_names_what_to_freeze(torch: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD([
        {"params": model[1].parameters()},
        {"params": model[0].parameters(), "lr": 0.0},  # frozen
    ], lr=0.1)
    [finding] = checkup(lambda: iteration(torch, model, optimizer)).findings
    assert finding.rule == "nothing-moves" and finding.mends[0].code == "model[0].weight.requires_grad_(False)"


def test_the_fix_of_an_unused_layer_in_a_list_is_code(torch: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 3), torch.nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    [finding] = checkup(lambda: iteration(torch, model[0], optimizer), model=model).findings
    assert finding.rule == "unused-parameter" and finding.mends[1].code == "model[1].weight.requires_grad_(False)"
