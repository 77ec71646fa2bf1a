"""The parts of a loader: mirrors `torch/utils/data/_utils`."""

from minigrad.utils.data._utils import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
