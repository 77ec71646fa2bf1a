"""What a part of a graph did, be it a module, a row of modules or one op: the columns of the summary and of the map."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from math import prod
from typing import Any, NamedTuple

from minigrad.trace.query import Index, TracedTensor, around

__all__ = ["Row", "Rows", "flops"]

# Ops that only view memory differently or copy it, and AccumulateGrad, which computes nothing of a forward pass.
MOVES = re.compile(r"(View|Reshape|ReshapeAlias|UnsafeView|T|Transpose|Permute|Expand|Slice|Select|Squeeze|Unsqueeze|"
                   r"Alias|Detach|Split|SplitWithSizes|Unbind|AsStrided|Narrow|Unfold|Diagonal|Movedim|Flatten|"
                   r"Unflatten|AccumulateGrad|Clone|Copy|CopySlices|ToCopy|To|Contiguous|Cat|Stack|UnsafeSplit|Repeat|"
                   r"Embedding|Index|IndexSelect|IndexPut|Gather|Scatter|MaskedFill|MaskedSelect|Where|Flip|Roll|"
                   r"(Constant|Reflection|Replication)Pad(Nd|\dD))(Backward|$)")
PRODUCT = re.compile(r"(Linear|Mm|Bmm|Matmul|Dot|Mv|Cdist|EuclideanDist)(Backward|$)")
ADDED = re.compile(r"(Addmm|Baddbmm|Addmv)(Backward|$)")
CONVOLUTION = re.compile(r"(Mkldnn|Slow|Cudnn)?Conv")
RECURRENT = re.compile(r"(Mkldnn|Cudnn|Miopen)Rnn|(Lstm|Gru|Rnn(Tanh|Relu))$")


class Row(NamedTuple):
    """What some ops did together."""

    output: tuple[int, ...] | None
    """The shape of the first tensor that they returned; None if they returned none, or raised."""
    outputs: tuple[tuple[int, ...], ...]
    """The shapes of all tensors that they returned, such as the three of an LSTM."""
    parameters: int
    """The number of elements of the parameters that were used; a shared one counts where it belongs."""
    saved: int
    """The bytes that were kept for the backward pass. A storage counts once; parameters do not."""
    flops: int
    """An estimate of the floating-point operations, by shapes: two for each product and sum of a matrix product, a
    convolution or a recurrent layer, none for views and copies, and for any other op one for each entry of the largest
    tensor that it reads or returns."""
    forward_seconds: float | None
    """The time of the ops; None without `record(times=True)`."""
    backward_seconds: float | None
    """The time of their derivatives, in all passes."""
    gradient: float | None
    """The norm of the first gradient that reached the output; None if none came or its values were not kept."""


class Rows:
    """Makes the rows of a trace."""

    def __init__(self, index: Index) -> None:
        self.index, self.parts = index, index.parts
        self.counted: dict[int, int] = {}
        self.step_of: dict[int, int] = {}  # by node, the event of its op
        users: dict[int, list[int]] = defaultdict(list)
        for step, event in enumerate(self.parts.events):
            if event["kind"] == "forward" and not event.get("depth"):
                if event["node"] is not None:
                    self.step_of[event["node"]] = step
                for tensor in event["inputs"]:
                    if tensor is not None and self.parts.tensors[tensor]["parameter"]:
                        users[tensor].append(step)
        self.owned: dict[int, set[int]] = defaultdict(set)  # by step, the parameters that count there
        for tensor, steps in users.items():
            for step in self._home(tensor, steps):
                self.owned[step].add(tensor)

    def scopes_of(self, step: int) -> list[int]:
        """The calls of modules in which an op ran, the innermost first."""
        event = self.parts.events[step]
        node = event["node"]
        scope = event.get("scope") if node is None else self.parts.nodes[node].get("scope", event.get("scope"))
        return [*around(self.parts, scope)]

    def _home(self, tensor: int, steps: list[int]) -> list[int]:
        """The uses of a parameter in the module that its name says, or else the first."""
        path = (self.parts.tensors[tensor]["name"] or "").rpartition(".")[0]
        paths = self.index.paths
        return [step for step in steps if any(paths[scope] == path for scope in self.scopes_of(step))] or steps[:1]

    def row(self, nodes: Collection[int], steps: Collection[int], outputs: Sequence[int], last: int) -> Row:
        """Return what these nodes and the ops of these events did, which returned tensors after the event `last`."""
        parts, events = self.parts, self.parts.events
        shapes = tuple(tuple(parts.tensors[each]["shape"]) for each in outputs)
        gradient = self.index.gradient(outputs[0], last) if outputs else None
        parameters = set[int]().union(*(self.owned.get(step, ()) for step in steps))
        bare = [events[step] for step in steps if events[step]["node"] is None]
        counted = sum(map(self._flops, nodes))
        counted += sum(flops(event["op"].title().replace("_", ""), event, parts.tensors) for event in bare)
        return Row(shapes[0] if shapes else None, shapes,
                   sum(prod(parts.tensors[tensor]["shape"]) for tensor in parameters), self.index.saved_bytes(nodes),
                   counted, *self.index.seconds(nodes),
                   self._norm(gradient))

    def _flops(self, node: int) -> int:
        """Those of a node, which count in each module around it."""
        if node not in self.counted:
            record = self.parts.nodes[node]
            self.counted[node] = flops(record["name"], record, self.parts.tensors)
        return self.counted[node]

    def _norm(self, gradient: int | None) -> float | None:
        return None if gradient is None else TracedTensor(self.index, gradient).norm

    def of_nodes(self, nodes: Collection[int], call: int | None = None) -> Row:
        """Return what some nodes did, in the `call` of a module if they are all of one; those of leaves do nothing, but
        one alone gives the row of its leaf."""
        leaves = [self.parts.nodes[node].get("variable") for node in nodes]
        if len(leaves) == 1 and leaves[0] is not None:
            return self.of_leaf(leaves[0])
        nodes = [node for node in nodes if self.parts.nodes[node].get("variable") is None]
        steps = {self.step_of[node] for node in nodes if node in self.step_of}
        record: dict[str, Any] = {} if call is None else self.parts.scopes[call]
        if call is not None and "inputs" in record:
            return self.row(nodes, steps, record.get("outputs", []), self.index.last[call])
        last = max(steps, default=-1)
        return self.row(nodes, steps, self.parts.events[last]["outputs"][:1] if steps else [], last)

    def of_leaf(self, tensor: int) -> Row:
        """Return the row of a leaf: its shape, its entries if it is a parameter, and its gradient after all passes."""
        shape = tuple(self.parts.tensors[tensor]["shape"])
        return Row(shape, (shape,), prod(shape) if self.parts.tensors[tensor]["parameter"] else 0, 0, 0, None, None,
                   self._received(tensor))

    def _received(self, leaf: int) -> float | None:
        """The norm of a leaf's gradient after all passes."""
        arrived = self.index.arrived.get(("tensor", leaf))
        return self._norm(arrived[-1][1][0] if arrived else None)

    def brief(self, node: int) -> tuple[int, int, float | None]:
        """Return the saved bytes, the FLOPs and the gradient of one node's row, without making the rest of it."""
        leaf = self.parts.nodes[node].get("variable")
        if leaf is not None:
            return 0, 0, self._received(leaf)
        step = self.step_of.get(node, -1)
        outputs = self.parts.events[step]["outputs"] if step >= 0 else ()
        gradient = self.index.gradient(outputs[0], step) if outputs else None
        return self.index.saved_bytes((node,)), self._flops(node), self._norm(gradient)


def flops(name: str, record: dict[str, Any], tensors: Sequence[dict[str, Any]]) -> int:
    """Estimate the floating-point operations of an op by the name of its node and the shapes of its tensors.

    Products of matrices, convolutions and attention count as in `torch.utils.flop_counter`, which counts nothing else.
    """
    given: list[list[int]] = [tensors[each]["shape"] for each in record["inputs"] if each is not None]
    made: list[list[int]] = [tensors[each]["shape"] for each in record["outputs"]]
    results = prod(made[0]) if made else 0
    if MOVES.match(name):
        return 0
    if PRODUCT.match(name) and given and given[0]:
        return 2 * results * given[0][-1]
    if ADDED.match(name) and len(given) > 1 and given[-2]:
        return 2 * results * given[-2][-1]
    if name.startswith("Addbmm") and len(given) > 1:  # the sum of the products of a batch
        return 2 * prod(given[-2]) * given[-1][-1]
    if CONVOLUTION.match(name) and len(given) > 1:
        return 2 * _meeting(given[0], given[1], made[0]) * prod(given[1][1:])
    if name.startswith(("Trilinear", "Bilinear")) and len(given) > 1:
        return 2 * results * prod(given[1][1:])
    if RECURRENT.match(name) and given and given[0]:
        # One layer of Mkldnn, whose state is a matrix too; else the matrices are the weights of all layers.
        weights = given[1:3] if name.startswith("Mkldnn") else [each for each in given[1:] if len(each) == 2]
        return 2 * prod(given[0][:-1]) * sum(map(prod, weights))
    if name.startswith("ScaledDotProduct") and len(given) > 2:
        return 2 * prod(given[0][:-1]) * given[1][-2] * (given[0][-1] + given[2][-1])
    return max(map(prod, [*given, *made]), default=0)


def _meeting(given: list[int], weight: list[int], made: list[int]) -> int:
    """How many entries meet the kernels of a convolution: those of its results or, of a transposed one, of its input.

    Only the shapes tell which one it is: a convolution has as many output channels as kernels, a transposed one input
    channels. Where both are true, a transposed convolution is the one that makes more than it is given.
    """
    if given[1 - len(weight)] != weight[0]:
        return prod(made)
    return prod(given) if made[1 - len(weight)] != weight[0] else min(prod(given), prod(made))
