"""Files go from one library to the other, bit for bit, both ways."""

from __future__ import annotations

import importlib
import io
import struct
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

import minigrad
from minigrad.serialization import LoadError
from minigrad.serialization.torch_file import torch_name

pytestmark = pytest.mark.torch
DTYPES = ["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]


@pytest.fixture
def files(torch):
    """`safetensors.torch`, which needs PyTorch."""
    return importlib.import_module("safetensors.torch")


def network(m):
    m.manual_seed(3)
    return m.nn.Sequential(m.nn.Linear(3, 5), m.nn.BatchNorm1d(5), m.nn.ReLU(), m.nn.Linear(5, 2))


def tensors(m):
    """A tensor of each dtype and of unusual shapes, whose bits are drawn."""
    random = np.random.RandomState(0)
    made = {}
    for dtype in DTYPES:
        for shape in ((), (0, 2), (3,), (2, 3, 2)):
            size = (*shape, np.dtype(dtype).itemsize)
            bits = random.randint(0, 2 if dtype == "bool" else 256, size).astype(np.uint8)
            made[f"{dtype} {shape}"] = m.from_numpy(bits.view(dtype).reshape(shape).copy())
    return made


def bits(dictionary):
    """Names to dtypes, shapes and bytes, without anything of a library."""
    return {name: (str(x.dtype), tuple(x.shape), x.detach().numpy().tobytes()) for name, x in dictionary.items()}


@pytest.mark.parametrize("make", [tensors, lambda m: network(m).state_dict()])
def test_from_here_to_pytorch(torch, files, make, tmp_path):
    path = tmp_path / "model.safetensors"
    minigrad.save(make(minigrad), path)
    theirs = files.load_file(path)
    assert bits(theirs) == bits(make(minigrad)) == bits(make(torch))


@pytest.mark.parametrize("make", [tensors, lambda m: network(m).state_dict()])
def test_from_pytorch_to_here(torch, files, make, tmp_path):
    path = tmp_path / "model.safetensors"
    files.save_file(dict(make(torch)), path, {"format": "pt"})
    assert bits(minigrad.load(path)) == bits(make(torch))


def test_there_and_back(torch, files, tmp_path):
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    minigrad.save(network(minigrad).state_dict(), first)
    net = network(torch)
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
    assert str(net.load_state_dict(files.load_file(first))) == "<All keys matched successfully>"
    files.save_file(net.state_dict(), second)
    again = network(minigrad)
    again.load_state_dict(minigrad.load(second))
    assert bits(again.state_dict()) == bits(network(minigrad).state_dict())


def test_tied_and_cut_tensors_reach_pytorch(files, tmp_path):
    x = minigrad.arange(12.0).view(3, 4)
    path = tmp_path / "tied.safetensors"
    minigrad.save({"x": x, "again": x, "turned": x.T, "part": x[:, 1]}, path)
    theirs = files.load_file(path)
    assert {name: value.tolist() for name, value in theirs.items()} == {
        "x": x.tolist(), "again": x.tolist(), "turned": x.T.tolist(), "part": x[:, 1].tolist()}


@pytest.mark.parametrize("dtype", ["complex64", "uint16", "uint32", "uint64", "float8_e4m3fn"])
def test_dtypes_that_are_not_here(torch, files, dtype):
    data = files.save({"good": torch.ones(2), "other": torch.zeros(2).to(getattr(torch, dtype))})
    with pytest.raises(LoadError, match="holds 'other' of dtype "):
        minigrad.load(io.BytesIO(data))


def test_old_files_of_torch_save_are_refused(torch, tmp_path):
    path = tmp_path / "model.pt"
    torch.save(network(torch).state_dict(), path, _use_new_zipfile_serialization=False)
    with pytest.raises(LoadError, match="is a pickle"):
        minigrad.load(path, weights_only=False)


@pytest.mark.parametrize("make", [tensors, lambda m: network(m).state_dict()])
def test_files_of_torch_save(torch, make, tmp_path):
    path = tmp_path / "model.pt"
    torch.save(make(torch), path)
    assert bits(minigrad.load(path)) == bits(make(torch))


def test_what_else_torch_save_writes(torch):
    def load(value):
        file = io.BytesIO()
        torch.save(value, file)
        return minigrad.load(io.BytesIO(file.getvalue()))

    layer = torch.nn.Linear(2, 1)
    result = load({"size": torch.Size([2, 3]), "dtype": torch.float16, "device": torch.device("cpu"), "set": {1, 2},
                   "nested": [(1, "a", None, 2.5, True)], "parameter": layer.weight, "count": Counter("aab")})
    assert type(result["parameter"]) is minigrad.nn.Parameter and result["parameter"].requires_grad
    assert result["parameter"].tolist() == layer.weight.tolist()
    assert result["size"] == minigrad.Size([2, 3]) and result["dtype"] is minigrad.float16
    assert result["device"] == minigrad.device("cpu") and result["set"] == {1, 2}
    assert result["nested"] == [(1, "a", None, 2.5, True)] and result["count"] == Counter("aab")
    state = load(network(torch).state_dict())
    assert state._metadata == network(torch).state_dict()._metadata
    assert str(network(minigrad).load_state_dict(state)) == "<All keys matched successfully>"


def test_tensors_of_torch_save_share_their_storage(torch):
    file, x = io.BytesIO(), torch.arange(6.0)
    torch.save([x, x[2:], x.view(2, 3).t()], file)
    whole, part, turned = minigrad.load(io.BytesIO(file.getvalue()))
    whole[3] = 99
    assert part.tolist() == [2, 99, 4, 5] and turned.tolist() == [[0, 99], [1, 4], [2, 5]]
    assert turned.stride() == (1, 3)


def nested(m):
    """All that both libraries write: tensors of every kind, what shares memory, numbers, texts, containers."""
    x, layer = m.arange(6.0), m.nn.Linear(2, 1)
    return {"whole": x, "part": x[2:], "turned": x.view(2, 3).t(), "again": x, "empty": m.zeros(0, 3),
            "number": m.tensor(2.5), "expanded": m.ones(1, 3).expand(2, 3), "on record": m.ones(2, requires_grad=True),
            "parameter": m.nn.Parameter(m.ones(2)), "frozen": m.nn.Parameter(m.ones(2), False),
            "state": layer.state_dict(), "size": m.Size([2, 3]),
            "dtype": m.float16, "device": m.device("cpu"), "set": {1, 2}, "none": None,
            "numbers": [1, -1, 1 << 40, -(1 << 33), 10 ** 40, 2.5, float("inf"), True], "text": "\u0000é",
            ("a", 1): (1, "a", ()), 3: [[]], "count": Counter("aab"), "ordered": OrderedDict(b=1, a=2)}


def seen(value):
    """A value without its library: of tensors the class, what they hold, and how they lie in memory."""
    if hasattr(value, "grad_fn"):
        return (type(value).__name__, str(value.dtype).split(".")[-1], value.tolist(), tuple(value.stride()),
                value.storage_offset(), value.requires_grad, value.untyped_storage().nbytes())
    if isinstance(value, dict):
        return type(value).__name__, [(key, seen(each)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [seen(each) for each in value]
    return type(value).__name__, repr(value).replace("minigrad", "torch")


@pytest.mark.parametrize("where", ["path", "file"])
def test_what_save_writes_pytorch_loads(torch, tmp_path, where):
    if where == "path":
        minigrad.save(nested(minigrad), tmp_path / "model.pt")
        theirs, ours = torch.load(tmp_path / "model.pt", weights_only=True), minigrad.load(tmp_path / "model.pt")
    else:
        file = io.BytesIO()
        minigrad.save(nested(minigrad), file)
        theirs, ours = (m.load(io.BytesIO(file.getvalue())) for m in (torch, minigrad))
    file = io.BytesIO()
    torch.save(nested(torch), file)
    file.seek(0)
    first = torch.load(file)
    for values in (theirs, ours, first):
        values["state"] = {name: tuple(each.shape) for name, each in values["state"].items()}  # the weights are drawn
    assert seen(theirs) == seen(ours) == seen(first)
    for values in (theirs, ours):
        values["whole"][3] = 99
        assert values["again"] is values["whole"]
        assert values["part"].tolist() == [2, 99, 4, 5] and values["turned"].tolist() == [[0, 99], [1, 4], [2, 5]]


def test_its_archive_is_laid_out_as_pytorchs(torch, tmp_path):
    found = []
    for m in (minigrad, torch):
        m.save({"a": m.ones(3), "b": m.zeros(5)}, tmp_path / "model.pt")
        data = (tmp_path / "model.pt").read_bytes()
        with zipfile.ZipFile(tmp_path / "model.pt") as archive:
            entries = {each.filename: each.header_offset for each in archive.infolist() if "serialization_id" not in
                       each.filename}
        starts = [at + 30 + sum(struct.unpack("<HH", data[at + 26:at + 30])) for at in entries.values()]
        found.append(([*entries], [start % 64 for start in starts]))
    assert found[0] == found[1]


LAYERS = {
    "Linear": (2, 3), "Conv2d": (1, 2, 3), "BatchNorm2d": (3,), "LSTM": (2, 3, 2), "GRUCell": (2, 3),
    "Embedding": (4, 2), "MultiheadAttention": (4, 2), "LayerNorm": (3,), "CrossEntropyLoss": (),
    "Upsample": (3,), "PReLU": (), "Dropout": (0.2,), "MaxPool2d": (2,), "ZeroPad2d": (1,)}


@pytest.mark.parametrize("name", [*LAYERS, "Sequential"])
def test_whole_layers_go_both_ways(torch, name):
    def made(m):
        m.manual_seed(0)
        if name == "Sequential":
            return network(m).eval()
        return getattr(m.nn, name)(*LAYERS[name])

    file, back = io.BytesIO(), io.BytesIO()
    minigrad.save(made(minigrad), file)
    theirs = torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    torch.save(made(torch), back)
    for module in (theirs, minigrad.load(io.BytesIO(back.getvalue())), minigrad.load(io.BytesIO(file.getvalue()))):
        assert repr(module) == repr(made(torch)) and module.training == made(torch).training
        assert bits(module.state_dict()) == bits(made(torch).state_dict())
    if name == "LSTM":
        assert theirs(torch.ones(1, 1, 2))[0].shape == (1, 1, 3)


def test_layers_have_the_names_of_pytorchs(torch):
    for name, cls in vars(minigrad.nn).items():
        if isinstance(cls, type) and issubclass(cls, minigrad.nn.Module) and not name.startswith("Lazy"):
            assert torch_name(cls) == (getattr(torch.nn, name).__module__, name)


def test_what_is_more_than_data_is_refused(torch):
    unknown = [torch.ones(2, dtype=dtype) for dtype in (torch.complex128, torch.complex64)]
    for value in (torch.optim.SGD([torch.ones(1)]), *unknown):
        file = io.BytesIO()
        torch.save(value, file)
        with pytest.raises(LoadError, match=r"(?s)which minigrad does not load.*state_dict\(\)"):
            minigrad.load(io.BytesIO(file.getvalue()))


def test_refusals_are_as_pytorchs(torch):
    for program in (lambda m: m.save({}, 3), lambda m: m.save({}, "/nowhere-at-all/x"),
                    lambda m: m.load("/nowhere-at-all/x"), lambda m: m.load("/nowhere-at-all/x", weights_only=True)):
        ends = []
        for m in (minigrad, torch):
            with pytest.raises(Exception) as caught:
                program(m)
            ends.append((type(caught.value), str(caught.value)))
        assert ends[0] == ends[1]


def test_state_of_an_optimizer_goes_through_a_file(torch):
    """Trained halfway, saved, loaded and trained on: the same weights as PyTorch's without a file."""
    def steps(m, net, opt, n):
        for _ in range(n):
            opt.zero_grad()
            net(m.arange(12.0).view(4, 3)).square().mean().backward()
            opt.step()

    ends = []
    for m in (minigrad, torch):
        m.manual_seed(3)
        net = m.nn.Sequential(m.nn.Linear(3, 5), m.nn.Tanh(), m.nn.Linear(5, 2))
        opt = m.optim.Adam(net.parameters(), lr=0.1)
        steps(m, net, opt, 3)
        if m is minigrad:
            file = io.BytesIO()
            m.save({"net": net.state_dict(), "opt": opt.state_dict()}, file)
            file.seek(0)
            found, net = m.load(file), m.nn.Sequential(m.nn.Linear(3, 5), m.nn.Tanh(), m.nn.Linear(5, 2))
            opt = m.optim.Adam(net.parameters(), lr=7.0)
            net.load_state_dict(found["net"])
            opt.load_state_dict(found["opt"])
        steps(m, net, opt, 3)
        ends.append([p.detach().numpy() for p in net.parameters()])
    for ours, theirs in zip(*ends):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
