"""`save` and `load`: what goes in comes out, and what is broken or foreign is refused in one way."""

from __future__ import annotations

import collections
import copy
import io
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import nn, optim
from minigrad._base import optional as _optional
from minigrad.serialization import LoadError

pytest.importorskip("safetensors", reason="save and load need the extra io")

DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


def through(obj):
    """What is loaded after it was saved, in both formats: the same."""
    file = io.BytesIO()
    minigrad.save(obj, file)
    file.seek(0)
    found = minigrad.load(file)
    same(through_safetensors(obj), found)
    return found


def through_safetensors(obj):
    """What is loaded after it was saved under a name that asks for safetensors."""
    with tempfile.TemporaryDirectory() as folder:
        minigrad.save(obj, os.path.join(folder, "x.safetensors"))
        return minigrad.load(os.path.join(folder, "x.safetensors"))


def same(a, b):
    """Equal in value and type, all the way down, bit for bit."""
    assert type(a) is type(b)
    if isinstance(a, minigrad.Tensor):
        assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        assert a.array.dtype is b.array.dtype  # as ops compare them
        assert a.detach().numpy().tobytes() == b.detach().numpy().tobytes()
    elif isinstance(a, dict):
        assert list(a) == list(b)
        assert [type(key) for key in a] == [type(key) for key in b]
        for key in a:
            same(a[key], b[key])
        same(getattr(a, "_metadata", None), getattr(b, "_metadata", None))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, two in zip(a, b):
            same(one, two)
    else:
        assert repr(a) == repr(b)


def tensors():
    """A tensor of each dtype and of unusual shapes and memory."""
    made = {f"of {dtype}": minigrad.arange(6).view(2, 3).to(getattr(minigrad, dtype)) for dtype in DTYPES}
    wide = minigrad.arange(12.0).view(3, 4)
    return made | {
        "no dimension": minigrad.tensor(2.5), "empty": minigrad.zeros(0, 3), "gaps": wide[:, ::2], "turned": wide.T,
        "expanded": minigrad.ones(1, 3).expand(2, 3), "part": wide[1],
        "on record": minigrad.ones(2, requires_grad=True),
        "odd numbers": minigrad.tensor([float("nan"), float("inf"), -0.0, 1e-45]), "whole": wide,
    }


def test_tensors_come_back():
    same(through(tensors()), tensors())


@pytest.mark.parametrize("name", tensors())
def test_one_tensor_comes_back(name):
    same(through(tensors()[name]), tensors()[name])


TEXTS = st.text(st.characters(codec="utf-8"))
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS)
TENSORS = st.sampled_from(DTYPES).map(lambda dtype: minigrad.ones(2, dtype=getattr(minigrad, dtype)))
KEYS = st.one_of(TEXTS, st.integers(), st.none(), st.tuples(st.integers(), TEXTS))


@given(st.recursive(PLAIN | TENSORS, lambda inner: st.one_of(
    st.lists(inner), st.tuples(inner, inner), st.dictionaries(KEYS, inner),
    st.dictionaries(KEYS, inner).map(collections.OrderedDict)), max_leaves=12))
def test_whatever_is_nested_comes_back(obj):
    same(through(obj), obj)


def test_other_types_come_back():
    obj = [collections.Counter([3, 3, 1]), minigrad.Size([2, 3]), minigrad.float64, (), {}, [[]], 10**30, "\u0000é"]
    same(through(obj), obj)


def network():
    minigrad.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def trained(kind, **options):
    """A network and an optimiser after some steps."""
    net = network()
    groups = [{"params": [*net[0].parameters()], "lr": 0.1}, {"params": [*net[3].parameters()]}]
    opt = getattr(optim, kind)(groups, lr=0.01, **options)
    for _ in range(3):
        opt.zero_grad()
        net(minigrad.ones(5, 3)).square().sum().backward()
        opt.step()
    return net, opt


@pytest.mark.parametrize(("kind", "options"), [
    ("SGD", {"momentum": 0.9}), ("SGD", {}), ("Adam", {"amsgrad": True}), ("AdamW", {}), ("Adagrad", {}),
    ("Rprop", {})])
def test_training_goes_on(kind, options):
    net, opt = trained(kind, **options)
    schedule = optim.lr_scheduler.MultiStepLR(opt, [2, 2, 5])
    found = through({"net": net.state_dict(), "opt": opt.state_dict(), "schedule": schedule.state_dict(), "epoch": 3})
    same(found, {"net": net.state_dict(), "opt": opt.state_dict(), "schedule": schedule.state_dict(), "epoch": 3})
    other, again = trained(kind, **options)
    other.load_state_dict(found["net"])
    again.load_state_dict(found["opt"])
    same(again.state_dict(), opt.state_dict())


def test_state_dict_of_a_module_keeps_its_versions():
    found = through(network().state_dict())
    assert type(found) is collections.OrderedDict
    assert found._metadata == network().state_dict()._metadata


def test_tensors_that_share_memory_do_so_after_loading():
    x = minigrad.arange(6.0)
    found = through({"whole": x, "part": x[1:3], "turned": x.view(2, 3).t(), "again": x, "apart": x.clone()})
    found["whole"][1] = 9
    assert found["part"].tolist() == [9, 2]
    assert found["turned"].tolist() == [[0, 3], [9, 4], [2, 5]] and found["turned"].stride() == (1, 3)
    assert found["again"] is found["whole"] and found["apart"].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        minigrad.save([x, x.view(minigrad.int32)], io.BytesIO())


def test_in_safetensors_they_are_apart_after_loading():
    x = minigrad.arange(4.0)
    found = through_safetensors({"whole": x, "part": x[1:3], "again": x})
    found["whole"][1] = 9
    assert found["part"].tolist() == [1, 2]
    assert found["again"].tolist() == [0, 1, 2, 3]


def test_names_that_meet_are_told_apart():
    obj = {"a.b": minigrad.ones(1), "a": {"b": minigrad.zeros(1)}, "__metadata__": minigrad.ones(2),
           1: minigrad.ones(3), "1": minigrad.ones(4)}
    same(through(obj), obj)


class Thing:
    pass


def cycle():
    made = [1]
    made.append(made)
    return made


@pytest.mark.parametrize(("obj", "error", "text"), [
    (Thing(), TypeError, "the object is of type tests.unit.test_serialization.Thing"),
    ({"a": [1, {2}]}, TypeError, r"the object\['a'\]\[1\] is of type builtins.set"),
    ({"net": nn.Linear(1, 1)}, TypeError, r"the object\['net'\] is of type .*Linear. Give its state_dict\(\)."),
    ({"x": np.ones(2)}, TypeError, r"the object\['x'\] is of type numpy.ndarray"),
    ({"x": np.float64(2)}, TypeError, r"the object\['x'\] is of type numpy.float64"),
    ({b"x": 2}, TypeError, "a key of the object is of type builtins.bytes"),
    ({minigrad.ones(1): 2}, TypeError, "a key of the object is of type minigrad.Tensor"),
    ({"x": lambda: 3}, TypeError, r"the object\['x'\] is of type builtins.function"),
    (collections.defaultdict(int), TypeError, "collections.defaultdict"),
    (cycle(), ValueError, r"the object\[1\] contains itself"),
])
def test_refused_in_safetensors(obj, error, text, tmp_path):
    refused(obj, error, text, tmp_path / "kept.safetensors")


class Named(minigrad.Tensor):
    __torch_function__ = nn.Parameter.__torch_function__


@pytest.mark.parametrize(("obj", "text"), [
    (Thing(), "the object is of type tests.unit.test_serialization.Thing"),
    ({"x": [1, np.ones(2)]}, r"the object\['x'\]\[1\] is of type numpy.ndarray. Give torch.from_numpy\(\) of it."),
    ({"x": np.float64(2)}, r"the object\['x'\] is of type numpy.float64. Give its item\(\)."),
    ({b"x": 2}, r"the object\['a key'\] is of type builtins.bytes"),
    ({"x": lambda: 3}, r"the object\['x'\] is of type builtins.function"),
    (collections.defaultdict(int), "collections.defaultdict"),
    (minigrad.ones(1).as_subclass(Named), r"test_serialization.Named. Give its as_subclass\(torch.Tensor\)."),
    (type("Inside", (nn.Module,), {"__qualname__": "f.<locals>.Inside"})(), r"inside|in a function.*state_dict\(\)"),
])
def test_refused(obj, text, tmp_path):
    refused(obj, TypeError, text, tmp_path / "kept")


def test_a_lazy_module_is_refused_until_it_has_run(tmp_path):
    # Made here: while one lives, all public functions ask it first.
    refused(nn.LazyLinear(2), TypeError, r"UninitializedParameter. Run its module once before.", tmp_path / "kept")


def refused(obj, error, text, path):
    """Assert that an object is not saved, and that the old file stays."""
    path.write_bytes(b"old")
    with pytest.raises(error, match=text):
        minigrad.save(obj, path)
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


def test_what_contains_itself_comes_back():
    file = io.BytesIO()
    minigrad.save(cycle(), file)
    found = minigrad.load(io.BytesIO(file.getvalue()))
    assert found[0] == 1 and found[1] is found


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 2), nn.BatchNorm1d(2)])
        self.tied = self.layers[0].weight
        self.sizes = {"a": (1, 2)}

    def forward(self, x):
        return self.layers[1](self.layers[0](x)) @ self.tied


def test_a_module_comes_back_whole():
    net, file = Net().eval(), io.BytesIO()
    minigrad.save({"net": net, "layer": net.layers[1]}, file)
    with pytest.raises(LoadError, match=r"(?s)test_serialization.Net, which minigrad does not load.*add_safe_globals"):
        minigrad.load(io.BytesIO(file.getvalue()))
    with minigrad.serialization.safe_globals([Net]):
        assert minigrad.serialization.get_safe_globals() == [Net]
        found = minigrad.load(io.BytesIO(file.getvalue()))
    assert minigrad.serialization.get_safe_globals() == []
    again = found["net"]
    assert type(again) is Net and not again.training and again.sizes == {"a": (1, 2)}
    assert again.tied is again.layers[0].weight and found["layer"] is again.layers[1]
    x = minigrad.rand(4, 3)
    assert minigrad.equal(again(x), net(x))
    again(x).sum().backward()
    assert again.tied.grad is not None


def test_only_classes_are_allowed():
    with pytest.raises(TypeError, match="takes classes"):
        minigrad.serialization.add_safe_globals([print])
    minigrad.serialization.add_safe_globals([Net])
    minigrad.serialization.clear_safe_globals()
    assert minigrad.serialization.get_safe_globals() == []


@pytest.mark.parametrize("kind", [str, Path])
def test_paths(kind, tmp_path):
    path = kind(tmp_path / "new")
    minigrad.save({"a": 1}, path)
    minigrad.save({"a": 2}, path)
    assert minigrad.load(path) == {"a": 2}
    assert os.listdir(tmp_path) == ["new"]


def test_a_relative_path_and_a_link(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    minigrad.save(1, "new")
    os.symlink("new", "link")
    os.chmod("new", 0o640)
    minigrad.save(2, "link")
    assert os.path.islink("link")
    assert minigrad.load("new") == minigrad.load("link") == 2
    assert os.stat("new").st_mode & 0o777 == 0o640


def test_a_new_file_is_as_open_makes_it(tmp_path):
    minigrad.save(1, tmp_path / "ours")
    (tmp_path / "plain").touch()
    assert os.stat(tmp_path / "ours").st_mode == os.stat(tmp_path / "plain").st_mode


def test_open_files(tmp_path):
    with open(tmp_path / "new", "wb") as file:
        minigrad.save([1], file)
    with open(tmp_path / "new", "rb") as file:
        assert minigrad.load(file) == [1]
    with open(tmp_path / "new", encoding="latin-1") as file, pytest.raises(TypeError, match="binary"):
        minigrad.load(file)


def test_a_device_is_written_to():
    minigrad.save([1], os.devnull)
    assert not os.path.isfile(os.devnull)


def test_no_place(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        minigrad.save(1, tmp_path / "nowhere" / "new")
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object with a 'write'"):
        minigrad.save(1, 3)
    with pytest.raises(FileNotFoundError):
        minigrad.load(tmp_path / "new")
    with pytest.raises(AttributeError):
        minigrad.load(3)


CRASH = """
import os, sys, minigrad
replace = os.replace
os.replace = lambda *paths: os._exit(7)  # the power goes off before the new file is put in its place
minigrad.save({"a": minigrad.ones(1000)}, sys.argv[1])
"""


def test_a_crash_leaves_the_old_file(tmp_path):
    path = tmp_path / "kept"
    minigrad.save("old", path)
    assert subprocess.run([sys.executable, "-c", CRASH, str(path)], check=False).returncode == 7
    assert minigrad.load(path) == "old"


def test_an_error_leaves_the_old_file_alone(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    minigrad.save("old", path)

    def full(*paths):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        minigrad.save("new", path)
    assert minigrad.load(path) == "old"
    assert os.listdir(tmp_path) == ["kept"]


def whole(suffix=".safetensors"):
    """The bytes of a file of one of the formats."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x" + suffix)
        minigrad.save({"a": minigrad.arange(5.0), "b": [minigrad.ones(3), 2.5]}, path)
        return path.read_bytes()


@pytest.mark.parametrize("data", [pickle.dumps({"a": 1}), pickle.dumps([1], protocol=2)])
@pytest.mark.parametrize("weights_only", [None, True, False])
def test_no_pickle_is_loaded(data, weights_only, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=r"(?s)model.pt is a pickle.*convert it with PyTorch.*save_file\(torch.load"):
        minigrad.load(path, weights_only=weights_only)


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_a_broken_file_changes_nothing(suffix):
    net = network()
    before = copy.deepcopy(net.state_dict())
    with pytest.raises(LoadError):
        net.load_state_dict(minigrad.load(io.BytesIO(whole(suffix)[:-1])))
    same(net.state_dict(), before)


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_where_to(suffix):
    data = whole(suffix)
    for where in (None, "cpu", minigrad.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage):
        assert minigrad.load(io.BytesIO(data), where)["b"][1] == 2.5
    with pytest.raises((RuntimeError, AssertionError)):
        minigrad.load(io.BytesIO(data), "cuda")


def test_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(_optional.MissingExtra, match=r'pip install "minigrad-kit\[io\]"'):
        minigrad.save(1, tmp_path / "x.safetensors")
    minigrad.save(1, tmp_path / "x.pt")  # needs no extra


def test_not_loaded_before_it_is_asked_for():
    said = subprocess.run([sys.executable, "-c", "import sys, minigrad; print([n for n in sys.modules if n.startswith("
                           "('safetensors', 'minigrad.serialization', 'minigrad.nn', 'minigrad.utils'))])"],
                          capture_output=True, text=True, check=True).stdout
    assert said == "[]\n"
