"""Modules that hold modules: mirrors `torch/nn/modules/container.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minigrad.nn.modules.module import Module

__all__ = ["Sequential"]


class Sequential(Module):
    """Modules called one after the other."""

    def __init__(self, *args: Module) -> None:
        super().__init__()
        for index, module in enumerate(args):
            self._modules[str(index)] = module

    def forward(self, input: Any) -> Any:
        """The input sent through all modules."""
        for module in self._modules.values():
            input = module(input) if module is not None else input
        return input

    def __getitem__(self, index: int | slice) -> Module:
        if isinstance(index, slice):
            part = Sequential()
            part._modules.update(list(self._modules.items())[index])
            return part
        found = list(self._modules.values())[index]
        if found is None:
            raise IndexError(f"index {index} is out of range")
        return found

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter([child for child in self._modules.values() if child is not None])
