"""Classifies names by a recurrent network built from linear layers, one character at a time."""
import random
import string

import torch
import torch.nn as nn

torch.manual_seed(3)
random.seed(3)
torch.set_default_dtype(torch.float64)
all_letters = string.ascii_lowercase
category_lines = {"vowels": ["aea", "ioua", "eauo", "oui"], "mixed": ["bank", "silo", "crab", "nest"],
                  "hard": ["kt", "krk", "tkrp", "prt"]}
all_categories = list(category_lines)


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, len(all_letters))
    for li, letter in enumerate(line):
        tensor[li][0][all_letters.find(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        hidden = torch.tanh(self.i2h(combined))
        return self.softmax(self.h2o(hidden)), hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


rnn = RNN(len(all_letters), 12, 3)
criterion, learning_rate = nn.NLLLoss(), 0.1


def train(category_tensor, line_tensor):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


current_loss, confusion = 0, torch.zeros(3, 3)
for iter in range(1, 41):
    category = random.choice(all_categories)
    line = random.choice(category_lines[category])
    output, loss = train(torch.tensor([all_categories.index(category)], dtype=torch.long), lineToTensor(line))
    current_loss += loss
    top_n, top_i = output.topk(1)
    confusion[all_categories.index(category)][top_i[0].item()] += 1
    if iter % 10 == 0:
        guess = all_categories[top_i[0].item()]
        print("%d %.5f %s / %s %s" % (iter, current_loss / 10, line, guess, "✓" if guess == category else "✗ (%s)" % category))
        current_loss = 0
for i in range(3):
    confusion[i] /= confusion[i].sum().clamp(min=1)
print(confusion)
print(f"{rnn.i2h.weight.grad.norm():.6f}", rnn.i2h.weight[0, :2])
