"""Twenty public models and loops, recorded at each level of detail: nothing differs from the plain run, and the trace
tells of each op the module and the line that a second observer saw, and of each parameter its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.groups import has_models, require

require("models", has_models(), "the extra `models` is not installed, or PyTorch is missing")

from minigrad.recorder import Trace
from minigrad_widgets.torch_reader import record
from minigrad_widgets.torch_reader.previews import DETAILS
from tests.models.observed import Ran, Witness, plain, state_of, witnessed
from tests.models.zoo import ZOO, loop_of

# What the recorder does not tell of: what makes a tensor from none, and what PyTorch does as part of another op.
UNTOLD = frozenset(plain(name) for name in (
    "detach", "empty_like", "full_like", "lift_fresh", "_local_scalar_dense", "new_empty", "new_full", "new_ones",
    "new_zeros", "ones_like", "rand_like", "randn_like", "set_", "zeros_like"))


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("name", ZOO)
def test_a_recording(name: str, detail: str) -> None:
    with loop_of(name) as loop:
        loop.step()
        loop.step()
        expected = state_of(loop)
    with loop_of(name) as loop:
        loop.step()
        with witnessed() as witness:
            trace, numbers = recorded(loop.step, detail, [(f"{root}.{path}", p) for root, model in loop.models.items()
                                                          for path, p in model.named_parameters()].__iter__)
        after = state_of(loop)
        assert trace.notes == []
        assert {key: after[key] for key in expected if after[key] != expected[key]} == {}
        assert after.keys() == expected.keys()
        told_parameters(trace, numbers)
        told_ops(trace, witness, {id(module): path for root, model in loop.models.items()
                                  for path, module in model.named_modules(prefix=root)})


@pytest.mark.parametrize("name", ["wte", "h.0", "h.1.attn", "ln_f"])
def test_gpt2_is_asked_by_the_names_of_its_inner_model(name: str) -> None:
    with loop_of("gpt2") as loop, record() as trace:
        loop.step()
    assert trace[name].name.endswith(f".transformer.{name}")


def recorded(step: Callable[[], Any], detail: str, parameters: Callable[[], Iterator[tuple[str, Any]]]
             ) -> tuple[Trace, dict[int, str]]:
    """Record a step; return the names of the parameters, by their numbers. No variable here holds a model or a tensor:
    the recorder would call it by that name."""
    recorder = record(detail=detail)
    with recorder as trace:
        step()
        seen = recorder._observer.seen
        numbers = {number: name for name, p in parameters() if (number := seen.tensor_number(p)) is not None}
        del seen
    return trace, numbers


def told_parameters(trace: Trace, numbers: dict[int, str]) -> None:
    """Each parameter that the step used is in the trace, under the name that `named_parameters()` gives it."""
    assert numbers and {n: trace.tensors[n]["name"] for n in numbers} == numbers
    assert all(trace.tensors[n]["parameter"] for n in numbers)


def told_ops(trace: Trace, witness: Witness, paths: dict[int, str]) -> None:
    """The trace has the ops that the witness saw, in their order, with their modules and lines."""
    waiting = iter(witness.ran)
    for event in trace.events:
        if event["kind"] == "forward":
            ran = next_of(waiting, event)
            place = trace.files[event["file"]]["name"], event["line"]
            assert place == (ran.file.rpartition("/")[2], ran.line), event
            scope = event.get("scope") if event["node"] is None else trace.nodes[event["node"]].get("scope")
            assert path_of(trace, scope) == path_by(paths, ran.modules), (event, ran)
    assert [ran for ran in waiting if not untold(ran)] == []


def next_of(waiting: Any, event: dict[str, Any]) -> Ran:
    """The op that an event tells of; those before it must be ones that the recorder leaves out."""
    for ran in waiting:
        if ran.name == plain(event["op"]) and not ran.own:
            return ran
        assert untold(ran), (event, ran)
    raise AssertionError(f"the witness saw no {event['op']}")


def untold(ran: Ran) -> bool:
    """Whether the recorder leaves an op out."""
    return ran.bare or ran.own or ran.name in UNTOLD


def path_of(trace: Trace, scope: int | None) -> str | None:
    """The path of a call of a module: the names of the calls around it, the variable first."""
    if scope is None:
        return None
    record = trace.scopes[scope]
    above = path_of(trace, record["parent"])
    return record["name"] if above is None else f"{above}.{record['name']}"


def path_by(paths: dict[int, str], modules: tuple[int, ...]) -> str | None:
    """The same path, by the names that the models have for their modules; one made for the call, as a loss is, has
    none."""
    if not modules:
        return None
    above = path_by(paths, modules[:-1])
    return paths.get(modules[-1], f"{above}.None")
