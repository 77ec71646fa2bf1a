"""Modules with hooks that note what comes by, for the tests of hooks."""

from __future__ import annotations

import importlib


def twice(m, *, forward=None):
    """A module that doubles its input, or does what `forward` says."""

    class Twice(m.nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] * 2 if forward is None else forward(*args, **kwargs)

    return Twice()


def everywhere(m):
    """Where the hooks of all modules are registered."""
    return importlib.import_module(f"{m.__name__}.nn.modules.module")


def leaf(m, *values):
    return m.tensor(values or (1.0, 2.0), requires_grad=True)


class Log(list):
    """What was called, in its order."""

    def hook(self, name, result=None):
        """A hook that notes its name, and what it was given beside the module."""
        def noted(module, *given):
            self.append((name, *given))
            return result
        return noted
