"""What the student did, noted in a small file of their own: `.minigrad/progress.jsonl`, beside the notebooks.

A note has the time at which it was made, so that a teacher who is handed the file can see how long things took.
The file is there only where the folder `.minigrad` is: `minigrad lab` and `minigrad lessons release` make it. Elsewhere
the notes last as long as the kernel. A note is one line that is added in one piece, so two notebooks may note at once;
a line that cannot be read is passed over, and a folder that cannot be written to costs the file and nothing else.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

FILE = Path.cwd() / ".minigrad" / "progress.jsonl"
KINDS = ("predict", "why", "recall", "check", "hint")
GOOD = {"predict": "same", "why": "holds", "recall": "right", "check": "passed"}

watchers: list[Callable[[], None]] = []  # called after each note
MOST_SAID = 300  # characters


@dataclass(frozen=True)
class Note:
    """What was done: a kind and an id, how it went, what was said, and when (seconds since 1970; 0 if not known).

    Said is the answer in the student's words, and for a check that did not pass what the check found.
    """

    kind: str
    id: str
    how: str
    said: str = ""
    at: int = 0


_noted: list[Note] = []
_trouble = ""


def note(kind: str, id: str, how: str, said: str = "") -> None:
    """Add a note, unless the last one on this says the same."""
    global _trouble
    made = Note(kind, id, how, said[:MOST_SAID], int(time.time()))
    last = next((noted for noted in reversed(_noted) if (noted.kind, noted.id) == (kind, id)), None)
    if last is not None and (last.how, last.said) == (made.how, made.said):
        return
    _noted.append(made)
    if FILE.parent.is_dir():
        try:
            _append({"kind": kind, "id": id, "how": how} | ({"said": made.said} if said else {}) | {"at": made.at})
            _trouble = ""
        except OSError as error:
            _trouble = error.strerror or str(error)
    for watcher in watchers:
        watcher()


def _append(line: dict[str, str | int]) -> None:
    # The line break comes first: what an interruption left unfinished before it spoils no more than itself.
    file = os.open(FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, b"\n" + json.dumps(line).encode())
    finally:
        os.close(file)


def where() -> str:
    """Where the notes are kept, in words."""
    if _trouble:
        return f"Not kept: {FILE.name} cannot be written ({_trouble})."
    if FILE.parent.is_dir():
        return f"Kept in {FILE.parent.name}/{FILE.name}."
    return "Kept until this kernel stops: there is no folder .minigrad here."


def kept() -> dict[tuple[str, str], str]:
    """How it stands with each thing, by its kind and id.

    Of predictions and recalls the first answer counts, of reasons and exercises the best, of hints how many were taken.
    """
    return standing([*_read(), *_noted])


def standing(all_notes: list[Note]) -> dict[tuple[str, str], str]:
    """How it stands after these notes, by kind and id."""
    found: dict[tuple[str, str], str] = {}
    for each in all_notes:
        key, how = (each.kind, each.id), each.how
        before = found.get(key)
        better = how > (before or "") if key[0] == "hint" else key[0] in ("why", "check") and how == GOOD[key[0]]
        if before is None or better:
            found[key] = how
    return found


def _read() -> Iterator[Note]:
    try:
        text = FILE.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from filter(None, map(read_line, text.splitlines()))


def read_line(line: str) -> Note | None:
    """The note in a line of the file; None where it cannot be read."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(read, dict) or (kind := read.get("kind")) not in KINDS:
        return None
    how, at = str(read.get("how")), read.get("at")
    if kind == "hint" and how not in ("1", "2", "3"):
        return None
    when = at if isinstance(at, int) and not isinstance(at, bool) and 0 < at < 2**40 else 0
    return Note(str(kind), str(read.get("id")), how, str(read.get("said", ""))[:MOST_SAID], when)
