"""Takes the steps of optimisers with an elementwise rule: all but LBFGS.

PyTorch writes each rule three times (`_single_tensor_…`, `_multi_tensor_…`, fused). Here a subclass of
`ElementwiseOptimizer` writes it once, as `update`, with the methods of Tensor: `v.mul_(beta).add_((1 - beta) * g * g)`.
It runs on tensors when autograd (`differentiable=True`) or a recorder must see each operation. Then each operation
makes a new array, and reads memory from one end to the other. Else it runs on `Block`s of the same arrays, in place. A
block has the same methods but is a part of an array, small enough to stay in the cache while the whole rule runs on it.
Its operators write into scratch memory, which is free again as soon as nothing holds the result: a rule of any length
needs two or three arrays. For GPUs a few rules also exist as one kernel (`ElementwiseOptimizer.kernel`), which a test
compares with the rule.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.dtype import default_float
from minigrad._base.warnings import warn
from minigrad.autograd.grad_mode import enable_grad, no_grad
from minigrad.backends.registry import BACKEND_OF, BACKENDS, HOST, MultiDevice, count, device_guard, device_like
from minigrad.core import LOCAL, Tensor, constant, counter_of, plain
from minigrad.optim.optimizer import SCALAR_STATE, Group, Optimizer, State, tell_state

BLOCK = 1 << 19  # bytes: parameter, gradient, state and results then fit into a typical L3 cache; measured
MAX_CACHED = 32  # how many shapes, or numbers, are kept
FAST_DTYPES = (np.dtype("float32"), np.dtype("float64"))
OPERATIONS: dict[str, Callable[[Any, float], Any]] = {
    "add_": operator.add, "mul_": operator.mul, "fill_": lambda old, new: new}
NO_STEPS = ("\n\nIts steps depend on how many there were, which Python counts: every replay would be the same step. "
            "With capturable=True the GPU counts; SGD needs no count.")
UNCAPTURED = ("This instance was constructed with capturable=True or some of all the param_groups came with "
              "capturable=True, but step() is running without CUDA graph capture. If you never intend to graph-capture "
              "this instance, capturable=True can impair performance, and you should set capturable=False.")
FLAGS = {"amsgrad": False, "nesterov": False, "momentum": 0, "centered": False, "maximize": False, "foreach": None,
         "capturable": False, "differentiable": False, "decoupled_weight_decay": False, "fused": None}
FUSED_CONFLICTS = {"differentiable": "`fused` does not support `differentiable`",
                   "foreach": "`fused` and `foreach` cannot be `True` together."}
OPTION_NAMES = {"lr": "learning rate", "eps": "epsilon value"}


class Numbers(dict[float, Any]):
    """Numbers as arrays without dimensions, of one dtype, which ufuncs accept faster."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __missing__(self, value: float) -> Any:
        array = self[value] = np.array(value, self.dtype)
        return array


class Scratch:
    """Memory for results, of one shape and dtype at a time, and numbers of that dtype."""

    def __init__(self) -> None:
        self.pools: dict[Any, list[Any]] = {}
        self.numbers_of: dict[str, Numbers] = {}
        self.begin(np.empty(()))

    def begin(self, like: Any) -> None:
        """Use this array's shape and dtype for all results from now on."""
        kind = like.dtype.char
        pool, numbers = self.pools.get((like.shape, kind)), self.numbers_of.get(kind)
        if pool is None:
            if len(self.pools) > MAX_CACHED:
                self.pools.clear()
            pool = self.pools[like.shape, kind] = []
        if numbers is None or len(numbers) > MAX_CACHED:
            numbers = self.numbers_of[kind] = Numbers(like.dtype)
        self.like, self.pool, self.numbers = like, pool, numbers


def binary(ufunc: Any) -> Callable[[Block, Any], Block]:
    """Make a method that returns `ufunc(self, other)` in scratch memory."""

    def method(self: Block, other: Any) -> Block:
        result = Result(self.scratch)
        ufunc(self.array, other.array if isinstance(other, Block) else self.scratch.numbers[other], result.array)
        return result

    return method


def unary(ufunc: Any) -> Callable[[Block], Block]:
    """Make a method that returns `ufunc(self)` in scratch memory."""

    def method(self: Block) -> Block:
        result = Result(self.scratch)
        ufunc(self.array, result.array)
        return result

    return method


def in_place(ufunc: Any) -> Callable[[Block, Any], Block]:
    """Make a method that sets `self` to `ufunc(self, other)`."""

    def method(self: Block, other: Any) -> Block:
        ufunc(self.array, other.array if isinstance(other, Block) else self.scratch.numbers[other], out=self.array)
        self.writes += 1
        return self

    return method


class Block:
    """A part of an array; `writes` counts the operations that have changed it."""

    __slots__ = ("array", "scratch", "writes")

    def __init__(self, array: Any, scratch: Scratch) -> None:
        self.array, self.scratch, self.writes = array, scratch, 0

    # into scratch memory
    __add__ = binary(np.add)
    __sub__ = binary(np.subtract)
    __mul__ = __rmul__ = binary(np.multiply)
    __truediv__ = binary(np.divide)
    __neg__ = unary(np.negative)
    sqrt = unary(np.sqrt)
    abs = unary(np.abs)
    sign = unary(np.sign)
    clone = unary(np.positive)

    def maximum(self, other: Block) -> Block:
        """Return the elementwise maximum. Not `binary`: NumPy wants this output by name."""
        result = Result(self.scratch)
        np.maximum(self.array, other.array, out=result.array)
        return result

    def masked_fill(self, mask: Any, value: float) -> Block:
        return self.clone().masked_fill_(mask, value)

    # masks: new arrays of bools
    def gt(self, other: float) -> Any:
        return self.array > other

    def lt(self, other: float) -> Any:
        return self.array < other

    def eq(self, other: float) -> Any:
        return self.array == other

    # in place
    sub_ = in_place(np.subtract)
    mul_ = in_place(np.multiply)
    plus_ = in_place(np.add)

    def add_(self, other: Any, alpha: float = 1) -> Block:
        """`self += alpha * other`."""
        return self.plus_(other if alpha == 1 else alpha * other)

    def lerp_(self, end: Block, weight: float) -> Block:
        """`self += weight * (end - self)`, as exact as `Tensor.lerp_`."""
        difference = end - self
        if weight < 0.5:
            return self.plus_(difference.mul_(weight))
        np.subtract(end.array, difference.mul_(1 - weight).array, self.array)
        self.writes += 1
        return self

    def copy_(self, other: Block) -> Block:
        self.array[...] = other.array
        self.writes += 1
        return self

    def clamp_(self, low: float, high: float) -> Block:
        np.maximum(self.array, low, out=self.array)
        np.minimum(self.array, high, out=self.array)
        self.writes += 1
        return self

    def masked_fill_(self, mask: Any, value: float) -> Block:
        np.copyto(self.array, value, where=mask)
        self.writes += 1
        return self


class Result(Block):
    """A block in scratch memory, which becomes free when the block is deleted."""

    __slots__ = ("pool",)

    def __init__(self, scratch: Scratch) -> None:
        pool = scratch.pool
        self.array = pool.pop() if pool else np.empty_like(scratch.like)
        self.scratch, self.writes = scratch, 0
        self.pool = pool

    def __del__(self) -> None:
        if hasattr(self, "pool"):  # an interrupt may have ended `__init__`
            self.pool.append(self.array)


class BlockwiseUpdate:
    """Runs an update rule on a parameter and its state, block by block; `SCALAR_STATE` is the same for all blocks.

    It can be reused as long as the tensors keep their arrays. It does not handle arrays with gaps or of another type,
    other dtypes, or tensors of inference mode: for these the rule runs on the tensors themselves.
    """

    def __init__(self, p: Tensor, state: dict[str, Any], scratch: Scratch) -> None:
        self.scratch, self.size = scratch, len(state)
        self.tensors = [(k, v, v.array) for k, v in state.items() if isinstance(v, Tensor)]
        keys = [k for k, _, _ in self.tensors if k not in SCALAR_STATE]
        changed = [p, *[state[k] for k in keys]]
        self.like = p.array
        self.possible = bool(self.like.size) and all(self.can_write(t) for t in changed)
        self.counters = [counter_of(t) for t in changed] if self.possible else []
        self.blocks = [Block(t.array, scratch) for t in changed]
        self.block_state = {**state, **dict(zip(keys, self.blocks[1:]))}
        self.grad = Block(self.like, scratch)

    def can_write(self, t: Tensor) -> bool:
        """Return whether the rule can write to a tensor's array directly."""
        a = t.array
        simple = type(a) is np.ndarray and a.flags.c_contiguous and a.flags.writeable and a.dtype in FAST_DTYPES
        return simple and self.is_like_parameter(a) and (t._extras is None or not t._extras.inference)

    def is_like_parameter(self, array: Any) -> bool:
        like = self.like
        return isinstance(array, (np.ndarray, np.generic)) and array.dtype is like.dtype and array.shape == like.shape

    def stale(self, p: Tensor, state: dict[str, Any]) -> bool:
        """Return whether a tensor or its array has been replaced since."""
        if p.array is not self.like or len(state) != self.size:
            return True
        for key, t, array in self.tensors:
            if state.get(key) is not t or t.array is not array:
                return True
        return False

    def can_run(self, g: Any) -> bool:
        """Return whether it can run now with this gradient, whose memory may be in any order."""
        if not self.possible or not self.is_like_parameter(g):
            return False
        for counter in self.counters:
            if counter.before_write is not None:
                return False
        return True

    def run(self, rule: Callable[..., None], g: Any, group: dict[str, Any]) -> None:
        """Run the rule on all blocks; each of its operations counts as one change of a tensor, as on tensors."""
        blocks = self.blocks
        for block in blocks:
            block.writes = 0
        self.grad.array = g
        if g.nbytes <= BLOCK:
            self.scratch.begin(self.like)
            rule(blocks[0], self.grad, self.block_state, group)
        else:
            self.run_parts(rule, g, group)
        for counter, block in zip(self.counters, blocks):
            counter.value += block.writes

    def run_parts(self, rule: Callable[..., None], g: Any, group: dict[str, Any]) -> None:
        """Run the rule on parts of the flattened arrays, or of their rows if the gradient is not contiguous."""
        blocks = [self.grad, *self.blocks]
        arrays = [g, *[b.array for b in self.blocks]]
        parts = [a.reshape(-1) for a in arrays] if g.flags.c_contiguous else arrays
        rows = max(1, BLOCK * len(parts[0]) // g.nbytes)
        for start in range(0, len(parts[0]), rows):
            for block, part in zip(blocks, parts):
                block.array, block.writes = part[start:start + rows], 0
            self.scratch.begin(self.grad.array)
            rule(self.blocks[0], self.grad, self.block_state, group)
        for block, array in zip(blocks, arrays):
            block.array = array


class Kernel(NamedTuple):
    """An update rule as one GPU kernel (`minigrad.backends.kernels`), instead of a dozen passes over memory.

    Its first input is the gradient; it changes the parameter and the tensors of the state that `keys` names. `writes`:
    how many operations of the rule change each of these, as their versions count it.
    """

    name: str
    numbers: tuple[float, ...]
    keys: tuple[str, ...]
    writes: tuple[int, ...]


def run_kernel(kernel: Kernel | None, p: Tensor, g: Tensor, state: dict[str, Any]) -> bool:
    """Run the kernel on a GPU parameter and its state if possible; return whether it was."""
    if kernel is None or p.array.dtype not in FAST_DTYPES:
        return False
    tensors = [p, *[state[key] for key in kernel.keys]]
    if not has_same_layout(g, p) or not all(has_same_layout(t, p) and can_write(t) for t in tensors):
        return False
    fused = BACKEND_OF[type(p.array)].fused(kernel.name)
    if fused is None:
        return False
    fused(g.array, *kernel.numbers, *[t.array for t in tensors])
    for t, writes in zip(tensors, kernel.writes):
        counter_of(t).value += writes
    return True


def has_same_layout(t: Any, p: Tensor) -> bool:
    a, like = t.array, p.array
    return (type(a) is type(like) and a.dtype == like.dtype and a.shape == like.shape
            and BACKEND_OF[type(like)].index_of(a) == BACKEND_OF[type(like)].index_of(like))


def can_write(t: Tensor) -> bool:
    """Return whether a kernel can write to a tensor's array directly."""
    flags = t.array.flags
    return ((flags.c_contiguous or flags.f_contiguous) and (t._extras is None or not t._extras.inference)
            and counter_of(t).before_write is None)


def number(value: Any, group: dict[str, Any]) -> Any:
    """Return an option as a number; a tensor stays one if its gradient is wanted, or if it is on a GPU and a graph may
    be captured, since a replay reads it again."""
    if not isinstance(value, Tensor):
        return value
    if (LOCAL.recording and value._requires_grad) or (group.get("capturable") and type(value.array) in BACKEND_OF):
        return value
    return value.item()


def plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value


def steps(state: dict[str, Any], group: dict[str, Any], key: str = "step") -> Any:
    """Return the count of steps, or another scalar of a state: a tensor if a graph may be captured, or if its gradient
    is wanted."""
    value = state[key]
    return value if group["capturable"] or (LOCAL.recording and value._requires_grad) else value.item()


def before_write(t: Any) -> Any:
    """Return a tensor that an op reads before the rule writes to it: a copy if autograd keeps what the op reads."""
    return t.clone() if LOCAL.recording and isinstance(t, Tensor) else t


def check_one_element(lr: Any) -> None:
    """Raise PyTorch's error for a learning rate that is a tensor of several elements, or none."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_options(**options: Any) -> None:
    """Raise PyTorch's error for the first option out of its range: betas in [0, 1), all others at least 0."""
    for name, value in options.items():
        if name == "betas":
            for i in (0, 1):
                if not 0.0 <= value[i] < 1.0:
                    raise ValueError(f"Invalid beta parameter at index {i}: {value[i]}")
            continue
        if name == "lr":
            check_one_element(value)
        if not 0.0 <= value:
            raise ValueError(f"Invalid {OPTION_NAMES.get(name, f'{name} value')}: {value}")


def change_scalar(t: Tensor, name: str, value: Any) -> None:
    """Call `t.add_(value)`, `t.mul_` or `t.fill_` on a tensor that holds one number."""
    if (LOCAL.observer is None and not t._requires_grad
            and not isinstance(t.array, np.generic) and not isinstance(value, Tensor)):
        t.array[...] = OPERATIONS[name](t.array, value)
        counter_of(t).value += 1
    else:
        getattr(t, name)(value)


def state_like(p: Tensor, value: Any) -> Tensor:
    """Return a state tensor like `p`, filled with one value."""
    return constant(np.full_like(p.array, plain_number(value)))


def count_dtype(fused: Any = None) -> Any:
    return np.dtype("float64" if default_float().name == "float64" and not fused else "float32")


def scalar_state(p: Tensor, group: Group, value: Any = 0) -> Tensor:
    """Return a state tensor that is one number, such as the count of steps; as in PyTorch it is float64 if that is the
    default dtype, else float32, whatever the parameter's dtype.

    It is on the CPU, unless a graph may be captured: then it is on the parameter's device, where the GPU counts.
    """
    device = device_like(p.array) if group.get("capturable") else HOST
    return constant(np.full((), plain_number(value), count_dtype(group.get("fused")), like=device))


class ElementwiseOptimizer(Optimizer):
    """An optimiser with one rule for each element; a subclass defines `update`, and its state."""

    averages: tuple[str, ...] = ()  # the tensors of a state that are shaped like the parameter and begin as zeros
    captured = "params and state_steps"  # what has to be on the devices of `captured_on`, for `capturable=True`
    captured_on: Sequence[str] = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
    _warned_capturable_if_run_uncaptured = False

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if defaults.get("fused"):  # PyTorch's own kernel; here the rule is the same
            for flag, message in FUSED_CONFLICTS.items():
                if defaults[flag]:
                    raise RuntimeError(message)
            self._step_supports_amp_scaling = True
        self._init_blockwise()

    def _init_blockwise(self) -> None:
        """Set up what is not part of the state."""
        self._scratch = Scratch()
        self._blockwise: dict[Tensor, BlockwiseUpdate] = {}

    def __setstate__(self, pickled: dict[str, Any]) -> None:
        """Restore what was pickled or loaded; older options and counts of steps are brought up to date."""
        super().__setstate__(pickled)
        self._init_blockwise()
        for group in self.__dict__.get("param_groups", ()):
            for flag, value in FLAGS.items():
                if flag in self.defaults:
                    group.setdefault(flag, value)
        for state in self.__dict__.get("state", {}).values():
            if "step" in state and not isinstance(state["step"], Tensor):
                state["step"] = plain(np.array(state["step"], count_dtype()))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if self.param_groups[0].get("capturable"):
            self.warn_if_not_captured()
        if closure is not None:
            with enable_grad():
                loss = closure()
        with enable_grad() if self.defaults["differentiable"] else no_grad():
            for group in self.param_groups:
                if group.get("fused") and self.skip_scaled(group):
                    continue
                for p in group["params"]:
                    if p._grad is None:
                        continue
                    if MultiDevice.active:
                        with device_guard(p.array):
                            self.step_one(p, p._grad, self.state_of(p, group), group)
                    else:
                        self.step_one(p, p._grad, self.state_of(p, group), group)
        return loss

    def skip_scaled(self, group: Group) -> bool:
        """Divide the gradients of a fused group by `grad_scale`, unless `found_inf` says to skip the group: a
        `GradScaler` sets both. Returns whether to skip it."""
        scale, infinite = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        skip = infinite is not None and bool(infinite)
        for p in group["params"]:
            if p._grad is not None:
                self.state_of(p, group)
                if scale is not None and not skip:
                    p._grad.detach().div_(scale)
        return skip

    def warn_if_not_captured(self) -> None:
        """Issue PyTorch's warning, once, about a step that a GPU's graph could capture but does not."""
        if (not self._warned_capturable_if_run_uncaptured and all(group["capturable"] for group in self.param_groups)
                and count("cuda") and not BACKENDS["cuda"].capturing()):
            warn(UNCAPTURED)
            self._warned_capturable_if_run_uncaptured = True

    def step_one(self, p: Tensor, g: Tensor, state: State, group: Group) -> None:
        backend = BACKEND_OF.get(type(p.array))
        if group.get("capturable"):
            if backend is None or type(state["step"].array) is not backend.array_type:
                raise AssertionError(f"If capturable=True, {self.captured} must be on supported devices: "
                                     f"{self.captured_on}.")
        elif backend is not None and "step" in state and backend.capturing():
            raise RuntimeError(f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__} but "
                               f"param_groups' capturable is False.{NO_STEPS}")
        self.count_step(state, group)
        if not (LOCAL.observer is None and not LOCAL.recording and self.update_in_blocks(p, g, state, group)):
            if LOCAL.recording:  # so that what this step saves stays unchanged
                state.update({k: v.clone() for k, v in state.items() if isinstance(v, Tensor)})
            self.update(p, g, state, group)

    # defined by a subclass
    def init_state(self, p: Tensor, group: Group) -> State:
        """Return the state of a parameter before its first step."""
        return {"step": scalar_state(p, group), **{name: state_like(p, 0) for name in self.averages}}

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        """Apply the rule: change `p` and `state` by the gradient `g`; all are tensors, or all are blocks.

        Scalars of the state, such as the count of steps, are tensors in any case.
        """
        raise NotImplementedError

    def count_step(self, state: State, group: Group) -> None:
        """Count one more step of a parameter, before the rule runs."""
        change_scalar(state["step"], "add_", 1)

    def state_of(self, p: Tensor, group: Group) -> State:
        """Return the state of a parameter, created at its first step."""
        state: State = self.state[p]
        if not state:
            state.update(self.init_state(p, group))
            tell_state(self)
        return state

    def kernel(self, state: State, group: Group) -> Kernel | None:
        """Return the rule as a GPU kernel; None if there is none."""
        return None

    # shared by the rules
    def effective_grad(self, p: Any, g: Any, group: Group) -> Any:
        """Return the gradient with weight decay λ: g + λ p, the gradient of f + λ/2 p²; -g + λ p if f is maximised.

        Decoupled weight decay is a separate step (Loshchilov and Hutter 2017): p ← (1 - lr λ) p.
        """
        if group["maximize"]:
            g = -g
        decay = number(group.get("weight_decay", 0), group)
        if not isinstance(decay, Tensor) and decay == 0:
            return g
        if group.get("decoupled_weight_decay"):
            p.mul_(1 - number(group["lr"], group) * decay)
            return g
        return g + decay * p

    def update_in_blocks(self, p: Tensor, g: Tensor, state: State, group: Group) -> bool:
        """Run the rule block by block, or as a GPU kernel, if possible; return whether it was."""
        blockwise = self._blockwise.get(p)
        if blockwise is None or blockwise.stale(p, state):
            blockwise = self._blockwise[p] = BlockwiseUpdate(p, state, self._scratch)
        if not blockwise.can_run(g.array):
            by_number = type(p.array) in BACKEND_OF and not group.get("capturable")
            return by_number and run_kernel(self.kernel(state, group), p, g, state)
        blockwise.run(self.update, g.array, group)
        return True


def step_of_each(groups: list[Any], closure: Callable[[], Any] | None, update: Callable[[Any, Any], None]) -> Any:
    """Call `update(p, group)` for each parameter that has a gradient; return the loss of `closure`, if any."""
    loss = None
    if closure is not None:
        with enable_grad():
            loss = closure()
    with no_grad():
        for group in groups:
            for p in group["params"]:
                if p.grad is not None:
                    update(p, group)
    return loss
