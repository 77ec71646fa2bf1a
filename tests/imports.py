"""The imports between the modules of the packages and of the front end, as graphs, and the circles in them."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = re.compile(r"(?:widgets/|notebooks/)?(minigrad(?:_widgets|_lessons)?/.*)\.py")
FRONT_END = "widgets/frontend/src/"
# `from "./a"` after import and export, `import "./a"` and `import("./a")`, of types or of values.
FROM = re.compile(r"\b(?:from|import)\s*\(?\s*[\"'](\.[^\"']*)[\"']")


class Imports:
    """Which module of the Python packages imports which, by name."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.paths = {_module(found[1]): name for name in names if (found := PACKAGE.fullmatch(name))}
        self.trees = {module: ast.parse((root / name).read_text(encoding="utf-8"))
                      for module, name in self.paths.items()}
        self.graph = {module: {found for name, attribute in self.named(module)
                               if (found := self.home(name, attribute)) and found != module} for module in self.paths}

    def named(self, module: str) -> Iterator[tuple[str, str]]:
        """What the imports of a module name, wherever they stand: a module, and what is taken from it."""
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((self.absolute(module, node), alias.name) for alias in node.names)

    def absolute(self, module: str, node: ast.ImportFrom) -> str:
        """The module after `from`, which may be relative."""
        if not node.level:
            return node.module or ""
        package = self.paths[module].endswith("__init__.py")
        parts = module.split(".")[:len(module.split(".")) + package - node.level]
        return ".".join([*parts, *([node.module] if node.module else [])])

    def home(self, name: str, attribute: str) -> str | None:
        """The module in which an imported name is defined, as far as that can be told."""
        if attribute and f"{name}.{attribute}" in self.paths:
            return f"{name}.{attribute}"
        if name not in self.paths:
            return None
        if attribute and self.paths[name].endswith("__init__.py"):
            for node in self.trees[name].body:
                if isinstance(node, ast.ImportFrom):
                    for alias in node.names:
                        if (alias.asname or alias.name) == attribute:
                            return self.home(self.absolute(name, node), alias.name)
        return name


class ScriptImports:
    """Which module of the front end imports which, by its path without the ending; types count as values do."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.paths = {name.removesuffix(".ts"): name for name in names
                      if name.startswith(FRONT_END) and name.endswith(".ts")}
        self.graph = {module: {found for path in FROM.findall((root / name).read_text(encoding="utf-8"))
                               if (found := self.home(module, path)) and found != module}
                      for module, name in self.paths.items()}

    def home(self, module: str, path: str) -> str | None:
        """The module that a relative path leads to; none where it is a style sheet."""
        found = posixpath.normpath(posixpath.join(posixpath.dirname(module), path)).removesuffix(".js")
        return next((name for name in (found, f"{found}/index") if name in self.paths), None)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other along the arrows of a graph."""
    reached = {module: _reach(graph, module) for module in graph}
    groups = {tuple(sorted(other for other in reached[module] if module in reached.get(other, ())))
              for module in graph if module in reached[module]}
    return [list(group) for group in sorted(groups)]


def _module(path: str) -> str:
    """The module at a path, which is told without its ending."""
    return path.removesuffix("/__init__").replace("/", ".")


def _reach(graph: dict[str, set[str]], start: str) -> set[str]:
    """All that can be reached from a module, itself only where a way leads back."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
