"""Models learn on the stand-in device as on the CPU, and nothing comes to the host before somebody asks."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from minigrad import nn, optim
from minigrad.nn import functional as F
from tests.device.strict import COUNTS


class Recurrent(nn.Module):
    """An LSTM and a head over its last output."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(16, 3))


def transformer():
    return nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), nn.Flatten(),
                         nn.Linear(24, 3))


def adam(params):
    return optim.Adam(params, lr=0.01)


def momentum(params):
    return optim.SGD(params, lr=0.05, momentum=0.9)


CASES = {
    "mlp": (mlp, adam, (6, 4), 3),
    "cnn": (cnn, momentum, (4, 1, 4, 4), 3),
    "transformer": (transformer, momentum, (4, 3, 8), 3),
    "lstm": (Recurrent, adam, (4, 5, 3), 2),
}


def trained(name, device, steps=3):
    """The losses and the parameters after some steps from the same start."""
    make, optimizer, shape, classes = CASES[name]
    minigrad.manual_seed(0)
    model, x = make(), minigrad.randn(*shape)
    y = minigrad.arange(shape[0]) % classes
    model, x, y = model.to(device), x.to(device), y.to(device)
    opt, losses = optimizer(model.parameters()), []
    for _ in range(steps):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        losses.append(loss)
    return losses, model


@pytest.mark.parametrize("name", CASES)
def test_same_as_on_the_cpu(cuda, name):
    (here, ours), (there, theirs) = trained(name, "cpu"), trained(name, "cuda")
    assert all(v.device.type == "cuda" for v in there)
    assert here[0].item() > here[-1].item()
    np.testing.assert_allclose([v.item() for v in there], [v.item() for v in here], rtol=1e-5, atol=1e-5)
    for (key, a), (_, b) in zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True):
        assert b.device.type == "cuda"
        np.testing.assert_allclose(b.cpu().numpy(), a.numpy(), rtol=1e-5, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", CASES)
def test_nothing_waits(cuda, name):
    losses, _ = trained(name, "cuda")
    assert COUNTS.to_host == 0
    losses[-1].item()
    assert COUNTS.to_host == 1
