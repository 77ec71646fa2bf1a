"""The command `minigrad`, with a real JupyterLab."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import minigrad
from minigrad._base.optional import MissingExtra, optional
from minigrad_lessons import server
from minigrad_lessons.cli import main
from minigrad_lessons.folder import LessonError, shipped
from tests.packaging.lab import lab

COMMAND = [sys.executable, "-m", "minigrad"]
LESSONS = list(shipped())
NEWS = "/lab/api/settings/@jupyterlab/apputils-extension:notification"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as other:
        other.bind((server.HOST, 0))
        other.listen()
        yield other.getsockname()[1]


@pytest.mark.slow
def test_it_stops_without_a_word_of_the_servers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with lab([*COMMAND, "lab", "--allow-root", "--no-browser"], tmp_path, end=signal.SIGTERM) as running:
        assert running.json("/api/kernels") == []
    heard = capfd.readouterr().err
    assert [word for word in ("stopping", "signal", "Fatal") if word in heard] == []


@pytest.mark.slow
def test_it_opens_on_lesson_one_and_a_second_time_on_the_same_folder(tmp_path: Path) -> None:
    with lab([*COMMAND, "lab", "--allow-root", "--no-browser"], tmp_path, end=signal.SIGINT) as first:
        assert first.lesson == LESSONS[0] and f"added   {LESSONS[0]}" in first.said
        assert "started" in first.json("/api/status")
        assert b"jupyter-config-data" in first.get(f"/lab/tree/{first.lesson}")
        assert first.json(f"/api/contents/{first.lesson}")["type"] == "notebook"
        defaults = first.json(NEWS)["schema"]["properties"]
        assert defaults["fetchNews"]["default"] == "false" and defaults["checkForUpdates"]["default"] is False
    mine = tmp_path / "minigrad-lessons" / LESSONS[0]
    mine.write_text(mine.read_text() + "\n")
    edited = mine.read_bytes()
    assert not server_answers(first.port)
    hang_up = getattr(signal, "SIGHUP", signal.SIGTERM)
    with lab([*COMMAND, "lab", "--allow-root", "--no-browser"], tmp_path, end=hang_up) as second:
        assert f"yours   {LESSONS[0]}" in second.said and "added" not in second.said
        assert second.token != first.token
    assert mine.read_bytes() == edited
    assert not server_answers(second.port)


def server_answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((server.HOST, port)) == 0


def test_a_chosen_port_in_use_is_an_error_and_no_folder_is_made(
    taken: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "--allow-root", "--no-browser", "--to", str(tmp_path / "mine"), "--port", str(taken)]) == 1
    assert f"Port {taken} is in use" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


def test_root_is_asked_whether_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "is_root", lambda: True)
    assert main(["lab", "--no-browser", "--to", str(tmp_path / "mine")]) == 1
    assert "You are root" in (said := capsys.readouterr().err) and "add --allow-root" in said
    assert not (tmp_path / "mine").exists()
    server.check_user(allow_root=True)
    monkeypatch.setattr(server, "is_root", lambda: False)
    server.check_user(allow_root=False)


def test_with_no_port_chosen_one_in_use_is_passed_over(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_PORT", taken)
    assert taken < server.choose_port(None) < taken + server.PORTS_TRIED
    monkeypatch.setattr(server, "PORTS_TRIED", 1)
    with pytest.raises(LessonError, match="are all in use"):
        server.choose_port(None)


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["lab", f"--port={port}"])
    assert f"{port} is not a port" in capsys.readouterr().err


def test_a_file_in_the_place_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("200 pages")
    assert main(["lab", "--allow-root", "--no-browser", "--to", str(tmp_path / "mine")]) == 1
    assert "is a file, not a folder" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "200 pages"


def test_reset_says_where_the_old_lesson_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / LESSONS[0]).write_text("my answers")
    assert main(["lab", "--to", str(tmp_path), "--reset", LESSONS[0][:2]]) == 0
    said = capsys.readouterr().out
    backup = Path(said.strip().rpartition("Yours is kept in ")[2])
    assert backup.read_text() == "my answers" and f"{LESSONS[0]} is as it was given, in {tmp_path}\n" in said
    assert main(["lab", "--to", str(tmp_path), "--reset", "99"]) == 1


def test_reset_in_the_wrong_place_changes_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--reset", "1"]) == 1
    told = capsys.readouterr()
    assert f"There are no lessons in {tmp_path / 'minigrad-lessons'}; nothing was changed." in told.err
    assert "--to" in told.err and not told.out and not list(tmp_path.iterdir())


def test_without_jupyterlab_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(server, "PROGRAM", "a_package_that_nobody_has")
    assert main(["lab", "--to", str(tmp_path / "mine")]) == 1
    assert "a_package_that_nobody_has is not installed" in (said := capsys.readouterr().err) and "[lessons]" in said
    assert not (tmp_path / "mine").exists()


def test_a_module_of_our_own_that_is_missing_is_not_blamed_on_an_extra() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        optional("minigrad_lessons.no_such_module", extra="lessons")
    assert not isinstance(caught.value, MissingExtra)
    with pytest.raises(MissingExtra, match=r"no_such_package is not installed.*minigrad-kit\[lessons\]"):
        optional("no_such_package.module", extra="lessons")


def test_version() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"minigrad {minigrad.__version__}\n"
