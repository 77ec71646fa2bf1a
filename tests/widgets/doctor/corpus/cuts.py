"""Parameters without a gradient: unused, cut off, not a leaf; losses without a graph."""

from tests.widgets.doctor.models import batch, images, models, sequences


def unused_parameter__mlp_forgotten_layer(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 16)
            self.extra = nn.Linear(16, 16)  # <-
            self.last = nn.Linear(16, 3)

        def forward(self, x):
            return self.last(F.relu(self.first(x)))

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def unused_parameter__cnn_norm_not_called(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 4, 3, padding=1)
            self.norm = nn.BatchNorm2d(4)  # <-
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            return self.head(F.relu(self.conv(x)).mean(dim=(2, 3)))

    model, (x, y) = Net(), images(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def unused_parameter__auxiliary_head_left_out_of_the_loss(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 16)
            self.main = nn.Linear(16, 3)
            self.auxiliary = nn.Linear(16, 1)  # <-

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.main(h), self.auxiliary(h)

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        scores, _ = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def cut_graph__mlp_detach(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(4, 8)

        def forward(self, x):
            code = torch.tanh(self.encoder(x))
            return self.decoder(code.detach())  # <-

    model, (x, _) = Net(), batch(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def cut_graph__cnn_data(torch):
    nn, F = torch.nn, torch.nn.functional
    backbone, head = models(torch).CNN(classes=8), nn.Linear(8, 3)
    x, y = images(torch)
    parameters = [*backbone.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)

    def step():
        features = backbone(x).data  # <-
        loss = F.cross_entropy(head(F.relu(features)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [backbone, head], "optimizer": optimizer}


def cut_graph__transformer_no_grad(torch):
    nn, F = torch.nn, torch.nn.functional
    encoder, head = models(torch).Transformer(), nn.Linear(10, 10)
    tokens, targets = sequences(torch)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)

    def step():
        optimizer.zero_grad()
        with torch.no_grad():  # <-
            encoded = encoder(tokens)
        loss = F.cross_entropy(head(encoded).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()

    return step, {"model": [encoder, head], "optimizer": optimizer}


def cut_graph__temperature_item(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 3)
            self.temperature = nn.Parameter(torch.tensor(1.5))

        def forward(self, x):
            return self.linear(x) / self.temperature.item()  # <-

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def cut_graph__policy_numpy(torch):
    F = torch.nn.functional
    policy, value = models(torch).Policy(), torch.nn.Linear(2, 1)
    observation, returns = torch.randn(10, 4), torch.randn(10, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.01)

    def step():
        scores, _ = policy(observation)
        scores = torch.from_numpy(scores.detach().numpy())  # <-
        loss = F.mse_loss(value(scores), returns)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [policy, value], "optimizer": optimizer}


def cut_graph__lstm_new_tensor_of_results(torch):
    nn, F = torch.nn, torch.nn.functional
    tagger, head = models(torch).Tagger(), nn.Linear(3, 2)
    x, y = torch.randn(4, 6, 4), torch.arange(4) % 2
    optimizer = torch.optim.SGD([*tagger.parameters(), *head.parameters()], lr=0.1)

    def step():
        tags, _ = tagger(x)
        last = torch.tensor(tags[:, -1].tolist())  # <-
        loss = F.cross_entropy(head(last), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [tagger, head], "optimizer": optimizer}


def cut_graph__gate_by_comparison(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.value, self.gate, self.out = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 3)

        def forward(self, x):
            mask = self.gate(x) > 0  # <-
            return self.out(self.value(x) * mask.float())

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def cut_graph__hard_attention_argmax(torch):
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.score, self.table, self.out = nn.Linear(8, 5), nn.Embedding(5, 6), nn.Linear(6, 3)

        def forward(self, x):
            chosen = self.score(x).argmax(dim=1)  # <-
            return self.out(self.table(chosen))

    model, (x, y) = Net(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def no_graph_loss__everything_detached(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        scores = model(x).detach()  # <-
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def no_graph_loss__trained_under_no_grad(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).CNN(), images(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        with torch.no_grad():  # <-
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def no_graph_loss__accuracy_as_the_loss(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        predicted = model(x).argmax(dim=1)  # <-
        loss = 1 - (predicted == y).float().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def not_a_leaf__scaled_weight(torch):
    x, y = torch.randn(16, 8), torch.randn(16, 1)
    w = torch.randn(8, 1, requires_grad=True) * 0.1  # <-

    def step():
        loss = ((x @ w - y) ** 2).mean()
        loss.backward(retain_graph=True)
        if w.grad is not None:
            with torch.no_grad():
                w.sub_(0.1 * w.grad)

    return step, {}


def not_a_leaf__converted_weight(torch):
    F = torch.nn.functional
    x, y = torch.randn(12, 5), torch.arange(12) % 2
    weight = torch.zeros(2, 5, dtype=torch.float64, requires_grad=True).to(torch.float32)  # <-

    def step():
        loss = F.cross_entropy(F.linear(x, weight), y)
        loss.backward(retain_graph=True)
        print(weight.grad)

    return step, {}


def not_a_leaf__prompt_made_from_embeddings(torch):
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)
    F = torch.nn.functional
    prompt = model.embed(torch.tensor([1, 2])) * 1.0  # <-
    for parameter in model.parameters():
        parameter.requires_grad_(False)

    def step():
        x = torch.cat([prompt.expand(4, 2, 8), model.embed(tokens)], dim=1)
        for block in model.blocks:
            x = block(x)
        loss = F.cross_entropy(model.head(x[:, 2:]).flatten(0, 1), targets.flatten())
        loss.backward(retain_graph=True)
        return prompt.grad

    return step, {"model": model}
