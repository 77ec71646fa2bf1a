"""Denoising, sparse and contractive autoencoders side by side, as a chapter of a course shows them."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(18)
torch.set_default_dtype(torch.float64)
basis = torch.linalg.qr(torch.randn(10, 10))[0][:, :3]
data = torch.randn(40, 3) @ basis.T


class Autoencoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(hidden, 10))
        self.bias_h, self.bias_o = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(10))
        nn.init.kaiming_uniform_(self.weight, a=5 ** 0.5)

    def encode(self, x):
        return torch.sigmoid(F.linear(x, self.weight, self.bias_h))

    def forward(self, x):
        h = self.encode(x)
        return F.linear(h, self.weight.t(), self.bias_o), h


def denoising(model, x):
    corrupted = x * torch.bernoulli(torch.full_like(x, 0.8))
    return F.mse_loss(model(corrupted)[0], x)


def sparse(model, x, rho=0.1):
    out, h = model(x)
    mean = h.mean(dim=0)
    kl = rho * torch.log(rho / mean) + (1 - rho) * torch.log((1 - rho) / (1 - mean))
    return F.mse_loss(out, x) + 0.05 * kl.sum()


def contractive(model, x):
    x = x.clone().requires_grad_()
    out, h = model(x)
    frobenius = sum(torch.autograd.grad(h[:, i].sum(), x, create_graph=True)[0].pow(2).sum() for i in range(h.shape[1]))
    closed = ((h * (1 - h)) ** 2 @ (model.weight ** 2).sum(1)).sum()
    assert torch.allclose(frobenius, closed)
    return F.mse_loss(out, x.detach()) + 1e-2 * frobenius / len(x)


for kind in (denoising, sparse, contractive):
    model = Autoencoder(6)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.1)
    history = []
    for step in range(15):
        opt.zero_grad()
        loss = kind(model, data)
        loss.backward()
        opt.step()
        history.append(loss.item())
    print(kind.__name__, " ".join(f"{v:.5f}" for v in history[::7]), f"activity {model.encode(data).mean():.5f}")
tied = Autoencoder(3)
with torch.no_grad():
    tied.weight.copy_(basis.T)
    print(f"{(tied(data)[0] - data).norm():.5f}", tied.weight.shape)
