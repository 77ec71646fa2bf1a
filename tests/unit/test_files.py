"""Files are written whole or not at all, whatever fails, and nothing is left beside them."""

from __future__ import annotations

import errno
import os
import re
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad._base.files import replace_file
from minigrad.recorder import Trace, record


def full_disk(*args: Any, **options: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def trace() -> Trace:
    x = minigrad.ones(2, requires_grad=True)
    with record() as recorded:
        (x * x).sum().backward()
    return recorded


WRITERS = {
    "text": lambda path: replace_file(path, "new"),
    "bytes": lambda path: replace_file(path, b"new"),
    "a trace": lambda path: trace().save(path),
    "tensors": lambda path: minigrad.save({"x": minigrad.ones(2)}, path),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("call", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("there", [True, False], ids=["over a file", "new"])
def test_a_failing_call_leaves_what_was_there(tmp_path, monkeypatch, name, call, there):
    path = tmp_path / "file"
    if there:
        path.write_text("old")
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        WRITERS[name](path)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"] * there


def test_an_interrupt_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fill(name: str) -> None:
        Path(name).write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replace_file(path, fill)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_who_may_read_it_stays(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    replace_file(tmp_path / "other", "new")
    (tmp_path / "third").write_text("new")
    assert (tmp_path / "other").stat().st_mode == (tmp_path / "third").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="a link needs rights on Windows")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    replace_file(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "new"


def test_the_name_beside_it_cannot_be_foreseen(tmp_path):
    names = []
    for _ in range(3):
        replace_file(tmp_path / "file", lambda name: names.append(Path(name).name))
    assert len(set(names)) == 3 and all(re.fullmatch(r"\.[0-9a-f]{16}\.tmp", name) for name in names)


@pytest.mark.skipif(os.name == "nt", reason="Windows counts the letters of the whole path")
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / f"{'n' * 250}.html"
    replace_file(path, "new")
    assert path.read_text() == "new" and [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_file_that_another_made_is_not_removed(tmp_path, monkeypatch):
    (tmp_path / f".{'00' * 8}.tmp").write_text("another's")
    monkeypatch.setattr(os, "urandom", bytes)
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "file", "new")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["another's"]


def test_many_writers_of_one_file(tmp_path):
    path, errors = tmp_path / "file", []

    def write(text: str) -> None:
        try:
            for _ in range(30):
                replace_file(path, text * 1000)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(text,)) for text in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and path.read_text() in {text * 1000 for text in "abc"}
    assert list(tmp_path.iterdir()) == [path]
