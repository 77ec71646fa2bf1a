"""A vision transformer of two layers on small pictures: patches, a class token, learned positions."""
import torch
import torch.nn as nn

torch.manual_seed(7)
torch.set_default_dtype(torch.double)


class MLPBlock(nn.Sequential):
    def __init__(self, dim, hidden, p=0.1):
        super().__init__(nn.Linear(dim, hidden), nn.GELU(), nn.Dropout(p), nn.Linear(hidden, dim), nn.Dropout(p))


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(dim, heads, dropout=0.1, batch_first=True)
        self.mlp = MLPBlock(dim, 2 * dim)

    def forward(self, input):
        torch._assert(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, weights = self.self_attention(x, x, x, need_weights=True)
        x = x + input
        return x + self.mlp(self.ln_2(x)), weights


class ViT(nn.Module):
    def __init__(self, image=8, patch=4, dim=12, heads=3, depth=2, classes=4):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embedding = nn.Parameter(torch.empty(1, (image // patch) ** 2 + 1, dim).normal_(std=0.02))
        self.layers = nn.ModuleList(EncoderBlock(dim, heads) for _ in range(depth))
        self.heads = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))
        nn.init.trunc_normal_(self.conv_proj.weight, std=0.1)

    def forward(self, x):
        n = x.shape[0]
        x = self.conv_proj(x).reshape(n, -1, 4).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(n, -1, -1), x], dim=1) + self.pos_embedding
        maps = []
        for layer in self.layers:
            x, weights = layer(x)
            maps.append(weights)
        return self.heads(x[:, 0]), torch.stack(maps)


model = ViT()
images, labels = torch.rand(5, 3, 8, 8), torch.randint(4, (5,))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4, eta_min=1e-5)
for step in range(4):
    logits, maps = model(images)
    loss = nn.functional.cross_entropy(logits, labels, label_smoothing=0.11)
    opt.zero_grad()
    loss.backward()
    opt.step()
    schedule.step()
    print(f"{step} {loss:.6f} {schedule.get_last_lr()[0]:.6f}")
print(maps.shape, f"{model.class_token.grad.norm():.6f}")
model.eval()
with torch.inference_mode():
    logits, maps = model(images)
print(logits.argmax(-1).tolist(), torch.allclose(maps.sum(-1), torch.ones(())), logits.is_inference())
print(sum(p.numel() for p in model.parameters()))
