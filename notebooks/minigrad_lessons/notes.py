"""What the student did, noted in a small file of their own: `.minigrad/progress.jsonl`, beside the notebooks.

The file is there only where the folder `.minigrad` is: `minigrad lab` and `minigrad lessons release` make it. Elsewhere
the notes last as long as the kernel. A note is one line that is added in one piece, so two notebooks may note at once;
a line that cannot be read is passed over, and a folder that cannot be written to costs the file and nothing else.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

FILE = Path.cwd() / ".minigrad" / "progress.jsonl"
KINDS = ("predict", "why", "recall", "check", "hint")
GOOD = {"predict": "same", "why": "holds", "recall": "right", "check": "passed"}

watchers: list[Callable[[], None]] = []  # called after each note
_noted: list[tuple[str, str, str]] = []
_trouble = ""


def note(kind: str, id: str, how: str, said: str = "") -> None:
    """Add a note, unless the last one on this says the same; `said` is the answer, in the words of the student."""
    global _trouble
    last = next((noted for noted in reversed(_noted) if noted[:2] == (kind, id)), None)
    if last == (kind, id, how):
        return
    _noted.append((kind, id, how))
    if FILE.parent.is_dir():
        try:
            _append({"kind": kind, "id": id, "how": how} | ({"said": said} if said else {}))
            _trouble = ""
        except OSError as error:
            _trouble = error.strerror or str(error)
    for watcher in watchers:
        watcher()


def _append(line: dict[str, str]) -> None:
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
    found: dict[tuple[str, str], str] = {}
    for kind, id, how in (*_read(), *_noted):
        before = found.get((kind, id))
        better = how > (before or "") if kind == "hint" else kind in ("why", "check") and how == GOOD[kind]
        if before is None or better:
            found[kind, id] = how
    return found


def _read() -> Iterator[tuple[str, str, str]]:
    try:
        text = FILE.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            read = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(read, dict) and (kind := read.get("kind")) in KINDS:
            id, how = str(read.get("id")), str(read.get("how"))
            if kind != "hint" or how in ("1", "2", "3"):
                yield str(kind), id, how
