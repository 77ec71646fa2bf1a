"""Masked language modelling in the manner of BERT, then distillation into a smaller student with soft targets."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(28)
torch.set_default_dtype(torch.float64)
VOCAB, MASK, LENGTH = 10, 9, 6


class Encoder(nn.Module):
    def __init__(self, dim, layers):
        super().__init__()
        self.word, self.position = nn.Embedding(VOCAB, dim), nn.Parameter(torch.randn(LENGTH, dim) * 0.02)
        self.blocks = nn.ModuleList()
        for _ in range(layers):
            self.blocks.append(nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True))
        self.transform = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim, eps=1e-12))
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def forward(self, ids, output_hidden_states=False):
        h, states = self.word(ids) + self.position, []
        for block in self.blocks:
            h = block(h)
            states.append(h)
        logits = F.linear(self.transform(h), self.word.weight, self.bias)
        return (logits, states) if output_hidden_states else logits


def mask_tokens(inputs, probability=0.3):
    labels = inputs.clone()
    masked = torch.bernoulli(torch.full(labels.shape, probability)).bool()
    labels[~masked] = -100
    replaced = torch.bernoulli(torch.full(labels.shape, 0.8)).bool() & masked
    inputs = inputs.clone()
    inputs[replaced] = MASK
    at_random = torch.bernoulli(torch.full(labels.shape, 0.5)).bool() & masked & ~replaced
    random_words = torch.randint(VOCAB - 1, labels.shape, dtype=torch.long)
    inputs[at_random] = random_words[at_random]
    return inputs, labels


start = torch.randint(0, 9, (24, 1))
text = (start + torch.arange(LENGTH)) % 9
teacher, student = Encoder(12, 2), Encoder(8, 1)
warmup = lambda step: min((step + 1) / 5, 1.0)
for name, model, steps in (("teacher", teacher, 15), ("student", student, 10)):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, warmup)
    teacher.train(name == "teacher")
    for step in range(steps):
        inputs, labels = mask_tokens(text)
        logits = model(inputs)
        loss = F.cross_entropy(logits.transpose(1, 2), labels)
        if name == "student":
            with torch.no_grad():
                soft = teacher(inputs)
            temperature = 2.0
            kl = F.kl_div(F.log_softmax(logits / temperature, -1), F.log_softmax(soft / temperature, -1),
                          reduction="batchmean", log_target=True) * temperature ** 2
            loss = 0.5 * loss + 0.5 * kl / LENGTH
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 5 == 0:
            print(f"{name} {step} {loss.item():.6f} lr {scheduler.get_last_lr()[0]:.4f} masked {(labels != -100).sum().item()}")
with torch.no_grad():
    logits, states = teacher.eval()(text.index_fill(1, torch.tensor([2]), MASK), output_hidden_states=True)
print((logits[:, 2].argmax(-1) == text[:, 2]).double().mean().item() >= 0.0, len(states), states[0].shape)
print(f"{teacher.word.weight.grad.norm():.6f} {student.position.grad.norm():.6f}")
