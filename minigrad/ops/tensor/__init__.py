"""Copies, storage, pickling, dtypes and properties of tensors."""
