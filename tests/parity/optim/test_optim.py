"""optim: after a hundred steps parameters, states, versions and groups are PyTorch's, whatever the options."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
import minigrad.optim
from minigrad.optim import _update

pytestmark = pytest.mark.torch

LINES = """
SGD
SGD lr=0.05
SGD momentum=0.9
SGD momentum=0.9 dampening=0.3
SGD momentum=0.9 nesterov=True
SGD momentum=0.9 nesterov=True weight_decay=0.1 maximize=True
SGD weight_decay=0.2 lr=0.02
SGD maximize=True
SGD foreach=True momentum=0.5
SGD fused=True momentum=0.5
Adam
Adam lr=0.05 betas=(0.8,0.9)
Adam betas=(0.3,0.4) eps=0.01
Adam weight_decay=0.1
Adam weight_decay=0.1 decoupled_weight_decay=True
Adam amsgrad=True lr=0.02
Adam amsgrad=True weight_decay=0.1 maximize=True
Adam maximize=True decoupled_weight_decay=True weight_decay=0.1
Adam foreach=True
Adam fused=True
AdamW
AdamW weight_decay=0.3 lr=0.03
AdamW amsgrad=True maximize=True
RMSprop
RMSprop alpha=0.8 eps=0.001
RMSprop momentum=0.7
RMSprop centered=True
RMSprop centered=True momentum=0.7 weight_decay=0.1 maximize=True
Adagrad
Adagrad lr=0.1 lr_decay=0.05
Adagrad initial_accumulator_value=0.5 eps=0.001
Adagrad weight_decay=0.1 maximize=True lr_decay=0.1
Adadelta
Adadelta rho=0.5 eps=0.001 lr=0.5
Adadelta weight_decay=0.1 maximize=True
Adamax
Adamax lr=0.05 betas=(0.7,0.9) eps=0.001
Adamax weight_decay=0.1 maximize=True
NAdam
NAdam lr=0.02 betas=(0.7,0.9) momentum_decay=0.1
NAdam weight_decay=0.1 decoupled_weight_decay=True
NAdam weight_decay=0.1 maximize=True eps=0.001
RAdam
RAdam lr=0.02 betas=(0.7,0.9)
RAdam weight_decay=0.1 decoupled_weight_decay=True
RAdam weight_decay=0.1 maximize=True eps=0.001
Rprop
Rprop lr=0.05 etas=(0.4,1.5)
Rprop step_sizes=(0.001,0.02) maximize=True
ASGD
ASGD lr=0.05 lambd=0.01 alpha=0.5
ASGD t0=10 weight_decay=0.1
ASGD t0=3 maximize=True
""".strip().splitlines()
SHAPES = ((5, 7), (), (4, 3), (0,))
LATE = 2  # this one has no gradient in the first 60 steps


def optimizer_of(lib, line, params, **more):
    """The optimiser that a line names."""
    name, *options = line.split()
    return getattr(lib.optim, name)(params, **{k: eval(v) for k, v in (o.split("=") for o in options)}, **more)


def params_of(lib, dtype):
    random = np.random.RandomState(0)
    return [lib.tensor(np.asarray(random.standard_normal(shape)).astype(dtype), requires_grad=True)
            for shape in SHAPES]


def gradient(p, i, step):
    """A gradient that depends on where the parameter is, of memory in another order for some."""
    at = p.detach().numpy()
    g = np.asarray(at * np.linspace(0.1, 2, at.size).reshape(at.shape) + np.cos(3 * step + i + at)).astype(at.dtype)
    return np.asfortranarray(g) if i == 2 else g


def walk(lib, line, dtype, steps=100, **more):
    """The optimiser after some steps, and its parameters."""
    params = params_of(lib, dtype)
    optimizer = optimizer_of(lib, line, params, **more)
    for step in range(steps):
        for i, p in enumerate(params):
            if i != LATE or step >= 0.6 * steps:
                p.grad = lib.from_numpy(gradient(p, i, step))
        optimizer.step()
    return optimizer, params


def told(value, numbers):
    """A state without tensors: those become their dtype, shape and version. Numbers go on the list."""
    if hasattr(value, "grad_fn"):
        numbers.append(value.detach().numpy().astype(float))
        return str(value.dtype).split(".")[1], tuple(value.shape), value._version, value.requires_grad
    if isinstance(value, float):
        numbers.append(np.array(value))
        return "float"
    if isinstance(value, dict):
        return [(key, told(each, numbers)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [told(each, numbers) for each in value]
    return value


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("line", LINES)
def test_a_hundred_steps(torch, monkeypatch, line, dtype):
    monkeypatch.setattr(_update, "BLOCK", 64)  # bytes: some parameters take several blocks
    told_of, numbers_of = [], []
    for lib in (torch, minigrad):
        numbers = []
        optimizer, params = walk(lib, line.replace(" fused=True", "") if lib is torch else line, dtype)
        state = optimizer.state_dict()
        for group in state["param_groups"]:
            group.update({flag: None for flag in ("fused", "foreach") if flag in group})
        told_of.append((told(state, numbers), told(params, numbers)))
        numbers_of.append(numbers)
    assert told_of[1] == told_of[0]
    tolerance = 1e-6 if dtype == "float64" else 1e-3 if "Rprop" in line else 1e-4
    for theirs, ours in zip(*numbers_of, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def rosenbrock(x, y):
    """A valley that bends; not so narrow that rounding decides how one goes through it."""
    return ((1 - x) ** 2).sum() + ((y - x ** 2) ** 2).sum()


SEARCHES = [
    {}, {"max_iter": 5, "lr": 0.1}, {"history_size": 2, "lr": 0.05}, {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "max_iter": 3, "history_size": 3, "lr": 0.7},
    {"line_search_fn": "strong_wolfe", "max_eval": 4}, {"max_iter": 0}, {"tolerance_grad": 100.0}, {"max_eval": 1},
    {"tolerance_change": 0.5, "line_search_fn": "strong_wolfe"}, {"max_iter": 1, "lr": 0.3, "history_size": 4},
]


def search(lib, options, dtype):
    """An LBFGS after some steps, its parameters, and the losses on the way."""
    kind = getattr(lib, dtype)
    x = lib.tensor([-1.2, 0.4, 0.3], dtype=kind, requires_grad=True)
    y = lib.tensor([[1.0], [0.2], [2.0]], dtype=kind, requires_grad=True)
    free = lib.tensor([7.0], dtype=kind, requires_grad=True)
    optimizer, losses = lib.optim.LBFGS([x, free, y], **options), []

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(x, y.view(-1))
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(100 if options.get("max_iter") == 1 else 4):
        assert optimizer.step(closure).grad_fn is not None
    return optimizer, [x, y, free], losses


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True to a scalar")
@pytest.mark.parametrize("options", SEARCHES, ids=str)
def test_lbfgs(torch, options):
    told_of, numbers_of = [], []
    for lib in (torch, minigrad):
        numbers = []
        optimizer, params, losses = search(lib, options, "float64")
        told_of.append(str([told(each, numbers) for each in (optimizer.state_dict(), params, losses)]))
        numbers_of.append(numbers)
        _, params, _ = search(lib, options, "float32")
        numbers_of.append([p.detach().numpy() for p in params])
    assert told_of[1] == told_of[0]
    for theirs, ours, tolerance in ((numbers_of[0], numbers_of[2], 1e-6), (numbers_of[1], numbers_of[3], 1e-3)):
        for their, our in zip(theirs, ours, strict=True):
            np.testing.assert_allclose(our, their, rtol=tolerance, atol=tolerance)


ADAFACTOR = ["", "lr=0.1 weight_decay=0.1", "beta2_decay=-0.5 d=2.0", "eps=(1e-2,1e-1) maximize=True", "lr=2.0"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", ADAFACTOR)
def test_adafactor(torch, options, dtype):
    def run(lib):
        lib.manual_seed(0)
        kind = getattr(lib, dtype)
        shapes = ((3, 4), (2, 3, 2), (5,), (), (1, 1), (0, 3))
        params = [lib.randn(shape, dtype=kind).requires_grad_() for shape in shapes]
        chosen = eval(f"dict({options.replace(' ', ', ')})")
        optimizer = lib.optim.Adafactor(params[:-1], **chosen)
        for step in range(4):
            optimizer.zero_grad()
            sum([((p - 0.3 * step).sin() ** 2).sum() for p in params[step % 2:]]).backward()
            assert optimizer.step(lambda step=step: step) == step
        states = [{key: value.tolist() for key, value in optimizer.state[p].items()} for p in params[:-1]]
        versions = [p._version for p in params]
        return [p.tolist() for p in params], states, versions, repr(optimizer)

    mine, theirs = run(minigrad), run(torch)
    assert mine[2:] == theirs[2:]
    assert flat(mine[:2]) == pytest.approx(flat(theirs[:2]), rel=1e-5 if dtype == "float32" else 1e-12, abs=1e-6)


MUON = ["", "lr=0.1 weight_decay=0.0", "nesterov=False momentum=0.5", "adjust_lr_fn='match_rms_adamw'",
        "ns_steps=2 ns_coefficients=(2.0,-1.5,0.5)"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", MUON)
def test_muon(torch, options, dtype):
    """The iteration is rounded to bfloat16 in both libraries, which add up in another order: to a few of its steps."""
    def run(lib):
        lib.manual_seed(0)
        params = [lib.randn(shape, dtype=getattr(lib, dtype)).requires_grad_() for shape in ((6, 4), (4, 7), (1, 3))]
        start = [p.detach().clone() for p in params]
        optimizer = lib.optim.Muon(params, **eval(f"dict({options.replace(' ', ', ')})"))
        for step in range(3):
            optimizer.zero_grad()
            sum([((p - 0.3 * step).sin() ** 2).sum() for p in params[step % 2:]]).backward()
            assert optimizer.step(lambda step=step: step) == step
        lr = optimizer.param_groups[0]["lr"]
        moved = [((p - s) / lr).tolist() for p, s in zip(params, start, strict=True)]
        return moved, [list(optimizer.state[p]) for p in params], repr(optimizer)

    mine, theirs = run(minigrad), run(torch)
    assert mine[1:] == theirs[1:]
    assert flat(mine[0]) == pytest.approx(flat(theirs[0]), rel=0.02, abs=0.03)


def test_muon_makes_orthogonal():
    m = minigrad
    m.manual_seed(0)
    p = m.zeros(8, 5, requires_grad=True)
    p.grad = m.randn(8, 5)
    m.optim.Muon([p], lr=1.0, weight_decay=0.0, adjust_lr_fn=None).step()
    singular = m.linalg.svdvals(p.detach() / (8 / 5) ** 0.5)
    assert 0.6 < singular.min().item() and singular.max().item() < 1.3


@pytest.mark.parametrize("wrong", ["ns_steps=100", "ns_coefficients=(1, 2)"])
def test_muon_refuses(torch, wrong):
    said = []
    for lib in (minigrad, torch):
        p = lib.ones(2, 2, requires_grad=True)
        p.grad = lib.ones(2, 2)
        with pytest.raises(ValueError) as caught:
            eval(f"lib.optim.Muon([p], {wrong})", {"lib": lib, "p": p}).step()
        said.append(str(caught.value))
    assert said[0] == said[1]


def flat(values):
    """All numbers of nested lists and dicts, in order."""
    if isinstance(values, dict):
        return [n for key in values for n in flat(values[key])]
    return [n for each in values for n in flat(each)] if isinstance(values, (list, tuple)) else [values]
