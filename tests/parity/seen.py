"""What tables of ops tried: per line, how many samples and the worst error. Printed at the end of a run of tests."""

from __future__ import annotations

NOTES: dict[str, dict[str, tuple[int, float]]] = {}
WIDTH = 118


def note(table: str, name: str, samples: int, worst: float) -> None:
    """Count samples of a line, and keep its worst error."""
    before = NOTES.setdefault(table, {}).get(name, (0, 0.0))
    NOTES[table][name] = before[0] + samples, max(before[1], worst)


def lines() -> list[str]:
    """The tables as text, in columns."""
    out = []
    for table, notes in NOTES.items():
        out.append(f"{table}: {len(notes)} lines, {sum(n for n, _ in notes.values())} samples, "
                   f"worst error {max(worst for _, worst in notes.values()):.1e}")
        cells = [f"{name} {count} {worst:.0e}" for name, (count, worst) in notes.items()]
        row = ""
        for cell in cells:
            if len(row) + len(cell) > WIDTH:
                out.append(row.rstrip(" ·"))
                row = ""
            row += f"{cell} · "
        out.append(row.rstrip(" ·"))
    return out
