"""A subject's lines stand beside the others' in one table, and a name that is taken is refused."""

from __future__ import annotations

import types

import pytest

from tests.parity import tables


def planted(monkeypatch, **lines):
    """The tables of two modules."""
    made = [types.SimpleNamespace(__name__=name, CASES=dict.fromkeys(names, ())) for name, names in lines.items()]
    monkeypatch.setattr(tables, "modules", lambda stem: made)


def test_lines_of_all_modules(monkeypatch):
    planted(monkeypatch, one=["a", "b"], two=["c"])
    assert list(tables.all_cases()) == ["a", "b", "c"]
    assert tables.all_plain() == {}


def test_a_name_that_is_taken(monkeypatch):
    planted(monkeypatch, one=["a", "b"], two=["b"])
    with pytest.raises(ValueError, match="two: there is a line 'b' in CASES already"):
        tables.all_cases()


def test_modules_of_a_table():
    names = [module.__name__ for module in tables.modules("cases")]
    assert names[0] == "tests.parity.tables.cases"
    assert all(name.startswith("tests.parity.tables.cases_") for name in names[1:])
