"""Loads every module of ops; the names in its `__all__` become functions of `torch`.

"Go to definition" on `minigrad.add` leads through this file to the function under `@op`.
"""

# ruff: noqa: F403 - a reader looks a name up in its own module

from minigrad.compat.complex import *
from minigrad.ops.activation import *
from minigrad.ops.factory import *
from minigrad.ops.index.indexing import *
from minigrad.ops.index.mask import *
from minigrad.ops.index.scatter_gather import *
from minigrad.ops.linalg.einsum import *
from minigrad.ops.linalg.factorizations import *
from minigrad.ops.linalg.matmul import *
from minigrad.ops.linalg.matrix_functions import *
from minigrad.ops.linalg.norms import *
from minigrad.ops.linalg.solve import *
from minigrad.ops.linalg.spectral import *
from minigrad.ops.nn.conv import *
from minigrad.ops.nn.cross_entropy import *
from minigrad.ops.nn.dropout import *
from minigrad.ops.nn.embedding import *
from minigrad.ops.nn.fold import *
from minigrad.ops.nn.normalization import *
from minigrad.ops.nn.pad import *
from minigrad.ops.nn.pooling import *
from minigrad.ops.nn.rnn import *
from minigrad.ops.nn.softmax import *
from minigrad.ops.pointwise.add import *
from minigrad.ops.pointwise.binary import *
from minigrad.ops.pointwise.compare import *
from minigrad.ops.pointwise.div import *
from minigrad.ops.pointwise.minmax import *
from minigrad.ops.pointwise.mul import *
from minigrad.ops.pointwise.pow import *
from minigrad.ops.pointwise.ternary import *
from minigrad.ops.pointwise.unary import *
from minigrad.ops.random import *
from minigrad.ops.reduce.count import *
from minigrad.ops.reduce.cumulative import *
from minigrad.ops.reduce.minmax import *
from minigrad.ops.reduce.sort import *
from minigrad.ops.reduce.sums import *
from minigrad.ops.reduce.variance import *
from minigrad.ops.shape.diagonal import *
from minigrad.ops.shape.flip import *
from minigrad.ops.shape.join import *
from minigrad.ops.shape.slices import *
from minigrad.ops.shape.views import *
from minigrad.ops.special.functions import *
from minigrad.ops.tensor.copy import *
from minigrad.ops.tensor.properties import *
from minigrad.ops.tensor.storage import *
