"""A pointer network that learns to sort numbers by pointing back at its inputs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
torch.set_default_dtype(torch.float64)


class PointerNetwork(nn.Module):
    def __init__(self, hidden=10):
        super().__init__()
        self.embed = nn.Linear(1, hidden)
        self.encoder = nn.RNN(hidden, hidden, nonlinearity="tanh", bidirectional=True)
        self.decoder = nn.RNNCell(hidden, 2 * hidden, nonlinearity="relu")
        self.W1, self.W2 = nn.Linear(2 * hidden, hidden, bias=False), nn.Linear(2 * hidden, hidden, bias=False)
        self.vt = nn.Linear(hidden, 1, bias=False)
        self.start = nn.Parameter(torch.zeros(1, hidden))

    def forward(self, numbers, answers=None):
        t, b = numbers.shape
        embedded = self.embed(numbers.unsqueeze(-1))
        encoded, final = self.encoder(embedded)
        hidden = torch.cat(tuple(final), dim=-1)
        inp, mask, scores = self.start.expand(b, -1), torch.zeros(b, t, dtype=torch.bool), []
        for i in range(t):
            hidden = self.decoder(inp, hidden)
            u = self.vt(torch.tanh(self.W1(encoded) + self.W2(hidden).unsqueeze(0))).squeeze(-1).t()
            log_p = u.masked_fill(mask, -1e4).log_softmax(dim=-1)
            scores.append(log_p)
            chosen = log_p.argmax(-1) if answers is None else answers[i]
            mask = mask.scatter(1, chosen.unsqueeze(1), True)
            inp = embedded.gather(0, chosen.view(1, b, 1).expand(-1, -1, embedded.size(2))).squeeze(0)
        return torch.stack(scores)


model = PointerNetwork()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(15):
    numbers = torch.rand(5, 16)
    order = numbers.argsort(dim=0)
    scores = model(numbers, order)
    loss = F.nll_loss(scores.flatten(0, 1), order.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0, norm_type=1)
    optimizer.step()
    if step % 5 == 0:
        print(f"{step} {loss.item():.6f}")
numbers = torch.tensor([[0.3], [0.9], [0.1], [0.5], [0.7]])
with torch.no_grad():
    pointed = model(numbers).argmax(-1).squeeze(1)
print(sorted(pointed.tolist()), numbers.squeeze(1)[numbers.squeeze(1).argsort()])
print(f"{model.start.grad.norm():.6f}", [n for n, p in model.encoder.named_parameters()])
print(model.decoder, model.encoder)
