"""A layer under both libraries: printed alike, started from the same seed alike, and alike in what it computes."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import minigrad
from tests.parity.compare import Input, arrays_of, derivatives, leaves_of, numbers, outputs_of

Make = Callable[[ModuleType], Any]
Layer = tuple[Make, list[Input]]


def state_of(layer: Any) -> dict[str, tuple[str, np.ndarray]]:
    """All parameters and buffers, in their order."""
    return {name: (str(value.dtype).split(".")[-1], np.array(value.detach().numpy()))
            for name, value in layer.state_dict().items()}


def made(lib: ModuleType, make: Make) -> Any:
    """The layer, drawn from a seed."""
    lib.manual_seed(5)
    return make(lib)


def same_start(torch: ModuleType, make: Make) -> None:
    """What is printed, and the state bit for bit; the generator is left at the same place."""
    theirs, ours = made(torch, make), made(minigrad, make)
    assert repr(ours) == repr(theirs)
    wanted, got = state_of(theirs), state_of(ours)
    assert list(got) == list(wanted)
    for name, (dtype, values) in wanted.items():
        assert got[name][0] == dtype, name
        np.testing.assert_array_equal(got[name][1], values, err_msg=name)
    assert minigrad.rand(3).tolist() == torch.rand(3).tolist()


def run(lib: ModuleType, make: Make, inputs: list[Input], training: bool) -> dict[str, Any]:
    """Results, gradients of inputs and parameters, and what the call did to the buffers."""
    layer = made(lib, make).train(training)
    leaves = leaves_of(lib, inputs, arrays_of(inputs, "float32", 3))
    lib.manual_seed(6)
    results = outputs_of(layer(*leaves))
    parameters = dict(layer.named_parameters())
    found: dict[str, Any] = {f"result {i}": result for i, result in enumerate(results)}
    named = {f"input {i}": leaf for i, leaf in enumerate(leaves)} | parameters
    wanted = [name for name, leaf in named.items() if leaf.requires_grad]
    grads = derivatives(lib, results, list(named.values()), 1) or [[]]
    found |= {f"gradient of {name}": grad for name, grad in zip(wanted, grads[0])}
    return found | dict(layer.named_buffers())


def same_run(torch: ModuleType, make: Make, inputs: list[Input], training: bool, tolerance: float = 3e-5) -> None:
    """Results, gradients and buffers."""
    wanted, got = run(torch, make, inputs, training), run(minigrad, make, inputs, training)
    assert list(got) == list(wanted)
    for name, value in wanted.items():
        if value is None:
            assert got[name] is None, name
            continue
        assert (str(got[name].dtype), tuple(got[name].shape)) == (
            str(value.dtype), tuple(value.shape)), name
        size = max(1.0, np.abs(numbers(value)).max(initial=0.0) / 10)  # small sums of large products round as these do
        np.testing.assert_allclose(numbers(got[name]), numbers(value), tolerance, tolerance * size, err_msg=name)


def losses(lib: ModuleType, module: Any, loss_of: Callable[[], Any], steps: int, rate: float) -> list[float]:
    """The losses of some steps down the gradient."""
    found = []
    for _ in range(steps):
        loss = loss_of()
        module.zero_grad()
        loss.backward()
        with lib.no_grad():
            for parameter in module.parameters():
                parameter -= rate * parameter.grad
        found.append(loss.item())
    return found


def same_training(torch: ModuleType, train: Callable[[ModuleType], list[float]]) -> None:
    """Assert that the losses of a training are PyTorch's, and fall."""
    theirs, ours = train(torch), train(minigrad)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    assert ours[-1] < ours[0]
