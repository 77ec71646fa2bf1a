"""The map of a model: which boxes a graph opens with, so that they tell what the model is.

`gather` adds scopes to a graph with modules: one for the ops of the loss, one for each row of siblings that are alike
(same class, ops and shapes), such as `h.0 … h.11 ×12`, and one for each run of ops between modules. `opening` then
opens the largest boxes first, until there are at least `FEWEST` or only modules without modules are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from minigrad_widgets.graph.folding import opened, owners, parents_first, runs

Data = dict[str, Any]
Signature = tuple[Any, ...]

LIMIT = 60  # boxes that are drawn at first of a graph without modules
SMALL = 30  # a graph of up to so many nodes is shown whole; it is also the most boxes that a map opens with
LEAST = 12  # where one layer is asked for, a graph of up to so many
FEWEST = 8
ALIKE = 3  # so many siblings in a row are one box
PERIOD = 8  # the most siblings and ops between them that repeat together
CROWD = 24  # a box with more in it is cut into `PIECES`
PIECES = 16
VIEWS = frozenset({"Alias", "Expand", "Permute", "Reshape", "ReshapeAlias", "Select", "Slice", "Squeeze", "T",
                   "Transpose", "UnsafeView", "Unsqueeze", "View"})


def is_map(data: Data, model: bool) -> bool:
    """Return whether a graph has modules, and is large enough to be folded: of a model, two layers suffice."""
    scopes, nodes = data["scopes"], data["nodes"]
    modules = {at for at, scope in enumerate(scopes) if scope["module"]}
    inner = {record.get("scope") for record in nodes} & modules - {scope["parent"] for scope in scopes}
    layers = [scope for scope in inner if not _is_loss(data, -1 - scope)]
    return bool(modules) and (len(nodes) > (LEAST if model else SMALL) or model and len(layers) > 1)


def gather(data: Data, model: bool = False) -> None:
    """Add scopes for the loss, for siblings that are alike and for runs of ops between modules.

    An item is a node or, negative, -1 - a scope; ids do not change, but a parent may have a higher one.
    """
    if not is_map(data, model):
        return
    _take_in_views(data, {scope["parent"] for scope in data["scopes"]})
    found = dict(runs(data))
    known = signatures(data, found)
    outer = {scope for scope, items in found.items() if any(item < 0 for item in items)}
    losses = set(_losses(data, outer))
    for scope in outer:
        items = list(_with_loss(data, scope, found[scope], losses))
        items = list(_repeated(data, scope, items, known))
        items = list(_between(data, scope, items))
        _cut(data, scope, items)
    _take_in_leaves(data, outer)


def _take_in_views(data: Data, outer: set[int | None]) -> None:
    """Put views that the caller of a module made of its result into the module."""
    nodes, callers = data["nodes"], _callers(data)
    numbered = [(record["sequence_nr"], at) for at, record in enumerate(nodes) if record["sequence_nr"] is not None]
    for _, at in sorted(numbered):
        node = nodes[at]
        if node.get("scope") in outer and node["name"].partition("Backward")[0] in VIEWS:
            made = [nodes[edge[0]].get("scope") for edge in node["next"] if edge is not None]
            if len(made) == 1 and made[0] not in outer and node.get("scope") in callers[made[0]]:
                node["scope"] = made[0]


def _callers(data: Data) -> dict[int | None, set[int | None]]:
    """By scope, those around it; None is the program."""
    found: dict[int | None, set[int | None]] = {None: set()}
    for scope, parent in parents_first(data["scopes"]):
        found[scope] = {parent, *found[parent]}
    return found


def _take_in_leaves(data: Data, outer: set[int | None]) -> None:
    """Put the leaves of parameters that lie between modules into the only box that uses them."""
    users: dict[int, set[int | None]] = {}
    for record in data["nodes"]:
        for edge in record["next"]:
            if edge is not None and data["nodes"][edge[0]]["sequence_nr"] is None:
                users.setdefault(edge[0], set()).add(record.get("scope"))
    for leaf, (user, *more) in users.items():
        if data["nodes"][leaf].get("scope") in outer and user is not None and not more:
            data["nodes"][leaf]["scope"] = user


def signatures(data: Data, found: dict[int | None, list[int]]) -> dict[int, int]:
    """Number every item so that items are alike if their numbers are equal: they have the same ops and shapes."""
    numbers: dict[Signature, int] = {}
    known: dict[int, int] = {}

    def shapes(tensors: list[int | None]) -> Signature:
        return tuple(None if at is None else tuple(data["tensors"][at]["shape"]) for at in tensors)

    for node, record in enumerate(data["nodes"]):
        told = (record["name"], shapes(record["inputs"]), shapes(record["outputs"]))
        known[node] = numbers.setdefault(told, len(numbers))
    for scope, _ in reversed(list(parents_first(data["scopes"]))):
        inside = tuple(known[item] for item in found.get(scope, ()))
        known[-1 - scope] = numbers.setdefault((data["scopes"][scope]["module"], inside), len(numbers))
    return known


def title(data: Data, items: list[int]) -> str:
    """Return what some items are called together."""
    words = [data["nodes"][item]["name"].partition("Backward")[0] if item >= 0 else _word(data["scopes"][-1 - item])
             for item in items]
    firsts = list(dict.fromkeys(word.partition(" … ")[0] for word in words))
    if len(firsts) < 4 and all(" … " not in word for word in words):
        return ", ".join(firsts)
    return f"{words[0].partition(' … ')[0]} … {words[-1].rpartition(' … ')[2].partition(' ×')[0]}"


def _word(scope: Data) -> str:
    name: str = scope["name"] or scope["module"]
    return f"{name} {scope['module']}".rstrip() if name.isdigit() else name


def _add(data: Data, parent: int | None, items: list[int], name: str) -> int:
    """Put items into a new scope; return it as an item."""
    scopes = data["scopes"]
    for item in items:
        if item >= 0:
            data["nodes"][item]["scope"] = len(scopes)
        else:
            scopes[-1 - item]["parent"] = len(scopes)
    scopes.append({"name": name, "module": "", "parent": parent})
    return -len(scopes)


def _is_loss(data: Data, item: int) -> bool:
    return item < 0 and data["scopes"][-1 - item]["module"].endswith("Loss")


def _losses(data: Data, outer: set[int | None]) -> Iterator[int]:
    """Yield the items with which losses end: where a backward pass begins outside the innermost modules, or in a
    module for losses."""
    for event in data["events"]:
        for node, *_ in event["roots"] if event["kind"] == "backward_start" else ():
            item, scope = node, data["nodes"][node].get("scope")
            while scope is not None and (scope not in outer or _is_loss(data, -1 - scope)):
                item, scope = -1 - scope, data["scopes"][scope]["parent"]
            if item >= 0 or _is_loss(data, item):
                yield item


def _with_loss(data: Data, scope: int | None, items: list[int], losses: set[int]) -> Iterator[int]:
    """Make one item of each loss: the ops and modules for losses from the last other module to it."""
    run: list[int] = []
    for item in items:
        if item < 0 and not _is_loss(data, item):
            yield from run
            yield item
            run = []
            continue
        run.append(item)
        if item in losses:
            yield _add(data, scope, run, "loss")
            run = []
    yield from run


def _repeated(data: Data, scope: int | None, items: list[int], known: dict[int, int]) -> Iterator[int]:
    """Make one item of what repeats: of siblings that are alike or, if there is more between them, of the pieces."""
    numbers = [known.get(item, item) for item in items]  # a loss is like nothing else
    at = 0
    while at < len(items):
        period, times = max(((period, _times(numbers, at, period)) for period in range(1, PERIOD + 1)),
                            key=lambda each: (each[1] >= ALIKE) * each[0] * each[1] - each[0] / (PERIOD + 1))
        row = items[at : at + period * times]
        if times < ALIKE or all(item >= 0 for item in row) or period * times == len(items) and scope is not None \
                and not data["scopes"][scope]["module"]:
            yield items[at]
            at += 1
            continue
        units = [row[start : start + period] for start in range(0, len(row), period)]
        pieces = row if period == 1 else [
            _add(data, None, unit, title(data, [item for item in unit if item < 0])) for unit in units]
        modules = [item for item in row if item < 0]
        name = f"{title(data, modules[:1])} … {title(data, modules[-1:])} ×{times}"
        group = _add(data, scope, pieces, name)
        _cut(data, -1 - group, pieces)
        yield group
        at += period * times


def _times(numbers: list[int], at: int, period: int) -> int:
    """How often what is at a place repeats."""
    unit, times = numbers[at : at + period], 1
    while numbers[at + times * period : at + (times + 1) * period] == unit and len(unit) == period:
        times += 1
    return times


def _between(data: Data, scope: int | None, items: list[int]) -> Iterator[int]:
    """Make one item of each run of ops between modules."""
    for loose, run in groupby(items, lambda item: item >= 0):
        each = list(run)
        if loose and len(each) < len(items) and (len(each) > 1 or _has_leaf(data, scope, each[0])):
            yield _add(data, scope, each, title(data, each))
        else:
            yield from each


def _has_leaf(data: Data, scope: int | None, item: int) -> bool:
    """Whether an op between modules uses a parameter that is not a module's."""
    leaves = [data["nodes"][edge[0]] for edge in data["nodes"][item]["next"] if edge is not None]
    return scope is not None and any(leaf["sequence_nr"] is None and leaf.get("scope") == scope for leaf in leaves)


def _cut(data: Data, scope: int | None, items: list[int]) -> None:
    """Cut what is too much for one box into contiguous pieces, and those again."""
    if len(items) <= CROWD:
        return
    size = -(-len(items) // PIECES)
    for start in range(0, len(items), size):
        piece = items[start : start + size]
        if len(piece) > 1:
            _cut(data, -1 - _add(data, scope, piece, title(data, piece)), piece)


def opening(data: Data, limit: int = LIMIT, model: bool = False) -> list[int]:
    """Return the scopes that are folded at first.

    Nothing is folded in a small graph, if no `model` was asked for. A model opens as a map: the largest boxes are
    opened until there are at least `FEWEST`, half as many of a small one, those that are alike together, but never so
    that there are more than `SMALL`, and none that has only ops in it. From a row of blocks that are alike, the first
    is taken out and opened instead of all. Without modules as little is folded as needed to stay within `limit` boxes.
    """
    if not is_map(data, model):
        return _by_depth(data, limit)
    inside: dict[int | None, list[int]] = {}
    for scope, record in enumerate(data["scopes"]):
        inside.setdefault(record["parent"], []).append(scope)
    counts = _counts(data)
    known = signatures(data, dict(runs(data)))
    rows = {row for row, scopes in inside.items() if row is not None and not data["scopes"][row]["module"]
            and len(scopes) > 1 and len({known[-1 - scope] for scope in scopes}) == 1}
    folded = {scope for scope in inside[None] if counts[scope]}
    fewest = FEWEST if len(data["nodes"]) > SMALL else FEWEST // 2
    shut = {scope for scope in range(len(counts)) if not inside.get(scope)}  # only ops in it, or too large to be opened
    while _boxes(data, folded, counts) < fewest and (waiting := folded - shut):
        first = max(waiting, key=lambda scope: (scope not in rows, counts[scope], -scope))
        if first in rows and len(inside[first]) > 1 and inside[first][0] not in rows and _is_deep(
                data, inside[first][0], inside):
            folded.add(_first_apart(data, first, inside, counts))
            continue
        alike = {scope for scope in waiting if known[-1 - scope] == known[-1 - first]}
        for chosen in (alike, {first}):
            tried = folded - chosen | {each for scope in chosen for each in inside.get(scope, ()) if counts[each]}
            if _boxes(data, tried, counts) <= SMALL:
                folded = tried
                break
        else:
            shut.add(first)
    return sorted(folded)


def _boxes(data: Data, folded: set[int], counts: list[int]) -> int:
    """How many boxes there are: those of the folded scopes, none of which is in another, and the nodes beside them."""
    return len(data["nodes"]) + sum(1 - counts[scope] for scope in folded)


def _is_deep(data: Data, scope: int, inside: dict[int | None, list[int]]) -> bool:
    """Whether there are modules in a module, or in those of a repeated piece."""
    modules = [scope] if data["scopes"][scope]["module"] else inside.get(scope, ())
    return any(inside.get(each) for each in modules)


def _first_apart(data: Data, row: int, inside: dict[int | None, list[int]], counts: list[int]) -> int:
    """Take the first sibling out of a row of siblings that are alike; return it."""
    first, *rest = inside[row]
    record = data["scopes"][row]
    data["scopes"][first]["parent"] = record["parent"]
    inside[record["parent"]].append(first)
    inside[row] = rest
    counts[row] -= counts[first]
    name, last = (title(data, [-1 - rest[at]]) for at in (0, -1))
    record["name"] = f"{name} … {last} ×{len(rest)}" if rest[1:] else name
    return first


def _counts(data: Data) -> list[int]:
    """How many nodes are in each scope, with those in the scopes inside it."""
    counts = [0] * len(data["scopes"])
    for record in data["nodes"]:
        if record.get("scope") is not None:
            counts[record["scope"]] += 1
    for scope, parent in reversed(list(parents_first(data["scopes"]))):
        if parent is not None:
            counts[parent] += counts[scope]
    return counts


def _by_depth(data: Data, limit: int) -> list[int]:
    if len(data["nodes"]) <= limit:
        return []
    depths: dict[int | None, int] = {None: -1}
    for scope, parent in parents_first(data["scopes"]):
        depths[scope] = depths[parent] + 1
    folded: list[int] = []
    for depth in range(max(depths.values()), -1, -1):
        folded = opened(data, [scope for scope, _ in enumerate(data["scopes"]) if depths[scope] == depth])
        if len(set(owners(data, folded))) <= limit:
            break
    return folded
