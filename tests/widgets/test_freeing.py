"""A widget that is closed and dropped is freed, and with it its trace."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable

import pytest
from anywidget import AnyWidget

import minigrad
from minigrad.recorder import Trace, record
from minigrad_widgets import (
    AliasView,
    Comparison,
    CompiledStep,
    Inspector,
    ParameterLedger,
    RankLanes,
    StateExplorer,
    explore,
)
from minigrad_widgets.widget.base import Widget
from minigrad_widgets.widget.question_card import QuestionCard
from tests.reliability.soak import million_events
from tests.widgets.programs import compiled
from tests.widgets.rank_traces import rank_of


def trace() -> Trace:
    x = minigrad.ones(2, requires_grad=True)
    with record() as recorded:
        y = x * x
        y[:1].sum().backward()
    return recorded


WIDGETS: dict[type[AnyWidget], Callable[[], AnyWidget]] = {
    Inspector: lambda: Inspector(trace()),
    ParameterLedger: lambda: ParameterLedger(trace()),
    AliasView: lambda: AliasView(trace()),
    Comparison: lambda: Comparison({"a": trace(), "b": trace()}),
    CompiledStep: lambda: CompiledStep(compiled().inspection()),
    RankLanes: lambda: RankLanes([rank_of(0), rank_of(1)]),
    StateExplorer: lambda: StateExplorer(explore(minigrad)),
    QuestionCard: lambda: QuestionCard({"title": "Question 1"}, lambda said: {}),
}


@pytest.mark.parametrize("kind", WIDGETS, ids=lambda kind: kind.__name__)
def test_a_closed_widget_dies(kind: type[AnyWidget]) -> None:
    references = []
    for _ in range(3):
        widget = WIDGETS[kind]()
        references.append(weakref.ref(widget))
        widget.close()
        del widget
    gc.collect()
    assert [reference() for reference in references] == [None] * 3


def test_every_widget_is_tried() -> None:
    ours = {kind for kind in below(AnyWidget) if kind.__module__.startswith("minigrad_widgets")
            and getattr(sys.modules[kind.__module__], kind.__name__) is kind}  # not those that a test imported anew
    assert set(WIDGETS) == ours - {Widget}


def below(kind: type[AnyWidget]) -> set[type[AnyWidget]]:
    """All classes that derive from one."""
    return {each for child in kind.__subclasses__() for each in (child, *below(child))}


def test_a_trace_of_a_million_events_is_refused_with_its_size_and_the_limit() -> None:
    assert list(million_events()) == [None]
