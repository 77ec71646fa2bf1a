"""Training loops that learn, as tutorials write them: the second set of faults of learning is planted in these."""

from tests.widgets.doctor.tasks import distance, line, misses, rows, words


def classifier(torch):
    nn, F, (x, y) = torch.nn, torch.nn.functional, rows(torch)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 32)
            self.head = nn.Linear(32, 3)

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.head(h)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)

    def step():
        model.train()
        optimizer.zero_grad()
        scores = model(x)
        loss = F.cross_entropy(scores, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def regression(torch):
    (x, y), criterion = line(torch), torch.nn.MSELoss()
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        prediction = model(x)
        loss = criterion(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, distance(lambda: model(x), y)


def binary(torch):
    nn, (x, y) = torch.nn, rows(torch, classes=1)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.03, weight_decay=0.01)
    criterion = nn.BCEWithLogitsLoss()

    def step():
        optimizer.zero_grad(set_to_none=True)
        scores = model(x)
        loss = criterion(scores, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def log_probabilities(torch):
    nn, F, (x, y) = torch.nn, torch.nn.functional, rows(torch)
    body, head = nn.Linear(8, 16), nn.Linear(16, 3)
    model = nn.Sequential(body, nn.ReLU(), head)
    optimizer = torch.optim.SGD([{"params": body.parameters(), "lr": 0.2},
                                 {"params": head.parameters()}], lr=0.5)

    def step():
        model.zero_grad()
        output = F.log_softmax(model(x), dim=1)
        loss = F.nll_loss(output, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def images(torch):
    nn, (x, y) = torch.nn, rows(torch)
    x = torch.cat([x, x.flip(1)], 1).reshape(48, 1, 4, 4)

    class ConvNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 8, 3, padding=1)
            self.norm = nn.BatchNorm2d(8)
            self.fc = nn.Linear(8 * 16, 3)

        def forward(self, x):
            x = torch.relu(self.norm(self.conv(x)))
            x = x.flatten(1)
            return self.fc(x)

    model = ConvNet()
    model.train()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        outputs = model(x)
        loss = criterion(outputs, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def language_model(torch):
    nn, F, text = torch.nn, torch.nn.functional, words(torch)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 16)
            self.rnn = nn.GRU(16, 24, batch_first=True)
            self.out = nn.Linear(24, 10)

        def forward(self, words):
            h, _ = self.rnn(self.embedding(words))
            return self.out(h)

    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)

    def step():
        optimizer.zero_grad()
        scores = model(text[:, :-1])
        loss = F.cross_entropy(scores.flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(text[:, :-1]), text[:, 1:])


def recurrent(torch):
    nn, (x, y) = torch.nn, rows(torch)
    x = x.reshape(48, 4, 2)

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(2, 24, batch_first=True)
            self.head = nn.Linear(24, 3)
            self.shift = nn.Parameter(torch.zeros(3))

        def forward(self, x):
            h, _ = self.lstm(x)
            return self.head(h[:, -1]) + self.shift

    model = Recurrent()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def distillation(torch):
    nn, F, (x, y) = torch.nn, torch.nn.functional, rows(torch)
    teacher = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    student = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(student.parameters(), lr=0.03)

    def step():
        with torch.no_grad():
            soft = F.softmax(teacher(x), dim=1)
        optimizer.zero_grad()
        output = F.log_softmax(student(x), dim=1)
        loss = F.nll_loss(output, y) + 0.1 * F.kl_div(output, soft, reduction="batchmean")
        loss.backward()
        optimizer.step()

    return step, {"model": student, "optimizer": optimizer}, misses(lambda: student(x), y)


def scaled(torch):
    nn, (x, y) = torch.nn, rows(torch)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

    def step():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return step, {"model": model, "optimizer": optimizer}, misses(lambda: model(x), y)


def value_of_states(torch):
    nn, F, (x, reward) = torch.nn, torch.nn.functional, line(torch)
    after = x.roll(1, 0)
    critic = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.02)

    def step():
        target = reward + 0.1 * critic(after).detach()
        value = critic(x)
        loss = F.mse_loss(value, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step, {"model": critic, "optimizer": optimizer}, distance(lambda: critic(x), reward)
