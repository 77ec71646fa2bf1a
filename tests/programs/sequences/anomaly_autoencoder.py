"""Finds spikes in a signal as windows that an LSTM autoencoder reconstructs badly."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)
torch.set_default_dtype(torch.float64)


class Encoder(nn.Module):
    def __init__(self, seq_len, n_features, embedding_dim=6):
        super(Encoder, self).__init__()
        self.seq_len, self.n_features, self.embedding_dim = seq_len, n_features, embedding_dim
        self.rnn1 = nn.LSTM(input_size=n_features, hidden_size=2 * embedding_dim, num_layers=1, batch_first=True)
        self.rnn2 = nn.LSTM(input_size=2 * embedding_dim, hidden_size=embedding_dim, batch_first=True)

    def forward(self, x):
        x, (_, _) = self.rnn1(x)
        x, (hidden_n, _) = self.rnn2(x)
        return hidden_n.squeeze(0)


class Decoder(nn.Module):
    def __init__(self, seq_len, n_features, input_dim=6):
        super(Decoder, self).__init__()
        self.seq_len = seq_len
        self.rnn = nn.LSTM(input_dim, input_dim, batch_first=True, proj_size=3)
        self.output_layer = nn.Linear(3, n_features)

    def forward(self, x):
        x = x.unsqueeze(1).repeat(1, self.seq_len, 1)
        x, _ = self.rnn(x)
        return self.output_layer(x)


signal = torch.sin(torch.arange(120) * 0.35) + 0.05 * torch.randn(120)
signal[90:93] += 2.5
windows = signal.unfold(0, 10, 5).unsqueeze(-1)
train = DataLoader(TensorDataset(windows[:14]), batch_size=7, shuffle=True, generator=torch.Generator().manual_seed(1))
model = nn.Sequential(Encoder(10, 1), Decoder(10, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
criterion = nn.L1Loss(reduction="sum")
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
for epoch in range(6):
    losses = []
    for (seq_true,) in train:
        optimizer.zero_grad()
        loss = criterion(model(seq_true), seq_true)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step(sum(losses))
    print(f"Epoch {epoch}: train loss {sum(losses) / len(losses):.5f} lr {optimizer.param_groups[0]['lr']:.4f}")
with torch.no_grad():
    errors = (model(windows) - windows).abs().flatten(1).mean(1)
threshold = errors[:14].mean() + 3 * errors[:14].std()
print((errors > threshold).nonzero().flatten().tolist(), errors.topk(2).indices.sort().values)
print(f"{threshold:.5f} {errors.max():.5f}", torch.quantile(errors, torch.tensor([0.5, 0.9])))
