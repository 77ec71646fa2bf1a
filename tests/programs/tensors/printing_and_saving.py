"""Prints tensors of all sorts with several print options and saves and loads them, with modules, through a BytesIO."""

import copy
import io
from collections import OrderedDict

import torch
import torch.nn as nn

torch.manual_seed(6)
print(torch.tensor([1.0, 2.0]), torch.tensor([1.5, 1000.25]), torch.tensor([1e-5, 1.0]), torch.tensor([1e9, 2.0]), torch.tensor([100000.0]), torch.tensor(0.1), torch.tensor([0.0001, 0.5]), sep="\n")
print(torch.tensor([[1, -20], [300, 4]]), torch.tensor([True, False]), torch.tensor([]), torch.empty(0, 3), torch.tensor([float("nan"), 1.0, -float("inf")]), torch.tensor(7, dtype=torch.uint8), torch.zeros(2, dtype=torch.half), sep="\n")
print(torch.arange(2000), torch.linspace(0, 1, 1001), torch.zeros(50, 50)[:, :4].shape, torch.rand(2, 2, 2), torch.ones(1, 1, 1, 2), sep="\n")
print(torch.arange(30.0), torch.eye(40).long(), torch.full((2, 3), -0.5, dtype=torch.float64), sep="\n")
w = nn.Parameter(torch.tensor([0.25, -1.0]))
print(w, w * 2, w.data, (w ** 2).sum(), w.view(2, 1)[0], [w.detach(), torch.ones(1)], {"w": w[0]}, (torch.tensor(1), torch.tensor([2.5])), sep="\n")
print(f"{torch.tensor(3.14159):.3f} {torch.tensor(5)} {torch.tensor([1.0])} {w[0]} {w.sum():>8.2f}|", "%.2f %d %s" % (torch.tensor(1.234), torch.tensor(9), torch.tensor([1])), str(torch.float32), repr(torch.Size([2])), torch.device("cpu"), repr(torch.device("cpu:0")))
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([1e-4, 123.456]), torch.tensor([3.14159]))
torch.set_printoptions(threshold=10, edgeitems=2, linewidth=60)
print(torch.arange(100.0).view(10, 10), torch.arange(12), sep="\n")
torch.set_printoptions(profile="full")
print(torch.arange(30) * 1000)
torch.set_printoptions(profile="short")
print(torch.rand(3, 4), torch.arange(5000))
torch.set_printoptions(profile="default", sci_mode=True)
print(torch.tensor([1.0, 20.0]))
torch.set_printoptions(sci_mode=None)

buffer = io.BytesIO()
torch.save({"x": torch.arange(3), "nested": [torch.eye(2), (1, "two", None)], "half": torch.ones(2, dtype=torch.half), "shared": (w, w.detach())}, buffer)
print(buffer.tell() > 100, buffer.seek(0))
loaded = torch.load(buffer)
print(loaded["x"], loaded["nested"], loaded["half"].dtype, type(loaded["shared"][0]).__name__, loaded["shared"][0].data_ptr() == loaded["shared"][1].data_ptr(), loaded["shared"][0].requires_grad)

net = nn.Sequential(OrderedDict([("fc1", nn.Linear(3, 4)), ("act", nn.PReLU()), ("bn", nn.BatchNorm1d(4)), ("fc2", nn.Linear(4, 1))]))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(6, 3)
net(x).pow(2).mean().backward()
optimizer.step()
checkpoint = io.BytesIO()
torch.save({"epoch": 1, "model": net.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint)
checkpoint.seek(0)
other = copy.deepcopy(net)
for p in other.parameters():
    nn.init.zeros_(p)
state = torch.load(checkpoint, map_location="cpu", weights_only=True)
print(other.load_state_dict(state["model"]), state["epoch"], list(state["model"]), state["optimizer"]["param_groups"][0]["lr"], sorted(state["optimizer"]["state"][0]))
print(torch.equal(net.eval()(x), other.eval()(x)), state["model"]["bn.num_batches_tracked"], state["model"]["bn.running_mean"])
print(other.load_state_dict({"fc1.weight": torch.zeros(4, 3), "extra": w.data}, strict=False))
for broken in ({"fc1.weight": torch.zeros(2, 2)}, OrderedDict(state["model"], surplus=torch.ones(1))):
    try:
        other.load_state_dict(broken)
    except RuntimeError as error:
        print(error)
view = torch.arange(10.0).view(2, 5).t()[1:3]
stream = io.BytesIO()
torch.save(view, stream)
back = torch.load(io.BytesIO(stream.getvalue()))
print(back, back.stride(), back.is_contiguous(), torch.equal(back, view), back.storage_offset())
