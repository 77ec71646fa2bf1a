"""Healthy training steps in which several networks, or several losses, play together."""

import copy

from tests.widgets.doctor.models import batch, images, models, sequences


def frozen_backbone(torch):
    nn, F = torch.nn, torch.nn.functional
    backbone, head = models(torch).CNN(classes=8), nn.Linear(8, 3)
    for parameter in backbone.parameters():
        parameter.requires_grad_(False)
    backbone.eval()
    x, y = images(torch)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(head(backbone(x)), y).backward()
        optimizer.step()

    return step, {"model": [backbone, head], "optimizer": optimizer}


def frozen_backbone_under_no_grad(torch):
    nn, F = torch.nn, torch.nn.functional
    backbone, head = models(torch).CNN(classes=8).eval(), nn.Linear(8, 3)
    x, y = images(torch)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.01)

    def step():
        with torch.no_grad():
            features = backbone(x)
        optimizer.zero_grad()
        F.cross_entropy(head(features), y).backward()
        optimizer.step()

    return step, {"model": head, "optimizer": optimizer}


def exponential_moving_average(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters()):
                old.mul_(0.99).add_(new, alpha=0.01)

    return step, {"model": model, "optimizer": optimizer}


def mean_teacher(torch):
    F = torch.nn.functional
    model, (x, y) = models(torch).MLP(), batch(torch)
    teacher = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        with torch.no_grad():
            target = torch.softmax(teacher(x + 0.01), dim=1)
        scores = model(x)
        consistency = ((torch.softmax(scores, dim=1) - target) ** 2).mean()
        optimizer.zero_grad()
        (F.cross_entropy(scores, y) + consistency).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def distillation(torch):
    F = torch.nn.functional
    student, teacher, (x, _) = models(torch).MLP(), models(torch).MLP(hidden=32).eval(), batch(torch)
    optimizer = torch.optim.Adam(student.parameters(), lr=0.01)

    def step():
        with torch.no_grad():
            soft = F.softmax(teacher(x) / 2, dim=1)
        loss = F.kl_div(F.log_softmax(student(x) / 2, dim=1), soft, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": student, "optimizer": optimizer}


def truncated_backpropagation_through_time(torch):
    F = torch.nn.functional
    model, x, y = models(torch).Tagger(), torch.randn(4, 6, 4), torch.arange(24) % 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state = None

    def step():
        nonlocal state
        optimizer.zero_grad()
        tags, state = model(x, state)
        state = tuple(s.detach() for s in state)
        F.cross_entropy(tags.flatten(0, 1), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def gan_two_optimizers(torch):
    F, kit = torch.nn.functional, models(torch)
    generator, critic, real = kit.Generator(), kit.Discriminator(), torch.randn(8, 6)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3)
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)

    def step():
        fake = generator(torch.randn(8, 4))
        optimizer_d.zero_grad()
        loss_d = (F.binary_cross_entropy_with_logits(critic(real), ones)
                  + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros))
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        F.binary_cross_entropy_with_logits(critic(fake), ones).backward()
        optimizer_g.step()

    return step, {"model": [generator, critic], "optimizer": [optimizer_g, optimizer_d]}


def gan_generator_under_no_grad(torch):
    F, kit = torch.nn.functional, models(torch)
    generator, critic, real = kit.Generator(), kit.Discriminator(), torch.randn(8, 6)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3)
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3)

    def step():
        with torch.no_grad():
            fake = generator(torch.randn(8, 4))
        optimizer_d.zero_grad()
        (F.softplus(critic(fake)) + F.softplus(-critic(real))).mean().backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        F.softplus(-critic(generator(torch.randn(8, 4)))).mean().backward()
        optimizer_g.step()

    return step, {"model": [generator, critic], "optimizer": [optimizer_g, optimizer_d]}


def gradient_penalty(torch):
    critic, real = models(torch).Discriminator(), torch.randn(8, 6)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

    def step():
        x = torch.randn(8, 6, requires_grad=True)
        scores = critic(x)
        (slope,) = torch.autograd.grad(scores.sum(), [x], create_graph=True)
        penalty = ((slope.norm(dim=1) - 1) ** 2).mean()
        optimizer.zero_grad()
        (scores.mean() - critic(real).mean() + 10 * penalty).backward()
        optimizer.step()

    return step, {"model": critic, "optimizer": optimizer}


def two_losses_over_one_graph(torch):
    F = torch.nn.functional
    policy, observation, returns = models(torch).Policy(), torch.randn(6, 4), torch.randn(6)
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.01)
    actions = torch.arange(6) % 2

    def step():
        scores, values = policy(observation)
        optimizer.zero_grad()
        F.mse_loss(values.squeeze(1), returns).backward(retain_graph=True)
        F.cross_entropy(scores, actions).backward()
        optimizer.step()

    return step, {"model": policy, "optimizer": optimizer}


def reinforce(torch):
    policy, observation, returns = models(torch).Policy(), torch.randn(10, 4), torch.randn(10)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

    def step():
        scores, values = policy(observation)
        actions = scores.detach().argmax(dim=1)
        log_probs = torch.log_softmax(scores, dim=1)[torch.arange(10), actions]
        advantage = returns - values.squeeze(1).detach()
        loss = -(log_probs * advantage).mean() + ((values.squeeze(1) - returns) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": policy, "optimizer": optimizer}


def q_learning_with_a_target_network(torch):
    F = torch.nn.functional
    net = models(torch).MLP(inputs=4, outputs=2)
    target = copy.deepcopy(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    state, after, action, reward = torch.randn(8, 4), torch.randn(8, 4), torch.arange(8) % 2, torch.randn(8)

    def step():
        with torch.no_grad():
            wanted = reward + 0.9 * target(after).max(dim=1).values
        value = net(state)[torch.arange(8), action]
        loss = F.smooth_l1_loss(value, wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": net, "optimizer": optimizer}


def logs_with_item(torch):
    F = torch.nn.functional
    model, (x, y), history, total = models(torch).MLP(), batch(torch), [], [0.0]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        total[0] += loss.item()
        history.append(((scores.argmax(dim=1) == y).float().mean().item(), loss.detach()))

    return step, {"model": model, "optimizer": optimizer}


def evaluates_in_eval_mode(torch):
    F = torch.nn.functional
    model, (x, y), (held_x, held_y) = models(torch).CNN(), images(torch), images(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            return (model(held_x).argmax(dim=1) == held_y).float().mean()

    return step, {"model": model, "optimizer": optimizer}


def alternating_heads(torch):
    nn, F = torch.nn, torch.nn.functional
    body, heads, (x, y) = nn.Linear(8, 16), nn.ModuleList([nn.Linear(16, 3), nn.Linear(16, 3)]), batch(torch)
    optimizer = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
    calls = [0]

    def step():
        head = heads[calls[0] % 2]
        calls[0] += 1
        optimizer.zero_grad()
        F.cross_entropy(head(torch.relu(body(x))), y).backward()
        optimizer.step()

    return step, {"model": [body, heads], "optimizer": optimizer}


def contrastive_with_pairwise_scores(torch):
    F = torch.nn.functional
    model, (x, _) = models(torch).MLP(outputs=8), batch(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        a, b = F.normalize(model(x), dim=1), F.normalize(model(x + 0.1 * torch.randn(16, 8)), dim=1)
        loss = F.cross_entropy(a @ b.t() / 0.5, torch.arange(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def optimised_input(torch):
    model = models(torch).MLP().requires_grad_(False)
    x = torch.zeros(1, 8, requires_grad=True)
    optimizer = torch.optim.Adam([x], lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = -model(x)[0, 1]
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def multitask_with_learned_weights(torch):
    nn, F = torch.nn, torch.nn.functional
    model, (x, y) = models(torch).Policy(observations=8, actions=3), batch(torch)
    model.log_variances = nn.Parameter(torch.zeros(2))
    value = torch.randn(16, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        scores, predicted = model(x)
        losses = torch.stack([F.cross_entropy(scores, y), F.mse_loss(predicted, value)])
        loss = (losses * torch.exp(-model.log_variances) + model.log_variances).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}


def hooks_that_scale_gradients(torch):
    F = torch.nn.functional
    model, (tokens, targets) = models(torch).Transformer(), sequences(torch)
    model.embed.weight.register_hook(lambda grad: grad * 0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten()).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}
