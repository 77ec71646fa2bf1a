"""The folder of lessons: nothing that a student wrote is ever lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from minigrad_lessons.folder import LessonError, fill, find, reset, shipped

FIRST, SECOND = "01_first.ipynb", "02_second.ipynb"


@pytest.fixture
def lessons(tmp_path: Path) -> dict[str, Path]:
    """Two lessons, as a version of the package ships them."""
    home = tmp_path / "package"
    home.mkdir()
    for name in (FIRST, SECOND):
        (home / name).write_text(f"{name}, as given\n")
    return {name: home / name for name in (FIRST, SECOND)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "some where" / "mine"


def test_a_new_folder_holds_every_lesson(lessons: dict[str, Path], folder: Path) -> None:
    report = fill(folder, lessons)
    assert report.added == [FIRST, SECOND] and not (report.updated or report.edited or report.newer)
    assert all((folder / name).read_bytes() == source.read_bytes() for name, source in lessons.items())


def test_a_second_time_changes_nothing_and_names_the_edited(lessons: dict[str, Path], folder: Path) -> None:
    fill(folder, lessons)
    (folder / FIRST).write_text("my answers\n")
    report = fill(folder, lessons)
    assert (report.added, report.updated, report.edited, report.newer) == ([], [], [FIRST], [])
    assert (folder / FIRST).read_text() == "my answers\n"


def test_a_missing_lesson_comes_back(lessons: dict[str, Path], folder: Path) -> None:
    fill(folder, lessons)
    (folder / SECOND).unlink()
    assert fill(folder, lessons).added == [SECOND]
    assert (folder / SECOND).exists()


def test_a_newer_lesson_renews_an_untouched_one_and_spares_an_edited_one(
    lessons: dict[str, Path], folder: Path
) -> None:
    fill(folder, lessons)
    (folder / FIRST).write_text("my answers\n")
    for source in lessons.values():
        source.write_text("newer\n")
    for _ in range(2):
        report = fill(folder, lessons)
        assert report.edited == report.newer == [FIRST]
    assert (folder / FIRST).read_text() == "my answers\n"
    assert (folder / SECOND).read_text() == "newer\n"


@pytest.mark.parametrize("manifest", [None, "", "[]", '{"given": 3}', "not json", "[" * 100_000], ids=range(6))
def test_without_its_manifest_every_changed_lesson_is_the_students(
    lessons: dict[str, Path], folder: Path, manifest: str | None
) -> None:
    fill(folder, lessons)
    (folder / FIRST).write_text("my answers\n")
    file = folder / ".minigrad" / "manifest.json"
    file.unlink() if manifest is None else file.write_text(manifest)
    lessons[FIRST].write_text("newer\n")
    assert fill(folder, lessons).edited == [FIRST]
    assert (folder / FIRST).read_text() == "my answers\n"
    assert json.loads(file.read_text())["given"].keys() == {SECOND}


def test_reset_keeps_what_was_there_each_time(lessons: dict[str, Path], folder: Path) -> None:
    fill(folder, lessons)
    backups = []
    for text in ("first try\n", "second try\n"):
        (folder / FIRST).write_text(text)
        name, backup = reset(folder, lessons, 1)
        assert name == FIRST and backup is not None and backup.read_text() == text
        assert (folder / FIRST).read_bytes() == lessons[FIRST].read_bytes()
        backups.append(backup)
    assert len(set(backups)) == 2 and all(backup.exists() for backup in backups)
    assert fill(folder, lessons).edited == []


def test_reset_of_an_untouched_lesson_makes_no_backup(lessons: dict[str, Path], folder: Path) -> None:
    fill(folder, lessons)
    assert reset(folder, lessons, 2) == (SECOND, None)
    assert not (folder / "backups").exists()


def test_reset_of_an_unknown_lesson_says_which_there_are(lessons: dict[str, Path], folder: Path) -> None:
    with pytest.raises(LessonError, match="There is no lesson 07. There are: 01, 02"):
        reset(folder, lessons, 7)
    assert not folder.exists()


def test_reset_where_there_are_no_lessons_makes_none(lessons: dict[str, Path], folder: Path) -> None:
    with pytest.raises(LessonError, match="There are no lessons in .*; nothing was changed"):
        reset(folder, lessons, 1)
    assert not folder.parent.exists()
    fill(folder, lessons)
    (folder / FIRST).unlink()
    assert reset(folder, lessons, 1) == (FIRST, None) and (folder / FIRST).exists()


@pytest.mark.parametrize("place", [SECOND, ".minigrad/manifest.json"])
def test_a_folder_in_the_place_of_a_file_is_explained(lessons: dict[str, Path], folder: Path, place: str) -> None:
    fill(folder, lessons)
    (folder / FIRST).write_text("my answers\n")
    (folder / place).unlink()
    (folder / place).mkdir()
    with pytest.raises(LessonError, match=r"Cannot use .* \(.+\); nothing of yours was changed\.") as caught:
        fill(folder, lessons)
    assert str(folder / place) in str(caught.value)
    with pytest.raises(LessonError, match="nothing of yours was changed"):
        reset(folder, lessons, 2 if place == SECOND else 1)
    assert (folder / FIRST).read_text() == "my answers\n" and not (folder / "backups").exists()


def test_a_file_in_the_place_of_the_backups_stops_a_reset(lessons: dict[str, Path], folder: Path) -> None:
    fill(folder, lessons)
    (folder / FIRST).write_text("my answers\n")
    (folder / "backups").write_text("mine\n")
    with pytest.raises(LessonError, match=r"backups \(.+\); nothing of yours was changed"):
        reset(folder, lessons, 1)
    assert (folder / FIRST).read_text() == "my answers\n" and (folder / "backups").read_text() == "mine\n"


def test_a_lesson_that_cannot_be_read_is_explained(
    lessons: dict[str, Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, lessons)

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    # The superuser may read anything, so the refusal is played.
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(LessonError, match="Permission denied.*nothing of yours was changed"):
        fill(folder, lessons)


def test_a_file_in_the_place_of_the_folder_is_left_alone(lessons: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("200 pages\n")
    with pytest.raises(LessonError, match="is a file, not a folder; it was left as it is"):
        fill(file, lessons)
    with pytest.raises(LessonError, match="Cannot use the folder"):
        fill(file / "lessons", lessons)
    assert file.read_text() == "200 pages\n"


def test_a_folder_that_cannot_be_written_to_is_an_error(
    lessons: dict[str, Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, lessons)
    (folder / FIRST).write_text("my answers\n")
    # The superuser may write anywhere, so the refusal is played.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(LessonError, match="Cannot write to the folder"):
        fill(folder, lessons)
    assert (folder / FIRST).read_text() == "my answers\n"


def test_an_interrupted_copy_leaves_the_old_lesson(
    lessons: dict[str, Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, lessons)
    before = (folder / FIRST).read_text()
    lessons[FIRST].write_text("newer\n")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(LessonError, match="No space left on device"):
        fill(folder, lessons)
    assert (folder / FIRST).read_text() == before
    assert not list(folder.glob("*.tmp"))


def test_the_lessons_are_found_by_their_number() -> None:
    lessons = shipped()
    assert lessons and all(find(lessons, int(name[:2])) == name for name in lessons)
