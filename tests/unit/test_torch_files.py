"""Archives of pickles, made by hand: what is on the closed list is built, and nothing else is called or changed."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad.serialization import LoadError
from minigrad.serialization.torch_file import archive_of

pytest.importorskip("safetensors", reason="save and load need the extra io")


def archive(pickled, parts=(), compression=zipfile.ZIP_STORED):
    """A file as `torch.save` makes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        made.writestr("model/data.pkl", pickled)
        for name, data in dict(parts).items():
            made.writestr(f"model/{name}", data)
    return file.getvalue()


def load(pickled, parts=(), **options):
    return minigrad.load(io.BytesIO(archive(pickled, parts, **options)))


# A tensor of 2 elements of storage "0", in the opcodes of a pickle: its count, its size, its strides can be put in.
TENSOR = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n%(kind)s\n"
          b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK%(count)ctQK%(offset)c(K%(size)ct(K\x01t\x89NtR.")


def tensor(kind=b"FloatStorage", count=2, offset=0, size=2):
    return TENSOR % {b"kind": kind, b"count": count, b"offset": offset, b"size": size}


FLOATS = {"data/0": np.array([1.5, -2.0], "<f4").tobytes()}


def test_a_tensor_is_built():
    assert load(tensor(), FLOATS).tolist() == [1.5, -2.0]
    assert load(tensor(offset=1, size=1), FLOATS).tolist() == [-2.0]


def test_the_order_of_bytes_is_that_of_the_file():
    parts = {"data/0": np.array([1.5, -2.0], ">f4").tobytes(), "byteorder": b"big"}
    assert load(tensor(), parts).tolist() == [1.5, -2.0]


class Runs:
    """What runs a command when a pickle of it is loaded."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


HOSTILE = {
    "a command": pickle.dumps(Runs()), "a builtin": b"cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
    "an attribute of an attribute": b"\x80\x04\x8c\x05torch\x8c\x0dSize.__init__\x93.",
    "a change of a function": b"ctorch\nSize\n}X\x08\x00\x00\x00__call__K\x01sb.",
    "an attribute of a function": b"ctorch\nSize\n(N}X\x01\x00\x00\x00aK\x01stb.",
    "a call of a storage": b"ctorch\nFloatStorage\n(tR.", "a class that is instantiated": b"ctorch\nSize\n(t\x81.",
    "a change of a layer": b"ctorch.nn.modules.linear\nLinear\n}X\x01\x00\x00\x00aK\x01sb.",
    "an attribute of a layer": b"ctorch.nn.modules.linear\nLinear\n(N}X\x01\x00\x00\x00aK\x01stb.",
    "a layer of some size": b"ctorch.nn.modules.linear\nLinear\nK\x01K\x02\x86R.",
    "a layer of some size, made anew": b"\x80\x02ctorch.nn.modules.linear\nLinear\nK\x01K\x02\x86\x81.",
    "what is no layer": b"ctorch.nn.modules.module\nregister_module_forward_hook\nN\x85R.",
    "a function of layers": b"ctorch.nn.functional\nrelu\n.",
    "a module": pickle.dumps(zipfile.ZipFile), "another storage": tensor(kind=b"ComplexFloatStorage"),
    "a storage of no dtype": tensor(kind=b"Size"), "too many elements": tensor(count=9),
    "outside of the storage": tensor(size=3), "behind the storage": tensor(offset=2), "no pickle": b"hello",
    "nothing": b"", "cut": tensor()[:-3],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_else_is_called_or_changed(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = load(tensor(), FLOATS).tolist()
    with pytest.raises(LoadError, match="cannot be loaded"):
        load(HOSTILE[name], FLOATS)
    assert not os.listdir(tmp_path)
    assert load(tensor(), FLOATS).tolist() == before


def test_other_archives_are_refused():
    with pytest.raises(LoadError, match="none that torch.save wrote"):
        minigrad.load(io.BytesIO(archive(b"").replace(b"data.pkl", b"data.txt")))
    with pytest.raises(LoadError, match="compressed"):
        load(tensor(), FLOATS, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(LoadError, match="in the order"):
        load(tensor(), {**FLOATS, "byteorder": b"sideways"})


WHOLE = archive(tensor(), FLOATS)


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_an_error_or_changes_nothing(place, change):
    data = bytearray(WHOLE)
    data[place] ^= change
    try:
        result = minigrad.load(io.BytesIO(bytes(data)))
    except LoadError:
        return
    assert result.tolist() == [1.5, -2.0]


OPCODES = [each.code.encode("latin1") for each in pickletools.opcodes]


@given(st.lists(st.one_of(st.sampled_from(OPCODES), st.binary(max_size=4), st.sampled_from(
    [b"ctorch\nSize\n", b"ctorch._utils\n_rebuild_parameter\n", b"K\x01", b"}", b"(", b")"])), max_size=12))
def test_any_program_of_opcodes_ends_in_one_kind_of_error(codes):
    try:
        load(b"".join(codes) + b".", FLOATS)
    except LoadError:
        return


def test_what_hides_a_lack_of_memory_is_not_raised():
    class Full(io.BytesIO):
        """As an io.BytesIO that could not grow: it is closed from then on."""

        def write(self, data):
            if len(data) >= 4000:
                self.close()
                raise MemoryError
            return super().write(data)

    with pytest.raises(MemoryError):
        archive_of({"x": minigrad.ones(1000)}, "archive", Full())
