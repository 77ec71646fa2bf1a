"""Damages bytes: flips, cuts, repeats and mixes them, and puts in numbers and words at which readers stumble."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

WORDS = [b"-1", b"0", b"null", b"true", b"NaN", b"1e999", b"9223372036854775808", b"-9223372036854775809", b"[]", b"{}",
         b'""', b"[[[[[[[[", b'"\\ud800"', b'"__proto__"', b"\x00" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"PK\x05\x06",
         b"cbuiltins\neval\n", b"4" * 400]


def damaged(random: Random, data: bytes) -> bytes:
    """The data with one to six faults."""
    made = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        random.choice(FAULTS)(random, made)
    return bytes(made)


def span(random: Random, data: bytearray) -> slice:
    """A part of the data, mostly a short one."""
    start = random.randrange(len(data) + 1)
    return slice(start, start + int(random.choice([1, 1, 4, 16, 200]) * random.random()) + 1)


def flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def cut(random: Random, data: bytearray) -> None:
    del data[span(random, data)]


def cut_off(random: Random, data: bytearray) -> None:
    del data[random.randrange(len(data) + 1):]


def repeat(random: Random, data: bytearray) -> None:
    part = span(random, data)
    data[part.start:part.start] = data[part] * random.choice([1, 1, 2, 50])


def move(random: Random, data: bytearray) -> None:
    part, to = span(random, data), random.randrange(len(data) + 1)
    moved = data[part]
    del data[part]
    data[to:to] = moved


def word(random: Random, data: bytearray) -> None:
    data[span(random, data)] = random.choice(WORDS)


def digits(random: Random, data: bytearray) -> None:
    """Another number in the place of one that is written out."""
    places = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
    if places:
        at = random.choice(places)
        data[at:at + 1] = random.choice([b"-1", b"0", b"7", b"99", b"4294967296", b"1.5", b"1e400"])


FAULTS = [flip, flip, cut, cut_off, repeat, move, word, digits, digits]


VALUES = [-1, 0, 1, 10**6, 2**53 + 1, 10**400, 1.5, -0.0, True, None, "", "nan", "inf", "__proto__", "constructor",
          "<img src=x onerror=harm()>", "\u202e", "long " * 1000, [], {}, [[]], {"": None}]


def by_schema(random: Random, data: bytes) -> bytes:
    """JSON with one to four faults: a value that is another one, one too few, one twice, or one from elsewhere."""
    whole = json.loads(data)
    for _ in range(random.choice([1, 1, 2, 4])):
        spoil(random, whole)
    return json.dumps(whole).encode()


def spoil(random: Random, whole: Any) -> None:
    """One fault, in place."""
    part, key = spot(random, whole)
    if part is None:
        return
    how = random.choice(["other", "other", "elsewhere", "elsewhere", "less", "twice", "near"])
    if how == "other":
        part[key] = copy.deepcopy(random.choice(VALUES))  # a later fault may change it
    elif how == "elsewhere":
        other, at = spot(random, whole)
        part[key] = json.loads(json.dumps(other[at]))  # a copy, so that nothing holds itself
    elif how == "less":
        del part[key]
    elif how == "twice" and isinstance(part, list):
        part.insert(key, json.loads(json.dumps(part[key])))
    elif type(part[key]) is int:
        part[key] += random.choice([-1, 1, 2])


def spot(random: Random, whole: Any) -> tuple[Any, Any]:
    """Somewhere in nested lists and dicts: what holds a value there, and its key."""
    holder, key = None, None
    while isinstance(whole, list | dict) and whole:
        holder, key = whole, random.choice(list(whole) if isinstance(whole, dict) else range(len(whole)))
        whole = holder[key]
        if random.random() < 0.2:
            break
    return holder, key
