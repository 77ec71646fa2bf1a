"""Folds parts of a graph: calls of modules and, where these do not help, runs of ops such as the steps of a loop.

`model_map.py` decides what is folded at first. A folded call is one box; the edges between two boxes are one.
`Folding` provides the graph and its frames as drawn then, to pictures and, at first, to the browser, which folds and
unfolds on its own from there (frontend/src/trace/groups.ts).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from operator import eq
from typing import Any

Data = dict[str, Any]
ByBox = dict[int, Any]

LARGE = 500  # nodes: in larger graphs runs of ops are folded too
LONG = 64  # a run of fewer ops is not folded
PIECES = 50  # the most boxes that a run is folded into
PERIODS = 64  # loops with more ops per step are not found
LONGEST = 30  # letters of the title of a box
STATUSES = ("early", "running", "ready", "waiting")


def add_runs(data: Data) -> None:
    """Make scopes for long runs of ops and calls of modules in a large graph, so that they can be folded too.

    A run is cut where it repeats, into contiguous pieces: folded, they are a chain. A piece comes after the scopes in
    it: ids do not change, but a parent may have a higher one.
    """
    nodes, scopes = data["nodes"], data["scopes"]
    if len(nodes) <= LARGE:
        return
    found: dict[int, int] = {}
    for scope, run in runs(data):
        names = [nodes[at]["name"] if at >= 0 else scopes[-1 - at]["module"] for at in run]
        for part, title in pieces(run, names):
            found.update(dict.fromkeys(part, len(scopes)))
            scopes.append({"name": title, "module": "", "parent": scope})
    for at, piece in found.items():
        if at >= 0:
            nodes[at]["scope"] = piece
        else:
            scopes[-1 - at]["parent"] = piece
    users: dict[int, set[int | None]] = {}
    for record in nodes:
        for edge in record["next"]:
            if edge is not None and nodes[edge[0]]["sequence_nr"] is None and nodes[edge[0]].get("scope") is None:
                users.setdefault(edge[0], set()).add(record.get("scope"))
    for leaf, (used, *more) in users.items():
        if used is not None and not more:
            nodes[leaf]["scope"] = used


def runs(data: Data) -> list[tuple[int | None, list[int]]]:
    """For each scope, what is directly in it, in the order in which it ran: a node, or -1 - scope for a scope."""
    inside: dict[int | None, dict[int, None]] = {}
    numbers = [(record["sequence_nr"], node) for node, record in enumerate(data["nodes"])
               if record["sequence_nr"] is not None]
    for _, node in sorted(numbers):
        at, scope = node, data["nodes"][node].get("scope")
        while scope is not None and at not in inside.get(scope, ()):
            inside.setdefault(scope, {})[at] = None
            at, scope = -1 - scope, data["scopes"][scope]["parent"]
        if scope is None:
            inside.setdefault(None, {})[at] = None
    return [(scope, list(run)) for scope, run in inside.items()]


def pieces(run: list[int], names: list[str]) -> Iterator[tuple[list[int], str]]:
    """Cut a run of ops into pieces, each with its title."""
    if len(run) < LONG:
        return
    period, start = repetition(names)
    size = -(-max(len(run) // PIECES, period, 8) // period) * period
    cuts = [*([0] if start else []), *range(start, len(run), size), len(run)]
    for a, b in pairwise(cuts):
        whole = (b - a) % period == 0 and names[a:b] == names[a : a + period] * ((b - a) // period)
        words = [name.removesuffix("Backward0") for name in names[a : a + period if whole else b]]
        title = ", ".join(words) if len(words) < 4 else f"{words[0]} … {words[-1]}"
        yield run[a:b], f"{title} × {(b - a) // period}" if whole and b - a > period else title


def repetition(names: list[str]) -> tuple[int, int]:
    """Return the number of ops after which a run repeats, and from where on; 1 and 0 if it does not."""
    for period in range(1, min(PERIODS, len(names) // 4)):
        same = list(map(eq, names, names[period:]))
        if sum(same) >= 0.9 * len(same):
            start = next((at for at in range(len(same)) if all(same[at : at + period])), 0)
            return period, start
    return 1, 0


def opened(data: Data, scopes: list[int]) -> list[int]:
    """Return these calls, but replace one whose inner calls hold more than half of all nodes by these inner calls."""
    counts = [0] * len(data["scopes"])
    for record in data["nodes"]:
        if record.get("scope") is not None:
            counts[record["scope"]] += 1
    inside: list[list[int]] = [[] for _ in counts]
    for scope, parent in reversed(list(parents_first(data["scopes"]))):
        if parent is not None and counts[scope]:
            counts[parent] += counts[scope]
            inside[parent].append(scope)
    found, left = [], scopes[::-1]
    while left:
        scope = left.pop()
        if 2 * sum(counts[each] for each in inside[scope]) > len(data["nodes"]):
            left += inside[scope]
        else:
            found.append(scope)
    return found


def parents_first(scopes: list[Data]) -> Iterator[tuple[int, int | None]]:
    """Yield every scope with its parent, parents first."""
    inside: dict[int | None, list[int]] = {}
    for at, scope in enumerate(scopes):
        inside.setdefault(scope["parent"], []).append(at)
    stack = inside.get(None, [])[::-1]
    while stack:
        at = stack.pop()
        yield at, scopes[at]["parent"]
        stack += inside.get(at, [])[::-1]


def owners(data: Data, folded: Iterable[int]) -> list[int]:
    """Return the box of each node: its own id, or -1 - the outermost folded scope that it is in."""
    shut = set(folded)
    cover: dict[int | None, int | None] = {None: None}
    for at, parent in parents_first(data["scopes"]):
        cover[at] = cover[parent] if cover[parent] is not None else at if at in shut else None
    covers = [cover[record.get("scope")] for record in data["nodes"]]
    return [node if each is None else -1 - each for node, each in enumerate(covers)]


def box_title(data: Data, scope: int) -> str:
    """Return what stands on a folded call: its name, after that of the module around it unless this is the outermost.

    A long name is cut in the middle. The browser has the same rule (frontend/src/trace/groups.ts).
    """
    record = data["scopes"][scope]
    name: str = record["name"] or record["module"]
    around = record["parent"]
    while around is not None and not data["scopes"][around]["module"]:
        around = data["scopes"][around]["parent"]
    if record["module"] and around is not None and data["scopes"][around]["parent"] is not None:
        name = f"{data['scopes'][around]['name'] or data['scopes'][around]['module']}.{name}"
    return name if len(name) <= LONGEST else f"{name[:LONGEST // 2 - 1]}…{name[-LONGEST // 2:]}"


def failure(data: Data, call: Any) -> Data:
    """Return where a graph says that the `call` of a module raised: `node` is the last one that ran in it or, if none
    did, in the innermost module around it; `met` are the two shapes that met. It is empty if nothing ran there."""
    given, own = call.shapes
    met = " · ".join([*given[:1], *own[:1]] if own else given[:2])
    around = [_around(data, record.get("scope")) for record in data["nodes"]]
    for scope in _around(data, call.scope):
        ran = [(data["nodes"][at]["sequence_nr"] is not None, at) for at, each in enumerate(around) if scope in each]
        if ran:
            node = max(ran)[1]  # no leaf, if an op ran
            return failure_at({"scope": call.scope, "node": node, "met": met}, data, node)
    return {}


def failure_at(failed: Data, data: Data, box: int) -> Data:
    """Return a failure with the `caption` of its box, a node or -1 - a folded scope, and whether it was `within` it.

    The browser has the same rule (frontend/src/trace/groups.ts).
    """
    scope = failed["scope"]
    around = _around(data, data["nodes"][box].get("scope") if box >= 0 else -1 - box)
    within = scope in around or (box < 0 and -1 - box in _around(data, scope))
    record = data["scopes"][scope]
    name = "" if box == -1 - scope else f"{record['name'] or record['module']} "
    told = f"{'' if within else '✕ then '}{name}raised"
    return {**failed, "within": within, "caption": f"{told}: {failed['met']}" if failed["met"] else told}


def _around(data: Data, scope: int | None) -> list[int]:
    """Return a scope and those around it."""
    found = []
    while scope is not None:
        found.append(scope)
        scope = data["scopes"][scope]["parent"]
    return found


class Folding:
    """A graph with some scopes folded: its boxes are the nodes of `data`, to be laid out and drawn like any graph."""

    def __init__(self, data: Data, folded: Iterable[int], compute_layout: Callable[[Data], Any]) -> None:
        self.folded = set(folded)
        owner = owners(data, self.folded)
        self.boxes = list(dict.fromkeys(owner))
        self.known = {box: at for at, box in enumerate(self.boxes)}
        self.members: list[list[int]] = [[] for _ in self.boxes]
        self.at = [self.known[box] for box in owner]
        for node, at in enumerate(self.at):
            self.members[at].append(node)
        self.keys: dict[str, str] = {}
        self.data = {**data, "nodes": [self._record(data, at) for at in range(len(self.boxes))]}
        if failed := data.get("failed"):
            at = self.at[failed["node"]]
            self.data["failed"] = {**failure_at(failed, data, self.boxes[at]), "node": at}
        self.data["layout"] = compute_layout(self.data)

    def _record(self, data: Data, at: int) -> Data:
        """Return a box as a node. Its edges to another folded box are one; those within it are none."""
        box = self.boxes[at]
        edges: dict[Any, int] = {}
        for node in self.members[at]:
            for index, edge in enumerate(data["nodes"][node]["next"]):
                to = None if edge is None else self.at[edge[0]]
                if to == at or (to is None and box < 0):
                    continue
                joined = to is not None and (box < 0 or self.boxes[to] < 0)
                name = (to, None) if joined else (to, 0 if edge is None else edge[1], node, index)
                self.keys[f"{node}:{index}"] = f"{at}:{edges.setdefault(name, len(edges))}"
        found = [None if to is None else [to, output_nr] for to, output_nr, *_ in edges]
        if box >= 0:
            return {**data["nodes"][box], "next": found}
        scope = data["scopes"][-1 - box]
        count = f"{len(self.members[at])} node{'s' * (len(self.members[at]) > 1)}"
        caption = f"{scope['module']} · {count}" if scope["module"] else count
        return {"name": box_title(data, -1 - box), "caption": caption, "next": found, "outputs": [], "saved": []}

    def layout(self) -> Data:
        """Return the positions, by the browser's names for boxes and edges."""
        placed = self.data["layout"]
        edges = {}
        for key, points in placed["edges"].items():
            at, index = map(int, key.split(":"))
            to = self.data["nodes"][at]["next"][index][0]
            edges[f"{self.boxes[at]}>{self.boxes[to]}"] = points
        spots = {str(self.boxes[int(at)]): spot for at, spot in placed["nodes"].items()}
        return {"nodes": spots, "size": placed["size"], "edges": edges}

    def frame(self, frame: Data) -> Data:
        """Return a frame of the trace for these boxes: a folded box has the status of its first unfinished node."""
        single = {node: at for node, at in enumerate(self.at) if self.boxes[at] >= 0}
        lit = frame["lit"]

        def of_nodes(key: str) -> ByBox:
            return {single[node]: value for node, value in frame[key].items() if node in single}

        return {**frame, "lit": None if lit is None else self.at[lit], "status": self._statuses(frame["status"]),
                "needs": of_nodes("needs"), "pending": of_nodes("pending"), "saved": self._saved(frame["saved"]),
                "ready": list(dict.fromkeys(self.at[node] for node in frame["ready"])),
                "edges": {self.keys[key]: value for key, value in frame["edges"].items() if key in self.keys}}

    def _statuses(self, status: dict[int, str]) -> ByBox:
        found = {}
        for at, nodes in enumerate(self.members):
            known = {status[node] for node in nodes if node in status}
            rest = "done" if known == {"done"} else "recorded"
            if known:
                found[at] = next((each for each in STATUSES if each in known), rest)
        return found

    def _saved(self, saved: dict[int, str]) -> ByBox:
        known = {at: {saved[node] for node in nodes if node in saved} for at, nodes in enumerate(self.members)}
        return {at: "held" if "held" in states else "released" for at, states in known.items() if states}
