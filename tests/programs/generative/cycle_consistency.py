"""Two generators and two critics with least-squares, cycle and identity losses and a pool of old pictures."""
import itertools
import random

import torch
import torch.nn as nn

torch.manual_seed(10)
random.seed(10)
torch.set_default_dtype(torch.float64)


class ResidualBlock(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.block = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(features, features, 3),
                                   nn.InstanceNorm2d(features), nn.ReLU(inplace=True))

    def forward(self, x):
        return x + self.block(x)


class ReplayBuffer:
    def __init__(self, max_size=3):
        self.max_size, self.data = max_size, []

    def push_and_pop(self, data):
        to_return = []
        for element in data.detach():
            element = torch.unsqueeze(element, 0)
            if len(self.data) < self.max_size:
                self.data.append(element)
                to_return.append(element)
            elif random.uniform(0, 1) > 0.5:
                i = random.randint(0, self.max_size - 1)
                to_return.append(self.data[i].clone())
                self.data[i] = element
            else:
                to_return.append(element)
        return torch.cat(to_return)


def generator():
    return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(1, 4, 3), nn.InstanceNorm2d(4, affine=True), nn.ReLU(),
                         ResidualBlock(4), nn.ReplicationPad2d(1), nn.Conv2d(4, 1, 3), nn.Tanh())


def critic():
    return nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.LeakyReLU(0.2, True), nn.ZeroPad2d((1, 0, 1, 0)),
                         nn.Conv2d(4, 1, 3, padding=1), nn.AvgPool2d(2), nn.Flatten())


G_AB, G_BA, D_A, D_B = generator(), generator(), critic(), critic()
mse, l1, pool = nn.MSELoss(), nn.L1Loss(), ReplayBuffer()
optimizer_G = torch.optim.Adam(itertools.chain(G_AB.parameters(), G_BA.parameters()), lr=2e-3, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam([{"params": D_A.parameters()}, {"params": D_B.parameters(), "lr": 1e-3}], lr=2e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer_G, lr_lambda=lambda e: 1.0 - max(0, e - 1) / 4)
for epoch in range(4):
    a, b = torch.rand(2, 1, 6, 6) * 2 - 1, (torch.rand(2, 1, 6, 6) > 0.7).double() * 2 - 1
    fake_b, fake_a = G_AB(a), G_BA(b)
    score = D_B(fake_b)
    loss_gan = mse(score, torch.ones_like(score)) + mse(D_A(fake_a), torch.ones_like(score))
    loss_cycle = l1(G_BA(fake_b), a) + l1(G_AB(fake_a), b)
    loss_G = loss_gan + 10.0 * loss_cycle + 5.0 * (l1(G_BA(a), a) + l1(G_AB(b), b))
    optimizer_G.zero_grad()
    loss_G.backward()
    optimizer_G.step()
    optimizer_D.zero_grad()
    old = pool.push_and_pop(fake_b)
    loss_D = 0.5 * sum(mse(D(x), torch.full_like(D(x), t)) for D, x, t in
                       ((D_A, a, 1.0), (D_A, fake_a.detach(), 0.0), (D_B, b, 1.0), (D_B, old, 0.0)))
    loss_D.backward()
    optimizer_D.step()
    scheduler.step()
    print(f"{epoch} G {loss_G:.5f} cycle {loss_cycle:.5f} D {loss_D:.5f} lr {optimizer_G.param_groups[0]['lr']:.5f}")
print(len(pool.data), G_AB[2].weight.grad.shape, G_AB)
