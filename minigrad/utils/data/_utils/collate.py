"""Makes a batch from a list of samples: mirrors `torch/utils/data/_utils/collate.py`.

Tensors of one shape are stacked, numbers become a tensor, and lists, tuples and dicts are collated part by part: a list
of pairs becomes a pair of batches. You can add your own types to `default_collate_fn_map`.
"""

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from functools import partial
from typing import Any

import numpy as np

from minigrad._base.dtype import float64
from minigrad.core import Tensor
from minigrad.ops.factory import as_tensor, tensor
from minigrad.ops.shape.join import stack

__all__ = ["collate", "default_collate", "default_collate_err_msg_format", "default_collate_fn_map", "default_convert"]

FnMap = dict[Any, Callable[..., Any]]
default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}")


def default_convert(data: Any) -> Any:
    """Return `data` with NumPy arrays and numbers as tensors, all else unchanged: as a loader does without batches."""
    kind = type(data)
    if isinstance(data, Tensor):
        return data
    if kind.__module__ == "numpy" and not isinstance(data, str):
        return data if kind is np.ndarray and data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return like_container(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return like_container(data, [default_convert(each) for each in data])
    return data


def default_collate(batch: Any) -> Any:
    """Return samples as one batch, by `default_collate_fn_map`; `batch` is a list of them. Raises TypeError for samples
    of a type that cannot be batched; RuntimeError for lists of different lengths, and tensors of different shapes."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: FnMap | None = None) -> Any:
    """Return samples as one batch: the type of the first is looked up in the map, else its parts are collated."""
    first, known = batch[0], collate_fn_map or {}
    how = known.get(type(first)) or next((known[kind] for kind in known if isinstance(first, kind)), None)
    if how is not None:
        return how(batch, collate_fn_map=collate_fn_map)
    deeper = partial(collate, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        return like_container(first, {key: deeper([each[key] for each in batch]) for key in first})
    if isinstance(first, Sequence):
        if not is_named(first) and any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return like_container(first, [deeper(column) for column in zip(*batch)])
    raise TypeError(default_collate_err_msg_format.format(type(first)))


def like_container(pattern: Any, values: Any) -> Any:
    """Return values in a container of the pattern's type: a list in place of a tuple, else a plain list or dict."""
    kind: Any = type(pattern)
    made: Any
    try:
        if isinstance(pattern, MutableMapping):
            made = copy.copy(pattern)
            made.update(values)
            return made
        if isinstance(pattern, MutableSequence):
            made = copy.copy(pattern)
            for i, value in enumerate(values):
                made[i] = value
            return made
        if isinstance(pattern, tuple):
            return kind(*values) if is_named(pattern) else values
        return kind(values)
    except TypeError:  # a container that cannot be made like this
        return values


def is_named(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def collate_tensor_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> Tensor:
    """Stack tensors of one shape along a new first dimension."""
    return stack(batch, 0)


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> Any:
    """Stack arrays as tensors; in one step where the result is the same."""
    first = batch[0]
    if first.dtype.kind in "SUO":
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    usual = collate_fn_map is not None and collate_fn_map.get(Tensor) is collate_tensor_fn
    if usual and all(type(x) is np.ndarray and x.flags.carray and x.shape == first.shape and x.dtype == first.dtype
                     for x in batch):
        return as_tensor(np.array(batch))
    return collate([as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> Tensor:
    """Return NumPy numbers as a tensor of their dtype."""
    return as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> Tensor:
    """Return floats as a tensor of float64."""
    return tensor(batch, dtype=float64)


def collate_int_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> Tensor:
    """Return integers or bools as a tensor."""
    return tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: FnMap | None = None) -> Any:
    """Return strings as they are."""
    return batch


default_collate_fn_map: FnMap = {
    Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn, float: collate_float_fn, int: collate_int_fn,
    str: collate_str_fn, bytes: collate_str_fn,
}
