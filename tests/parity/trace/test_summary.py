"""A trace of a PyTorch model summed up, against what hooks on the model see."""

from __future__ import annotations

import torch
from torch import nn

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
