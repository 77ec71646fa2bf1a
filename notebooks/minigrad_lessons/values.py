"""How an answer is compared with what a run gave, and how both are printed."""

import ast
from collections.abc import Iterable

UNSURE = "?"
YES_NO: dict[str, object] = {"true": True, "yes": True, "false": False, "no": False}


def unsure(answer: object) -> bool:
    """True for the "?" that means: I do not know."""
    return isinstance(answer, str) and answer.strip() == UNSURE


def unanswered(answer: object) -> bool:
    """True while the three dots are still in place."""
    return answer is ...


def plain(value: object) -> object:
    """A value as plain Python: a tensor becomes numbers, a tuple a list, a word loses its case and its blanks.

    A value in quotes, such as "True" or "(2, 3)", is that value; "yes" is True, "no" is False.
    """
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, str):
        return meant(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    return value


def meant(word: str) -> object:
    """What a student wrote in quotes: a value where it reads as one, else the word in lower case."""
    try:
        value = ast.literal_eval(word.strip())
    except (ValueError, SyntaxError):
        return YES_NO.get(word.strip().lower(), word.strip().lower())
    return word.strip().lower() if isinstance(value, str) else plain(value)


def _words(value: object) -> object:
    return "none" if value is None else value


def same(answer: object, found: object) -> bool:
    """True if both say the same. True is not 1 here: a yes is no number. The word "None" stands for None."""
    a, b = _words(plain(answer)), _words(plain(found))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(i, j) for i, j in zip(a, b))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= 1e-3 * max(1.0, abs(b))
    return bool(a == b)


def show(value: object) -> str:
    """A value for printing: three digits at most, so that the text is the same on every machine."""
    if hasattr(value, "tolist"):
        return show(value.tolist())
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else f"{value:.3g}"
    if isinstance(value, list):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(show(item) for item in value) + ("," if len(value) == 1 else "") + ")"
    return str(value)
