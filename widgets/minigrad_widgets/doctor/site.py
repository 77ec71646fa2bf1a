"""Where an error was raised: the user's expression with what it works on, the module by its path, and the body, of a
Function, a hook or a checkpoint, that the line is in.

NOTE (nothing is run). The program is over, and its frames tell what its variables held. Names, attributes and parts of
lists are looked up without calling anything; where an operand is itself a call, its value is not known.
"""

from __future__ import annotations

import ast
import copy
import inspect
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from types import FrameType, TracebackType
from typing import Any, NamedTuple

from minigrad_widgets.doctor.findings import Place
from minigrad_widgets.doctor.library import Library, is_installed, is_module, is_tensor
from minigrad_widgets.doctor.recording import PACKAGE
from minigrad_widgets.doctor.source import module_of, place_at, tree_of

__all__ = ["Made", "Operand", "Site", "text_of"]

METHODS = frozenset({"forward", "backward", "vjp", "jvp", "setup_context"})  # what a Function consists of
FIRST = {"Linear": "in_features", "Conv": "in_channels", "BatchNorm": "num_features", "LSTM": "input_size",
         "GRU": "input_size", "RNN": "input_size", "LayerNorm": "normalized_shape", "Embedding": "num_embeddings",
         "MultiheadAttention": "embed_dim"}  # what each layer calls its first argument: the width of what comes in


class Frame(NamedTuple):
    """A call in a traceback."""

    frame: FrameType
    line: int
    place: tuple[int | None, ...]  # first and last line, first and last column of what it was doing


class Operand(NamedTuple):
    """Something that an expression works on: its text, and what it was."""

    text: str
    value: Any


class Made(NamedTuple):
    """Where a layer was made: the place, the call, what it was assigned to, if it was assigned by itself, and the
    file."""

    place: Place
    call: ast.Call
    target: str
    path: str


class Site:
    """Where an error was raised in a program of a library; `names` are the variables that the program uses."""

    def __init__(self, error: BaseException | None, library: Library, names: Mapping[str, Any]) -> None:
        self.names, self.library = names, library
        self.frames = [each for each in frames_of(None if error is None else error.__traceback__)
                       if not each.frame.f_code.co_filename.startswith(PACKAGE)]
        users = [not library.owns(each.frame.f_code.co_filename) for each in self.frames]
        own = [i for i, user in enumerate(users) if user and not is_installed(self.file(i))]
        self.users = own or [i for i, user in enumerate(users) if user]
        self.at = self.users[-1] if self.users else None  # the frame of the user's innermost line

    def file(self, i: int) -> str:
        """Return the file of a frame."""
        return self.frames[i].frame.f_code.co_filename

    def place(self, i: int, role: str) -> Place:
        """Return the line of a frame."""
        return place_at(self.file(i), self.frames[i].line, role)

    def is_package(self, i: int) -> bool:
        """Whether a frame is in an installed package, and not in the library."""
        return is_installed(self.file(i)) and not self.library.owns(self.file(i)) and "site-packages" in self.file(i)

    @property
    def tree(self) -> ast.Module | None:
        """The syntax tree of the file with the user's innermost line."""
        return None if self.at is None else tree_of(self.file(self.at))

    @cached_property
    def expression(self) -> ast.AST | None:
        """The expression of the user's innermost line in which the error was raised."""
        if self.at is None or self.tree is None:
            return None
        place = self.frames[self.at].place
        fields = ("lineno", "end_lineno", "col_offset", "end_col_offset")
        nodes = list(ast.walk(self.tree))
        found = next((n for n in nodes if tuple(getattr(n, name, None) for name in fields) == place), None)
        return next((n.value for n in nodes if isinstance(n, ast.Assign) and found in n.targets),
                    found)  # of a row of targets, what did not fit into it

    @cached_property
    def operands(self) -> list[Operand]:
        """What the expression works on, as far as that is a tensor, or a list or tuple in its place."""
        if self.at is None or self.expression is None:
            return []
        frame = self.frames[self.at].frame
        found = [Operand(ast.unparse(node), value) for node in parts(self.expression)
                 if (value := looked_up(node, frame)) is not None]
        return list({each.text: each for each in found if is_operand(each.value)}.values())

    def name(self, number: int, otherwise: str) -> str:
        """Return the name of an operand, if it is a name."""
        texts = [each.text for each in self.operands]
        return texts[number] if number < len(texts) and texts[number].replace(".", "").isidentifier() else otherwise

    def value(self, node: ast.AST) -> Any:
        """Return what an expression of the user's innermost line was; None if that is not known."""
        return None if self.at is None else looked_up(node, self.frames[self.at].frame)

    # modules
    @cached_property
    def modules(self) -> list[Any]:
        """The modules whose `forward` was running, the outermost first."""
        found = []
        for each in self.frames:
            code, known = each.frame.f_code, each.frame.f_locals
            if code.co_name == "forward" and code.co_argcount and is_module(known.get(code.co_varnames[0])):
                found.append(known[code.co_varnames[0]])
        return found

    @property
    def given(self) -> Any:
        """What the innermost module's forward got first; None if none was running, or if it takes nothing."""
        calls = [each.frame for each in self.frames if each.frame.f_code.co_name == "forward"]
        code = calls[-1].f_code if calls else None
        return calls[-1].f_locals.get(code.co_varnames[1]) if code is not None and code.co_argcount > 1 else None

    @property
    def layer(self) -> Any:
        """The library's own module that raised the error; None if it was raised elsewhere."""
        return self.modules[-1] if self.modules and is_library_module(self.modules[-1]) else None

    @cached_property
    def root(self) -> tuple[str, Any]:
        """The outermost module, and the variable that holds it: an empty string where there is none."""
        root = self.modules[0]
        known = [self.frames[i].frame for i in self.users]
        variables = [name for each in known for name, value in each.f_locals.items() if value is root
                     and (not each.f_code.co_argcount or each.f_code.co_varnames[0] != name)]  # no method's own object
        variables += [name for name, value in self.names.items() if value is root and name != "self"]
        return (variables[0] if variables else "model" if any(v is root for v in self.names.values()) else ""), root

    @cached_property
    def inside(self) -> str:
        """The path of the module in the outermost one."""
        return next((name for name, each in self.root[1].named_modules() if each is self.modules[-1]), "")

    def module(self) -> str:
        """Return the path and the text of the module that raised it; an empty string if none was running."""
        if not self.modules:
            return ""
        module, (variable, root) = self.modules[-1], self.root
        text = str(module) if is_library_module(module) and not list(module.children()) else type(module).__name__
        where = ".".join(filter(None, [variable or ("" if root is module else type(root).__name__), self.inside]))
        return f"{where}, {text}" if where else text

    @cached_property
    def made(self) -> Made | None:
        """Where the layer that raised the error was made; None if that is not found."""
        if self.layer is None or self.at is None:
            return None
        variable, root = self.root
        node, path, target = None, "", variable
        if is_library_module(root):
            path, node = self.file(self.at), self.assigned(variable)
            rest = self.inside.split(".") if self.inside else []
        else:
            owner, attribute = module_of(root, self.inside)
            path, node = attribute_value(owner, attribute)
            target, before = f"self.{attribute}", self.inside.split(".")
            rest = before[len(before) - path_length(owner, attribute, self.layer):]
        found = node if not rest else part_of(node, rest)
        if not isinstance(found, ast.Call):
            return None
        return Made(place_at(path, found.lineno, "made here"), found, "" if rest else target, path)

    @property
    def width(self) -> str:
        """What the layer calls the width of what comes in; empty for a layer that has none."""
        return next((FIRST[kind] for kind in FIRST if type(self.layer).__name__.startswith(kind)), "")

    def assigned(self, variable: str) -> ast.expr | None:
        """Return what was assigned to a variable in the user's innermost function, or else in its file."""
        if self.at is None or self.tree is None:
            return None
        code, line = self.frames[self.at].frame.f_code, self.frames[self.at].line
        around = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef) and n.name == code.co_name
                  and n.lineno <= line <= (n.end_lineno or 0)]
        for scope in [*around, self.tree]:
            values = [n.value for n in ast.walk(scope) if isinstance(n, ast.Assign) and n.lineno < line and any(
                isinstance(t, ast.Name) and t.id == variable for t in n.targets)]
            if values:
                return values[-1]
        return None

    def layer_for(self, width: str) -> str:
        """Return the line that makes the layer, for another width of what comes in; an empty string if not found."""
        if self.made is None or not self.width or is_installed(self.made.path):
            return ""
        call = copy.deepcopy(self.made.call)
        keyword = next((each for each in call.keywords if each.arg == self.width), None)
        if keyword is not None:
            keyword.value = ast.parse(width, mode="eval").body
        elif call.args and not isinstance(call.args[0], ast.Starred):
            call.args[0] = ast.parse(width, mode="eval").body
        else:
            return ""
        return f"{self.made.target} = {ast.unparse(call)}" if self.made.target else ast.unparse(call)

    # bodies
    @cached_property
    def body(self) -> str:
        """Which method of a Function, which hook or which checkpointed function the user's line is in; else empty."""
        for i in reversed(self.users):
            frame, outer = self.frames[i].frame, self.file(i - 1) if i else ""
            name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name).rpartition("<locals>.")[2]
            first = frame.f_locals.get(frame.f_code.co_varnames[0]) if frame.f_code.co_argcount else None
            if frame.f_code.co_name in METHODS and any(cls.__name__ == "FunctionCtx" for cls in type(first).__mro__):
                return f"the {frame.f_code.co_name} of {type(first).__name__.removesuffix('Backward')}"
            if i and i - 1 not in self.users and is_hook_call(self.frames[i - 1].frame, frame):
                return f"{name}, a hook"
            if outer.endswith(os.path.join("utils", "checkpoint.py")) or self.checkpointed(i):
                return f"{name}, which is checkpointed"
        return ""

    def checkpointed(self, i: int) -> bool:
        """Whether between the user's frame and the one before it a checkpoint called a module."""
        before = max((j for j in self.users if j < i), default=-1)
        return any(self.file(j).endswith(os.path.join("utils", "checkpoint.py")) for j in range(before + 1, i))


def frames_of(trace: TracebackType | None) -> Iterator[Frame]:
    """Yield the calls of a traceback, the outermost first."""
    while trace is not None:
        code = trace.tb_frame.f_code
        place = next((p for i, p in enumerate(code.co_positions()) if i == trace.tb_lasti // 2), ())
        yield Frame(trace.tb_frame, trace.tb_lineno, place)
        trace = trace.tb_next


def is_library_module(module: Any) -> bool:
    """Whether the class of a module is the library's own."""
    return type(module).__module__.startswith(("torch.nn.", "minigrad.nn."))


def is_hook_call(caller: FrameType, called: FrameType) -> bool:
    """Whether this is a library's call of a hook: by a module that calls something else than its forward, or by the
    engine that calls something else than a Function."""
    if called.f_code.co_name in METHODS:
        return False
    return caller.f_code.co_name in {"_call_impl", "inner", "_engine_run_backward", "_call_hooks", "run_hooks"} or (
        "hook" in caller.f_code.co_name)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the operands of an expression."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield node.func.value
        yield from node.args
        yield from (each.value for each in node.keywords)
    elif isinstance(node, (ast.List, ast.Tuple)):
        yield from (node.elts if isinstance(node.ctx, ast.Load) else ())
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.AugAssign):
        yield from (node.target, node.value)
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Subscript):
        yield from (node.value, node.slice)
    elif isinstance(node, ast.Attribute):
        yield node.value
    elif isinstance(node, ast.Name):
        yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Call, ast.BinOp, ast.Compare, ast.Subscript, ast.List, ast.Tuple, ast.UnaryOp)):
            yield from parts(child)


def looked_up(node: ast.AST, frame: FrameType) -> Any:
    """Return what an expression was, without running anything (NOTE (nothing is run)); None if it is not known."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        owner = looked_up(node.value, frame)
        held = {} if owner is None or inspect.ismodule(owner) else getattr(owner, "__dict__", {})
        kept = [held, *(held.get(name) or {} for name in ("_modules", "_parameters", "_buffers"))]
        return next((each[node.attr] for each in kept if node.attr in each), None)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner, key = looked_up(node.value, frame), node.slice.value
        if isinstance(owner, (list, tuple)):
            return owner[key] if isinstance(key, int) and key < len(owner) else None
        return owner.get(key) if isinstance(owner, dict) else None
    return None


def is_operand(value: Any) -> bool:
    """Whether a value is a tensor, an array, or a list or tuple of some."""
    return is_tensor(value) or type(value).__name__ == "ndarray" or isinstance(value, (list, tuple)) and any(
        map(is_operand, value))


def text_of(value: Any, range_too: bool = False) -> str:
    """Return what an operand is, in words; for integers, and where asked, also the range of its elements."""
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of {len(value)} tensors" if all(map(is_tensor, value)) else (
            f"a {type(value).__name__} of {len(value)}")
    dtype = str(value.dtype).removeprefix("torch.")
    text = f"{dtype} of shape {tuple(value.shape)}"
    device = str(getattr(value, "device", "cpu"))
    if device != "cpu":
        return f"{text} on {device}"
    if is_tensor(value) and value.numel() and (range_too or dtype.startswith(("int", "uint"))):
        plain = value.detach()
        text += f", from {plain.min().item():.4g} to {plain.max().item():.4g}"
    return text


def attribute_value(owner: Any, attribute: str) -> tuple[str, ast.expr | None]:
    """Return the file and the expression of what an object's class assigns to an attribute, `self.attribute = …`."""
    for cls in type(owner).__mro__:
        init = cls.__dict__.get("__init__")
        code = getattr(init, "__code__", None)
        tree = None if code is None else tree_of(code.co_filename)
        if code is None or tree is None:
            continue
        around = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno == code.co_firstlineno]
        values = [n.value for n in (ast.walk(around[0]) if around else ()) if isinstance(n, ast.Assign) and any(
            isinstance(t, ast.Attribute) and t.attr == attribute for t in n.targets)]
        if values:
            return code.co_filename, values[-1]
    return "", None


def path_length(owner: Any, attribute: str, layer: Any) -> int:
    """Return how many names lead from an attribute to a layer inside it."""
    held = getattr(owner, attribute, None)
    parts_of = held.named_modules() if held is not None and is_module(held) else ()
    path = next((name for name, each in parts_of if each is layer), "")
    return len(path.split(".")) if path else 0


def part_of(node: ast.expr | None, path: list[str]) -> ast.expr | None:
    """Return the expression of a part of a Sequential or a ModuleList, by its path of numbers."""
    for each in path:
        given: list[ast.expr] = [] if not isinstance(node, ast.Call) else node.args
        if len(given) == 1 and isinstance(given[0], (ast.List, ast.Tuple)):
            given = given[0].elts
        if not each.isdigit() or int(each) >= len(given) or any(isinstance(a, ast.Starred) for a in given):
            return None
        node = given[int(each)]
    return node
