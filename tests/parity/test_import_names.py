"""Names that stop a program where it imports them: there, and doing what PyTorch does on a CPU."""

from __future__ import annotations

import importlib.util
import pickle
import re
import subprocess
import sys

import pytest

import minigrad
import minigrad.nn
from minigrad._base.warnings import GIVEN
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

LINES = """\
of("fx").wrap("len"), of("fx").wrap(len) is len
of("fx").wrap(3)
of("functional").einsum("ij->ji", m.ones(2, 3)).shape, of("functional").norm(m.ones(4))
of("functional").split is m.functional.split
of("jit").ignore(program) is program, of("jit").ignore()(program) is program, of("jit").unused(program) is program
of("jit").annotate(int, 3), of("jit").is_scripting(), of("jit").is_tracing(), of("jit").export(program) is program
of("distributed").is_initialized()
m.nn.DataParallel(m.nn.Linear(2, 1)).state_dict().keys()
str(m.nn.DataParallel(m.nn.Linear(2, 1)))
m.nn.parallel.DataParallel(m.nn.Identity())(m.ones(2))
m.set_num_threads(1), m.get_num_threads()
m.set_num_threads(0)
m.set_num_threads("a")
m.set_num_interop_threads(0)
m.set_num_interop_threads("a")
m.is_storage(m.ones(2).untyped_storage()), m.is_storage(m.ones(2)), m.is_storage(3)
"""


@pytest.mark.parametrize("expression", LINES.splitlines())
def test_line(torch, expression):
    def program(m):
        def of(name):
            return importlib.import_module(f"{m.__name__}.{name}")

        return eval(expression, {"m": m, "program": lambda: 1, "of": of})

    threads = torch.get_num_threads()
    try:
        assert outcome(program, minigrad) == outcome(program, torch)
    finally:
        torch.set_num_threads(threads)
        minigrad.set_num_threads(threads)


def test_script_and_trace_give_back_what_they_are_given():
    jit, layer = importlib.import_module("minigrad.jit"), minigrad.nn.Linear(2, 1)
    GIVEN.difference_update([text for text in GIVEN if "compiles nothing" in text])
    with pytest.warns(UserWarning, match="compiles nothing") as noted:
        assert jit.script(layer) is layer
        assert jit.trace(layer, minigrad.ones(2)) is layer
        assert jit.script(len) is len
    assert len(noted) == 2  # one of script, one of trace
    assert noted[0].filename == __file__


def test_distributed_is_there_where_mpi4py_is(monkeypatch):
    assert minigrad.distributed.is_available() is (importlib.util.find_spec("mpi4py") is not None)
    for name in ("mpi4py", "mpi4py.MPI"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape('pip install "minigrad-kit[mpi]"')):
        minigrad.distributed.init_process_group()
    assert not minigrad.distributed.is_initialized()


def quiet(grad):
    """A hook that is left out when the tensor is pickled, with no warning."""


def test_an_unserializable_hook_gives_no_warning(torch, recwarn):
    for lib in (minigrad, torch):
        tensor = lib.ones(2, requires_grad=True)
        tensor.register_hook(importlib.import_module(f"{lib.__name__}.utils.hooks").unserializable_hook(quiet))
        pickle.loads(pickle.dumps(tensor))
    assert [str(each.message) for each in recwarn if "will not be serialized" in str(each.message)] == []


def test_ops_side_by_side_are_counted_once(monkeypatch):
    monkeypatch.setattr(importlib.import_module("minigrad.compat.legacy").Switches, "interop_threads", 0)
    assert minigrad.get_num_interop_threads() >= 1
    minigrad.set_num_interop_threads(3)
    assert minigrad.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="cannot set number of interop threads after parallel work has started"):
        minigrad.set_num_interop_threads(3)


@pytest.mark.parametrize("name", ["cuda.amp.autocast", "cuda.amp.GradScaler", "nn.utils.fusion.fuse_conv_bn_eval",
                                  "nn.utils.parametrize.register_parametrization", "utils.checkpoint.checkpoint",
                                  "utils.data.distributed.DistributedSampler", "nn.parallel.DistributedDataParallel",
                                  "optim.swa_utils.AveragedModel", "autograd.profiler.profile"])
def test_submodules_are_reached_by_attribute_alone(name):
    """In a new process: here, other tests may have imported them."""
    program = "import sys, operator, MODULE as m; print(operator.attrgetter(sys.argv[1])(m).__name__)"
    printed = [subprocess.run([sys.executable, "-c", program.replace("MODULE", lib), name], check=True, text=True,
                              capture_output=True).stdout for lib in ("torch", "minigrad")]
    assert printed[0] == printed[1] != ""


PUBLIC = ("Tensor", "Size", "dtype", "device", "layout", "memory_format", "Generator", "finfo", "iinfo")


@pytest.mark.parametrize("name", PUBLIC)
def test_a_class_is_printed_and_pickled_by_its_public_name(torch, name):
    ours, theirs = getattr(minigrad, name), getattr(torch, name)
    assert repr(ours).replace("minigrad", "torch") == repr(theirs).replace("torch._C", "torch")
    assert pickle.loads(pickle.dumps(ours)) is ours


@pytest.mark.parametrize("make", [
    lambda m: m.ones(2), lambda m: m.Size([1]), lambda m: m.float32, lambda m: m.bfloat16, lambda m: m.bool,
    lambda m: m.device("cpu"), lambda m: m.channels_last, lambda m: m.strided, lambda m: m.nn.Parameter(m.ones(1)),
])
def test_what_they_make_is_pickled_as_before(torch, make):
    again = [repr(pickle.loads(pickle.dumps(make(m)))) for m in (torch, minigrad)]
    assert again[0] == again[1]


def test_pickles_with_the_private_names_are_read():
    size = (b"\x80\x04\x95)\x00\x00\x00\x00\x00\x00\x00\x8c\x14minigrad._base.dtype\x94\x8c\x04Size\x94\x93\x94K\x01"
            b"\x85\x94\x85\x94\x81\x94.")
    assert pickle.loads(size) == minigrad.Size([1])


@pytest.mark.parametrize("backend", ["inductor", "aot_eager", "eager"])
def test_backends_of_pytorchs_compiler(backend):
    assert minigrad.compile(lambda x: x + 1, backend=backend)(minigrad.ones(1)).tolist() == [2.0]
    with pytest.raises(ValueError, match="backend must be one of"):
        minigrad.compile(lambda x: x, backend="another")


def test_only_script_modules_are_script_modules(torch):
    for m in (torch, minigrad):
        assert not isinstance(m.nn.Linear(1, 1), m.jit.ScriptModule)
        assert issubclass(m.jit.ScriptModule, m.nn.Module)
