"""Trains an LSTM language model on lines of digits and decodes it greedily, by sampling and by beam search."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(26)
torch.set_default_dtype(torch.float64)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=False):
        super(RNNModel, self).__init__()
        self.drop, self.encoder = nn.Dropout(dropout), nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.nhid, self.nlayers, self.ntoken = nhid, nlayers, ntoken

    def forward(self, input, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
        return F.log_softmax(self.decoder(self.drop(output)).view(-1, self.ntoken), dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid)


def repackage_hidden(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


source = torch.tensor([(i * i + i // 3) % 7 for i in range(121)])
train_data = batchify(source, 4)
model = RNNModel(7, 10, 10, 2, tie_weights=True)
criterion, lr = nn.NLLLoss(), 5.0
hidden = model.init_hidden(4)
for batch, i in enumerate(range(0, train_data.size(0) - 1, 5)):
    seq_len = min(5, len(train_data) - 1 - i)
    data, targets = train_data[i:i + seq_len], train_data[i + 1:i + 1 + seq_len].view(-1)
    model.zero_grad()
    hidden = repackage_hidden(hidden)
    output, hidden = model(data, hidden)
    loss = criterion(output, targets)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)
    print("| {:3d} batches | loss {:5.4f} | ppl {:8.4f}".format(batch, loss.item(), torch.exp(loss).item()))
model.eval()


@torch.no_grad()
def beam_search(start, length, width):
    beams = [(0.0, [start], model.init_hidden(1))]
    for _ in range(length):
        candidates = []
        for score, tokens, hidden in beams:
            log_probs, new = model(torch.tensor([[tokens[-1]]]), hidden)
            values, indices = log_probs[0].topk(width)
            candidates += [(score + v.item(), tokens + [i.item()], new) for v, i in zip(values, indices)]
        beams = sorted(candidates, key=lambda c: -c[0])[:width]
    return beams


for width in (1, 3):
    score, tokens, _ = beam_search(2, 6, width)[0]
    print(width, f"{score:.5f}", tokens)
print(model.encoder.weight is model.decoder.weight, sum(p.numel() for p in model.parameters()))
