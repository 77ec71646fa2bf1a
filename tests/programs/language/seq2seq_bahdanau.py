"""Reverses sequences by a GRU encoder and a decoder with additive attention, as the translation tutorial is built."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(21)
random.seed(21)
torch.set_default_dtype(torch.float64)
SOS, EOS, V, H = 0, 1, 7, 10


class EncoderRNN(nn.Module):
    def __init__(self):
        super(EncoderRNN, self).__init__()
        self.embedding = nn.Embedding(V, H)
        self.gru = nn.GRU(H, H, batch_first=True)
        self.dropout = nn.Dropout(0.1)

    def forward(self, input):
        output, hidden = self.gru(self.dropout(self.embedding(input)))
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self):
        super(BahdanauAttention, self).__init__()
        self.Wa, self.Ua, self.Va = nn.Linear(H, H), nn.Linear(H, H), nn.Linear(H, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self):
        super(AttnDecoderRNN, self).__init__()
        self.embedding, self.attention = nn.Embedding(V, H), BahdanauAttention()
        self.gru, self.out = nn.GRU(2 * H, H, batch_first=True), nn.Linear(H, V)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None, length=5):
        decoder_input = torch.empty(encoder_outputs.size(0), 1, dtype=torch.long).fill_(SOS)
        decoder_hidden, outputs, attentions = encoder_hidden, [], []
        for i in range(length):
            embedded = self.embedding(decoder_input)
            context, weights = self.attention(decoder_hidden.permute(1, 0, 2), encoder_outputs)
            output, decoder_hidden = self.gru(torch.cat((embedded, context), dim=2), decoder_hidden)
            output = self.out(output)
            outputs.append(output)
            attentions.append(weights)
            if target_tensor is not None and random.random() < 0.5:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outputs, dim=1), dim=-1), decoder_hidden, torch.cat(attentions, dim=1)


encoder, decoder = EncoderRNN(), AttnDecoderRNN()
encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=0.02)
decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.02)
criterion = nn.NLLLoss()
for epoch in range(8):
    source = torch.randint(2, V, (12, 4))
    target = torch.cat([source.flip(1), torch.full((12, 1), EOS)], dim=1)
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    outputs, hidden = encoder(source)
    decoded, _, _ = decoder(outputs, hidden, target)
    loss = criterion(decoded.view(-1, decoded.size(-1)), target.reshape(-1))
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    if epoch % 2 == 0:
        print(f"epoch {epoch} loss {loss.item():.6f}")
encoder.eval(), decoder.eval()
with torch.no_grad():
    outputs, hidden = encoder(torch.tensor([[2, 3, 4, 5]]))
    decoded, _, attention = decoder(outputs, hidden)
print(decoded.topk(1)[1].squeeze().tolist(), attention.shape, f"{attention.sum():.4f}")
print(f"{attention.max():.5f}", encoder.gru)
