"""Steps that bring nothing about: nothing moves, or only the loss gets a gradient."""

from tests.widgets.doctor.models import batch, images, models


def nothing_moves__no_parentheses(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)), batch(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step  # noqa: B018 - this is the fault  # <-

    return step, {"model": model, "optimizer": optimizer}


def nothing_moves__no_step(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # <-
        return loss.item()

    return step, {"model": model, "optimizer": optimizer}


def nothing_moves__rate_of_zero(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0)  # <-

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def nothing_moves__clipped_to_nothing(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.0)  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def leaf_loss__accuracy(torch):
    model, (x, y) = torch.nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        wrong = (model(x).argmax(1) != y).float()  # <-
        loss = wrong.mean()
        loss.requires_grad_()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def leaf_loss__computed_without_gradients(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        with torch.no_grad():  # <-
            loss = F.cross_entropy(model(x), y)
        loss.requires_grad = True
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def leaf_loss__detached(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)), batch(torch)

    def step():
        model.zero_grad()
        losses = F.cross_entropy(model(x), y, reduction="none")
        loss = losses.detach().mean()  # <-
        loss.requires_grad_(True)
        loss.backward()

    return step, {"model": model}
