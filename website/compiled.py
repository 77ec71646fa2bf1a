"""Compiles the Python that a first lesson imports, once, when the site is built.

Pyodide has Python's own modules and all packages as sources, and would compile them anew at each start: more than half
of the time until a lesson runs. Only Pyodide can compile for its version of Python, so it is run here, in node.
"""

import json
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from website import pyodide

__all__ = ["STDLIB", "compile_modules"]

STDLIB = "python_stdlib_compiled.zip"
PROGRAM = Path(__file__).with_name("compile_in_pyodide.py")
RUN = """
import fs from 'node:fs';
const [program, folder, npm, packages, env] = JSON.parse(process.argv[1]);
const { loadPyodide } = await import(npm + '/pyodide.mjs');
const python = await loadPyodide({ indexURL: folder + '/', packages, env });
python.FS.mkdirTree('/folder');
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, '/folder');
python.runPython(fs.readFileSync(program, 'utf8'));
"""


def compile_modules(folder: Path, packages: Sequence[str], imports: Sequence[str], wheel: Path) -> None:
    """Write a wheel with the compiled modules of packages, and Python's own modules as `STDLIB`, into a folder.

    Args:
        folder: has Pyodide, its lock, and the wheels that the lock names.
        packages: are loaded, by their names in the lock.
        imports: names of modules; what runs after they are imported is compiled.
        wheel: does not exist yet.

    Raises:
        CalledProcessError: if Pyodide fails; what it says is printed.
    """
    name, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.writestr(f"{name}-{version}.dist-info/METADATA",
                        f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    env = {"PYTHONDONTWRITEBYTECODE": "1", "IMPORTS": " ".join(imports), "WHEEL": wheel.name, "STDLIB": STDLIB}
    facts = json.dumps([str(PROGRAM), str(folder), str(pyodide.FOLDER), list(packages), env])
    done = subprocess.run(["node", "--input-type=module", "-e", RUN, facts], text=True, capture_output=True)
    if done.returncode:
        print(done.stdout[-2_000:], done.stderr[-4_000:])
    done.check_returncode()
