"""Sequences of different lengths: padding, packing, LSTM and GRU, an encoder and a decoder with attention."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)


class Sentences(Dataset):
    def __init__(self, n):
        words = [torch.randint(1, 20, (int(torch.randint(2, 9, (1,))),)) for _ in range(n)]
        self.items = [(each, int(each.float().mean() > 10)) for each in words]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(text) for text in texts])
    return pad_sequence(texts, batch_first=True), torch.tensor(labels, dtype=torch.float32), lengths


class Sentiment(nn.Module):
    def __init__(self, words=20, embedding=6, hidden=8):
        super().__init__()
        self.embedding = nn.Embedding(words, embedding, padding_idx=0)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=2, bidirectional=True, dropout=0.3, batch_first=True)
        self.fc = nn.Linear(2 * hidden, 1)

    def forward(self, text, lengths):
        packed = pack_padded_sequence(self.embedding(text), lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed, (hidden, cell) = self.lstm(packed)
        out, sizes = pad_packed_sequence(packed, batch_first=True)
        assert out.size(1) == int(sizes.max())
        return self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)).squeeze(1)


loader = DataLoader(Sentences(40), batch_size=8, shuffle=True, collate_fn=collate)
model = Sentiment()
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(3):
    losses, right = [], 0
    for text, label, lengths in loader:
        optimizer.zero_grad()
        prediction = model(text, lengths)
        loss = criterion(prediction, label)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
        right += (torch.round(torch.sigmoid(prediction)) == label).sum().item()
    print(f"epoch {epoch + 1:02} | loss {sum(losses) / len(losses):.3f} | accuracy {right / 40:.2%}")


class Decoder(nn.Module):
    def __init__(self, words=10, hidden=12):
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.query, self.key, self.score = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        self.cell = nn.GRUCell(2 * hidden, hidden)
        self.out = nn.Linear(hidden, words)

    def forward(self, memory, hidden, target=None):
        word, outputs = torch.zeros(len(memory), dtype=torch.long), []
        for t in range(memory.size(1)):
            weights = F.softmax(self.score(torch.tanh(self.query(hidden)[:, None] + self.key(memory))), dim=1)
            mixed = torch.bmm(weights.transpose(1, 2), memory).squeeze(1)
            hidden = self.cell(torch.cat((self.embedding(word), mixed), dim=-1), hidden)
            outputs.append(self.out(hidden))
            word = target[:, t] if target is not None else outputs[-1].topk(1).indices.squeeze(-1).detach()
        return F.log_softmax(torch.stack(outputs, dim=1), dim=-1)


source = torch.randint(2, 10, (16, 5))
target = source.flip(1)
embedding, encoder, decoder = nn.Embedding(10, 12), nn.GRU(12, 12, batch_first=True), Decoder()
parts = nn.ModuleDict({"embedding": embedding, "encoder": encoder, "decoder": decoder})
optimizer = torch.optim.NAdam(parts.parameters(), lr=0.02)
for step in range(8):
    memory, hidden = encoder(embedding(source))
    output = decoder(memory, hidden[-1], target if random.random() < 0.5 else None)
    loss = F.nll_loss(output.view(-1, 10), target.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}")
print(output.argmax(-1)[0])
