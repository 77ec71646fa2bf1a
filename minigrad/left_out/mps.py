"""Apple's GPUs, which minigrad does not use: mirrors `torch/mps`."""

from minigrad._base.optional import left_out

WHY = "minigrad computes on the CPU and on NVIDIA's GPUs"
globals().update(left_out(__name__, WHY, """
    Event compile_shader current_allocated_memory driver_allocated_memory empty_cache get_rng_state load_metallib
    manual_seed recommended_max_memory seed set_per_process_memory_fraction set_rng_state synchronize
"""))


def is_available() -> bool:
    """Whether there is such a GPU that minigrad can use: False."""
    return False


def device_count() -> int:
    """The number of such GPUs that minigrad can use: 0."""
    return 0
