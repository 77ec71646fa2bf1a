"""Six models with random weights, their inputs, and how each gets its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["MODELS", "Case"]


@dataclass
class Case:
    """A model, the arguments of its forward pass, and what `inspect` gets besides."""

    model: nn.Module
    inputs: tuple[Any, ...]
    loss: dict[str, Any] = field(default_factory=dict)


def mlp() -> Case:
    """Three linear layers on 28 × 28 pictures."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU(),
                          nn.Linear(64, 10))
    return Case(model, (torch.randn(32, 1, 28, 28),), classes(torch.randint(0, 10, (32,))))


def resnet50() -> Case:
    """ResNet-50 of transformers, on 64 × 64 pictures."""
    hub = import_module("transformers")
    model = hub.ResNetForImageClassification(hub.ResNetConfig(depths=[3, 4, 6, 3], num_labels=10))
    return Case(model, (torch.randn(2, 3, 64, 64),), {"labels": torch.tensor([1, 2])})


def gpt2() -> Case:
    """GPT-2 small of transformers: 12 blocks of width 768, 16 tokens."""
    hub = import_module("transformers")
    tokens = torch.randint(0, 50_000, (1, 16))
    return Case(hub.GPT2LMHeadModel(hub.GPT2Config(use_cache=False)), (tokens,), {"labels": tokens})


class Block(nn.Module):
    """Two convolutions, each with its norm."""

    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out)

    def forward(self, x: Tensor) -> Tensor:
        """Of (N, width, H, W), (N, out, H, W)."""
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class UNet(nn.Module):
    """Down to an eighth of the size and up again, with a skip connection at each size."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        sizes = [3, width, 2 * width, 4 * width]
        self.down = nn.ModuleList(Block(a, b) for a, b in pairwise(sizes))
        self.bottom = Block(4 * width, 8 * width)
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * each, each, 2, 2) for each in sizes[:0:-1])
        self.join = nn.ModuleList(Block(2 * each, each) for each in sizes[:0:-1])
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Of (N, 3, H, W), (N, 2, H, W)."""
        kept = []
        for down in self.down:
            kept.append(down(x))
            x = F.max_pool2d(kept[-1], 2)
        x = self.bottom(x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([up(x), kept.pop()], 1))
        out: Tensor = self.head(x)
        return out


def unet() -> Case:
    """A U-Net on 64 × 64 pictures."""
    return Case(UNet(), (torch.randn(2, 3, 64, 64),), classes(torch.randint(0, 2, (2, 64, 64))))


class GraphNetwork(nn.Module):
    """Three graph convolutions of torch_geometric."""

    def __init__(self) -> None:
        super().__init__()
        conv = import_module("torch_geometric.nn").GCNConv
        self.conv1, self.conv2, self.conv3 = conv(16, 32), conv(32, 32), conv(32, 4)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        """Of (nodes, 16) and edges (2, count), (nodes, 4)."""
        h = F.relu(self.conv2(F.relu(self.conv1(x, edges)), edges))
        out: Tensor = self.conv3(h, edges)
        return out


def graph_network() -> Case:
    """A graph network on 200 nodes with 800 edges."""
    return Case(GraphNetwork(), (torch.randn(200, 16), torch.randint(0, 200, (2, 800))),
                classes(torch.randint(0, 4, (200,))))


class Tagger(nn.Module):
    """An embedding, an LSTM of two layers, and a linear layer at each word."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 64)
        self.lstm = nn.LSTM(64, 128, num_layers=2, batch_first=True)
        self.head = nn.Linear(128, 20)

    def forward(self, words: Tensor) -> Tensor:
        """Of (N, L), (N, 20, L)."""
        out: Tensor = self.head(self.lstm(self.embed(words))[0]).transpose(1, 2)
        return out


def lstm() -> Case:
    """A tagger of 30 words."""
    return Case(Tagger(), (torch.randint(0, 1000, (4, 30)),), classes(torch.randint(0, 20, (4, 30))))


def classes(target: Tensor) -> dict[str, Any]:
    """The cross entropy with classes."""
    return {"target": target, "loss_fn": F.cross_entropy}


MODELS: dict[str, tuple[str, Callable[[], Case]]] = {
    "mlp": ("MLP", mlp), "resnet50": ("ResNet-50", resnet50), "gpt2": ("GPT-2 small", gpt2), "unet": ("U-Net", unet),
    "graph": ("graph network", graph_network), "lstm": ("LSTM", lstm),
}
