"""GPU kernels, for computations that would otherwise pass over memory many times: CUDA C, one element or one row at a
time, next to equivalent array code.

Each has inputs, outputs and a body in C, from which a backend creates a function on arrays: on arrays that broadcast
for elementwise kernels (`KERNELS`, `Backend.fused`), on the rows of arrays of one shape for those that need the sum or
maximum of each row (`ROW_KERNELS`, `Backend.fused_rows`). `T` is the dtype of the arrays, float32 or float64, to which
numbers are converted. Outputs that are passed in hold their old values: so an update works in place, and writes each
once. If a backend has no kernels, the array code runs. test_kernels.py compiles each with NVIDIA's compiler, which
needs no GPU; its body, compiled for the host, is compared with the array code.
"""

from typing import NamedTuple


class Kernel(NamedTuple):
    """The arguments of CuPy's `ElementwiseKernel`. The names `i` and `n`, and those beginning with `_` are reserved."""

    inputs: str
    outputs: str
    body: str


class RowKernel(NamedTuple):
    """A computation on each row, by one block of threads. In the body, `width` is the row's length, and each name is
    the row of that array. `EACH(j)` loops over the row, divided among the threads; `greatest_of` and `sum_of` combine
    the results of all threads."""

    inputs: str
    outputs: str
    body: str

    def source(self, real: str) -> str:
        """The whole program in CUDA C; `real` is the C type of the elements. The kernel's name is `rows`."""
        names = [f"const T* __restrict__ {name}" for name in self.inputs.split()]
        names += [f"T* __restrict__ {name}" for name in self.outputs.split()]
        starts = "".join(f"{name} += blockIdx.x * width; " for name in f"{self.inputs} {self.outputs}".split())
        return (f"typedef {real} T;\n{BLOCK}extern \"C\" __global__ void rows({', '.join(names)}, long long width) "
                f"{{\n{starts}{self.body}}}\n")


# How the threads of a block share a row and combine their results. They are a multiple of 32; `__shfl_xor_sync`
# exchanges values within each 32, the array `parts` between these.
BLOCK = """
#define EACH(j) for (long long j = threadIdx.x; j < width; j += blockDim.x)
template <typename Join> __device__ T joined(T value, Join join) {
    __shared__ T parts[32];
    for (int lane = 16; lane; lane /= 2) value = join(value, __shfl_xor_sync(0xFFFFFFFF, value, lane));
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
    for (int k = 1; k < blockDim.x / 32; ++k) value = join(value, parts[k]);
    return value;
}
__device__ T greatest_of(T value) { return joined(value, [](T a, T b) { return fmax(a, b); }); }
__device__ T sum_of(T value) { return joined(value, [](T a, T b) { return a + b; }); }
"""
# The ten rounds of `minigrad.backends.curand.philox`: 60 passes as array code. The thread's number is the upper half
# of the counter, the call the lower.
PHILOX = Kernel("uint64 call, uint64 thread, uint64 key", "uint64 x, uint64 y, uint64 z, uint64 w", """
unsigned int a = call, b = call >> 32, c = thread, d = thread >> 32, low = key, high = key >> 32;
for (int turn = 0; turn < 10; ++turn) {
    unsigned long long p = 0xD2511F53ull * a, q = 0xCD9E8D57ull * c;
    a = (unsigned int)(q >> 32) ^ b ^ low;
    b = (unsigned int)q;
    c = (unsigned int)(p >> 32) ^ d ^ high;
    d = (unsigned int)p;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
}
x = a; y = b; z = c; w = d;
""")
# The rules of `minigrad.optim.SGD`: `sign` is -1 to go up, `decay` the factor of p in the slope.
SGD = Kernel("T g, T sign, T decay, T lr", "T p", """
T held = p, slope = sign * g;
if (decay != 0) slope += decay * held;
p = held - lr * slope;
""")
# The same with momentum; `take` is 1 - dampening.
SGD_MOMENTUM = Kernel("T g, T sign, T decay, T lr, T momentum, T take", "T p, T b", """
T held = p, slope = sign * g;
if (decay != 0) slope += decay * held;
T next = momentum * b + take * slope;
b = next;
p = held - lr * next;
""")
SGD_NESTEROV = Kernel(SGD_MOMENTUM.inputs, SGD_MOMENTUM.outputs, """
T held = p, slope = sign * g;
if (decay != 0) slope += decay * held;
T next = momentum * b + take * slope;
b = next;
p = held - lr * (slope + momentum * next);
""")
# The rule of `minigrad.optim.Adam`: the factors kept of p before the step (AdamW's decay), of m and of v, and those
# added; as in `lerp` the mean is computed from the nearer end.
ADAM = Kernel("T g, T sign, T decay, T stay, T keep1, T take1, T keep2, T take2, T pace, T eps", "T p, T m, T v", """
T held = p, slope = sign * g;
if (decay != 0) slope += decay * held;
T way = slope - m;
T mean = take1 < (T)0.5 ? m + take1 * way : slope - keep1 * way;
T square = v * keep2 + take2 * slope * slope;
T root = sqrt(square);
m = mean;
v = square;
p = held * stay - pace * mean / (root + eps);
""")
# `minigrad.ops.activation.Gelu` and `GeluTanh`. The literals are 1 / sqrt(2), 1 / sqrt(2 pi) and sqrt(2 / pi);
# a literal without `(T)` would make the whole a computation in doubles.
GELU = Kernel("T x", "T y", """
y = x * ((T)0.5 * erfc(x * (T)-0.70710678118654752));
""")
GELU_BACKWARD = Kernel("T g, T x", "T y", """
T cdf = (T)0.5 * erfc(x * (T)-0.70710678118654752);
y = g * (cdf + x * exp(x * x * (T)-0.5) * (T)0.39894228040143268);
""")
GELU_TANH = Kernel("T x", "T y", """
y = (T)0.5 * x * ((T)1 + tanh((T)0.79788456080286536 * (x + (T)0.044715 * (x * x * x))));
""")
GELU_TANH_BACKWARD = Kernel("T g, T x", "T y", """
T square = x * x, twice = (T)1.5957691216057307;
T half = (T)1 / ((T)1 + exp(-(x * ((T)1 + (T)0.044715 * square) * twice)));
y = g * (half + x * (half * ((T)1 - half)) * ((T)1 + (T)0.134145 * square) * twice);
""")
# The derivatives of relu and tanh from their results: relu passes a gradient where `y` is above 0 or NaN.
THRESHOLD_BACKWARD = Kernel("T g, T y", "T x", "x = y <= (T)0 ? (T)0 : g;")
TANH_BACKWARD = Kernel("T g, T y", "T x", "x = g * ((T)1 - y * y);")
# The steps of a normalisation other than the means (`minigrad.ops.nn.normalization`): mean, scale and what follows
# from them are one for each group, w and b one for each element of a group or for all.
SQUARED_DISTANCE = Kernel("T x, T mean", "T y", """
T way = x - mean;
y = way * way;
""")
ONE_OVER_ROOT = Kernel("T x, T eps", "T y", "y = (T)1 / sqrt(x + eps);")
STANDARDIZE = Kernel("T x, T mean, T scale, T w, T b", "T y", "y = (x - mean) * scale * w + b;")
STANDARDIZE_BACKWARD = Kernel("T g, T x, T mean, T slope, T scale", "T y", "y = (g - x * slope - mean) * scale;")
# `minigrad.ops.nn.softmax`, by rows. NaN enters the sum, and so the whole row.
SOFTMAX = RowKernel("x", "y", """
T top = x[0], added = 0;
EACH(j) top = fmax(top, x[j]);
top = greatest_of(top);
EACH(j) added += exp(x[j] - top);
added = sum_of(added);
EACH(j) y[j] = exp(x[j] - top) / added;
""")
LOG_SOFTMAX = RowKernel("x", "y", """
T top = x[0], added = 0;
EACH(j) top = fmax(top, x[j]);
top = greatest_of(top);
EACH(j) added += exp(x[j] - top);
added = log(sum_of(added));
EACH(j) y[j] = (x[j] - top) - added;
""")
SOFTMAX_BACKWARD = RowKernel("g y", "x", """
T added = 0;
EACH(j) added += g[j] * y[j];
added = sum_of(added);
EACH(j) x[j] = (g[j] - added) * y[j];
""")
LOG_SOFTMAX_BACKWARD = RowKernel("g y", "x", """
T added = 0;
EACH(j) added += g[j];
added = sum_of(added);
EACH(j) x[j] = g[j] - exp(y[j]) * added;
""")
KERNELS = {name.lower(): kernel for name, kernel in dict(globals()).items() if isinstance(kernel, Kernel)}
ROW_KERNELS = {name.lower(): kernel for name, kernel in dict(globals()).items() if isinstance(kernel, RowKernel)}
