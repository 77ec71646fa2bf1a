"""Aligns noisy frames with label sequences by the CTC loss, decodes greedily, and checks the loss by enumeration."""
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
torch.set_default_dtype(torch.float64)
T, N, C, S = 10, 4, 5, 3
target_lengths = torch.tensor([3, 2, 3, 1])
targets = torch.randint(1, C, (N, S))
prototypes = torch.randn(C, 6)


def frames():
    out = torch.zeros(T, N, 6)
    for n in range(N):
        steps = torch.linspace(0, target_lengths[n] - 1e-6, T).long()
        out[:, n] = prototypes[targets[n][steps]] + 0.2 * torch.randn(T, 6)
    return out


model = nn.Sequential(nn.Linear(6, 12), nn.Hardtanh(0, 20, inplace=True), nn.Linear(12, C))
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
input_lengths = torch.full((N,), T, dtype=torch.long)
for step in range(12):
    log_probs = model(frames()).log_softmax(2)
    loss = ctc(log_probs, targets, input_lengths, target_lengths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 4 == 0:
        print(f"{step} {loss.item():.6f} {nn.utils.clip_grad_norm_(model.parameters(), 400).item():.6f}")


def greedy(log_probs):
    path = log_probs.argmax(-1)
    return [[k for k, _ in itertools.groupby(path[:, n].tolist()) if k != 0] for n in range(path.shape[1])]


print(greedy(log_probs), [targets[n, :target_lengths[n]].tolist() for n in range(N)])
short = torch.randn(4, 1, 3, requires_grad=True)
lp = short.log_softmax(-1)
total = torch.tensor(0.0)
for path in itertools.product(range(3), repeat=4):
    if [k for k, _ in itertools.groupby(path) if k != 0] == [1, 2]:
        total = total + torch.stack([lp[t, 0, k] for t, k in enumerate(path)]).sum().exp()
by_hand = -total.log()
direct = F.ctc_loss(lp, torch.tensor([[1, 2]]), (4,), (2,), reduction="sum")
g1, = torch.autograd.grad(by_hand, short, retain_graph=True)
g2, = torch.autograd.grad(direct, short)
print(f"{by_hand.item():.8f} {direct.item():.8f}", torch.allclose(g1, g2))
concatenated = F.ctc_loss(log_probs.detach(), torch.cat([targets[n, :l] for n, l in enumerate(target_lengths)]),
                          input_lengths, target_lengths, reduction="none")
print(concatenated)
