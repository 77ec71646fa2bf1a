"""Healthy training loops: what one does around the usual step, done right."""

from tests.widgets.doctor.models import batch, images, models


def by_hand_with_zeroed_gradients(torch):
    x, y = torch.randn(16, 3), torch.randn(16)
    w, b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)

    def step():
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p.sub_(0.1 * p.grad)
                p.grad = None

    return step, {}


def by_hand_with_grads_zeroed_in_place(torch):
    x, y = torch.randn(16, 3), torch.randn(16)
    w = torch.zeros(3, requires_grad=True)

    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)
            w.grad.zero_()

    return step, {}


def by_hand_with_autograd_grad(torch):
    x, y = torch.randn(16, 3), torch.randn(16)
    w = torch.zeros(3, requires_grad=True)

    def step():
        loss = ((x @ w - y) ** 2).mean()
        (grad,) = torch.autograd.grad(loss, [w])
        with torch.no_grad():
            w.sub_(0.1 * grad)

    return step, {}


def accumulates_over_four_small_batches(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        for part in range(4):
            rows = slice(4 * part, 4 * part + 4)
            (F.cross_entropy(model(x[rows]), y[rows]) / 4).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def accumulates_over_two_calls(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    calls = [0]

    def step():
        calls[0] += 1
        (F.cross_entropy(model(x), y) / 2).backward()
        if calls[0] % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()

    return step, {"model": model, "optimizer": optimizer}


def accumulates_longer_than_the_checkup(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    calls = [0]

    def step():
        calls[0] += 1
        (F.cross_entropy(model(x), y) / 8).backward()
        if calls[0] % 8 == 0:
            optimizer.step()
            optimizer.zero_grad()

    return step, {"model": model, "optimizer": optimizer}


def zero_grad_after_step(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step, {"model": model, "optimizer": optimizer}


def zero_grad_to_zeros(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def clipped_between_backward_and_step(torch):
    nn = torch.nn
    model, x, y = models(torch).Tagger(), torch.randn(4, 6, 4), torch.arange(24) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model.zero_grad()
        nn.functional.cross_entropy(model(x)[0].flatten(0, 1), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def learning_rate_schedule(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()

    return step, {"model": model, "optimizer": optimizer}


def lbfgs_with_a_closure(torch):
    model, x, y = torch.nn.Linear(3, 1), torch.randn(16, 3), torch.randn(16, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        return loss

    def step():
        optimizer.step(closure)

    return step, {"model": model, "optimizer": optimizer}


def parameter_groups(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    body = [p for name, p in model.named_parameters() if not name.startswith("head")]
    optimizer = torch.optim.SGD([{"params": body, "lr": 0.01}, {"params": model.head.parameters()}], lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}
