"""Parameters and buffers without a shape, and the lazy modules that hold them: what PyTorch refuses is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import re

import pytest

import minigrad
from minigrad.ops._dispatch.torch_function import Overriding
from tests.parity.alike import ending

pytestmark = pytest.mark.torch

USES = """\
torch.empty_like(p)
p + p
p * 2
1 + p
p == p
torch.ones(1, 2) @ p
p.sum()
p.clone()
p.detach()
p.zero_()
p.fill_(1)
p.copy_(torch.ones(3))
p.size()
p.size(0)
p.shape
p.numel()
p.ndim
p.dim()
len(p)
list(p)
bool(p)
p[0]
p.view(-1)
p.T
p.stride()
p.is_contiguous()
p.storage_offset()
p.element_size()
p.type()
p.device
p.dtype
p.layout
p.grad
p.grad_fn
p.is_leaf
p.requires_grad
p.retains_grad
p._version
p.requires_grad_(False)
p.register_hook(print)
p.backward()
p.float().dtype
p.double().dtype
p.to(torch.float64).dtype
p.bfloat16()
p.is_floating_point()
torch.is_floating_point(p)
p.is_complex()
p.numpy()
p.tolist()
p.item()
p.new_zeros(2)
p in [p]
hash(p) == hash(p)
repr(p)
p.share_memory_()
torch.is_tensor(p)
torch.relu(p)
torch.stack([p, p])
torch.cat([torch.ones(2), p])
torch.zeros_like(p)
torch.equal(p, p)
torch.nn.functional.linear(torch.ones(1, 2), p)
torch.nn.functional.dropout(p)
torch.nn.init.normal_(p)
torch.nn.init.zeros_(p)
torch.nn.init.xavier_uniform_(p)
torch.nn.init.kaiming_uniform_(p)
torch.autograd.grad(torch.ones(1, requires_grad=True).sum(), p)
torch.nn.utils.parameters_to_vector([p])
type(torch.optim.SGD([p], lr=0.1)).__name__
type(torch.optim.Adam([p])).__name__
type(torch.optim.Adagrad([p])).__name__
type(torch.optim.ASGD([p])).__name__
type(copy.copy(p)).__name__
type(pickle.loads(pickle.dumps(p))).__name__
sum(each.numel() for each in layer.parameters())
torch.nn.utils.weight_norm(layer)
torch.nn.utils.spectral_norm(layer)
layer.double().weight.dtype
layer.half().weight.dtype
layer.bfloat16().weight.dtype
layer.requires_grad_(False)
list(layer.state_dict())
type(copy.deepcopy(layer).weight).__name__
torch.nn.Linear(2, 3).load_state_dict(layer.state_dict())
layer.load_state_dict(torch.nn.Linear(2, 3).state_dict())
(layer.load_state_dict(torch.nn.Linear(2, 3).state_dict()), layer(torch.ones(1, 2)).shape)[1]
layer.load_state_dict({})
type(torch.optim.swa_utils.AveragedModel(layer)).__name__
torch.optim.swa_utils.AveragedModel(layer).update_parameters(layer)
(layer(torch.ones(1, 2)), (layer.weight + 1).shape)[1]
"""


def plainly(end):
    """How a program ended, without the text that stands for a function: PyTorch has most of them in C."""
    if isinstance(end, str):
        return re.sub(r"in <.*?>+( of '.*?' objects>)?\. This", "in F. This", end)
    return [plainly(each) for each in end] if isinstance(end, (list, tuple)) else end


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
@pytest.mark.parametrize("use", USES.splitlines())
def test_alike(torch, kind, use):
    def program(m):
        p, layer = getattr(m.nn.parameter, kind)(), m.nn.LazyLinear(3)
        return eval(use, {"torch": m, "p": p, "layer": layer, "copy": copy, "pickle": pickle})
    ours, theirs = plainly(ending(program, minigrad)), plainly(ending(program, torch))
    if use == "p.T":  # each library warns of it once in a process, maybe in a test before this one
        ours, theirs = ours[0], theirs[0]
    assert ours == theirs


def test_functions_ask_only_while_something_has_no_shape():
    while gc.collect():
        pass
    before = Overriding.users
    layer, gone = minigrad.nn.LazyLinear(3), minigrad.nn.LazyBatchNorm1d()
    assert Overriding.users > before and Overriding.active
    layer(minigrad.ones(1, 2))
    del gone
    gc.collect()
    assert Overriding.users == before


def test_other_modules_are_made_as_ever_meanwhile():
    held = minigrad.nn.LazyLinear(3)
    layer = minigrad.nn.TransformerEncoderLayer(4, 2, batch_first=True)
    assert layer.activation_relu_or_gelu == 1 and held.has_uninitialized_params()
