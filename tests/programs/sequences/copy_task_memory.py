"""A memory with content addressing and soft writes that copies a sequence, in the manner of neural Turing machines."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(8)
torch.set_default_dtype(torch.float64)


class Memory(nn.Module):
    def __init__(self, slots, width):
        super().__init__()
        self.register_buffer("initial", torch.empty(slots, width).uniform_(-0.1, 0.1))

    def reset(self, batch):
        self.memory = self.initial.clone().repeat(batch, 1, 1)

    def address(self, k, beta, g, s, gamma, previous):
        content = F.softmax(beta * F.cosine_similarity(self.memory + 1e-16, k.unsqueeze(1) + 1e-16, dim=-1), dim=1)
        gated = g * content + (1 - g) * previous
        padded = torch.cat([gated[:, -1:], gated, gated[:, :1]], 1)
        shifted = (padded.unfold(1, 3, 1) * s.unsqueeze(1)).sum(-1)
        w = shifted ** gamma
        return w / (w.sum(1, keepdim=True) + 1e-16)

    def write(self, w, erase, add):
        self.memory = self.memory * (1 - w.unsqueeze(-1) @ erase.unsqueeze(1)) + w.unsqueeze(-1) @ add.unsqueeze(1)

    def read(self, w):
        return torch.baddbmm(torch.zeros(w.shape[0], 1, self.memory.shape[-1]), w.unsqueeze(1), self.memory).squeeze(1)


class NTM(nn.Module):
    def __init__(self, inputs, hidden=12, slots=5, width=4):
        super().__init__()
        self.width, self.slots = width, slots
        self.controller = nn.LSTMCell(inputs + width, hidden)
        self.head = nn.Linear(hidden, 3 * width + 6)
        self.out, self.memory = nn.Linear(hidden + width, inputs - 1), Memory(slots, width)

    def forward(self, x):
        batch = x.size(1)
        self.memory.reset(batch)
        w = F.one_hot(torch.zeros(batch, dtype=torch.long), self.slots).to(x.dtype)
        read, state, outputs = x.new_zeros(batch, self.width), None, []
        for step in x:
            state = self.controller(torch.cat([step, read], 1), state)
            k, erase, add, beta, g, gamma, s = self.head(state[0]).split([self.width] * 3 + [1, 1, 1, 3], dim=1)
            w = self.memory.address(k.tanh(), F.softplus(beta), g.sigmoid(), s.softmax(1), 1 + F.softplus(gamma), w)
            self.memory.write(w, erase.sigmoid(), add)
            read = self.memory.read(w)
            outputs.append(self.out(torch.cat([state[0], read], dim=1)))
        return torch.stack(outputs)


model = NTM(4)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2, momentum=0.5, alpha=0.95, centered=True)
for step in range(6):
    bits = torch.bernoulli(torch.full((3, 4, 3), 0.5))
    inputs = torch.cat([F.pad(bits, (0, 1)), torch.tensor([0.0, 0.0, 0.0, 1.0]).expand(1, 4, 4), torch.zeros(3, 4, 4)])
    loss = F.binary_cross_entropy_with_logits(model(inputs)[4:], bits)
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.grad.clamp_(-10, 10)
    optimizer.step()
    print(f"{step} {loss.item():.6f} {model.head.weight.grad.norm().item():.6f}")
print(model.memory.memory.shape, model.memory.initial.requires_grad, f"{model.memory.memory.std():.6f}")
