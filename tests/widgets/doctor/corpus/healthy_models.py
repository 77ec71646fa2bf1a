"""Healthy training steps of many models, losses and optimizers: nothing here deserves more than a note."""

from tests.widgets.doctor.models import batch, images, models, sequences


def trained(torch, model, loss, make=None):
    """The usual step, for a model and what computes its loss."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05) if make is None else make(model.parameters())

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def mlp_sgd(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y))


def mlp_momentum(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y),
                   lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True))


def mlp_rmsprop(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y),
                   lambda p: torch.optim.RMSprop(p, lr=0.01))


def mlp_label_smoothing(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)
    criterion = torch.nn.CrossEntropyLoss(label_smoothing=0.1)
    return trained(torch, model, lambda: criterion(model(x), y), lambda p: torch.optim.AdamW(p, lr=0.01))


def mlp_nll_of_log_softmax(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    return trained(torch, model, lambda: F.nll_loss(F.log_softmax(model(x), dim=1), y))


def mlp_fresh_batches(torch):
    model = models(torch).MLP()

    def loss():
        x, y = batch(torch)
        return torch.nn.functional.cross_entropy(model(x), y)

    return trained(torch, model, loss, lambda p: torch.optim.Adam(p, lr=0.01))


def regression_mse(torch):
    model, x = models(torch).MLP(outputs=1), torch.randn(16, 8)
    y = x.sum(dim=1, keepdim=True)
    return trained(torch, model, lambda: torch.nn.functional.mse_loss(model(x), y))


def regression_squeezed(torch):
    model, x, y = models(torch).MLP(outputs=1), torch.randn(16, 8), torch.randn(16)
    return trained(torch, model, lambda: ((model(x).squeeze(1) - y) ** 2).mean())


def regression_huber(torch):
    model, x, y = models(torch).MLP(outputs=2), torch.randn(16, 8), torch.randn(16, 2)
    return trained(torch, model, lambda: torch.nn.functional.smooth_l1_loss(model(x), y))


def regression_l1_with_weights(torch):
    model, x, y = models(torch).MLP(outputs=1), torch.randn(16, 8), torch.randn(16, 1)
    weight = torch.rand(16, 1)
    return trained(torch, model, lambda: (weight * (model(x) - y).abs()).sum() / weight.sum())


def binary_with_logits(torch):
    model, x = models(torch).MLP(outputs=1), torch.randn(16, 8)
    y = (x[:, :1] > 0).float()
    return trained(torch, model, lambda: torch.nn.functional.binary_cross_entropy_with_logits(model(x), y))


def binary_with_sigmoid(torch):
    model, x = models(torch).MLP(outputs=1), torch.randn(16, 8)
    y = (x[:, :1] > 0).float()
    return trained(torch, model, lambda: torch.nn.functional.binary_cross_entropy(torch.sigmoid(model(x)), y))


def cnn_batch_norm(torch):
    model, (x, y) = models(torch).CNN(), images(torch)
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y))


def cnn_adam(torch):
    model, (x, y) = models(torch).CNN(), images(torch)
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y),
                   lambda p: torch.optim.Adam(p, lr=0.01, weight_decay=1e-4))


def cnn_dropout(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Dropout(0.3), nn.Linear(144, 3))
    x, y = images(torch)
    return trained(torch, model, lambda: nn.functional.cross_entropy(model(x), y))


def cnn_residual(torch):
    nn, F = torch.nn, torch.nn.functional

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.a, self.b = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.head = nn.Linear(4, 3)

        def forward(self, x):
            x = self.stem(x)
            x = F.relu(x + self.b(self.a(x)))
            return self.head(x.mean(dim=(2, 3)))

    model, (x, y) = Residual(), images(torch)
    return trained(torch, model, lambda: F.cross_entropy(model(x), y))


def cnn_inplace_relu(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(),
                          nn.Linear(144, 3))
    x, y = images(torch)
    return trained(torch, model, lambda: nn.functional.cross_entropy(model(x), y))


def autoencoder(torch):
    nn = torch.nn
    model, x = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), nn.Linear(4, 8)), torch.randn(16, 8)
    return trained(torch, model, lambda: nn.functional.mse_loss(model(x), x))


def variational_autoencoder(torch):
    nn = torch.nn
    model = nn.ModuleDict({"encoder": nn.Linear(8, 8), "decoder": nn.Linear(4, 8)})
    x = torch.randn(16, 8)

    def loss():
        mean, log_variance = model["encoder"](x).chunk(2, dim=1)
        z = mean + torch.randn(16, 4) * torch.exp(0.5 * log_variance)
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(dim=1).mean()
        return ((model["decoder"](z) - x) ** 2).sum(dim=1).mean() + 0.1 * divergence

    return trained(torch, model, loss, lambda p: torch.optim.Adam(p, lr=0.01))


def lstm_tagger(torch):
    model, x, y = models(torch).Tagger(), torch.randn(4, 6, 4), torch.arange(24) % 3
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x)[0].flatten(0, 1), y))


def gru_last_state(torch):
    nn = torch.nn
    model = nn.ModuleList([nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)])
    x, y = torch.randn(4, 6, 4), torch.arange(4) % 2
    return trained(torch, model, lambda: nn.functional.cross_entropy(model[1](model[0](x)[0][:, -1]), y))


def rnn_cell_unrolled(torch):
    nn = torch.nn
    model = nn.ModuleList([nn.RNNCell(3, 6), nn.Linear(6, 1)])
    x, y = torch.randn(7, 4, 3), torch.randn(4, 1)

    def loss():
        h = torch.zeros(4, 6)
        for t in range(7):
            h = model[0](x[t], h)
        return nn.functional.mse_loss(model[1](h), y)

    return trained(torch, model, loss)


def transformer(torch):
    F = torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)
    return trained(torch, model, lambda: F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()),
                   lambda p: torch.optim.AdamW(p, lr=1e-3))


def transformer_causal_mask(torch):
    nn, F = torch.nn, torch.nn.functional
    model = nn.ModuleDict({"embed": nn.Embedding(10, 8), "qkv": nn.Linear(8, 24), "head": nn.Linear(8, 10)})
    tokens, targets = sequences(torch)
    hidden = torch.triu(torch.ones(6, 6), diagonal=1).bool()

    def loss():
        q, k, v = model["qkv"](model["embed"](tokens)).chunk(3, dim=-1)
        scores = (q @ k.transpose(1, 2)).masked_fill(hidden, float("-inf"))
        return F.cross_entropy(model["head"](torch.softmax(scores, dim=-1) @ v).flatten(0, 1), targets.flatten())

    return trained(torch, model, loss)


def transformer_additive_mask(torch):
    nn, F = torch.nn, torch.nn.functional
    model = nn.ModuleDict({"qkv": nn.Linear(8, 24), "out": nn.Linear(8, 8)})
    x, y = torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    mask = torch.zeros(5, 5)
    mask[torch.triu(torch.ones(5, 5), diagonal=1).bool()] = float("-inf")

    def loss():
        q, k, v = model["qkv"](x).chunk(3, dim=-1)
        return F.mse_loss(model["out"](torch.softmax(q @ k.transpose(1, 2) + mask, dim=-1) @ v), y)

    return trained(torch, model, loss)


def tied_embeddings(torch):
    nn, F = torch.nn, torch.nn.functional
    embed, body = nn.Embedding(10, 8), nn.Linear(8, 8)
    model, (tokens, targets) = nn.ModuleList([embed, body]), sequences(torch)

    def loss():
        h = torch.tanh(body(embed(tokens)))
        return F.cross_entropy((h @ embed.weight.t()).flatten(0, 1), targets.flatten())

    return trained(torch, model, loss, lambda p: torch.optim.Adam(p, lr=0.01))


def siamese_shared_weights(torch):
    model, a, b = models(torch).MLP(), torch.randn(8, 8), torch.randn(8, 8)
    return trained(torch, model, lambda: torch.relu(1 - ((model(a) - model(b)) ** 2).sum(dim=1)).mean()
                   + ((model(a) - model(a + 0.01)) ** 2).mean())


def shared_layer_applied_repeatedly(torch):
    nn = torch.nn
    layer, head, (x, y) = nn.Linear(8, 8), nn.Linear(8, 3), batch(torch)
    model = nn.ModuleList([layer, head])

    def loss():
        h = x
        for _ in range(4):
            h = torch.tanh(layer(h))
        return nn.functional.cross_entropy(head(h), y)

    return trained(torch, model, loss)


def custom_function(torch):
    nn = torch.nn

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    model, (x, y) = nn.Linear(8, 3), batch(torch)
    return trained(torch, model, lambda: nn.functional.cross_entropy(Square.apply(model(x)), y))


def straight_through_estimator(torch):
    nn, F = torch.nn, torch.nn.functional
    model = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 3)])
    x, y = batch(torch)

    def loss():
        h = torch.tanh(model[0](x))
        hard = (h > 0).float()
        return F.cross_entropy(model[1](h + (hard - h).detach()), y)

    return trained(torch, model, loss)


def checkpointed_blocks(torch):
    checkpoint, F = torch.utils.checkpoint.checkpoint, torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)

    def loss():
        x = model.embed(tokens)
        for block in model.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return F.cross_entropy(model.head(x).flatten(0, 1), targets.flatten())

    return trained(torch, model, loss)


def checkpointed_reentrant_with_gradients(torch):
    checkpoint, F = torch.utils.checkpoint.checkpoint, torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)

    def loss():
        x = model.embed(tokens)
        for block in model.blocks:
            x = checkpoint(block, x, use_reentrant=True)
        return F.cross_entropy(model.head(x).flatten(0, 1), targets.flatten())

    return trained(torch, model, loss)


def double_precision(torch):
    model, (x, y) = models(torch).MLP().double(), batch(torch)
    return trained(torch, model, lambda: torch.nn.functional.cross_entropy(model(x.double()), y))


def regularised_by_hand(torch):
    model, (x, y) = models(torch).MLP(), batch(torch)

    def loss():
        penalty = sum((p**2).sum() for p in model.parameters())
        return torch.nn.functional.cross_entropy(model(x), y) + 1e-3 * penalty

    return trained(torch, model, loss)
