"""Hooks, state dicts, conversions and containers of modules. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import copy
import pickle

import pytest


@pytest.fixture
def net(m):
    m.manual_seed(0)
    return m.nn.Sequential(m.nn.Linear(2, 3), m.nn.ReLU(), m.nn.Linear(3, 1))


class TestHooks:
    """What they see, and when."""

    def test_forward(self, m, net):
        seen = []
        net[0].register_forward_pre_hook(lambda module, args: seen.append(args[0].shape))
        handle = net[0].register_forward_hook(lambda module, args, output: seen.append(output.shape) or output * 0)
        assert net[:1](m.ones(4, 2)).tolist() == [[0.0] * 3] * 4
        handle.remove()
        assert net[:1](m.ones(4, 2)).abs().sum() > 0
        assert [tuple(shape) for shape in seen] == [(4, 2), (4, 3), (4, 2)]

    def test_full_backward(self, m, net):
        seen = []
        for module in net:
            module.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append(
                (type(module).__name__, [None if g is None else tuple(g.shape) for g in grad_input])))
        net(m.ones(4, 2, requires_grad=True)).sum().backward()
        assert seen == [("Linear", [(4, 3)]), ("ReLU", [(4, 3)]), ("Linear", [(4, 2)])]

    def test_full_backward_gives_another_gradient(self, m, net):
        net[2].register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
        net(m.ones(4, 2)).sum().backward()
        assert net[2].bias.grad.tolist() == [4.0]
        assert net[0].weight.grad.abs().sum() == 0

    def test_its_node_is_in_the_graph(self, m, net):
        net.register_full_backward_hook(lambda *given: None)
        assert net(m.ones(1, 2, requires_grad=True)).grad_fn.name() == "BackwardHookFunctionBackward"

    def test_always_called(self, m, net):
        seen = []
        net[0].register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
        with pytest.raises(RuntimeError):
            net(m.ones(1, 7))
        assert seen == [None]


class TestState:
    """What is in a state dict, and what is loaded."""

    def test_there_and_back(self, m, net):
        m.manual_seed(1)
        other = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.ReLU(), m.nn.Linear(3, 1))
        x = m.ones(1, 2)
        assert net(x).item() != other(x).item()
        assert repr(other.load_state_dict(net.state_dict())) == "<All keys matched successfully>"
        assert net(x).item() == other(x).item()
        assert list(net.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]

    def test_buffers(self, m):
        module = m.nn.Module()
        module.register_buffer("kept", m.ones(2))
        module.register_buffer("passing", m.ones(2), persistent=False)
        assert list(module.state_dict()) == ["kept"]
        assert [name for name, _ in module.named_buffers()] == ["kept", "passing"]
        assert list(module.parameters()) == []

    def test_all_that_does_not_fit_is_told(self, m, net):
        state = net.state_dict()
        state["0.weight"], state["more"] = m.ones(3, 3), state.pop("2.bias")
        with pytest.raises(RuntimeError) as error:
            net.load_state_dict(state)
        assert str(error.value).splitlines() == [
            "Error(s) in loading state_dict for Sequential:",
            '\tMissing key(s) in state_dict: "2.bias". ',
            '\tUnexpected key(s) in state_dict: "more". ',
            "\tsize mismatch for 0.weight: copying a param with shape torch.Size([3, 3]) from checkpoint, the shape in "
            "current model is torch.Size([3, 2]).",
        ]

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
    def test_copies_are_apart(self, m, net, copied):
        twin = copied(net)
        x = m.ones(1, 2)
        assert twin(x).item() == net(x).item()
        with m.no_grad():
            twin[0].weight.zero_()
        assert net[0].weight.abs().sum() > 0


def test_a_parameter_stays_itself(m, net):
    """An optimiser that holds it goes on after a conversion."""
    weight = net[0].weight
    net.double()
    assert net[0].weight is weight
    assert weight.dtype == m.float64
    assert weight.requires_grad
    assert net(m.ones(1, 2, dtype=m.float64)).dtype == m.float64


def test_containers(m):
    layers = m.nn.ModuleList([m.nn.Linear(1, 1) for _ in range(3)])
    heads = m.nn.ModuleDict({"a": layers[0], "b": m.nn.ReLU()})
    scales = m.nn.ParameterList([m.ones(2), m.zeros(3)])
    both = m.nn.ModuleList([layers, heads, scales])
    assert len(list(both.parameters())) == 8
    assert repr(layers) == "ModuleList(\n  (0-2): 3 x Linear(in_features=1, out_features=1, bias=True)\n)"
    del layers[0]
    assert [name for name, _ in both.named_parameters()][:2] == ["0.0.weight", "0.0.bias"]
    assert heads["a"] is not layers[0]
    assert "b" in heads
    assert scales[1].requires_grad
