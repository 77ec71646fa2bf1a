"""Numbers that leave the finite, fade, explode, or stand still."""

from tests.widgets.doctor.models import batch, images, models


def nan_forward__log_of_a_softmax(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        p = torch.softmax(model(x) * 1000, dim=1)
        loss = -torch.log(p)[torch.arange(16), y].mean()  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def nan_forward__normalised_by_a_zero_deviation(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    x[:, 2] = 1.0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        centred = x - x.mean(dim=0)
        z = centred / (x[:, 2:3] - 1.0)  # <-
        loss = F.cross_entropy(model(z), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def nan_forward__ratio_of_probabilities_overflows(torch):
    policy = models(torch).Policy()
    observation, actions, advantage = torch.randn(6, 4), torch.arange(6) % 2, torch.ones(6)
    old = torch.full((6,), -200.0)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

    def step():
        scores, _ = policy(observation)
        new = torch.log_softmax(scores, dim=1)[torch.arange(6), actions]
        ratio = torch.exp(new - old)  # <-
        loss = -(ratio * advantage).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": policy, "optimizer": optimizer}


def nan_backward__distance_at_zero(torch):
    nn = torch.nn
    model, (x, _) = nn.Linear(8, 4), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        a = model(x)
        distance = torch.sqrt(((a - a.flip(0).flip(0)) ** 2).sum(dim=1))  # <-
        loss = distance.mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def nan_backward__where_hides_the_logarithm(torch):
    F = torch.nn.functional
    model, (x, _) = models(torch).MLP(outputs=1), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        rate = F.relu(model(x) - 0.1)
        root = rate**0.5  # <-
        loss = torch.where(rate > 0, root, torch.zeros_like(root)).mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def nan_backward__custom_function_divides_by_zero(torch):
    nn, F = torch.nn, torch.nn.functional

    class Magnitude(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.abs()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x / x.abs()

    model, (x, y) = nn.Linear(8, 3), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        scores = Magnitude.apply(F.relu(model(x)))  # <-
        F.cross_entropy(scores, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def exploding_gradient__one_layer_initialised_too_large(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 3)
            nn.init.normal_(self.c.weight, std=3e5)

        def forward(self, x):
            h = torch.relu(self.a(x))
            h = torch.relu(self.b(h))
            h = torch.relu(self.c(h))  # <-
            return self.d(h * 1e-6)

    model, (x, y) = Net(), batch(torch)
    nn.init.normal_(model.d.weight, std=1e6)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def exploding_gradient__recurrence_of_a_large_matrix(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inputs, self.hidden, self.out = nn.Linear(3, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 2)
            nn.init.normal_(self.hidden.weight, std=4.0)

        def forward(self, x):
            h = torch.zeros(x.shape[0], 8)
            for t in range(x.shape[1]):
                h = self.inputs(x[:, t]) + self.hidden(h)  # <-
            return self.out(h)

    model, x, y = Net(), torch.randn(4, 12, 3), torch.arange(4) % 2
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-12)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def exploding_gradient__deep_stack_without_normalisation(torch):
    nn, F = torch.nn, torch.nn.functional
    layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(10)])
    for layer in layers:
        nn.init.normal_(layer.weight, std=2.0)
    head, x, y = nn.Linear(16, 2), torch.randn(8, 16), torch.arange(8) % 2
    optimizer = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=1e-12)

    def step():
        h = x
        for layer in layers:
            h = F.relu(layer(h))  # <-
        loss = F.cross_entropy(head(h), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [layers, head], "optimizer": optimizer}


def vanishing_gradient__deep_sigmoid_stack(torch):
    nn, F = torch.nn, torch.nn.functional
    layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(12)])
    head, x, y = nn.Linear(16, 2), torch.randn(8, 16), torch.arange(8) % 2
    optimizer = torch.optim.SGD([*layers.parameters(), *head.parameters()], lr=0.1)

    def step():
        h = x
        for layer in layers:
            h = torch.sigmoid(layer(h))  # <-
        loss = F.cross_entropy(head(h), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [layers, head], "optimizer": optimizer}


def vanishing_gradient__one_layer_scaled_to_nothing(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 3)
            nn.init.normal_(self.c.weight, std=1e-7)

        def forward(self, x):
            h = torch.tanh(self.a(x))
            h = torch.tanh(self.b(h))
            h = torch.tanh(self.c(h))  # <-
            return self.d(h)

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def vanishing_gradient__cnn_with_a_tiny_branch_scale(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            h = torch.tanh(self.conv1(x))
            h = torch.tanh(self.conv2(h))
            return self.head(h.mean(dim=(2, 3)) * 1e-7)  # <-

    model, (x, y) = Net(), images(torch)
    nn.init.constant_(model.head.weight, 0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def dead_relu__mlp_with_a_large_negative_bias(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = nn.Linear(8, 32), nn.Linear(32, 32), nn.Linear(32, 3)
            nn.init.constant_(self.second.bias, -10.0)

        def forward(self, x):
            h = F.relu(self.first(x))
            h = F.relu(self.second(h))  # <-
            return self.last(h)

    model, (x, y) = Net(), batch(torch, 32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def dead_relu__cnn_killed_by_its_normalisation(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch, 16)
    nn.init.constant_(model.norm2.bias, -8.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad()
        h = F.max_pool2d(F.relu(model.norm1(model.conv1(x))), 2)
        h = torch.relu(model.norm2(model.conv2(h)))  # <-
        F.cross_entropy(model.head(h.mean(dim=(2, 3))), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def dead_relu__inputs_not_normalised(torch):
    nn, F = torch.nn, torch.nn.functional
    first, last = nn.Linear(6, 24), nn.Linear(24, 1)
    nn.init.uniform_(first.weight, -1.0, 0.0)
    x, y = torch.rand(32, 6) * 255, torch.randn(32, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=1e-6)

    def step():
        hidden = F.relu(first(x))  # <-
        loss = F.mse_loss(last(hidden), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [first, last], "optimizer": optimizer}


def saturated__tanh_of_raw_pixels(torch):
    nn, F = torch.nn, torch.nn.functional
    first, last = nn.Linear(16, 16), nn.Linear(16, 2)
    nn.init.normal_(first.weight, std=1.0)
    x, y = torch.rand(16, 16) * 255, torch.arange(16) % 2
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.01)

    def step():
        h = torch.tanh(first(x))  # <-
        loss = F.cross_entropy(last(h), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [first, last], "optimizer": optimizer}


def saturated__gate_with_a_huge_bias(torch):
    nn, F = torch.nn, torch.nn.functional

    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.value, self.gate, self.out = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 3)
            nn.init.constant_(self.gate.bias, 30.0)

        def forward(self, x):
            gate = torch.sigmoid(self.gate(x))  # <-
            return self.out(gate * self.value(x))

    model, (x, y) = Gated(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def saturated__policy_of_unscaled_observations(torch):
    policy = models(torch).Policy()
    observation, actions, returns = torch.randn(12, 4) * 1e4, torch.arange(12) % 2, torch.randn(12)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.001)

    def step():
        h = torch.tanh(policy.body(observation))  # <-
        scores, values = policy.actor(h), policy.critic(h).squeeze(1)
        log_probs = torch.log_softmax(scores, dim=1)[torch.arange(12), actions]
        loss = -(log_probs * returns).mean() + ((values - returns) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": policy, "optimizer": optimizer}
