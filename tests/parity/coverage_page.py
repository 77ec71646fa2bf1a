"""Writes docs/coverage.md: which of PyTorch's public names minigrad has, and why it has not the others.

`python -m tests.parity.coverage_page`, which needs PyTorch. `test_coverage_page.py` holds the page to the libraries.
"""

from __future__ import annotations

import importlib
import re
import types
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

import minigrad
from minigrad._base.optional import LeftOut

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
MODULES = ("", "Tensor", "autograd", "autograd.graph", "autograd.functional", "autograd.function", "autograd.grad_mode",
           "autograd.anomaly_mode", "autograd.forward_ad", "autograd.profiler", "nn", "nn.functional", "nn.init",
           "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "nn.utils.prune",
           "nn.utils.stateless", "optim", "optim.lr_scheduler", "optim.swa_utils", "utils.checkpoint", "utils.data",
           "utils.hooks", "linalg", "special", "random", "amp", "testing", "distributions", "distributions.constraints",
           "distributions.transforms", "distributions.kl", "distributions.utils", "backends.cuda", "compiler", "cuda",
           "cuda.nvtx", "distributed", "export", "fft", "func", "futures", "hub", "jit", "library", "masked", "monitor",
           "mps", "multiprocessing", "nested", "nn.attention", "nn.parallel", "onnx", "overrides", "package",
           "profiler", "quantization", "serialization", "sparse", "storage", "types", "xpu")
IMPORTABLE = "whole modules, whose names can be imported and say what to do when they are called"
# What minigrad leaves to PyTorch, which the inspector records as well: the reason, and the names it holds for.
LEFT_OUT = {
    "TorchScript, its compiler and types": (
        r"[A-Z]\w*(Type|Graph|Module|Function|Object|Config|Executor\w*|Spec|Unit|Serializer|Iterator|List|Dict|Method)|"
        r"AliasDb|Block|CallStack|Capsule|Code|FileCheck|Gradient|Graph\w*|Node|Use|Value|Argument|IODescriptor|"
        r"InferredType|TracingState|ErrorReport|JITException|FatalError|Future|Await\w*|\w*Logger|AVG|SUM|"
        r"AggregationType|Concrete\w+|Complete\w+|OperatorInfo|StaticModule|ThroughputBenchmark|Benchmark\w+|"
        r"import_ir_module\w*|parse_\w+|merge_type\w+|unify_type_list|fork|wait|cpp|Tag|Type|"
        r"\w*StorageContext|PyTorchFile\w+|DeepCopyMemoTable|DisableTorchFunction\w*|Dispatch\w+|ExcludeDispatch\w+|"
        r"boolean_dispatch|BroadcastingList\d|assert_int_or_pair"),
    "sparse tensors": r".*(sparse|coalesce|crow_|ccol_|col_ind|row_ind).*|hs[mp]m|s?smm|spmm|sspaddmm|saddmm|dsmm|"
                      r"indices(_copy)?|values(_copy)?|dense_dim|to_dense|SparseAdam",
    "quantisation and packed formats": r".*(quant|fbgemm|fake_q|q_zero|q_scale|q_per|qscheme|_observer|obs_).*|"
                                       r"q(u?)int\w+|int_repr|bits?\w*|u?int[1-7]|Scaling?Type|SwizzleType|"
                                       r"grouped_mm|scaled\w*_mm",
    "complex numbers, and integers and floats of other sizes": (
        r"c(double|float|half)|chalf|complex\w*|float[48]_\w+|uint(16|32|64)|angle|conj_physical_|view_as_\w+|"
        r"eig|eigvals|istft|stft|\w*_window"),
    "devices other than CPU and CUDA, and the libraries behind them": (
        r".*(mkldnn|miopen|cudnn|xla|vulkan|ipu|maia|mtia|xpu|mps|hpu|stream_mismatch|stale_capture|pinned|pin_memory|"
        r"record_stream|const_data_ptr|elemt|gather_stats|batch_norm_stats|update_stats|backward_reduce).*|"
        r"Stream|Event|AcceleratorError|get_device_module|has_\w+|thread_safe_generator|init_num_threads|"
        r"[gs]et_device_states|DefaultDeviceType"),
    "tracing with symbols, export, nested and named tensors": (
        r"sym_\w+|Sym\w+|export|cond|to_padded_tensor|is_nested"),
    "data pipes, which PyTorch has deprecated": r".*(DataPipe|datapipe|determinism).*|DataChunk|\w*validation\w*|"
                                                r"non_deterministic|_DatasetKind|DFIterDataPipe",
    "names that are old or internal": (
        r"NestedIOFunction|Container|CrossMapLRN2d|[A-Z]\w*Storage|storage_type|set_default_tensor_type|lstsq|solve|"
        r"symeig|lu|reinforce|is_distributed|resize|resize_as|emit_\w+|load_nvprof|parse_nvprof\w+|EnforceUnique|"
        r"MemRecordsAcc|Kineto\w+|handle_torch_function|has_torch_function\w*|native_\w+|\w+_copy|"
        r"\w+_with_indices|convolution|factory_kwargs|assert_allclose|map2_|FunctionMeta|SAC_IGNORED_OPS|"
        r"enforce_grad_layout_policy|module_load|norm_except_dim|slice_inverse|grad_dtype|index"),
    "for vocabularies too large for memory": r"AdaptiveLogSoftmaxWithLoss|[Ll]inear_?[Cc]ross_?[Ee]ntropy\w*",
    "several processes": r"SyncBatchNorm|DistributedSampler|is_shared|share_memory_",
}


class Coverage(NamedTuple):
    """One module: its public names in PyTorch, those that are missing with the reason, and those that may come."""

    name: str
    names: list[str]
    left_out: dict[str, list[str]]
    later: list[str]

    @property
    def present(self) -> int:
        """How many names minigrad has."""
        return len(self.names) - len(self.later) - sum(map(len, self.left_out.values()))


def found(lib: ModuleType, name: str) -> Any:
    """A module, or the class Tensor, of a library; None if it has none."""
    if name == "Tensor":
        return lib.Tensor
    try:
        return importlib.import_module(f"{lib.__name__}.{name}" if name else lib.__name__)
    except ModuleNotFoundError:
        return None


def public(name: str) -> list[str]:
    """PyTorch's public names of a module."""
    theirs = found(torch, name)
    if name == "Tensor":
        return [each for each in dir(theirs) if not each.startswith("_")]
    if not name:
        return sorted({*torch.__all__, *[each for each in dir(torch._C._VariableFunctions) if each[0] != "_"]})
    listed = getattr(theirs, "__all__", None)
    return sorted({*listed}) if listed else sorted(
        each for each in dir(theirs) if not each.startswith("_")
        and not isinstance(getattr(theirs, each), types.ModuleType)
        and str(getattr(getattr(theirs, each), "__module__", "")).startswith("torch"))


def coverage(name: str) -> Coverage:
    """What minigrad has of a module."""
    names, ours = public(name), found(minigrad, name)
    there = {each: getattr(ours, each, None) for each in names}
    refused = [each for each, what in there.items() if isinstance(what, type) and issubclass(what, LeftOut)]
    missing = [each for each in names if ours is None or not hasattr(ours, each) or each in refused]
    left_out = {IMPORTABLE: refused} | {reason: [each for each in missing if re.fullmatch(pattern, each)]
                                        for reason, pattern in LEFT_OUT.items()}
    taken: set[str] = set()
    for reason, group in left_out.items():
        left_out[reason] = [each for each in group if each not in taken]
        taken.update(group)
    kept = {reason: group for reason, group in left_out.items() if group}
    return Coverage(name, names, kept, [each for each in missing if each not in taken])


def listed(names: list[str]) -> str:
    """Names as code."""
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """The page."""
    every = [coverage(name) for name in MODULES]
    lines = [
        "# Which of PyTorch's names minigrad has", "",
        "Generated by `python -m tests.parity.coverage_page` from the public names of PyTorch 2.13 and of minigrad. A",
        "name that is left out is not planned: to see what it does, record PyTorch itself with",
        "`minigrad_widgets.inspect`. All other missing names may be added.", "",
        "| module | public names | present | left out | may be added | present, of those not left out |",
        "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for each in every:
        wanted = each.present + len(each.later)
        name = f"torch.{each.name}" if each.name else "torch"
        lines.append(f"| `{name}` | {len(each.names)} | {each.present} | {len(each.names) - wanted} | "
                     f"{len(each.later)} | {100 * each.present / max(wanted, 1):.0f} % |")
    lines += ["", "## Left out"]
    for reason in (IMPORTABLE, *LEFT_OUT):
        lines += ["", f"### {reason[0].upper()}{reason[1:]}", ""]
        lines += [f"- `torch{'.' if each.name else ''}{each.name}`: {listed(each.left_out[reason])}"
                  for each in every if reason in each.left_out]
    lines += ["", "## May be added", ""]
    lines += [f"- `torch{'.' if each.name else ''}{each.name}`: {listed(each.later)}" for each in every if each.later]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
