"""A temporal convolutional network: weight-normalised dilated convolutions, chomped to be causal."""
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super(Chomp1d, self).__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, :-self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, dilation, dropout=0.2):
        super(TemporalBlock, self).__init__()
        padding = (kernel_size - 1) * dilation
        layers = []
        for n_in in (n_inputs, n_outputs):
            conv = weight_norm(nn.Conv1d(n_in, n_outputs, kernel_size, padding=padding, dilation=dilation))
            layers += [conv, Chomp1d(padding), nn.ReLU(), nn.Dropout1d(dropout)]
        self.net = nn.Sequential(*layers)
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()

    def forward(self, x):
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(self.net(x) + res)


class TCN(nn.Module):
    def __init__(self, num_channels, kernel_size=2):
        super().__init__()
        pairs = zip([1] + num_channels[:-1], num_channels)
        self.network = nn.Sequential(*[TemporalBlock(a, b, kernel_size, 2 ** i) for i, (a, b) in enumerate(pairs)])
        self.linear = nn.Linear(num_channels[-1], 1)

    def forward(self, x):
        return self.linear(self.network(x)[:, :, -1])


def adding_problem(n, t):
    x = torch.rand(n, 1, t)
    mask = torch.zeros(n, 1, t)
    for i in range(n):
        mask[i, 0, torch.randperm(t)[:2]] = 1
    return x * mask, (x * mask).sum(dim=2)


model = TCN([4, 4, 4])
print(model.network[1].net[0])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(10):
    x, y = adding_problem(12, 10)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 3 == 0:
        print(f"{step} {loss.item():.6f}")
model.eval()
x = torch.randn(1, 1, 10, requires_grad=True)
model.network(x)[0, :, 5].sum().backward()
print(x.grad[0, 0].ne(0).int().tolist())
print([n for n, _ in model.network[0].net[0].named_parameters()], f"{model.network[0].net[0].weight.norm():.6f}")
