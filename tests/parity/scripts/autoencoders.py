"""A variational autoencoder and one that removes noise."""
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(2)
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
images = (torch.rand(96, 1, 8, 8) > 0.6).float()
loader = torch.utils.data.DataLoader([(image, 0) for image in images], batch_size=32, shuffle=True)


class VAE(nn.Module):
    def __init__(self, hidden=20, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU())
        self.mean, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, 64), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return self.decoder(z), mean, logvar


def elbo(output, x, mean, logvar):
    bce = F.binary_cross_entropy(output, x.view(-1, 64), reduction="sum")
    return bce - 0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())


model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 3):
    total = 0
    for i, (x, _) in enumerate(loader):
        optimizer.zero_grad()
        loss = elbo(*(out := model(x.to(device)))[:1], x, *out[1:])
        loss.backward()
        optimizer.step()
        total += loss.item()
        print("epoch {} [{}/{} ({:.0f}%)] loss {:.4f}".format(
            epoch, i * len(x), len(loader.dataset), 100.0 * i / len(loader), loss.item() / len(x)))
    print("average {:.4f}".format(total / len(loader.dataset)))

denoise = nn.Sequential(
    nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(),
    nn.ConvTranspose2d(4, 1, 2, stride=2), nn.Sigmoid())
optimizer = optim.RMSprop(denoise.parameters(), lr=1e-2)
for epoch in range(4):
    noisy = torch.clamp(images + 0.3 * torch.randn_like(images), 0.0, 1.0)
    loss = nn.MSELoss()(denoise(noisy), images)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch [{epoch + 1}/4], loss: {loss.item():.4f}")
