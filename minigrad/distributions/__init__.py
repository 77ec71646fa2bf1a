"""Probability distributions, with the gradients of their log probabilities and of their samples: mirrors
`torch.distributions`.

The score function takes the gradient of `log_prob` of a sample; the reparameterisation trick lets it flow through the
sample, `rsample`. The same seed gives PyTorch's samples (docs/random.md).
"""

from typing import TYPE_CHECKING

from minigrad._base.optional import module_getattr
from minigrad.distributions import constraints as constraints  # a module, as in PyTorch
from minigrad.distributions import transforms as transforms
from minigrad.distributions.categorical import *
from minigrad.distributions.distribution import Distribution
from minigrad.distributions.gamma import *
from minigrad.distributions.kl import kl_divergence, register_kl
from minigrad.distributions.normal import *
from minigrad.distributions.transformed_distribution import *
from minigrad.distributions.transforms import *

# ruff: noqa: F403, F405 - the names are in the `__all__` of each file

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Categorical", "Chi2", "ComposeTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "Gamma", "Independent", "IndependentTransform", "Laplace",
    "LogNormal", "LowerCholeskyTransform", "MultivariateNormal", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "TransformedDistribution", "Uniform", "identity_transform", "kl_divergence", "register_kl",
]

if not TYPE_CHECKING:  # a type checker reports missing names itself
    __getattr__ = module_getattr(__name__)
