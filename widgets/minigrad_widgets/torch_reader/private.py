"""PyTorch's private names that the reader uses: what each is for, and what is lost where a PyTorch has it not.

`PRIVATE.engine` looks a name up when it is first used, so that importing this package works with every PyTorch, and
what is missing is known by name: `python -m minigrad_widgets.torch_reader` prints the table. Every other file of this
folder takes a private name of PyTorch from here; the attributes of single objects that are used in place, such as
`t._version`, are in the table too, and a test compares.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import attrgetter
from types import CodeType
from typing import Any, Generic, NamedTuple, TypeVar

import torch
import torch.distributed as dist
import torch.utils.checkpoint as checkpoints
from torch.autograd import forward_ad, graph

__all__ = ["PRIVATE", "Given", "table"]

T = TypeVar("T")
Saved = tuple[Any, bool]  # a saved tensor as it is stored, or None; and whether hooks have packed it


class Name(Generic[T]):
    """A private name: the first line of the docstring of `find` says which it is and what it is for; `lost`: what the
    reader cannot show without it; `otherwise`: what takes its place."""

    def __init__(self, find: Callable[[Any], T], lost: str, otherwise: Any) -> None:
        self.find, self.lost, self.otherwise = find, lost, otherwise

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type) -> T:
        try:
            value = self.find(owner)
        except Exception as error:  # noqa: BLE001 - whatever a future PyTorch does here, the rest of the reader works
            owner.missing[self.name] = f"{type(error).__name__}: {error}"
            value = self.otherwise
        owner.__dict__[self.name] = value  # found there from now on: this class has no `__set__`
        return value


def name(lost: str, otherwise: Any) -> Callable[[Callable[[Any], T]], Name[T]]:
    """Make a function that finds a private name an attribute of `Names`."""
    return lambda find: Name(find, lost, otherwise)


def attributes(lost: str) -> Callable[[Callable[[Any], object]], Name[bool]]:
    """The same for attributes that are used in place: the function uses them once, and the value says if it could."""
    def tried(find: Callable[[Any], object]) -> Name[bool]:
        def works(owner: Any) -> bool:
            find(owner)
            return True

        works.__doc__ = find.__doc__
        return Name(works, lost, otherwise=False)

    return tried


def inner(function: Any, name: str) -> CodeType:
    """Return the code of a function that is defined inside another one."""
    return next(c for c in function.__code__.co_consts if isinstance(c, CodeType) and c.co_name == name)


def sample() -> Any:
    """Return the result of an op that saves nothing, in whatever modes the program is: none of its own code runs."""
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch(), torch.inference_mode(False):
        with torch.enable_grad():
            return torch.ones(1, requires_grad=True, device="cpu").neg()


class Names:
    """The names, each as an attribute that is looked up once. `missing`: why those that were not found were not."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self.asked = False

    def ask(self) -> None:
        """Look up all names, at the latest when a recording begins: inside of one, that would be seen."""
        if not self.asked:
            for key, each in vars(Names).items():
                if isinstance(each, Name):
                    getattr(self, key)
            self.asked = True

    # functions that are recognised on the stack
    @name("backward passes are not followed", None)
    def engine(self) -> Any:
        """`autograd.graph._engine_run_backward`: where a pass begins, and, in its variables, with which arguments."""
        return graph._engine_run_backward.__code__

    @name("nothing: since PyTorch 2.14 `apply` is written in C++, and the profile function sees its calls", None)
    def apply(self) -> Any:
        """`autograd.Function.apply`: the line that calls a Function of the user's."""
        return torch.autograd.Function.apply.__code__

    @name("modules are not noted", None)
    def module_call(self) -> Any:
        """`nn.Module._wrapped_call_impl`, which is its `__call__`: which modules are running."""
        return torch.nn.Module.__call__.__code__

    @name("checkpointed calls are shown as ordinary ops", None)
    def first_run(self) -> Any:
        """`utils.checkpoint.checkpoint`, from 2.14 on `_checkpoint_impl`: the first run of a checkpointed function."""
        function = getattr(checkpoints, "_checkpoint_impl", checkpoints.checkpoint)
        return inspect.unwrap(function).__code__

    @name("checkpointed calls with use_reentrant=True are shown as ordinary ops", None)
    def first_run_reentrant(self) -> Any:
        """`utils.checkpoint.CheckpointFunction.forward`: the first run, with use_reentrant=True."""
        return inspect.unwrap(checkpoints.CheckpointFunction.forward).__code__

    @name("that a checkpointed function runs again is shown as ordinary ops", None)
    def again(self) -> Any:
        """`utils.checkpoint._checkpoint_hook`, its `unpack_hook`: a checkpointed function runs again."""
        return inner(checkpoints._checkpoint_hook.__init__, "unpack_hook")

    @name("that a checkpointed function with use_reentrant=True runs again is shown as ordinary ops", None)
    def again_reentrant(self) -> Any:
        """`utils.checkpoint.CheckpointFunction.backward`: the same with use_reentrant=True."""
        return inspect.unwrap(checkpoints.CheckpointFunction.backward).__code__

    @name("what a checkpoint stores when its function runs again is noted later, or not", None)
    def pack(self) -> Any:
        """`utils.checkpoint._recomputation_hook`, its `pack_hook`: a tensor was found again."""
        return inner(checkpoints._recomputation_hook.__init__, "pack_hook")

    @name("the first op of a checkpointed function that runs again may be missing", None)
    def recompute(self) -> Any:
        """`utils.checkpoint._checkpoint_without_reentrant_generator`, its `recompute_fn`: calls the function again."""
        function = getattr(checkpoints, "_checkpoint_without_reentrant_generator_impl",
                           checkpoints._checkpoint_without_reentrant_generator)
        return inner(inspect.unwrap(function), "recompute_fn")

    @name("of DistributedDataParallel, the order of the buckets is noted as the user's own call", None)
    def ddp_forward(self) -> Any:
        """`nn.parallel.DistributedDataParallel._pre_forward`: what it sends before its module runs."""
        return torch.nn.parallel.DistributedDataParallel._pre_forward.__code__

    @name("nothing: a recording only costs a little more", None)
    def dispatch_rule(self) -> Any:
        """`_library.simple_registry.find_torch_dispatch_rule`: what PyTorch calls before each dispatch mode."""
        return torch._library.simple_registry.find_torch_dispatch_rule.__code__

    @name("what transforms of torch.func run is not framed", {})
    def transforms(self) -> dict[Any, str]:
        """`_functorch.vmap._flat_vmap`, `_functorch.eager_transforms.linearize` and three others: which are running."""
        names = {"grad": "grad_and_value_impl", "vjp": "_vjp_with_argnums", "jvp": "_jvp_with_argnums",
                 "linearize": "linearize"}
        given = attrgetter("_functorch.eager_transforms")(torch)
        found = {name: getattr(given, function) for name, function in names.items()}
        found["vmap"] = attrgetter("_functorch.vmap._flat_vmap")(torch)
        return {inspect.unwrap(function).__code__: name for name, function in found.items()}

    # functions that are called
    @name("tangents of forward mode are not shown", None)
    def tangent(self) -> Callable[[Any], Any] | None:
        """`_C._ForceDispatchKeyGuard`, `_C._dispatch_tls_local_…_set`: a block in which the tangent of a tensor can be
        read from below autograd; `autograd.forward_ad._current_level`: whether there are any."""
        block, included, excluded = (torch._C._ForceDispatchKeyGuard, torch._C._dispatch_tls_local_include_set,
                                     torch._C._dispatch_tls_local_exclude_set)
        assert isinstance(forward_ad._current_level, int)

        def read(t: Any) -> Any:
            if forward_ad._current_level < 0 or t.is_inference():
                return None
            hidden = excluded()
            with torch.no_grad(), block(included(), hidden - hidden), torch._C._DisableTorchDispatch():
                return forward_ad.unpack_dual(t).tangent

        read(sample())
        return read

    @name("backward passes are not followed", lambda: -1)
    def running_pass(self) -> Callable[[], int]:
        """`_C._current_graph_task_id`: the number of the pass that is running, -1 outside of any."""
        return torch._C._current_graph_task_id

    @name("the end of a backward pass is noted late, or as an error", lambda callback: None)
    def queue_callback(self) -> Callable[[Callable[[], None]], None]:
        """`autograd.Variable._execution_engine.queue_callback`: calls a function when the pass is over."""
        return torch.autograd.Variable._execution_engine.queue_callback

    @name("the reader's own copies are noted as ops", nullcontext)
    def without_dispatch(self) -> Callable[[], Any]:
        """`_C._DisableTorchDispatch`: a block in which the reader does not see its own copies."""
        return torch._C._DisableTorchDispatch

    @name("nothing: a recording only costs a little more", lambda mode: None)
    def take_off(self) -> Callable[[Any], None]:
        """`_C._pop_torch_dispatch_stack`, `_get_dispatch_stack_at`, `_len_…`: takes off a mode that is the last one."""
        pop, at, count = (torch._C._pop_torch_dispatch_stack, torch._C._get_dispatch_stack_at,
                          torch._C._len_torch_dispatch_stack)

        def take(mode: Any) -> None:
            number = count()
            if number and at(number - 1) is mode:
                pop(None)

        return take

    @name("the values of tensors under torch.func are not read", lambda t: t)
    def unwrapped(self) -> Callable[[Any], Any]:
        """`_C._functorch.is_functorch_wrapped_tensor`, `get_unwrapped`: the tensor in the wrappers of torch.func."""
        wrapped, inside = torch._C._functorch.is_functorch_wrapped_tensor, torch._C._functorch.get_unwrapped

        def unwrap(t: Any) -> Any:
            while wrapped(t):
                t = inside(t)
            return t

        return unwrap

    @name("a gradient of zeros may be shown with other values", lambda t: False)
    def without_memory(self) -> Callable[[Any], bool]:
        """`Tensor._is_zerotensor`: whether a tensor stands for zeros and has no memory, which older versions read."""
        return torch.Tensor._is_zerotensor

    @name("it is not known whether a detached tensor shares its source's version counter", lambda t, version: None)
    def set_version(self) -> Callable[[Any, int], None]:
        """`_C._autograd._unsafe_set_version_counter`: sets the version of a tensor."""
        function: Any = torch._C._autograd._unsafe_set_version_counter
        if "Sequence" in (function.__doc__ or "") or "tuple" in (function.__doc__ or ""):
            return lambda t, version: function((t,), (version,))
        return function  # type: ignore[no-any-return]  # PyTorch has no type for it

    @name("which parameters a bucket of DistributedDataParallel holds", lambda module: [])
    def buckets(self) -> Callable[[Any], list[Any]]:
        """`_get_zeros_like_grad_buckets` of a DistributedDataParallel's `reducer`: its buckets."""
        attrgetter("Reducer._get_zeros_like_grad_buckets")(dist)  # the class that every reducer has
        return lambda module: list(module.reducer._get_zeros_like_grad_buckets())

    # saved tensors
    @name("what nodes had saved before the recording began; see `packing`", None)
    def stored(self) -> Callable[[Any], Saved] | None:
        """`data` and `unpack_hook` of `SavedTensor`: a saved tensor as it is stored; no hook of the user's runs."""
        kind: Any = torch._C._autograd.SavedTensor
        assert kind.data and kind.unpack_hook
        data, hook = attrgetter("data"), attrgetter("unpack_hook")
        return lambda raw: (data(raw), hook(raw) is not None)

    @name("what nodes have saved, if `stored` is missing too", lambda: True)
    def packing(self) -> Callable[[], bool]:
        """`_C._autograd._saved_tensors_hooks_disable`, `…_enable`: whether a block of `saved_tensors_hooks` is running.

        It is asked when an op runs where PyTorch does not show a saved tensor as it is stored, as before 2.9: what was
        saved outside of such blocks can be unpacked, since no hook of the user's runs. The first function refuses
        inside a block; its effect is undone at once.
        """
        autograd: Any = torch._C._autograd
        disable, enable = autograd._saved_tensors_hooks_disable, autograd._saved_tensors_hooks_enable
        message = autograd._saved_tensors_hooks_get_disabled_error_message

        def inside() -> bool:
            before = message()
            try:
                disable("")
            except RuntimeError:
                found = True
            else:
                found = False
            if before is None:
                enable()
            else:
                disable(before)
            return found

        inside()
        return inside

    # classes
    @name("backward passes are not followed", type(None))
    def accumulate_grad(self) -> Any:
        """The class of `AccumulateGrad`: which nodes have a leaf."""
        return type(sample().grad_fn.next_functions[0][0])

    # attributes that are used in place
    @attributes("backward passes are not followed, and nodes have no lasting numbers")
    def node(self) -> object:
        """`_sequence_nr()` of a node: what tells it from others; `hooks_dict_ref` of its hooks: their order."""
        node = sample().grad_fn
        handle = node.register_hook(print)
        return node._sequence_nr(), handle.hooks_dict_ref()[handle.id]

    @attributes("nodes have no arithmetic")
    def metadata(self) -> object:
        """`_input_metadata` of a node: the shapes and dtypes of the gradients that it receives."""
        return sample().grad_fn._input_metadata[0].shape

    @attributes("what nodes have saved, and their constants")
    def saved(self) -> object:
        """`_raw_saved_…` and `_saved_…` of a node: what it has saved, and its constants."""
        functions: Any = torch._C._functions
        return functions.ExpBackward0._raw_saved_result, functions.SumBackward1._saved_dim

    @attributes("views, versions and hooks of tensors")
    def tensor(self) -> object:
        """`_base`, `_version`, `_backward_hooks` and `_post_accumulate_grad_hooks` of a tensor."""
        t = sample()
        return t._base, t._version, t._backward_hooks, t._post_accumulate_grad_hooks

    @attributes("which tensors share memory")
    def memory(self) -> object:
        """`_cdata` of a storage: its address."""
        return sample().untyped_storage()._cdata

    @attributes("sparse gradients in calls of several ranks have no size")
    def sparse(self) -> object:
        """`_values()` and `_indices()` of a sparse tensor: its memory."""
        return torch.Tensor._values, torch.Tensor._indices

    @attributes("which ops write to their operands")
    def schema(self) -> object:
        """`_schema` of an op: its arguments, and which of them it writes to."""
        written: Any = torch.ops.aten.add_.Tensor._schema.arguments[0].alias_info
        return written.is_write

    @attributes("the line that calls a Function of the user's")
    def function(self) -> object:
        """`_forward_cls` of the class of a Function's nodes: the Function."""
        made: Any = torch.autograd.Function._backward_cls
        return torch.autograd.function.BackwardCFunction, made._forward_cls


class Given(NamedTuple):
    """A row of the table: the attribute of `PRIVATE`, PyTorch's names and their use, and, where this PyTorch lacks
    them, what is lost and why they were not found."""

    name: str
    use: str
    lost: str = ""
    why: str = ""


def table() -> Iterator[Given]:
    """Look up all names; yield a row for each."""
    PRIVATE.ask()
    for key, each in vars(Names).items():
        if isinstance(each, Name):
            use = inspect.cleandoc(each.find.__doc__ or "").partition("\n")[0]
            missing = PRIVATE.missing.get(key)
            yield Given(key, use) if missing is None else Given(key, use, each.lost, missing)


PRIVATE = Names()
