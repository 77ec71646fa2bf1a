"""A sparse mixture of experts with noisy top-k routing and a balancing loss, as in papers about large models."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)
torch.set_default_dtype(torch.float64)


class NoisyTopkRouter(nn.Module):
    def __init__(self, n_embed, num_experts, top_k):
        super().__init__()
        self.top_k = top_k
        self.topkroute_linear = nn.Linear(n_embed, num_experts)
        self.noise_linear = nn.Linear(n_embed, num_experts)

    def forward(self, mh_output):
        logits = self.topkroute_linear(mh_output)
        noise = torch.randn_like(logits) * F.softplus(self.noise_linear(mh_output)) if self.training else 0.0
        noisy_logits = logits + noise
        top_k_logits, indices = noisy_logits.topk(self.top_k, dim=-1)
        zeros = torch.full_like(noisy_logits, float("-inf"))
        sparse_logits = zeros.scatter(-1, indices, top_k_logits)
        return F.softmax(sparse_logits, dim=-1), indices


class SparseMoE(nn.Module):
    def __init__(self, n_embed, num_experts, top_k):
        super().__init__()
        self.router = NoisyTopkRouter(n_embed, num_experts, top_k)
        self.experts = nn.ModuleList([nn.Sequential(nn.Linear(n_embed, 2 * n_embed), nn.Mish(),
                                                    nn.Linear(2 * n_embed, n_embed)) for _ in range(num_experts)])

    def forward(self, x):
        gating_output, indices = self.router(x)
        final_output = torch.zeros_like(x)
        flat_x = x.view(-1, x.size(-1))
        flat_gating_output = gating_output.view(-1, gating_output.size(-1))
        for i, expert in enumerate(self.experts):
            flat_mask = (indices == i).any(dim=-1).view(-1)
            if flat_mask.any():
                expert_output = expert(flat_x[flat_mask])
                gating_scores = flat_gating_output[flat_mask, i].unsqueeze(1)
                final_output.view(-1, x.size(-1))[flat_mask] += expert_output * gating_scores
        importance = flat_gating_output.sum(0)
        balance = importance.var() / importance.mean().square()
        return final_output, balance, torch.bincount(indices.flatten(), minlength=len(self.experts))


model = SparseMoE(6, 4, 2)
x = torch.randn(3, 5, 6)
target = torch.sin(x.roll(1, dims=-1) * 2)
optimizer = torch.optim.RAdam(model.parameters(), lr=2e-2, decoupled_weight_decay=True, weight_decay=1e-2)
for step in range(12):
    out, balance, load = model(x)
    loss = F.mse_loss(out, target) + 0.01 * balance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        print(f"{step:2d} loss {loss.item():.6f} balance {balance.item():.5f} load {load.tolist()}")
model.eval()
out, balance, load = model(x)
print(out.grad_fn is not None, load.sum().item(), f"{out.norm():.6f}")
gates, chosen = model.router(x[:1])
print(gates.detach().gt(0).sum(-1), torch.allclose(gates.sum(-1), torch.ones(1, 5)), chosen.dtype)
used = [i for i, e in enumerate(model.experts) if e[0].weight.grad is not None and e[0].weight.grad.abs().sum() > 0]
print(used)
