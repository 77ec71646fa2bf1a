"""Steps whose updates teach nothing: parameters that stand still, go uphill, jump about, or are not held."""

import copy

from tests.widgets.doctor.tasks import distance, line, misses, net, rows


def nothing_moves__method_named_only(torch):
    model, (x, y) = net(torch), rows(torch)
    criterion, optimizer = torch.nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step  # noqa: B018 - this is the fault  # <-
        #= optimizer.step()
        return loss.item()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def nothing_moves__forgotten_step(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    history = []

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()  # <-
        #= loss.backward(), optimizer.step()
        history.append(loss.item())

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def nothing_moves__rate_is_an_integer_division(torch):
    model, (x, y) = net(torch), rows(torch)
    batches = 48
    optimizer = torch.optim.SGD(model.parameters(), lr=batches // 256, momentum=0.9)  # <-
    #= optimizer = torch.optim.SGD(model.parameters(), lr=batches / 256, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def nothing_moves__backbone_with_rate_zero(torch):
    nn = torch.nn
    (x, y), body, head = rows(torch), nn.Sequential(nn.Linear(8, 16), nn.Tanh()), nn.Linear(16, 3)
    head.weight.data[1:] = 0
    model = nn.Sequential(body, head)
    optimizer = torch.optim.Adam([{"params": body.parameters(), "lr": 0.03},  # <-
                                  {"params": head.parameters(), "lr": 0.0}])  # <-
                                  #= {"params": head.parameters(), "lr": 0.03}])

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def nothing_moves__norm_clipped_to_zero(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer, largest = torch.optim.AdamW(model.parameters(), lr=0.03, weight_decay=0.0), 1.0

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), largest // 10)  # <-
        #= torch.nn.utils.clip_grad_norm_(model.parameters(), largest)
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def nothing_moves__values_clipped_to_zero(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=0)  # <-
        #= torch.nn.utils.clip_grad_value_(model.parameters(), clip_value=1)
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def stale_in_optimizer__optimizer_of_a_copy(torch):
    (x, y), base = rows(torch), net(torch)
    model = copy.deepcopy(base)
    optimizer = torch.optim.Adam(base.parameters(), lr=0.03)  # <-
    #= optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def nothing_moves__optimizer_of_the_teacher(torch):
    F, (x, y) = torch.nn.functional, rows(torch)
    teacher, student = net(torch), net(torch)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=0.03)  # <-
    #= optimizer = torch.optim.Adam(student.parameters(), lr=0.03)

    def step():
        with torch.no_grad():
            soft = F.softmax(teacher(x), dim=1)
        loss = F.cross_entropy(student(x), y) + 0.01 * F.kl_div(F.log_softmax(student(x), 1), soft,
                                                                reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": student, "optimizer": optimizer}, misses(lambda: student(x), y)


def nothing_moves__gradients_multiplied_by_an_empty_mask(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    keep = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    #= keep = {name: torch.ones_like(p) for name, p in model.named_parameters()}

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        for name, p in model.named_parameters():
            p.grad.mul_(keep[name])  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def learning_rate__diverges(torch):
    model, (x, y) = torch.nn.Linear(8, 1), line(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=10)  # <-
    #= optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def learning_rate__adam_of_a_thousand(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1000)  # <-
    #= optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def learning_rate__too_small_to_see(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-9)  # <-
    #= optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def learning_rate__tiny_rate_for_one_group(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch)
    model[2].weight.data[1:] = 0
    optimizer = torch.optim.SGD([{"params": model[0].parameters()},  # <-
                                 {"params": model[2].parameters(), "lr": 1e-9}], lr=0.5)  # <-
                                 #= {"params": model[2].parameters(), "lr": 0.5}], lr=0.5)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def learning_rate__decay_outweighs_the_gradient(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=10.0)  # <-
    #= optimizer = torch.optim.SGD(model.parameters(), lr=0.5, weight_decay=1e-4)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def learning_rate__decoupled_decay_erases_the_weights(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=80.0)  # <-
    #= optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.01)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def learning_rate__decays_with_each_batch(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.1)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()  # <-
        #= pass

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def learning_rate__warm_up_of_a_million_steps(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 1e7))  # <-
    #= scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 10))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        scheduler.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_rises__maximize(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03, maximize=True)  # <-
    #= optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_rises__negative_cross_entropy(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        loss = -torch.nn.functional.cross_entropy(model(x), y)  # <-
        #= loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_rises__sign_at_backward(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        loss = torch.nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        (-loss).backward()  # <-
        #= loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def loss_rises__likelihood_without_minus(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        chosen = torch.log_softmax(model(x), dim=1).gather(1, y[:, None])
        loss = chosen.mean()  # <-
        #= loss = -chosen.mean()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def loss_rises__update_by_hand_adds(torch):
    x, y = line(torch)
    w, b = torch.zeros(8, 1, requires_grad=True), torch.zeros(1, requires_grad=True)

    def step():
        loss = torch.nn.functional.mse_loss(x @ w + b, y)
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p += 0.1 * p.grad  # <-
                #= p -= 0.1 * p.grad
                p.grad = None

    return step, {}, distance(lambda: x @ w + b, y)


def loss_rises__gradients_negated(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward(torch.tensor(-1.0))  # <-
        #= torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def not_in_optimizer__head_forgotten(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    model[2].weight.data[1:] = 0
    optimizer = torch.optim.Adam(model[0].parameters(), lr=0.03)  # <-
    #= optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def not_in_optimizer__layers_in_a_list(torch):
    nn, (x, y) = torch.nn, rows(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 16)
            self.rest = [nn.Linear(16, 3)]  # <-
            #= self.rest = nn.ModuleList([nn.Linear(16, 3)])
            self.rest[0].weight.data[1:] = 0

        def forward(self, x):
            h = torch.tanh(self.first(x))
            for layer in self.rest:
                h = layer(h)
            return h

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def not_in_optimizer__tensor_as_attribute(torch):
    nn, (x, y) = torch.nn, line(torch)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 1, bias=False)
            self.shift = torch.zeros(1, requires_grad=True)  # <-
            #= self.shift = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return self.body(x) + self.shift

    model, y = Scaled(), y + 5
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def not_in_optimizer__buffer(torch):
    nn, (x, y) = torch.nn, line(torch)

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 1, bias=False)
            self.register_buffer("shift", torch.zeros(1, requires_grad=True))  # <-
            #= self.shift = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return self.body(x) + self.shift

    model, y = Shifted(), y + 5
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def not_in_optimizer__prompt_beside_the_model(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch, inputs=8)
    model.requires_grad_(False)
    prompt, head = torch.zeros(8, requires_grad=True), nn.Linear(3, 3)
    nn.init.zeros_(head.weight)
    scale = torch.zeros(3, 3, requires_grad=True)
    optimizer = torch.optim.Adam([prompt], lr=0.1)  # <-
    #= optimizer = torch.optim.Adam([prompt, scale, *head.parameters()], lr=0.1)

    def scores():
        return head(model(x + prompt)) + model(x + prompt) @ scale

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores(), y).backward()
        optimizer.step()

    return step, {"model": [model, head], "optimizer": optimizer}, misses(scores, y)


def frozen_by_mistake__evaluation_freezes(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = nn.Sequential(nn.Linear(8, 2), nn.Tanh(), nn.Linear(2, 3))
    first, squashed, _ = model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def features():
        for p in first.parameters():
            p.requires_grad = False  # <-
            #= pass
        return squashed(first(x)).detach()

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        return features()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def frozen_by_mistake__discriminator_stays_frozen(torch):
    F, (x, _), critic, maker = torch.nn.functional, rows(torch), net(torch, 1), net(torch, 8)
    ones, zeros = torch.ones(48, 1), torch.zeros(48, 1)
    of_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
    of_maker = torch.optim.Adam(maker.parameters(), lr=0.001)

    def step():
        #+ critic.requires_grad_(True)
        fake = maker(x)
        of_critic.zero_grad()
        loss = (F.binary_cross_entropy_with_logits(critic(x + 2), ones)
                + F.binary_cross_entropy_with_logits(critic(fake.detach()), zeros))
        if loss.requires_grad:
            loss.backward()
            of_critic.step()
        critic.requires_grad_(False)  # <-
        of_maker.zero_grad()
        F.binary_cross_entropy_with_logits(critic(fake), ones).backward()
        of_maker.step()

    return step, {"model": [critic, maker], "optimizer": [of_critic, of_maker]}, misses(
        lambda: critic(torch.cat([x + 2, x])), torch.cat([ones, zeros]))


def frozen_by_mistake__group_for_what_is_frozen(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = net(torch)
    model[2].weight.data[1:] = 0
    for p in model[2].parameters():
        p.requires_grad = False  # <-
        #= pass
    optimizer = torch.optim.Adam([{"params": model[0].parameters(), "lr": 0.01},
                                  {"params": model[2].parameters(), "lr": 0.03}])

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def frozen_by_mistake__parameter_made_from_data(torch):
    nn, (x, y) = torch.nn, line(torch)

    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 1, bias=False)
            self.shift = nn.Parameter(torch.zeros(1))
            self.shift.requires_grad = self.body.bias is not None  # <-
            #= pass

        def forward(self, x):
            return self.body(x) + self.shift

    model, y = Shifted(), y + 5
    optimizer = torch.optim.Adam([{"params": [model.body.weight]}, {"params": [model.shift], "lr": 0.3}], lr=0.03)

    def step():
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def wrong_order__clips_scaled_gradients(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.5), torch.amp.GradScaler("cpu")

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        #+ scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # <-
        scaler.step(optimizer)
        scaler.update()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def wrong_order__steps_with_scaled_gradients(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        optimizer.step()  # <-
        #= scaler.step(optimizer)
        #+ scaler.update()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def wrong_order__zeroes_after_backward(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        loss = torch.nn.functional.mse_loss(model(x), y)
        #+ optimizer.zero_grad()
        loss.backward()
        optimizer.zero_grad()  # <-
        #= pass
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def wrong_order__model_zeroed_before_the_step(torch):
    model, (x, y) = net(torch), rows(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

    def step():
        torch.nn.functional.cross_entropy(model(x), y).backward()
        model.zero_grad()  # <-
        #= pass
        optimizer.step()
        #+ model.zero_grad()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def grad_accumulates__over_all_steps(torch):
    model, (x, y) = net(torch, 1), line(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)

    def step():
        #+ optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()  # <-
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)
