"""The memory of tensors, what shares it, and what a copy of a model keeps. Under minigrad and under PyTorch."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import minigrad


def shared(a, b):
    """Whether two tensors look at one storage."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


class TestStorage:
    """Who looks at which memory."""

    def test_views_share_it_and_copies_do_not(self, m):
        x = m.zeros(4, 6)
        views = [x[1], x[:, 2:], x.t(), x.view(24), x.unbind(1)[3], x.expand(2, 4, 6), x.detach(), x.data, x[1:][1:]]
        assert all(shared(x, v) for v in views)
        assert not any(shared(x, v) for v in [x.clone(), x + 0, x[[0, 1]], x.t().contiguous(), m.zeros_like(x)])

    def test_offsets_count_from_the_start_of_it(self, m):
        x = m.zeros(4, 6)
        assert [v.storage_offset() for v in (x, x[1], x[1:, 2:], x[1:][1:], x.t()[2])] == [0, 6, 8, 12, 2]
        assert x[1:].untyped_storage().nbytes() == 96

    def test_a_part_of_an_array_is_a_storage_of_its_own(self, m):
        array = np.arange(6.0)
        x = m.from_numpy(array[2:])
        x.add_(1)
        assert (x.storage_offset(), x.untyped_storage().nbytes(), array.tolist()) == (0, 32, [0, 1, 3, 4, 5, 6])

    def test_a_copy_keeps_the_order_of_dimensions(self, m):
        x = m.zeros(2, 3).t()
        assert (x.clone().stride(), x.contiguous().stride(), (x * 2).stride()) == ((1, 3), (2, 1), (1, 3))

    def test_an_array_lives_as_long_as_its_tensor(self, m):
        x = m.from_numpy(np.arange(1000.0)[1:])
        gc.collect()
        assert x.sum().item() == 499500.0


class TestCopies:
    """copy, deepcopy, pickle."""

    @pytest.mark.parametrize("again", [copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))],
                             ids=["deepcopy", "pickle"])
    def test_a_model_comes_back(self, m, again):
        model = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.ReLU(), m.nn.Linear(3, 1, bias=False))
        x = m.ones(4, 2)
        other = again(model)
        assert other(x).tolist() == model(x).tolist()
        assert [p.requires_grad for p in other.parameters()] == [True] * 3
        other(x).sum().backward()
        assert all(p.grad is None for p in model.parameters())

    def test_a_copied_base_and_its_view_stay_together(self, m):
        x = m.zeros(2, 2)
        base, view = copy.deepcopy((x, x[0]))
        view.add_(1)
        assert base.tolist() == [[1, 1], [0, 0]]
        assert x.sum().item() == 0

    def test_a_copy_looks_at_the_same_memory(self, m):
        x = m.zeros(2, requires_grad=True)
        y = copy.copy(x)
        assert (shared(x, y), y.requires_grad, y.is_leaf, y is x) == (True, True, True, False)

    def test_nothing_of_a_graph_is_pickled(self, m):
        x = m.ones(2, requires_grad=True)
        y = pickle.loads(pickle.dumps(x * 2))
        assert (y.tolist(), y.is_leaf, y.requires_grad) == ([2.0, 2.0], True, True)


def test_tensors_are_keys(m):
    x, y = m.ones(1), m.zeros(1)  # a key is found by ==, which must be one truth
    names = weakref.WeakKeyDictionary({x: "x", y: "y"})
    assert (names[x], names[y], len(names)) == ("x", "y", 2)
    del y
    assert list(names.values()) == ["x"]


def test_numpys_functions_give_tensors():
    x = minigrad.tensor([0.0, 1.0])
    assert isinstance(np.exp(x), minigrad.Tensor)
    assert isinstance(x * np.ones(2), minigrad.Tensor)
    assert isinstance(np.float64(2) * x, minigrad.Tensor)


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_a_read_only_array_is_not_written():
    array = np.ones(3)
    array.flags.writeable = False
    x = minigrad.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        x.mul_(2)
    assert x.tolist() == [1, 1, 1]


def test_what_was_unpickled_has_the_dtype_that_ops_know():
    array = pickle.loads(pickle.dumps(np.ones((2, 3), np.float32)))
    assert array.dtype is not np.dtype("float32")
    made = minigrad.from_numpy(array)
    for each in (made, minigrad.tensor(array), minigrad.as_tensor(array), pickle.loads(pickle.dumps(minigrad.ones(2)))):
        assert each.array.dtype is np.dtype("float32")
    made.add_(1)
    assert array[1, 2] == 2
