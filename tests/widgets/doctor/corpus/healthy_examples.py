"""The training steps of `examples/` and of the lessons: healthy, too."""

import runpy
import sys
from pathlib import Path
from unittest.mock import patch

from tests.widgets.doctor.models import images

EXAMPLES = Path(__file__).parents[4] / "examples"


def example(torch, name, *options):
    """What a script of `examples/` defines, for one library."""
    with patch.object(sys, "argv", [name, "--lib", torch.__name__, *options]):
        return runpy.run_path(str(EXAMPLES / name), run_name="example")


def digits(torch, kind):
    made = example(torch, "digits.py", "--model", kind)
    model, (x, y) = made[kind](), images(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 30)

    def step():
        model.train()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        made["accuracy"](model, torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4))
        return loss.item()

    return step, {"model": model, "optimizer": optimizer}


def digits_mlp(torch):
    return digits(torch, "mlp")


def digits_cnn(torch):
    return digits(torch, "cnn")


def characters(torch):
    made = example(torch, "characters.py")
    text = torch.arange(400) % len(made["ALPHABET"])
    model = made["CharacterTransformer"]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)

    def step():
        inputs, targets = made["batch"](text)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs[:2]).flatten(0, 1), targets[:2].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def lesson_on_accumulation(torch):
    w, losses = torch.tensor(0.0, requires_grad=True), []
    optimiser = torch.optim.SGD([w], lr=0.01)

    def step():
        optimiser.zero_grad()
        loss = (w * 2 - 6) ** 2
        loss.backward()
        optimiser.step()
        losses.append(loss.item())

    return step, {"optimizer": optimiser}


def lesson_on_optimizers(torch):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([0.0], requires_grad=True)
    optimizer = torch.optim.SGD([w, b], lr=0.1, momentum=0.5)

    def step():
        loss = (w * w).sum() + b.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"optimizer": optimizer}


def lesson_on_modules(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    x, y = torch.randn(16, 4), torch.randn(16, 1)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": net, "optimizer": optimizer}


def lesson_on_normals(torch):
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 32), nn.Softplus(beta=10), nn.Linear(32, 32), nn.Softplus(beta=10),
                        nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.005)
    turn = torch.linspace(0, 6.28, 64)
    ring = torch.stack([turn.cos(), turn.sin()], dim=1)

    def step():
        p = (torch.rand(64, 2) * 4 - 2).requires_grad_()
        (slope,) = torch.autograd.grad(net(p).sum(), p, create_graph=True)
        loss = net(ring).abs().mean() + 0.1 * ((slope.norm(dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": net, "optimizer": optimizer}
