"""Names that training scripts use, by attribute alone after `import minigrad as torch`, and what they do on a CPU."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import minigrad
from tests.parity.alike import alike

pytestmark = pytest.mark.torch

NAMES = """\
Tensor tensor as_tensor from_numpy zeros ones full empty rand randn randint randperm arange linspace eye zeros_like
ones_like full_like rand_like randn_like empty_like cat stack where gather topk argmax argsort cumsum matmul bmm
einsum outer norm clamp exp log sqrt sigmoid tanh softmax allclose isnan isinf isfinite nan_to_num unique bincount
multinomial bernoulli tril triu float32 float16 bfloat16 float64 int64 int32 long bool uint8 half dtype device Size
Generator memory_format channels_last contiguous_format preserve_format strided layout finfo iinfo manual_seed seed
initial_seed get_rng_state set_rng_state default_generator set_default_dtype get_default_dtype set_default_device
get_default_device set_printoptions set_num_threads get_num_threads set_float32_matmul_precision
get_float32_matmul_precision use_deterministic_algorithms are_deterministic_algorithms_enabled no_grad enable_grad
set_grad_enabled inference_mode is_grad_enabled is_inference_mode_enabled is_tensor is_floating_point is_complex save
load compile vmap __version__ autocast is_autocast_enabled get_autocast_dtype set_autocast_enabled
clear_autocast_cache swapaxes autograd.Function autograd.grad autograd.backward autograd.Variable autograd.gradcheck
autograd.gradgradcheck autograd.functional.jacobian autograd.functional.hessian autograd.detect_anomaly
autograd.set_detect_anomaly autograd.profiler.profile autograd.profiler.record_function
autograd.graph.saved_tensors_hooks autograd.graph.save_on_cpu autograd.function.once_differentiable
autograd.forward_ad.dual_level autograd.profiler.emit_nvtx amp.autocast amp.GradScaler amp.custom_fwd amp.custom_bwd
cuda.amp.autocast cuda.amp.GradScaler cuda.amp.custom_fwd cpu.amp.autocast cuda.is_available cuda.device_count
cuda.current_device cuda.set_device cuda.synchronize cuda.empty_cache cuda.manual_seed cuda.manual_seed_all
cuda.memory_allocated cuda.max_memory_allocated cuda.reset_peak_memory_stats cuda.memory_reserved
cuda.max_memory_reserved cuda.get_device_name cuda.get_device_properties cuda.get_device_capability
cuda.is_bf16_supported cuda.Event cuda.Stream cuda.stream cuda.current_stream cuda.default_stream cuda.device
cuda.FloatTensor cuda.nvtx.range_push cuda.nvtx.range_pop cuda.get_rng_state_all cuda.set_rng_state_all
cuda.memory_summary cuda.mem_get_info cuda.OutOfMemoryError cuda.is_initialized cuda.ipc_collect cuda.CUDAGraph
backends.cudnn.benchmark backends.cudnn.deterministic backends.cudnn.enabled backends.cudnn.allow_tf32
backends.cuda.matmul.allow_tf32 backends.cuda.sdp_kernel backends.cuda.enable_flash_sdp
backends.cuda.enable_mem_efficient_sdp backends.cuda.enable_math_sdp backends.mps.is_available backends.mps.is_built
backends.mkldnn.enabled backends.mkl.is_available backends.openmp.is_available backends.cudnn.is_available
backends.cudnn.version backends.quantized.engine mps.is_available mps.empty_cache mps.manual_seed xpu.is_available
version.cuda version.hip accelerator.current_accelerator nn.Module nn.Parameter nn.ParameterList nn.ModuleList
nn.ModuleDict nn.Sequential nn.Linear nn.Conv2d nn.BatchNorm2d nn.SyncBatchNorm
nn.SyncBatchNorm.convert_sync_batchnorm nn.LayerNorm nn.RMSNorm nn.Embedding nn.Dropout nn.MultiheadAttention
nn.TransformerEncoderLayer nn.LSTM nn.CrossEntropyLoss nn.DataParallel nn.parallel.DistributedDataParallel
nn.functional.scaled_dot_product_attention nn.functional.cross_entropy nn.functional.interpolate
nn.functional.grid_sample nn.init.kaiming_normal_ nn.init.trunc_normal_ nn.init.xavier_uniform_ nn.init.calculate_gain
nn.init._calculate_fan_in_and_fan_out nn.utils.clip_grad_norm_ nn.utils.clip_grad_value_ nn.utils.parameters_to_vector
nn.utils.vector_to_parameters nn.utils.weight_norm nn.utils.spectral_norm
nn.utils.parametrize.register_parametrization nn.utils.parametrizations.weight_norm nn.utils.rnn.pad_sequence
nn.utils.rnn.pack_padded_sequence nn.utils.rnn.pad_packed_sequence nn.utils.fusion.fuse_conv_bn_eval
nn.utils.stateless.functional_call nn.utils.get_total_norm nn.utils.clip_grads_with_norm_ nn.attention.sdpa_kernel
nn.attention.SDPBackend nn.modules.batchnorm._BatchNorm nn.modules.conv._ConvNd nn.modules.utils._pair
nn.modules.loss._Loss nn.modules.module.register_module_forward_hook optim.SGD optim.Adam optim.AdamW optim.RMSprop
optim.LBFGS optim.Optimizer optim.lr_scheduler.LambdaLR optim.lr_scheduler.CosineAnnealingLR
optim.lr_scheduler.OneCycleLR optim.lr_scheduler.ReduceLROnPlateau optim.lr_scheduler.LRScheduler
optim.lr_scheduler._LRScheduler optim.lr_scheduler.SequentialLR optim.swa_utils.AveragedModel optim.swa_utils.SWALR
optim.swa_utils.update_bn utils.data.DataLoader utils.data.Dataset utils.data.IterableDataset utils.data.TensorDataset
utils.data.Subset utils.data.ConcatDataset utils.data.random_split utils.data.Sampler utils.data.RandomSampler
utils.data.BatchSampler utils.data.WeightedRandomSampler utils.data.SubsetRandomSampler
utils.data.distributed.DistributedSampler utils.data.get_worker_info utils.data.default_collate
utils.data.dataloader.default_collate utils.data._utils.collate.default_collate utils.checkpoint.checkpoint
utils.checkpoint.checkpoint_sequential utils.swap_tensors utils._pytree.tree_map utils.hooks.RemovableHandle
utils.backcompat hub.load hub.load_state_dict_from_url hub.download_url_to_file hub.get_dir jit.script jit.trace
jit.ScriptModule jit.load jit.save jit.ignore jit.is_scripting jit.is_tracing jit.Final jit.export jit.freeze
jit.optimize_for_inference jit.interface jit.annotate jit.script_method distributed.init_process_group
distributed.is_available distributed.is_initialized distributed.get_rank distributed.get_world_size
distributed.barrier distributed.all_reduce distributed.all_gather distributed.broadcast
distributed.destroy_process_group distributed.ReduceOp distributed.reduce distributed.all_gather_object
distributed.gather distributed.scatter distributed.new_group distributed.broadcast_object_list distributed.get_backend
distributed.is_nccl_available distributed.reduce_scatter_tensor distributed.all_gather_into_tensor
distributed.monitored_barrier distributed.send distributed.recv distributed.all_to_all distributed.ProcessGroup
distributed.is_torchelastic_launched multiprocessing.set_start_method multiprocessing.set_sharing_strategy
multiprocessing.get_context multiprocessing.cpu_count multiprocessing.Process multiprocessing.Queue
multiprocessing.spawn profiler.profile profiler.ProfilerActivity profiler.schedule profiler.record_function
profiler.tensorboard_trace_handler distributions.Normal distributions.Categorical distributions.Bernoulli
distributions.kl_divergence distributions.Independent distributions.kl.kl_divergence distributions.Beta
distributions.MultivariateNormal distributions.Exponential distributions.Laplace distributions.LogNormal
distributions.Poisson distributions.MixtureSameFamily distributions.Multinomial distributions.StudentT func.grad
func.vmap func.functional_call func.jacrev func.jacfwd func.hessian func.stack_module_state linalg.norm linalg.inv
linalg.svd linalg.eigh linalg.qr linalg.cholesky linalg.solve special.expit special.erf fft.fft fft.rfft fft.irfft
fft.fft2 fft.fftfreq testing.assert_close testing.make_tensor _C._set_deterministic_algorithms
overrides.has_torch_function overrides.handle_torch_function library.Library library.custom_op ops.aten
random.fork_rng random.manual_seed futures.Future quantization.QuantStub ao.quantization.QuantStub onnx.export
sparse.mm serialization.add_safe_globals package.PackageExporter monitor.Event types.Device _dynamo.reset
_dynamo.config compiler.disable compiler.is_compiling compiler.reset export.export storage.UntypedStorage
UntypedStorage FloatTensor LongTensor cfloat complex64 quantize_per_tensor sparse_coo_tensor stft view_as_complex
nested.nested_tensor masked.masked_tensor return_types.max is_vulkan_available hash_tensor sym_int Event Stream
get_device_module
"""
# Those of them that minigrad does not have.
MISSING = """\
autograd.profiler.emit_nvtx cuda.memory_summary nn.SyncBatchNorm nn.SyncBatchNorm.convert_sync_batchnorm
utils._pytree.tree_map utils.backcompat distributed.all_gather_object distributed.broadcast_object_list
distributed.monitored_barrier distributed.all_to_all distributed.is_torchelastic_launched distributions.Poisson
distributions.MixtureSameFamily distributions.Multinomial distributions.StudentT _C._set_deterministic_algorithms
cfloat complex64 quantize_per_tensor sparse_coo_tensor stft is_vulkan_available hash_tensor sym_int Event Stream
"""
REACH = """\
import operator, sys, warnings
warnings.simplefilter("ignore")
import MODULE
for name in sys.argv[1:]:
    try:
        operator.attrgetter(name)(MODULE)
    except AttributeError:
        print(name)
"""
LEFT_OUT = ("ao.quantization", "export", "fft", "library", "masked", "monitor", "nested", "onnx", "package",
            "quantization", "sparse", "xpu", "mps")


@pytest.mark.parametrize(("library", "missing"), [("torch", ""), ("minigrad", MISSING)])
def test_names_are_reached_by_attribute_alone(library, missing):
    """In a new process: here, other tests may have imported them."""
    program = REACH.replace("MODULE", library)
    run = subprocess.run([sys.executable, "-c", program, *NAMES.split()], check=True, text=True, capture_output=True)
    assert run.stdout.split() == missing.split()


def test_more_than_nine_names_of_ten_are_there():
    assert len(MISSING.split()) < 0.07 * len(NAMES.split())


def public(module):
    return [name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_can_be_imported_and_says_what_to_do(torch, name):
    ours = importlib.import_module(f"minigrad.{name}")
    theirs = importlib.import_module(f"torch.{name}")
    assert ours.__name__ == f"minigrad.{name}"
    there = [each for each in public(theirs) if isinstance(getattr(ours, each, None), type)]
    assert there
    for each in there:
        with pytest.raises(NotImplementedError, match=f"torch.{name}.{each}: .*PyTorch itself"):
            getattr(ours, each)("anything", option=True)

        class Derived(getattr(ours, each)):
            pass
        assert not isinstance(minigrad.ones(1), Derived)


MAKE = {
    "floats": "torch.float32", "halves": "torch.float16", "integers": "torch.int64", "bytes": "torch.uint8",
    "bools": "torch.bool", "bounds": "torch.float64, low=-1, high=2", "large": "torch.float32, low=-3e38, high=3e38",
    "integer bounds": "torch.int8, low=-200.5, high=3.5", "gaps": "torch.float32, noncontiguous=True",
    "no zeros": "torch.int64, low=0, high=2, exclude_zero=True", "leaf": "torch.float32, requires_grad=True",
    "empty": "torch.int64, low=3, high=3", "nan": "torch.float32, low=float('nan')",
    "outside": "torch.uint8, low=300, high=400", "leaf of integers": "torch.int64, requires_grad=True",
    "one number": "torch.float32, low=2, high=2", "both": "torch.float32, noncontiguous=True, "
    "memory_format=torch.contiguous_format",
}


@pytest.mark.parametrize("shape", ["(2, 3)", "2, 3", "()"])
@pytest.mark.parametrize("name", MAKE)
def test_drawn_tensors(torch, name, shape):
    def program(m):
        m.manual_seed(3)
        made = eval(f"torch.testing.make_tensor({shape}, device='cpu', dtype={MAKE[name]})", {"torch": m})
        return made, list(made.stride())
    alike(torch, program)


def chosen(m, backends):
    """The switches of attention inside a block and after it."""
    cuda = m.backends.cuda
    names = [f"{name}_sdp_enabled" for name in ("flash", "math", "mem_efficient", "cudnn")]
    with m.nn.attention.sdpa_kernel(backends(m.nn.attention.SDPBackend)):
        inside = [getattr(cuda, name)() for name in names]
    return inside, [getattr(cuda, name)() for name in names]


PROGRAMS = {
    "one backend": lambda m: chosen(m, lambda b: b.MATH),
    "two backends": lambda m: chosen(m, lambda b: [b.FLASH_ATTENTION, b.EFFICIENT_ATTENTION]),
    "no backend": lambda m: chosen(m, lambda b: 3),
    "backends by name": lambda m: (str(m.nn.attention.SDPBackend.MATH), repr(m.nn.attention.SDPBackend.ERROR)),
    "types of GPU tensors": lambda m: (m.cuda.FloatTensor.__name__, isinstance(m.ones(1), m.cuda.FloatTensor),
                                       isinstance(m.ones(1), m.FloatTensor)),
    "GPU tensor": lambda m: m.cuda.LongTensor(2),
    "stream": lambda m: m.cuda.Stream(),
    "no stream": lambda m: m.cuda.stream(None).__enter__(),
    "mps": lambda m: (m.mps.is_available(), m.xpu.is_available(), m.version.cuda, m.version.hip),
    "compiler": lambda m: (m.compiler.is_compiling(), m.compiler.disable(len)([1]), m.compiler.reset(),
                           m._dynamo.reset()),
    "strategy": lambda m: (m.multiprocessing.get_sharing_strategy(), m.multiprocessing.cpu_count() > 0,
                           m.multiprocessing.set_sharing_strategy("file_descriptor")),
    "device modules": lambda m: m.get_device_module("cpu") is m.cpu,
    "fans": lambda m: m.nn.init._calculate_fan_in_and_fan_out(m.ones(2, 3, 4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_alike(torch, name):
    alike(torch, PROGRAMS[name])


def test_marks_for_a_profiler_are_refused(torch):
    for lib in (torch, minigrad):
        with pytest.raises(RuntimeError, match="NVTX functions not installed"):
            lib.cuda.nvtx.range_push("step")
        with pytest.raises(RuntimeError, match="NVTX functions not installed"), lib.cuda.nvtx.range("step"):
            pass


def test_weights_are_fetched_once_and_checked(torch, tmp_path):
    source = tmp_path / "net-0000.pth"
    torch.save({"weight": torch.ones(2)}, source)
    url = source.as_uri()
    before = minigrad.hub.get_dir()
    try:
        minigrad.hub.set_dir(tmp_path / "hub")
        assert minigrad.hub.load_state_dict_from_url(url)["weight"].tolist() == [1, 1]
        source.unlink()
        assert minigrad.hub.load_state_dict_from_url(url)["weight"].tolist() == [1, 1]
        kept = tmp_path / "hub" / "checkpoints" / "net-0000.pth"
        kept.rename(source)
        with pytest.raises(RuntimeError, match='invalid hash value .expected "0000"'):
            minigrad.hub.load_state_dict_from_url(url, check_hash=True)
        assert not list(kept.parent.iterdir())
    finally:
        minigrad.hub.set_dir(before)


def leave(rank, folder):
    (folder / str(rank)).write_text("done")
    raise SystemExit(rank == 1)


def test_processes_are_started_and_waited_for(tmp_path):
    with pytest.raises(RuntimeError, match="process 1 terminated with exit code 1"):
        minigrad.multiprocessing.spawn(leave, (tmp_path,), nprocs=2)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["0", "1"]
