"""MADE, whose masks order the inputs, and a Gaussian mixture fitted by gradients through logsumexp."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_default_dtype(torch.float64)


class MaskedLinear(nn.Linear):
    def __init__(self, in_features, out_features, mask):
        super().__init__(in_features, out_features)
        self.register_buffer("mask", mask)

    def forward(self, input):
        return F.linear(input, self.mask * self.weight, self.bias)

    def extra_repr(self):
        return super().extra_repr() + f", connections={int(self.mask.sum())}"


class MADE(nn.Module):
    def __init__(self, nin, hidden):
        super().__init__()
        order, degrees = torch.arange(nin), torch.randint(0, nin - 1, (hidden,))
        self.net = nn.Sequential(MaskedLinear(nin, hidden, (degrees[:, None] >= order[None, :]).double()), nn.ELU(),
                                 MaskedLinear(hidden, nin, (order[:, None] > degrees[None, :]).double()))

    def forward(self, x):
        return self.net(x)


x = (torch.rand(60, 1) > 0.5).double().expand(60, 5).clone()
x[:, 2:] = 1 - x[:, 2:]
made = MADE(5, 24)
print(made)
opt = torch.optim.Adadelta(made.parameters(), lr=2.0, rho=0.9)
for step in range(30):
    loss = F.binary_cross_entropy_with_logits(made(x), x, reduction="none").sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"{step} {loss.item():.6f} nats")
jacobian = torch.autograd.functional.jacobian(lambda v: made(v), x[0])
print(jacobian.ne(0).int().tril(-1).equal(jacobian.ne(0).int()))

points = torch.cat([torch.randn(30) * 0.3 - 2, torch.randn(50) + 1.5])
logits, mu, log_sigma = (torch.zeros(2, requires_grad=True), torch.tensor([-1.0, 1.0], requires_grad=True),
                         torch.zeros(2, requires_grad=True))
opt = torch.optim.LBFGS([logits, mu, log_sigma], lr=0.5, max_iter=15, line_search_fn="strong_wolfe")


def nll():
    z = (points[:, None] - mu) / log_sigma.exp()
    return -torch.logsumexp(F.log_softmax(logits, 0) - 0.5 * z ** 2 - log_sigma - 0.5 * math.log(2 * math.pi), 1).mean()


def closure():
    opt.zero_grad()
    loss = nll()
    loss.backward()
    return loss


print(f"{opt.step(closure).item():.6f} -> {nll().item():.6f}")
print(logits.softmax(0).detach(), mu.data, log_sigma.exp().data)
