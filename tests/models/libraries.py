"""Graph networks of torch_geometric, and loops that a library runs: lightning, accelerate, and PyTorch's own DDP."""

from __future__ import annotations

import logging

import lightning
import torch
from accelerate import Accelerator
from lightning.pytorch.plugins.environments import LightningEnvironment
from torch import distributed, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch_geometric.nn import GATConv, GCNConv

from tests.models.loops import Loop, supervised

__all__ = ["accelerated", "ddp", "gat", "gcn", "trainer"]

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Graph(nn.Module):
    """Two graph convolutions."""

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        return self.second(F.dropout(F.elu(self.first(x, edges)), 0.1, self.training), edges)


def classifier_of_nodes(model: Graph) -> Loop:
    """A loop that classifies the nodes of a random graph, some of whose labels are known."""
    x, edges = torch.randn(20, 8), torch.randint(0, 20, (2, 60))
    labels, known = torch.arange(20) % 3, torch.arange(20) < 12
    return supervised(model, lambda model: F.cross_entropy(model(x, edges)[known], labels[known]))


def gcn() -> Loop:
    """A graph convolutional network (Kipf and Welling, 2017)."""
    return classifier_of_nodes(Graph(GCNConv(8, 16), GCNConv(16, 3)))


def gat() -> Loop:
    """A graph attention network (Veličković and others, 2018)."""
    return classifier_of_nodes(Graph(GATConv(8, 4, heads=4, dropout=0.1), GATConv(16, 3, dropout=0.1)))


def perceptron() -> nn.Sequential:
    """A classifier of 8 numbers into 3 classes."""
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 3))


def pairs() -> TensorDataset:
    """Data for it."""
    return TensorDataset(torch.randn(32, 8), torch.arange(32) % 3)


class Trained(lightning.LightningModule):
    """A module as Lightning wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = perceptron()

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        x, y = batch
        return F.cross_entropy(self.layers(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def trainer() -> Loop:
    """Lightning's Trainer: its step is a whole, short fit."""
    model, data = Trained(), DataLoader(pairs(), batch_size=16)

    def step() -> None:
        lightning.Trainer(max_steps=2, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
                          enable_progress_bar=False, enable_model_summary=False,
                          plugins=[LightningEnvironment()]).fit(model, data)

    return Loop({"model": model.train()}, [], step)


def accelerated() -> Loop:
    """A loop with Accelerate, which wraps model, optimizer and data, and accumulates gradients over two batches."""
    helper = Accelerator(cpu=True, gradient_accumulation_steps=2)
    plain = perceptron()
    model, optimizer, data = helper.prepare(plain, torch.optim.AdamW(plain.parameters(), lr=1e-3),
                                            DataLoader(pairs(), batch_size=8))

    def step() -> None:
        for x, y in data:
            with helper.accumulate(model):
                helper.backward(F.cross_entropy(model(x), y))
                optimizer.step()
                optimizer.zero_grad()

    return Loop({"model": model.train()}, [optimizer], step)


def ddp() -> Loop:
    """Data parallel over one process: its hooks and its reducer are those of several."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    model = DistributedDataParallel(perceptron())
    x, y = torch.randn(16, 8), torch.arange(16) % 3
    loop = supervised(model, lambda model: F.cross_entropy(model(x), y))
    loop.close = distributed.destroy_process_group
    return loop
