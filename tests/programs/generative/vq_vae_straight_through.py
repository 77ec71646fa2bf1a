"""A VQ-VAE whose codebook moves by averages while gradients pass straight through the quantiser."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)
torch.set_default_dtype(torch.float64)


class VectorQuantizerEMA(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, commitment_cost=0.25, decay=0.9, epsilon=1e-5):
        super().__init__()
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.normal_()
        self.register_buffer("_ema_cluster_size", torch.zeros(num_embeddings))
        self._ema_w = nn.Parameter(torch.Tensor(num_embeddings, embedding_dim).double(), requires_grad=False)
        self._ema_w.data.normal_()
        self.n, self.cost, self.decay, self.epsilon = num_embeddings, commitment_cost, decay, epsilon

    def forward(self, inputs):
        inputs = inputs.permute(0, 2, 1).contiguous()
        flat = inputs.view(-1, self._embedding.embedding_dim)
        weight = self._embedding.weight
        distances = (torch.sum(flat ** 2, dim=1, keepdim=True) + torch.sum(weight ** 2, dim=1)
                     - 2 * torch.matmul(flat, weight.t()))
        indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(indices.shape[0], self.n)
        encodings.scatter_(1, indices, 1)
        quantized = torch.matmul(encodings, weight).view(inputs.shape)
        if self.training:
            self._ema_cluster_size = self._ema_cluster_size * self.decay + (1 - self.decay) * torch.sum(encodings, 0)
            n = torch.sum(self._ema_cluster_size.data)
            self._ema_cluster_size = (self._ema_cluster_size + self.epsilon) / (n + self.n * self.epsilon) * n
            dw = torch.matmul(encodings.t(), flat)
            self._ema_w = nn.Parameter(self._ema_w * self.decay + (1 - self.decay) * dw)
            self._embedding.weight = nn.Parameter(self._ema_w / self._ema_cluster_size.unsqueeze(1))
        loss = self.cost * F.mse_loss(quantized.detach(), inputs)
        quantized = inputs + (quantized - inputs).detach()
        perplexity = torch.exp(-torch.sum(encodings.mean(0) * torch.log(encodings.mean(0) + 1e-10)))
        return loss, quantized.permute(0, 2, 1).contiguous(), perplexity, indices


encoder = nn.Sequential(nn.Conv1d(1, 6, 4, stride=2, padding=1), nn.ReLU(), nn.Conv1d(6, 3, 3, padding=1))
quantizer = VectorQuantizerEMA(5, 3)
decoder = nn.Sequential(nn.ConvTranspose1d(3, 6, 4, 2, 1), nn.ReLU(), nn.Conv1d(6, 1, 3, padding=1))
opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
signal = torch.sin(torch.linspace(0, 6, 16) * torch.arange(1, 9).view(8, 1, 1)).detach()
for step in range(12):
    opt.zero_grad()
    vq_loss, quantized, perplexity, indices = quantizer(encoder(signal))
    recon_error = F.mse_loss(decoder(quantized), signal) / signal.var()
    (recon_error + vq_loss).backward()
    opt.step()
    if step % 4 == 0:
        print(f"{step} recon {recon_error.item():.6f} vq {vq_loss.item():.6f} perplexity {perplexity.item():.5f}")
print(indices.view(8, -1)[0].tolist(), indices.unique(return_counts=True)[1].sum())
print(quantizer._embedding.weight.grad, f"{encoder[0].weight.grad.norm():.6f}", quantizer._ema_w.requires_grad)
quantizer.eval()
print(f"{quantizer(encoder(signal))[2].item():.5f}", list(quantizer.state_dict()))
