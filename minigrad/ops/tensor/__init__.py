"""What a tensor is to Python: copies, storage, pickling, dtypes, properties."""
