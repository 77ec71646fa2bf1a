"""What a backward pass will do, computed from numbers alone: minigrad's rule, which is PyTorch's, for traces of both.

PyTorch counts in C++, where nobody can see it; the graph, the roots and the wanted inputs determine the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["Plan"]

Edges = Mapping[int, Sequence[tuple[int, int] | None]]


class Plan:
    """`needs`: how many gradients each node will still receive; `captures`: by node, the (output_nr, tensor) whose
    gradients `autograd.grad` wants."""

    def __init__(self, edges: Edges, roots: Sequence[tuple[int, int]],
                 wanted: Sequence[tuple[int, int, int | None]], accumulate: bool) -> None:
        self.edges = edges
        self.needs: dict[int, int] = {}
        self.captures: dict[int, list[tuple[int, int | None]]] = {}
        self.chosen: set[int] | None = None
        starts = [node for node, _ in roots]
        if wanted or not accumulate:
            targets = {node for node, _, _ in wanted}
            self.chosen = self.reaching(starts, targets) | (targets if accumulate else set())
            if not accumulate:
                for node, output_nr, tensor in wanted:
                    self.captures.setdefault(node, []).append((output_nr, tensor))
            if len(starts) == 1:
                self.captures.setdefault(starts[0], [])
        self.count(starts)

    def runs(self, node: int) -> bool:
        """Return whether the pass runs a node, rather than only bringing it gradients."""
        return self.chosen is None or node in self.chosen

    def reaching(self, starts: Sequence[int], targets: set[int]) -> set[int]:
        """The nodes with one of the targets below them; a node is visited twice, on the way down and to decide."""
        found: set[int] = set()
        seen: set[int] = set()
        stack = [(node, False) for node in starts]
        while stack:
            node, known = stack.pop()
            below = [e[0] for e in self.edges.get(node, ()) if e is not None]
            if known:
                if any(n in found or n in targets for n in below):
                    found.add(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                stack.extend([(n, False) for n in below if n not in seen])
        return found

    def count(self, starts: Sequence[int]) -> None:
        """Count the edges that lead to each node of the pass."""
        needs, stack = self.needs, [list(starts)]
        while stack:
            for node in stack.pop():
                if not (self.runs(node) or node in self.captures):
                    continue
                if node not in needs:
                    needs[node] = 0
                    if self.runs(node):
                        stack.append([e[0] for e in self.edges.get(node, ()) if e is not None])
                needs[node] += 1

    def take(self, node: int) -> bool:
        """Note that a gradient has arrived; return whether it was the last one."""
        self.needs[node] -= 1
        return self.needs[node] == 0
