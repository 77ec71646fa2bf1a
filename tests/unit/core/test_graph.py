"""Nodes, edges and leaves. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import gc

import pytest


def test_a_node_tells_where_its_inputs_came_from(m):
    x, w = m.ones(2, requires_grad=True), m.ones(2)
    y = x * w
    node = y.grad_fn
    assert node.name() == type(node).__name__ == "MulBackward0"
    (first, nr), nothing = node.next_functions
    assert (first.name(), nr) == ("torch::autograd::AccumulateGrad", 0)
    assert type(first).__name__ == "AccumulateGrad"
    assert nothing == (None, 0)
    assert first.variable is x
    assert first.next_functions == ()


def test_a_number_is_an_input_without_an_edge(m):
    x = m.ones(2, requires_grad=True)
    assert [(n is not None, nr) for n, nr in (x + 1).grad_fn.next_functions] == [(True, 0), (False, 0)]
    assert len((1 - x).grad_fn.next_functions) == 1
    assert len((x ** 2).grad_fn.next_functions) == 1


def test_grad_fn_is_one_object(m):
    y = m.ones(2, requires_grad=True) * 2
    assert y.grad_fn is y.grad_fn
    assert hash(y.grad_fn) == hash(y.grad_fn)
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")


def test_the_integer_is_the_number_of_the_output(m):
    parts = m.arange(6.0).requires_grad_().split(2)
    assert [p.output_nr for p in parts] == [0, 1, 2]
    assert len({p.grad_fn for p in parts}) == 1
    both = parts[2] * parts[1]
    assert [nr for _, nr in both.grad_fn.next_functions] == [2, 1]
    again = m.stack(list(parts))
    assert [nr for _, nr in again.grad_fn.next_functions] == [0, 1, 2]


def test_one_accumulator_per_leaf(m):
    x = m.ones(2, requires_grad=True)
    y = x * x
    first, second = (n for n, _ in y.grad_fn.next_functions)
    assert first is second
    assert (x + 1).grad_fn.next_functions[0][0] is first


def test_the_accumulator_is_not_kept_by_its_leaf(m):
    x = m.ones(2, requires_grad=True)
    (x * 2).grad_fn.next_functions[0][0].metadata["seen"] = True
    gc.collect()
    assert (x * 2).grad_fn.next_functions[0][0].metadata == {}


def test_the_accumulator_is_kept_by_the_graph(m):
    x = m.ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.next_functions[0][0].metadata["seen"] = True
    assert y.grad_fn.next_functions[0][0].metadata == {"seen": True}
    assert (x * 3).grad_fn.next_functions[0][0].metadata == {"seen": True}


def test_metadata_is_the_users(m):
    node = (m.ones(1, requires_grad=True) * 2).grad_fn
    assert node.metadata == {}
    node.metadata["key"] = 1
    assert node.metadata == {"key": 1}


def test_sequence_numbers_grow_and_accumulators_come_first(m):
    x = m.ones(1, requires_grad=True)
    y = x * 2
    z = y * 2
    assert y.grad_fn._sequence_nr() < z.grad_fn._sequence_nr()
    assert y.grad_fn.next_functions[0][0]._sequence_nr() == 2**64 - 1


def test_nodes_are_nodes(m):
    y = m.ones(1, requires_grad=True) * 2
    assert isinstance(y.grad_fn, m.autograd.graph.Node)
    assert isinstance(y.grad_fn.next_functions[0][0], m.autograd.graph.Node)
    assert not isinstance(y, m.autograd.graph.Node)


class TestCalledByHand:
    """A node is a function: gradients of the outputs in, gradients of the inputs out."""

    def test_one_input(self, m):
        x = m.tensor([0.0, 1.0], requires_grad=True)
        got = x.exp().grad_fn(m.ones(2))
        assert got.tolist() == pytest.approx([1.0, 2.718281828])

    def test_two_inputs(self, m):
        x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0], requires_grad=True)
        gx, gy = (x * y).grad_fn(m.ones(2))
        assert (gx.tolist(), gy.tolist()) == ([3.0, 4.0], [1.0, 2.0])

    def test_an_input_that_wants_nothing(self, m):
        x, y = m.tensor([1.0, 2.0], requires_grad=True), m.tensor([3.0, 4.0])
        gx, gy = (x * y).grad_fn(m.ones(2))
        assert gx.tolist() == [3.0, 4.0]
        assert gy is None

    def test_what_was_broadcast_is_not_summed_yet(self, m):
        x, y = m.ones(2, 3, requires_grad=True), m.ones(3, requires_grad=True)
        _, gy = (x * y).grad_fn(m.ones(2, 3))
        assert gy.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]

    def test_what_is_saved_stays(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        node = (x * x).grad_fn
        assert [g.tolist() for g in node(m.ones(2))] == [g.tolist() for g in node(m.ones(2))]

    def test_it_records_if_grad_mode_is_on(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        node = (x * x).grad_fn
        assert node(m.ones(2))[0].requires_grad
        with m.no_grad():
            assert not node(m.ones(2))[0].requires_grad

    def test_its_result_can_be_differentiated(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        g = (x ** 3).grad_fn(m.ones(2))
        (g2,) = m.autograd.grad(g.sum(), x)
        assert g2.tolist() == [6.0, 12.0]

    def test_no_hooks_run(self, m):
        log = []
        x = m.ones(2, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: log.append("tensor"))
        y.retain_grad()
        y.grad_fn.register_prehook(lambda gs: log.append("pre"))
        y.grad_fn.register_hook(lambda gi, go: log.append("post"))
        y.grad_fn(m.ones(2))
        assert log == []
        assert y.grad is None

    def test_an_accumulator_adds(self, m):
        x = m.ones(2, requires_grad=True)
        accumulator = (x * 2).grad_fn.next_functions[0][0]
        g = m.tensor([3.0, 4.0])
        assert accumulator(g) == ()
        assert accumulator(g) == ()
        assert x.grad.tolist() == [6.0, 8.0]
        assert g.tolist() == [3.0, 4.0]

    def test_several_outputs(self, m):
        x = m.arange(4.0).requires_grad_()
        a, b = x.chunk(2)
        assert a.grad_fn(m.ones(2), m.zeros(2)).tolist() == [1.0, 1.0, 0.0, 0.0]
        assert b.grad_fn(None, m.ones(2)).tolist() == [0.0, 0.0, 1.0, 1.0]

    def test_a_whole_graph_by_hand(self, m):
        x = m.tensor([1.0, 2.0], requires_grad=True)
        loss = (x.exp() * 3).sum()
        node, g = loss.grad_fn, m.tensor(1.0)
        while node.next_functions:
            g = node(g)
            g = g[0] if isinstance(g, tuple) else g
            node = node.next_functions[0][0]
        node(g)
        loss.backward()
        assert x.grad.tolist() == pytest.approx([2 * 3 * 2.718281828, 2 * 3 * 7.389056099])


class TestSaved:
    """`_saved_*` of nodes."""

    def test_inputs_are_the_same_objects(self, m):
        x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        node = (x * y).grad_fn
        assert node._saved_self is x
        assert node._saved_other is y

    def test_results_are_new_objects_of_the_same_node(self, m):
        y = m.ones(2, requires_grad=True).exp()
        saved = y.grad_fn._saved_result
        assert saved is not y
        assert saved.grad_fn is y.grad_fn
        assert saved.tolist() == y.tolist()

    def test_what_nobody_needs_is_not_saved(self, m):
        x, w = m.ones(2, requires_grad=True), m.ones(2)
        node = (x * w).grad_fn
        assert node._saved_self is None
        assert node._saved_other is w

    def test_they_are_gone_after_the_pass(self, m):
        y = m.ones(2, requires_grad=True).exp()
        node = y.grad_fn
        y.sum().backward()
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            node._saved_result  # noqa: B018 (reading it is the test)
