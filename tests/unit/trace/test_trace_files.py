"""Traces on disk and in words, what is refused, and the parts of which a trace is built. No engine is needed."""

from __future__ import annotations

import json

import pytest

import minigrad as torch
from minigrad._base import files
from minigrad.recorder import Trace, record
from minigrad.recording.builder import Builder, Large, statistics
from minigrad.recording.ledger import ACTIVATION, GRADIENT, PARAMETER, SAVED, Ledger
from minigrad.trace.packing import packed, unpacked
from tests.unit.trace.traces import accumulator, diamond, frames


# ---- files
def test_json_that_is_too_deep_for_a_small_stack(monkeypatch):
    trace = diamond()
    trace.files.append({"name": "cell 1", "lines": ["[" * 5_000, '"' + "{" * 5_000 + "\\"]})
    monkeypatch.setattr(files, "ENDS_AT_ITS_STACK", True)
    assert Trace.from_json(trace.to_json()) == trace
    for deep in ("[" * 1_001, '[{"a": ' * 600, "[1, " * 1_001 + "]" * 1_001):
        with pytest.raises(ValueError, match="it is nested more than 1000 deep"):
            Trace.from_json(deep)


def test_save_and_load_give_the_same_trace(tmp_path):
    trace = diamond()
    trace.layout = {"nodes": {"0": [1, 2]}, "size": [10, 20]}
    trace.files.append({"name": "cell 1", "lines": ["x = 'äλ\u2028'", ""]})
    trace.save(tmp_path / "a.json")
    again = Trace.load(tmp_path / "a.json")
    assert again == trace and again.text() == trace.text() and frames(again) == frames(trace)
    assert Trace.from_json(trace.to_json()) == trace
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_an_empty_trace_is_a_trace(tmp_path):
    empty = Trace("nobody 1")
    assert Trace.from_json(empty.to_json()) == empty
    assert empty.text() == "" and empty.steps("backward") == [] and repr(empty) == "Trace(0 events, 0 nodes, 0 tensors)"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_refused(tmp_path, share):
    text = diamond().to_json()
    path = tmp_path / "cut.json"
    path.write_text(text[:int(len(text) * share)])
    with pytest.raises(ValueError, match=r"cut\.json: this is not a whole trace"):
        Trace.load(path)


def changed(key, new):
    return {**diamond().to_dict(), key: new}


def without(key):
    return {k: v for k, v in diamond().to_dict().items() if k != key}


@pytest.mark.parametrize(("data", "says"), [
    (changed("format", "other"), "its format is 'other'"),
    (changed("version", 2), "has version 2; this library reads version 1"),
    (changed("events", {}), "its 'events' is not a list"),
    (changed("nodes", [1]), "entry 0 of its 'nodes' is not a dict"),
    (changed("formulas", []), "its 'formulas' is not a dict"),
    (changed("layout", []), "its 'layout' is not a dict"),
    (changed("scopes", [1]), "entry 0 of its 'scopes' is not a dict"),
    (changed("scopes", [{"name": "a", "module": "A", "parent": 0}]), "a scope of it leads to itself"),
    (changed("nodes", [{**accumulator(0), "scope": 3} for _ in range(4)]), "'nodes' has as its 'scope' 3, which is"),
    (changed("events", [{}]), "event 0 has no kind"),
    (changed("events", [{"kind": "ready", "node": 99}]), "event 0, ready, has as its 'node' 99, which is not a node"),
    (changed("events", [{"kind": "run", "node": 0, "gradient": [-1]}]), "has as its 'gradient' .-1., which is not a"),
    (without("tensors"), "it has no 'tensors'"),
    (["a list"], "its format is 'list'"),
    (None, "its format is 'NoneType'"),
])
def test_what_is_no_trace_is_refused(data, says):
    with pytest.raises(ValueError, match=says):
        Trace.from_json(json.dumps(data))


def test_not_even_json(tmp_path):
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="x: 'utf-8' codec"):
        Trace.load(tmp_path / "x")
    with pytest.raises(ValueError, match="holds NaN"):
        Trace.from_json('{"format": NaN}')
    with pytest.raises(ValueError, match="cannot be read"):
        Trace.from_json("[" * 100_000)
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "missing")


# ---- text
def test_text_is_short_and_plain():
    text = diamond().text()
    first = "mul(x, x) makes tensor 2 = tensor(2.); recorded as MulBackward0 #1"
    assert text.splitlines()[0].split("  ", 1)[1].strip() == first
    assert "AddBackward0 #3 sends tensor(1.) along edge 0 to MulBackward0 #1" in text
    assert "the sum there is tensor(2.)" in text and "x.grad becomes tensor(3.)" in text
    assert "0x" not in text


def test_text_of_a_frame():
    lines = diamond().text(8).splitlines()
    assert lines == ["step 8 of 19", "AddBackward0 #3 sends tensor(1.) along edge 0 to MulBackward0 #1",
                     "running: AddBackward0 #3",
                     "waiting: AccumulateGrad(x) (needs 1), MulBackward0 #1 (needs 1), ExpBackward0 #2 (needs 1)",
                     "pending at MulBackward0 #1: tensor(1.)"]


# ---- values
class FakeDtype:
    name, kind = "float32", "f"


class FakeArray:
    """As much of an array as a builder asks for."""

    dtype = FakeDtype()

    def __init__(self, shape, data):
        self.shape, self.data, self.size = shape, data, len(data)

    def tobytes(self):
        return repr(self.data).encode()

    def tolist(self):
        return self.data if self.shape else self.data[0]

    def ravel(self):
        return self


def test_equal_values_are_stored_once():
    builder = Builder()
    ids = [builder.value(FakeArray(shape, data)) for shape, data in
           [((2,), [1.0, 2.0]), ((2, 1), [1.0, 2.0]), ((2,), [1.0, 2.0]), ((), [1.0])]]
    assert ids == [0, 1, 0, 2]
    assert builder.parts.values[1] == {"shape": [2, 1], "dtype": "float32", "data": [1.0, 2.0]}


@pytest.mark.parametrize(("data", "shown"), [
    ([float("nan"), float("inf"), -float("inf"), 1.5], ["nan", "inf", "-inf", 1.5]),
    ([float("inf"), -float("inf")], ["inf", "-inf"]),
    ([1e308, 1e308], [1e308, 1e308]),
    ([-0.0], [-0.0]),
    ([], []),
])
def test_values_that_json_does_not_have(data, shown):
    builder = Builder()
    builder.value(FakeArray((len(data),), data))
    assert builder.parts.values[0]["data"] == shown
    json.dumps(builder.parts.values, allow_nan=False)


def test_statistics_of_large_arrays():
    np = pytest.importorskip("numpy")
    a = np.arange(100.0)
    assert statistics(a) == {"min": 0.0, "max": 99.0, "mean": 49.5, "norm": pytest.approx((a @ a) ** 0.5), "nan": 0,
                             "inf": 0}
    a[3], a[4], a[5] = np.nan, np.inf, -np.inf
    found = statistics(a)
    assert (found["min"], found["max"], found["nan"], found["inf"]) == (0.0, 99.0, 1, 2)
    assert found["mean"] == pytest.approx((4950 - 12) / 97)
    assert found["norm"] == "nan"
    assert statistics(np.array([np.inf] * 70))["norm"] == "inf"
    nothing = statistics(np.full(70, np.nan))
    assert nothing == {"min": None, "max": None, "mean": None, "norm": "nan", "nan": 70, "inf": 0}
    assert statistics(np.full(100, 1e200))["norm"] == pytest.approx(1e201)
    whole = statistics(np.arange(100))
    assert whole["max"] == 99 and isinstance(whole["max"], int)
    flags = statistics(np.ones(70, bool))
    assert (flags["min"], flags["max"], flags["mean"]) == (1, 1, 1.0)
    builder = Builder()
    assert builder.value(Large(a)) == builder.value(Large(a.copy())) == 0


def test_all_numbers_are_kept_of_large_tensors_that_no_op_made():
    w, c = torch.ones(30, 10, requires_grad=True), torch.arange(100.)
    with record() as trace:
        ((w * 2).sum() + (c + 1).sum() + torch.ones(10_001).sum()).backward()
    again = Trace.from_json(trace.to_json())
    assert again == trace
    kept = {tuple(t["shape"]): again.values[t["value"]].get("entries") for t in again.tensors if t["node"] is None}
    assert kept[30, 10] == [1.] * 300 and kept[10_001,] is None
    made = [t for t in again.tensors if t["shape"] == [100] and t["name"] is None]
    assert len(made) == 1 and "entries" not in again.values[made[0]["value"]]
    named = next(t for t in again.tensors if t["name"] == "c")
    assert again.values[named["value"]]["entries"] == list(range(100))
    again.values[named["value"]]["entries"].pop()
    with pytest.raises(ValueError, match="does not match its shape"):
        Trace.from_dict(again.to_dict())


def test_no_more_than_so_many_numbers_are_kept_whole():
    with record() as trace:
        for _ in range(6):
            torch.ones(100, 90).sum()
    whole = [value for value in trace.values if "entries" in value]
    assert len(trace.tensors) == 12 and len(whole) <= 1  # equal ones are stored once
    with record() as trace:
        for at in range(6):
            torch.full((100, 90), float(at)).sum()
    assert len([value for value in trace.values if "entries" in value]) == 4


def test_source_files_are_named_without_their_path():
    builder = Builder()
    assert builder.file("/tmp/ipykernel_12/345.py") == 0 and builder.file("/tmp/marimo_9/__marimo__cell_Hbol_.py") == 1
    assert builder.file("/tmp/ipykernel_12/345.py") == 0
    index = builder.file(__file__)
    assert [f["name"] for f in builder.parts.files] == ["cell 1", "cell 2", "test_trace_files.py"]
    assert builder.parts.files[index]["lines"][0].startswith('"""Traces on disk')
    assert builder.file(record.__init__.__code__.co_filename) == -1


# ---- bytes
def test_a_storage_is_counted_once_under_its_first_holder():
    ledger = Ledger()
    storage = ledger.hold(7, 100, ACTIVATION)
    assert ledger.hold(7, 100, SAVED) is storage and ledger.totals == [0, 0, 100, 0, 0]
    ledger.hold(7, 100, PARAMETER)
    assert ledger.totals == [100, 0, 0, 0, 0]
    ledger.drop(storage, PARAMETER)
    ledger.drop(storage, SAVED)
    assert ledger.totals == [0, 100, 0, 0, 0]
    ledger.hold(7, 100, GRADIENT)
    assert ledger.totals == [0, 0, 0, 100, 0]
    ledger.drop(storage, GRADIENT)
    ledger.drop(storage, ACTIVATION)
    ledger.drop(storage, ACTIVATION)
    assert ledger.totals == [0, 0, 0, 0, 0] and ledger.live == {}


def test_an_id_that_lives_again_with_another_size_is_another_storage():
    ledger = Ledger()
    first = ledger.hold(7, 100, ACTIVATION)
    second = ledger.hold(7, 40, SAVED)
    assert second is not first and ledger.totals == [0, 0, 40, 0, 0]
    ledger.drop(first, ACTIVATION)
    assert ledger.totals == [0, 0, 40, 0, 0]


def test_previews_that_share_their_numbers_are_refused():
    """A small file would fill the memory."""
    data = packed(diamond().to_dict())
    values = unpacked(data)["values"]
    assert values == diamond().to_dict()["values"]
    again = {"shape": [2], "dtype": "float32", "at": 0}
    with pytest.raises(ValueError, match=r"its previews hold 8000 bytes, of which the file has \d+"):
        unpacked({**data, "values": [again] * 1000})
    negative = {**again, "shape": [-2000]}
    with pytest.raises(ValueError, match=r"its previews hold 16000 bytes"):
        unpacked({**data, "values": [again] * 1000 + [negative]})
