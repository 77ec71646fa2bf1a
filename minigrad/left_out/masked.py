"""Tensors with missing elements, which minigrad leaves to PyTorch."""

from minigrad._base.optional import left_out

WHY = "minigrad has no masked tensors; `where` and `masked_fill` take a mask"
globals().update(left_out(__name__, WHY, """
    MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor log_softmax logaddexp
    logsumexp masked_tensor mean median norm normalize prod softmax softmin std sum var
"""))
