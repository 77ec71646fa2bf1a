"""`minigrad.compile`: a step, called as before, that runs as a program once it has been traced."""

import functools
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

from minigrad._base.dtype import default_float
from minigrad._base.locks import new_lock
from minigrad._base.optional import optional
from minigrad._base.warnings import warn
from minigrad.backends.registry import MultiDevice
from minigrad.compiler.inspection import graph, inspection
from minigrad.compiler.loops.convolution import as_product, whole
from minigrad.compiler.loops.loop_source import WITH_LOOPS
from minigrad.compiler.program.passes import PASSES
from minigrad.compiler.tracing.capture import CapturedCall
from minigrad.compiler.tracing.guards import Survey, leaves_of
from minigrad.compiler.tracing.instrumentation import TRACING
from minigrad.compiler.tracing.trace import Active, GraphBreak, Trace
from minigrad.compiler.variant import Variant
from minigrad.core import LOCAL, UNUSUAL
from minigrad.nn.modules import module
from minigrad.nn.modules.module import Module
from minigrad.ops.linalg.checks import autocast_is_on

__all__ = ["Compiled", "Explanation", "OptimizedModule", "compile"]

MOST_VARIANTS = 8
ATTEMPTS = 3  # traces that may fail because the step makes state that later calls find, such as momentum
# What becomes one statement as a whole, and the passes.
BACKENDS: dict[str, tuple[Callable[..., Any], Any]] = {"numpy": (as_product, PASSES), "numba": (whole, WITH_LOOPS)}
STATE = ("a tensor that the step makes", "the step changes")


class Explanation(NamedTuple):
    """What became of a compiled function: for how many calls what was done, and why."""

    calls: int
    variants: int
    statements: int
    traced: int
    backend: str
    breaks: tuple[str, ...]
    guards: int
    joint: str  # about a result that keeps its graph

    def __str__(self) -> str:
        lines = [f"{self.calls} calls; {self.variants} program(s) on {self.backend}, checked by {self.guards} guards"]
        if self.variants:
            lines.append(f"{self.traced} statements were traced, {self.statements} remain")
        lines += [self.joint] if self.joint else []
        return "\n".join([*lines, *[f"no program: {reason}" for reason in self.breaks]])


class Compiled:
    """A function, or a module, that is traced at its second call and runs as a program from then on.

    `source`, `graph`, `memory` and `why` are about the program that ran last; each is an empty text before there is
    one. Other attributes are those of what was compiled.
    """

    def __init__(self, function: Callable[..., Any], backend: str, fullgraph: bool) -> None:
        self._function, self._fullgraph = function, fullgraph
        self._backend, self._backend_text = backend_of(backend)
        self._lock, self._calls, self._failed = new_lock(), 0, 0
        self._variants: list[Variant] = []
        self._breaks: list[str] = []
        self._eager = False
        self.__wrapped__ = function
        if not isinstance(function, Module):
            functools.update_wrapper(self, function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_function"], name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return type(self), (self._function, self._backend, self._fullgraph)  # a copy makes programs of its own

    def __repr__(self) -> str:
        return f"<compiled {self._function!r}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._eager or Active.here() or unusual():
            return self._function(*args, **kwargs)
        with self._lock:
            self._calls += 1
            tensors: list[Any] = []
            structure = leaves_of((args, kwargs), tensors, [])
            key = (structure, [spec_of(t) for t in tensors], LOCAL.grad_enabled, LOCAL.inference, default_float())
            for variant in self._variants:
                matched = variant.matches(key, tensors)
                if matched is not None:
                    if variant is not self._variants[0]:
                        self._variants.remove(variant)
                        self._variants.insert(0, variant)
                    return variant.run(*matched)
            if self._calls == 1:  # what a first step makes, such as an optimiser's state, is there when it is traced
                return self._function(*args, **kwargs)
            if len(self._variants) >= MOST_VARIANTS:
                last = self._variants[0]
                mismatch = "its arguments or modes are others" if key != last.key else (
                    last.guards.failing() or "a number of an optimiser is another")
                return self._give_up(f"there are {MOST_VARIANTS} programs already, and none holds for this call: "
                                     f"{mismatch}")(*args, **kwargs)
            return self._traced(key, tensors, args, kwargs)

    def _traced(self, key: Any, tensors: list[Any], args: Any, kwargs: Any) -> Any:
        """Trace this call; give its result, and keep its program."""
        composite, passes = BACKENDS[self._backend]
        with TRACING:
            captured = CapturedCall(Survey(self._function, args, kwargs), Trace(self._fullgraph, composite))
            result, trace = captured.run(self._function, args, kwargs), captured.trace
            variant = Variant(captured, key, tensors, passes, self._lock) if captured.whole else None
        if variant is not None and captured.backward is not None:
            captured.undo()
            result = variant.run(captured.every, variant.scalars_of(captured.every))
        if variant is not None and trace.broken is None:
            self._variants.insert(0, variant)
            return result
        assert trace.broken is not None
        reason, asked = trace.broken
        text = asked.located(reason)
        self._failed += 1
        self._breaks.append(text)
        if self._fullgraph:
            raise GraphBreak(text)
        if not reason.startswith(STATE) or self._failed >= ATTEMPTS:
            self._give_up(text)
        return result

    def _give_up(self, reason: str) -> Callable[..., Any]:
        self._eager = True
        self._breaks = list(dict.fromkeys([*self._breaks, reason]))
        warn(f"minigrad.compile: {self._name()} runs eagerly from now on: {reason}")
        return self._function

    @property
    def _last(self) -> Variant | None:
        return self._variants[0] if self._variants else None

    def _name(self) -> str:
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    # to be read
    @property
    def source(self) -> str:
        """The program as Python source: one statement a line, with the op and the line of yours that asked for it."""
        return self._last.source.text if self._last else ""

    @property
    def graph(self) -> list[dict[str, Any]]:
        """The statements as plain data: what each calls, reads and writes, for which op, at which line."""
        return graph(self._last.source) if self._last else []

    @property
    def passes(self) -> list[tuple[str, list[str]]]:
        """The statements after each pass, beginning with those that were traced."""
        record = self.inspection() if self._last else {"steps": []}
        return [(step["name"], [record["statements"][k]["code"] for k in step["statements"]])
                for step in record["steps"] if step["name"] != "memory plan"]

    def inspection(self) -> dict[str, Any]:
        """What `inspect` of the widgets shows, as plain data: your lines, the eager ops, the program after each pass.

        docs/compiler.md describes it. It is made when it is asked for. Raises RuntimeError if there is no program yet.
        """
        if self._last is None:
            reasons = "\n".join([f"no program: {reason}" for reason in self._breaks])
            raise RuntimeError(f"there is no program of {self._name()} to inspect\n\n"
                               f"{reasons or 'A step is traced at its second call: call it twice.'}")
        return inspection(self._name(), self._backend, self._last)

    @property
    def memory(self) -> str:
        """The memory plan, as a picture: which temporary lies where, from which statement to which."""
        return self._last.source.plan.picture() if self._last else ""

    @property
    def why(self) -> str:
        """The conditions that are checked before each call, and the reasons for which there is no program."""
        lines = [f"break: {reason}" for reason in self._breaks]
        if self._last:
            lines += [self._last.about()] if self._last.backward is not None else []
            lines += [f"guard: {text}" for text in dict.fromkeys(self._last.conditions())]
        return "\n".join(lines)

    def explain(self) -> Explanation:
        last, breaks = self._last, tuple(self._breaks)
        if last is None:
            return Explanation(self._calls, 0, 0, 0, self._backend_text, breaks, 0, "")
        traced, *_, program = [len(program.statements) for _, program in last.steps]
        return Explanation(self._calls, len(self._variants), program, traced, self._backend_text, breaks,
                           len(last.conditions()), last.about())


class OptimizedModule(Module):
    """A module around a module, `_orig_mod`, that is called as a `Compiled`; all else is that module's.

    Its parameters are named `_orig_mod.…`, and attributes are set there. `source`, `why` and the like are those of a
    compiled function, unless the module has attributes of these names.
    """

    def __init__(self, mod: Module, backend: str, fullgraph: bool) -> None:
        super().__init__()
        self.__dict__.update(_compiled=Compiled(mod, backend, fullgraph), _options=(backend, fullgraph))
        self._modules["_orig_mod"] = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_compiled"](*args, **kwargs)

    @property
    def training(self) -> bool:
        mode: bool = self._orig_mod.training
        return mode

    @training.setter
    def training(self, mode: bool) -> None:
        self._orig_mod.training = mode

    def __len__(self) -> int:
        if not hasattr(self._orig_mod, "__len__"):
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")
        return len(self._orig_mod)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        inner = own["_modules"]["_orig_mod"]
        return inner if name == "_orig_mod" else getattr(inner if hasattr(inner, name) else own["_compiled"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __reduce__(self) -> Any:
        return type(self), (self._orig_mod, *self._options)


def spec_of(tensor: Any) -> Any:
    """What a program relies on in an argument, beside its numbers."""
    array = tensor.array
    return (type(tensor), array.shape, array.strides, array.dtype, tensor._requires_grad, tensor._grad is None,
            tensor._grad_fn is None)


def unusual() -> bool:
    """Whether something is on that sees each op, or that programs know nothing of: such calls are eager."""
    return bool(LOCAL.observer is not None or LOCAL.saved_tensors_hooks or LOCAL.dispatch_modes or MultiDevice.active
                or UNUSUAL.on_new_node is not None or LOCAL.graph_task is not None or module._global_forward_hooks
                or module._global_forward_pre_hooks or module._global_backward_hooks
                or module._global_backward_pre_hooks or autocast_is_on())


OTHERS = ("inductor", "aot_eager", "eager")  # backends of PyTorch's that need nothing else


def compile(fn: Any = None, *, backend: str = "auto", fullgraph: bool = False, dynamic: bool | None = None) -> Any:
    """Turn a training step, a function of tensors or a module into a program that does the same, faster.

    The first call runs as always, the second is traced, those after it run the program for as long as what was traced
    still holds; else another program is made, up to eight. Of a result that keeps its graph the backward pass becomes a
    program as well. What no program can repeat makes all calls eager, after one warning. Use it as a call,
    `step = compile(step)`, or as a decorator.

    `backend`: "numpy"; "numba", which makes one loop of statements over the same elements, and takes half a second for
    each new loop (`pip install "minigrad-kit[fast]"`); "auto": numba where it is installed, else NumPy. PyTorch's
    "inductor", "aot_eager" and "eager" mean "auto".
    `fullgraph`: raise an error where a warning would be given.
    `dynamic`: accepted as PyTorch has it; each shape gets a program of its own.

    Raises:
        ValueError: for another backend, or for True as `dynamic`.
        MissingExtra: for "numba" where it is not installed.
        GraphBreak: by a call, with `fullgraph`, at what no program can repeat.
        RuntimeError: by a call, if the step uses forward mode.
    """
    if fn is None:
        return functools.partial(compile, backend=backend, fullgraph=fullgraph, dynamic=dynamic)
    backend = "auto" if backend in OTHERS else backend
    if backend not in ("auto", *BACKENDS):
        raise ValueError(f"backend must be one of auto, {', '.join(BACKENDS)}, not {backend!r}")
    if dynamic:
        raise ValueError("dynamic=True is not there: each shape gets a program of its own. Leave it out.")
    return (OptimizedModule if isinstance(fn, Module) else Compiled)(fn, backend, fullgraph)


def backend_of(asked: str) -> tuple[str, str]:
    """The backend that is meant, and how it is called in an explanation."""
    if asked == "numba":
        optional("numba", "fast")
    if asked != "auto":
        return asked, asked
    return ("numba", "numba (auto: it is installed)") if importlib.util.find_spec("numba") else (
        "numpy", "numpy (auto: numba is not installed)")


def explain(step: Any) -> Explanation:
    """What became of the calls of a compiled function: programs, guards, and the reasons for which there are none."""
    step = vars(step)["_compiled"] if isinstance(step, OptimizedModule) else step
    if not isinstance(step, Compiled):
        raise TypeError(f"explain() takes what minigrad.compile gave, not {type(step).__name__}")
    return step.explain()


compile.explain = explain  # type: ignore[attr-defined]  # a function has no such attribute for mypy
