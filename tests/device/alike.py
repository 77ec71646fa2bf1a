"""One script on two devices: what it gives on the CPU, and what it gives on the stand-in."""

from __future__ import annotations

from typing import Any

import numpy as np

import minigrad
from tests.parity.compare import described, graph_of, numbers, outputs_of

__all__ = ["outcome", "same"]


def leaf(device: str) -> Any:
    """A leaf of shape (4, 3) that requires grad."""
    values = np.linspace(-1.5, 1.7, 12, dtype=np.float32).reshape(4, 3)
    return minigrad.from_numpy(values).to(device).requires_grad_()


def facts(tensor: Any, x: Any) -> Any:
    """What a result says of itself, of its memory and of its graph."""
    if not hasattr(tensor, "grad_fn"):
        return tensor
    base = tensor._base
    return {"described": described(tensor), "graph": graph_of(tensor, [x]), "version": tensor._version,
            "base": base is not None and (base is x, graph_of(base, [x])), "stride": tensor.stride(),
            "offset": tensor.storage_offset(), "contiguous": tensor.is_contiguous(),
            "begins": tensor.numel() and tensor.data_ptr() - tensor.untyped_storage().data_ptr(),
            "bytes": tensor.untyped_storage().nbytes(), "values": numbers(tensor).tolist()}


def outcome(script: Any, device: str) -> Any:
    """The facts about what a script makes of a leaf, and the leaf's gradient, to the second order; or its error."""
    with minigrad.device(device):
        x = leaf(device)
        try:
            results = outputs_of(script(x))
            tensors = [v for v in results if hasattr(v, "grad_fn")]
            assert all(v.device.type == device for v in tensors)
            found: list[Any] = [facts(v, x) for v in results]
            wanted = [v for v in tensors if v.requires_grad]
            if wanted:
                total = sum([(v * v * v).sum() for v in wanted])
                (g,) = minigrad.autograd.grad(total, x, create_graph=True, allow_unused=True)
                found += [None if g is None else numbers(g).tolist()]
                if g is not None and g.requires_grad:
                    (g,) = minigrad.autograd.grad((g * g).sum(), x, allow_unused=True)
                    found += [None if g is None else numbers(g).tolist()]
                assert g is None or g.device.type == device
            return found
        except (RuntimeError, IndexError) as error:
            return type(error), str(error).replace("torch.cuda.", "torch.").replace(device.upper(), "")


def same(script: Any) -> Any:
    """A script gives the same on both devices; what that is."""
    here, there = outcome(script, "cpu"), outcome(script, "cuda")
    close(here, there)
    return there


def close(a: Any, b: Any) -> None:
    """Two outcomes are equal, numbers up to rounding."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name, value in a.items():
            close(value, b[name])
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        assert len(a) == len(b), (a, b)
        for one, other in zip(a, b, strict=True):
            close(one, other)
    elif isinstance(a, float):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5)
    else:
        assert a == b
