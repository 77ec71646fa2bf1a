"""Ops for PyTorch's dispatcher, which minigrad does not have."""

from minigrad._base.optional import left_out

WHY = "minigrad has no dispatcher; derive from `autograd.Function` for an op of your own"
globals().update(left_out(__name__, WHY, """
    Library custom_op define fallthrough_kernel get_ctx get_kernel impl impl_abstract infer_schema
    register_autocast register_fake register_torch_dispatch register_vmap triton_op wrap_triton
"""))
