"""One step of an optimiser whose rule looks at each element by itself: all but LBFGS.

PyTorch writes each rule three times (`_single_tensor_…`, `_multi_tensor_…`, fused). Here a subclass of `Updating` has
one, `update`, in words of Tensor: the formula. It runs on tensors where each word has to be seen, by autograd
(`differentiable=True`) or by a recorder, else on `Block`s of the same arrays, in place and in memory that is kept. On a
GPU a few rules are a kernel too (`Updating.kernel`), which a test holds against them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from minigrad._base.warnings import warn
from minigrad.autograd.grad_mode import enable_grad, set_grad_enabled
from minigrad.backends.registry import BACKENDS, HERE, OF_TYPE, Several, beside, count, in_use
from minigrad.core.grad_mode import LOCAL
from minigrad.core.tensor import Tensor, counter_of, plain
from minigrad.optim._blocks import Scratch
from minigrad.optim._kernels import Kernel, run
from minigrad.optim._options import number, plain_number
from minigrad.optim._walk import Walk
from minigrad.optim.optimizer import Group, Optimizer, State

__all__ = ["Updating", "change", "filled", "single"]

RESULTS: dict[str, Callable[[Any, float], Any]] = {
    "add_": operator.add, "mul_": operator.mul, "fill_": lambda old, new: new}
CAPTURED_ON = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
NO_STEPS = ("\n\nIts steps depend on how many there were, which Python counts: every replay would be the same step. "
            "With capturable=True the GPU counts; SGD needs no count.")
UNCAPTURED = ("This instance was constructed with capturable=True or some of all the param_groups came with "
              "capturable=True, but step() is running without CUDA graph capture. If you never intend to graph-capture "
              "this instance, capturable=True can impair performance, and you should set capturable=False.")
FLAGS = {"amsgrad": False, "nesterov": False, "momentum": 0, "centered": False, "maximize": False, "foreach": None,
         "capturable": False, "differentiable": False, "decoupled_weight_decay": False, "fused": None}


class Updating(Optimizer):
    """An optimiser with one rule for each element; a subclass defines `begin` and `update`."""

    captured = "params and state_steps", CAPTURED_ON  # what PyTorch says has to be where, for `capturable=True`
    _warned_capturable_if_run_uncaptured = False

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        self._begin()

    def _begin(self) -> None:
        """Nothing is prepared yet."""
        self._scratch = Scratch()
        self._walks: dict[Tensor, Walk] = {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what was pickled or loaded; options and counts of steps that are older get their form of today."""
        super().__setstate__(state)
        self._begin()
        for group in self.__dict__.get("param_groups", ()):
            for flag, value in FLAGS.items():
                if flag in self.defaults:
                    group.setdefault(flag, value)
        for each in self.__dict__.get("state", {}).values():
            if "step" in each and not isinstance(each["step"], Tensor):
                each["step"] = plain(np.array(each["step"], np.float32))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change each parameter that has a gradient; `closure` computes the loss anew, which is then returned."""
        loss = None
        if self.param_groups[0].get("capturable"):
            self.warn_if_not_captured()
        if closure is not None:
            with enable_grad():
                loss = closure()
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            for group in self.param_groups:
                for p in group["params"]:
                    if p._grad is None:
                        continue
                    if not Several.known:
                        self.step_one(p, p._grad, self.state_of(p, group), group)
                        continue
                    with in_use(p.array):
                        self.step_one(p, p._grad, self.state_of(p, group), group)
        return loss

    def warn_if_not_captured(self) -> None:
        """PyTorch's warning, once, about a step that might be in a graph and is not, where there is a GPU."""
        if (not self._warned_capturable_if_run_uncaptured and all(group["capturable"] for group in self.param_groups)
                and count("cuda") and not BACKENDS["cuda"].capturing()):
            warn(UNCAPTURED)
            self._warned_capturable_if_run_uncaptured = True

    def step_one(self, p: Tensor, g: Tensor, state: State, group: Group) -> None:
        """Change one parameter."""
        backend = OF_TYPE.get(type(p.array))
        if group.get("capturable"):
            if backend is None or type(state["step"].array) is not backend.array_type:
                what, devices = self.captured
                raise AssertionError(f"If capturable=True, {what} must be on supported devices: {devices}.")
        elif backend is not None and "step" in state and backend.capturing():
            raise RuntimeError(f"Attempting CUDA graph capture of step() for an instance of {type(self).__name__} but "
                               f"param_groups' capturable is False.{NO_STEPS}")
        self.count(state, group)
        if not (LOCAL.observer is None and not LOCAL.recording and self.in_blocks(p, g, state, group)):
            if LOCAL.recording:  # what this step saves stays what it was
                state.update({k: v.clone() for k, v in state.items() if isinstance(v, Tensor)})
            self.update(p, g, state, group)

    # what a subclass says
    def begin(self, p: Tensor, group: Group) -> State:
        """The state of a parameter before its first step."""
        raise NotImplementedError

    def update(self, p: Any, g: Any, state: dict[str, Any], group: Group) -> None:
        """The rule: change `p` and what is in `state`, by the gradient `g`; all are tensors, or all are blocks.

        What is one number for the whole parameter, such as the count of steps, is a tensor in any case.
        """
        raise NotImplementedError

    def count(self, state: State, group: Group) -> None:
        """What is done once for each parameter, before the rule: one more step."""
        change(state["step"], "add_", 1)

    def state_of(self, p: Tensor, group: Group) -> State:
        """The state of a parameter, made when first needed."""
        state: State = self.state[p]
        if not state:
            state.update(self.begin(p, group))
        return state

    def kernel(self, state: State, group: Group) -> Kernel | None:
        """The rule, as a kernel of a GPU; None where there is none for it."""
        return None

    # what rules have in common
    def slope(self, p: Any, g: Any, group: Group) -> Any:
        """What to go down by, with λ = weight_decay: g + λ p, the slope of f + λ/2 p²; -g + λ p if f is maximised.

        Decoupled, the decay is a step of its own (Loshchilov and Hutter 2017): p ← (1 - lr λ) p.
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

    def in_blocks(self, p: Tensor, g: Tensor, state: State, group: Group) -> bool:
        """Run the rule on one part of the arrays after the other; whether that could be done."""
        walk = self._walks.get(p)
        if walk is None or walk.stale(p, state):
            walk = self._walks[p] = Walk(p, state, self._scratch)
        if not walk.fits(g.array):
            by_number = type(p.array) in OF_TYPE and not group.get("capturable")
            return by_number and run(self.kernel(state, group), p, g, state)
        walk.run(self.update, g.array, group)
        return True


def change(t: Tensor, word: str, value: Any) -> None:
    """`t.add_(value)` and its like, of a tensor with one number."""
    if LOCAL.observer is None and type(t.array) is np.ndarray:
        t.array[...] = RESULTS[word](t.array, value)
        counter_of(t).value += 1
    else:
        getattr(t, word)(value)


def filled(p: Tensor, value: Any) -> Tensor:
    """A part of the state of `p`, of its shape, of one value."""
    return plain(np.full_like(p.array, plain_number(value)))


def single(p: Tensor, group: Group, value: Any = 0) -> Tensor:
    """A part of the state of `p` that is one number, such as the count of steps; float32 for all parameters, as in
    PyTorch. It is on the CPU, but if a graph may be captured: then it is beside the parameter, where the GPU counts."""
    place = beside(p.array) if group.get("capturable") else HERE
    return plain(np.full((), plain_number(value), np.float32, like=place))
