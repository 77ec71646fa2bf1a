"""The oldest versions that an extra of pyproject.toml allows, as pip's constraints: `python .ci/bounds.py lessons`."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text("utf-8"))["project"]
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,]+)\])?(?:>=([\d.]+))?")


def bounds(extra: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each package that an extra asks for, with its lower bound; those of the extras that it names too."""
    for line in PROJECT["optional-dependencies"][extra]:
        found = REQUIREMENT.match(line)
        assert found is not None, line
        name, extras, lowest = found.groups()
        if name == PROJECT["name"]:
            for other in extras.split(","):
                yield from bounds(other)
        else:
            assert lowest is not None, f"{line} has no lower bound"
            yield name, tuple(map(int, lowest.split(".")))


def main(extra: str) -> None:
    """Print the constraints, NumPy's first. Of a package that is asked for twice, the higher bound counts."""
    lowest: dict[str, tuple[int, ...]] = {}
    numpy = [(found[1], tuple(map(int, found[3].split(".")))) for line in PROJECT["dependencies"]
             if (found := REQUIREMENT.match(line))]
    for name, version in [*numpy, *bounds(extra)]:
        lowest[name] = max(version, lowest.get(name, version))
    for name, version in lowest.items():
        print(f"{name}=={'.'.join(map(str, version))}")


if __name__ == "__main__":
    main(*sys.argv[1:])
