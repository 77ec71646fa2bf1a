"""Files that were damaged: each is refused by one kind of error, whatever byte is another one."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.serialization import LoadError
from tests.unit.test_serialization import whole

pytest.importorskip("safetensors", reason="save and load need the extra io")
import safetensors.numpy


def with_header(change, data=None):
    """A whole file, or other data, with a changed header."""
    data = whole() if data is None else data
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    change(header)
    made = json.dumps(header).encode()
    return len(made).to_bytes(8, "little") + made + data[end:]


def with_metadata(text):
    """A file of version 1, which has no checksum, with another text in the place of what was nested."""
    return with_header(lambda header: header.update(__metadata__={"minigrad": text}))


def with_shape(shape):
    """A file from elsewhere, of one empty tensor that is said to have this shape."""
    data = safetensors.numpy.save({"x": np.zeros(0, np.float32)})
    return with_header(lambda header: header["x"].update(shape=shape), data)


def with_checksum(checksum):
    """A whole file with another checksum, or none."""
    def change(header):
        del header["__metadata__"]["minigrad.crc32"]
        header["__metadata__"].update({} if checksum is None else {"minigrad.crc32": checksum})

    return with_header(change)


def tree(told):
    return with_metadata(json.dumps({"version": 1, "tree": told}))


BROKEN = {
    "nothing": b"", "too short": b"1234", "a text": b"hello world, this is a text", "noise": bytes(range(256)),
    "cut in the header": whole()[:40], "cut in the numbers": whole()[:-1], "too long": whole() + b"0",
    "header too long": (2**40).to_bytes(8, "little") + whole()[8:], "no JSON": whole().replace(b'{"', b'{[', 1),
    "another dtype": whole().replace(b'"F32"', b'"F99"'), "another shape": whole().replace(b"[5]", b"[6]"),
    "nested: no JSON": with_metadata("{"), "nested: no tree": with_metadata("{}"),
    "nested: a list": with_metadata("[]"), "a shape of 2**62": with_shape([0, 2**62]),
    "a shape of 65 dimensions": with_shape([0] * 65), "nested: a number without end": tree({"float": 10**400}),
    "nested: a device that holds nothing": tree({"tensor": "a", "device": "meta"}),
    "another checksum": with_checksum("00000000"), "no checksum": with_checksum(None),
    "nested: a number": with_metadata("3"), "nested: a version": with_metadata('{"version": 3, "tree": 1}'),
    "nested: no word": tree({}), "nested: an unknown word": tree({"eval": "1"}), "nested: a tensor that is not there":
    tree({"tensor": "c"}), "nested: a tensor twice": tree([{"tensor": "a"}, {"tensor": "a"}]), "nested: one left over":
    tree({"tensor": "a"}), "nested: pairs of three": tree({"dict": [[1, 2, 3]]}), "nested: a key that has no hash":
    tree({"dict": [[[], 1]]}), "nested: a dtype": tree({"dtype": "float8"}), "nested: a float": tree({"float": "x"}),
    "nested: too deep": with_metadata('{"version": 1, "tree": ' + "[" * 10**5 + "]" * 10**5 + "}"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken(name, tmp_path):
    path = tmp_path / "broken"
    path.write_bytes(BROKEN[name])
    for file in (path, io.BytesIO(BROKEN[name])):
        with pytest.raises(LoadError):
            minigrad.load(file)


@given(st.integers(0, len(whole()) - 1), st.integers(1, 255))
def test_any_byte_may_be_wrong(place, change):
    data = bytearray(whole())
    data[place] ^= change
    try:
        found = minigrad.load(io.BytesIO(bytes(data)))
    except LoadError:
        return
    assert repr(found) == repr(minigrad.load(io.BytesIO(whole())))  # another space between two words of the header


def test_every_byte_counts():
    data, refused = bytearray(whole()), 0
    for at in range(len(data)):
        data[at] ^= 1
        with contextlib.suppress(LoadError):
            assert repr(minigrad.load(io.BytesIO(bytes(data)))) == repr(minigrad.load(io.BytesIO(whole())))
            refused -= 1
        refused += 1
        data[at] ^= 1
    assert refused > 0.9 * len(data)


def test_a_file_without_a_checksum_is_read():
    text = json.dumps({"version": 1, "tree": {"dict": [["x", {"tensor": "a"}], ["y", {"tensor": "b.0"}]]}})
    assert minigrad.load(io.BytesIO(with_metadata(text)))["x"].tolist() == [0, 1, 2, 3, 4]


@given(st.integers(0, len(whole()) - 1))
def test_cut_anywhere(end):
    with pytest.raises(LoadError):
        minigrad.load(io.BytesIO(whole()[:end]))
