"""A call of a module that has hooks or is recorded: mirrors `Module._call_impl` of `torch/nn/modules/module.py`.

The order: pre-hooks (those of all modules first), `forward`, hooks (those of all modules first), then the nodes for
the backward hooks are made, of which the input's was made before `forward`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minigrad._base.warnings import warn
from minigrad.core.grad_mode import LOCAL
from minigrad.core.tensor import Tensor
from minigrad.nn.modules._backward_hook import BackwardHook
from minigrad.nn.modules._hooks import (
    ALWAYS_CALLED,
    BACKWARD,
    BACKWARD_PRE,
    FORWARD,
    FORWARD_PRE,
    IS_FULL,
    WITH_KWARGS,
    BoundHook,
)

if TYPE_CHECKING:
    from minigrad.nn.modules.module import Module

__all__ = ["call"]

PRE_HOOK_RESULT = "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {}."
SILENCED = (
    "{}module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised "
    "in forward: {}"
)
NO_TENSOR = "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received {}"
DEPRECATED = (
    "Using {} {} is deprecated and will be removed in future versions. This hook will be missing {}. Please use "
    "register_full_backward_hook to get the documented behavior."
)


class Call:
    """One call: what goes in, what came out so far, and the hooks that are always called and have been."""

    def __init__(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result: Any = None
        self.called: set[int] = set()

    def run(self) -> Any:
        """The module's output, after all hooks."""
        module = self.module
        full = [*(BACKWARD.values() if IS_FULL[0] is True else ()),
                *(module._backward_hooks.values() if module._is_full_backward_hook is True else ())]
        non_full = [*(BACKWARD.values() if IS_FULL[0] is False else ()),
                    *(module._backward_hooks.values() if module._is_full_backward_hook is False else ())]
        pre = [*BACKWARD_PRE.values(), *module._backward_pre_hooks.values()]
        self.call_pre_hooks()
        backward = BackwardHook(module, full, pre) if full or pre else None
        if backward is not None:
            self.args = backward.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        self.call_hooks()
        if backward is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(NO_TENSOR.format(type(self.result)))
            self.result = backward.setup_output_hook(self.result)
        if non_full:
            self.hang_on_node(non_full)
        return self.result

    def call_pre_hooks(self) -> None:
        """The hooks before `forward`, which may give other arguments."""
        module = self.module
        for number, hook in (*FORWARD_PRE.items(), *module._forward_pre_hooks.items()):
            if number in module._forward_pre_hooks_with_kwargs:
                given = hook(module, self.args, self.kwargs)
                if given is not None:
                    if not (isinstance(given, tuple) and len(given) == 2):
                        raise RuntimeError(PRE_HOOK_RESULT.format(given))
                    self.args, self.kwargs = given
            else:
                given = hook(module, self.args)
                if given is not None:
                    self.args = given if isinstance(given, tuple) else (given,)

    def call_hooks(self) -> None:
        """The hooks after `forward`, which may give another output."""
        module = self.module
        for number, hook in (*FORWARD.items(), *module._forward_hooks.items()):
            if number in module._forward_hooks_always_called or number in ALWAYS_CALLED:
                self.called.add(number)
            self.call_hook(hook, number in module._forward_hooks_with_kwargs or number in WITH_KWARGS)

    def call_hook(self, hook: Any, with_kwargs: bool) -> None:
        """One hook after `forward`."""
        more = (self.kwargs,) if with_kwargs else ()
        given = hook(self.module, self.args, *more, self.result)
        if given is not None:
            self.result = given

    def call_always(self) -> None:
        """After an error: the hooks that are always called and have not been; their own errors become warnings."""
        module = self.module
        for where, hooks, always, with_kwargs in (
                ("global ", FORWARD, ALWAYS_CALLED, {}),
                ("", module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs)):
            for number, hook in hooks.items():
                if number in always and number not in self.called:
                    try:
                        self.call_hook(hook, number in with_kwargs)
                    except Exception as error:  # noqa: BLE001 (whichever it is: the first error is the one to show)
                        warn(SILENCED.format(where, error))

    def hang_on_node(self, hooks: list[Any]) -> None:
        """Hang the backward hooks of the old kind on the node of the first tensor of the output."""
        first = self.result
        while not isinstance(first, Tensor):
            tensors = (each for each in first.values() if isinstance(each, Tensor)) if isinstance(first, dict) else None
            first = first[0] if tensors is None else next(tensors)
        node = first.grad_fn
        if node is not None:
            for hook in hooks:
                node.register_hook(BoundHook(hook, self.module))
            missing = missed(self.args, self.result, node)
            if missing is not None:
                warn(DEPRECATED.format(*missing), FutureWarning)


def missed(args: tuple[Any, ...], result: Any, node: Any) -> tuple[str, str, str] | None:
    """What a backward hook of the old kind, which is one of this node, will not see of a call; None if it sees all."""
    results = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(results, tuple) and all(isinstance(each, Tensor) for each in results)):
        return ("non-full backward hooks on a Module", "that does not return a single Tensor or a tuple of Tensors",
                "some of the grad_output")
    if not all(isinstance(each, Tensor) for each in args):
        return ("non-full backward hooks on a Module",
                "that does not take as input a single Tensor or a tuple of Tensors", "some of the grad_input")
    if len({each.grad_fn for each in results} - {None}) > 1:
        return ("a non-full backward hook", "when outputs are generated by different autograd Nodes",
                "some grad_output")
    if {each.grad_fn for each in args} - {None} != {target for target, _ in node.next_functions}:
        return ("a non-full backward hook", "when the forward contains multiple autograd Nodes", "some grad_input")
    return None


def call(module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The output of a module that has hooks, or when all modules have, or when an observer listens."""
    observer = LOCAL.observer
    if observer is None:
        return hooked(module, args, kwargs)
    observer.seen.module_begin(module)
    try:
        return hooked(module, args, kwargs)
    finally:
        observer.seen.module_end()


def hooked(module: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`forward` between the hooks."""
    running = Call(module, args, dict(kwargs))
    try:
        return running.run()
    except Exception:
        running.call_always()
        raise
