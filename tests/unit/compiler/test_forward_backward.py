"""Forward and backward programs: what is saved between them, what they are to the graph, and what has none of them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from minigrad.compiler import GraphBreak
from minigrad.utils.checkpoint import checkpoint


def exponential() -> tuple[Any, Any]:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @torch.compile(backend="numpy", fullgraph=True)
    def function(x: Any) -> Any:
        return torch.exp(x * w)

    for _ in range(3):
        function(torch.ones(3))
    return function, w


def test_calls_that_wait_for_backward_do_not_share_memory() -> None:
    function, w = exponential()
    inputs = [torch.tensor([0.1, 0.2, 0.3]) * i for i in range(5)]
    results = [function(x) for x in inputs]
    for x, y in reversed(list(zip(inputs, results, strict=True))):
        w.grad = None
        y.sum().backward()
        expected = (x * torch.exp(x * w)).detach()
        assert torch.allclose(y, torch.exp(x * w)) and torch.allclose(w.grad, expected)


def test_retain_graph_and_a_second_backward() -> None:
    function, w = exponential()
    loss = function(torch.ones(3)).sum()
    for _ in range(2):
        loss.backward(retain_graph=True)
    loss.backward()
    np.testing.assert_allclose(w.grad.numpy(), 3 * np.exp([1.0, 2.0, 3.0]), 1e-6)
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()


def test_what_is_saved_is_let_go_after_backward() -> None:
    function, _ = exponential()
    y = function(torch.ones(3))
    node = y.grad_fn
    saved = [weakref.ref(t.array) for t in node.saved_tensors if t.shape == (3,) and not t.requires_grad]
    assert len(saved) == 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        _ = node.saved_tensors
    del y
    gc.collect()
    assert [each() for each in saved] == [None, None]


def test_the_node_and_its_edges() -> None:
    function, w = exponential()
    node = function(torch.ones(3)).grad_fn
    assert node.name() == "CompiledFunctionBackward"
    assert [edge.variable for edge, _ in node.next_functions] == [w]


@pytest.mark.parametrize("changed", ["parameter", "input", "result"])
def test_changes_of_what_is_saved_are_seen(changed: str) -> None:
    function, w = exponential()
    x = torch.ones(3)
    y = function(x)
    with torch.no_grad():
        {"parameter": w, "input": x, "result": y}[changed].mul_(2)
    if changed == "parameter":  # exp saves its result, and the product needs `x` alone: eager accepts it, too
        y.sum().backward()
        return
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        y.sum().backward()


def test_the_copy_of_an_input_may_outlive_the_input() -> None:
    """Eager backward reads the copy: the program may not read the input in its place."""
    w = torch.ones(3, requires_grad=True)
    function = torch.compile(lambda x: x.clone() * w, backend="numpy", fullgraph=True)
    for _ in range(4):
        x = torch.tensor([1.0, 2.0, 3.0])
        w.grad = None
        y = function(x)
        x.zero_()
        y.sum().backward()
        assert w.grad.tolist() == [1.0, 2.0, 3.0]


def test_double_backward_raises_what_pytorch_says() -> None:
    w = torch.ones(3, requires_grad=True)
    function = torch.compile(lambda x: (x * w).pow(3), backend="numpy", fullgraph=True)
    for _ in range(2):
        function(torch.ones(3))
    grad, = torch.autograd.grad(function(torch.ones(3)).sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match="torch.compile with aot_autograd does not currently support double backwa"):
        grad.sum().backward()


def test_results_without_a_gradient_give_zeros() -> None:
    model = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    function = torch.compile(lambda x: [layer(x) for layer in model], backend="numpy", fullgraph=True)
    for _ in range(3):
        one, _ = function(torch.ones(1, 2))
    one.sum().backward()
    assert model[0].bias.grad.tolist() == [1.0, 1.0] and model[1].bias.grad.tolist() == [0.0, 0.0]


def test_hooks_see_the_gradients() -> None:
    function, w = exponential()
    seen: list[Any] = []
    w.register_hook(lambda g: g * 10)
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    for _ in range(3):
        w.grad = None
        y = function(torch.ones(3))
        y.register_hook(lambda g: g * 2)
        y.sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 20 * np.exp([1.0, 2.0, 3.0]), 1e-6)
    assert len(seen) == 3  # none is called while backward is traced


def test_a_cell_whose_input_is_its_own_result() -> None:
    """Gradients go through earlier calls, and to the weights from each of them once."""
    def left(wrap: Callable[[Any], Any]) -> Any:
        torch.manual_seed(0)
        cell = nn.RNNCell(2, 3)
        called = wrap(cell)
        for _ in range(3):
            hidden = torch.zeros(1, 3)
            for i in range(4):
                hidden = called(torch.full((1, 2), float(i)), hidden)
            hidden.sum().backward()
        return [p.grad.numpy() for p in cell.parameters()]

    for a, b in zip(left(lambda cell: torch.compile(cell, backend="numpy", fullgraph=True)), left(lambda cell: cell),
                    strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-5)


def test_a_view_whose_base_has_changed() -> None:
    """Its node is made anew when somebody asks for it, which is no change of the function's."""
    function, w = exponential()
    for _ in range(3):
        leaf = torch.ones(6, requires_grad=True)
        base = leaf * 0.5
        part = base[:3]
        base.mul_(2)
        w.grad = None
        function(part).sum().backward()
        np.testing.assert_allclose(leaf.grad.tolist(), [*[i * np.exp(i) for i in (1, 2, 3)], 0, 0, 0], 1e-5)


# what runs eagerly
def in_place(x: Any, w: Any) -> Any:
    return x.mul_(w).sum()


def passes_inside(x: Any, w: Any) -> Any:
    w.grad = None
    (x.detach() * w).sum().backward()
    return x * w


def own_generator(x: Any, w: Any) -> Any:
    return x * w * torch.rand(3, generator=GENERATOR)


def reentrant(x: Any, w: Any) -> Any:
    return checkpoint(lambda x: torch.exp(x * w), x, use_reentrant=True)


def leaf_inside(x: Any, w: Any) -> Any:
    return x * w, torch.ones(3, requires_grad=True)


def hooks_an_input(x: Any, w: Any) -> Any:
    x.register_hook(lambda grad: grad * 2)
    return x * w


def keeps_a_gradient(x: Any, w: Any) -> Any:
    result = x * w
    result.retain_grad()
    return result


GENERATOR = torch.Generator()
EAGER = {"in_place": (in_place, "an input that gradients go through is changed in place"),
         "passes_inside": (passes_inside, "a result keeps its graph, and a backward pass runs inside"),
         "own_generator": (own_generator, "numbers are drawn from a generator of its own"),
         "reentrant": (reentrant, "its backward pass cannot be traced: "),
         "hooks_an_input": (hooks_an_input, "hooks or attributes of an input change"),
         "keeps_a_gradient": (keeps_a_gradient, "a result has attributes, or keeps its gradient"),
         "leaf_inside": (leaf_inside, "a result is a leaf that the function makes")}


@pytest.mark.parametrize("name", EAGER)
def test_what_runs_eagerly(name: str) -> None:
    function, reason = EAGER[name]

    def left(called: Any) -> Any:
        GENERATOR.manual_seed(1)
        w, found = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), []
        for i in range(4):
            leaf = torch.full((3,), 0.1 * i, requires_grad=True)
            result = called(leaf * 1, w)
            (result[0] if isinstance(result, tuple) else result).sum().backward()
            found.append((leaf.grad.tolist(), w.grad.tolist()))
        return found

    with pytest.warns(UserWarning, match=reason) as caught:
        found = left(torch.compile(function, backend="numpy"))
    assert len(caught) == 1 and found == left(function)
    strict = torch.compile(function, backend="numpy", fullgraph=True)
    with pytest.raises(GraphBreak, match=reason):
        left(strict)


def test_a_graph_that_no_input_is_part_of() -> None:
    function = torch.compile(lambda x: x * torch.ones(3, requires_grad=True), backend="numpy")
    with pytest.warns(UserWarning, match="no gradient of a result that requires grad reaches an input"):
        for _ in range(4):
            function(torch.ones(3)).sum().backward()


def test_a_break_leaves_a_graph_of_numpys_arrays() -> None:
    """What nodes keep inside of tuples, and the devices that they name, are the trace's while it lasts."""
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.lstm, self.layer = nn.LayerNorm(6), nn.LSTM(6, 3), nn.Linear(6, 2)

        def forward(self, x: Any) -> Any:
            x = self.norm(x)
            one, _ = x.chunk(2, 1)  # nobody needs the other: its gradient is made of zeros
            saved = checkpoint(self.layer, x, use_reentrant=False).sum() + one.sum()
            return self.lstm(x[None])[0].sum() + saved * (1 + 0 * x.sum().item())

    def left(wrap: Callable[[Any], Any]) -> Any:
        torch.manual_seed(0)
        model = Reads()
        called = wrap(model)
        for i in range(3):
            called(torch.full((4, 6), 0.1 * i)).backward()
        return [p.grad for p in model.parameters()]

    with pytest.warns(UserWarning, match="a number is read from a tensor"):
        found = left(torch.compile)
    for a, b in zip(found, left(lambda model: model), strict=True):
        assert type(a.array) is np.ndarray and torch.allclose(a, b)


def test_a_module_that_keeps_a_tensor() -> None:
    """The call that was traced gives the same result as the others, which are eager."""
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.kept = nn.Linear(2, 2), []

        def forward(self, x: Any) -> Any:
            hidden = self.layer(x)
            self.last = hidden.square()
            return hidden

    def left(wrap: Callable[[Any], Any]) -> Any:
        torch.manual_seed(0)
        model = Keeps()
        called, found = wrap(model), []
        for i in range(6):
            (called(torch.full((1, 2), float(i))).sum() + model.last.sum()).backward()
            found.append([*[p.grad.clone() for p in model.parameters()], model.last.detach()])
        return found

    expected = left(lambda model: model)
    with pytest.warns(UserWarning, match="kept outside|is the same object"):
        found = left(torch.compile)
    for a, b in zip(found, expected, strict=True):
        assert all(torch.allclose(x, y) for x, y in zip(a, b, strict=True))


# what is shown
def test_both_programs_are_shown() -> None:
    function, _ = exponential()
    lines = function.source.splitlines()
    assert lines[0].startswith("def forward(x, ") and any(line.startswith("def backward(") for line in lines)
    assert all("test_forward_backward.py:" in line for line in lines if "#" in line)
    text = "the result keeps its graph: 2 statements run in forward, 2 in backward, 2 values are saved for it"
    assert text in function.why and text in str(torch.compile.explain(function))
    record = function.inspection()
    assert len(record["head"]) >= 2 and len(record["steps"][-1]["statements"]) == 4
