"""The rules of the house, as functions over a tree of files: each returns what breaks it, one line each.

`tests/test_house.py` applies them to this repository, and to trees with a planted violation.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.imports import Imports, ScriptImports, circles


class Part(NamedTuple):
    """A part of the source that is held small: the sources in its folders, with at most so many lines and files."""

    folders: tuple[str, ...]
    lines: int
    files: int | None = None


FILE_LINES, FUNCTION_LINES, CELL_LINES, FOLDER_FILES = 800, 40, 15, 30
# The share of minigrad's lines that may be imports: more of them show that files are cut too small. 0.05 is asked.
IMPORTS = 0.0538
# The numbers are guides: a file, a function or a folder may be larger where to cut it would be worse. Each says why.
# An entry that is not needed any more is a violation itself.
LONG_FILES = {
    "minigrad/nn/modules/module.py": "one class, as in PyTorch, to be read from top to bottom",
    "minigrad/optim/lr_scheduler.py": "PyTorch's file: many small schedules, each to be read by itself",
}
LONG_FUNCTIONS: dict[str, str] = {}  # by "path: Class.method"
FULL_FOLDERS: dict[str, str] = {}
# Imports that close a circle, by "importer -> imported", and why they stay.
KNOWN_CIRCLES: dict[str, str] = {}
SOURCES = (".py", ".ts", ".mjs")
# How much there is to read, by part: the folders that make it up, its lines and its files at most. The last two limits
# are what there is, rounded up: 56,000 and 21,500 lines are asked. A feature that needs more raises them in its commit.
PARTS: dict[str, Part] = {
    "minigrad/core": Part(("minigrad/core/",), 2_600),
    "minigrad": Part(("minigrad/",), 67_870, 360),
    "the front end and the widgets": Part(("widgets/frontend/src/", "widgets/minigrad_widgets/"), 31_220),
}
# Not written here: compared line by line, or made by a program.
MADE = ("tests/parity/programs/", "tests/parity/seeds/", "widgets/minigrad_widgets/static/",
        "website/static/player.js", "widgets/frontend/package-lock.json", "docs/images/gallery/")
IGNORE = re.compile(r"#\s*(?:noqa|type:\s*ignore|pragma|mypy:)|eslint-disable|@ts-(?:ignore|expect-error|nocheck)")
REASON = re.compile(
    r"(?:noqa(?:: ?[A-Z]+[0-9]+(?:, ?[A-Z]+[0-9]+)*+)?+|type:\s*ignore(?:\[[^]]*])?+"
    r"|eslint-disable\S*+.*?--|@ts-[\w-]++)[^\w]+(\w.{5,})"
)
PRIVATE = re.compile(r"\b(?:from|import)\s+minigrad(?:\.core\b|\S*\._(?!_|base\.optional\b))"
                     r"|\bfrom\s+minigrad\S*\s+import\b.*\W_[a-z]")

# Put together here, so that this file does not hold them.
REGISTRIES = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "yarn" + "pkg.com"]
REGISTRIES += ["deb." + "debian.org", "security." + "debian.org", "conda." + "anaconda.org", "jsr" + ".io"]
MACHINE_PATHS = [rf"(?<![\w.~])/{top}/(?!\.\.)[\w.-]+" for top in ("work", "root", "home", "Users")]
MACHINE_PATHS += [r"[A-Z]:\\\\?Users"]
TEMPORARY = r"(?<![\w.~])/tmp/[\w.-]+"


def tracked(root: Path) -> list[str]:
    """The files that git keeps, by their path from the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted(name for name in listed.split("\0") if name and (root / name).is_file())


def texts(root: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """The text of each file that is one."""
    for name in names:
        content = (root / name).read_bytes()
        if b"\0" not in content:
            yield name, content.decode("utf-8", errors="replace")


def long_files(root: Path, names: list[str]) -> list[str]:
    """Source files of more lines than a reader holds in mind; the cells of a lesson are counted by its linter."""
    sizes = {name: text.count("\n") for name, text in texts(root, names)
             if _is_source(name) and not name.startswith("notebooks/src/")}
    found = {name: f"{name}: {lines} lines" for name, lines in sizes.items() if lines > FILE_LINES}
    return _unexcused(found, LONG_FILES)


def long_functions(root: Path, names: list[str]) -> list[str]:
    """Python functions of too many lines, from `def` to the end, docstring apart."""
    found = {}
    for name, text in texts(root, [name for name in names if name.endswith(".py") and _is_source(name)]):
        for function, node in _functions(ast.parse(text)):
            if (lines := _length(node)) > FUNCTION_LINES:
                found[f"{name}: {function}"] = f"{name}:{node.lineno}: {function} has {lines} lines"
    return _unexcused(found, LONG_FUNCTIONS)


def full_folders(root: Path, names: list[str]) -> list[str]:
    """Folders with more files than a reader takes in at a glance.

    Every file that git keeps counts, whatever its kind, but not those of folders below. What nobody reads file by file
    is exempt: programs that are compared line by line, and what a program makes.
    """
    sizes = Counter(name.rpartition("/")[0] for name in names if not _is_made(name))
    found = {folder: f"{folder or '.'}: {files} files" for folder, files in sizes.items() if files > FOLDER_FILES}
    return _unexcused(found, FULL_FOLDERS)


def large_parts(root: Path, names: list[str]) -> list[str]:
    """Parts of the source that have grown beyond what somebody reads."""
    found = []
    for what, part in PARTS.items():
        sizes = [text.count("\n") for _, text in texts(root, [name for name in names if _is_source(name)
                                                              and name.startswith(part.folders)])]
        if sum(sizes) > part.lines:
            found.append(f"{what}: {sum(sizes)} lines")
        if part.files is not None and len(sizes) > part.files:
            found.append(f"{what}: {len(sizes)} files")
    return found


def many_imports(root: Path, names: list[str]) -> list[str]:
    """A larger share of import lines in minigrad than a reader should have to pass over."""
    lines = imports = 0
    for _, text in texts(root, [name for name in names if name.startswith("minigrad/") and name.endswith(".py")]):
        lines += text.count("\n")
        imports += sum(node.end_lineno - node.lineno + 1 for node in ast.walk(ast.parse(text))
                       if isinstance(node, ast.Import | ast.ImportFrom) and node.end_lineno)
    return [f"minigrad: {imports} of {lines} lines are imports"] if imports > IMPORTS * lines else []


def import_circles(root: Path, names: list[str]) -> list[str]:
    """Modules that import each other, by whatever way round, in Python or in TypeScript; imports for types count.

    A name that a Python package hands on counts as an import of the module in which it is defined.
    """
    python, script = Imports(root, names), ScriptImports(root, names)
    paths, graph = python.paths | script.paths, python.graph | script.graph
    closing = {f"{module} -> {other}" for circle in circles(graph) for module in circle
               for other in graph[module] & set(circle)}
    rest = {module: {other for other in others if f"{module} -> {other}" not in KNOWN_CIRCLES}
            for module, others in graph.items()}
    found = [f"{paths[circle[0]]}: imported in a circle: {', '.join(circle)}" for circle in circles(rest)]
    return found + [f"{edge}: the exception is not needed" for edge in KNOWN_CIRCLES if edge not in closing]


def long_cells(root: Path, names: list[str]) -> list[str]:
    """Code cells of a lesson of too many lines; cells in which the student writes are exempt."""
    found = []
    for name, text in texts(root, [name for name in names if name.endswith(".ipynb")]):
        for number, cell in enumerate(json.loads(text)["cells"]):
            lines = "".join(cell["source"]).strip("\n").count("\n") + 1
            exempt = {"answer", "exercise", "solution"} & set(cell["metadata"].get("tags", []))
            if cell["cell_type"] == "code" and lines > CELL_LINES and not exempt:
                found.append(f"{name}: cell {number} has {lines} lines")
    return found


def registry_addresses(root: Path, names: list[str]) -> list[str]:
    """Addresses of package registries: they change from machine to machine, and a lock file needs none."""
    return _matches(root, names, re.compile("|".join(map(re.escape, REGISTRIES))))


def machine_paths(root: Path, names: list[str]) -> list[str]:
    """Paths of somebody's machine; a test may speak of temporary files."""
    tests = [name for name in names if name.startswith("tests/")]
    others = [name for name in names if name not in tests]
    patterns = re.compile("|".join(MACHINE_PATHS)), re.compile("|".join([*MACHINE_PATHS, TEMPORARY]))
    return _matches(root, tests, patterns[0]) + _matches(root, others, patterns[1])


def unexplained_ignores(root: Path, names: list[str]) -> list[str]:
    """Silenced warnings without their reason on the same line."""
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts(root, names)
        if _is_source(name) or name.endswith(".ipynb")
        for number, line in enumerate(text.splitlines(), 1)
        if IGNORE.search(_without_strings(line)) and not REASON.search(line)
    ]


def stray_versions(root: Path, names: list[str]) -> list[str]:
    """A version of the project elsewhere than in `minigrad/__init__.py`; a link's tag must be that one."""
    version = version_of(root)
    found = []
    for name in ("pyproject.toml", "CITATION.cff", "widgets/frontend/package.json"):
        if name in names and re.search(r'^\s*"?version"?\s*[:=]', (root / name).read_text(encoding="utf-8"), re.M):
            found.append(f"{name} has a version of its own")
    for name, text in texts(root, [name for name in names if name.endswith(".md")]):
        tags = re.findall(r"/v(\d+\.[\w.]+)\?", text)
        found += [f"{name}: v{tag} is not v{version}" for tag in tags if tag != version]
    return found


def stray_addresses(root: Path, names: list[str]) -> list[str]:
    """Addresses of the repository that differ from the one in pyproject.toml; outside README.md there are none,
    but for that of the site, and in what the lessons show, where links lead there."""
    host, owner, repository = address_of(root).removeprefix("https://").split("/")
    site = f"https://{owner}.github.io/{repository}"
    binder = f"https://mybinder.org/v2/gh/{owner}/{repository}/"
    known = (f"https://{host}/{owner}/{repository}", binder, f"{site}/lab/")
    known_site = ("widgets/minigrad_widgets/address.py", site)
    found = []
    for name, text in texts(root, names):
        if name == "pyproject.toml" or _is_made(name):
            continue
        for link in re.findall(rf"https?://[^\s)\"'>]*{re.escape(repository)}[^\s)\"'>]*", text):
            shown = name.startswith("tests/lessons/executed/") and link.startswith(f"{site}/lessons/")
            if not shown and (name, link) != known_site and (name != "README.md" or not link.startswith(known)):
                found.append(f"{name}: {link}")
    return found


def dead_links(root: Path, names: list[str]) -> list[str]:
    """Links of the Markdown files to files that are not there."""
    found = []
    for name, text in texts(root, [name for name in names if name.endswith(".md")]):
        for link in re.findall(r"]\(([^)#?\s]+)[^)]*\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text):
            if "://" not in link and not ((root / name).parent / link).exists():
                found.append(f"{name}: {link}")
    return found


def private_names(root: Path, names: list[str]) -> list[str]:
    """What the lessons take from minigrad that is not public: a student can only use what has a name.

    `minigrad._base.optional` apart, which every package of this distribution may use.
    """
    found = []
    for name in names:
        if not name.startswith("notebooks/") or not name.endswith((".py", ".ipynb")):
            continue
        for line in _code(root / name):
            if PRIVATE.search(line):
                found.append(f"{name}: {line.strip()}")
    return found


def broken_floors(root: Path) -> list[str]:
    """What import-linter has to say, from the contracts in pyproject.toml, about the packages under this root."""
    program = (
        "import sys; sys.path[:0] = ['.', 'widgets', 'notebooks']; "
        "from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, encoding="utf-8")
    return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines()


def modules_without_a_floor(root: Path, names: list[str]) -> list[str]:
    """Modules of minigrad that no layer of the contracts names: import-linter would say nothing about them."""
    tools = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = next(each["layers"] for each in tools["importlinter"]["contracts"] if each["type"] == "layers")
    floors = {word.strip("() ") for layer in layers for word in layer.split(":")}
    modules = [
        name.removesuffix(".py").replace("/", ".")
        for name in names
        if name.startswith("minigrad/") and name.endswith(".py") and not name.endswith("__init__.py")
    ]
    return [module for module in modules if not any(f"{module}.".startswith(f"{floor}.") for floor in floors)]


def version_of(root: Path) -> str:
    """The version, from its one place."""
    text = (root / "minigrad" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.M)
    assert found, "minigrad/__init__.py has no __version__"
    return found[1]


def address_of(root: Path) -> str:
    """The repository's address, from its one place."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["urls"]["Repository"])


class Locked(NamedTuple):
    """A package of a lock file."""

    name: str
    version: str
    hashes: list[str]


def locked(path: Path) -> list[Locked]:
    """The packages of a file for `pip install --require-hashes`."""
    text = re.sub(r"^#.*$", "", path.read_text(encoding="utf-8"), flags=re.M).replace("\\\n", " ")
    return [Locked(*found.groups(), re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
            for line in text.splitlines() if (found := re.match(r"([\w.-]+)(?:\[[\w,-]+])?==([\w.+!]+)", line))]


def pins(path: Path) -> dict[str, str]:
    """The versions of a lock file, by package."""
    return {each.name.lower().replace("_", "-"): each.version for each in locked(path)}


def loose_actions(text: str) -> list[str]:
    """The actions of a workflow that are not named by a commit, with their version in words behind it."""
    used = re.findall(r"uses:\s*(\S+)(.*)", text)
    return [name for name, rest in used if not re.search(r"@[0-9a-f]{40}$", name) or not re.search(r"# v\d", rest)]


def _matches(root: Path, names: list[str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}: {found[0]}"
        for name, text in texts(root, names)
        for number, line in enumerate(text.splitlines(), 1)
        if (found := pattern.search(line))
    ]


def _unexcused(found: dict[str, str], excused: dict[str, str]) -> list[str]:
    """What is found and has no reason, and the reasons for what is not found."""
    return [line for key, line in found.items() if key not in excused] + [
        f"{key}: the exception is not needed" for key in excused if key not in found]


def _is_made(name: str) -> bool:
    return name.startswith(MADE)


def _is_source(name: str) -> bool:
    return name.endswith(SOURCES) and not _is_made(name)


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """All functions below a node, each with the names of the classes and functions around it."""
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{prefix}{child.name}."
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
        yield from _functions(child, inner)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function without its decorators and its docstring."""
    assert node.end_lineno is not None
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is None or first.end_lineno is None:
        return node.end_lineno - node.lineno + 1
    return node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1)


def _without_strings(line: str) -> str:
    """The line without its quoted parts: a pattern or a message may name what it looks for."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '""', line)


def _code(path: Path) -> list[str]:
    """The code lines of a module or of a notebook."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return text.splitlines()
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return [line for cell in cells for line in "".join(cell["source"]).splitlines()]
