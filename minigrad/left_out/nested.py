"""Tensors of rows of different lengths, which minigrad leaves to PyTorch."""

from minigrad._base.optional import left_out

WHY = "minigrad has dense tensors only; `nn.utils.rnn.pad_sequence` fills the rows up"
globals().update(left_out(__name__, WHY, """
    as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor
"""))
