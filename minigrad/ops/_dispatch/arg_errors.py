"""What PyTorch says to arguments that fit none of a function's signatures: mirrors `invalid_arguments.cpp`.

Where one signature alone takes as many arguments, its own sentence (`Signature.match`); else all signatures, each with
what is wrong about the arguments where there are as many of them as of its parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from minigrad.ops._dispatch.signatures import Misfit, Signature, printed_type

Options = Mapping[str, Any]
MATCHING = {"float": ("float", "int"), "int": ("int",)}


def matched(signatures: Sequence[Signature], args: tuple[Any, ...], options: Options) -> tuple[
        Signature, dict[str, Any]]:
    """The first signature that arguments fit, and the arguments by its names.

    Raises:
        TypeError: PyTorch's, if they fit none.
    """
    try:
        for signature in signatures:
            try:
                return signature, signature.match(args, options)
            except Misfit:
                if len(signatures) == 1:
                    raise
        count = len(args) + len(options)
        plausible = [s for s in signatures if s.could_take(count) and not s.deprecated]
        if len(plausible) == 1:
            plausible[0].match(args, options)
    except Misfit as misfit:
        raise TypeError(str(misfit)) from None
    raise TypeError(refusal([s for s in signatures if not s.deprecated], args, options))


def refusal(signatures: Sequence[Signature], args: tuple[Any, ...], options: Options) -> str:
    """PyTorch's sentence that shows all signatures."""
    start = f"{signatures[0].function}() received an invalid combination of arguments - got "
    types = [*map(printed_type, args), *[f"{name}={printed_type(value)}" for name, value in options.items()]]
    got = parenthesized(types, args, options)
    if len(signatures) > 1:
        lines = [f" * {signature}\n{why_not(signature, args, options)}" for signature in signatures]
        return f"{start}{got}, but expected one of:\n{''.join(lines)}"
    unknown = [name for name in options if name not in names_of(signatures[0])]
    if unknown:
        return f"{start}unrecognized keyword arguments: {', '.join(unknown)}"
    return f"{start}{compared(signatures[0], args, options) or got}, but expected {signatures[0]}"


def parenthesized(types: list[str], args: tuple[Any, ...], options: Options) -> str:
    """The types of arguments with commas between them; behind keywords alone PyTorch has one comma too many."""
    return f"({', '.join(types)}{', ' if options and not args else ''})"


def names_of(signature: Signature) -> list[str]:
    """The last word of each shown parameter: as in PyTorch the name of one with a default is lost."""
    return [parameter.rpartition(" ")[2] for parameter in signature.shown or [""]]


def why_not(signature: Signature, args: tuple[Any, ...], options: Options) -> str:
    """What is wrong about arguments of which there are as many as are shown of a signature."""
    names = names_of(signature)
    if len(names) != len(args) + len(options):
        return ""
    wrong = [name for name in options if name not in names[len(names) - len(options):]]
    if wrong:
        return f"      didn't match because some of the keywords were incorrect: {', '.join(wrong)}\n"
    types = compared(signature, args, options)
    return f"      didn't match because some of the arguments have invalid types: {types}\n"


def compared(signature: Signature, args: tuple[Any, ...], options: Options) -> str:
    """The arguments' types, between exclamation marks where a type has not the name of the parameter's."""
    shown, names = signature.shown or [""], names_of(signature)
    if len(shown) != len(args) + len(options) or set(options) - set(names):
        return ""
    arguments = [("", v) for v in args] + [(f"{name}=", options[name]) for name in names[len(args):]]
    types = []
    for parameter, (name, value) in zip(shown, arguments, strict=True):
        expected, actual = parameter.rpartition(" ")[0], name + nested_type(value)
        types.append(actual if printed_type(value) in MATCHING.get(expected, (expected,)) else f"!{actual}!")
    return parenthesized(types, args, options)


def nested_type(value: Any) -> str:
    """The type of a value; of lists and tuples with the types in them."""
    if not isinstance(value, (tuple, list)):
        return printed_type(value)
    inside = ", ".join(map(printed_type, value))
    if isinstance(value, list):
        return f"{printed_type(value)} of [{inside}]"
    return f"{printed_type(value)} of ({inside}{',' if len(value) == 1 else ''})"
