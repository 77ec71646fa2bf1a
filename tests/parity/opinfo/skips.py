"""What of PyTorch's table of ops (`op_db`) is not run through minigrad, and why. Plain data: docs and tests print it.

`run.py` says how the rest is run. A line goes when its op comes: a test holds this list true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# By reason: names of ops, of one variant of an op ("name.variant"), or of a method or alias ("Tensor.name").
REASONS: dict[str, str] = {
    "complex numbers: minigrad has none": """
        angle fft.fft fft.fft2 fft.fftn fft.fftshift fft.hfft fft.hfft2 fft.hfftn fft.ifft fft.ifft2 fft.ifftn
        fft.ifftshift fft.ihfft fft.ihfft2 fft.ihfftn fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn
        istft linalg.eig linalg.eigvals stft""",
    "sparse and masked tensors: minigrad has none": """
        masked.amax masked.amin masked.argmax masked.argmin masked.cumprod masked.cumsum masked.log_softmax
        masked.logaddexp masked.logsumexp masked.mean masked.median masked.norm masked.normalize masked.prod
        masked.softmax masked.softmin masked.std masked.sum masked.var sparse.mm.reduce sparse.sampled_addmm
        to_sparse""",
    "strides are the tensor's own business": "as_strided_scatter empty_permuted",
    "for GPUs or PyTorch's own parts; not called by users": """
        _batch_norm_with_update _chunk_cat _native_batch_norm_legit _segment_reduce _softmax_backward_data
        _unsafe_masked_index _unsafe_masked_index_put_accumulate _upsample_bilinear2d_aa grid_sampler_2d
        grid_sampler_3d hash_tensor jiterator_2inputs_2outputs jiterator_4inputs_with_extra_args
        jiterator_binary jiterator_binary_return_by_ref jiterator_unary max_pool2d_with_indices_backward
        native_batch_norm native_dropout_backward native_group_norm native_layer_norm
        torch._scaled_mm torch._scaled_mm_v2 torch.ops.aten._efficient_attention_forward
        torch.ops.aten._flash_attention_forward""",
    "not compared: a name by which policies choose ops, not a function": "torch.ops.aten._safe_softmax.default",
    "copies of views, made for compilers": """
        alias_copy as_strided_copy diagonal_copy expand_copy permute_copy split_with_sizes_copy squeeze_copy t_copy
        transpose_copy unbind_copy unfold_copy unsqueeze_copy view_copy""",
    "special functions that minigrad has not": """
        igamma igammac signal.windows.bartlett signal.windows.blackman signal.windows.cosine
        signal.windows.exponential signal.windows.gaussian signal.windows.general_cosine
        signal.windows.general_hamming signal.windows.hamming signal.windows.hann signal.windows.kaiser
        signal.windows.nuttall special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0
        special.bessel_y1 special.chebyshev_polynomial_t special.chebyshev_polynomial_u
        special.chebyshev_polynomial_v special.chebyshev_polynomial_w special.hermite_polynomial_h
        special.hermite_polynomial_he special.laguerre_polynomial_l special.legendre_polynomial_p
        special.modified_bessel_i0 special.modified_bessel_i1 special.modified_bessel_k0 special.modified_bessel_k1
        special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1 special.shifted_chebyshev_polynomial_t
        special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v
        special.shifted_chebyshev_polynomial_w special.spherical_bessel_j0""",
    "linear algebra that minigrad has not": """
        geqrf linalg.householder_product linalg.ldl_factor linalg.ldl_factor_ex linalg.ldl_solve lu
        lu_unpack ormqr pca_lowrank svd_lowrank triangular_solve""",
    "reductions and order that minigrad has not": "gradient histogram histogramdd",
    "pointwise that minigrad has not": "frexp",
    "shapes and places that minigrad has not": "slice",
    "nn.functional that minigrad has not": """
        nn.functional.fractional_max_pool2d nn.functional.fractional_max_pool3d nn.functional.linear_cross_entropy
        nn.functional.pdist nn.functional.upsample_bilinear nn.functional.upsample_nearest""",
    "not compared: complex numbers, which minigrad refuses with a clear error": """
        Tensor.conj_physical_ cdouble cfloat chalf complex imag nn.functional.silu.complex polar view_as_complex
        view_as_real""",
    "not compared: for GPUs": "bmm.triton_optimized nn.functional.batch_norm.without_cudnn",
    "not compared: NumPy has no bfloat16": "bfloat16",
}
SKIPS = {name: reason for reason, names in REASONS.items() for name in names.split()}

# Ops whose algorithm differs from PyTorch's: values to 1e-9 instead of 1e-12.
LOOSE: frozenset[str] = frozenset({
    "polygamma", "special.polygamma",  # of order 1: PyTorch's series ends early, minigrad's is right to 1e-15
})

# Results without values: only shape, dtype and flags are compared.
UNDEFINED = frozenset({"empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided"})

# Results that are fixed up to a sign or a phase: compared after what PyTorch's own tests do to them.
PROCESSED: frozenset[str] = frozenset({"linalg.eigh", "linalg.svd", "svd"})

# Which result of an op is places: among equal values any place is right, so only its shape and dtype are compared.
PLACES = {"argsort": 0, "kthvalue": 1, "median": 1, "mode": 1, "nanmedian": 1, "sort": 1, "topk": 1}

# Ops whose second gradients are not compared, and why.
ONCE = {"linalg.norm.subgradients_at_zero": "at 0 they are NaN in PyTorch and 0 in minigrad"}

# Samples of any op that are left out: what they speak of, and why.
EVERYWHERE = {
    "complex numbers": "minigrad has none",
    "memory formats": "strides follow from the op",
    "more than 64 dimensions": "NumPy's arrays have 64 at most",
    "cuda": "the comparison runs on the CPU",
    "modules and functions as arguments": "they are of PyTorch",
}

# Samples that are left out, by op: what they have in common (of how it is called, and of the sample), and why.
OWN_OUT = "PyTorch has a rule for each op where out= has another dtype, shares memory or cannot grow; minigrad has one"
SAMPLES: dict[str, tuple[Callable[[str, Any], bool], str]] = {
    "addbmm": (lambda called, sample: called == "Tensor.addbmm_" and sample.args[0].array.ndim < 2,
               "PyTorch gives a tensor another shape in place"),
    **dict.fromkeys(("aminmax", "arange", "cat", "gather", "index_select", "kthvalue", "masked_select", "multinomial",
                     "take"), (lambda called, sample: "out" in sample.kwargs, OWN_OUT)),
}
