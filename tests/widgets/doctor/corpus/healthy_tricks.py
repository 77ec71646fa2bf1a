"""Healthy programs that look like faults of learning: every trick that has an effect like one."""

import copy

from tests.widgets.doctor.models import batch, models, sequences
from tests.widgets.doctor.tasks import line, net, rows


def warm_up_from_a_small_rate(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 500))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()

    return step, {"model": model, "optimizer": optimizer}


def frozen_backbone_in_the_same_optimizer(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch)
    for p in model[0].parameters():
        p.requires_grad = False
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def layers_frozen_in_turn(torch):
    nn, (x, y), model, order = torch.nn, rows(torch), net(torch), [0, 2, 2]
    optimizer = torch.optim.SGD([{"params": model[i].parameters()} for i in (0, 2)], lr=0.1)

    def only(layer):
        for p in model.parameters():
            p.requires_grad = False
        layer.requires_grad_(True)

    def step():
        only(model[order[0]])
        order.append(order.pop(0))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def zero_initialised_last_layer(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    nn.init.zeros_(model[2].weight)
    nn.init.zeros_(model[2].bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def low_rank_adapter_that_begins_at_zero(torch):
    nn, (x, y) = torch.nn, rows(torch)
    base = nn.Linear(8, 3).requires_grad_(False)
    down, up = nn.Linear(8, 2, bias=False), nn.Linear(2, 3, bias=False)
    nn.init.zeros_(up.weight)
    optimizer = torch.optim.AdamW([*down.parameters(), *up.parameters()], lr=1e-3)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(base(x) + up(down(x)), y).backward()
        optimizer.step()

    return step, {"model": [base, down, up], "optimizer": optimizer}


def contrastive_over_the_batch(torch):
    F, left, right, x = torch.nn.functional, net(torch, 4), net(torch, 4), torch.randn(16, 8)
    optimizer = torch.optim.Adam([*left.parameters(), *right.parameters()], lr=1e-3)

    def step():
        a, b = F.normalize(left(x), dim=1), F.normalize(right(x + 0.1 * torch.randn(16, 8)), dim=1)
        scores, same = a @ b.t() / 0.1, torch.arange(16)
        loss = (F.cross_entropy(scores, same) + F.cross_entropy(scores.t(), same)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [left, right], "optimizer": optimizer}


def policy_gradient_with_entropy_bonus(torch):
    policy, x = models(torch).Policy(), torch.randn(16, 4)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
    action, reward = torch.arange(16)[:, None] % 2, torch.randn(16, 1)

    def step():
        scores, value = policy(x)
        likelihood = torch.log_softmax(scores, dim=1)
        entropy = -(likelihood * likelihood.exp()).sum(1).mean()
        advantage = (reward - value).detach()
        loss = -(likelihood.gather(1, action) * advantage).mean() + ((value - reward) ** 2).mean() - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": policy, "optimizer": optimizer}


def adversary_that_maximises(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        noise = torch.zeros_like(x).requires_grad_()
        (grad,) = torch.autograd.grad(F.cross_entropy(model(x + noise), y), [noise])
        optimizer.zero_grad()
        F.cross_entropy(model(x + 0.1 * grad.sign()), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def siamese_twins_that_both_learn(torch):
    F, model, (x, _) = torch.nn.functional, net(torch, 4), rows(torch)
    optimizer, alike = torch.optim.Adam(model.parameters(), lr=1e-3), (torch.arange(24) % 2).float()

    def step():
        a, b = model(x[:24]), model(x[24:])
        gap = F.pairwise_distance(a, b)
        loss = (alike * gap**2 + (1 - alike) * F.relu(1 - gap) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def sequence_first_lstm(torch):
    nn = torch.nn
    lstm, head, x, y = nn.LSTM(4, 8), nn.Linear(8, 3), torch.randn(6, 16, 4), torch.arange(16) % 3
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(lstm(x)[0][-1]), y).backward()
        optimizer.step()

    return step, {"model": [lstm, head], "optimizer": optimizer}


def patches_of_images_by_view_and_permute(torch):
    nn, x, y = torch.nn, torch.randn(8, 1, 8, 8), torch.arange(8) % 3
    embed, head = nn.Linear(16, 8), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*embed.parameters(), *head.parameters()], lr=0.01)

    def step():
        patches = x.view(8, 2, 4, 2, 4).permute(0, 1, 3, 2, 4).reshape(8, 4, 16)
        optimizer.zero_grad()
        nn.functional.cross_entropy(head(embed(patches).mean(1)), y).backward()
        optimizer.step()

    return step, {"model": [embed, head], "optimizer": optimizer}


def raw_features_into_batch_norm(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model, raw = nn.Sequential(nn.BatchNorm1d(8), net(torch)), 300 + 80 * x
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(raw), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def mean_teacher_by_deepcopy(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    teacher = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        target = torch.softmax(teacher(x), dim=1)
        loss = F.cross_entropy(model(x), y) + F.mse_loss(torch.softmax(model(x), dim=1), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), model.parameters()):
                slow.lerp_(fast, 0.01)

    return step, {"model": [model, teacher], "optimizer": optimizer}


def double_q_learning(torch):
    F, critic, (state, _) = torch.nn.functional, net(torch, 2), rows(torch)
    target_critic, action = copy.deepcopy(critic), torch.arange(48)[:, None] % 2
    optimizer, reward = torch.optim.Adam(critic.parameters(), lr=1e-3), torch.randn(48, 1)

    def step():
        with torch.no_grad():
            best = critic(state.flip(0)).argmax(1, keepdim=True)
            target = reward + 0.99 * target_critic(state.flip(0)).gather(1, best)
        optimizer.zero_grad()
        F.smooth_l1_loss(critic(state).gather(1, action), target).backward()
        optimizer.step()

    return step, {"model": critic, "optimizer": optimizer}


def straight_through_codebook(torch):
    nn, F, (x, _) = torch.nn, torch.nn.functional, rows(torch)
    encoder, codes, decoder = nn.Linear(8, 2), nn.Embedding(4, 2), nn.Linear(2, 8)
    optimizer = torch.optim.Adam([*encoder.parameters(), *codes.parameters(), *decoder.parameters()], lr=0.01)

    def step():
        z = encoder(x)
        chosen = codes((z[:, None] - codes.weight).pow(2).sum(2).argmin(1))
        out = decoder(z + (chosen - z).detach())
        loss = F.mse_loss(out, x) + F.mse_loss(chosen, z.detach()) + 0.25 * F.mse_loss(z, chosen.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": [encoder, codes, decoder], "optimizer": optimizer}


def padded_labels_that_are_ignored(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (tokens, following) = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10)), sequences(torch)
    labels = following.clone()
    labels[:, -2:] = -100
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten()).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def autoencoder_of_words(torch):
    nn, F, (tokens, _) = torch.nn, torch.nn.functional, sequences(torch)
    encoder, decoder = nn.EmbeddingBag(10, 4), nn.Linear(4, 10)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)

    def step():
        optimizer.zero_grad()
        scores = decoder(encoder(tokens))
        F.cross_entropy(scores[:, None].expand(-1, 6, -1).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()

    return step, {"model": [encoder, decoder], "optimizer": optimizer}


def masked_words(torch):
    nn, F, (tokens, _) = torch.nn, torch.nn.functional, sequences(torch)
    model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10))
    hidden = torch.arange(6).expand(4, 6) % 2 == 0
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        scores = model(tokens.masked_fill(hidden, 0))
        labels = tokens.masked_fill(~hidden, -100)
        optimizer.zero_grad()
        F.cross_entropy(scores.flatten(0, 1), labels.flatten()).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def scaler_with_clipping(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer, scaler = torch.optim.AdamW(model.parameters(), lr=1e-3), torch.amp.GradScaler("cpu")

    def step():
        optimizer.zero_grad()
        scaler.scale(torch.nn.functional.cross_entropy(model(x), y)).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step, {"model": model, "optimizer": optimizer}


def scheduler_after_each_batch(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=100)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()

    return step, {"model": model, "optimizer": optimizer}


def two_moments_of_a_gaussian(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 2), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        mean, log_variance = model(x).chunk(2, dim=1)
        optimizer.zero_grad()
        F.gaussian_nll_loss(mean, y, log_variance.exp()).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def soft_targets_of_a_mixture(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), batch(torch)
    optimizer, share = torch.optim.SGD(model.parameters(), lr=0.1), 0.7

    def step():
        order = torch.arange(16).flip(0)
        wanted = share * F.one_hot(y, 3).float() + (1 - share) * F.one_hot(y[order], 3).float()
        optimizer.zero_grad()
        F.cross_entropy(model(share * x + (1 - share) * x[order]), wanted).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def optimizer_that_steps_every_fourth_time(torch):
    model, (x, y), calls = net(torch), rows(torch), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        calls.append(1)
        (torch.nn.functional.cross_entropy(model(x), y) / 4).backward()
        if len(calls) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

    return step, {"model": model, "optimizer": optimizer}


def residual_gates_that_begin_at_zero(torch):
    nn, (x, y) = torch.nn, rows(torch)

    class ReZero(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(6)])
            self.gates = nn.Parameter(torch.zeros(6))
            self.scale = nn.Parameter(torch.full((8,), 1e-5))
            self.head = nn.Linear(8, 3)

        def forward(self, x):
            for layer, gate in zip(self.layers, self.gates):
                x = x + gate * torch.relu(layer(x))
            return self.head(x + self.scale * torch.tanh(x))

    model = ReZero()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def averaged_weights(torch):
    model, (x, y) = net(torch), rows(torch)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        averaged.update_parameters(model)

    return step, {"model": model, "optimizer": optimizer}


def sparse_embedding(torch):
    nn, F, (tokens, following) = torch.nn, torch.nn.functional, sequences(torch)
    sparse = hasattr(torch.optim, "SparseAdam")  # minigrad has no sparse gradients
    embed, head = nn.Embedding(10, 16, sparse=sparse), nn.Linear(16, 10)
    optimizers = [torch.optim.SGD(embed.parameters(), lr=0.1), torch.optim.Adam(head.parameters(), lr=0.01)]

    def step():
        for each in optimizers:
            each.zero_grad()
        F.cross_entropy(head(embed(tokens)).flatten(0, 1), following.flatten()).backward()
        for each in optimizers:
            each.step()

    return step, {"model": [embed, head], "optimizer": optimizers}


def autocast_without_a_scaler(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = model(x)
        torch.nn.functional.cross_entropy(scores.float(), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def experts_chosen_by_a_router(torch):
    nn, (x, y) = torch.nn, rows(torch)
    router, experts = nn.Linear(8, 2), nn.ModuleList([nn.Linear(8, 3) for _ in range(2)])
    optimizer = torch.optim.Adam([*router.parameters(), *experts.parameters()], lr=0.01)

    def step():
        weights, chosen = torch.softmax(router(x), dim=1).max(1)
        scores = torch.stack([expert(x) for expert in experts], dim=1)
        picked = scores[torch.arange(48), chosen] * weights[:, None]
        optimizer.zero_grad()
        nn.functional.cross_entropy(picked, y).backward()
        optimizer.step()

    return step, {"model": [router, experts], "optimizer": optimizer}
