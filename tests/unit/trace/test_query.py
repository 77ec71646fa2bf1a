"""What a trace says about modules and ops by name."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad.trace.query import NotKept
from minigrad.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.h = nn.ModuleList([nn.Sequential(nn.Linear(10, 10), nn.Tanh()) for _ in range(2)])
        self.fc = nn.Linear(10, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.h:
            x = block(x)
        return self.fc(self.fc(x) * 2)


def recorded(detail: str = "arrays") -> tuple[Net, torch.Tensor, Trace]:
    torch.manual_seed(0)
    net, x = Net(), torch.randn(9, 10, requires_grad=True)
    with record(detail=detail, times=True) as trace:
        net(x).square().sum().backward()
    return net, x, trace


def test_names_and_patterns() -> None:
    trace = recorded()[2]
    assert [each.label for each in trace.modules("h.*")] == ["net.h.0", "net.h.1"]
    assert [each.label for each in trace.modules("net.h.?.1")] == ["net.h.0.1", "net.h.1.1"]
    assert [each.label for each in trace.modules("**.1")] == ["net.h.0.1", "net.h.1", "net.h.1.1"]
    assert [each.label for each in trace.modules("fc:2")] == ["net.fc:2"]
    assert len(trace.modules()) == 9 and trace.modules("h") == []
    assert [each.label for each in trace.ops("**.tanh")] == ["net.h.0.1.tanh", "net.h.1.1.tanh"]
    assert [each.label for each in trace.ops("*")] == ["net.mul", "pow", "sum"]
    assert trace["net.h.0.0"].label == trace["h.0.0"].label == trace["h.0.0:1"].label == "net.h.0.0"
    assert trace["h.0.1.tanh"].label == "net.h.0.1.tanh" and repr(trace["sum"]) == "<op sum>"
    assert repr(trace["fc:2"]) == "<Linear net.fc:2: [9, 10]>"


def test_values_and_gradients() -> None:
    net, x, trace = recorded()
    first, second = trace.modules("fc")
    assert first.output is not None and second.input is not None and second.output is not None
    np.testing.assert_array_equal(second.input.numpy(), first.output.numpy() * 2)
    assert second.output.grad is not None
    np.testing.assert_array_equal(second.output.grad.numpy(), second.output.numpy() * 2)
    weight = second.parameters["weight"]
    assert weight.grad is not None and net.fc.weight.grad is not None and x.grad is not None
    np.testing.assert_array_equal(np.asarray(weight), net.fc.weight.detach().numpy())
    np.testing.assert_array_equal(weight.grad.numpy(), net.fc.weight.grad.numpy())
    given = trace["net"].input
    assert given is not None and given.grad is not None
    np.testing.assert_array_equal(given.grad.numpy(), x.grad.numpy())
    assert given.grad.norm == pytest.approx(float(np.linalg.norm(x.grad.numpy())))


def test_saved_time_and_bytes() -> None:
    trace = recorded()[2]
    act = trace.modules("h.0.1")[0]
    assert act.output is not None
    assert [*act.saved] == ["tanh.result"] and trace.ops("h.0.1.tanh")[0].node == "TanhBackward0"
    np.testing.assert_array_equal(act.saved["tanh.result"].numpy(), act.output.numpy())
    assert act.bytes == 360
    forward, backward = act.seconds
    assert forward is not None and forward > 0 and backward is not None and backward > 0


def test_what_was_not_kept() -> None:
    trace = recorded("values")[2]
    output = trace["h.0"].output
    assert output is not None and output.stats is not None and output.norm == output.stats["norm"]
    with pytest.raises(NotKept, match="only its statistics are in this trace"):
        output.tolist()
    whole = recorded()[2]
    output = Trace.from_json(whole.to_json())["h.0"].output
    assert output is not None
    with pytest.raises(NotKept, match="a file of a trace does not have them"):
        output.numpy()


def test_small_values_are_always_kept() -> None:
    net = nn.Linear(2, 2, dtype=torch.float64)
    with record() as trace:
        out = net(torch.tensor([[1.0, float("inf")]], dtype=torch.float64))
    found = trace["net"].output
    assert found is not None and found.numpy().dtype == np.float64
    np.testing.assert_array_equal(found.numpy(), out.detach().numpy())


def test_names_that_fit_nothing_or_several() -> None:
    trace = recorded()[2]
    with pytest.raises(KeyError, match="no module or op 'h.0.2' ran; did you mean net.h.0.1, net.h.0.0, net.h.0\\?"):
        trace["h.0.2"]
    with pytest.raises(KeyError, match=r"'fc' ran 2 times: ask for one of net.fc:1, net.fc:2, or for all with"):
        trace["fc"]
    with pytest.raises(TypeError, match="not by int: its events are in trace.events"):
        trace[0]  # type: ignore[index] # what is refused
    with record() as empty:
        pass
    with pytest.raises(KeyError, match="no module or op 'fc' ran: nothing was recorded"):
        empty["fc"]


class Outer(nn.Module):
    """A model inside another, as GPT2Model is in GPT2LMHeadModel."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.scale = Net(), nn.Parameter(torch.ones(10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * self.scale


@pytest.fixture(scope="module")
def nested() -> Trace:
    model = Outer()
    with record() as trace:
        model(torch.ones(2, 10)).sum().backward()
    return trace


@pytest.mark.parametrize(("name", "label"), [
    ("h.0", "model.inner.h.0"), ("h.1.0", "model.inner.h.1.0"), ("h.1.1.tanh", "model.inner.h.1.1.tanh"),
    ("fc:2", "model.inner.fc:2"), ("inner.h.0", "model.inner.h.0"), ("h.0.1.?anh", "model.inner.h.0.1.tanh")])
def test_the_only_name_that_ends_so(nested: Trace, name: str, label: str) -> None:
    assert nested[name].label == label


@pytest.mark.parametrize(("name", "text"), [
    ("fc", "; did you mean model.inner.fc:1, model.inner.fc:2? For all, trace.modules('**.fc')"),
    ("fc:3", "; did you mean model.inner.fc:1, model.inner.fc:2? For all, trace.modules('**.fc')"),
    ("h", "; did you mean model.inner.h.0, model.inner.h.1? For all, trace.modules('**.h.*')"),
    ("h.*", "; did you mean model.inner.h.0, model.inner.h.1? For all, trace.modules('**.h.*')"),
    ("tanh", "; did you mean model.inner.h.0.1.tanh, model.inner.h.1.1.tanh? For all, trace.ops('**.tanh')"),
    ("model.h.0", "; did you mean model.inner.h.0?"),
    ("scale", "; did you mean trace['model'].parameters['scale']?"),
    ("model.scale", "; did you mean trace['model'].parameters['scale']?"),
    ("h.0.0.bias", "; did you mean trace['model.inner.h.0.0'].parameters['bias']?"),
    ("fc.weight", "; did you mean trace['model.inner.fc:1'].parameters['weight']?"),
    ("iner", "; did you mean model.inner, "),
    ("xyz", "; the trace has model, model.inner, model.inner.h.0, model.inner.h.0.0, model.inner.h.0.1, "
     "model.inner.h.1, model.inner.h.1.0, model.inner.h.1.1, and "),
    ("x?.*", ": `*` is anything but a dot, `**` anything, `?` one character; the trace has model, "),
])
def test_what_a_name_may_have_meant(nested: Trace, name: str, text: str) -> None:
    with pytest.raises(KeyError) as caught:
        nested[name]
    assert caught.value.args[0].startswith(f"no module or op {name!r} ran{text}")


def test_a_trace_that_grows_is_asked_anew() -> None:
    net = nn.Linear(2, 2)
    with record() as trace:
        net(torch.ones(2))
        assert len(trace.modules()) == 1
        net(torch.ones(2))
        assert len(trace.modules()) == 2


def test_a_recomputation_is_no_call() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with record() as trace:
        checkpoint(net, torch.ones(1, 2, requires_grad=True), use_reentrant=False).sum().backward()
    assert [each.label for each in trace.modules()] == ["net", "net.0", "net.1"]


def test_gradients_are_those_of_the_pass_that_follows() -> None:
    net = nn.Linear(1, 1, bias=False)
    with record() as trace:
        for factor in (2.0, 3.0):
            net.zero_grad()
            (net(torch.ones(1)) * factor).sum().backward()
    found = [(each.output.grad.tolist(), each.parameters["weight"].grad.tolist())  # type: ignore[union-attr] # they have one
             for each in trace.modules("net")]
    assert found == [([2.0], [2.0]), ([3.0], [3.0])]


def test_there_is_no_such_detail() -> None:
    with pytest.raises(ValueError, match="there is no detail 'all': it is one of 'values', 'arrays'"):
        record(detail="all")


class TestAModuleThatRaises:
    def net(self) -> nn.Module:
        return nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(9, 3)))

    def test_is_known_with_what_met_there(self) -> None:
        net = self.net()
        with pytest.raises(RuntimeError, match="cannot be multiplied"), record() as trace:
            net(torch.ones(2, 4))
        failed = trace.failed()
        assert failed is not None and failed.label == "net.1.1"
        assert failed.error == ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x8 and 9x3); this Linear "
                                "was given [2, 8] and has weight [3, 9], bias [3]")
        assert [call.label for call in trace.modules() if call.error] == ["net.1.1"]
        assert Trace.from_json(trace.to_json()) == trace

    def test_the_first_one(self) -> None:
        net = self.net()
        with pytest.raises(RuntimeError), record() as trace:
            net(torch.ones(2, 5))
        failed = trace.failed()
        assert failed is not None and failed.label == "net.0" and "was given [2, 5] and has weight [8, 4]" in (
            failed.error or "")

    def test_one_whose_error_was_caught_is_not_meant(self) -> None:
        net = self.net()
        with pytest.raises(ArithmeticError), record() as trace:
            with pytest.raises(RuntimeError):
                net(torch.ones(2, 4))
            torch.ones(2) * 2
            raise ArithmeticError
        assert trace.failed() is None

    def test_a_recording_without_an_error(self) -> None:
        assert recorded()[2].failed() is None
