"""What only the program itself can say about an error: numbers, names, the layer to change, and who is behind it.

`cause_of` fills in an entry of the tables with what the line worked on; a rule of `BEHIND` also looks for what is
behind the error: the keys of a state dict, the dataset in a worker process, the line that holds the memory.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minigrad.trace.format import memory_text
from minigrad_widgets.doctor.argument_texts import text_for
from minigrad_widgets.doctor.facts import Facts
from minigrad_widgets.doctor.findings import Mend, Place, line_at
from minigrad_widgets.doctor.library import is_installed, is_module, is_tensor
from minigrad_widgets.doctor.recording import PACKAGE
from minigrad_widgets.doctor.rules.graphs import saved_by_line
from minigrad_widgets.doctor.site import Site, text_of
from minigrad_widgets.doctor.source import place_at, returned, tree_of
from minigrad_widgets.doctor.texts import Text

__all__ = ["Cause", "cause_of", "evidence_of", "is_meant"]

MOST = 6  # operands, or keys, that are named


@dataclass
class Cause:
    """An entry with its numbers: `first` are places that are more to blame than the line that raised, `last` others."""

    what: str
    mends: list[Mend]
    evidence: dict[str, Any]
    first: list[Place] = field(default_factory=list)
    last: list[Place] = field(default_factory=list)

    def prefer(self, what: str, code: str) -> None:
        """Put a mend before all others."""
        self.mends = [Mend(what, code), *self.mends][:3]


def cause_of(facts: Facts, entry: Text, text: str, site: Site) -> Cause:
    """Return what an entry means in this program."""
    known = numbers_in(entry, text, site)
    fitting = reshaped(site, known) if entry.rule == "shape-mismatch" else []
    mends = fitting or [Mend(what, filled(code, known)) for what, code in entry.mends]
    if site.layer is not None and mends and mends[0].code.startswith("nn.") and not fitting:
        wanted = known["given"] if not known["given"].startswith("[") else known["given"].strip("[]").split(", ")[-1]
        mends[0] = Mend(mends[0].what, wanted.isdigit() and site.layer_for(wanted) or mends[0].code)
    what = f"{entry.what} {filled(entry.detail, known)}".strip()
    evidence = evidence_of(site, entry.rule == "value-out-of-range", "{who}" not in entry.detail or site.layer is None)
    cause = Cause(what, mends, evidence, last=[site.made.place] if site.made is not None and site.width else [])
    behind = BEHIND.get(entry.rule)
    if behind is not None:
        behind(cause, facts, text, site)
    return cause


def is_meant(rule: str, site: Site) -> bool:
    """Whether an error is the one that a rule is about, where its text alone does not tell."""
    if rule == "no-attribute":
        return bool(site.frames) and site.frames[-1].frame.f_code.co_name == "__getattr__" and is_module(
            site.frames[-1].frame.f_locals.get("self"))
    return rule != "not-a-tensor" or bool(site.operands or site.layer)


def numbers_in(entry: Text, text: str, site: Site) -> dict[str, str]:
    """Return what the text of an entry may name: the numbers of an error, the module, and the names in the line."""
    found = re.search(entry.words, text)
    inner = site.frames[-1].frame.f_locals if site.frames else {}
    known = {name: str(value) for name, value in inner.items() if isinstance(value, int)}
    known |= {"given": "", **{key: value or "" for key, value in (found.groupdict() if found else {}).items()}}
    who = site.module() if site.layer is not None else "The op"
    known["who"] = f"{who}," if "," in who.partition("(")[0] else who
    known["x"], known["y"] = site.name(0, "x"), site.name(1, "y")
    expression = site.expression
    given = [ast.unparse(each) for each in expression.args] if isinstance(expression, ast.Call) else []
    known["file"] = given[0] if given else "file"
    known["reshaped"] = f"{known['x']}.reshape({', '.join(given)})" if given else "x.reshape(x.size(0), -1)"
    cause = re.search(r"Unsupported (?:global|class|operand)[^.]*?(?:GLOBAL )?([\w.]+) was not an allowed global", text)
    known["cause"] = f"It holds a {cause.group(1)}." if cause else ""
    if text == "index out of range in self" and is_tensor(site.given):
        known["given"] = str(int(site.given.max()) + 1)
    return known


def filled(text: str, known: dict[str, str]) -> str:
    """Return a text with the numbers and names of this program."""
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found.group(1), found.group()), text)


def reshaped(site: Site, known: dict[str, str]) -> list[Mend]:
    """Return the one mend of an input that has all that the layer wants, in another order."""
    x = next((each.value for each in site.operands if is_tensor(each.value)), None)
    if x is None or site.layer is None or not known.get("wanted", "").isdigit():
        return []
    wanted, name, kind = int(known["wanted"]), known["x"], type(site.layer).__name__
    if kind == "Linear" and x.dim() > 2 and math.prod(x.shape[1:]) == wanted:
        return [Mend("Flatten all but the batch.", f"{name} = {name}.flatten(1)")]
    if kind.startswith("Conv") and x.dim() == 4 and x.shape[-1] == wanted:
        return [Mend("Its channels are last: move them behind the batch.", f"{name} = {name}.permute(0, 3, 1, 2)")]
    return []


def evidence_of(site: Site, ranges: bool = False, with_module: bool = True) -> dict[str, Any]:
    """Return what the line worked on, by its text, and the module that it is in."""
    found = {each.text: text_of(each.value, ranges) for each in site.operands[:MOST]}
    return {**found, **({"module": site.module()} if with_module and site.modules else {})}


# what is behind an error
def empty_optimizer(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """Whose parameters the optimizer was to get, and the layers that a module holds in plain lists."""
    call = site.expression
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if given is None:
        return
    owner = given.func.value if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) else None
    model = None if owner is None else site.value(owner)
    if owner is None or not is_module(model):
        if inspect.isgenerator(site.value(given)):
            cause.what += f" {ast.unparse(given)} is a generator, and something has used it up before."
            cause.prefer("Keep them in a list.", f"{ast.unparse(given)} = list({ast.unparse(given)})")
        return
    cause.what += f" {ast.unparse(owner)}, a {type(model).__name__}, has no parameters."
    for name, value in vars(model).items():
        values = list(value.values()) if isinstance(value, dict) else value
        if isinstance(values, (list, tuple)) and values and all(map(is_module, values)):
            kind = "ModuleDict" if isinstance(value, dict) else "ModuleList"
            held = f"a {type(value).__name__} of {len(values)} modules"
            cause.what += f" self.{name} is {held}, which nn.Module does not see."
            cause.prefer("Hold them in what nn.Module sees.", f"self.{name} = nn.{kind}(self.{name})")


def state_dict(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """Which keys are missing, unexpected, or of another shape."""
    call = site.expression
    state = ast.unparse(call.args[0]) if isinstance(call, ast.Call) and call.args else "state"
    func = call.func if isinstance(call, ast.Call) else None
    model = ast.unparse(func.value) if isinstance(func, ast.Attribute) else "model"
    missing, unexpected = (re.findall(r'"([^"]*)"', part.group(1)) if (part := re.search(
        rf"{which} key\(s\) in state_dict: (.*)", text)) else [] for which in ("Missing", "Unexpected"))
    sizes = re.findall(r"size mismatch for ([\w.]+): copying a param with shape (.*?) from checkpoint, "
                       r"the shape in current model is (.*?)\.(?:\n|$)", text)
    for what, keys in (("missing", missing), ("unexpected", unexpected)):
        if keys:
            cause.evidence[what] = some(keys)
    cause.evidence.update({key: f"{saved} in the file, {own} in the module" for key, saved, own in sizes[:MOST]})
    prefix = unexpected[0].partition(".")[0] + "." if unexpected else ""
    if sizes:
        cause.mends = [Mend("Leave out what is of another shape, and train it anew.",
                            "del " + ", ".join(f'{state}["{key}"]' for key, _, _ in sizes) +
                            f"\n{model}.load_state_dict({state}, strict=False)"), *cause.mends[:1]]
    elif prefix and {key.removeprefix(prefix) for key in unexpected} == set(missing):
        why = {"module.": "DataParallel put", "_orig_mod.": "torch.compile put"}.get(prefix, "Something put")
        cause.mends = [Mend(f"{why} {prefix!r} before each key: take it away.",
                            f"{state} = {{k.removeprefix('{prefix}'): v for k, v in {state}.items()}}")]


def some(names: list[str]) -> str:
    """Return the first of some names, and how many more there are."""
    return ", ".join(names[:MOST]) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")


def worker(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """The line in the worker process, and what it raised there."""
    lines = re.findall(r'  File "([^"]+)", line (\d+), in (\w+)', text)
    own = [each for each in lines if not is_installed(each[0]) and not each[0].startswith(PACKAGE)
           and not facts.recording.library.owns(each[0])]
    inner = text.strip().rpartition("\n")[2]
    if not lines:
        return
    entry = text_for(inner)
    cause.what += f" It raised {inner}"
    if entry is not None:
        known = numbers_in(entry, inner, site)
        cause.what = f"{cause.what.rstrip('.')}. {entry.what} {filled(entry.detail, known)}".strip()
        cause.mends = [Mend(what, filled(code, known)) for what, code in entry.mends] + cause.mends[:1]
    if own:
        path, line, name = own[-1]
        cause.first = [place_at(path, int(line), "raised here, in a worker")]
        cause.what = f"In {qualified(path, int(line), name)}: {cause.what}"


def qualified(path: str, line: int, name: str) -> str:
    """Return the name of a function with its class, by a line in it."""
    tree = tree_of(path)
    classes = [n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.lineno <= line <= (n.end_lineno or 0)
               ] if tree is not None else []
    return ".".join([*classes[-1:], name])


def unused(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """The names of the parameters that got no gradient."""
    found = re.search(r"did not receive grad for rank \d+:([ \d]+)", text)
    model = next((m for m in site.modules if type(m).__name__ == "DistributedDataParallel"), None)
    if found is None or model is None:
        return
    names = [name.removeprefix("module.") for name, p in model.named_parameters() if p.requires_grad]
    given = [names[int(i)] for i in found.group(1).split() if int(i) < len(names)]
    cause.what += f" {len(given)} got none: {some(given)}."


def memory(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """How much was asked for, and who holds what was there."""
    asked = re.search(r"tried to allocate (\d+) bytes", text)
    told = re.search(r"Tried to allocate ([\d.]+ \w+)", text)
    cause.what += f" {memory_text(int(asked.group(1)))} were asked for." if asked else (
        f" {told.group(1)} were asked for." if told else "")
    counts: list[Any] = [e["bytes"] for e in facts.events if "bytes" in e]
    kinds = ("parameters", "activations", "saved for the backward pass", "gradients", "state of the optimizer")
    held = [f"{memory_text(n)} {kind}" for kind, n in zip(kinds, counts[-1]) if n] if counts else []
    if held:
        cause.what += f" Of the program's own, these were held: {', '.join(held)}."
    total, by_line, _ = saved_by_line(facts, len(facts.events) - 1)
    if by_line:
        at, most = max(by_line.items(), key=lambda item: item[1])
        cause.last += line_at(facts.trace, at, f"holds {memory_text(most)} of the {memory_text(total)} that are saved")


def attribute(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """What the module has instead."""
    module = site.frames[-1].frame.f_locals["self"]
    wanted = (re.search(r"no attribute '(\w+)'", text) or [text, ""])[1]
    have = [name for kind in ("_modules", "_parameters", "_buffers") for name in vars(module).get(kind, {})]
    close = difflib.get_close_matches(wanted, have, 1, 0.5)
    if have:
        cause.what += f" It has {some(have)}."
    if close:
        cause.prefer("If another name is meant, use that.", f"self.{close[0]}")


def arguments(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """The arguments that forward has, and a call with them."""
    module = next((m for each in reversed(site.frames) if is_module(m := each.frame.f_locals.get("self"))), None)
    call = site.expression
    if module is None or not isinstance(call, ast.Call):
        return
    names = [n for n in inspect.signature(type(module).forward).parameters if n != "self"]
    cause.mends = [Mend("Call it with the arguments that it has.", f"{ast.unparse(call.func)}({', '.join(names)})")]


def function(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """The Function whose backward returned what does not fit, and the line that returns it."""
    found = re.search(r"[Ff]unction (\w+?)Backward returned", text)
    waiting = [facts.recording.library.package.autograd.Function]
    while found is not None and waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__name__ == found.group(1) and "backward" in vars(cls):
            cause.first = returned(cls.backward, "returned here")
            numbers = re.search(r"got (\[[^]]*\]) but expected shape compatible with (\[[^]]*\])$|"
                                r"expected \d+, got \d+", text)
            said = f" ({numbers.group()})." if numbers else "."
            cause.what = f"In the backward of {cls.__name__}: {cause.what.removesuffix('.')}{said}"
            if numbers and numbers.group(2) and numbers.group(1).count(",") < numbers.group(2).count(","):
                cause.mends = [Mend("Give it the shape of the input.", "return grad.expand(ctx.shape)")]
            wanted = re.search(r"expected (\d+), got 1\)", text)
            source = cause.first[0].source if cause.first else ""
            if wanted and source.startswith("return ") and int(wanted.group(1)) > 1:
                nones = ", None" * (int(wanted.group(1)) - 1)
                cause.prefer("Return None for each other input.", source.partition("  #")[0] + nones)


def hook(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """The hook that is named in the error, and the line that returns what does not fit."""
    found = re.search(r"hook '(\w+)'", text)
    known = [site.frames[i].frame for i in site.users]
    made = next((value for frame in known for names in (frame.f_locals, frame.f_globals)
                 for name, value in names.items() if found is not None and name == found.group(1)), None)
    if inspect.isfunction(made):
        cause.what = f"In {made.__name__}, a hook: {cause.what}"
        cause.first = returned(made, "returned here")


def changing(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """The function that a checkpoint ran again."""
    for each in reversed(site.frames):
        held = each.frame.f_locals.values()
        run = next((value.recompute_fn for value in held if hasattr(value, "recompute_fn")), None)
        if inspect.isfunction(run):
            body = enclosed(run, "function", "fn")
            body = type(body).forward if is_module(body) else body
            code = getattr(body, "__code__", None)
            if code is not None:
                cause.what = f"In {body.__qualname__.rpartition('<locals>.')[2]}, which is checkpointed: {cause.what}"
                cause.first = [place_at(code.co_filename, code.co_firstlineno, "this is computed again")]
                return


def enclosed(function: Any, *names: str) -> Any:
    """Return what a function has in its closure under one of these names; None if nothing."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    return next((cells[name].cell_contents for name in names if name in cells), None)


def target(cause: Cause, facts: Facts, text: str, site: Site) -> None:
    """How many classes there are, where a class is out of range; which numbers came in, where one is in no table."""
    if text == "index out of range in self" and is_tensor(site.given):
        cause.what += f" From {int(site.given.min())} to {int(site.given.max())} came in."
    scores = next((each.value for each in site.operands if is_tensor(each.value)), None)
    if text.startswith("Target ") and scores is not None and scores.dim() > 1:
        cause.what += f" The scores have {scores.shape[1]} classes, 0 to {scores.shape[1] - 1}."


BEHIND: dict[str, Callable[[Cause, Facts, str, Site], None]] = {
    "empty-optimizer": empty_optimizer, "state-dict-mismatch": state_dict, "loader-worker": worker,
    "ddp-unused": unused, "out-of-memory": memory, "no-attribute": attribute, "wrong-arguments": arguments,
    "function-gradients": function, "function-gradient-shape": function, "hook-changes-gradient": hook,
    "hook-returns": hook, "checkpoint-changed": changing, "index-out-of-range": target,
}
