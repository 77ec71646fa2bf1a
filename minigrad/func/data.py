"""`.data` inside of transforms: cut from the innermost level that a tensor belongs to, and from no other.

Outside of transforms `.data` has no history at all. Inside, a level around the tensor's own still differentiates by it,
as in PyTorch: so there `Cut` keeps the graph, and only lets no pass of the level itself through.
"""

from collections.abc import Sequence
from typing import Any

from minigrad.autograd.forward_ad import STATE as FORWARD
from minigrad.autograd.forward_ad import Following, Tangents, within
from minigrad.backends.batched import Level, batched_at
from minigrad.core import Node, Tensor, edge_target, materialized, record1
from minigrad.func.batching import carried
from minigrad.func.captured import born_with
from minigrad.func.levels import STACK, AllTransforms
from minigrad.func.transforms import STATE as REVERSE
from minigrad.func.transforms import Reverse

READING = "accessing `data` under vmap transform is not allowed"
WRITING = "mutating directly with `.data` {} is not allowed."


@carried
class Cut(Node):
    """A tensor that passes of a level go no further than; None: of none."""

    @staticmethod
    def forward(a: Tensor, level: Reverse | None) -> Tensor:
        result: Tensor = record1(Cut, materialized(a), a, (), (level,))
        return result

    def backward(self, xp: Any, g: Any, level: Reverse | None) -> Any:
        passing = REVERSE.passing or next((each for each in STACK.levels if each is level), None)
        return None if passing is level is not None else g


def level_of(tensor: Tensor) -> Any:
    """The innermost level that a tensor belongs to: one that it is a batch of, or is differentiated in; or None."""
    for level in reversed(STACK.levels):
        if type(level) is Level:
            belongs = batched_at(tensor.array, level)
        elif type(level) is Tangents:
            belongs = level.get(tensor) is not None
        else:
            belongs = tensor._requires_grad and leads_to(tensor, level.inputs)
        if belongs:
            return level
    return None


def leads_to(tensor: Tensor, inputs: Sequence[Tensor]) -> bool:
    """Whether a tensor that requires grad was computed from one of some inputs."""
    wanted = {id(edge_target(each)) for each in inputs}
    stack, seen = [edge_target(tensor)], set()
    while stack:
        target = stack.pop()
        if id(target) in wanted:
            return True
        if target is not None and id(target) not in seen:
            seen.add(id(target))
            stack += () if isinstance(target, Tensor) else target.next
    return False


def cut(data: property) -> property:
    """The property `data` of tensors, which looks at the transforms that run. Raises RuntimeError, PyTorch's, for a
    batch, and for `x.data = …` unless the innermost transform is `vmap` and neither of the two is a batch."""
    def get(self: Tensor) -> Any:
        level = level_of(self)
        if type(level) is Level:
            raise RuntimeError(READING)
        if level is None or (type(level) is Reverse and not level.reaches_out([self])):
            made = data.__get__(self)
            born_with(made, self)
            Following.lend(self, made, shared=True)
            return made
        with within(tuple([each for each in FORWARD.levels if each is not level])):
            return Cut.forward(self, level if type(level) is Reverse else None)

    def assign(self: Tensor, new: Tensor) -> None:
        if STACK.levels and (type(STACK.levels[-1]) is not Level or level_of(self) or level_of(new)):
            raise RuntimeError(WRITING.format(
                "under vmap transform" if type(STACK.levels[-1]) is Level else "inside functorch transform"))
        data.__set__(self, new)

    return property(get, assign, data.__delete__)


AllTransforms.changes["data"] = cut
