"""Modules and layers. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import copy

import pytest


def test_linear_starts_as_in_pytorch(m):
    m.manual_seed(0)
    layer = m.nn.Linear(3, 2)
    assert layer.weight.tolist()[0] == pytest.approx([-0.0043225, 0.3097158, -0.4751853], abs=1e-6)
    assert layer.bias.tolist() == pytest.approx([-0.0114391, 0.4577749], abs=1e-5)
    assert repr(layer) == "Linear(in_features=3, out_features=2, bias=True)"
    assert m.nn.Linear(3, 2, bias=False).bias is None


def test_a_parameter_is_a_leaf_that_requires_grad(m):
    p = m.nn.Parameter(m.ones(2))
    assert (p.is_leaf, p.requires_grad, isinstance(p, m.Tensor)) == (True, True, True)
    assert type(p * 2) is m.Tensor
    assert not m.nn.Parameter(m.ones(2), requires_grad=False).requires_grad
    source = m.ones(2)
    assert m.nn.Parameter(source).data_ptr() == source.data_ptr()


class TestModule:
    """Parameters are found by assignment."""

    def make(self, m):
        class Net(m.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = m.nn.Linear(2, 3)
                self.scale = m.nn.Parameter(m.ones(3))
                self.note = "text"
                self.plain = m.ones(2)

            def forward(self, x):
                return self.first(x) * self.scale

        return Net()

    def test_names(self, m):
        net = self.make(m)
        assert [name for name, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias"]
        assert len(list(net.parameters())) == 3
        assert [name for name, _ in net.named_modules()] == ["", "first"]
        assert [child is net.first for child in net.children()] == [True]

    def test_repr(self, m):
        assert repr(self.make(m)) == "Net(\n  (first): Linear(in_features=2, out_features=3, bias=True)\n)"
        assert repr(m.nn.Sequential(m.nn.Linear(1, 2), m.nn.ReLU())) == (
            "Sequential(\n  (0): Linear(in_features=1, out_features=2, bias=True)\n  (1): ReLU()\n)")

    def test_gradients_reach_all(self, m):
        net = self.make(m)
        net(m.ones(4, 2)).sum().backward()
        assert all(p.grad is not None for p in net.parameters())
        net.zero_grad()
        assert all(p.grad is None for p in net.parameters())

    def test_train_and_eval(self, m):
        net = self.make(m)
        assert net.training
        assert net.eval() is net
        assert (net.training, net.first.training) == (False, False)
        net.train()
        assert net.first.training

    def test_requires_grad_(self, m):
        net = self.make(m)
        net.requires_grad_(False)
        assert not any(p.requires_grad for p in net.parameters())

    def test_a_list_of_layers_is_not_found(self, m):
        net = self.make(m)
        net.layers = [m.nn.Linear(2, 2)]
        assert len(list(net.parameters())) == 3

    def test_a_shared_parameter_counts_once(self, m):
        net = self.make(m)
        net.again = net.first
        assert len(list(net.parameters())) == 3

    def test_setting_a_parameter_to_a_tensor(self, m):
        net = self.make(m)
        with pytest.raises(TypeError, match="cannot assign .* as parameter 'scale'"):
            net.scale = m.ones(3)
        net.scale = None
        assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias"]


def test_losses(m):
    x, y = m.tensor([1.0, 2.0]), m.tensor([3.0, 5.0])
    assert m.nn.MSELoss()(x, y).item() == 6.5
    assert m.nn.L1Loss(reduction="sum")(x, y).item() == 5.0
    with pytest.warns(UserWarning, match="Using a target size"):
        m.nn.MSELoss()(x, m.ones(1))


def test_training_a_line(m):
    m.manual_seed(1)
    net = m.nn.Sequential(m.nn.Linear(1, 8), m.nn.ReLU(), m.nn.Linear(8, 1))
    x = m.linspace(-1, 1, 20).unsqueeze(1)
    losses = []
    for _ in range(20):
        loss = m.nn.functional.mse_loss(net(x), x * x)
        losses.append(loss.item())
        net.zero_grad()
        loss.backward()
        with m.no_grad():
            for p in net.parameters():
                p -= 0.2 * p.grad
    assert losses[0] == pytest.approx(0.3264493, rel=1e-4)
    assert losses[-1] == pytest.approx(0.0652135, rel=1e-3)


class TestCopiesAndParts:
    """Copies of parameters, parts of modules that come and go."""

    def test_deepcopy_of_a_parameter_leaves_its_grad_behind(self, m):
        p = m.nn.Parameter(m.ones(2))
        p.sum().backward()
        made = copy.deepcopy(p)
        assert (type(made), made.grad, made.requires_grad) == (m.nn.Parameter, None, True)

    def test_deepcopy_of_a_leaf_takes_attributes_along(self, m):
        x = m.ones(3, requires_grad=True)
        x.notes = ["first"]
        made = copy.deepcopy(x)
        assert made.notes == ["first"]
        assert made.notes is not x.notes

    def test_a_parameter_shares_the_version_of_its_data(self, m):
        data = m.ones(2)
        p = m.nn.Parameter(data)
        data.add_(1)
        assert p._version == data._version == 1

    def test_what_is_taken_off_is_no_parameter_any_more(self, m):
        model = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.Linear(2, 1))
        model.extra = m.nn.Linear(1, 1)
        model.extra = None
        del model[1].bias
        model[0].bias = None
        assert [name for name, _ in model.named_parameters()] == ["0.weight", "1.weight"]
        assert model[0].bias is None
        with pytest.raises(TypeError, match="as child module 'extra'"):
            model.extra = 3

    def test_a_part_of_a_sequence(self, m):
        part = m.nn.Sequential(m.nn.ReLU(), m.nn.Tanh(), m.nn.Sigmoid())[1:]
        assert repr(part) == "Sequential(\n  (1): Tanh()\n  (2): Sigmoid()\n)"

    def test_a_module_used_twice_is_one_child(self, m):
        layer = m.nn.Linear(2, 2)
        model = m.nn.Sequential(layer, layer)
        assert (len(list(model.children())), len(list(model))) == (1, 2)


class TestSettings:
    """What a layer is built with: kept as attributes, read at every call, free for a user's own class to add to."""

    def test_a_changed_setting_counts_from_the_next_call_on(self, m):
        layer, x = m.nn.LeakyReLU(0.5), m.tensor([-2.0])
        assert layer(x).tolist() == [-1.0]
        layer.negative_slope = 2.0
        assert layer(x).tolist() == [-4.0]
        assert repr(layer) == "LeakyReLU(negative_slope=2.0)"

    def test_a_parameter_as_a_setting_is_registered(self, m):
        layer = m.nn.Threshold(m.nn.Parameter(m.tensor(0.5)), 0.0)
        assert list(layer.state_dict()) == ["threshold"]

    def test_a_class_of_a_user_declares_no_settings(self, m):
        class Scaled(m.nn.ReLU):
            scale: float
            inner: m.nn.Linear

            def forward(self, input):
                return super().forward(input) * self.scale

        layer = Scaled(inplace=True)
        layer.scale = 3.0
        assert layer(m.tensor([-1.0, 2.0])).tolist() == [0.0, 6.0]
        assert (layer == Scaled(True), len({layer, Scaled(True)})) == (False, 2)

    def test_a_setting_leaves_no_default_on_the_class(self, m):
        assert not hasattr(m.nn.ReLU, "inplace")
        assert not hasattr(m.nn.SmoothL1Loss, "beta")

    @pytest.mark.parametrize("call", [lambda nn: nn.ChannelShuffle(), lambda nn: nn.LeakyReLU(slope=1),
                                      lambda nn: nn.Sigmoid(1), lambda nn: nn.Softplus(1, 2, 3)])
    def test_wrong_arguments(self, m, call):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            call(m.nn)
