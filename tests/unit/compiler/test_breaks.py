"""What no program can repeat runs eagerly, after one warning with its place; guards see what has changed."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn, optim
from minigrad.compiler import GraphBreak
from minigrad.nn import functional as F
from minigrad.recorder import record

SCALE = 1.0


def by_item(x: Any) -> Any:
    return x * (x.sum().item() + 1)


def by_condition(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x * 3


def by_mask(x: Any) -> Any:
    return x[x > 0].sum()


def by_nonzero(x: Any) -> Any:
    return x.nonzero().sum()


def by_numpy(x: Any) -> Any:
    return x * float(np.abs(x.numpy()).max())


def by_print(x: Any) -> Any:
    return x * len(str(x * 2))


def by_list(x: Any) -> Any:
    return x * x.tolist()[0]


def by_memory(x: Any) -> Any:
    return (x * 2).as_strided((2,), (1,), 1) * x[0]


def by_storage(x: Any) -> Any:
    return x * (x * 2).untyped_storage().nbytes()


BREAKS = {"by_memory": (by_memory, "memory of a tensor is looked at"), "by_storage": (by_storage, "memory of a tensor"),
          "by_item": (by_item, "a number is read"), "by_condition": (by_condition, "condition on data"),
          "by_mask": (by_mask, "depends on data"), "by_nonzero": (by_nonzero, "depends on data"),
          "by_numpy": (by_numpy, "handed to NumPy"), "by_print": (by_print, "number is read|handed|printed"),
          "by_list": (by_list, "handed to Python")}


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_is_eager_after_one_warning(name: str) -> None:
    function, reason = BREAKS[name]
    step = torch.compile(function)
    inputs = [torch.tensor([1.0, -2.0, float(i)]) for i in range(-3, 4)]
    with pytest.warns(UserWarning, match=reason) as caught:
        results = [step(x) for x in inputs]
    assert len(caught) == 1
    assert f"test_breaks.py:{function.__code__.co_firstlineno + 1}" in str(caught[0].message)
    assert [r.tolist() for r in results] == [function(x).tolist() for x in inputs]
    assert step.why.startswith("break: ") and not step.source


@pytest.mark.parametrize("name", BREAKS)
def test_fullgraph_raises(name: str) -> None:
    function, reason = BREAKS[name]
    step = torch.compile(function, fullgraph=True)
    x = torch.tensor([1.0, -2.0, 3.0])
    step(x)
    with pytest.raises(GraphBreak, match=reason):
        step(x)


def training(more: Callable[[Any], None] = lambda loss: None) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        more(loss)
        return loss

    return step, model, optimizer


def losses(step: Any, count: int = 6) -> list[float]:
    return [step(torch.full((5, 3), 0.5 + i / 10)).item() for i in range(count)]


def test_a_list_that_grows_is_a_side_effect() -> None:
    kept: list[Any] = []
    step, _, _ = training(lambda loss: kept.append(loss.detach()))
    with pytest.warns(UserWarning, match="kept outside|changes what it reads"):
        found = losses(torch.compile(step), 8)
    assert [k.item() for k in kept] == found
    kept.clear()
    expected = losses(training()[0], 8)
    assert found == pytest.approx(expected, 1e-5)


def test_a_counter_is_a_side_effect() -> None:
    counts = {"steps": 0}

    def count(loss: Any) -> None:
        counts["steps"] += 1

    step, _, _ = training(count)
    with pytest.warns(UserWarning, match="changes what it reads in Python"):
        losses(torch.compile(step), 7)
    assert counts["steps"] == 7


def test_a_scheduler_inside_is_a_side_effect() -> None:
    step, _, optimizer = training(lambda loss: scheduler.step())
    scheduler = optim.lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match="the step changes"):
        losses(torch.compile(step), 7)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(1e-4)


def test_hidden_state_is_carried_by_eager_calls() -> None:
    class Carry(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.state = torch.zeros(3)

        def forward(self, x: Any) -> Any:
            self.state = self.state + x
            return self.state * 2

    def totals(module: Any) -> list[Any]:
        with torch.no_grad():
            return [module(torch.full((3,), float(i))).tolist() for i in range(6)]

    with pytest.warns(UserWarning, match="runs eagerly"):
        compiled = totals(torch.compile(Carry()))
    assert compiled == totals(Carry())


def test_eight_programs_and_no_more() -> None:
    step = torch.compile(lambda x: x * 2)
    sizes = [torch.ones(n) for n in range(1, 12)]
    with pytest.warns(UserWarning, match="8 programs already") as caught:
        found = [step(x).sum().item() for x in sizes]
    assert len(caught) == 1 and found == [2.0 * n for n in range(1, 12)]


def test_guards_see_what_tracing_bakes_in() -> None:
    global SCALE
    step, model, optimizer = training(lambda loss: None)

    def scaled(x: Any) -> Any:
        return step(x * SCALE)

    compiled = torch.compile(scaled)
    x = torch.ones(5, 3)

    def programs_after(change: Callable[[], Any]) -> int:
        before = compiled.explain().variants
        change()
        compiled(x)
        return compiled.explain().variants - before

    for _ in range(3):
        compiled(x)
    assert compiled.explain().variants == 1
    assert programs_after(lambda: None) == 0
    assert programs_after(lambda: optimizer.param_groups[0].update(lr=0.01)) == 0  # an input
    assert programs_after(lambda: optimizer.param_groups[0].update(weight_decay=0.1)) == 1
    assert programs_after(lambda: model.eval()) == 1
    SCALE = 2.0
    assert programs_after(lambda: None) == 1
    SCALE = 1.0
    assert programs_after(lambda: model[0].weight.requires_grad_(False)) == 1
    assert programs_after(lambda: model[0].bias.register_hook(lambda g: g * 2)) == 1
    assert programs_after(lambda: setattr(model, "1", nn.ReLU())) == 1


def test_new_memory_of_a_parameter_is_followed() -> None:
    step, model, _ = training()
    compiled = torch.compile(step)
    expected_step, expected_model, _ = training()
    for i in range(8):
        if i in (4, 6):
            for each in (model, expected_model):
                each[0].weight.data = torch.full((4, 3), 0.1 * i)
        x = torch.full((5, 3), 1.0)
        torch.manual_seed(i)
        found = compiled(x)
        torch.manual_seed(i)
        assert found.item() == pytest.approx(expected_step(x).item(), 1e-5)
    assert compiled.explain().variants == 1
    np.testing.assert_allclose(model[0].weight.detach().numpy(), expected_model[0].weight.detach().numpy(), 1e-5)


def test_arguments_that_share_memory_with_what_is_changed() -> None:
    w = torch.ones(4)

    def step(x: Any) -> Any:
        w.mul_(2)
        return x + w

    compiled = torch.compile(step)
    for _ in range(3):
        compiled(torch.zeros(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compiled(w[:]).tolist() == [32.0] * 4  # read after the change


def test_arguments_that_are_one_tensor() -> None:
    compiled = torch.compile(lambda x, y: x.add_(1) * y)
    for _ in range(3):
        assert compiled(torch.ones(2), torch.ones(2)).tolist() == [2.0, 2.0]
    x = torch.ones(2)
    assert compiled(x, x).tolist() == [4.0, 4.0]
    assert compiled(torch.ones(2), torch.full((2,), 3.0)).tolist() == [6.0, 6.0]


@pytest.mark.parametrize("requires_grad", [False, True])
def test_tensors_that_share_an_array_in_one_call(requires_grad: bool) -> None:
    w = torch.ones(2, requires_grad=requires_grad)
    called = torch.compile(lambda x, y: x * w + y * w * 10, backend="numpy", fullgraph=True)
    for _ in range(4):
        x = torch.ones(2)
        assert called(x, x.detach()).tolist() == [11.0, 11.0]
        assert called(x, w.detach()).tolist() == [11.0, 11.0]
        assert called(x, torch.full((2,), 3.0)).tolist() == [31.0, 31.0]
    assert called.explain().variants == 1


def test_grad_mode_and_default_dtype() -> None:
    compiled = torch.compile(lambda x: x + torch.zeros(2).to(x.dtype) + int(torch.is_grad_enabled()))
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    with torch.no_grad():
        assert compiled(torch.ones(2)).tolist() == [1.0, 1.0]
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


def test_a_recording_sees_each_op() -> None:
    compiled = torch.compile(lambda x: (x * x).sum())
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        for _ in range(3):
            compiled(x)
    with record() as trace:
        compiled(x).backward()
    assert "MulBackward0" in trace.text()


def test_results_in_containers_of_their_own_class() -> None:
    class Output(dict[str, Any]):
        """Has attributes, perhaps."""

    called = torch.compile(lambda x: OrderedDict(one=x * 2), backend="numpy", fullgraph=True)
    assert [type(called(torch.ones(1))) for _ in range(4)] == [OrderedDict] * 4
    strict = torch.compile(lambda x: Output(one=x * 2), backend="numpy", fullgraph=True)
    strict(torch.ones(1))
    with pytest.raises(GraphBreak, match="a result is a Output"):
        strict(torch.ones(1))


def test_arrays_of_numpy_are_refused() -> None:
    held = np.ones(3, np.float32)
    compiled = torch.compile(lambda x: x + torch.from_numpy(held))
    x = torch.zeros(3)
    with pytest.warns(UserWarning, match="held is an array of NumPy's"):
        for i in range(4):
            held[:] = i
            assert compiled(x).tolist() == [float(i)] * 3


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="backend must be one of auto, numpy, numba, not 'c'"):
        torch.compile(lambda x: x, backend="c")
    with pytest.raises(ValueError, match="dynamic=True is not there"):
        torch.compile(lambda x: x, dynamic=True)
    with pytest.raises(TypeError, match=r"explain\(\) takes what minigrad.compile gave, not int"):
        torch.compile.explain(3)


def test_as_a_decorator() -> None:
    @torch.compile
    def double(x: Any) -> Any:
        """Twice `x`."""
        return x * 2

    @torch.compile(backend="numpy")
    def triple(x: Any) -> Any:
        return x * 3

    assert double.__doc__ == "Twice `x`." and double.__name__ == "double"
    for _ in range(4):
        assert double(torch.ones(2)).tolist() == [2.0, 2.0] and triple(torch.ones(2)).tolist() == [3.0, 3.0]
    assert F.relu(torch.ones(1)).item() == 1


def cubed(x: Any) -> Any:
    return (x * x * x).sum()


def with_dual_level(x: Any) -> Any:
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x.cos())
        return torch.autograd.forward_ad.unpack_dual(cubed(dual)).tangent


FORWARD: dict[str, Callable[[Any], Any]] = {
    "jvp": lambda x: torch.func.jvp(cubed, (x,), (x.cos(),))[1],
    "jacfwd": torch.func.jacfwd(lambda x: x * x),
    "hessian": torch.func.hessian(cubed),
    "dual_level": with_dual_level,
}
BACKWARD: dict[str, Callable[[Any], Any]] = {
    "grad": torch.func.grad(cubed),
    "vjp": lambda x: torch.func.vjp(cubed, x)[1](torch.tensor(1.0))[0],
    "jacrev": torch.func.jacrev(lambda x: x * x),
    "vmap": torch.vmap(lambda x: x * x.sin()),
    "vmap of grad": torch.vmap(torch.func.grad(lambda x: x * x.sin())),
}


@pytest.mark.parametrize("name", sorted(FORWARD))
def test_forward_mode_is_refused_in_a_sentence(name: str) -> None:
    step, x = torch.compile(FORWARD[name]), torch.arange(3.0)
    step(x)  # a first call is never compiled
    with pytest.raises(RuntimeError, match="cannot take a step that uses forward mode: jvp, jacfwd, hessian or dual_"):
        step(x)
    assert torch.equal(FORWARD[name](x + 1), FORWARD[name](x + 1))  # outside of the compiled function all is as before


@pytest.mark.parametrize("name", sorted(BACKWARD))
def test_a_step_that_uses_another_transform_gives_what_it_gives_eagerly(name: str) -> None:
    step = torch.compile(BACKWARD[name])
    for start in range(3):
        x = torch.arange(3.0) + start
        assert torch.allclose(step(x), BACKWARD[name](x))
