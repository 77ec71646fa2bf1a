"""Classifies sentences of different lengths by a packed bidirectional LSTM and a custom collate function."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence, pack_sequence
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(29)
torch.set_default_dtype(torch.float64)


class Sentences(Dataset):
    def __init__(self, n=24):
        lengths = torch.randint(2, 8, (n,))
        self.items = [torch.randint(1, 12, (int(length),)) for length in lengths]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i], float((self.items[i] > 8).any())


def collate(batch):
    texts, labels = zip(*batch)
    lengths = torch.as_tensor([len(t) for t in texts])
    return pad_sequence(texts, batch_first=True, padding_value=0), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.attention, self.fc = nn.Linear(10, 1, bias=False), nn.Linear(20, 1)

    def forward(self, text, lengths):
        packed = pack_padded_sequence(self.embedding(text), lengths.cpu(), batch_first=True, enforce_sorted=False)
        packed_output, (hidden, cell) = self.lstm(packed)
        output, out_lengths = pad_packed_sequence(packed_output, batch_first=True)
        mask = torch.arange(output.size(1))[None, :] >= out_lengths[:, None]
        scores = self.attention(output).squeeze(-1).masked_fill(mask, -1e9)
        pooled = torch.einsum("bt,btd->bd", scores.softmax(dim=1), output)
        return self.fc(torch.cat([pooled, hidden[-2], hidden[-1]], dim=1)).squeeze(1)


train, valid = random_split(Sentences(), [16, 8], generator=torch.Generator().manual_seed(0))
loader = DataLoader(train, batch_size=8, shuffle=True, collate_fn=collate)
model = Classifier()
criterion, optimizer = nn.BCEWithLogitsLoss(), torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(4):
    total, correct = 0.0, 0
    for text, lengths, labels in loader:
        predictions = model(text, lengths)
        loss = criterion(predictions, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
        correct += (torch.round(torch.sigmoid(predictions)) == labels).sum().item()
    print(f"Epoch: {epoch + 1:02} | Train Loss: {total / len(train):.5f} | Train Acc: {correct / len(train) * 100:.2f}%")
text, lengths, labels = next(iter(DataLoader(valid, batch_size=8, collate_fn=collate)))
model.eval()
print(text.shape, lengths.tolist(), model.embedding.weight.grad[0].sum().item())
alone = torch.cat([model(text[i:i + 1, :n], n.view(1)) for i, n in enumerate(lengths)])
print(torch.allclose(alone, model(text, lengths)), f"{alone.mean().item():.6f}")
packed = pack_sequence([torch.arange(3.0), torch.arange(2.0)])
print(packed)
