"""Skip-gram with negative sampling and CBOW on a tiny text, with nearest words by cosine similarity."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import Counter

torch.manual_seed(22)
torch.set_default_dtype(torch.float64)
text = ("the king rules the land and the queen rules the land while the dog chases the cat and the cat chases "
        "the mouse and the king and the queen feed the dog").split()
vocab = [w for w, _ in Counter(text).most_common()]
index = {w: i for i, w in enumerate(vocab)}
ids = torch.tensor([index[w] for w in text])
counts = torch.bincount(ids, minlength=len(vocab)).double()
noise = counts.pow(0.75) / counts.pow(0.75).sum()
print(vocab[:4], counts[:4], f"{noise[0]:.5f}")


class SkipGram(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.u, self.v = nn.Embedding(n, dim), nn.Embedding(n, dim)
        self.u.weight.data.uniform_(-0.5 / dim, 0.5 / dim)
        self.v.weight.data.zero_()

    def forward(self, pos_u, pos_v, neg_v):
        emb_u, emb_v, neg_emb_v = self.u(pos_u), self.v(pos_v), self.v(neg_v)
        score = -F.logsigmoid(torch.clamp(torch.sum(torch.mul(emb_u, emb_v), dim=1), max=10, min=-10))
        neg_score = torch.bmm(neg_emb_v, emb_u.unsqueeze(2)).squeeze(-1)
        return torch.mean(score - torch.sum(F.logsigmoid(-neg_score), dim=1))


windows = ids.unfold(0, 5, 1)
centre, context = windows[:, 2], windows[:, [0, 1, 3, 4]]
model = SkipGram(len(vocab), 6)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(10):
    negatives = torch.multinomial(noise, context.numel() * 3, replacement=True).view(-1, 3)
    loss = model(centre.repeat_interleave(4), context.reshape(-1), negatives)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print(f"{epoch} {loss.item():.6f}")
with torch.no_grad():
    w = model.u.weight
    similar = F.cosine_similarity(w.unsqueeze(1), w.unsqueeze(0), dim=-1)
    print(similar.shape, f"{similar[index['king'], index['queen']]:.5f}")

cbow = nn.ModuleDict({"bag": nn.EmbeddingBag(len(vocab), 6, mode="mean"), "out": nn.Linear(6, len(vocab))})
optimizer = torch.optim.SGD(cbow.parameters(), lr=1.0)
for _ in range(5):
    loss = F.cross_entropy(cbow["out"](cbow["bag"](context)), centre)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"cbow {loss.item():.6f}")
flat, offsets = context.flatten(), torch.arange(0, context.numel(), 4)
print(torch.equal(cbow["bag"](flat, offsets), cbow["bag"](context)), cbow["bag"])
