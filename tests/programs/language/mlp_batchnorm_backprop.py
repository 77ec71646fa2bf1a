"""A character MLP with batch normalisation by hand, each gradient derived on paper and compared with autograd's."""
import torch
import torch.nn.functional as F

torch.manual_seed(42)
torch.set_default_dtype(torch.float64)
vocab_size, n_embd, n_hidden, n, block_size = 9, 4, 12, 8, 3
C = torch.randn((vocab_size, n_embd))
W1 = torch.randn((n_embd * block_size, n_hidden)) * (5 / 3) / ((n_embd * block_size) ** 0.5)
b1 = torch.randn(n_hidden) * 0.1
W2 = torch.randn((n_hidden, vocab_size)) * 0.1
b2 = torch.randn(vocab_size) * 0.1
bngain = torch.randn((1, n_hidden)) * 0.1 + 1.0
bnbias = torch.randn((1, n_hidden)) * 0.1
parameters = [C, W1, b1, W2, b2, bngain, bnbias]
for p in parameters:
    p.requires_grad = True
Xb, Yb = torch.randint(0, vocab_size, (n, block_size)), torch.randint(0, vocab_size, (n,))
emb = C[Xb]
embcat = emb.view(emb.shape[0], -1)
hprebn = embcat @ W1 + b1
bnmeani = 1 / n * hprebn.sum(0, keepdim=True)
bndiff = hprebn - bnmeani
bndiff2 = bndiff ** 2
bnvar = 1 / (n - 1) * bndiff2.sum(0, keepdim=True)
bnvar_inv = (bnvar + 1e-5) ** -0.5
bnraw = bndiff * bnvar_inv
hpreact = bngain * bnraw + bnbias
h = torch.tanh(hpreact)
logits = h @ W2 + b2
logit_maxes = logits.max(1, keepdim=True).values
norm_logits = logits - logit_maxes
counts = norm_logits.exp()
counts_sum = counts.sum(1, keepdims=True)
counts_sum_inv = counts_sum ** -1
probs = counts * counts_sum_inv
logprobs = probs.log()
loss = -logprobs[range(n), Yb].mean()
for p in parameters:
    p.grad = None
for t in [logprobs, probs, counts, counts_sum, counts_sum_inv, norm_logits, logit_maxes, logits, h, hpreact, bnraw,
          bnvar_inv, bnvar, bndiff2, bndiff, hprebn, bnmeani, embcat, emb]:
    t.retain_grad()
loss.backward()
print(f"{loss.item():.6f}", f"{F.cross_entropy(logits, Yb).item():.6f}")


def cmp(s, dt, t):
    ex = torch.all(dt == t.grad).item()
    app = torch.allclose(dt, t.grad)
    print(f"{s:12s} | approximate: {str(app):5s} | shape {tuple(dt.shape)}")


dlogits = F.softmax(logits, 1)
dlogits[range(n), Yb] -= 1
dlogits /= n
cmp("logits", dlogits, logits)
cmp("logit_maxes", -dlogits.detach().new_zeros(n, 1), logit_maxes) if False else print(logit_maxes.grad.abs().max() < 1e-9)
dh = dlogits @ W2.T
cmp("h", dh, h)
cmp("W2", h.T @ dlogits, W2)
cmp("b2", dlogits.sum(0), b2)
dhpreact = (1.0 - h ** 2) * dh
cmp("bngain", (bnraw * dhpreact).sum(0, keepdim=True), bngain)
dhprebn = bngain * bnvar_inv / n * (n * dhpreact - dhpreact.sum(0) - n / (n - 1) * bnraw * (dhpreact * bnraw).sum(0))
cmp("hprebn", dhprebn, hprebn)
dembcat = dhprebn @ W1.T
demb = dembcat.view(emb.shape)
dC = torch.zeros_like(C)
for k in range(Xb.shape[0]):
    for j in range(Xb.shape[1]):
        dC[Xb[k, j]] += demb[k, j]
cmp("C", dC, C)
dC2 = torch.zeros_like(C).index_add_(0, Xb.view(-1), demb.view(-1, n_embd))
print(torch.allclose(dC, dC2), dC.requires_grad, dlogits.requires_grad)
