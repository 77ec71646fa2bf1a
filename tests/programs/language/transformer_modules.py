"""Uses nn.Transformer and its parts with padding and causal masks, as translation examples do."""
import math

import torch
from torch import nn, Tensor

torch.manual_seed(24)
torch.set_default_dtype(torch.float64)
PAD = 0


class PositionalEncoding(nn.Module):
    def __init__(self, emb_size, dropout, maxlen=20):
        super().__init__()
        den = torch.exp(-torch.arange(0, emb_size, 2) * math.log(10000) / emb_size)
        pos = torch.arange(0, maxlen).reshape(maxlen, 1)
        table = torch.zeros((maxlen, emb_size))
        table[:, 0::2] = torch.sin(pos * den)
        table[:, 1::2] = torch.cos(pos * den)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("pos_embedding", table.unsqueeze(-2))

    def forward(self, token_embedding: Tensor):
        return self.dropout(token_embedding + self.pos_embedding[:token_embedding.size(0), :])


class Seq2SeqTransformer(nn.Module):
    def __init__(self, vocab=9, size=12):
        super().__init__()
        self.transformer = nn.Transformer(d_model=size, nhead=3, num_encoder_layers=1, num_decoder_layers=1,
                                          dim_feedforward=16, dropout=0.1)
        self.generator, self.tokens = nn.Linear(size, vocab), nn.Embedding(vocab, size, padding_idx=PAD)
        self.positional_encoding = PositionalEncoding(size, dropout=0.1)

    def forward(self, src, trg, tgt_mask, src_pad, tgt_pad):
        src_emb, tgt_emb = (self.positional_encoding(self.tokens(v) * math.sqrt(12)) for v in (src, trg))
        outs = self.transformer(src_emb, tgt_emb, None, tgt_mask, None, src_pad, tgt_pad, src_pad)
        return self.generator(outs)


def generate_square_subsequent_mask(sz):
    mask = (torch.triu(torch.ones((sz, sz))) == 1).transpose(0, 1)
    return mask.float().masked_fill(mask == 0, float("-inf")).masked_fill(mask == 1, float(0.0)).double()


model = Seq2SeqTransformer()
for p in model.parameters():
    if p.dim() > 1:
        nn.init.xavier_uniform_(p)
loss_fn = torch.nn.CrossEntropyLoss(ignore_index=PAD)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
src = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0], [2, 5, 8, 0]]).t()
tgt = torch.tensor([[1, 6, 5, 4, 3], [1, 8, 7, 0, 0], [1, 8, 5, 2, 0]]).t()
print(generate_square_subsequent_mask(3))
for epoch in range(5):
    tgt_input, tgt_out = tgt[:-1, :], tgt[1:, :]
    logits = model(src, tgt_input, generate_square_subsequent_mask(4), (src == PAD).transpose(0, 1),
                   (tgt_input == PAD).transpose(0, 1))
    optimizer.zero_grad()
    loss = loss_fn(logits.reshape(-1, logits.shape[-1]), tgt_out.reshape(-1))
    loss.backward()
    optimizer.step()
    print(f"Epoch: {epoch}, Train loss: {loss.item():.5f}")
print(model.tokens.weight.grad[PAD].abs().sum().item(), f"{model.generator.weight.grad.norm():.5f}")
layer = nn.TransformerEncoderLayer(d_model=12, nhead=2, dim_feedforward=8, activation="gelu", batch_first=True, norm_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=2, norm=nn.LayerNorm(12), enable_nested_tensor=False)
out = encoder(torch.randn(2, 5, 12), mask=nn.Transformer.generate_square_subsequent_mask(5), is_causal=True)
out.square().mean().backward()
print(out.shape, len(list(encoder.parameters())), f"{encoder.layers[1].linear1.weight.grad.norm():.6f}")
print(encoder.layers[0])
