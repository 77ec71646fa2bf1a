"""Losses that teach nothing, or something else: fed with what they do not take, or with a slope of 0."""

from tests.widgets.doctor.tasks import distance, line, misses, net, rows, words


def zero_gradient__weight_of_zero(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    epochs, warm_up = 3, 10

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) * (epochs // warm_up)  # <-
        #= loss = F.cross_entropy(model(x), y) * (epochs / warm_up)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def zero_gradient__rounded_predictions(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x).round(), y)  # <-
        #= loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def zero_gradient__sign_of_the_scores(torch):
    model, (x, y) = net(torch, 1), rows(torch, classes=1)
    optimizer, side = torch.optim.SGD(model.parameters(), lr=0.5), 2 * y - 1

    def step():
        optimizer.zero_grad()
        vote = torch.sign(model(x))  # <-
        #= vote = torch.tanh(model(x))
        ((vote - side) ** 2).mean().backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def zero_gradient__clamped_to_the_wrong_range(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        price = model(x).clamp(min=50.0)  # <-
        #= price = model(x).clamp(min=-50.0)
        F.l1_loss(price, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def zero_gradient__mask_without_entries(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer, missing = torch.optim.Adam(model.parameters(), lr=0.03), -999.0

    def step():
        optimizer.zero_grad()
        mask = (y == missing).float()
        #= mask = (y != missing).float()
        loss = ((model(x) - y) ** 2 * mask).sum() / mask.sum().clamp(min=1)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def zero_gradient__where_keeps_the_targets(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        filled = torch.where(torch.isfinite(y), y, model(x))  # <-
        #= filled = torch.where(torch.isfinite(y), model(x), y)
        loss = ((filled - y) ** 2).mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def zero_gradient__hook_that_scales_to_nothing(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    optimizer, ratio = torch.optim.SGD(model.parameters(), lr=0.5), 1 // 2
    #= optimizer, ratio = torch.optim.SGD(model.parameters(), lr=0.5), 1 / 2

    def step():
        optimizer.zero_grad()
        scores = model(x)
        scores.register_hook(lambda grad: grad * ratio)  # <-
        F.cross_entropy(scores, y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def zero_gradient__floor_into_bins(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        level = torch.floor(model(x) * 4) / 4  # <-
        #= level = model(x)
        F.smooth_l1_loss(level, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def zero_gradient__relu_as_the_last_layer(torch):
    nn, (x, y) = torch.nn, line(torch)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1), nn.ReLU())  # <-
    #= model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    y = y - 5
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def zero_gradient__relu_on_the_logits(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    torch.nn.init.constant_(model[2].bias, -2.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        scores = F.relu(model(x))  # <-
        #= scores = model(x)
        F.cross_entropy(scores, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def zero_gradient__margin_always_met(torch):
    model, (x, y) = net(torch, 1), rows(torch, classes=1)
    optimizer, side = torch.optim.Adam(model.parameters(), lr=0.03), 2 * y - 1

    def step():
        optimizer.zero_grad()
        loss = torch.relu(-9 - side * model(x)).mean()  # <-
        #= loss = torch.relu(9 - side * model(x)).mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def leaf_loss__from_the_number(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss = torch.tensor(loss.item(), requires_grad=True)  # <-
        #= pass
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def leaf_loss__from_data(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y).data  # <-
        #= loss = F.mse_loss(model(x), y)
        loss.requires_grad_(True)
        #= pass
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def loss_contract__nll_of_logits(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), y)  # <-
        #= loss = F.nll_loss(F.log_softmax(model(x), dim=1), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__nll_of_probabilities(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    criterion, optimizer = nn.NLLLoss(), torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        probabilities = torch.softmax(model(x), dim=1)
        #= probabilities = torch.log_softmax(model(x), dim=1)
        loss = criterion(probabilities, y)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__kl_div_of_probabilities(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    soft = F.softmax(4 * F.one_hot(y, 3).float(), dim=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        loss = F.kl_div(F.softmax(model(x), dim=1), soft, reduction="batchmean")  # <-
        #= loss = F.kl_div(F.log_softmax(model(x), dim=1), soft, reduction="batchmean")
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__kl_div_with_log_targets(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    soft = F.log_softmax(4 * F.one_hot(y, 3).float(), dim=1)
    #= soft = F.softmax(4 * F.one_hot(y, 3).float(), dim=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.kl_div(F.log_softmax(model(x), dim=1), soft, reduction="batchmean")  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__log_softmax_over_the_batch(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        scores = F.log_softmax(model(x), dim=0)  # <-
        #= scores = F.log_softmax(model(x), dim=1)
        F.nll_loss(scores, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__softmax_module_over_the_batch(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    normalise, optimizer = nn.Softmax(dim=0), torch.optim.SGD(model.parameters(), lr=0.5)
    #= normalise, optimizer = nn.Softmax(dim=1), torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        likelihood = normalise(model(x))  # <-
        nn.functional.nll_loss(torch.log(likelihood + 1e-9), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__log_softmax_over_the_words(torch):
    nn, F, text = torch.nn, torch.nn.functional, words(torch)
    model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10))
    tokens, following = text[:, :-1], text[:, 1:]
    model[1].bias.data[0] += 9
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        likelihood = F.log_softmax(model(tokens), dim=1)  # <-
        #= likelihood = F.log_softmax(model(tokens), dim=2)
        F.nll_loss(likelihood.flatten(0, 1), following.flatten()).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(tokens), following)


def loss_contract__softmax_of_one_score(torch):
    nn, (x, y) = torch.nn, rows(torch, classes=1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        belief = torch.softmax(model(x), dim=1)  # <-
        #= belief = torch.sigmoid(model(x))
        nn.functional.binary_cross_entropy(belief, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__cross_entropy_of_one_score(torch):
    nn, (x, y) = torch.nn, rows(torch, classes=1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)  # <-
        #= loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__sigmoid_before_cross_entropy(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        scores = torch.sigmoid(model(x))  # <-
        #= scores = model(x)
        F.cross_entropy(scores, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__bce_of_clamped_logits(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), rows(torch, classes=1)
    model[2].bias.data -= 4
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        belief = model(x).clamp(1e-4, 1 - 1e-4)  # <-
        #= belief = torch.sigmoid(model(x))
        F.binary_cross_entropy(belief, y).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__classes_from_one(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), rows(torch, classes=1)
    label = y + 1
    #= label = y
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(x), label)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__targets_of_255(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), rows(torch, classes=1)
    mask = y * 255
    #= mask = y
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x), mask).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__padding_among_the_labels(torch):
    nn, F, text = torch.nn, torch.nn.functional, words(torch)
    model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10))
    tokens, following = text[:, :-1], text[:, 1:].clone()
    padded = torch.cat([tokens, tokens.repeat(1, 9)], 1), torch.cat([following, torch.zeros(8, 54).long()], 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def step():
        optimizer.zero_grad()
        scores = model(padded[0])
        loss = F.cross_entropy(scores.flatten(0, 1), padded[1].flatten())  # <-
        #= loss = F.cross_entropy(scores.flatten(0, 1), padded[1].flatten(), ignore_index=0)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(tokens), following)


def loss_contract__labels_not_shifted(torch):
    nn, F, text = torch.nn, torch.nn.functional, words(torch)
    model = nn.Sequential(nn.Embedding(10, 16), nn.Linear(16, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        scores = model(text)
        loss = F.cross_entropy(scores.flatten(0, 1), text.flatten())  # <-
        #= loss = F.cross_entropy(scores[:, :-1].flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(text[:, :-1]), text[:, 1:])


def loss_contract__poisson_of_rates(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), line(torch)
    optimizer, counts = torch.optim.SGD(model.parameters(), lr=0.01), (4 + 2 * y).clamp(min=0).round()

    def step():
        optimizer.zero_grad()
        rate = torch.exp(model(x) + 1)
        #= rate = model(x) + 1
        loss = F.poisson_nll_loss(rate, counts)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: torch.exp(model(x) + 1), counts)


def loss_contract__ranking_with_zero_and_one(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), line(torch)
    order = y.squeeze(1).argsort()
    x, y = x[order], y[order]
    better = (y[:24] > y[24:]).float()
    #= better = (y[:24] > y[24:]).float() * 2 - 1
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.margin_ranking_loss(model(x[:24]), model(x[24:]), better, margin=1.0)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(
        lambda: model(x[:24]) - model(x[24:]), (y[:24] > y[24:]).float())


def loss_contract__cosine_with_zero_and_one(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 2), rows(torch, classes=1)
    anchor = torch.tensor([[1.0, 0.0]]).expand(48, 2)
    alike = y.squeeze(1)
    #= alike = 2 * y.squeeze(1) - 1
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.cosine_embedding_loss(model(x), anchor, alike)  # <-
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(
        lambda: (F.normalize(model(x), dim=1)[:, :1] - 0.6), y)


def loss_contract__soft_margin_with_zero_and_one(torch):
    F, model, (x, y) = torch.nn.functional, net(torch, 1), rows(torch, classes=1)
    side = y
    #= side = 2 * y - 1
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        F.soft_margin_loss(model(x), side).backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_contract__arguments_swapped(torch):
    F, model, (x, y) = torch.nn.functional, net(torch), rows(torch)
    soft = F.softmax(9 * F.one_hot(y, 3).float(), dim=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(soft, model(x))  # <-
        #= loss = F.cross_entropy(model(x), soft)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def broadcast_loss__column_against_row(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer, flat = torch.optim.Adam(model.parameters(), lr=0.03), y.squeeze(1)

    def step():
        optimizer.zero_grad()
        loss = ((model(x) - flat) ** 2).mean()  # <-
        #= loss = ((model(x).squeeze(1) - flat) ** 2).mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def softmax_before_cross_entropy__last_layer(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch)
    model[2].bias.data += torch.tensor([9.0, 0.0, 0.0])
    optimizer, activation = torch.optim.SGD(model.parameters(), lr=0.5), nn.Softmax(dim=1)

    def step():
        optimizer.zero_grad()
        probabilities = activation(model(x))  # <-
        #= probabilities = model(x)
        nn.functional.cross_entropy(probabilities, y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def cut_graph__hidden_layer_detached(torch):
    nn, F, (x, y) = torch.nn, torch.nn.functional, rows(torch)
    first, last = nn.Linear(8, 2), nn.Linear(2, 3)
    optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.03)
    first.weight.data.fill_(0.1)

    def scores():
        hidden = torch.tanh(first(x)).detach()  # <-
        #= hidden = torch.tanh(first(x))
        return last(hidden)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(scores(), y).backward()
        optimizer.step()

    return step, {"model": [first, last], "optimizer": optimizer}, misses(scores, y)


def cut_graph__features_without_gradients(torch):
    nn, F, (x, y) = torch.nn, torch.nn.functional, rows(torch)
    encoder, head = nn.Linear(8, 2), nn.Linear(2, 3)
    encoder.weight.data.fill_(0.1)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.03)

    def step():
        optimizer.zero_grad()
        with torch.no_grad():  # <-
        #= if True:
            features = encoder(x)
        F.cross_entropy(head(features), y).backward()
        optimizer.step()

    return step, {"model": [encoder, head], "optimizer": optimizer}, misses(lambda: head(encoder(x)), y)
