"""What tensors are called that no variable holds, but a list, a dict or an object in a variable."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass
from typing import Any, NamedTuple

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad.recording import names as names_module
from minigrad.recording.names import MOST, WIDEST, held_inside


def leaf() -> torch.Tensor:
    return torch.ones(2, requires_grad=True)


def leaves(trace: Trace) -> list[str | None]:
    return [tensor["name"] for tensor in trace.tensors if tensor["requires_grad"] and tensor["is_leaf"]]


class Plain:
    """An object that is no module."""

    def __init__(self) -> None:
        self.w = leaf()

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.w


@dataclass(slots=True)
class Slots:
    """An object without a dict."""

    w: torch.Tensor


class Pair(NamedTuple):
    """A tuple whose places have names."""

    left: torch.Tensor
    right: torch.Tensor


class Jealous:
    """An object that must not be asked for anything."""

    def __init__(self) -> None:
        self.w = leaf()

    @property
    def loud(self) -> torch.Tensor:
        raise AssertionError("a property ran")

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"{name} was asked for")


class Loud(dict[str, Any]):
    """A dict whose methods must not be called."""

    def items(self) -> Any:
        raise AssertionError("items() was called")

    __iter__ = __len__ = __getitem__ = items


def test_leaves_in_containers_and_objects_are_named_as_one_reaches_them():
    weights, params, model = [leaf(), leaf()], {"w": leaf(), 3: leaf()}, Plain()
    slots, pair, nested = Slots(leaf()), Pair(leaf(), leaf()), {"layers": [(leaf(),)]}
    with record() as trace:
        h = model.run(weights[0] * weights[1] * params["w"] * params[3])
        (h * slots.w * pair.left * pair.right * nested["layers"][0][0]).sum().backward()
    assert leaves(trace) == ["weights[0]", "weights[1]", "params['w']", "params[3]", "model.w", "slots.w", "pair.left",
                             "pair.right", "nested['layers'][0][0]"]
    assert "mul(weights[0], weights[1]) makes" in trace.text(0)


def test_leaves_that_only_a_function_knows_are_named_so_too():
    def run() -> None:
        weights, model = [leaf()], Plain()
        model.run(weights[0]).sum().backward()

    with record() as trace:
        run()
    assert leaves(trace) == ["weights[0]", "model.w"]


def test_what_a_variable_holds_has_its_name_unless_that_has_held_others():
    first = leaf()
    weights = [first, leaf(), leaf()]
    total = torch.zeros(2)
    with record() as trace:
        for w in weights:
            total = total + w
        total.sum().backward()
    assert leaves(trace) == ["first", "weights[1]", "weights[2]"]
    assert w is weights[2]


def test_parameters_keep_the_path_of_their_module():
    layers = [nn.Linear(2, 2), nn.Linear(2, 1)]
    net = nn.Sequential(*layers)
    net.scale = leaf()
    kept = [*net.parameters()]
    alone = [nn.Linear(1, 1)]
    with record() as trace:
        alone[0](net(torch.ones(2) * net.scale)).sum().backward()
    assert set(leaves(trace)) == {"net.scale", "net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias",
                                  "alone[0].weight", "alone[0].bias"}
    assert len(kept) == 4
    assert [scope["name"] for scope in trace.scopes] == ["net", "0", "1", "alone[0]"]


def test_no_code_of_the_user_runs_while_names_are_looked_for():
    jealous, loud = Jealous(), Loud(w=leaf())
    w, other = object.__getattribute__(jealous, "w"), dict.__getitem__(loud, "w")
    w.requires_grad_()

    def run() -> None:
        (w * other).sum().backward()

    names = {"jealous": jealous, "loud": loud}
    with record(names=names) as trace:
        run()
    assert leaves(trace) == ["jealous.w", "loud['w']"]


def test_the_search_is_bounded():
    ring: list[Any] = []
    ring.append(ring)
    deep: Any = "found"
    for _ in range(10):
        deep = [deep]
    assert len(list(held_inside([("ring", ring)]))) == 1
    assert "found" not in [value for value, _, _ in held_inside([("deep", deep)])]
    assert len(list(held_inside([("wide", [0] * 10_000)]))) == WIDEST
    many = [[[0] * 50 for _ in range(50)] for _ in range(50)]
    assert len(list(held_inside([("many", many)]))) == MOST


def test_a_finalizer_may_change_a_dict_that_is_looked_into(monkeypatch):
    """The garbage collector may run one while the list of its entries is made."""
    held: dict[str, int] = {"first": 1, "second": 2}

    class Dict:
        calls = 0

        @staticmethod
        def items(owner):
            Dict.calls += 1
            for pair in dict.items(owner):
                if Dict.calls == 1:
                    owner["third"] = 3
                yield pair

    monkeypatch.setattr(names_module, "dict", Dict, raising=False)
    assert names_module.entries(held) == [("first", 1), ("second", 2), ("third", 3)]


def test_what_an_abstract_class_holds_is_found():
    """The attributes of a class are a read-only view, which is no dict."""
    held = object()
    kind = ABCMeta("Settings", (), {"weight": held})
    assert (held, "Settings.weight", False) in held_inside([("Settings", kind)])
