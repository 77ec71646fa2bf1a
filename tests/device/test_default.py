"""Where tensors are made while a GPU is the default device, and one is named, or another tensor sets the example."""

from __future__ import annotations

import pytest

import minigrad

NAMED = {
    "zeros": lambda d: minigrad.zeros(2, device=d), "ones": lambda d: minigrad.ones(2, device=d),
    "empty": lambda d: minigrad.empty(2, device=d), "full": lambda d: minigrad.full((2,), 3.0, device=d),
    "eye": lambda d: minigrad.eye(2, device=d), "tensor": lambda d: minigrad.tensor([1.0], device=d),
    "scalar_tensor": lambda d: minigrad.scalar_tensor(1.0, device=d),
    "arange": lambda d: minigrad.arange(3, device=d), "linspace": lambda d: minigrad.linspace(0, 1, 3, device=d),
    "rand": lambda d: minigrad.rand(2, device=d), "randn": lambda d: minigrad.randn(2, device=d),
    "randint": lambda d: minigrad.randint(3, (2,), device=d), "randperm": lambda d: minigrad.randperm(3, device=d),
    "tril_indices": lambda d: minigrad.tril_indices(2, 2, device=d),
    "as_tensor": lambda d: minigrad.as_tensor([1.0], device=d),
    "Linear": lambda d: minigrad.nn.Linear(2, 2, device=d).weight,
}
LIKE = {
    **{f"{name}_like": lambda x, name=name: getattr(minigrad, f"{name}_like")(x)
       for name in ("zeros", "ones", "empty", "rand", "randn")},
    **{f"new_{name}": lambda x, name=name: getattr(x, f"new_{name}")(2) for name in ("zeros", "ones", "empty")},
    "full_like": lambda x: minigrad.full_like(x, 3.0), "randint_like": lambda x: minigrad.randint_like(x, 3),
    "new_full": lambda x: x.new_full((2,), 1.0), "new_tensor": lambda x: x.new_tensor([1.0]),
}


@pytest.fixture
def default(cuda):
    """The stand-in is the default device."""
    minigrad.set_default_device("cuda")
    yield
    minigrad.set_default_device(None)


@pytest.mark.parametrize("name", NAMED)
def test_the_device_that_is_named_counts(default, name):
    for device, found in (("cpu", "cpu"), (None, "cuda:0"), ("cuda", "cuda:0")):
        assert str(NAMED[name](device).device) == found


@pytest.mark.parametrize("name", LIKE)
def test_the_device_of_the_example_counts(default, name):
    for device in ("cpu", "cuda:0"):
        assert str(LIKE[name](minigrad.ones(2, device=device)).device) == device
