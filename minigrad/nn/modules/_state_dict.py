"""`state_dict` and `load_state_dict`: mirrors parts of `torch/nn/modules/module.py`.

A state dict is an OrderedDict from dotted names to tensors, which share their data with the module; its attribute
`_metadata` holds the `_version` of each module. Loading one copies it into the tensors that are there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

from minigrad._base.warnings import warn
from minigrad.autograd.grad_mode import no_grad
from minigrad.core.tensor import Tensor
from minigrad.nn.modules._hooks import HookRegistry
from minigrad.nn.modules._tree import Tree
from minigrad.nn.parameter import Parameter

__all__ = ["Stateful"]

EXTRA = "_extra_state"
NO_EXTRA_STATE = (
    "Reached a code path in Module.{} that should never be called. Please file an issue at "
    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml to report this bug."
)
POSITIONAL = (
    "Positional args are being deprecated, use kwargs instead. Refer to "
    "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details."
)
POST_HOOK_RESULT = (
    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
    "incompatible_keys need to be modified, it should be done inplace."
)


class _IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if self.missing_keys or self.unexpected_keys:
            return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"
        return "<All keys matched successfully>"


def with_metadata(state: Any, metadata: Any) -> Any:
    """A state dict with what is known of its modules, if anything is."""
    if metadata is not None:
        state._metadata = metadata
    return state


def unfit(key: str, given: Any, here: Tensor) -> str | None:
    """What PyTorch says of a value that cannot be loaded into a tensor; None if it can."""
    if not (isinstance(given, Tensor) or hasattr(type(given), "__torch_function__")):
        return (f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(given)}")
    if given.shape != here.shape:
        return (f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in "
                f"current model is {here.shape}.")
    return None


class Stateful(Tree, HookRegistry):
    """The part of a Module that gives and takes its state."""

    _version: int = 1

    def get_extra_state(self) -> Any:
        """What a class wants in its state besides tensors; to be overridden along with `set_extra_state`."""
        raise RuntimeError(NO_EXTRA_STATE.format("get_extra_state()"))

    def set_extra_state(self, state: Any) -> None:
        """Take what `get_extra_state` gave."""
        raise RuntimeError(NO_EXTRA_STATE.format("set_extra_state()"))

    # given
    def _state(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers of this module alone, without None."""
        buffers = {k: v for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set}
        return {k: v for k, v in [*self._parameters.items(), *buffers.items()] if v is not None}

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """Write the state of this module alone into `destination`."""
        for name, value in self._state().items():
            destination[prefix + name] = value if keep_vars else value.detach()
        if type(self).get_extra_state is not Stateful.get_extra_state:
            destination[prefix + EXTRA] = self.get_extra_state()

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """The state of this module and all in it, by dotted names that begin with `prefix`.

        `destination`: a dict to write into, in place of a new OrderedDict. `keep_vars`: the parameters themselves, not
        detached.
        """
        if args:
            warn(POSITIONAL, FutureWarning)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            return self.state_dict(**{"destination": destination, "prefix": prefix, "keep_vars": keep_vars} | given)
        if destination is None:
            destination = with_metadata(OrderedDict(), OrderedDict())
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            given = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if given is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif given is not None:
                destination = given
        return destination

    # taken
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy a state dict into the parameters and buffers of this module and all in it.

        `strict`: the names must be the same on both sides. `assign`: the tensors take the place of those that are
        there, in place of being copied. Returns `missing_keys` and `unexpected_keys`. After an error all tensors are as
        they were (in PyTorch those that fit have been loaded).

        Raises:
            RuntimeError: that lists all names and shapes that do not fit.
            TypeError: for what is no mapping.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        loading, before = Loading(state_dict, strict, assign), Before(self)
        try:
            loading.into(self, loading.state)
            loading.refuse(type(self).__name__)
        except BaseException:
            before.restore()
            raise
        return loading.keys

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any],
                              strict: bool, missing_keys: list[str], unexpected_keys: list[str],
                              error_msgs: list[str]) -> None:
        """Load this module alone; what does not fit is added to the three lists. For subclasses to extend."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        state = self._state()
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, here in state.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            given = state_dict[key]
            if isinstance(given, Tensor) and here.dim() == 0 and given.shape == (1,):
                given = given[0]  # what was one number in the first versions of PyTorch
            wrong = unfit(key, given, here)
            if wrong is None:
                wrong = self._take(name, key, given, here, assign)
            if wrong is not None:
                error_msgs.append(wrong)
        extra = prefix + EXTRA
        if type(self).set_extra_state is not Stateful.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                first, dot, _ = key.removeprefix(prefix).partition(".")
                if key.startswith(prefix) and key != extra and first not in (self._modules if dot else state):
                    unexpected_keys.append(key)

    def _take(self, name: str, key: str, given: Any, here: Tensor, assign: bool) -> str | None:
        """Copy a tensor into one of this module's, or put it in its place; the error's text if that fails."""
        try:
            with no_grad():
                if not assign:
                    here.copy_(given)
                    return None
                if isinstance(here, Parameter):
                    given = (given.requires_grad_(here.requires_grad) if isinstance(given, Parameter) else
                             Parameter(given, requires_grad=here.requires_grad))
                setattr(self, name, given)
                return None
        except Exception as error:  # noqa: BLE001 (whichever it is, it is told along with the others)
            return (f'While copying the parameter named "{key}", whose dimensions in the model are {here.size()} and '
                    f"whose dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}.")


class Before:
    """The tensors of a module and of all in it, as they were: by their places, and copied."""

    def __init__(self, module: Any) -> None:
        tables = [table for each in module.modules() for table in (each._parameters, each._buffers)]
        self.places = [(table, dict(table)) for table in tables]
        self.copies = {id(t): (t, t.detach().clone()) for _, table in self.places for t in table.values()
                       if t is not None}

    def restore(self) -> None:
        """Put everything back."""
        for table, tensors in self.places:
            table.update(tensors)
        with no_grad():
            for tensor, copy in self.copies.values():
                tensor.copy_(copy)


class Loading:
    """One `load_state_dict`: what is loaded, and what did not fit."""

    def __init__(self, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> None:
        self.metadata = getattr(state_dict, "_metadata", None)
        self.state = with_metadata(OrderedDict(state_dict), self.metadata)
        self.strict, self.assign = strict, assign
        self.keys, self.errors = _IncompatibleKeys([], []), list[str]()

    def into(self, module: Any, state: dict[str, Any], prefix: str = "") -> None:
        """Load a module and all in it, each with the part of the state that is its own, then call its post-hooks."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(state, prefix, local, True, *self.keys, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                self.into(child, {k: v for k, v in state.items() if k.startswith(below)}, below)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.keys) is not None:
                raise AssertionError(POST_HOOK_RESULT)

    def refuse(self, name: str) -> None:
        """Raise an error that lists what did not fit, if something did not."""
        texts = list(self.errors)
        if self.strict:
            for what, keys in (("Unexpected", self.keys.unexpected_keys), ("Missing", self.keys.missing_keys)):
                if keys:
                    listed = ", ".join([f'"{key}"' for key in keys])
                    texts.insert(0, f"{what} key(s) in state_dict: {listed}. ")
        if texts:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(name, "\n\t".join(texts)))
