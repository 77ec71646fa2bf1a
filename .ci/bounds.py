"""The versions that an extra of pyproject.toml allows.

`python .ci/bounds.py oldest lessons` prints the oldest as pip's constraints. `python .ci/bounds.py other REPORT` prints
what pip would install, by the report of its dry run, in other versions than the environment has that runs this.
"""

import importlib.metadata
import json
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


def oldest(extra: str) -> Iterator[str]:
    """The constraints, NumPy's first. Of a package that is asked for twice, the higher bound counts."""
    lowest: dict[str, tuple[int, ...]] = {}
    numpy = [(found[1], tuple(map(int, found[3].split(".")))) for line in PROJECT["dependencies"]
             if (found := REQUIREMENT.match(line))]
    for name, version in [*numpy, *bounds(extra)]:
        lowest[name] = max(version, lowest.get(name, version))
    return (f"{name}=={'.'.join(map(str, version))}" for name, version in lowest.items())


def other(report: str) -> Iterator[str]:
    """What would be installed and is here in another version, or not at all."""
    here = {normal(each.name): each.version for each in importlib.metadata.distributions()}
    for each in json.loads(Path(report).read_text("utf-8"))["install"]:
        name, version = each["metadata"]["name"], each["metadata"]["version"]
        if here.get(normal(name)) != version:
            yield f"{name}=={version}"


def normal(name: str) -> str:
    """A package's name as all spellings of it are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    print("\n".join({"oldest": oldest, "other": other}[sys.argv[1]](sys.argv[2])))
