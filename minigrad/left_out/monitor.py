"""Counters of PyTorch's own, which minigrad does not have."""

from minigrad._base.optional import left_out

WHY = "minigrad counts nothing; `minigrad.profiler` measures a step"
globals().update(left_out(__name__, WHY, """
    Aggregation COUNT Event EventHandlerHandle MAX MEAN MIN STAT_EVENT SUM Stat TensorboardEventHandler VALUE
    data_value_t log_event register_event_handler unregister_event_handler
"""))
