"""Low-rank adapters put into a frozen model, trained, merged, saved apart, and loaded again."""
import io
import math

import torch
from torch import nn

torch.manual_seed(25)
torch.set_default_dtype(torch.float64)


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, r: int = 2, alpha: float = 4.0, dropout: float = 0.05):
        super().__init__()
        self.base, self.scaling, self.merged = base, alpha / r, False
        self.lora_A = nn.Parameter(base.weight.new_empty(r, base.in_features))
        self.lora_B = nn.Parameter(base.weight.new_zeros(base.out_features, r))
        self.lora_dropout = nn.Dropout(p=dropout) if dropout > 0.0 else nn.Identity()
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))

    def forward(self, x):
        out = self.base(x)
        if not self.merged:
            out = out + self.lora_dropout(x) @ self.lora_A.T @ self.lora_B.T * self.scaling
        return out

    @torch.no_grad()
    def merge(self):
        self.base.weight += (self.lora_B @ self.lora_A) * self.scaling
        self.merged = True


def inject(model, names):
    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and child_name in names:
                setattr(module, child_name, LoRALinear(child))


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        weights = (self.query(x) @ self.key(x).transpose(-1, -2) / math.sqrt(8)).softmax(-1)
        return (weights @ self.value(x)).mean(dim=1)


model = nn.Sequential(nn.Embedding(10, 8), Head(), nn.Linear(8, 2))
before = {k: v.clone() for k, v in model.state_dict().items()}
for p in model.parameters():
    p.requires_grad = False
inject(model, {"query", "value"})
trainable = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
total = sum(p.numel() for p in model.parameters())
print(f"trainable params: {sum(p.numel() for _, p in trainable)} || all params: {total}")
print([n for n, _ in trainable])
x = torch.randint(10, (16, 6))
y = (x == 3).any(dim=1).long()
optimizer = torch.optim.AdamW((p for _, p in trainable), lr=0.05)
for step in range(20):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, f"{loss.item():.6f}")
print(all(torch.equal(before[k.replace(".base", "")], v) for k, v in model.state_dict().items() if "lora" not in k))
buffer = io.BytesIO()
torch.save({k: v for k, v in model.state_dict().items() if "lora_" in k}, buffer)
buffer.seek(0)
fresh = torch.load(buffer)
result = model.load_state_dict(fresh, strict=False)
print(len(result.missing_keys), result.unexpected_keys)
model.eval()
out = model(x)
for m in model.modules():
    if isinstance(m, LoRALinear):
        m.merge()
print(torch.allclose(out, model(x)), f"{out.std():.6f}")
print(model[1].query)
