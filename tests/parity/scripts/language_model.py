"""A character transformer written by hand: causal attention, clipping, accumulated gradients, sampling."""
import math
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(7)
device = "cuda" if torch.cuda.is_available() else "cpu"
text = "the rain in spain stays mainly in the plain. " * 8
letters = sorted(set(text))
index = {letter: i for i, letter in enumerate(letters)}
data = torch.tensor([index[letter] for letter in text], dtype=torch.long)
context, width, heads = 12, 24, 3


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)).bool())

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (part.view(B, T, heads, C // heads).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(C // heads)
        scores = scores.masked_fill(~self.mask[:T, :T], float("-inf"))
        mixed = self.drop(scores.softmax(dim=-1)) @ v
        return self.out(mixed.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention()
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class CharModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(len(letters), width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(letters), bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self.init)

    def init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, idx, targets=None):
        x = self.tokens(idx) + self.places(torch.arange(idx.size(1), device=idx.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    @torch.no_grad()
    def generate(self, idx, count, temperature=1.0, top_k=None):
        for _ in range(count):
            logits = self(idx[:, -context:])[0][:, -1] / temperature
            if top_k is not None:
                best, _ = torch.topk(logits, top_k)
                logits[logits < best[:, [-1]]] = -float("inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return idx


def batch(size=8):
    starts = torch.randint(len(data) - context, (size,))
    x = torch.stack([data[i:i + context] for i in starts])
    y = torch.stack([data[i + 1:i + context + 1] for i in starts])
    return x.to(device), y.to(device)


model = CharModel().to(device)
print(model)
decayed = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                              lr=1e-3, betas=(0.9, 0.95))
for step in range(20):
    for group in optimizer.param_groups:
        group["lr"] = 5e-3 * min(1, (step + 1) / 5)
    for _ in range(2):
        _, loss = model(*batch())
        (loss / 2).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if step % 5 == 0:
        print(f"step {step}: loss {loss.item():.4f}, norm {norm:.4f}")
model.eval()
written = model.generate(torch.zeros((1, 1), dtype=torch.long, device=device), 30, top_k=4)
print(repr("".join(letters[i] for i in written[0].tolist())))
