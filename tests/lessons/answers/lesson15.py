"""The key of lesson 15."""

from tests.lessons.answers.kinds import Key, Wrong


def repeats(expression: str, same: str) -> str:
    """The cell of the common subexpressions."""
    return ("def without_repeats(program):\n    same, first, kept = {}, {}, []\n"
            "    for name, function, *reads in program:\n"
            "        reads = [same.get(each, each) for each in reads]\n"
            f"        expression = {expression}\n"
            "        if expression in first:\n"
            f"            same[name] = {same}\n"
            "        else:\n            first[expression] = name\n"
            "            kept.append((name, function, *reads))\n    return kept\n\n\ncheck.repeats(without_repeats)")


def dead(*lines: str) -> str:
    """The cell of the dead code."""
    body = "".join(f"    {line}\n" for line in lines)
    return f"def without_dead_code(program, results):\n{body}\n\ncheck.dead_code(without_dead_code)"


BACKWARDS = ("needed, kept = set(results), []", "for statement in reversed(program):",
             "    if statement[0] in needed:", "        needed.update(statement[2:])")
REPEATS_WRONG: tuple[Wrong, ...] = (
    (repeats("tuple(reads)", "first[expression]"), "are different: they call different functions"),
    (repeats("(function, reads[0])", "first[expression]"), "are different: they read different values"),
    (repeats("(function, *reads)", "name"), "which is gone"),
    (repeats("name", "first[expression]"), "is still computed twice"),
    (repeats("[function, *reads]", "first[expression]"), "a list cannot be a dictionary key; make it a tuple"),
    (repeats("(function, reads)", "first[expression]"), "a list cannot be a dictionary key; make it a tuple"),
    (repeats("(function, *sorted(reads))", "first[expression]"), "are different: the order of the reads counts"),
    (repeats("(function, *reads)", "expression"), "`same` must map a name to a name"),
)
DEAD_WRONG: tuple[Wrong, ...] = (
    (dead("return program"), "stays"),
    (dead("return [each for each in program if each[0] in results]"), "is gone, and"),
    (dead("read = {name for each in program for name in each[2:]}",
          "return [each for each in program if each[0] in read | results]"), "Begin at the end"),
    (dead(*BACKWARDS, "        kept.append(statement)", "return kept"), "in another order"),
    (dead(*BACKWARDS, "        kept.insert(0, statement[0])", "return kept"), "return a list of statements"),
    (dead("read = {name for each in program for name in each[2:]}",
          "return [each for each in program if each[0] in read]"), "is a result, and is gone"),
)

KEY = Key(
    recall={"q11.1": "0", "q11.2": "0", "q11.3": "True", "q11.4": "True", "q11.5": "1"},
    recall_wrong={
        "q11.1": (("2", "a list of layers is registered"),),
        "q11.2": (("1", "the optimizer knows my loss"),),
        "q11.3": (("False", "whatever requires grad can be optimized"),),
        "q11.4": (("False", "a step is an operation"),),
        "q11.5": (("0.95", "weight decay shrinks every parameter"),),
    },
    predict={"15.1": "0", "15.2": "1", "15.3": "2", "15.4": "False"},
    predict_wrong={
        "15.1": (("3", "each operation of a line becomes a statement"), ("2", "but the rest of the line stays")),
        "15.2": (("2", "written twice is computed twice"), ("4", "a product of its own in the backward pass")),
        "15.3": (("1", "a program fits all shapes"), ("3", "with another shape than the call before"),
                 ("7", "each call makes a program")),
        "15.4": (("True", "whatever Python can run"),),
    },
    why={"15.1": "b", "15.2": "c", "15.3": "b", "15.4": "a"},
    exercises={"faded": repeats("(function, *reads)", "first[expression]"),
               "open1": dead(*BACKWARDS, "        kept.insert(0, statement)", "return kept")},
    exercises_wrong={"faded": REPEATS_WRONG, "open1": DEAD_WRONG},
)
