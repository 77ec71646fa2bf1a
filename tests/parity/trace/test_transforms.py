"""What the PyTorch reader shows of PyTorch's transforms and of forward mode: frames, and tangents where it can."""

from collections.abc import Callable
from typing import Any

import pytest

from minigrad.recorder import Trace

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad

from minigrad_widgets import torch_reader
from minigrad_widgets.torch_reader.private import PRIVATE

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:`torch.jit.script`")]  # its own, of two kinds


def scopes(run: Callable[[], Any]) -> list[tuple[str, Any]]:
    """The frames of a recording, each with the one around it."""
    with torch_reader.record() as trace:
        run()
    trace = Trace.from_json(trace.to_json())
    return [(each["name"], each["parent"]) for each in trace.scopes]


def loss(w: Any, x: Any) -> Any:
    return (x @ w).square().sum()


def test_transforms_are_frames() -> None:
    w, xs, func = torch.ones(2), torch.ones(5, 2), torch.func
    assert scopes(lambda: func.vmap(func.grad(loss), in_dims=(None, 0))(w, xs)) == [("vmap ×5", None), ("grad", 0)]
    assert scopes(lambda: func.vjp(loss, w, xs)[1](torch.ones(()))) == [("vjp", None)]
    assert scopes(lambda: func.vmap(torch.sin, chunk_size=3)(xs)) == [("vmap ×3", None), ("vmap ×2", None)]
    hessian = [name for name, _ in scopes(lambda: func.hessian(loss)(w, xs))]
    assert hessian[0] == "vmap ×2" and {"jvp", "vjp"} <= set(hessian)


def test_a_transform_that_raises_ends_its_frame() -> None:
    def run() -> None:
        with pytest.raises(IndexError):
            torch.func.vmap(lambda x: x[5])(torch.ones(2, 3))
        torch.func.grad(torch.sum)(torch.ones(2))

    assert scopes(run) == [("vmap ×2", None), ("grad", None)]


def test_tangents_of_a_dual_level_are_noted() -> None:
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    with torch_reader.record() as trace:
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(w, torch.tensor([1.0, 2.0]))
            y = (dual * dual).sum()
        y.backward()
    found = {trace.nodes[each["node"]]["name"]: trace.values[trace.tensors[each["tangent"]]["value"]]["data"]
             for each in trace.tensors if "tangent" in each}
    assert found == {"ViewBackward0": [1.0, 2.0], "MulBackward0": [6.0, 16.0], "SumBackward0": [22.0]}
    assert [note["where"] for note in trace.notes] == ["torch.autograd.forward_ad"]
    assert w.grad.tolist() == [6.0, 8.0]


def test_it_says_where_pytorch_hides_tangents() -> None:
    with torch_reader.record() as trace:
        torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))
    assert not any("tangent" in each for each in trace.tensors)
    assert "the tangents are not shown" in trace.text()


def test_without_the_private_names_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    PRIVATE.ask()
    monkeypatch.setitem(PRIVATE.__dict__, "transforms", {})
    monkeypatch.setitem(PRIVATE.__dict__, "tangent", None)
    assert scopes(lambda: torch.func.grad(torch.sum)(torch.ones(2))) == []
    with torch_reader.record() as trace, forward_ad.dual_level():
        forward_ad.make_dual(torch.ones(2), torch.ones(2)).sin()
    assert [each["op"] for each in trace.events][-1] == "mul" and not trace.notes
