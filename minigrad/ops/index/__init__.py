"""Elements by index, by position or by mask."""
