"""The cheat sheet says what runs, in minigrad and in PyTorch."""

from types import ModuleType

import pytest

import minigrad
from website.cheatsheet import PAGE, to_markdown
from website.facts import tables

pytestmark = pytest.mark.torch


def test_the_page_is_what_the_command_makes() -> None:
    assert PAGE.read_text(encoding="utf-8") == to_markdown(list(tables(minigrad))), "run `python -m website.cheatsheet`"


def test_pytorch_says_the_same(torch: ModuleType) -> None:
    for ours, theirs in zip(tables(minigrad), tables(torch), strict=True):
        assert ours == theirs
