"""RMSNorm, rotary positions, grouped queries, SwiGLU and a key-value cache, as open language models define them."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)
torch.set_default_dtype(torch.float64)
DIM, HEADS, KV_HEADS, VOCAB = 16, 4, 2, 11


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float() if x.dtype == torch.float16 else x).type_as(x) * self.weight


def rotary(positions, dim, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)] / dim))
    angles = torch.outer(positions.to(freqs.dtype), freqs)
    return torch.cat((angles.cos(), angles.cos()), -1), torch.cat((angles.sin(), angles.sin()), -1)


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-x2, x1), dim=-1)


def repeat_kv(x, n_rep):
    b, h, t, d = x.shape
    return x[:, :, None, :, :].expand(b, h, n_rep, t, d).reshape(b, h * n_rep, t, d)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        d = DIM // HEADS
        self.wq, self.wk = nn.Linear(DIM, HEADS * d, bias=False), nn.Linear(DIM, KV_HEADS * d, bias=False)
        self.wv, self.wo = nn.Linear(DIM, KV_HEADS * d, bias=False), nn.Linear(HEADS * d, DIM, bias=False)

    def forward(self, x, start, cache):
        b, t, _ = x.shape
        q, k, v = (w(x).unflatten(-1, (-1, DIM // HEADS)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        cos, sin = rotary(torch.arange(start, start + t), DIM // HEADS)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        if cache is not None:
            k, v = (torch.cat([old, new], dim=2) for old, new in zip(cache.get(id(self), (k[:, :, :0], v[:, :, :0])), (k, v)))
            cache[id(self)] = (k, v)
        mask = torch.full((t, k.shape[2]), float("-inf")).triu(diagonal=start + 1)
        k, v = repeat_kv(k, HEADS // KV_HEADS), repeat_kv(v, HEADS // KV_HEADS)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.wo(out.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm, self.attention = RMSNorm(DIM), nn.RMSNorm(DIM, eps=1e-6), Attention()
        self.w1, self.w2, self.w3 = (nn.Linear(*s, bias=False) for s in ((DIM, 24), (24, DIM), (DIM, 24)))

    def forward(self, x, start=0, cache=None):
        h = x + self.attention(self.attention_norm(x), start, cache)
        n = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(n)) * self.w3(n))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings, self.layers = nn.Embedding(VOCAB, DIM), nn.ModuleList([Block(), Block()])
        self.norm, self.output = RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens, start=0, cache=None):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, start, cache)
        return self.output(self.norm(h))


model = Model()
tokens = torch.randint(VOCAB, (2, 9))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(5):
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{step} {loss.item():.6f}")
with torch.no_grad():
    whole, cache = model(tokens), {}
    parts = torch.cat([model(tokens[:, :4], 0, cache)] + [model(tokens[:, i:i + 1], i, cache) for i in range(4, 9)], dim=1)
print(torch.allclose(whole, parts), [tuple(k.shape) for k, v in cache.values()])
probs = whole[0, -1].div(0.7).softmax(-1)
probs_sort, probs_idx = torch.sort(probs, dim=-1, descending=True)
mask = probs_sort.cumsum(-1) - probs_sort > 0.8
probs_sort[mask] = 0.0
probs_sort.div_(probs_sort.sum(dim=-1, keepdim=True))
print(torch.gather(probs_idx, -1, torch.multinomial(probs_sort, 1)).item(), (~mask).sum().item())
