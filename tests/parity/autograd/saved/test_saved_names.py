"""What nodes show of what they saved, `_saved_*`: the same names and values in both libraries, but for a list of names.

The principle: minigrad shows under PyTorch's name what its own formula uses. Where PyTorch saves more than that, or
other numbers that say the same, the name is in the list.
"""

from __future__ import annotations

import warnings

import pytest

import minigrad
from tests.parity.compare import arrays_of, leaves_of, outputs_of
from tests.parity.tables import all_cases, all_missing

pytestmark = pytest.mark.torch

CASES = all_cases()
# By node: the names that PyTorch shows and minigrad does not. New ones stand beside their cases, in cases_<subject>.py.
MISSING = all_missing() | {
    "AddmmBackward0": {"mat1_sym_sizes", "mat1_sym_strides", "mat2_sym_sizes", "mat2_sym_strides"},
    "MmBackward0": {"mat2_sym_sizes", "mat2_sym_strides", "self_sym_sizes", "self_sym_strides"},
}

# By case: the names whose values differ, where PyTorch's composite ops call their parts in another way.
OTHERWISE = {
    "conv2d valid": {"output_padding", "padding"},  # one number for all dimensions
    "rms_norm alone": {"dim"},  # in falling order
    "einsum ellipsis": {"dim", "dims"},  # in another order of letters
    "trapezoid": {"start", "end"},  # a narrow here, a slice with one end there
    "cumulative_trapezoid": {"start", "end"},
    "tensor_split": {"end"},  # before the start, for a part of nothing
}


def shown(lib, name):
    """By node of a case, in the order of a walk: its name and what it shows."""
    call, inputs = CASES[name]
    found, seen = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = outputs_of(call(lib, *leaves_of(lib, inputs, arrays_of(inputs, "float32", 0))))
    queue = [y.grad_fn for y in outputs if y.grad_fn is not None]
    for node in queue:
        if node not in seen:
            seen.add(node)
            queue += [n for n, _ in node.next_functions if n is not None]
            found.append((node.name(), {key.removeprefix("_saved_"): told(lib, getattr(node, key))
                                        for key in dir(node) if key.startswith("_saved_")},
                          {key.removeprefix("_raw_saved_") for key in dir(node) if key.startswith("_raw_saved_")}))
    return found


def told(lib, value):
    """A value without its library; a dimension that counts from the end is a very large number in PyTorch."""
    if isinstance(value, lib.Tensor):
        return "tensor", tuple(value.shape), str(value.dtype).split(".")[-1], value.requires_grad
    if isinstance(value, tuple):
        return tuple([told(lib, each) for each in value])
    return "from the end" if isinstance(value, int) and value > 2**63 else value


def alike(ours, theirs):
    """Whether two values are equal; one that counts from the end is any number."""
    if isinstance(theirs, tuple) and isinstance(ours, tuple):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    return ours == theirs or (theirs == "from the end" and isinstance(ours, int))


@pytest.mark.parametrize("name", CASES)
def test_names_and_values(torch, name):
    for (node, ours, our_handles), (same, theirs, their_handles) in zip(shown(minigrad, name), shown(torch, name),
                                                                        strict=True):
        assert node == same
        assert set(theirs) - set(ours) == MISSING.get(node, set()) & set(theirs)
        assert set(ours) <= set(theirs)
        assert our_handles == their_handles - MISSING.get(node, set())
        wrong = {key: (value, theirs[key]) for key, value in ours.items() if not alike(value, theirs[key])}
        assert {key: both for key, both in wrong.items() if key not in OTHERWISE.get(name, set())} == {}


def test_the_list_is_of_nodes_that_there_are(torch):
    nodes = {node for name in CASES for node, _, _ in shown(torch, name)}
    assert set(MISSING) <= nodes
