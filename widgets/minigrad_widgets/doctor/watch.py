"""Notes what a trace lacks: calls of optimizers, `zero_grad`, clipping and modules, and values taken out of a graph.

A profile function sees each call of a Python function or a built-in one. It only observes: nothing in the program is
replaced. A recorder's own profile function, if it has one, is called first.

NOTE (the line of a package). A recorder places an op at the innermost line outside its library, which may be one of an
installed package. The line of the user's that led there is noted beside it, in a doctor's recording only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from minigrad_widgets.doctor.contracts import CONTRACTS, Breach, breach_of
from minigrad_widgets.doctor.library import Library, held_tensors, is_installed, is_optimizer, is_tensor
from minigrad_widgets.doctor.updates import Update, fed

__all__ = ["Activation", "Call", "Loss", "Tokens", "Watch"]

At = tuple[int, int]  # file and line, as in a trace
CONVERSIONS = frozenset({"item", "numpy", "tolist", "__float__", "__int__", "__bool__", "__array__", "__index__"})
OVERRIDES = os.path.join("_dispatch", "torch_function.py")  # minigrad's wrappers that ask `__torch_function__`
GRAD_OFF = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
ACTIVATIONS = {"relu": "relu", "relu_": "relu", "sigmoid": "sigmoid", "sigmoid_": "sigmoid", "tanh": "tanh",
               "tanh_": "tanh"}


class Call(NamedTuple):
    """A call that the doctor is interested in.

    `order`: how many tensors the recorder had seen by then; `iteration`: that of the step, from 0; `tensor`: the number
    of the tensor that it was about; `result`: that of the one that it returned.
    """

    kind: str
    at: At | None
    iteration: int
    order: int
    subject: Any = None  # a name, or the id() of an optimizer or of parameters
    tensor: int | None = None
    result: int | None = None
    mode: bool = False  # whether gradients were on
    training: bool = False  # for a call of a module: whether it was in train mode


class Activation(NamedTuple):
    """What an activation function returned: which units were dead for the whole batch, and what share was saturated."""

    kind: str
    at: At | None
    iteration: int
    dead: Any  # an array of bool, one for each unit, or None
    saturated: float


class Tokens(NamedTuple):
    """The indices that an embedding was called with, and how many rows it has."""

    array: Any
    rows: int


class Loss(NamedTuple):
    """A call of a loss function in the first iteration, and how it breaks the function's contract, if it does; `input`
    and `target` are the numbers of tensors, `shape` and `least` are the shape and the smallest entry of the target."""

    name: str
    at: At | None
    input: int
    target: int | None
    target_learns: bool
    options: dict[str, Any]
    shape: tuple[int, ...]
    least: float
    breach: Breach | None


class Watch:
    """Watches the calls of one thread while a recorder is on."""

    def __init__(self, library: Library, observer: Any) -> None:
        self.library, self.observer = library, observer
        self.seen, self.builder = observer.seen, observer.builder
        self.calls: list[Call] = []
        self.activations: list[Activation] = []
        self.losses: list[Loss] = []
        self.tokens: list[Tokens] = []
        self.sequences: list[tuple[At | None, str, tuple[int, ...]]] = []  # calls with the batch second: line, shape
        self.in_loss = 0
        self.look: Callable[[Any], list[Update]] = lambda optimizer: []
        self.updates: dict[int, list[Update]] = {}  # by id() of the optimizer, of its first step
        self.rates: dict[int, list[list[float]]] = {}  # by id() of the optimizer, of each step and group
        self.fed: set[int] = set()  # the id() of each optimizer that has found a gradient other than 0 in a step
        self.scaling = 0  # nesting of calls of a gradient scaler's step
        self.iteration = 0
        self.roles: dict[int, tuple[Callable[[FrameType, str, Any], None] | None, CodeType]] = {}  # by id of the code
        self.module_call = library.package.nn.Module.__call__.__code__
        self.depth = 0  # nesting of calls of modules
        self.inner: Any = None
        self.callers: dict[At, dict[At, None]] = {}  # NOTE (the line of a package): the user's lines, in order
        self.installed: dict[int, bool] = {}  # by index of a file: whether it is one of a package
        self.door: CodeType | None = None  # of the function that runs the program

    # on and off
    def start(self) -> None:
        """Begin to watch."""
        self.inner = sys.getprofile()
        if self.library.name == "torch":
            self.listen(self.observer.ops, "run", self.torch_op)
            self.listen(self.observer.stack, "look", self.torch_look)
        else:
            self.listen(self.observer, "forward", self.minigrad_op)
            self.listen(self.builder, "user_frame", self.minigrad_look)
        if self.inner is not None and self.inner is getattr(self.observer, "entering", None):
            sys.setprofile(self.observer.watched_by(self.role_of, CONVERSIONS | {"detach"}, self.built_in))
        else:
            sys.setprofile(self.profile)

    def stop(self) -> None:
        """Stop watching; unwrap the methods of the recorder."""
        sys.setprofile(self.inner)
        for owner, name in ((self.observer, "forward"), (getattr(self.observer, "ops", None), "run"),
                            (getattr(self.observer, "stack", None), "look"), (self.builder, "user_frame")):
            if owner is not None:
                vars(owner).pop(name, None)

    @staticmethod
    def listen(owner: Any, name: str, tell: Callable[..., Any]) -> None:
        """Route a method of this one recorder through `tell`, whose first argument is the method."""
        method = getattr(owner, name)
        setattr(owner, name, lambda *args: tell(method, *args))

    # ops
    def torch_op(self, method: Any, op: Any, facts: Any, at: Any, depth: int) -> Any:
        """An op of PyTorch ran."""
        name = facts.name
        if name == "_local_scalar_dense" and depth <= 0:
            self.cut("item", op.args[0], None, at)
        result = method(op, facts, at, depth)
        kind = ACTIVATIONS.get(name)
        if kind is not None and depth <= 0 and self.library.grad_enabled():
            self.activation(kind, result, at)
        return result

    def minigrad_op(self, method: Any, op: str, node: Any, inputs: Any, outputs: Any) -> None:
        """An op of minigrad ran."""
        method(op, node, inputs, outputs)
        kind = ACTIVATIONS.get(op.lower())
        if kind is not None and node is not None and self.observer.depth < 0:
            self.activation(kind, outputs[0], self.builder.where(1))

    # places
    def torch_look(self, method: Any, depth: int) -> Any:
        """PyTorch's reader looks where the program is; `depth`: how many callers are the reader's."""
        look = method(depth + 2)  # past this function, and the one that calls it
        if look.at[0] is not None and self.is_package(look.at[0]):
            self.note_caller(look.at, sys._getframe(2))
        return look

    def minigrad_look(self, method: Any, frame: FrameType | None) -> FrameType | None:
        """minigrad's recorder looks where the program is."""
        found: FrameType | None = method(frame)
        if found is not None and self.is_package(index := self.builder.files[found.f_code.co_filename]):
            self.note_caller((index, found.f_lineno), found)
        return found

    def is_package(self, index: int) -> bool:
        """Return whether a file of the trace is one of Python's or of an installed package."""
        known = self.installed.get(index)
        if known is None:
            path = next(path for path, number in self.builder.files.items() if number == index)
            known = self.installed[index] = is_installed(path)
        return known

    def note_caller(self, at: At, frame: FrameType | None) -> None:
        """Note the user's line that led to one of an installed package, from a frame outwards."""
        while frame is not None and frame.f_code is not self.door:
            index = self.builder.file(frame.f_code.co_filename)
            if index >= 0 and not self.is_package(index):
                self.callers.setdefault(at, {})[index, frame.f_lineno] = None
                return
            frame = frame.f_back

    def activation(self, kind: str, output: Any, at: Any) -> None:
        """Note how much of an activation function's derivative is 0."""
        array = self.library.array(output)
        if array.ndim < 2:
            return
        dead, saturated = None, 0.0
        if kind == "relu":
            axis = 1 if array.ndim == 4 else array.ndim - 1
            if array.size >= 8 * array.shape[axis]:
                dead = (array <= 0).all(axis=tuple(i for i in range(array.ndim) if i != axis))
        else:
            slope = array * (1 - array) if kind == "sigmoid" else 1 - array * array
            saturated = float((slope < 1e-3).mean()) if array.size else 0.0
        self.activations.append(Activation(kind, at, self.iteration, dead, saturated))

    # calls
    def profile(self, frame: FrameType, event: str, arg: Any) -> None:
        """A function is called or returns."""
        if self.inner is not None:
            self.inner(frame, event, arg)
        if event == "c_call":
            return self.built_in(frame, arg)
        if event not in ("call", "return"):
            return
        code = frame.f_code
        known = self.roles.get(id(code))  # a code's hash would be computed from all it has
        if known is None:
            known = self.roles[id(code)] = self.role_of(code), code
        if known[0] is not None:
            known[0](frame, event, arg)

    def built_in(self, frame: FrameType, function: Any) -> None:
        """A function of C is called."""
        name = getattr(function, "__name__", "")
        if name == "detach":
            self.settle()  # its operand may be gone by the reader's next look
        elif name in CONVERSIONS:
            self.converted(name, getattr(function, "__self__", None), frame)

    def role_of(self, code: CodeType) -> Callable[[FrameType, str, Any], None] | None:
        """Return what to do when a function with this code is called and when it returns."""
        name = code.co_name
        if code is self.module_call:
            return self.module
        if name == "step":
            return self.step
        if not self.library.owns(code.co_filename):
            return None
        roles: dict[str, Any] = {"zero_grad": self.zero_grad, "backward": self.backward, "grad": self.grad,
                                 "clip_grad_norm_": self.clip, "clip_grad_value_": self.clip, "eval": self.eval,
                                 "__enter__": self.enter, "__exit__": self.exit,
                                 "_autograd_grad": self.transform, "scale": self.scale,
                                 "unscale_": self.unscale}
        if name in roles:
            found: Callable[[FrameType, str, Any], None] = roles[name]
            return found
        if name in CONTRACTS:
            return self.loss
        if name in ("embedding", "embedding_of"):
            return self.embedding
        return self.op if self.library.name == "minigrad" else None

    def add(self, kind: str, at: At | None, **fields: Any) -> None:
        """Note a call."""
        self.calls.append(Call(kind, at, self.iteration, self.seen.tensor_count, **fields))

    def settle(self) -> None:
        """Make PyTorch's reader report the op that ran last."""
        if self.library.name == "torch":
            self.observer.ops.settle()

    def number(self, tensor: Any) -> int:
        """Return the number of a tensor in the trace."""
        self.settle()
        return int(self.seen.tensor(tensor))

    def where(self, frame: FrameType | None) -> At | None:
        """Return the user's line from which a frame was called."""
        while frame is not None:
            index = self.builder.file(frame.f_code.co_filename)
            if index >= 0:
                if self.is_package(index):
                    self.note_caller((index, frame.f_lineno), frame)
                return index, frame.f_lineno
            frame = frame.f_back
        return None

    def user_called(self, frame: FrameType) -> bool:
        """Return whether the user's own code made this call, perhaps through a wrapper that asks `__torch_function__`.

        While a subclass of Tensor has one, or a lazy module waits for its input, minigrad has wrappers around all.
        """
        caller = frame.f_back
        while caller is not None and caller.f_code.co_filename.endswith(OVERRIDES):
            caller = caller.f_back
        return caller is not None and self.builder.file(caller.f_code.co_filename) >= 0

    def step(self, frame: FrameType, event: str, arg: Any) -> None:
        """An optimizer steps: noted when it is done, since a closure may run a backward pass inside."""
        owner: Any = frame.f_locals.get("self")
        if hasattr(owner, "get_scale"):
            self.scaling += 1 if event == "call" else -1
            return
        if id(owner) not in self.fed and is_optimizer(owner) and fed(self.library.array, owner):
            self.fed.add(id(owner))
        if event == "return" and is_optimizer(owner):
            self.settle()
            self.add("step", self.where(frame.f_back), subject=owner, mode=self.scaling > 0)
            self.rates.setdefault(id(owner), []).append([float(g.get("lr", 0)) for g in owner.param_groups])
            if id(owner) not in self.updates:
                self.updates[id(owner)] = self.look(owner)
        elif event == "return" and is_optimizer(getattr(owner, "optimizer", None)):
            self.add("schedule", self.where(frame.f_back), subject=owner)

    def unscale(self, frame: FrameType, event: str, arg: Any) -> None:
        """A gradient scaler divides gradients by its factor."""
        if event == "call":
            self.add("unscale", self.where(frame.f_back), subject=frame.f_locals.get("optimizer"))

    def zero_grad(self, frame: FrameType, event: str, arg: Any) -> None:
        owner = frame.f_locals.get("self")
        if event != "return" or owner is None:
            return
        parameters = [p for group in owner.param_groups for p in group["params"]] if is_optimizer(owner) else list(
            owner.parameters())
        self.add("zero_grad", self.where(frame.f_back), subject=[id(p) for p in parameters])

    def clip(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call":
            given = frame.f_locals
            self.add("clip", self.where(frame.f_back), subject=given.get("max_norm", given.get("clip_value")))

    def eval(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and self.user_called(frame):
            self.add("eval", self.where(frame.f_back), subject=id(frame.f_locals.get("self")))

    def backward(self, frame: FrameType, event: str, arg: Any) -> None:
        """A backward pass is requested."""
        root = frame.f_locals.get("self")
        if event == "call" and self.user_called(frame) and is_tensor(root):
            self.add("backward", self.where(frame.f_back), tensor=self.number(root))
        elif event == "call" and self.user_called(frame) and "tensors" in frame.f_locals:
            given = frame.f_locals["tensors"]
            first = given if is_tensor(given) else next(iter(given), None)
            if is_tensor(first):
                self.add("backward", self.where(frame.f_back), tensor=self.number(first))

    def grad(self, frame: FrameType, event: str, arg: Any) -> None:
        """`autograd.grad` is called."""
        outputs = frame.f_locals.get("outputs")
        first = outputs if is_tensor(outputs) else next(iter(outputs or ()), None)
        if event == "call" and self.user_called(frame) and is_tensor(first):
            self.add("grad", self.where(frame.f_back), tensor=self.number(first))

    def scale(self, frame: FrameType, event: str, arg: Any) -> None:
        """A gradient scaler scales a loss; the factor is known afterwards."""
        factor = getattr(frame.f_locals.get("self"), "get_scale", None)
        if event == "return" and factor is not None:
            self.add("scale", self.where(frame.f_back), subject=float(factor()))

    def transform(self, frame: FrameType, event: str, arg: Any) -> None:
        """A transform of torch.func computes gradients, as grad, vjp and jacrev do."""
        if event == "call":
            self.add("transform", self.where(frame.f_back))

    def module(self, frame: FrameType, event: str, arg: Any) -> None:
        """A module is called or returns."""
        if event == "return":
            self.depth -= 1
            if is_tensor(arg) and self.library.name == "minigrad":
                self.flow("call", frame, arg)
            if self.depth == 0 and arg is not None:
                results = [self.number(each.value) for each in held_tensors({"": arg}, depth=4)]
                self.add("module_end", None, subject=results)
            return
        self.depth += 1
        module: Any = frame.f_locals["self"]
        if getattr(module, "batch_first", None) is False and not self.iteration:
            x: Any = (frame.f_locals.get("args") or (None,))[0]
            if is_tensor(x) and len(x.shape) == 3:
                self.sequences.append((self.where(frame.f_back), type(module).__name__, tuple(x.shape)))
        self.add("module", self.where(frame.f_back), subject=module if self.depth == 1 else (
            type(module).__name__, bool(module.training), [bool(p.requires_grad) for p in module.parameters()]),
            mode=self.library.grad_enabled(), training=bool(module.training))

    def loss(self, frame: FrameType, event: str, arg: Any) -> None:
        """A loss function is called: what it is given is judged once, in the first iteration."""
        if self.library.name == "minigrad":
            self.op(frame, event, arg)
        self.in_loss += 1 if event == "call" else -1
        given = frame.f_locals
        x: Any = next((given[name] for name in ("input", "log_probs", "input1") if name in given), None)
        y: Any = given.get("target")
        if event != "call" or self.in_loss > 1 or self.iteration or not is_tensor(x) or not is_tensor(y):
            return
        options: dict[str, Any] = {name: given[name] for name in ("log_target", "ignore_index", "log_input")
                                   if name in given}
        known = {**options, "name": frame.f_code.co_name, "tokens": self.tokens, "input_learns": x.requires_grad,
                 "target_learns": y.requires_grad}
        entries = self.library.array(y)
        least = float(entries.min()) if entries.size else 0.0
        self.losses.append(Loss(frame.f_code.co_name, self.where(frame), self.number(x), self.number(y),
                                bool(y.requires_grad), options, tuple(y.shape), least,
                                breach_of(self.library.array(x), entries, known)))

    def embedding(self, frame: FrameType, event: str, arg: Any) -> None:
        """Words are looked up."""
        if self.library.name == "minigrad":
            self.op(frame, event, arg)
        words, table = frame.f_locals.get("input"), frame.f_locals.get("weight")  # type: Any, Any
        if event == "call" and not self.iteration and is_tensor(words) and is_tensor(table):
            self.tokens.append(Tokens(self.library.array(words).copy(), int(table.shape[0])))

    def enter(self, frame: FrameType, event: str, arg: Any) -> None:
        """A block without gradients begins."""
        if event == "return" and type(frame.f_locals.get("self")).__name__ in GRAD_OFF and (
                not self.library.grad_enabled()):
            self.settle()
            self.add("grad_off", self.where(frame.f_back))

    def exit(self, frame: FrameType, event: str, arg: Any) -> None:
        """A block without gradients ends."""
        if event == "call" and type(frame.f_locals.get("self")).__name__ in GRAD_OFF:
            self.settle()
            self.add("grad_on", None)

    # values that leave the graph
    def converted(self, name: str, tensor: Any, frame: FrameType) -> None:
        """A built-in function takes the values of a tensor out of the graph."""
        if is_tensor(tensor):
            self.cut(name, tensor, None, self.where(frame))

    def op(self, frame: FrameType, event: str, arg: Any) -> None:
        """Note what the result of a minigrad function called by the user comes from, and whether it has a graph.

        minigrad's recorder hears of no op, and of no operand, without a derivative.
        """
        if event != "return" or frame.f_code.co_filename.endswith(OVERRIDES) or not self.user_called(frame):
            return
        name = frame.f_code.co_name
        leaves = name in CONVERSIONS or name == "call" and isinstance(arg, (np.ndarray, list, float))
        if leaves or is_tensor(arg):
            self.flow(name, frame, None if leaves else arg)

    def flow(self, name: str, frame: FrameType, result: Any) -> None:
        """Note what a result was computed from; if gradients stop there, it is a cut."""
        operands = [each for value in frame.f_locals.values()
                    for each in (value if isinstance(value, (tuple, list)) else (value,))
                    if is_tensor(each) and each is not result]
        for operand in operands:
            if result is None or operand.requires_grad and not result.requires_grad:
                self.cut(name, operand, result, self.where(frame.f_back))
            else:
                self.add("flow", None, tensor=self.number(operand), result=self.number(result))

    def cut(self, name: str, source: Any, result: Any, at: At | None) -> None:
        """Note that values have left the graph here."""
        if at is None or at[0] is None:
            return
        given = None if result is None else self.number(result)
        self.add("cut", at, subject=name, tensor=self.number(source), result=given)
