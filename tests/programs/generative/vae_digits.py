"""A variational autoencoder on small random patterns, in the form of the official example."""
import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(1)
torch.set_default_dtype(torch.float64)


class VAE(nn.Module):
    def __init__(self):
        super(VAE, self).__init__()
        self.fc1 = nn.Linear(36, 20)
        self.fc21 = nn.Linear(20, 3)
        self.fc22 = nn.Linear(20, 3)
        self.fc3 = nn.Linear(3, 20)
        self.fc4 = nn.Linear(20, 36)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, 36), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


patterns = (torch.rand(4, 1, 6, 6) > 0.5).double()
data = torch.utils.data.TensorDataset(patterns.repeat(6, 1, 1, 1).mul(0.9).add(0.05), torch.arange(4).repeat(6))
train_loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
model = VAE()
optimizer = optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(1, 5):
    model.train()
    train_loss = 0
    for batch_idx, (batch, _) in enumerate(train_loader):
        optimizer.zero_grad()
        recon_batch, mu, logvar = model(batch)
        loss = loss_function(recon_batch, batch, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        if epoch == 1:
            print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(
                epoch, batch_idx * len(batch), len(train_loader.dataset), 100.0 * batch_idx / len(train_loader),
                loss.item() / len(batch)))
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(train_loader.dataset)))
with torch.no_grad():
    sample = model.decode(torch.randn(2, 3)).cpu().view(2, 1, 6, 6)
print(sample[0, 0, :2])
