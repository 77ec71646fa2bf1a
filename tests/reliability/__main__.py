"""`python -m tests.reliability`: interrupts each kind of work at every point, and prints what went wrong."""

from tests.reliability.interrupts import failures
from tests.reliability.work import KINDS


def main() -> int:
    """Try all points; the exit status says whether anything was found."""
    found = 0
    for name, work in KINDS.items():
        results = list(failures(work))
        wrong = [each for each in results if each is not None]
        found += len(wrong)
        print(f"{name}: {len(results)} interrupts, {len(wrong)} left something wrong", *wrong, sep="\n    ", flush=True)
    return int(found > 0)


if __name__ == "__main__":
    raise SystemExit(main())
