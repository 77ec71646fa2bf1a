"""Defines `Optimizer`, the base class of all optimisers: mirrors `torch/optim/optimizer.py`.

This is what an optimiser is apart from its formula: groups of parameters with their own options, a state for each
parameter, both as plain data (`state_dict`), and hooks around all of it.
"""

import copy
import functools
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from minigrad._base.dtype import float32
from minigrad._base.hooks import RemovableHandle, add_hook
from minigrad._base.warnings import warn
from minigrad.core import LOCAL, UNUSUAL, Tensor
from minigrad.core.engine import ignore_numpy_warnings
from minigrad.ops.tensor.properties import typename

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hooks = OrderedDict[int, Callable[..., Any]]
Group = dict[str, Any]
State = dict[str, Any]

_global_optimizer_pre_hooks: Hooks = OrderedDict()
_global_optimizer_post_hooks: Hooks = OrderedDict()
KINDS = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")
DUPLICATES = ("optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
              "see github.com/pytorch/pytorch/issues/40967 for more information")
UNORDERED = ("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
             "will change between runs. Please use a list instead.")
SCALAR_STATE = ("step", "mu_product", "eta", "mu")  # one number each in a state, whatever the parameter's shape
OTHER_SIZE = "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"


class Required:
    """The default of an option that every group must set."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before the steps of all optimisers; it may return other `(args, kwargs)`."""
    return add_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after the steps of all optimisers."""
    return add_hook(_global_optimizer_post_hooks, hook)


def between_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the `step` of a class in the hooks before and after it."""

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        step_args = (self, *args)
        for hook in (*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, step_args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                                       f"{changed}.")
                step_args, kwargs = changed
        if UNUSUAL.transforms is not None:
            UNUSUAL.transforms.refuse_step(self)
        tell_state(self)
        with ignore_numpy_warnings():
            result = step(*step_args, **kwargs)
        tell_state(self)
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()):
            hook(self, step_args, kwargs)
        return result

    hooked.hooked = True  # type: ignore[attr-defined]  # PyTorch marks it like this too
    return hooked


def tell_state(optimizer: Any) -> None:
    """Tell an observer, if there is one, what an optimizer remembers."""
    if LOCAL.observer is not None:
        LOCAL.observer.optimizer_state(optimizer)


class Optimizer:
    """Changes parameters by their gradients, in `step()`, which a subclass defines.

    `params`: tensors, `(name, tensor)` pairs, or dicts: groups with their own options, else those of `defaults`.
    `param_groups` is the list of these groups; `state[p]` is what the optimiser remembers about a parameter.
    """

    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._begin_hooks()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{typename(params)}")
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; `closure` recomputes the loss, which is then returned."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients, or set them to zero: then parameters that get no new one are changed all the same."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    had, p._grad = p._grad, None
                    if had is not None and LOCAL.observer is not None:
                        LOCAL.observer.set_grad(p)
                elif p._grad is not None:
                    if p._grad.grad_fn is None:
                        p._grad.requires_grad_(False)
                    else:
                        p._grad.detach_()
                    p._grad.zero_()

    # groups
    def add_param_group(self, param_group: Group) -> None:
        """Optimise more parameters: a dict with `params` and options.

        Raises TypeError if it is not a dict, for a set of parameters, or parameters that are not tensors; ValueError
        for results of ops, if some names are missing, or for parameters that are in another group.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(UNORDERED)
        param_group["params"] = [params] if isinstance(params, Tensor) else list(params)
        self._split_names(param_group)
        for p in param_group["params"]:
            self._check_param(p)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_new(param_group)
        self.param_groups.append(param_group)

    def _split_names(self, group: Group) -> None:
        """Keep the names of named parameters beside them, as `param_names`."""
        named = [p for p in group["params"] if isinstance(p, tuple)]
        if named and len(named) < len(group["params"]):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if named:
            group["params"] = [p[1] for p in named]
            group["param_names"] = [p[0] for p in named]

    def _check_param(self, p: Any) -> None:
        """Raise PyTorch's errors for what cannot be optimised."""
        if not isinstance(p, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
        if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")

    def _check_new(self, new: Group) -> None:
        """Raise PyTorch's errors for a group that does not fit the others."""
        params = set(new["params"])
        if len(params) < len(new["params"]):
            warn(DUPLICATES)
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{'with' if 'param_names' in new else 'without'} names to the optimizer")
        if any(not params.isdisjoint(group["params"]) for group in self.param_groups):
            raise ValueError("some parameters appear in more than one parameter group")

    # state
    def state_dict(self) -> dict[str, Any]:
        """Return `{"state": {number: state}, "param_groups": […]}`; parameters are numbered across all groups.

        The tensors in it are those of the optimiser, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            options = {k: v for k, v in group.items() if k != "params"}
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({**options, "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state and options; state tensors are converted to the dtypes of their parameters. Raises ValueError if
        the number or lengths of the groups differ from those here; nothing is changed then."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        old, new = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(old) != len(new):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(old, new)):
            raise ValueError(OTHER_SIZE)
        chained = itertools.chain.from_iterable
        params = dict(zip(chained(g["params"] for g in new), chained(g["params"] for g in old)))
        captured = {number for group in new if group.get("capturable") for number in group["params"]}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            p = params.get(number)
            state[number if p is None else p] = value if p is None else self._cast(p, value, None, number in captured)
        for ours, theirs in zip(old, new):
            theirs["params"] = ours["params"]
            if "param_names" in ours:
                theirs.setdefault("param_names", ours["param_names"])
        self.__setstate__({"state": state, "param_groups": new})
        tell_state(self)
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _cast(self, p: Tensor, value: Any, key: Any, captured: bool) -> Any:
        """Copy a part of a state, its tensors in the dtype and on the device of the parameter; `step` stays unchanged,
        other single numbers stay on the CPU, where every step reads them, unless steps may be `captured`."""
        if isinstance(value, Tensor):
            if key == "step":
                return value.to(p.device, float32) if captured else value
            device = value.device if key in SCALAR_STATE and not captured else p.device
            return value.to(device, p.dtype if p.is_floating_point() else None)
        if isinstance(value, Mapping):
            return {k: self._cast(p, v, k, captured) for k, v in value.items()}
        if isinstance(value, Iterable):
            maker: Any = type(value)
            return maker(self._cast(p, v, None, captured) for v in value)
        return value

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join([f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"])
        return f"{text})"

    # hooks
    def _begin_hooks(self) -> None:
        """Begin without hooks of any kind; from now on the class calls hooks around its `step`."""
        cls = type(self)
        if not hasattr(cls.step, "hooked"):
            setattr(cls, "step", between_hooks(cls.step))  # noqa: B010 (mypy lets no method be assigned)
        for kind in KINDS:
            self.__dict__.setdefault(f"_optimizer_{kind}_hooks", OrderedDict())

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other `(args, kwargs)`."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another one."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before one is loaded; it may return another one."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after one was loaded."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)
