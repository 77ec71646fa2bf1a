"""A compiled step as plain data: the user's lines, the eager ops that they call, and the program after each pass.

It is made when somebody asks for it, from what tracing has kept. A statement has the same number in all programs, and a
value the same name, so that two programs can be compared line by line. The widgets show this record, and know no other
object of the compiler.
"""

import ast
import linecache
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from minigrad._base.files import is_cell
from minigrad.compiler.program.source import ALIGNED, Lines, Plan, Source
from minigrad.compiler.program.statements import Program, Statement
from minigrad.compiler.variant import Variant

# By pass: what it did, and what is said where there was nothing for it to do.
SENTENCES = {
    "one name for each value": ("what was written over an earlier value has a name of its own, which changes {changed}",
                                "no statement wrote over an earlier value"),
    "numbers folded": ("a number stands where memory was read that is filled with it, in {changed}",
                       "no memory holds the same number everywhere"),
    "common subexpressions": ("{removed} of {before} computed what had been computed before",
                              "nothing is computed twice"),
    "dead code": ("{removed} of {before} wrote what nobody reads", "all that is written is read"),
    "layouts": ("what is computed element by element has the order of its operands in memory, which changes {changed}",
                "what is computed element by element has the order of its operands in memory"),
    "copies forwarded": ("{removed} of {before} only copied; what they copied is written, or read, in its place",
                         "no copy can be left out"),
    "products turned": ("a product of few rows is written column by column, and copied, which is faster; {made} new",
                        "there is no product of few rows with a turned matrix"),
    "loops": ("{removed} run in loops over the same elements; {after} remain", "no two can share a loop"),
    "layouts of operands": ("what would be read across memory several times is copied once; {made} new",
                            "nothing is read across memory several times"),
    "masks as bits": ("a choice between a value and 0 is arithmetic on bits, which is faster; {made} new",
                      "there is no choice between an array and 0"),
    "sums as products": ("a sum is a product with ones, which is faster, in {changed}", "there is no sum to replace"),
}


def statement_numbers(program: Program, new: dict[Any, int], traced: int) -> list[int]:
    """The number of each statement in the trace; of several that have come from one the last keeps it. What a pass has
    made gets a number behind those that were `traced`, which is kept in `new`."""
    found, seen = [], Counter[int]()
    for statement in reversed(program.statements):
        number = statement.number
        seen[number] += 1
        key = (number, seen[number]) if number >= 0 else ("loop", statement.function.parts[0].statement.number)
        found.append(number if key == (number, 1) else new.setdefault(key, traced + len(new)))
    return found[::-1]


def inspection(name: str, backend: str, variant: Variant) -> dict[str, Any]:
    """The record of a program; docs/compiler.md describes it."""
    programs = [program for _, program in variant.steps]
    new, owners = dict[Any, int](), variant.trace.calls.owners
    ids_of = [statement_numbers(program, new, len(programs[0].statements)) for program in programs]
    lines_of: list[Lines] = [variant.source]
    for program in programs[-2::-1]:  # with the names of the one that runs; what that does not have is named after it
        lines_of.insert(0, Lines(program, variant.source.functions, variant.source.scalars, lines_of[0]))
    statements: list[dict[str, Any]] = []
    places: dict[Any, int] = {}
    steps: list[dict[str, Any]] = []
    before: dict[int, int] = {}
    for (title, program), lines, ids in zip(variant.steps, lines_of, ids_of, strict=True):
        now = {}
        for number, statement, code in zip(ids, program.statements, lines.calls, strict=True):
            key = number, code, str(statement.asked)
            if key not in places:
                places[key] = len(statements)
                statements.append(record_of(number, statement, code, lines, owners))
            now[number] = places[key]
        steps.append({"name": title, "sentence": sentence(title, before, now), "statements": list(now.values()),
                      **temporaries_of(program)})
        before = now
    plan = variant.source.plan
    steps.append({**steps[-1], "name": "memory plan", "sentence": plan_sentence(plan), "bytes": plan.size,
                  "buffers": len({h.offset for h in plan.held})})
    files, ops = files_and_ops(variant)
    head = [line for each in variant.source.heads for line in each]
    return {"name": name, "backend": backend, "files": files, "ops": ops, "head": head,
            "statements": statements, "steps": steps, **buffers(lines_of[0], variant.source)}


def graph(source: Source) -> list[dict[str, Any]]:
    """The statements of a program: what each calls, reads and writes, for which op, at which line."""
    return [{"call": s.name, "reads": [source.names[v] for v in s.reads() if v in source.names],
             "writes": [source.names[v] for v in s.outs], "op": s.asked.op, "file": s.asked.file,
             "line": s.asked.line} for s in source.program.statements]


def record_of(number: int, statement: Statement, code: str, lines: Lines, owners: Sequence[int]) -> dict[str, Any]:
    """A statement: its number, its text, and the numbers of the ops that it is a part of."""
    several = statement.function.parts if statement.number < 0 else ()
    parts = [part.statement.number for part in several] or [statement.number]
    found = {"id": number, "code": code, "origin": str(statement.asked),
             "ops": list(dict.fromkeys([owners[part] for part in parts]))}
    if statement.kind == "loop":
        found |= {"loop": lines.loop_texts()[lines.loop_name(statement.function)].splitlines(), "parts": parts}
    return found


def sentence(title: str, before: dict[int, int], now: dict[int, int]) -> str:
    if not before:
        return f"As it was traced: {statements_of(len(now))}, one for each call that writes memory."
    removed, made = len(before.keys() - now.keys()), len(now.keys() - before.keys())
    changed = sum(now[number] != before[number] for number in now.keys() & before.keys())
    did, nothing = SENTENCES[title.removesuffix(", again")]
    says = did if removed or made or changed else nothing
    told = says.format(removed=removed if "{removed} of" in says else statements_of(removed), after=len(now),
                       made=statements_of(made), changed=statements_of(changed), before=statements_of(len(before)))
    return f"{title[0].upper()}{title[1:]}: {told}."


def statements_of(count: int) -> str:
    return f"{count:,} statement{'' if count == 1 else 's'}"


def plan_sentence(plan: Plan) -> str:
    if not plan.held:
        return "Memory plan: there is no temporary to place. This is what runs."
    one = len(plan.held) == 1
    aligned = f", with gaps, since each begins at a multiple of {ALIGNED}" if plan.size > plan.apart else ""
    holds = "it holds" if one else "without gaps they have" if aligned else "apart they would take"
    return (f"Memory plan: {len(plan.held):,} {'temporary lies' if one else 'temporaries lie'} in one buffer of "
            f"{plan.size:,} bytes{aligned}; {holds} {plan.apart:,}. This is what runs.")


def temporaries_of(program: Program) -> dict[str, int]:
    """How many temporaries a program has, and their bytes; what is kept after the step apart."""
    kept = {view.memory for view in program.kept}
    found = {view.memory for s in program.statements for view in s.uses()
             if view.memory.kind == "temporary" and view.memory not in kept}
    return {"buffers": len(found), "bytes": sum([memory.nbytes for memory in found])}


def buffers(lines: Lines, source: Source) -> dict[str, Any]:
    """By name: the memory that it means; by the name of memory: what it is, and its place in the plan."""
    kept = {view.memory for view in source.program.kept}
    held = {h.memory: h for h in source.plan.held}
    places = {offset: i for i, offset in enumerate(sorted({h.offset for h in source.plan.held}))}
    found: dict[str, Any] = {}
    for view in lines.names:
        name = lines.by_memory[view.memory]
        if name not in found:
            kind = "kept" if view.memory in kept and view.memory.kind == "temporary" else view.memory.kind
            found[name] = {"kind": kind, "type": f"{view.dtype.name} {view.shape}", "bytes": view.memory.nbytes}
            if view.memory in held:
                at = held[view.memory]
                found[name] |= {"place": places[at.offset], "offset": at.offset, "first": at.first, "last": at.last}
    return {"names": {name: lines.by_memory[view.memory] for view, name in lines.names.items()}, "buffers": found}


def files_and_ops(variant: Variant) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The files with the functions whose lines call ops, and the ops in order."""
    calls = variant.trace.calls.found
    lines: dict[str, set[int]] = {}
    for call in calls:
        if call.asked.file:
            lines.setdefault(call.asked.file, set()).add(call.asked.line)
    places = {file: i for i, file in enumerate(lines)}
    ops = [{"name": call.asked.op, "phase": call.asked.phase, "file": places.get(call.asked.file),
            "line": call.asked.line, "recorded_by": None if call.recorded_by < 0 else call.recorded_by}
           for call in calls]
    return [{"name": "cell" if is_cell(file) else Path(file).name, "lines": excerpt(file, found)}
            for file, found in lines.items()], ops


def excerpt(file: str, wanted: set[int]) -> list[tuple[int, str]]:
    """The innermost functions that hold these lines of a file, line by line; the lines alone, where there is none."""
    text = [line.rstrip("\n") for line in linecache.getlines(file)]
    try:
        nodes = list(ast.walk(ast.parse("\n".join(text))))
    except SyntaxError:  # such as a cell with a magic in it
        nodes = []
    functions = [(min([node.lineno, *[each.lineno for each in node.decorator_list]]), node.end_lineno or node.lineno)
                 for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    shown: set[int] = set()
    for line in wanted:
        first, last = max([span for span in functions if span[0] <= line <= span[1]], default=(line, line))
        shown.update(range(first, last + 1))
    return [(number, text[number - 1] if number <= len(text) else "") for number in sorted(shown)]
