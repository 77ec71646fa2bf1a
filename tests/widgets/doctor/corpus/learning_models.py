"""Models and data from which little can be learned: equal units, wild scales, mixed examples, targets that move."""

import copy

from tests.widgets.doctor.tasks import distance, line, misses, net, rows, words


def symmetric_weights__constant_everywhere(torch):
    model, (x, y) = net(torch), rows(torch)
    for p in model.parameters():
        torch.nn.init.constant_(p, 0.1)  # <-
        #= pass
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def symmetric_weights__all_zero(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    for layer in (model[0], model[2]):
        nn.init.zeros_(layer.weight)  # <-
        #= nn.init.xavier_normal_(layer.weight)
        nn.init.zeros_(layer.bias)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def symmetric_weights__by_apply(torch):
    nn, (x, y) = torch.nn, line(torch)
    model, y = net(torch, 1), y.abs()

    def initialise(module):
        if isinstance(module, nn.Linear):
            module.weight.data.fill_(0.5)  # <-
            #= nn.init.xavier_uniform_(module.weight)
            module.bias.data.zero_()

    model.apply(initialise)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def symmetric_weights__parameters_of_ones(torch):
    F, (x, y) = torch.nn.functional, rows(torch, classes=5)
    w1 = torch.full((8, 16), 0.05, requires_grad=True)  # <-
    #= w1 = (torch.randn(8, 16) / 3).requires_grad_()
    w2 = torch.full((16, 5), 0.05, requires_grad=True)
    #= w2 = (torch.randn(16, 5) / 4).requires_grad_()
    optimizer = torch.optim.SGD([w1, w2], lr=0.5)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(torch.tanh(x @ w1) @ w2, y).backward()
        optimizer.step()

    return step, {"optimizer": optimizer}, misses(lambda: torch.tanh(x @ w1) @ w2, y)


def input_scale__pixels_up_to_255(torch):
    nn, (x, y) = torch.nn, rows(torch)
    pixels = (x * 50 + 128).clamp(0, 255)
    data = pixels
    #= data = (pixels - 128) / 50
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data), y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(data), y)


def input_scale__one_column_of_years(torch):
    nn, (x, y) = torch.nn, line(torch)
    raw = torch.cat([x, 2000 + 10 * x[:, :1]], dim=1)
    table = raw
    #= table = (raw - raw.mean(0)) / raw.std(0)
    model, criterion = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 1)), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss = criterion(model(table), y)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(table), y)


def input_scale__targets_in_cents(torch):
    nn, (x, y) = torch.nn, line(torch)
    price = 250_000 + 90_000 * y
    #= price = y
    model, optimizer = net(torch, 1), None
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), price)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), price)


def input_scale__metres_given_in_kilometres(torch):
    nn, (x, y) = torch.nn, rows(torch)
    data = x / 1e5
    #= data = x
    model = net(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(data), y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(data), y)


def input_scale__scaled_twice(torch):
    nn, (x, y) = torch.nn, rows(torch)
    pixels = x / 255
    #= pixels = x
    data = pixels / 255
    #= data = pixels
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data), y)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(data), y)


def sentences(torch):
    """A function that draws sequences, (N, T, C), and for each a class that depends on the sum of its entries."""
    directions = torch.randn(4, 3)

    def draw():
        x = torch.randn(24, 5, 4)
        return x, (x.sum(1) @ directions).argmax(1)

    return draw


def batch_leak__lstm_reads_the_batch_as_time(torch):
    nn, draw = torch.nn, sentences(torch)
    lstm, head = nn.LSTM(4, 16), nn.Linear(16, 3)
    #= lstm, head = nn.LSTM(4, 16, batch_first=True), nn.Linear(16, 3)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.03)
    fresh, labels = draw()

    def scores(x):
        h, _ = lstm(x)  # <-
        return head(h[:, -1])

    def step():
        x, y = draw()
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores(x), y).backward()
        optimizer.step()

    return step, {"model": [lstm, head], "optimizer": optimizer}, misses(lambda: scores(fresh), labels)


def batch_leak__attention_over_the_batch(torch):
    nn, draw = torch.nn, sentences(torch)
    attention, head = nn.MultiheadAttention(4, 1), nn.Linear(4, 3)
    #= attention, head = nn.MultiheadAttention(4, 1, batch_first=True), nn.Linear(4, 3)
    optimizer = torch.optim.Adam([*attention.parameters(), *head.parameters()], lr=0.03)
    fresh, labels = draw()

    def scores(x):
        mixed, _ = attention(x, x, x)  # <-
        return head(mixed[:, -1])

    def step():
        x, y = draw()
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores(x), y).backward()
        optimizer.step()

    return step, {"model": [attention, head], "optimizer": optimizer}, misses(lambda: scores(fresh), labels)


def batch_leak__view_in_place_of_transpose(torch):
    nn, (x, y) = torch.nn, rows(torch)
    columns = x.t().contiguous()
    model = net(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        batch = columns.view(48, 8)  # <-
        #= batch = columns.t()
        nn.functional.cross_entropy(model(batch), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def batch_leak__scores_viewed_for_the_loss(torch):
    nn, F, text = torch.nn, torch.nn.functional, words(torch)
    model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10))
    tokens, following = text[:, :-1], text[:, 1:]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        scores = model(tokens).view(8, 10, 6)  # <-
        #= scores = model(tokens).transpose(1, 2)
        F.cross_entropy(scores, following).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(tokens), following)


def batch_leak__states_reshaped_across_the_batch(torch):
    nn, draw = torch.nn, sentences(torch)
    gru, head = nn.GRU(4, 16), nn.Linear(16, 3)
    optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=0.03)
    fresh, labels = draw()

    def scores(x):
        h, _ = gru(x.transpose(0, 1))
        h = h.reshape(24, 5, 16)  # <-
        #= h = h.transpose(0, 1)
        return head(h[:, -1])

    def step():
        x, y = draw()
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores(x), y).backward()
        optimizer.step()

    return step, {"model": [gru, head], "optimizer": optimizer}, misses(lambda: scores(fresh), labels)


def not_detached__target_network(torch):
    nn, (state, _) = torch.nn, rows(torch)
    after, reward = state.roll(1, 0), state @ torch.ones(8, 1) / 3
    critic = net(torch, 1)
    target_critic = copy.deepcopy(critic)
    target_critic[2].weight.data += torch.randn(1, 16)
    optimizer = torch.optim.Adam([*critic.parameters(), *target_critic.parameters()], lr=0.03)
    wanted = reward + 0.99 * target_critic(after).detach()

    def step():
        optimizer.zero_grad()
        target = reward + 0.99 * target_critic(after)  # <-
        #= target = reward + 0.99 * target_critic(after).detach()
        loss = nn.functional.mse_loss(critic(state), target)
        loss.backward()
        optimizer.step()

    return step, {"model": critic, "optimizer": optimizer}, distance(lambda: critic(state), wanted)


def not_detached__bootstrap_of_the_same_network(torch):
    F, critic, (state, _) = torch.nn.functional, net(torch, 2), rows(torch)
    action, after = torch.arange(48)[:, None] % 2, state.flip(0)
    reward = state[:, :1] * (2 * action - 1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.03)
    wanted = reward + 2.0 * torch.relu(critic(after).detach().amax(1, keepdim=True))

    def step():
        optimizer.zero_grad()
        chosen = critic(state).gather(1, action)
        target = reward + 0.9 * critic(after).amax(1, keepdim=True) + 4 * chosen  # <-
        #= target = wanted.detach()
        loss = F.smooth_l1_loss(chosen, target)
        loss.backward()
        optimizer.step()

    return step, {"model": critic, "optimizer": optimizer}, distance(lambda: critic(state).gather(1, action), wanted)


def not_detached__siamese_without_stop_gradient(torch):
    nn, F, (x, _) = torch.nn, torch.nn.functional, rows(torch)
    encoder, predictor = nn.Linear(8, 4), nn.Linear(4, 4)
    optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.5)
    before = float(encoder(x).detach().std())

    def step():
        optimizer.zero_grad()
        target = encoder(x + 0.1 * torch.randn(48, 8))  # <-
        #= target = encoder(x + 0.1 * torch.randn(48, 8)).detach()
        loss = F.mse_loss(predictor(encoder(x)), target)
        loss.backward()
        optimizer.step()

    return step, {"model": [encoder, predictor], "optimizer": optimizer}, (
        lambda: max(0.0, 1 - float(encoder(x).detach().std()) / before))


def not_detached__advantage_of_the_critic(torch):
    F, (x, _), actor, critic = torch.nn.functional, rows(torch), net(torch, 2), net(torch, 1)
    action, reward = torch.arange(48)[:, None] % 2, x[:, :1]
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], lr=0.01)

    def step():
        optimizer.zero_grad()
        chosen = torch.log_softmax(actor(x), dim=1).gather(1, action)
        advantage = reward - critic(x)  # <-
        #= advantage = reward - critic(x).detach()
        loss = -(chosen * advantage).mean() + 0.1 * F.mse_loss(critic(x), reward)
        loss.backward()
        optimizer.step()

    return step, {"model": [actor, critic], "optimizer": optimizer}, distance(lambda: critic(x), reward)


def not_detached__teacher_learns_too(torch):
    F, (x, _), student = torch.nn.functional, rows(torch), net(torch)
    teacher = copy.deepcopy(student)
    teacher[2].weight.data += torch.randn(3, 16)
    goal = torch.softmax(3 * teacher(x), 1).detach()
    optimizer = torch.optim.SGD([*student.parameters(), *teacher.parameters()], lr=2.0)
    #= optimizer = torch.optim.SGD(student.parameters(), lr=2.0)

    def step():
        optimizer.zero_grad()
        soft = torch.softmax(3 * teacher(x), dim=1)  # <-
        #= soft = torch.softmax(3 * teacher(x), dim=1).detach()
        loss = F.mse_loss(torch.softmax(3 * student(x), dim=1), soft)
        loss.backward()
        optimizer.step()

    return step, {"model": [student, teacher], "optimizer": optimizer}, distance(
        lambda: torch.softmax(3 * student(x), dim=1), goal)


def dead_relu__bias_of_minus_ten(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    nn.init.constant_(model[0].bias, -10.0)
    #= nn.init.constant_(model[0].bias, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def saturated__inputs_times_a_thousand(torch):
    nn, (x, y) = torch.nn, line(torch)
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def predicted():
        h = torch.tanh(1e4 * model[0](x))  # <-
        #= h = torch.tanh(model[0](x))
        return model[1](h)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(predicted(), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(predicted, y)


def vanishing_gradient__twelve_sigmoids(torch):
    nn, (x, y) = torch.nn, rows(torch)
    squash = nn.Sigmoid
    #= squash = nn.ReLU
    layers = [part for _ in range(12) for part in (nn.Linear(16, 16), squash())]  # <-
    model = nn.Sequential(nn.Linear(8, 16), *layers, nn.Linear(16, 3))
    #+ [nn.init.kaiming_normal_(p) for p in model.parameters() if p.ndim == 2]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)
