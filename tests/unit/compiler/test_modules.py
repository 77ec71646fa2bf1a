"""A compiled module, or function, whose result keeps its graph: the loss and the backward pass stand outside."""

from __future__ import annotations

import copy
import gc
import warnings
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn, optim
from minigrad.compiler import GraphBreak, capture, compiled
from minigrad.nn import functional as F
from minigrad.utils.checkpoint import checkpoint
from tests.unit.compiler.steps import Made, compare, loops_in_python
from tests.unit.compiler.test_equal import Attention, Checkpointed, Recurrent, Tied, Words, batch, images, mlp, words


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                    nn.Linear(12, 5))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Several(nn.Module):
    """Results of all kinds: alone and in a tuple, views of results, of inputs and of parameters, some without grad."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(6, 5), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        hidden = self.one(x)
        return {"hidden": hidden, "flat": hidden.view(-1), "rest": (self.two(x).exp(), hidden.detach() * 2, hidden),
                "input": x, "turned": x.t(), "weight": self.one.weight, "rows": self.two.weight[1:3],
                "largest": hidden.argmax(1), "apart": self.one.bias.detach()}


BUILDS: dict[str, tuple[Callable[[], Any], Callable[[int], Any]]] = {
    "mlp": (mlp(), batch), "dropout": (mlp(lambda: nn.Dropout(0.5)), batch), "batch norm": (Normed, images),
    "batch norm, evaluating": (lambda: Normed().eval(), images), "lstm": (Recurrent, batch),
    "embedding": (Words, words), "transformer": (Attention, batch), "tied weights": (Tied, batch),
    "checkpoint": (Checkpointed, batch), "layer norm": (mlp(lambda: nn.LayerNorm(16), nn.GELU), batch)}


def outside(name: str, accumulate: int = 1) -> Callable[[], Made]:
    """A step whose model alone is compiled; gradients of several calls may be added up."""
    def make() -> Made:
        build, inputs = BUILDS[name]
        model = build()
        optimizer, calls = optim.SGD(model.parameters(), lr=0.05), []

        def step(called: Any, x: Any, y: Any) -> Any:
            calls.append(1)
            loss = F.cross_entropy(called(x), y)
            loss.backward()
            if len(calls) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=accumulate == 1)
            return loss

        return Made(step, inputs, [*model.parameters(), *model.buffers()], module=model)
    return make


@pytest.fixture
def python_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs what numba would compile."""
    monkeypatch.setattr(capture, "optional", lambda name, extra: SimpleNamespace(functions_of=loops_in_python))
    monkeypatch.setattr(compiled, "optional", lambda name, extra: None)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BUILDS)
def test_modules_with_the_loss_outside(name: str, dtype: str) -> None:
    found = compare(outside(name), steps=20, dtype=dtype)
    assert "def forward(" in found.source and "def backward(" in found.source


@pytest.mark.parametrize("name", BUILDS)
def test_modules_in_loops(name: str, python_loops: None) -> None:
    compare(outside(name), steps=4, backend="numba", tolerance=1e-8)


def test_modules_with_numba() -> None:
    pytest.importorskip("numba")
    compare(outside("mlp"), steps=5, backend="numba")


def test_gradients_are_added_up_over_calls() -> None:
    compare(outside("mlp", accumulate=3), steps=9)


def used(results: Any) -> Any:
    """A loss of all results that require grad."""
    flat: list[Any] = []
    capture.leaves_of(results, flat, [])
    return sum((k + 1) * t.square().mean() for k, t in enumerate(flat) if t.requires_grad), flat


@pytest.mark.parametrize("kind", ["plain", "leaf", "result"])
def test_results_and_inputs_that_require_grad(kind: str) -> None:
    def left(wrap: Callable[[Any], Any]) -> Any:
        torch.manual_seed(0)
        model = Several()
        called, found = wrap(model), []
        for _ in range(5):
            leaf = torch.randn(4, 6, requires_grad=kind != "plain")
            x = leaf * 2 if kind == "result" else leaf
            loss, flat = used(called(x))
            loss.backward()
            found.append([(t.tolist(), t.requires_grad, t._is_view(), t.data_ptr() == x.data_ptr()) for t in flat])
            found.append([None if t.grad is None else t.grad.tolist() for t in (leaf, *model.parameters())])
        return found, called

    found, called = left(lambda model: torch.compile(model, backend="numpy", fullgraph=True))
    expected, _ = left(lambda model: model)
    for a, b in zip(found, expected, strict=True):
        for one, other in zip(a, b, strict=True):
            if isinstance(one, tuple):
                assert one[1:] == other[1:]
            one, other = (each[0] if isinstance(each, tuple) else each for each in (one, other))
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, 1e-4, 1e-5)
    assert called.explain().variants == 1


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


def test_modes_are_guards() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    called, x = torch.compile(model, backend="numpy", fullgraph=True), torch.randn(6, 3)
    for _ in range(3):
        assert called(x).requires_grad
    called.eval()
    expected = model(x)
    for _ in range(2):
        assert torch.allclose(called(x), expected)
    with torch.no_grad():
        for _ in range(2):
            assert not called(x).requires_grad
    assert "def backward(" not in called.source
    called.train()
    assert called(x).requires_grad and called.explain().variants == 3


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


def test_the_trace_is_undone_before_its_program_runs() -> None:
    """Buffers, their versions and the random numbers of the traced call are those of one call."""
    torch.manual_seed(0)
    model, twin = (nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)) for _ in range(2))
    called = torch.compile(model, backend="numpy")
    for i in range(4):
        x = torch.randn(6, 3)
        torch.manual_seed(i)
        found, after = called(x), torch.rand(1)
        torch.manual_seed(i)
        assert torch.allclose(found, twin(x)) and torch.equal(after, torch.rand(1))
        for a, b in zip(model.buffers(), twin.buffers(), strict=True):
            assert torch.allclose(a, b) and a._version == b._version


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


GENERATOR = torch.Generator()
EAGER = {"in_place": (in_place, "an input that gradients go through is changed in place"),
         "passes_inside": (passes_inside, "a result keeps its graph, and a backward pass runs inside"),
         "own_generator": (own_generator, "numbers are drawn from a generator of its own"),
         "reentrant": (reentrant, "its backward pass cannot be traced: "),
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
    assert all("test_modules.py:" in line for line in lines if "#" in line)
    text = "the result keeps its graph: 2 statements run in forward, 2 in backward, 2 values are saved for it"
    assert text in function.why and text in str(torch.compile.explain(function))
    record = function.inspection()
    assert len(record["head"]) >= 2 and len(record["steps"][-1]["statements"]) == 4


def test_the_wrapper_is_a_module() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    called = torch.compile(model, backend="numpy")
    assert isinstance(called, nn.Module) and called._orig_mod is model and called is not model
    assert next(n for n, _ in called.named_parameters()) == "_orig_mod.0.weight"
    assert list(called.state_dict())[-1] == "_orig_mod.1.num_batches_tracked"
    assert repr(called).startswith("OptimizedModule(\n  (_orig_mod): Sequential(") and len(called) == 2
    called.mark = 3
    assert model.mark == called.mark == 3
    del called.mark
    assert not hasattr(model, "mark") and not hasattr(called, "mark")
    twin = copy.deepcopy(called)
    twin.load_state_dict(called.state_dict())
    assert twin._orig_mod is not model and torch.equal(twin(torch.ones(2, 2)), called(torch.ones(2, 2)))
    with pytest.raises(TypeError, match="Linear does not support len()"):
        len(torch.compile(nn.Linear(1, 1)))


def test_a_compiled_module_inside_of_a_compiled_step() -> None:
    torch.manual_seed(0)
    model = torch.compile(nn.Linear(2, 2), backend="numpy")
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="numpy", fullgraph=True)
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses = [step(torch.ones(1, 2)).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and step.explain().variants == 1
