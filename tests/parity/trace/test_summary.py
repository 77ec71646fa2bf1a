"""A trace of a PyTorch model summed up, against what hooks on the model see."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from minigrad_widgets.torch_reader import record


def test_the_rows_are_what_hooks_see() -> None:
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2)
    shapes: dict[str, tuple[int, ...]] = {}
    gradients: dict[str, float] = {}

    def seen(name: str, output: torch.Tensor) -> None:
        shapes[name] = tuple(output.shape)
        output.register_hook(lambda gradient: gradients.update({name: float(gradient.norm())}))

    for name, module in model.named_modules():
        if not isinstance(module, (nn.MultiheadAttention, nn.ModuleList, nn.Dropout)) and not name.endswith("out_proj"):
            path = f"model.{name}" if name else "model"
            module.register_forward_hook(lambda module, inputs, output, path=path: seen(path, output))
    with record() as trace:
        model(torch.randn(2, 3, 8)).square().mean().backward()
    rows = {row.name: row for row in trace.summary()}
    assert len(shapes) == 11 and set(shapes) <= set(rows)
    assert {name: rows[name].output for name in shapes} == shapes
    for name, norm in gradients.items():
        found = rows[name].gradient
        assert isinstance(found, float) and abs(found - norm) <= 1e-5 * norm
    for name, module in model.named_modules():
        path = f"model.{name}" if name else "model"
        if path in rows:
            assert rows[path].parameters == sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("make", [
    lambda: nn.ConvTranspose2d(4, 6, 3, stride=2),
    lambda: nn.ConvTranspose2d(4, 4, 3, stride=2, groups=2),
    lambda: nn.Conv2d(4, 6, 3),
    lambda: nn.Conv2d(4, 4, 3, padding=1, groups=4),
    lambda: nn.GRU(8, 5, batch_first=True),
    lambda: nn.RNN(8, 6, bidirectional=True),
    lambda: nn.MultiheadAttention(8, 2),
    lambda: nn.Linear(8, 3),
], ids=["transposed", "transposed in groups", "convolution", "depthwise", "GRU", "RNN", "attention", "linear"])
def test_products_count_as_in_pytorchs_counter(make: Callable[[], nn.Module]) -> None:
    """PyTorch counts only products; here the other ops add one for each of their entries."""
    model = make()
    x = torch.randn(2, 4, 8, 8) if isinstance(model, (nn.Conv2d, nn.ConvTranspose2d)) else torch.randn(4, 6, 8)
    inputs = [x] * 3 if isinstance(model, nn.MultiheadAttention) else [x]
    with record(detail="modules") as trace:
        result = model(*inputs)
        (result if isinstance(result, torch.Tensor) else result[0]).sum().backward()
    products = ("Convolution", "Addmm", "Mm", "Bmm", "ScaledDotProduct")
    rows = trace.rows([([node], None) for node in range(len(trace.nodes))])
    assert trace.node_rows() == [(row.saved, row.flops, row.gradient) for row in rows]
    counted = sum(row.flops for node, row in zip(trace.nodes, rows, strict=True) if node["name"].startswith(products))
    with FlopCounterMode(display=False) as counter:
        model(*inputs)
    assert counted == counter.get_total_flops() > 0
