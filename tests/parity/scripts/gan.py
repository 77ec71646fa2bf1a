"""Two networks against each other, with the penalty of the gradient's norm."""
import torch
from torch import nn, optim

torch.manual_seed(1)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def init(module):
    name = module.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(module.weight.data, 0.0, 0.05)
    elif "BatchNorm" in name:
        nn.init.normal_(module.weight.data, 1.0, 0.05)
        nn.init.constant_(module.bias.data, 0)


generator = nn.Sequential(
    nn.ConvTranspose2d(6, 8, 4, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
    nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1), nn.Tanh()).to(device)
critic = nn.Sequential(
    nn.Conv2d(1, 4, 4, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(4, 1, 4), nn.Flatten()).to(device)
generator.apply(init)
critic.apply(init)
print(generator, critic, sep="\n")
criterion = nn.BCEWithLogitsLoss()
opt_g = optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.999))
for step in range(8):
    real = torch.rand(8, 1, 8, 8, device=device) * 2 - 1
    label = torch.full((8, 1), 1.0, dtype=torch.float, device=device)
    critic.zero_grad()
    loss_real = criterion(critic(real), label)
    fake = generator(torch.randn(8, 6, 1, 1, device=device))
    loss_fake = criterion(critic(fake.detach()), torch.zeros_like(label))
    mix = torch.rand(8, 1, 1, 1).expand_as(real)
    between = (mix * real + (1 - mix) * fake.detach()).requires_grad_(True)
    scores = critic(between)
    grad, = torch.autograd.grad(scores, between, torch.ones_like(scores), create_graph=True)
    penalty = ((grad.view(8, -1).norm(2, dim=1) - 1) ** 2).mean()
    (loss_real + loss_fake + penalty).backward()
    opt_d.step()
    generator.zero_grad()
    loss_g = criterion(critic(fake), label)
    loss_g.backward()
    opt_g.step()
    print("[%d] D %.4f G %.4f penalty %.4f" % (step, (loss_real + loss_fake).item(), loss_g.item(), penalty.item()))
with torch.no_grad():
    print(generator(torch.ones(1, 6, 1, 1)).cpu()[0, 0, 0].numpy().round(3).tolist())
