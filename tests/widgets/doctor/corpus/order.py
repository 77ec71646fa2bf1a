"""The optimizer and the order of its calls."""

from tests.widgets.doctor.models import batch, images, models, sequences


def not_in_optimizer__head_forgotten(torch):
    nn, F = torch.nn, torch.nn.functional
    body, head = nn.Linear(8, 16), nn.Linear(16, 3)
    x, y = batch(torch)
    optimizer = torch.optim.Adam(body.parameters(), lr=0.01)  # <-

    def step():
        optimizer.zero_grad()
        head.zero_grad()
        loss = F.cross_entropy(head(torch.relu(body(x))), y)
        loss.backward()
        optimizer.step()

    return step, {"model": [body, head], "optimizer": optimizer}


def not_in_optimizer__layers_in_a_python_list(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(8, 8), nn.Linear(8, 8)]  # <-
            self.last = nn.Linear(8, 3)

        def forward(self, x):
            for layer in self.layers:
                x = torch.tanh(layer(x))
            return self.last(x)

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def not_in_optimizer__temperature_added_later(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <-
    model.scale = nn.Parameter(torch.ones(3))

    def step():
        model.zero_grad()
        loss = F.cross_entropy(model(x) * model.scale, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def stale_in_optimizer__head_replaced(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = models(torch).CNN(classes=10), images(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # <-
    model.head = nn.Linear(8, 3)

    def step():
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def stale_in_optimizer__model_made_anew(torch):
    F = torch.nn.functional
    model = models(torch).MLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # <-
    model, (x, y) = models(torch).MLP(), batch(torch)

    def step():
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def stale_in_optimizer__weights_initialised_by_assignment(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = models(torch).Tagger(), (torch.randn(4, 6, 4), torch.arange(24) % 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  # <-
    model.head.weight = nn.Parameter(torch.zeros(3, 8))

    def step():
        model.zero_grad()
        loss = F.cross_entropy(model(x)[0].flatten(0, 1), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def grad_accumulates__mlp_no_zero_grad(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = F.cross_entropy(model(x), y)
        loss.backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def grad_accumulates__by_hand(torch):
    x, y = torch.randn(16, 3), torch.randn(16)
    w, b = torch.zeros(3, requires_grad=True), torch.zeros(1, requires_grad=True)

    def step():
        loss = ((x @ w + b - y) ** 2).mean()
        loss.backward()  # <-
        with torch.no_grad():
            w.sub_(0.1 * w.grad)
            b.sub_(0.1 * b.grad)

    return step, {}


def grad_accumulates__gan_zeroes_the_wrong_network(torch):
    F = torch.nn.functional
    kit = models(torch)
    generator, critic = kit.Generator(), kit.Discriminator()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    real = torch.randn(8, 6)

    def step():
        fake = generator(torch.randn(8, 4))
        optimizer_d.zero_grad()
        loss_d = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
        loss_d.backward()
        optimizer_d.step()
        optimizer_d.zero_grad()
        loss_g = F.softplus(-critic(fake)).mean()
        loss_g.backward()  # <-
        optimizer_g.step()

    return step, {"model": [generator, critic], "optimizer": [optimizer_g, optimizer_d]}


def wrong_order__step_before_backward(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        optimizer.step()  # <-
        loss.backward()

    return step, {"model": model, "optimizer": optimizer}


def wrong_order__zero_grad_before_step(torch):
    F = torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.zero_grad()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def wrong_order__clipping_after_step(torch):
    nn, F = torch.nn, torch.nn.functional
    model, x, y = models(torch).Tagger(), torch.randn(4, 6, 4), torch.arange(24) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        tags, _ = model(x)
        loss = F.cross_entropy(tags.flatten(0, 1), y)
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-

    return step, {"model": model, "optimizer": optimizer}


def wrong_order__gan_critic_zeroed_too_late(torch):
    F = torch.nn.functional
    kit = models(torch)
    generator, critic = kit.Generator(), kit.Discriminator()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    real = torch.randn(8, 6)

    def step():
        fake = generator(torch.randn(8, 4))
        loss_d = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
        loss_d.backward()
        optimizer_d.zero_grad()  # <-
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = F.softplus(-critic(fake)).mean()
        loss_g.backward()
        optimizer_g.step()

    return step, {"model": [generator, critic], "optimizer": [optimizer_g, optimizer_d]}
