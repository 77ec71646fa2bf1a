"""What distributions share: the names of `torch/distributions/utils.py`, which distribution.py defines."""

from minigrad.distributions.distribution import (
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]
