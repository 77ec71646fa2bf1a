"""Models and loops that need PyTorch alone: a U-Net, a language model with an LSTM, a VAE, a GAN."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.models.loops import Loop, supervised

__all__ = ["gan", "lstm", "unet", "vae"]


class Block(nn.Module):
    """Two convolutions with group norm (Ronneberger and others, 2015, with today's norm)."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.norm = nn.GroupNorm(2, after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.second(F.silu(self.norm(self.first(x)))))


class UNet(nn.Module):
    """Down twice, up twice, with the way around at each level."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([Block(1, 4), Block(4, 8)])
        self.middle = Block(8, 8)
        self.up = nn.ModuleList([nn.ConvTranspose2d(8, 8, 2, 2), nn.ConvTranspose2d(4, 4, 2, 2)])
        self.joined = nn.ModuleList([Block(16, 4), Block(8, 4)])
        self.last = nn.Conv2d(4, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.middle(x)
        for up, block in zip(self.up, self.joined):
            x = block(torch.cat((up(x), kept.pop()), dim=1))
        return self.last(x)


def unet() -> Loop:
    """A U-Net that takes noise out of pictures."""
    clean = torch.randn(2, 1, 16, 16)
    return supervised(UNet(), lambda model: F.mse_loss(model(clean + 0.1 * torch.randn_like(clean)), clean))


class Sequence(nn.Module):
    """An embedding, an LSTM of two layers, and a head whose weight is the embedding's."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.memory = nn.Embedding(50, 16), nn.LSTM(16, 16, 2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(16, 50)
        self.head.weight = self.words.weight

    def forward(self, tokens: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor] | None = None,
                ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        found, state = self.memory(self.words(tokens), state)
        return self.head(found), state


def lstm() -> Loop:
    """Truncated backpropagation through time: the state goes on, its graph does not; gradients are clipped."""
    model, tokens = Sequence().train(), torch.randint(0, 50, (2, 25))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step() -> None:
        state = None
        for start in (0, 12):
            optimizer.zero_grad()
            scores, state = model(tokens[:, start:start + 12], state)
            loss = F.cross_entropy(scores.flatten(0, 1), tokens[:, start + 1:start + 13].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            state = tuple(each.detach() for each in state)

    return Loop({"model": model}, [optimizer], step)


class Variational(nn.Module):
    """A variational autoencoder (Kingma and Welling, 2014)."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 16), nn.GELU())
        self.mean, self.log_variance = nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 20))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        drawn = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        apart = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum(1).mean()
        return F.binary_cross_entropy_with_logits(self.decoder(drawn), x) + 0.01 * apart


def vae() -> Loop:
    """A variational autoencoder of binary data."""
    x = torch.rand(16, 20).round()
    return supervised(Variational(), lambda model: model(x))


def gan() -> Loop:
    """A generator and a discriminator that train in turns (Goodfellow and others, 2014)."""
    generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 8))
    discriminator = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    first = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    second = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    real, yes, no = torch.randn(16, 8) + 1, torch.ones(16, 1), torch.zeros(16, 1)

    def step() -> None:
        made = generator(torch.randn(16, 4))
        second.zero_grad()
        told = F.binary_cross_entropy_with_logits(discriminator(real), yes)
        (told + F.binary_cross_entropy_with_logits(discriminator(made.detach()), no)).backward()
        second.step()
        first.zero_grad()
        F.binary_cross_entropy_with_logits(discriminator(made), yes).backward()
        first.step()

    return Loop({"generator": generator, "discriminator": discriminator}, [first, second], step)
