"""`python -m tests.reliability`: attacks all that is promised, prints what went wrong, and keeps the figures.

    python -m tests.reliability interrupts kills    only these
    python -m tests.reliability --share 0.1         a tenth of the trials; the figures are not kept
    python -m tests.reliability soak --only steps   only the parts whose name contains a word

A whole run of a measure writes its figures, from which `docs/reliability.md` is made.
"""

from __future__ import annotations

import argparse

from tests.reliability.figures import keep
from tests.reliability.measures import MEASURES


def main() -> int:
    """Try what is asked for; the exit status says whether anything was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", nargs="*", choices=[[], *MEASURES], help="default: all")
    parser.add_argument("--share", type=float, default=1.0, help="of the trials, above 0 and up to 1")
    parser.add_argument("--only", default="", help="a word in the names of the parts")
    options = parser.parse_args()
    found = 0
    for name in options.measure or MEASURES:
        print(f"{name}: {MEASURES[name].promise}", flush=True)
        for part, tried in MEASURES[name].parts.items():
            if options.only not in part:
                continue
            results = list(tried(options.share))
            wrong = [each for each in results if each is not None]
            found += len(wrong)
            print(f"  {part}: {len(results)} {MEASURES[name].trials}, {len(wrong)} wrong", flush=True)
            print(*[f"    {each}" for each in wrong], sep="\n", end="\n" * bool(wrong), flush=True)
            if options.share == 1:
                keep(name, part, len(results), len(wrong))
    return int(found > 0)


if __name__ == "__main__":
    raise SystemExit(main())
