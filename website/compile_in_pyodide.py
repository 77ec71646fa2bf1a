"""Compiles, in Pyodide, the modules that some imports bring: website/compiled.py runs this there.

What comes from packages goes into a wheel of nothing but `__pycache__` folders, which is unpacked beside the packages.
Python's own modules come from an archive, in which a module is compiled or a source: it is written anew.
"""

import importlib
import os
import sys
import zipfile
from importlib._bootstrap_external import _code_to_hash_pyc  # type: ignore[attr-defined]  # no public name makes one
from importlib.util import source_hash
from pathlib import Path

MAJOR, MINOR = sys.version_info[:2]
ARCHIVE = Path(sys.prefix, "lib", f"python{MAJOR}{MINOR}.zip")
PACKAGES = Path(sys.prefix, "lib", f"python{MAJOR}.{MINOR}", "site-packages")
SUFFIX = f".{sys.implementation.cache_tag}.pyc"


def sources(names: list[str]) -> list[Path]:
    """Import modules; return the sources of all that run now."""
    for name in names:
        importlib.import_module(name)
    origins = [getattr(getattr(module, "__spec__", None), "origin", None) for module in list(sys.modules.values())]
    return sorted({Path(origin) for origin in origins if origin is not None and origin.endswith(".py")})


def compiled(source: bytes, path: Path) -> bytes:
    """Return the compiled module, which Python takes without a look at its source."""
    return _code_to_hash_pyc(compile(source, path, "exec", dont_inherit=True), source_hash(source), False)  # type: ignore[no-any-return]  # it has no types


def main(folder: Path, wheel: str, stdlib: str) -> None:
    """Write the wheel and the archive into a folder."""
    paths = sources(os.environ["IMPORTS"].split())
    with zipfile.ZipFile(folder / wheel, "a") as packages:
        for path in [path for path in paths if path.is_relative_to(PACKAGES)]:
            place = path.relative_to(PACKAGES)
            put(packages, place.parent / "__pycache__" / (place.stem + SUFFIX), compiled(path.read_bytes(), path))
    own = {str(path.relative_to(ARCHIVE)) for path in paths if path.is_relative_to(ARCHIVE)}
    with zipfile.ZipFile(ARCHIVE) as given, zipfile.ZipFile(folder / stdlib, "w") as made:
        for name in [name for name in given.namelist() if not name.endswith("/")]:
            content = given.read(name)
            if name in own:
                put(made, Path(name + "c"), compiled(content, ARCHIVE / name))
            else:
                put(made, Path(name), content)


def put(archive: zipfile.ZipFile, place: Path, content: bytes) -> None:
    """Add a file, packed as small as can be, the same at each build."""
    archive.writestr(zipfile.ZipInfo(str(place)), content, zipfile.ZIP_DEFLATED, 9)


main(Path("/folder"), os.environ["WHEEL"], os.environ["STDLIB"])
