"""Sparse tensors, which minigrad leaves to PyTorch."""

from minigrad._base.optional import left_out

WHY = "minigrad has dense tensors only; `scatter_add`, `index_add` and `gather` do what most programs need"
globals().update(left_out(__name__, WHY, """
    SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS addmm
    as_sparse_gradcheck check_sparse_tensor_invariants log_softmax mm softmax solve sum to_sparse_semi_structured
"""))
