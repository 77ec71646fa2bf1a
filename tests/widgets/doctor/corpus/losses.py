"""Losses that compute something else than was meant, modules in the wrong mode, and memory."""

from tests.widgets.doctor.models import batch, images, models, sequences


def softmax_before_cross_entropy__mlp(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 3)

        def forward(self, x):
            h = F.relu(self.first(x))
            return F.softmax(self.last(h), dim=1)  # <-

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def softmax_before_cross_entropy__module_at_the_end_of_a_cnn(torch):
    nn = torch.nn
    model, (x, y) = models(torch).CNN(), images(torch)
    normalise, criterion = nn.Softmax(dim=1), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        scores = model(x)
        probabilities = normalise(scores)  # <-
        loss = criterion(probabilities, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def softmax_before_cross_entropy__transformer_with_log_softmax(torch):
    F = torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        scores = torch.softmax(model(tokens), dim=-1)  # <-
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def sigmoid_before_bce_with_logits__discriminator(torch):
    F = torch.nn.functional
    critic, x, y = models(torch).Discriminator(), torch.randn(8, 6), torch.ones(8, 1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        belief = torch.sigmoid(critic(x))  # <-
        loss = F.binary_cross_entropy_with_logits(belief, y)
        loss.backward()
        optimizer.step()

    return step, {"model": critic, "optimizer": optimizer}


def sigmoid_before_bce_with_logits__sequential(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
    x, y = torch.randn(16, 8), (torch.arange(16) % 2).float()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = criterion(model(x).squeeze(1), y)  # <-
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def sigmoid_before_bce_with_logits__multi_label_cnn(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    labels = F.one_hot(y, 3).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        scores = model(x)
        scores = scores.sigmoid()  # <-
        F.binary_cross_entropy_with_logits(scores, labels).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def broadcast_loss__regression_by_hand(torch):
    model, x, y = models(torch).MLP(outputs=1), torch.randn(16, 8), torch.randn(16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        predicted = model(x)
        loss = ((predicted - y) ** 2).mean()  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def broadcast_loss__mse_loss(torch):
    F = torch.nn.functional
    model, x, y = models(torch).MLP(outputs=1), torch.randn(16, 8), torch.randn(16)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        predicted = model(x)
        loss = F.mse_loss(predicted, y)  # <-
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def broadcast_loss__advantage_of_a_critic(torch):
    policy = models(torch).Policy()
    observation, actions, returns = torch.randn(10, 4), torch.arange(10) % 2, torch.randn(10)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

    def step():
        scores, values = policy(observation)
        log_probs = torch.log_softmax(scores, dim=1)[torch.arange(10), actions]
        advantage = returns - values  # <-
        loss = (advantage**2).mean() - (log_probs * returns).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": policy, "optimizer": optimizer}


def mode_mismatch__cnn_left_in_eval_mode(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.eval()

    def step():
        scores = model(x)  # <-
        loss = F.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def mode_mismatch__dropout_while_evaluating(torch):
    nn, F = torch.nn, torch.nn.functional
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
    (x, y), (held_x, held_y) = batch(torch), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            return (model(held_x).argmax(dim=1) == held_y).float().mean()  # <-

    return step, {"model": model, "optimizer": optimizer}


def mode_mismatch__validation_in_inference_mode(torch):
    F = torch.nn.functional
    model, (x, y), (held_x, held_y) = models(torch).CNN(), images(torch), images(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        with torch.inference_mode():
            F.cross_entropy(model(held_x), held_y)  # <-

    return step, {"model": model, "optimizer": optimizer}


def memory_hog__pairwise_differences(torch):
    nn = torch.nn
    model, x, y = nn.Linear(8, 8), torch.randn(200, 8), torch.randn(200, 200)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        h = model(x)
        distance = (h[:, None] - h[None, :]).pow(2).sum(dim=2)  # <-
        loss = (distance - y).abs().mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def memory_hog__wide_hidden_layer(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.d = nn.Linear(8, 8), nn.Linear(8, 4096), nn.Linear(4096, 8), nn.Linear(8, 3)

        def forward(self, x):
            h = F.relu(self.a(x))
            h = torch.tanh(self.b(h))  # <-
            return self.d(F.relu(self.c(h)))

    model, (x, y) = Net(), batch(torch, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def memory_hog__attention_over_a_long_sequence(torch):
    nn, F = torch.nn, torch.nn.functional
    q, k, v, out = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    layers = nn.ModuleList([q, k, v, out])
    x, y = torch.randn(1, 600, 4), torch.randn(1, 600, 1)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        scores = q(x) @ k(x).transpose(1, 2)
        weights = torch.softmax(scores, dim=-1)  # <-
        loss = F.mse_loss(out(weights @ v(x)), y)
        loss.backward()
        optimizer.step()

    return step, {"model": layers, "optimizer": optimizer}
