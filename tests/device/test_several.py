"""Two devices: what is done to tensors is done where they lie, whichever is in use, as PyTorch's guards have it."""

from __future__ import annotations

import pytest

import minigrad
from minigrad import nn, optim
from minigrad.backends.registry import MultiDevice
from minigrad.core.grad_mode import UNUSUAL
from minigrad.nn import functional as F
from minigrad.ops.pointwise import mul
from minigrad.utils.checkpoint import checkpoint
from tests.device.strict import COUNTS
from tests.device.test_optim import OPTIMIZERS

ZERO, ONE = minigrad.device("cuda", 0), minigrad.device("cuda", 1)


@pytest.fixture
def in_use():
    """The device in use while a hook runs."""
    found = []
    return found, lambda *given: found.append(COUNTS.current)


def test_an_op_runs_where_its_tensors_lie(cuda):
    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    for call in (lambda: x * 2, lambda: 2 - x, lambda: x.sum(), lambda: x + x, x.exp, lambda: minigrad.cat([x, x]),
                 lambda: minigrad.stack((x, x)), lambda: F.relu(x), lambda: x[[0, 2]], lambda: x > 0, x.detach().zero_,
                 lambda: minigrad.add(input=x, other=x), lambda: minigrad.mul(3, x), x.clone):
        assert call().device == ONE
        assert minigrad.cuda.current_device() == 0


def test_a_device_without_a_number_is_the_one_in_use(cuda):
    x = minigrad.ones(3, device="cuda:1")
    for moved in (x.to("cuda"), x.cuda(), x.to(minigrad.device("cuda")), x.to(device="cuda", dtype=minigrad.float64),
                  x.new_zeros(3, device="cuda"), minigrad.rand_like(x, device="cuda")):
        assert moved.device == ZERO
    for there in (x.to("cuda:1"), x.cuda(1), x.double(), x.new_ones(2), minigrad.zeros_like(x), minigrad.randn_like(x)):
        assert there.device == ONE


FACTORIES = {
    "zeros": minigrad.zeros, "ones": minigrad.ones, "rand": minigrad.rand, "randn": minigrad.randn,
    "empty": minigrad.empty, "randperm": minigrad.randperm, "arange": minigrad.arange, "eye": minigrad.eye,
    "randint": lambda n, **there: minigrad.randint(0, 9, (n,), **there),
    "full": lambda n, **there: minigrad.full((n,), 2.5, **there),
    "linspace": lambda n, **there: minigrad.linspace(0, 1, n, **there),
    "logspace": lambda n, **there: minigrad.logspace(0, 1, n, **there),
    "normal": lambda n, **there: minigrad.normal(1.0, 2.0, (n,), **there),
    "tril_indices": lambda n, **there: minigrad.tril_indices(n, n, **there),
    "triu_indices": lambda n, **there: minigrad.triu_indices(n, n, **there),
    "tensor": lambda n, **there: minigrad.tensor([1.5] * n, **there),
    "as_tensor": lambda n, **there: minigrad.as_tensor([1] * n, **there),
    "Linear": lambda n, **there: minigrad.nn.Linear(n, n, **there).weight,
    "Embedding": lambda n, **there: minigrad.nn.Embedding(n, n, padding_idx=1, **there).weight,
    "trunc_normal_": lambda n, **there: minigrad.nn.init.trunc_normal_(minigrad.zeros(n, **there)),
    **{name: (lambda n, name=name, **there: getattr(minigrad.nn.init, name)(minigrad.zeros(n, n, **there)))
       for name in ("orthogonal_", "eye_", "xavier_normal_", "kaiming_uniform_")},
    "dirac_": lambda n, **there: minigrad.nn.init.dirac_(minigrad.zeros(n, n, n, **there)),
    "sparse_": lambda n, **there: minigrad.nn.init.sparse_(minigrad.zeros(n, n, **there), 0.5),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_what_is_made_on_the_other_device(cuda, name):
    make = FACTORIES[name]
    made = make(4, device="cuda:1")  # the first time that this device is named: there are no guards yet
    assert made.device == ONE
    with minigrad.device("cuda:1"):
        assert make(4).device == ONE
    assert make(4, device="cuda").device == ZERO
    assert COUNTS.current == 0


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"])
def test_what_is_made_like_a_tensor_elsewhere(cuda, name):
    x = minigrad.ones(2, 3, device="cuda:0").t()
    for _ in range(2):  # without and with guards
        made = getattr(minigrad, name)(x, device="cuda:1")
        assert made.device == ONE
        assert getattr(minigrad, name)(made).device == ONE


def test_numbers_are_drawn_by_the_generator_of_their_device(cuda):
    minigrad.manual_seed(3)
    here = minigrad.randn(5, device="cuda:0")
    there = minigrad.randn(5, device="cuda:1")
    assert here.tolist() == there.tolist()
    assert minigrad.zeros(5, device="cuda:1").uniform_().device == ONE


def test_a_backward_pass_goes_over_two_devices(cuda, in_use):
    found, hook = in_use
    x = minigrad.full((2, 3), 2.0, device="cuda:0", requires_grad=True)
    w = minigrad.full((3,), 3.0, device="cuda:1", requires_grad=True)
    y = x.to("cuda:1")
    y.register_hook(hook)
    z = y * w + y  # two gradients meet at y, on its device
    back = (z * w).to("cuda:0") * x
    back.register_hook(hook)
    for _ in range(2):  # the second time the gradients are added up
        back.sum().backward(retain_graph=True)
    assert found == [0, 1] * 2
    assert (x.grad.device, w.grad.device) == (ZERO, ONE)
    assert x.grad.tolist() == [[2 * 48.0] * 3] * 2
    assert w.grad.tolist() == [2 * 2 * 28.0] * 3
    assert COUNTS.current == 0


def test_second_derivatives_over_two_devices(cuda):
    x = minigrad.full((3,), 2.0, device="cuda:0", requires_grad=True)
    y = x.to("cuda:1") ** 3
    (g,) = minigrad.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = minigrad.autograd.grad((g * g).to("cuda:1").sum(), x)
    assert g.device == h.device == ZERO
    assert h.tolist() == [2 * 12.0 * 12.0] * 3


def test_a_pass_that_fails_leaves_the_device_in_use(cuda):
    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    y = x * 2

    def fail(g):
        raise KeyError("here")

    y.register_hook(fail)
    with pytest.raises(KeyError, match="here"):
        y.sum().backward()
    assert COUNTS.current == 0


def test_a_node_called_by_hand_and_a_function_of_ones_own(cuda):
    class Twice(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g + g

    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    y = Twice.apply(x) * x
    assert y.grad_fn(minigrad.ones(3, device="cuda:1"))[0].device == ONE
    y.sum().backward()
    assert x.grad.tolist() == [4.0] * 3


def test_passes_inside_of_passes_go_on_in_threads(cuda):
    x = minigrad.ones(1, device="cuda:1", requires_grad=True)

    def down(depth):
        with minigrad.enable_grad():
            y = x * 2
            total = y.sum()
        if depth:
            y.register_hook(lambda g: down(depth - 1))
        total.backward()

    down(40)
    assert x.grad.tolist() == [82.0]
    assert COUNTS.current == 0


def test_a_checkpoint_is_run_again_there(cuda):
    layer = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).to("cuda:1")
    x = minigrad.ones(2, 3, device="cuda:1", requires_grad=True)
    for reentrant in (False, True):
        checkpoint(layer, x, use_reentrant=reentrant).sum().backward()
    assert x.grad.device == layer[0].weight.grad.device == ONE


LAYERS = {
    "Linear": (lambda: nn.Linear(4, 2), (3, 4)),
    "Conv2d": (lambda: nn.Conv2d(4, 2, 2), (2, 4, 3, 3)),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(4), (3, 4)),
    "LayerNorm": (lambda: nn.LayerNorm(4), (3, 4)),
    "GroupNorm": (lambda: nn.GroupNorm(2, 4), (3, 4)),
    "LSTM": (lambda: nn.LSTM(4, 3, num_layers=2, dropout=0.5), (5, 2, 4)),
    "GRU": (lambda: nn.GRU(4, 3, bidirectional=True), (5, 2, 4)),
    "RNN": (lambda: nn.RNN(4, 3), (5, 4)),
    "LSTMCell": (lambda: nn.LSTMCell(4, 3), (2, 4)),
    "GRUCell": (lambda: nn.GRUCell(4, 3), (2, 4)),
    "TransformerEncoderLayer": (lambda: nn.TransformerEncoderLayer(4, 2, 8), (5, 2, 4)),
    "AlphaDropout": (lambda: nn.AlphaDropout(), (3, 4)),
    "PReLU": (lambda: nn.PReLU(), (3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_on_the_other_device(cuda, name):
    make, shape = LAYERS[name]
    layer = make().to("cuda:1")
    x = minigrad.randn(*shape, device="cuda:1", requires_grad=True)
    found = layer(x)
    while isinstance(found, tuple):
        found = found[0]
    found.sum().backward()
    assert {found.device, x.grad.device, *[p.grad.device for p in layer.parameters() if p.grad is not None]} == {ONE}
    assert COUNTS.current == 0


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimisers_go_over_two_devices(cuda, name):
    def trained(*devices):
        params = [minigrad.linspace(-1, 1, 4).to(device).requires_grad_() for device in devices]
        optimizer = OPTIMIZERS[name](params)

        def closure():
            optimizer.zero_grad()
            total = sum(((p - 0.3) ** 4).sum().cpu() for p in params)
            total.backward()
            return total

        for _ in range(3):
            optimizer.step(closure)
        assert [str(p.device) for p in params] == list(devices)
        return [p.tolist() for p in params]

    for a, b in zip(trained("cuda:0", "cuda:1"), trained("cpu", "cpu"), strict=True):
        assert a == pytest.approx(b, rel=1e-4, abs=1e-5)
    assert COUNTS.current == 0


def test_a_weight_that_is_put_together(cuda):
    with pytest.warns(FutureWarning, match="weight_norm"):
        layer = nn.utils.weight_norm(nn.Linear(4, 2)).to("cuda:1")
    x = minigrad.randn(3, 4, device="cuda:1")
    layer(x).sum().backward()
    assert layer.weight_g.grad.device == layer.weight_v.grad.device == ONE


def test_gradients_of_two_devices_are_clipped_together(cuda):
    params = [minigrad.ones(2, device=device, requires_grad=True) for device in ("cuda:0", "cuda:1")]
    for p in params:
        (p * 3).sum().backward()
    norm = nn.utils.clip_grad_norm_(params, 1.0)
    assert norm.device == ZERO
    assert norm.item() == pytest.approx(6.0)
    assert [p.grad.tolist() for p in params] == [pytest.approx([0.5, 0.5], rel=1e-4)] * 2
    assert [p.grad.device for p in params] == [ZERO, ONE]


def test_a_model_over_two_devices_learns(cuda):
    minigrad.manual_seed(0)
    first, second = nn.Linear(3, 8).to("cuda:0"), nn.Linear(8, 1).to("cuda:1")
    optimizer = optim.AdamW([*first.parameters(), *second.parameters()], lr=0.05)
    x = minigrad.randn(16, 3, device="cuda:0")
    y = (x.sum(1, keepdim=True) > 0).float().to("cuda:1")
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(second(first(x).relu().to("cuda:1")), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    assert (first.weight.grad.device, second.weight.grad.device, COUNTS.current) == (ZERO, ONE, 0)


def test_where_there_is_one_device_nothing_is_guarded(cuda):
    def plain():
        return (minigrad.Tensor.__mul__ is mul.Mul.forward and not hasattr(mul.Mul.forward, "__wrapped__")
                and len(UNUSUAL.modes) == before)

    before = len(UNUSUAL.modes)
    assert (minigrad.ones(3, device="cuda") * 2).device == ZERO
    assert plain()
    minigrad.ones(3, device="cuda:1")
    assert not plain()
    MultiDevice.set_active(False)
    assert plain()


def test_with_the_device_in_use_it_runs(cuda):
    x = minigrad.ones(3, device="cuda:1", requires_grad=True)
    with minigrad.cuda.device(1):
        (x * 2).sum().backward()
    assert x.grad.device == x.device
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_views_and_copies_need_no_device_in_use(cuda):
    x = minigrad.ones(2, 3, device="cuda:1", requires_grad=True)
    assert x.t().device == x[0].device == x.device
    y = x.to("cuda:0") * 2
    assert y.device == minigrad.device("cuda", 0)
    y.sum().backward()
    assert x.grad.device == x.device
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_tensors_of_two_devices_do_not_meet(cuda):
    x, y = minigrad.ones(3, device="cuda:0"), minigrad.ones(3, device="cuda:1")
    for call in (lambda: x + y, lambda: y * x, lambda: minigrad.dot(x, y), lambda: minigrad.where(x > 0, x, y)):
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device, but found at least two "
                                               "devices, cuda:[01] and cuda:[01]!"):
            call()


def test_where_the_device_is_in_use_it_is_not_put_there_again(cuda, monkeypatch):
    entered, enter = [], cuda.on
    monkeypatch.setattr(cuda, "on", lambda index: entered.append(index) or enter(index))
    x = minigrad.zeros(3, device="cuda")
    assert minigrad.zeros_like(x).device == minigrad.ones(2, device="cuda:0").device == x.device
    assert not entered
    assert minigrad.ones(3, device="cuda:1").device == minigrad.device("cuda", 1)
    assert set(entered) == {1}


def test_one_device_leaves_ops_on_their_straight_path(cuda):
    before = len(UNUSUAL.modes)
    x = minigrad.ones(3, device="cuda")
    assert (x + x).device == minigrad.device("cuda", 0)
    assert len(UNUSUAL.modes) == before
