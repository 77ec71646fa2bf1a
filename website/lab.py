"""The lessons in a browser, with nothing installed: JupyterLite with Pyodide, minigrad and all else that they need.

`python -m website` writes it into the folder `lab` of the site; `python -m website.lab DIR` writes it alone. It works
from any host of files, without special headers, and where there is no network: `python -m http.server` beside it is
enough.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from minigrad import __version__
from website import pyodide
from website.compiled import STDLIB, compile_modules
from website.pages import ROOT

KERNEL = "@jupyterlite/pyodide-kernel-extension"
KERNEL_FILES = Path("extensions") / KERNEL / "static" / "pypi"
# Packages of pure Python which Pyodide lacks or has in an older version: what they depend on. ipywidgets wants IPython
# too, but the lab has that in any case, and a page has a shell of its own.
INSTALLED = {"anywidget": ["ipywidgets", "psygnal", "typing-extensions"], "comm": [], "psygnal": [],
             "ipywidgets": ["comm", "traitlets"], "typing_extensions": []}
# Of no use there: what a server sends to the browser, what this processor reads, what leads out of the packages.
NOT_THERE = {"labextension", "nbextension", "..", ".pyc", ".so", ".pyd"}
# What is left out of Pyodide's packages: of NumPy, what compilers and type checkers read, and a module that no other
# imports; of jedi, what it knows of packages that are not there, file by file, which takes a second to unpack.
LEFT_OUT = {"numpy": re.compile(r"numpy/f2py/|/lapack_lite\.|\.(pyi|pxd|pyx|h|c|a)$"),
            "jedi": re.compile("jedi/third_party/(django-stubs|typeshed/third_party)/")}
# What `from numpy import *` imports, and thereby SciPy, of what is left out.
STAND_INS = {"numpy/f2py/__init__.py": '"""It compiles Fortran, which no browser can."""\n'}
OURS = ("minigrad", "minigrad_widgets", "minigrad_lessons")
EXTENSIONS = ("anywidget", "jupyterlab_widgets", "jupyterlite_pyodide_kernel")  # parts of JupyterLab's page
SHARE = "share/jupyter/labextensions/"
# Loaded with Pyodide itself, all at a time; the kernel would load its own one after the other. The names are its own.
AT_ONCE = ["micropip", "piplite", "ssl", "sqlite3", "ipykernel", "comm", "pyodide_kernel", "jedi", "ipython",
           "minigrad-kit", "minigrad-notebooks"]
COMPILED = "minigrad-compiled"
# What the kernel imports before the first cell, and a lesson in it.
IMPORTED = ["IPython", "IPython.core.interactiveshell", "anywidget", "comm", "ipywidgets", "micropip", "piplite",
            "sqlite3", "minigrad.recorder", "minigrad_lessons.cards", "minigrad_widgets"]
# JupyterLite 0.6.4 drops the cells that wait behind one that raises, even if its tag "raises-exception" says to go on.
GOES_ON = {"await r.ready,await r.handleMessage(e)":
               "await r.ready,h.stops=e.content.stop_on_error,await r.handleMessage(e)",
           '"error"===e.content.status&&h.cancel()': '"error"===e.content.status&&h.stops&&h.cancel()'}
# A page that was opened from a folder may load no script of JupyterLite, and would stay white.
FROM_FOLDER = """<script>
      if (location.protocol === 'file:') addEventListener('DOMContentLoaded', () => {
        const text = 'JupyterLab does not open from a folder. The cells of the lesson’s own page do run there: go ' +
          'back to it. Or run “python -m http.server” in the folder of the site, and open http://localhost:8000.';
        const style = 'margin: 2rem; font: 1rem sans-serif';
        document.body.prepend(Object.assign(document.createElement('p'), { textContent: text, style }));
      });
    </script>
  </head>"""
SETTINGS = ROOT / "notebooks" / "minigrad_lessons" / "lab_settings" / "overrides.json"


def why_no_lab() -> str:
    """Return why `build_lab` cannot be called; nothing if it can. Fetches Pyodide."""
    for name in ("jupyterlite_core", "jupyterlite_pyodide_kernel", "hatchling"):
        if find_spec(name) is None:
            return f'{name} is not installed: it comes with the extra "site"'
    return pyodide.why_not()


def build_lab(target: Path) -> None:
    """Write JupyterLite with all lessons into a folder.

    Raises:
        CalledProcessError: if JupyterLite refuses; what it says is printed.
        ValueError: if its version is another one.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in EXTENSIONS:
            _copy_extension(name, work / "extensions")
        (work / "lessons").mkdir()
        for path in (ROOT / "notebooks").glob("*.ipynb"):
            (work / "lessons" / path.name).write_text(_for_pyodide(path), encoding="utf-8")
        shutil.copy(SETTINGS, work)
        (work / "jupyter-lite.json").write_text(json.dumps(_settings()), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", str(work), "--output-dir", str(target),
             "--contents", str(work / "lessons"), "--apps", "lab", "--no-sourcemaps", "--no-unused-shared-packages",
             "--ignore-sys-prefix", "federated_extensions",
             f"--FederatedExtensionAddon.extra_labextensions_path={work / 'extensions'}"],
            cwd=work, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        print(done.stdout[-4_000:])
    done.check_returncode()
    _let_cells_go_on(target / "build")
    for page in target.rglob("index.html"):
        page.write_text(page.read_text(encoding="utf-8").replace("</head>", FROM_FOLDER, 1), encoding="utf-8")
    _add_pyodide(target)


def _let_cells_go_on(build: Path) -> None:
    """Mend JupyterLite's script. Raises ValueError if it is not the one that this is for."""
    for file in build.glob("*.js"):
        text = file.read_text(encoding="utf-8")
        if all(text.count(old) == 1 for old in GOES_ON):
            for old, new in GOES_ON.items():
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
            return
    raise ValueError("JupyterLite's scripts are not those of version 0.6.4: see GOES_ON in website/lab.py")


def _copy_extension(name: str, target: Path) -> None:
    """Copy what a distribution adds to JupyterLab's page."""
    for file in distribution(name).files or ():
        _, found, place = file.as_posix().partition(SHARE)
        if found:
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), target / place)


def _for_pyodide(path: Path) -> str:
    """The text of a lesson for the one kernel that there is."""
    lesson = json.loads(path.read_text(encoding="utf-8"))
    lesson["metadata"]["kernelspec"] = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
    return json.dumps(lesson, ensure_ascii=False, indent=1)


def _settings() -> dict[str, Any]:
    """Settings of JupyterLite: it asks no other host for a package."""
    kernel = {"pyodideUrl": "./static/pyodide/pyodide.js", "disablePyPIFallback": True,
              "loadPyodideOptions": {"packages": [*AT_ONCE, COMPILED], "stdLibURL": f"./static/pyodide/{STDLIB}"}}
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": {
        "appName": "minigrad", "litePluginSettings": {f"{KERNEL}:kernel": kernel}}}


def _add_pyodide(target: Path) -> None:
    """Put Pyodide, its packages and those of this environment into the folder, with a lock that names them all."""
    place = target / "static" / "pyodide"
    place.mkdir(parents=True)
    for name in ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip",
                 *pyodide.needed(pyodide.FOLDER)):
        shutil.copy(pyodide.FOLDER / name, place)
    lock = json.loads((pyodide.FOLDER / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = lock["packages"]
    for name, left_out in LEFT_OUT.items():
        _slim(place, packages[name], left_out)
    for name in [name for name, package in packages.items() if not (place / package["file_name"]).is_file()]:
        del packages[name]
    for name, depends in INSTALLED.items():
        _enter(packages, _write_wheel(name, place), [name], depends)
    for file in (target / KERNEL_FILES).glob("*.whl"):
        _enter(packages, Path(shutil.copy(file, place)), [file.name.partition("-")[0]], [])
    ours, notebooks = _our_wheels(place)
    _enter(packages, ours, list(OURS), ["anywidget", "numpy"])
    _enter(packages, notebooks, [], [])
    packages["matplotlib"]["imports"].append("minigrad_lessons.lines")  # which loads it later, when it cannot come
    (place / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
    wheel = place / f"{COMPILED.replace('-', '_')}-{__version__}-py3-none-any.whl"
    compile_modules(place, AT_ONCE, IMPORTED, wheel)
    _enter(packages, wheel, [], [])
    (place / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")


def _slim(place: Path, package: dict[str, Any], left_out: re.Pattern[str]) -> None:
    """Write the wheel of a package anew, without some files or with others for them; Pyodide needs no list of them.

    Raises:
        ValueError: if it is not the wheel of the lock.
    """
    wheel = place / package["file_name"]
    if _digest(wheel) != package["sha256"]:
        raise ValueError(f"{wheel.name} is not the one that Pyodide's lock names")
    whole = wheel.rename(wheel.with_suffix(".whole"))
    with zipfile.ZipFile(whole) as given, zipfile.ZipFile(wheel, "w") as made:
        for entry in given.infolist():
            left = left_out.search(entry.filename) or entry.filename.endswith("/RECORD")
            if entry.filename in STAND_INS or not left:
                data = STAND_INS.get(entry.filename) or given.read(entry)
                made.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    whole.unlink()
    package["sha256"] = _digest(wheel)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _enter(packages: dict[str, Any], wheel: Path, imports: list[str], depends: list[str]) -> None:
    """Enter a wheel into the packages of a lock."""
    name, version = wheel.name.split("-")[:2]
    name = name.replace("_", "-")
    packages[name] = {"name": name, "version": version, "file_name": wheel.name, "install_dir": "site",
                      "sha256": _digest(wheel), "package_type": "package",
                      "imports": imports, "depends": depends, "unvendored_tests": False}


def _write_wheel(name: str, folder: Path) -> Path:
    """Pack the Python of an installed distribution as a wheel, without what a server or this processor reads."""
    found = distribution(name)
    wheel = folder / f"{name}-{found.version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for file in sorted(found.files or (), key=str):
            if not NOT_THERE & {*file.parts, file.suffix}:
                content = Path(str(file.locate())).read_bytes()
                packed.writestr(zipfile.ZipInfo(file.as_posix()), content, zipfile.ZIP_DEFLATED, 9)
    return wheel


def _our_wheels(folder: Path) -> tuple[Path, Path]:
    """Build the wheel of this tree; the lessons' notebooks apart, which a page in which cells run has no use for."""
    with tempfile.TemporaryDirectory() as built:
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built], cwd=ROOT, check=True,
                       capture_output=True)
        ours, notebooks = (folder / f"{name}-{__version__}-py3-none-any.whl"
                           for name in ("minigrad_kit", "minigrad_notebooks"))
        with zipfile.ZipFile(next(Path(built).glob("*.whl"))) as whole, \
                zipfile.ZipFile(ours, "w") as code, zipfile.ZipFile(notebooks, "w") as texts:
            for entry in [entry for entry in whole.infolist() if not entry.filename.endswith("/RECORD")]:
                apart = entry.filename.startswith("minigrad_lessons/notebooks/")
                (texts if apart else code).writestr(entry, whole.read(entry), zipfile.ZIP_DEFLATED, 9)
            texts.writestr(f"minigrad_notebooks-{__version__}.dist-info/METADATA",
                           f"Metadata-Version: 2.1\nName: minigrad-notebooks\nVersion: {__version__}\n")
    return ours, notebooks


if __name__ == "__main__":
    if why := why_no_lab():
        sys.exit(f"No lab can be built: {why}.")
    build_lab(Path(sys.argv[1]).resolve())
