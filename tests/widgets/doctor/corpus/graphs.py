"""Graphs that live too long or are gone too early, and tensors changed under them."""

from tests.widgets.doctor.models import batch, images, models, sequences


def graph_grows__losses_kept_in_a_list(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = []

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        history.append(loss)  # <-

    return step, {"model": model, "optimizer": optimizer}


def graph_grows__summed_loss(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    total = 0.0

    def step():
        nonlocal total
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss  # <-

    return step, {"model": model, "optimizer": optimizer}


def graph_grows__hidden_state_with_a_kept_graph(torch):
    nn, F = torch.nn, torch.nn.functional
    cell, head = nn.RNNCell(4, 8), nn.Linear(8, 2)
    x, y = torch.randn(5, 4), torch.arange(5) % 2
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.0)
    hidden = torch.zeros(5, 8)

    def step():
        nonlocal hidden
        optimizer.zero_grad()
        hidden = cell(x, hidden)  # <-
        loss = F.cross_entropy(head(hidden), y)
        loss.backward(retain_graph=True)

    return step, {"model": [cell, head], "optimizer": optimizer}


def graph_grows__replay_of_log_probabilities(torch):
    policy = models(torch).Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    observation, actions, returns = torch.randn(6, 4), torch.arange(6) % 2, torch.randn(6)
    memory = {"log_probs": []}

    def step():
        scores, _ = policy(observation)
        log_probs = torch.log_softmax(scores, dim=1)[torch.arange(6), actions]
        loss = -(log_probs * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        memory["log_probs"].append(log_probs)  # <-

    return step, {"model": policy, "optimizer": optimizer}


def kept_graph__retain_graph_for_nothing(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward(retain_graph=True)  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def kept_graph__create_graph_without_second_derivative(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parameters = list(model.parameters())

    def step():
        loss = F.cross_entropy(model(x), y)
        grads = torch.autograd.grad(loss, parameters, create_graph=True)  # <-
        for parameter, grad in zip(parameters, grads):
            parameter.grad = grad.detach()
        optimizer.step()
        optimizer.zero_grad()

    return step, {"model": model, "optimizer": optimizer}


def kept_graph__gan_keeps_the_critics_graph(torch):
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
        loss_d.backward(retain_graph=True)  # <-
        optimizer_d.step()
        optimizer_g.zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        optimizer_g.step()

    return step, {"model": [generator, critic], "optimizer": [optimizer_g, optimizer_d]}


def inplace_on_saved__mlp_bias_added_in_place(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 3)
            self.shift = nn.Parameter(torch.zeros(16))

        def forward(self, x):
            h = torch.sigmoid(self.first(x))
            h += self.shift  # <-
            return self.last(h)

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def inplace_on_saved__attention_normalised_in_place(torch):
    nn, F = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x):
            weights = torch.exp(self.query(x) @ self.key(x).transpose(1, 2) / 8)
            weights.div_(weights.sum(dim=-1, keepdim=True))  # <-
            return weights @ self.value(x)

    model = Attention()
    x, y = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def inplace_on_saved__gan_steps_between_forward_and_backward(torch):
    F = torch.nn.functional
    kit = models(torch)
    generator, critic = kit.Generator(), kit.Discriminator()
    optimizer_g = torch.optim.SGD(generator.parameters(), lr=0.1)
    optimizer_d = torch.optim.SGD(critic.parameters(), lr=0.1)
    real = torch.randn(8, 6)

    def step():
        fake = generator(torch.randn(8, 4))
        loss_g = F.softplus(-critic(fake)).mean()
        loss_d = F.softplus(critic(fake.detach())).mean() + F.softplus(-critic(real)).mean()
        optimizer_d.zero_grad()
        loss_d.backward()
        optimizer_d.step()  # <-
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()

    return step, {"model": [generator, critic], "optimizer": [optimizer_g, optimizer_d]}


def inplace_on_saved__custom_function(torch):
    nn, F = torch.nn, torch.nn.functional

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * grad

    model, (x, y) = nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        h = model(x)
        scores = Cube.apply(h)
        h.clamp_(-1, 1)  # <-
        F.cross_entropy(scores + h, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def inplace_on_leaf__weights_updated_without_no_grad(torch):
    x, y = torch.randn(16, 3), torch.randn(16)
    w = torch.zeros(3, requires_grad=True)

    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        w.sub_(0.1 * w.grad)  # <-

    return step, {}


def inplace_on_leaf__initialised_in_the_step(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        model.last.weight.mul_(0.9)  # <-
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def inplace_on_leaf__weight_clipping_of_a_critic(torch):
    critic, real = models(torch).Discriminator(), torch.randn(8, 6)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = -critic(real).mean()
        loss.backward()
        optimizer.step()
        for parameter in critic.parameters():
            parameter.clamp_(-0.1, 0.1)  # <-

    return step, {"model": critic, "optimizer": optimizer}


def second_backward__same_loss_twice(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        regularised = loss * 1.1
        regularised.backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def second_backward__lstm_state_not_detached(torch):
    F = torch.nn.functional
    model, x, y = models(torch).Tagger(), torch.randn(4, 6, 4), torch.arange(24) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    state = None

    def step():
        nonlocal state
        optimizer.zero_grad()
        tags, state = model(x, state)  # <-
        F.cross_entropy(tags.flatten(0, 1), y).backward()

    return step, {"model": model, "optimizer": optimizer}


def second_backward__features_computed_once(torch):
    nn, F = torch.nn, torch.nn.functional
    body, head = nn.Linear(8, 16), nn.Linear(16, 3)
    x, y = batch(torch)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    features = torch.tanh(body(x))

    def step():
        optimizer.zero_grad()
        body.zero_grad()
        loss = F.cross_entropy(head(features), y)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": head, "optimizer": optimizer}


def checkpoint_without_grad__reentrant_on_the_batch(torch):
    checkpoint = torch.utils.checkpoint.checkpoint
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
            self.head = nn.Linear(16, 3)

        def forward(self, x):
            h = checkpoint(self.body, x, use_reentrant=True)  # <-
            return self.head(h)

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def checkpoint_without_grad__blocks_on_a_detached_embedding(torch):
    checkpoint = torch.utils.checkpoint.checkpoint
    F = torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)
    model.embed.weight.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)

    def step():
        x = checkpoint(model.blocks[0], model.embed(tokens), use_reentrant=True)  # <-
        x = model.blocks[1](x)
        loss = F.cross_entropy(model.head(x).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def checkpoint_without_grad__first_convolution(torch):
    checkpoint = torch.utils.checkpoint.checkpoint
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def first(x):
        return F.max_pool2d(F.relu(model.conv1(x)), 2)

    def step():
        optimizer.zero_grad()
        h = checkpoint(first, x, use_reentrant=True)  # <-
        h = model.norm1(h)
        h = F.relu(model.norm2(model.conv2(h)))
        F.cross_entropy(model.head(h.mean(dim=(2, 3))), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}
