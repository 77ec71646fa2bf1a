"""The checks of lesson 15: two passes of a compiler, common subexpressions and dead code. Programs are run to judge."""

import random
from collections.abc import Callable
from typing import Any

from minigrad_lessons.exercises import report

Statement = tuple[str, ...]  # a name, a function, and the names that it reads
INPUTS = {"x": 3.0, "w": 2.0, "y": 5.0}
FUNCTIONS: dict[str, Callable[[float, float], float]] = {"mul": lambda a, b: a * b, "add": lambda a, b: a + b,
                                                         "sub": lambda a, b: a - b}
TRIALS = 60


def _run(program: list[Statement]) -> dict[str, float]:
    """The values of all names.

    Raises:
        KeyError: for a name that is read before anything has it.
    """
    values = dict(INPUTS)
    for name, function, *reads in program:
        values[name] = FUNCTIONS[function](*[values[each] for each in reads])
    return values


def _drawn(draw: random.Random) -> list[Statement]:
    """A program of three to ten statements; short ones repeat themselves often."""
    names, program = list(INPUTS), []
    for number in range(draw.randint(3, 10)):
        name = f"t{number}"
        program.append((name, draw.choice(list(FUNCTIONS)), *draw.choices(names[-4:], k=2)))
        names.append(name)
    return program


def _needed(program: list[Statement], results: set[str]) -> list[Statement]:
    needed, kept = set(results), []
    for statement in reversed(program):
        if statement[0] in needed:
            needed.update(statement[2:])
            kept.append(statement)
    return kept[::-1]


def _written(program: list[Statement]) -> str:
    return "; ".join(f"{name} = {function}({', '.join(reads)})" for name, function, *reads in program)


def _statements(name: str, found: object) -> list[Statement] | None:
    """What a student's pass gave, if it is a list of statements."""
    if not isinstance(found, list) or not all(
            isinstance(each, tuple) and len(each) == 4 and all(isinstance(part, str) for part in each)
            for each in found):
        report.misconception(name, "return a list of statements, each a tuple of a name, a function and what it reads, "
                                   "as they stand in the program.")
        return None
    return found


def _unknown(program: list[Statement]) -> tuple[str, str] | None:
    """A name that is read before anything has it, and who reads it."""
    known = set(INPUTS)
    for name, _, *reads in program:
        missing = next((each for each in reads if each not in known), None)
        if missing is not None:
            return missing, name
        known.add(name)
    return None


def repeats(student: Callable[..., Any]) -> None:
    """Judge `without_repeats(program)`: the last value stays what it was, and nothing is computed twice."""
    name = "check.repeats"
    if not report.to_judge(name, "without_repeats", "Fill in the two blanks of without_repeats.", student):
        return
    draw, dropped = random.Random(15), 0
    for _ in range(TRIALS):
        program = _drawn(draw)
        values = _run(program)
        try:
            given = student(list(program))
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            unhashable = "unhashable type: 'list'" in str(error)
            report.misconception(name, "a list cannot be a dictionary key; make it a tuple." if unhashable else
                                 f"without_repeats(program) {report.raised(error, student)}")
            return
        if _reads_an_expression(given):
            report.misconception(name, "`same` must map a name to a name. Here a statement reads a whole expression.")
            return
        found = _statements(name, given)
        if found is None:
            return
        wrong = _why_repeats(program, found, values)
        if wrong:
            report.misconception(name, wrong, f"program: {_written(program)}", f"returned: {_written(found)}")
            return
        dropped += len(program) - len(found)
    report.passed(name, f"{TRIALS} programs compute what they computed before", f"{dropped} repetitions are gone")


def _reads_an_expression(found: object) -> bool:
    return isinstance(found, list) and any(isinstance(each, tuple) and any(isinstance(part, tuple) for part in each)
                                           for each in found)


def _why_not_the_same(name: str, program: list[Statement], found: list[Statement], before: dict[str, float]) -> str:
    """Which two expressions were taken for one, so that `name` has another value."""
    made = {each[0]: each for each in program}
    reads = next(each[2:] for each in found if each[0] == name)
    taken = [(old, new) for old, new in zip(made[name][2:], reads, strict=True) if before[old] != before.get(new)]
    pair = [(made[old], made[new]) for old, new in taken if old in made and new in made] if name in made else []
    if not pair:
        return ""
    (_, function, *old), (_, other, *new) = pair[0]
    both = f"`{other}({', '.join(new)})` and `{function}({', '.join(old)})` are different: "
    if function != other:
        return f"{both}they call different functions."
    if sorted(before[each] for each in old) == sorted(before[each] for each in new):
        return f"{both}the order of the reads counts."
    return f"{both}they read different values."


def _why_repeats(program: list[Statement], found: list[Statement], before: dict[str, float]) -> str:
    unknown = _unknown(found)
    if unknown is not None:
        return (f"{unknown[1]} reads {unknown[0]}, which is gone. Instead of what was dropped, read the first that "
                "computed it.")
    after = _run(found)
    changed = next((each for each in after if after[each] != before.get(each)), None)
    if changed is not None:
        why = _why_not_the_same(changed, program, found, before)
        return f"{changed} is another value now. {why}".rstrip()
    expressions = [statement[1:] for statement in found]
    if len(set(expressions)) < len(expressions):
        twice = next(each for each in expressions if expressions.count(each) > 1)
        return f"{twice[0]}({', '.join(twice[1:])}) is still computed twice. By what is it found again?"
    if {before[each[0]] for each in program} - set(after.values()):
        return "a statement is gone that nobody had computed before."
    return ""


def dead_code(student: Callable[..., Any]) -> None:
    """Judge `without_dead_code(program, results)`: the results stay what they were, and nothing else is computed."""
    name = "check.dead_code"
    if not report.to_judge(name, "without_dead_code", "Write without_dead_code(program, results).", student):
        return
    draw, dropped = random.Random(15), 0
    for _ in range(TRIALS):
        program = _drawn(draw)
        results = set(draw.sample([each[0] for each in program], draw.randint(1, 2)))
        try:
            found = _statements(name, student(list(program), set(results)))
        except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
            report.misconception(name, f"without_dead_code(program, results) {report.raised(error, student)}")
            return
        if found is None:
            return
        wrong = _why_dead(program, found, results)
        if wrong:
            report.misconception(name, wrong, f"program: {_written(program)}", f"results: {', '.join(sorted(results))}",
                                 f"returned: {_written(found)}")
            return
        dropped += len(program) - len(found)
    report.passed(name, f"{TRIALS} programs compute their results as before", f"{dropped} dead statements are gone")


def _why_dead(program: list[Statement], found: list[Statement], results: set[str]) -> str:
    needed = _needed(program, results)
    if found == needed:
        return ""
    if sorted(found) == sorted(needed):
        return "these are the right statements, in another order: what is read has to be computed before."
    gone = next((each for each in needed if each not in found), None)
    if gone is not None:
        reader = next((each[0] for each in found if gone[0] in each[2:]), None)
        if gone[0] in results:
            return f"{gone[0]} is a result, and is gone."
        return f"{gone[0]} is gone, " + (f"and {reader} reads it." if reader else "and a result needs it.")
    kept = next(each for each in found if each not in needed)
    readers = [each[0] for each in program if kept[0] in each[2:]]
    if readers:
        return (f"{kept[0]} stays, though only dead statements read it: {', '.join(readers)}. "
                "Begin at the end of the program.")
    return f"{kept[0]} stays, and nobody reads it."


HINTS = {
    "repeats": (
        "Two statements compute the same if they call the same function on the same values.",
        "function and reads together; a list cannot be a key of a dictionary, a tuple can.",
        "expression = (function, *reads), and same[name] = first[expression].",
    ),
    "dead_code": (
        "Whether a statement is needed depends on those after it. From which end do you begin?",
        "Keep a set of needed names: at first the results. A statement whose name is in it stays, and what it reads is "
        "needed too.",
        "needed, kept = set(results), []; for statement in reversed(program): if statement[0] in needed: "
        "needed.update(statement[2:]); kept.insert(0, statement)",
    ),
}
