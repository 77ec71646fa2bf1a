"""Finds what a trace knows about a module or an op by its name: outputs, inputs, gradients, saved tensors, costs.

The words are those of PyTorch and of the tools around it: a module by its qualified name, as in `named_modules()`, the
second call of one as `name:2`, as in torchlens; `output`, `input` and `output.grad`, as in nnsight.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from math import hypot
from operator import itemgetter
from typing import Any, TypeVar

from minigrad.trace.format import broken, inline, listed, shape_text
from minigrad.trace.schema import Parts

__all__ = ["Index", "ModuleCall", "NotKept", "Op", "TracedTensor", "around", "paths_of"]

Found = TypeVar("Found", bound="Asked")
EVERYTHING = "**"


class NotKept(LookupError):
    """The values of a tensor are not in the trace; the text says why, and which level of detail keeps them."""


class TracedTensor:
    """What a trace knows of a tensor at one moment: shape, dtype, statistics, and its values where they were kept.

    `np.asarray(tensor)` and `tensor.numpy()` give the values.
    """

    def __init__(self, index: Index, value: int, tensor: int | None = None, step: int = -1) -> None:
        self._index, self._value, self._tensor, self._step = index, value, tensor, step
        self._preview: dict[str, Any] = index.parts.values[value]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return tuple(self._preview["shape"])

    @property
    def dtype(self) -> str:
        """The name of its dtype, such as `float32`."""
        return str(self._preview["dtype"])

    @property
    def name(self) -> str | None:
        """The variable that held it, or the path of a parameter from its module; None for a gradient."""
        name: str | None = None if self._tensor is None else self._index.parts.tensors[self._tensor]["name"]
        return name

    @property
    def stats(self) -> dict[str, Any] | None:
        """`min`, `max`, `mean`, `norm`, and how many entries are `nan` and `inf`, of a tensor of more than 64 numbers;
        None for a smaller one, whose values are there, or where nothing was read."""
        stats: dict[str, Any] | None = self._preview.get("stats")
        return None if stats is None or stats["norm"] is None else dict(stats)

    @property
    def norm(self) -> float | None:
        """The 2-norm of all its entries; None if nothing was read of them."""
        if found := broken(self._preview):
            return float(found)
        if "data" in self._preview:
            return hypot(*self._preview["data"])
        stats = self.stats
        return None if stats is None else float(stats["norm"])

    @property
    def grad(self) -> TracedTensor | None:
        """The gradient of the loss with respect to it, from the next backward pass: the sum over all its uses. Of a
        leaf it is `.grad` after that pass. None if no gradient came."""
        found = None if self._tensor is None else self._index.gradient(self._tensor, self._step)
        return None if found is None else TracedTensor(self._index, found)

    def tolist(self) -> list[Any]:
        """Return the values in row-major order, as one list. Raises NotKept if the trace does not have them."""
        array = self._index.parts.arrays.get(self._value)
        if array is not None:
            flat: list[Any] = array.ravel().tolist()
            return flat
        data: list[Any] | None = self._preview.get("data", self._preview.get("entries"))
        if data is None:
            raise NotKept(self._why())
        return [float(entry) if entry in ("nan", "inf", "-inf") else entry for entry in data]

    def numpy(self) -> Any:
        """Return the values as a NumPy array. Raises NotKept if the trace does not have them."""
        array = self._index.parts.arrays.get(self._value)
        if array is not None:
            return array.copy()
        numpy, values = importlib.import_module("numpy"), self.tolist()
        dtype = self.dtype if hasattr(numpy, self.dtype) else None  # NumPy has no bfloat16
        if values and isinstance(values[0], str):
            values = [complex(entry) for entry in values]
        return numpy.array(values, dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __repr__(self) -> str:
        what = f"{self.name}: " if self.name else ""
        return f"<{what}{self.dtype} {shape_text(self.shape)} {inline(self._preview, 60)}>"

    def _why(self) -> str:
        read = self.stats is not None
        left = "only its statistics are in this trace" if read else "only its shape and dtype are in this trace"
        return (f"the values of this {self.dtype} tensor of shape {shape_text(self.shape)} were not kept: {left}. "
                "Record with detail=\"arrays\" to keep all values; a file of a trace does not have them.")


class Asked:
    """What ran: a call of a module, or an op."""

    def __init__(self, index: Index, name: str, call: int) -> None:
        self._index = index
        self.name, self.call = name, call

    @property
    def label(self) -> str:
        """Its name, with the number of the call if there were several."""
        return self._index.label(self)

    @property
    def outputs(self) -> list[TracedTensor]:
        """The tensors that it returned, in order, as they were then."""
        return self._tensors(self._outputs(), self._last())

    @property
    def output(self) -> TracedTensor | None:
        """The first tensor that it returned; None if it returned none."""
        return next(iter(self.outputs), None)

    @property
    def inputs(self) -> list[TracedTensor]:
        """The tensors that it was given, in order, as they were then, as far as the recording met them."""
        return self._tensors(self._inputs(), self._first() - 1)

    @property
    def input(self) -> TracedTensor | None:
        """The first tensor that it was given."""
        return next(iter(self.inputs), None)

    @property
    def seconds(self) -> tuple[float | None, float | None]:
        """The time of its ops and of their derivatives; None without `times=True`."""
        return self._index.seconds(self._nodes())

    @property
    def bytes(self) -> int:
        """How much memory was kept for its derivatives: a storage counts once, parameters do not count."""
        return self._index.saved_bytes(self._nodes())

    def _outputs(self) -> Sequence[int]:
        raise NotImplementedError

    def _inputs(self) -> Sequence[int | None]:
        raise NotImplementedError

    def _nodes(self) -> list[int]:
        raise NotImplementedError

    def _first(self) -> int:
        raise NotImplementedError

    def _last(self) -> int:
        raise NotImplementedError

    def _tensors(self, numbers: Sequence[int | None], step: int) -> list[TracedTensor]:
        return [TracedTensor(self._index, self._index.value(each, step), each, step)
                for each in numbers if each is not None]


class Op(Asked):
    """An op that ran. Its name is that of the innermost module around it, and its function's: `net.h.0.attn.softmax`.
    """

    def __init__(self, index: Index, step: int, name: str, call: int) -> None:
        super().__init__(index, name, call)
        self._step = step
        self._event: dict[str, Any] = index.parts.events[step]
        self.op: str = self._event["op"]

    @property
    def node(self) -> str | None:
        """The name of the node that it left in the graph, such as `SoftmaxBackward0`; None if it left none."""
        nodes = self._nodes()
        return self._index.parts.nodes[nodes[0]]["name"] if nodes else None

    @property
    def saved(self) -> dict[str, TracedTensor]:
        """What its node saved for its derivative, by the names of the formula."""
        rows = [row for node in self._nodes() for row in self._index.parts.nodes[node]["saved"]]
        return {name: TracedTensor(self._index, value, tensor, self._step) for name, tensor, value in rows
                if value is not None}

    def __repr__(self) -> str:
        return f"<op {self.label}>"

    def _outputs(self) -> Sequence[int]:
        outputs: list[int] = self._event["outputs"]
        return outputs

    def _inputs(self) -> Sequence[int | None]:
        inputs: list[int | None] = self._event["inputs"]
        return inputs

    def _nodes(self) -> list[int]:
        return [] if self._event["node"] is None else [self._event["node"]]

    def _first(self) -> int:
        return self._step

    def _last(self) -> int:
        return self._step


class ModuleCall(Asked):
    """One call of a module. `name` is its path, `call` the number of the call, from 1, `module` its class."""

    def __init__(self, index: Index, scope: int, name: str, call: int) -> None:
        super().__init__(index, name, call)
        self.scope = scope
        self._record: dict[str, Any] = index.parts.scopes[scope]
        self.module: str = self._record["module"]

    @property
    def ops(self) -> list[Op]:
        """The ops that ran in it and in the modules inside it, in order."""
        return [self._index.by_step[step] for step in self._index.steps.get(self.scope, ())]

    @property
    def parameters(self) -> dict[str, TracedTensor]:
        """Its parameters that were used, by their names from it; one that belongs elsewhere, or has another name, as if
        it were the module's that used it."""
        tensors, step = self._index.parts.tensors, self._last()
        found: dict[int, str] = {}
        for op in self.ops:
            for each in op._inputs():
                if each is not None and tensors[each]["parameter"] and each not in found:
                    name = tensors[each]["name"] or f"tensor {each}"
                    if not name.startswith(f"{self.name}."):
                        name = f"{op.name.removesuffix(op.op)}{name.rpartition('.')[2]}"
                    found[each] = name.removeprefix(f"{self.name}.")
        return {name: TracedTensor(self._index, self._index.value(each, step), each, step)
                for each, name in found.items()}

    @property
    def error(self) -> str | None:
        """What was raised, and the shapes that met, if an error that began here ended the recording."""
        parts = self._index.parts
        if self._index.failed() is not self:
            return None
        event, (given, own) = parts.events[-1], self.shapes
        return (f"{event['type']}: {event['message']}; this {self.module} was given {listed(given, empty='no tensor')}"
                + (f" and has {listed(own)}" if own else ""))

    @property
    def shapes(self) -> tuple[list[str], list[str]]:
        """The shapes that it was given, then those of its own parameters with their names, in words."""
        given = [self._index.parts.tensors[each] for each in self._inputs() if each is not None]
        return ([shape_text(each["shape"]) for each in given if not each["parameter"]],
                [f"{(each['name'] or 'a parameter').rpartition('.')[2]} {shape_text(each['shape'])}"
                 for each in given if each["parameter"]])

    @property
    def saved(self) -> dict[str, TracedTensor]:
        """What its ops saved, by `op.name`, the op with the modules around it from here on."""
        return {f"{op.label.removeprefix(f'{self.name}.')}.{name}": tensor
                for op in self.ops for name, tensor in op.saved.items()}

    def __repr__(self) -> str:
        shapes = listed([shape_text(each.shape) for each in self.outputs])
        return f"<{self.module} {self.label}: {shapes}>"

    def _outputs(self) -> Sequence[int]:
        outputs: list[int] = self._record.get("outputs", [])
        return outputs

    def _inputs(self) -> Sequence[int | None]:
        inputs: list[int | None] = self._record.get("inputs", [])
        return inputs

    def _nodes(self) -> list[int]:
        return [node for op in self.ops for node in op._nodes()]

    def _first(self) -> int:
        steps = self._index.steps.get(self.scope)
        return steps[0] if steps else self._last() + 1

    def _last(self) -> int:
        return self._index.last[self.scope]


class Index:
    """The calls and ops of a trace by their names, and where their gradients are."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.size = parts, len(parts.events)
        self.paths = paths_of(parts)
        self.steps: dict[int, list[int]] = defaultdict(list)  # by scope: those of its ops
        self.made: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by tensor: since when it had which node
        self.written: dict[int, list[tuple[int, int]]] = defaultdict(list)  # by tensor: since when it had which value
        self.arrived: dict[tuple[str, int], list[tuple[int, Any]]] = defaultdict(list)
        self.deep: set[int] = set()  # calls that only run something again
        for step, event in enumerate(parts.events):
            self._look(step, event)
        self.last = {scope: steps[-1] for scope, steps in self.steps.items()}
        self.deep -= self.last.keys()
        self.deep.update(scope for scope in range(len(self.paths)) if self.deep & {*around(parts, scope)})
        self.ops = [*self._numbered(self._op_names(), Op)]
        self.by_step = {op._step: op for op in self.ops}
        self.calls = [*self._numbered(
            ((scope, path) for scope, path in enumerate(self.paths) if scope not in self.deep), ModuleCall)]
        self.counts = Counter((type(each), each.name) for each in (*self.calls, *self.ops))
        self._end_the_empty()

    def _look(self, step: int, event: dict[str, Any]) -> None:
        kind = event["kind"]
        if kind == "forward":
            node = event["node"]
            scopes = [*around(self.parts, event.get("scope") if node is None else
                              self.parts.nodes[node].get("scope", event.get("scope")))]
            if event.get("depth"):
                self.deep.update(scopes)
            else:
                for scope in scopes:
                    self.steps[scope].append(step)
            if node is not None:
                for tensor in event["outputs"]:
                    self.made[tensor].append((step, node))
            for tensor, _, after in event.get("rebased", ()):
                self.made[tensor].append((step, after))
            for tensor, value in event.get("found", ()):
                self.written[tensor].append((step - 1, value))  # it was so before the op
        elif kind == "version" and event.get("value") is not None:
            for tensor, value in ((event["tensor"], event["value"]), *event.get("others", ())):
                self.written[tensor].append((step, value))
        elif kind == "run":
            self.arrived["node", event["node"]].append((step, event["gradient"]))
        elif kind in ("accumulate", "capture"):
            gradient = event["grad" if kind == "accumulate" else "gradient"]
            self.arrived["tensor", event["tensor"]].append((step, [gradient]))

    def _end_the_empty(self) -> None:
        """A call in which no op ran ended when the call before it did."""
        step = -1
        for scope in range(len(self.paths)):
            step = self.last.setdefault(scope, step) if scope not in self.last else min(self.steps[scope]) - 1

    def _op_names(self) -> Iterator[tuple[int, str]]:
        for step, event in enumerate(self.parts.events):
            if event["kind"] == "forward" and not event.get("depth"):
                node = event["node"]
                scope = event.get("scope") if node is None else self.parts.nodes[node].get("scope", event.get("scope"))
                yield step, event["op"] if scope is None else f"{self.paths[scope]}.{event['op']}"

    def _numbered(self, named: Iterator[tuple[int, str]],
                  make: Callable[[Index, int, str, int], Found]) -> Iterator[Found]:
        counts: Counter[str] = Counter()
        for number, name in named:
            counts[name] += 1
            yield make(self, number, name, counts[name])

    def failed(self) -> ModuleCall | None:
        """The innermost call of a module that raised the error in which the recording ended."""
        last = self.parts.events[-1] if self.size else {}
        scope = last.get("scope") if last.get("kind") == "error" else None
        return next((call for call in self.calls if call.scope == scope), None)

    def label(self, asked: Asked) -> str:
        """The name of a call or an op, with its number if there are several of that name."""
        return asked.name if self.counts[type(asked), asked.name] == 1 else f"{asked.name}:{asked.call}"

    def find(self, pattern: str, among: Sequence[Found]) -> list[Found]:
        """Return those whose name fits a pattern, in the order in which they began."""
        name, call = numbered(pattern)
        fits = re.compile(translated(name)).fullmatch
        return [each for each in among if (call is None or each.call == call)
                and (fits(each.name) or fits(each.name.partition(".")[2]))]

    def one(self, name: str) -> ModuleCall | Op:
        """Return the call of a module, or else the op, of this name, or else the only one whose name ends so. Raises
        KeyError if there is none, or several."""
        found = self._found(name)
        exact = [each for each in found if each.name == numbered(name)[0]] or found
        best = exact or self._found(f"**.{name}")
        if len(best) == 1:
            return best[0]
        if not exact:
            raise KeyError(f"no module or op {name!r} ran{self._near(name)}")
        raise KeyError(f"{name!r} ran {len(exact)} times: ask for one of {listed([each.label for each in exact])}, or "
                       f"for all with {several(exact)}({name!r})")

    def _found(self, name: str) -> Sequence[ModuleCall | Op]:
        return self.find(name, self.calls) or self.find(name, self.ops)

    def _near(self, name: str) -> str:
        """What else may have been meant by a name: those that end so, what is in it if it is a list of modules, a
        parameter, names that are spelled almost so."""
        bare = numbered(name)[0]
        first, _, rest = bare.partition(".")
        inner = rest if rest and any(call.name == first for call in self.calls) else bare
        for pattern in dict.fromkeys(f"**.{each}" for each in (name, bare, inner, f"{bare}.*", f"{inner}.*")):
            if ends := self._found(pattern):
                for_all = f" For all, {several(ends)}({pattern!r})" if len(ends) > 1 else ""
                return f"; did you mean {listed([each.label for each in ends])}?{for_all}"
        if parameters := self._parameters(name):
            return f"; did you mean {listed(parameters, 3)}?"
        parts, near = name.count(".") + 1, defaultdict[str, list[str]](list)
        for label in (each.label for each in (*self.calls, *self.ops)):
            for end in {label, label.partition(".")[2], ".".join(label.split(".")[-parts:])}:
                near[end].append(label)
        labels = dict.fromkeys(label for end in get_close_matches(name, near, 3, 0.5) for label in near[end])
        if labels:
            return f"; did you mean {', '.join([*labels][:3])}?"
        have = listed([each.label for each in (*self.calls, *self.ops)])
        wild = ": `*` is anything but a dot, `**` anything, `?` one character" if {"*", "?"} & {*name} else ""
        return f"{wild}; the trace has {have}" if self.calls or self.ops else ": nothing was recorded"

    def _parameters(self, name: str) -> list[str]:
        """The parameters whose names end so, as what gives them."""
        paths = dict.fromkeys(path for each in self.parts.tensors if each["parameter"] and (path := each["name"])
                              and f".{path}".endswith(f".{name}"))
        found = []
        for path in paths:
            outer = [call for call in self.calls if path.startswith(f"{call.name}.")]
            for call in sorted(outer, key=lambda call: -len(call.name)):
                if (own := path.removeprefix(f"{call.name}.")) in call.parameters:
                    found.append(f"trace[{call.label!r}].parameters[{own!r}]")
                    break
        return found

    def value(self, tensor: int, step: int) -> int:
        """The values of a tensor after a step."""
        while step >= 0 and step + 1 < self.size and self.parts.events[step + 1]["kind"] in ("save", "version"):
            step += 1  # what an in-place op wrote is reported right after it
        known = self.written.get(tensor, [])
        at = bisect_right(known, step, key=lambda each: each[0])
        found: int = known[at - 1][1] if at else self.parts.tensors[tensor]["value"]
        return found

    def gradient(self, tensor: int, step: int) -> int | None:
        """The first gradient of a tensor after a step."""
        record, made = self.parts.tensors[tensor], self.made.get(tensor, [])
        at = bisect_right(made, step, key=lambda each: each[0])
        node = made[at - 1][1] if at else record["node"]
        arrived = self.arrived.get(("tensor", tensor), []), [] if node is None else self.arrived.get(("node", node), [])
        firsts = [each[at] for each in arrived if (at := bisect_right(each, step, key=itemgetter(0))) < len(each)]
        if not firsts:
            return None
        later = min(firsts, key=itemgetter(0))
        output_nr = record["output_nr"] if len(later[1]) > 1 else 0
        found: int | None = later[1][output_nr]
        return found

    def seconds(self, nodes: Iterable[int]) -> tuple[float | None, float | None]:
        """The time of the ops of nodes, and of their derivatives; None where it is unknown."""
        known = [each for node in nodes if (each := self.parts.nodes[node].get("seconds")) is not None]
        forward, backward = ([each[at] for each in known if each[at] is not None] for at in (0, 1))
        return sum(forward) if forward else None, sum(backward) if backward else None

    def saved_bytes(self, nodes: Iterable[int]) -> int:
        """The bytes of the storages that nodes kept, parameters aside, each once."""
        return sum(self.parts.storages[each] for each in set().union(*(self.saved.get(node, ()) for node in nodes)))

    @cached_property
    def saved(self) -> dict[int, set[int]]:
        """By node, the storages that it held for its derivative; those of parameters do not count."""
        parameters = {tensor["storage"] for tensor in self.parts.tensors if tensor["parameter"]}
        saved: dict[int, set[int]] = defaultdict(set)
        for event in self.parts.events:
            for storage, what, holder in event.get("held", ()):
                if what == 2 and holder is not None and storage not in parameters:
                    saved[holder].add(storage)
        return saved


def paths_of(parts: Parts) -> list[str]:
    """The path of the module of each scope, such as `net.h.0.fc`."""
    paths: list[str] = []
    for scope in parts.scopes:
        own = scope["name"] or scope["module"]
        paths.append(own if scope["parent"] is None else f"{paths[scope['parent']]}.{own}")
    return paths


def around(parts: Parts, scope: int | None) -> Iterator[int]:
    """The calls of modules that were running, the innermost first."""
    while scope is not None:
        yield scope
        scope = parts.scopes[scope]["parent"]


def several(found: Sequence[Asked]) -> str:
    """What gives all of them."""
    return "trace.modules" if isinstance(found[0], ModuleCall) else "trace.ops"


def numbered(pattern: str) -> tuple[str, int | None]:
    """A pattern without the number of its call, and that number: `h.0:2` is the second call of `h.0`."""
    name, colon, call = pattern.rpartition(":")
    return (name, int(call)) if colon and call.isdecimal() else (pattern, None)


def translated(pattern: str) -> str:
    """A pattern as a regular expression: `*` is anything within one part of a path, `**` any number of parts."""
    parts = {"**.": r"(?:.*\.)?", EVERYTHING: ".*", "*": r"[^.]*", "?": r"[^.]"}
    return "".join(parts.get(each, re.escape(each)) for each in re.split(r"(\*\*\.|\*\*|\*|\?)", pattern))
