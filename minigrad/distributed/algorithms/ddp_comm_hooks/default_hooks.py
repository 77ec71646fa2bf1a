"""Two communication hooks: mirrors `torch/distributed/algorithms/ddp_comm_hooks/default_hooks.py`."""

from typing import Any

import numpy as np

from minigrad.core import plain
from minigrad.distributed import GradBucket, all_reduce
from minigrad.distributed._world import group_of
from minigrad.futures import Future

__all__ = ["allreduce_hook", "fp16_compress_hook"]


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average over all ranks, as happens without a hook."""
    return start_average(process_group, bucket, bucket.buffer().array.dtype)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future:
    """Average the gradients as float16: half the bytes of float32, and numbers of three digits."""
    return start_average(process_group, bucket, np.dtype(np.float16))


def start_average(process_group: Any, bucket: GradBucket, dtype: Any) -> Future:
    """Begin to sum a bucket, divided by the number of ranks, in another dtype."""
    group, buffer = group_of(process_group), bucket.buffer().array
    sent = plain((buffer / group.size()).astype(dtype))
    work: Any = all_reduce(sent, group=group, async_op=True, label=bucket.label())
    future: Future = work.get_future()
    return future.then(lambda sums: plain(sums.value()[0].array.astype(buffer.dtype)))
