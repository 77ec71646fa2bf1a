"""Products of float matrices on a GPU: cuBLAS as CuPy calls it, but without its copies, and in CUDA graphs.

CuPy makes each operand of a batched product row-major first, even a transposed one, which cuBLAS accepts: the scores
of attention would be copied twice in each backward pass. And while a graph is captured, CuPy refuses to call cuBLAS at
all (`cublas.setStream`), although cuBLAS allows it: so a graph's products use a separate handle with its own workspace,
as NVIDIA requires for graphs. The code shows how an array's strides become what `cublasGemmStridedBatchedEx` calls
transposition, leading dimension and stride; cuBLAS is column-major, and so receives the product's operands exchanged.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy_backends.cuda import libs  # its `cublas` loads the library on first use

# By dtype: cudaDataType, cublasComputeType_t and the type of the factors 1 and 0. float16 products sum in float32.
KINDS = {np.dtype("float16"): (2, 68, ctypes.c_float), np.dtype("float32"): (0, 68, ctypes.c_float),
         np.dtype("float64"): (1, 70, ctypes.c_double)}
FACTORS: dict[Any, Any] = {kind: (kind(1), kind(0)) for kind in (ctypes.c_float, ctypes.c_double)}
DEFAULT = -1  # CUBLAS_GEMM_DEFAULT: cuBLAS chooses
WORKSPACE = 32 << 20  # NVIDIA's advice for Hopper, and PyTorch's choice; other cards need less
ARGUMENTS = "p iiiii p piiq piiq p piiq iii"  # the arguments: pointers, ints, long longs
C_TYPES: dict[str, Any] = {"p": ctypes.c_void_p, "i": ctypes.c_int, "q": ctypes.c_longlong}


class Laid(NamedTuple):
    """The layout of an operand's matrices: column- or row-major, the leading dimension, and the step from one matrix to
    the next."""

    turned: bool
    lead: int
    step: int


def laid(x: Any) -> Laid | None:
    """The layout of an operand, if cuBLAS supports it."""
    rows, columns = x.shape[-2:]
    down, across = x.strides[-2:]
    size, step, over = x.itemsize, 0, None
    for n, stride in zip(x.shape[-3::-1], x.strides[-3::-1], strict=True):
        if n > 1:
            if over not in (None, stride) or stride < 0 or stride % size:
                return None
            step, over = stride // size if over is None else step, stride * n
    if across == size or columns == 1:
        lead = down // size if rows > 1 else columns
        if lead >= columns and not (rows > 1 and down % size):
            return Laid(False, lead, step)
    if down == size or rows == 1:
        lead = across // size if columns > 1 else rows
        if lead >= rows and not (columns > 1 and across % size):
            return Laid(True, lead, step)
    return None


def operand(x: Any, batch: tuple[int, ...], whole: bool) -> tuple[Any, Laid] | None:
    """An operand expanded over the batch, copied if cuBLAS does not support its layout. `whole`: even if each matrix of
    the batch then needs its own copy."""
    wide = cupy.broadcast_to(x, (*batch, *x.shape[-2:]))
    found = laid(wide)
    if found is None:
        wide = cupy.broadcast_to(cupy.ascontiguousarray(x), wide.shape)
        found = laid(wide)
    if found is None and whole:
        wide = cupy.ascontiguousarray(wide)
        found = laid(wide)
    return None if found is None else (wide, found)


def product(x: Any, y: Any, out: Any = None, call: Callable[..., Any] | None = None) -> Any:
    """`x @ y`; None if cuBLAS has no function for it, or CuPy a better way. `call`: a graph's cuBLAS."""
    if x.dtype != y.dtype or x.dtype not in KINDS or not (x.size and y.size) or min(x.ndim, y.ndim) < 2:
        return None
    if x.shape[-1] != y.shape[-2]:
        return None  # CuPy raises the error
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    left, right = (operand(v, batch, call is not None) for v in (x, y))
    if left is None or right is None:
        return None
    rows, columns, inner = x.shape[-2], y.shape[-1], x.shape[-1]
    fits = out is not None and out.dtype == x.dtype and out.flags.c_contiguous
    result = out if fits else cupy.empty((*batch, rows, columns), x.dtype)
    (a, of_a), (b, of_b), (kind, compute, number) = left, right, KINDS[x.dtype]
    one, zero = [ctypes.addressof(factor) for factor in FACTORS[number]]
    count = result.size // (rows * columns)
    handle = cupy.cuda.device.get_cublas_handle() if call is None else None
    (libs.cublas.gemmStridedBatchedEx if call is None else call)(
        *([] if handle is None else [handle]), int(of_b.turned), int(of_a.turned), columns, rows, inner, one,
        b.data.ptr, kind, of_b.lead, of_b.step, a.data.ptr, kind, of_a.lead, of_a.step, zero,
        result.data.ptr, kind, columns, rows * columns, count, compute, DEFAULT)
    if out is not None and not fits:
        out[...] = result
    return result if out is None else out


class Graphs:
    """A cuBLAS handle for graphs, and its workspace, on one device."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(libs.cublas.__file__)  # also finds the library that it links
        self.memory = cupy.cuda.Memory(WORKSPACE)
        self.handle = ctypes.c_void_p()
        self.ask("cublasCreate_v2", ctypes.byref(self.handle))
        self.gemm = self.library.cublasGemmStridedBatchedEx
        self.gemm.argtypes = [C_TYPES[letter] for letter in ARGUMENTS.replace(" ", "")]

    def ask(self, name: str, *args: Any) -> None:
        """Call a function of the library; a non-zero status raises CuPy's error."""
        libs.cublas.check_status(getattr(self.library, name)(*args))

    def use(self, stream: Any) -> None:
        """Set the stream of the work. That resets the workspace, which is therefore set again."""
        self.ask("cublasSetStream_v2", self.handle, ctypes.c_void_p(stream.ptr))
        self.ask("cublasSetWorkspace_v2", self.handle, ctypes.c_void_p(self.memory.ptr), ctypes.c_size_t(WORKSPACE))

    def call(self, *args: Any) -> None:
        """A product."""
        libs.cublas.check_status(self.gemm(self.handle, *args))


KNOWN: dict[int, Graphs] = {}
OURS: dict[Any, tuple[str, ...]] = {cupy: ("dot", "matmul"), cupy.ndarray: ("dot", "__matmul__")}


@contextmanager
def captured(stream: Any) -> Iterator[None]:
    """A block in which all of CuPy's products go into the graph that a stream is about to capture."""
    index = cupy.cuda.runtime.getDevice()
    graphs = KNOWN[index] if index in KNOWN else KNOWN.setdefault(index, Graphs())
    graphs.use(stream)
    before = {(owner, name): owner.__dict__.get(name) for owner in (cupy, cupy.ndarray) for name in OURS[owner]}
    for (owner, name), theirs in before.items():
        setattr(owner, name, either(graphs, theirs or getattr(owner, name)))
    try:
        yield
    finally:
        for (owner, name), theirs in before.items():
            if theirs is None:
                delattr(owner, name)
            else:
                setattr(owner, name, theirs)


def either(graphs: Graphs, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A product by the graph's own cuBLAS on its stream, otherwise, also on other streams meanwhile, by CuPy's."""
    def call(x: Any, y: Any, out: Any = None) -> Any:
        result = None
        if isinstance(x, cupy.ndarray) and isinstance(y, cupy.ndarray) and 0 < min(x.ndim, y.ndim) and (
                cupy.cuda.get_current_stream().is_capturing()):
            wide, turned = (x if x.ndim > 1 else x[None], y if y.ndim > 1 else y[:, None])
            result = product(wide, turned, None, graphs.call) if x.ndim + y.ndim > 2 else None
        if result is None:
            return theirs(x, y) if out is None else theirs(x, y, out)
        shape = result.shape
        result = result.reshape(shape[:-2] + shape[-2:-1] * (x.ndim > 1) + shape[-1:] * (y.ndim > 1))
        if out is None:
            return result
        out[...] = result
        return out
    return call
