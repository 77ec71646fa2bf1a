"""The models that the programs of the corpus train: each function takes the library, PyTorch or minigrad."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

__all__ = ["batch", "images", "models", "sequences"]


@cache
def models(torch: Any) -> Any:
    """The classes of models, made of the modules of one library."""
    return SimpleNamespace(**networks(torch), **sequence_models(torch), **players(torch))


def networks(torch: Any) -> dict[str, type]:
    """Models of rows and of images."""
    nn, F = torch.nn, torch.nn.functional

    class MLP(nn.Module):
        def __init__(self, inputs=8, hidden=16, outputs=3):
            super().__init__()
            self.first = nn.Linear(inputs, hidden)
            self.second = nn.Linear(hidden, hidden)
            self.last = nn.Linear(hidden, outputs)

        def forward(self, x):
            h = F.relu(self.first(x))
            h = F.relu(self.second(h))
            return self.last(h)

    class CNN(nn.Module):
        def __init__(self, classes=3):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
            self.norm1 = nn.BatchNorm2d(4)
            self.conv2 = nn.Conv2d(4, 8, 3, padding=1)
            self.norm2 = nn.BatchNorm2d(8)
            self.head = nn.Linear(8, classes)

        def forward(self, x):
            x = F.relu(self.norm1(self.conv1(x)))
            x = F.max_pool2d(x, 2)
            x = F.relu(self.norm2(self.conv2(x)))
            return self.head(x.mean(dim=(2, 3)))

    return {"MLP": MLP, "CNN": CNN}


def sequence_models(torch: Any) -> dict[str, type]:
    """Models of sequences."""
    nn, F = torch.nn, torch.nn.functional

    class Tagger(nn.Module):
        def __init__(self, inputs=4, hidden=8, tags=3):
            super().__init__()
            self.lstm = nn.LSTM(inputs, hidden, batch_first=True)
            self.head = nn.Linear(hidden, tags)

        def forward(self, x, state=None):
            h, state = self.lstm(x, state)
            return self.head(h), state

    class Block(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
            weights = F.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1)
            x = x + self.out(weights @ v)
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self, vocabulary=10, width=8, depth=2):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
            self.head = nn.Linear(width, vocabulary)

        def forward(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(x)

    return {"Tagger": Tagger, "Block": Block, "Transformer": Transformer}


def players(torch: Any) -> dict[str, type]:
    """The two of a GAN, and a policy with a critic."""
    nn = torch.nn

    class Generator(nn.Module):
        def __init__(self, noise=4, out=6):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(noise, 16), nn.ReLU(), nn.Linear(16, out))

        def forward(self, z):
            return self.net(z)

    class Discriminator(nn.Module):
        def __init__(self, inputs=6):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(inputs, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

        def forward(self, x):
            return self.net(x)

    class Policy(nn.Module):
        def __init__(self, observations=4, actions=2):
            super().__init__()
            self.body = nn.Linear(observations, 16)
            self.actor, self.critic = nn.Linear(16, actions), nn.Linear(16, 1)

        def forward(self, observation):
            h = torch.tanh(self.body(observation))
            return self.actor(h), self.critic(h)

    return {"Generator": Generator, "Discriminator": Discriminator, "Policy": Policy}


def batch(torch: Any, size: int = 16, inputs: int = 8, classes: int = 3) -> Any:
    """Rows of features, and a class for each."""
    return torch.randn(size, inputs), torch.arange(size) % classes


def images(torch: Any, size: int = 8, classes: int = 3) -> Any:
    """Small images of one channel, and a class for each."""
    return torch.randn(size, 1, 8, 8), torch.arange(size) % classes


def sequences(torch: Any, size: int = 4, length: int = 6) -> Any:
    """Sequences of tokens; the next token is the target."""
    tokens = torch.randint(0, 10, (size, length + 1))
    return tokens[:, :-1], tokens[:, 1:]
