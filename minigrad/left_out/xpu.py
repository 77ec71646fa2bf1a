"""Intel's GPUs, which minigrad does not use."""

from minigrad._base.optional import left_out

WHY = "minigrad computes on the CPU and on NVIDIA's GPUs"
globals().update(left_out(__name__, WHY, """
    Event MemPool Stream StreamContext XPUGraph XPUPluggableAllocator can_device_access_peer
    change_current_allocator clock_rate current_device current_stream default_generators device device_memory_used
    device_of empty_cache get_arch_list get_device_capability get_device_name get_device_properties
    get_gencode_flags get_per_process_memory_fraction get_rng_state get_rng_state_all get_stream_from_external
    graph graph_pool_handle init initial_seed is_bf16_supported is_current_stream_capturing is_tf32_supported
    make_graphed_callables manual_seed manual_seed_all max_memory_allocated max_memory_reserved mem_get_info
    memory_allocated memory_reserved memory_snapshot memory_stats memory_stats_as_nested_dict memory_usage
    power_draw reset_accumulated_memory_stats reset_peak_memory_stats seed seed_all set_device
    set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream stream synchronize temperature
    use_mem_pool utilization
"""))


def is_available() -> bool:
    """Whether there is such a GPU that minigrad can use: False."""
    return False


def device_count() -> int:
    """The number of such GPUs that minigrad can use: 0."""
    return 0
