"""Files go from one library to the other, bit for bit, both ways."""

from __future__ import annotations

import importlib
import io
from collections import Counter

import numpy as np
import pytest

import minigrad
from minigrad.serialization import LoadError

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
    first, second = tmp_path / "first", tmp_path / "second"
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
    minigrad.save({"x": x, "again": x, "turned": x.T, "part": x[:, 1]}, tmp_path / "tied")
    theirs = files.load_file(tmp_path / "tied")
    assert {name: value.tolist() for name, value in theirs.items()} == {
        "x": x.tolist(), "again": x.tolist(), "turned": x.T.tolist(), "part": x[:, 1].tolist()}


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "uint16", "uint32", "uint64", "float8_e4m3fn"])
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


def test_what_is_more_than_data_is_refused(torch):
    for value in (torch.nn.Linear(2, 1), torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.complex64)):
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
