"""What each loss expects of its input and target, and whether a call of it keeps to that: judged by the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CONTRACTS", "Breach", "breach_of"]

CLOSE = 0.05  # how far the probabilities of a row may be from adding up to 1
PADDED = 0.5  # the share of labels that are one class at the ends of rows: more is padding


class Breach(NamedTuple):
    """How a call breaks a loss's contract: a sentence, its numbers, the mend, and the ops that may be to blame for it,
    one of which made the input; `sure` unless it may be meant."""

    what: str
    evidence: dict[str, Any]
    mend: tuple[str, str]
    blame: tuple[str, ...] = ()
    sure: bool = True


Judge = Callable[[Any, Any, Mapping[str, Any]], "Breach | None"]
SOFTMAX = ("softmax", "_softmax", "log_softmax", "_log_softmax")


def totals(x: Any, dim: int) -> Any:
    """The sum of exp along a dimension."""
    with np.errstate(all="ignore"):
        return np.exp(x.astype(np.float64)).sum(dim)


def is_one(values: Any) -> bool:
    return bool(values.size) and bool((np.abs(values - 1) < CLOSE).all())


def log_probabilities(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """`nll_loss`, `kl_div`, `ctc_loss`: the input is log-probabilities; for `kl_div`, the target is probabilities."""
    name, dim = given["name"], -1 if given["name"] != "nll_loss" or x.ndim < 2 else 1
    use = ("Pass it log-probabilities.", f"F.{name}(F.log_softmax(scores, dim={dim}), target)")
    sums = totals(x, dim)
    if name == "kl_div" and not given.get("log_target") and y is not None and y.size and y.min() < 0:
        return Breach("kl_div is given a target with negative entries, which are no probabilities: logarithms, it "
                      "seems, without log_target=True.", {"least": float(y.min())},
                      ("Say that the target is logarithms.", "F.kl_div(log_q, log_p, log_target=True)"))
    if is_one(sums) or name == "kl_div" and x.ndim > 1 and is_one(totals(x, 1)):
        return None
    evidence = {"sum of exp, least": float(sums.min()), "most": float(sums.max())}
    if x.size and x.min() >= 0 and is_one(x.sum(dim)):
        return Breach(f"{name} takes log-probabilities and is given probabilities: its slope is small where they are "
                      "small.", evidence, use, ())
    other = next((d for d in range(x.ndim) if d != dim % x.ndim and x.shape[d] > 1 and is_one(totals(x, d))), None)
    if other is not None:
        return Breach(f"{name} takes log-probabilities along dimension {dim}; those that it is given add up to 1 along "
                      f"dimension {other}, over {x.shape[other]} examples.", evidence, use, SOFTMAX)
    if x.size and x.min() >= 0 and x.max() <= 1:
        other = next((d for d in range(x.ndim) if x.shape[d] > 1 and is_one(x.sum(d))), None)
        said = ", which add up to 1 nowhere" if other is None else (
            f" that add up to 1 along dimension {other}, over {x.shape[other]} examples, not along dimension {dim}")
        return Breach(f"{name} takes log-probabilities and is given numbers from 0 to 1{said}: probabilities, it "
                      "seems, without a logarithm.", evidence, use, SOFTMAX if other is not None else ())
    if x.size and (x > CLOSE).any():
        return Breach(f"{name} takes log-probabilities and is given raw scores: it falls without bound, and teaches "
                      "nothing.", evidence, use, ())
    return Breach(f"{name} takes log-probabilities of one example each, but exp of what it is given does not add up to "
                  "1: they were normalised along another dimension, or not at all.", evidence, use, SOFTMAX)


def scores(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """`cross_entropy`: raw scores of two classes or more; labels without padding, and not those that were fed in."""
    if x.ndim > 1 and x.shape[1] == 1:
        return Breach("cross_entropy is given one score for each example: the softmax of one score is always 1, and "
                      "the slope 0.", {"classes": 1},
                      ("For two classes, use the loss of one score.",
                       "F.binary_cross_entropy_with_logits(scores, target.float())"))
    if given.get("target_learns") and not given.get("input_learns"):
        return Breach("cross_entropy takes the scores first and the target second; here only the second comes from "
                      "the model.", {}, ("Swap them.", "F.cross_entropy(scores, target)"))
    if y is None or y.dtype.kind not in "iu" or not y.size:
        return None
    return shifted(x, y, given) or padding(x, y, given)


def shifted(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """Labels that are the very words that the model was fed with, where it has a score for each word."""
    fed = [t for t in given["tokens"] if t.array.size == y.size and t.array.shape[-1] > 1]
    classes = x.shape[1] if x.ndim > 1 else 0
    if not fed or any(t.rows != classes or (t.array.ravel() != y.ravel()).any() for t in fed):
        return None
    return Breach("The labels are the words that the model is fed with, unshifted. Unless it is an autoencoder, it "
                  "learns to copy each word, not to say which comes next.", {"labels": int(y.size)},
                  ("Compare the score at each place with the word after it.",
                   "F.cross_entropy(scores[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())"), sure=False)


def padding(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """One class that fills the ends of most sentences, and nothing else."""
    shape = next((t.array.shape for t in given["tokens"] if t.array.size == y.size and t.array.ndim == 2), None)
    if shape is None or given.get("ignore_index") in y:
        return None
    rows = y.reshape(shape)
    last = rows[:, -1]
    pad = last[0]
    length = (np.cumprod((rows == pad)[:, ::-1], axis=1)).sum(1)
    share = float(length.sum() / y.size)
    if share < PADDED or (last != pad).any() or (rows == pad).sum() > length.sum() or (length == shape[1]).any():
        return None
    return Breach(f"{share:.0%} of the labels are class {pad}, which fills the end of every row and is nowhere else: "
                  "padding, which the loss counts.", {"padding": int(length.sum()), "labels": int(y.size)},
                  ("Leave it out of the loss.", f"F.cross_entropy(scores, target, ignore_index={pad})"))


def targets_in_one(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """`binary_cross_entropy_with_logits`: the target is in [0, 1]."""
    if y is None or not y.size or y.min() >= 0 and y.max() <= 1:
        return None
    return Breach(f"{given['name']} takes targets from 0 to 1, and is given {y.min():.3g} to {y.max():.3g}: it falls "
                  "without bound.", {"least": float(y.min()), "most": float(y.max())},
                  ("Scale or renumber the targets.", "target = (target - target.min()) / (target.max() - target.min())"
                   ))


def probabilities(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """`binary_cross_entropy`: the input is a probability, not always the same one, and nothing was cut off."""
    if x.size > 1 and (x == 1).all():
        return Breach("binary_cross_entropy is given the softmax of one score, which is always 1: the slope is 0.", {},
                      ("For one score, use the sigmoid.", "torch.sigmoid(scores)"), SOFTMAX)
    return None


def rates(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """`poisson_nll_loss`: the logarithm of the rate, unless it is told otherwise."""
    return None


def signs(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """Losses whose target says which of two it is by 1 and -1."""
    if y is None or not y.size or (np.abs(y) == 1).all():
        return None
    return Breach(f"{given['name']} takes targets that are 1 or -1; {np.mean(np.abs(y) != 1):.0%} of these are "
                  "neither, and teach nothing or the wrong thing.", {"least": float(y.min()), "most": float(y.max())},
                  ("Turn 0 and 1 into -1 and 1.", "target = 2 * target - 1"))


CONTRACTS: dict[str, Judge] = {
    "nll_loss": log_probabilities, "kl_div": log_probabilities, "ctc_loss": log_probabilities, "cross_entropy": scores,
    "binary_cross_entropy": probabilities, "binary_cross_entropy_with_logits": targets_in_one,
    "poisson_nll_loss": rates, "margin_ranking_loss": signs, "cosine_embedding_loss": signs,
    "hinge_embedding_loss": signs, "soft_margin_loss": signs,
    **dict.fromkeys(("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"), lambda x, y, given: None)}


def breach_of(x: Any, y: Any, given: Mapping[str, Any]) -> Breach | None:
    """Return how a call breaks the contract of the loss `given["name"]`; None if it keeps to it."""
    if not getattr(x, "size", 0) or x.dtype.kind != "f":
        return None
    return CONTRACTS[given["name"]](x, y, given)
