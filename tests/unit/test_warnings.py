"""Warnings that come once per program."""

from __future__ import annotations

import warnings

import pytest

from minigrad._base import warnings as _warnings


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Nothing was said yet."""
    monkeypatch.setattr(_warnings, "GIVEN", set())


def given(count):
    """What is said in so many calls."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(count):
            _warnings.warn_once("a text")
    return [str(each.message) for each in caught]


def test_they_come_once():
    assert given(3) == ["a text"]
    assert given(1) == []


def test_they_can_be_told_to_come_every_time(m):
    assert not m.is_warn_always_enabled()
    m.set_warn_always(True)
    assert m.is_warn_always_enabled()
    m.set_warn_always(False)
    assert not m.is_warn_always_enabled()
    with pytest.raises(RuntimeError, match="setWarnOnlyOnce expects a bool, but got int"):
        m.set_warn_always(1)


def test_every_time():
    _warnings.set_warn_always(True)
    try:
        assert given(2) == ["a text", "a text"]
    finally:
        _warnings.set_warn_always(False)
