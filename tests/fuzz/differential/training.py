"""Draws statements that train: modules with their state, checkpoints of them, optimizers, loaders and samplers.

Others call activations in place, differentiate twice where functions are not smooth, and run ops while warnings are
errors.

Each gives one tensor, with the numbers of everything that it has changed. What trains computes in float64, so that
little depends on rounding where an optimizer divides by the root of a square.
"""

from __future__ import annotations

from typing import Any

from tests.fuzz.differential.statements import IN_PLACE, UNARY, Draw, Scope, statement

__all__ = ["MORE", "TRAINING"]

MORE: list[tuple[int, Draw]] = []

TRAINING = '''
import warnings
import numpy
from torch.utils import data

def flat(*tensors):
    return torch.cat([t.detach().double().flatten() for t in tensors])

def rows(x):
    numbers = torch.nan_to_num(x.detach().double()).clamp(-3, 3).flatten()
    return torch.cat([numbers, torch.linspace(-1, 1, 12, dtype=torch.float64)])[:12].reshape(4, 3)

def trained(module, optimizer, x, how, penalty):
    module, x = module.double(), rows(x).requires_grad_()
    chosen = optimizer(module.parameters())
    seen = []
    for step in range(3):
        chosen.zero_grad(set_to_none=step == 1)
        if how is None:
            y = module(x)
        else:
            y = torch.utils.checkpoint.checkpoint(module, x, use_reentrant=how)
        loss = (y * y).mean()
        if penalty:
            g, = torch.autograd.grad(y.sum(), x, create_graph=True)
            loss = loss + (g * g).mean()
        loss.backward()
        if step == 1:
            torch.nn.utils.clip_grad_norm_(module.parameters(), 0.5)
            chosen.load_state_dict(copy.deepcopy(chosen.state_dict()))
        chosen.step()
        seen += [y, loss]
    module.eval()
    state = [v for kept in chosen.state_dict()["state"].values() for v in kept.values() if hasattr(v, "grad_fn")]
    return flat(module(x.detach()), x.grad, *seen, *module.state_dict().values(), *state)

def loaded(x, **options):
    options = {name: make() if callable(make) else make for name, make in options.items()}
    found = list(data.DataLoader(data.TensorDataset(rows(x), torch.arange(4)), **options))
    return flat(*[torch.tensor(float(len(batch[1])) if batch[1].dim() else -1.) for batch in found],
                *[part for batch in found for part in batch])

def second(f, *values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    y = f(x)
    g, = torch.autograd.grad((y * y.detach().cos()).sum(), x, create_graph=True)
    found = [y, g]
    if g.requires_grad:
        h, = torch.autograd.grad((g * torch.arange(1., 1 + g.numel())).sum(), x, allow_unused=True)
        found += [] if h is None else [h]
    return flat(*found)

def loudly(f):
    with warnings.catch_warnings(), numpy.errstate(all="raise"):
        warnings.simplefilter("error")
        return f()
'''
ACTIVATIONS = ["ELU(-0.5)", "LeakyReLU(0.2)", "Tanh()", "SiLU()", "GELU()", "Softplus(2.)", "Hardswish()", "CELU(0.7)",
               "Mish()", "PReLU(4, 0.3)", "SELU()", "Sigmoid()", "Identity()"]
INNER = ["BatchNorm1d(4)", "BatchNorm1d(4, momentum=None)", "BatchNorm1d(4, track_running_stats=False)", "LayerNorm(4)",
         "Dropout(0.3)", "GroupNorm(2, 4)", "Linear(4, 4)", "AlphaDropout(0.2)", "RMSNorm(4)"]
LAST = ["Linear(4, 2)", "BatchNorm1d(4)", "Softmax(-1)", "LogSoftmax(-1)", "Dropout(0.5)", "Identity()"]
OPTIMIZERS = ["SGD({}, lr=0.1)", "SGD({}, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)", "Adam({}, lr=0.05)",
              "Adam({}, lr=0.05, amsgrad=True, weight_decay=0.1)", "AdamW({}, lr=0.05, maximize=True)",
              "NAdam({}, lr=0.05)", "RAdam({}, lr=0.05)", "Adagrad({}, lr=0.1, lr_decay=0.1)", "Adamax({}, lr=0.05)",
              "RMSprop({}, lr=0.05, centered=True, momentum=0.5)", "Adadelta({}, lr=0.5)", "ASGD({}, lr=0.1)",
              "Rprop({}, lr=0.05)", "SGD({}, lr=0.1, momentum=0.5, dampening=0.3, foreach=True)"]
LOADERS = ["batch_size={n}", "batch_size={n}, drop_last=True", "batch_size={n}, shuffle=True", "batch_size=None",
           "batch_size={n}, shuffle=True, generator=lambda: torch.Generator().manual_seed({n})",
           "batch_sampler=[(0, 1), (2, 3)]", "batch_sampler=[[3], [0, 2, 1]]", "sampler=[2, 0], batch_size={n}",
           "batch_sampler=data.BatchSampler(data.SequentialSampler(range(4)), {n}, True)",
           "sampler=data.WeightedRandomSampler([0.1, 0.2, 0.3, 0.4], 5), batch_size={n}",
           "sampler=data.RandomSampler(range(4), replacement=True, num_samples=6), batch_size={n}",
           "sampler=data.SubsetRandomSampler([1, 3, 2]), batch_size={n}", "batch_size={n}, sampler=[0], shuffle=True",
           "batch_size={n}, batch_sampler=[[0]]", "batch_size=0"]
SPECIAL = ["0.", "-0.", "1.", "-1.", "0.5", "-0.5", "2.", "3.", "6.", "-3.", "20.", "1e-3"]
SECOND = [f"torch.{name}" for name in ("sin", "tanh", "sigmoid", "relu", "abs", "square", "sign", "erf", "expm1",
                                       "reciprocal", "sinc", "acos", "log1p", "sqrt")] + [
    f"torch.nn.functional.{name}" for name in ("elu", "celu", "selu", "silu", "gelu", "softplus", "hardswish", "mish",
                                               "relu6", "hardsigmoid", "softsign", "tanhshrink", "logsigmoid",
                                               "hardshrink", "softshrink", "hardtanh")] + [
    "lambda x: x.prod()", "lambda x: x.cumprod(0)", "lambda x: x.norm()", "lambda x: x.norm(1)", "lambda x: x.norm(3)",
    "lambda x: x ** 2", "lambda x: x ** 3.", "lambda x: 2. ** x", "lambda x: x.std()", "lambda x: x.logsumexp(0)",
    "lambda x: x.clamp(-1, 1)", "lambda x: x.maximum(x.flip(0))", "lambda x: x.amax(0)", "lambda x: x.max()",
    "lambda x: torch.zeros(2, dtype=x.dtype).scatter_reduce(0, torch.tensor([0, 0, 1]), x, 'prod', include_self=False)",
    "lambda x: torch.ones(2, dtype=x.dtype).index_reduce(0, torch.tensor([0, 0, 1]), x, 'prod')",
    "lambda x: torch.nn.functional.smooth_l1_loss(x, torch.zeros_like(x), reduction='none')",
    "lambda x: torch.nn.functional.huber_loss(x, torch.ones_like(x), reduction='none')",
    "lambda x: torch.nn.functional.leaky_relu(x, 0.1)", "lambda x: torch.nn.functional.normalize(x, dim=0)",
    "lambda x: torch.where(x > 0, x * x, x)", "lambda x: x.sort()[0]", "lambda x: torch.atan2(x, x.flip(0))"]


def drawn_module(scope: Scope) -> str:
    """A module from rows of three numbers to rows of others."""
    layers = ["Linear(3, 4)", scope.pick(ACTIVATIONS), scope.pick(INNER), scope.pick(LAST)]
    return f"torch.nn.Sequential({', '.join(f'torch.nn.{layer}' for layer in layers)})"


@statement(30, MORE)
def training(scope: Scope) -> str | None:
    x, optimizer = scope.floating(), scope.pick(OPTIMIZERS).format("p")
    how, penalty = scope.pick([None, None, True, False]), scope.random.random() < 0.2
    return x and (f"{scope.new()} = trained({drawn_module(scope)}, lambda p: torch.optim.{optimizer}, {x}, {how}, "
                  f"{penalty and how is not True})")


@statement(30, MORE)
def loading(scope: Scope) -> str | None:
    x, options = scope.floating(), scope.pick(LOADERS).format(n=scope.random.randint(1, 3))
    return x and f"{scope.new()} = loaded({x}, {options})"


@statement(30, MORE)
def activation_in_place(scope: Scope) -> str | None:
    x, number = scope.floating(), scope.pick(["-0.5", "0.", "0.3", "1.", "2."])
    function = scope.pick(["elu_({}, {n})", "celu_({}, {n} or 1.)", "leaky_relu_({}, {n})", "hardtanh_({}, -{n}, {n})",
                           "threshold_({}, {n}, 0.2)", "rrelu_({}, {n}, {n})", "selu_({})", "relu_({})",
                           "relu6({}, inplace=True)", "silu({}, inplace=True)", "mish({}, inplace=True)",
                           "hardswish({}, inplace=True)", "rrelu_({}, {n}, {n}, training=True)"])
    if "hardtanh" in function:
        number = scope.pick(["0.3", "1.", "2."])
    return x and f"{scope.new()} = torch.nn.functional.{function.format(f'{x}.clone()', n=number)}"


@statement(30, MORE)
def second_derivative(scope: Scope) -> str:
    return f"{scope.new()} = second({scope.pick(SECOND)}, {', '.join(scope.random.choices(SPECIAL, k=3))})"


@statement(30, MORE)
def under_errors(scope: Scope) -> str | None:
    x: Any = scope.floating()
    y = scope.any()
    return x and f"{scope.new()} = loudly(lambda: " + scope.pick([
        f"{x}.{scope.pick(UNARY)}())", f"{x} / {y})", f"{x} * {y})", f"{x}.clone().{scope.pick(IN_PLACE[:11])}())",
        f"1 / {x})", f"{x} / 0)", f"{x}.softmax(-1))", f"{x}.half())", f"{x}.sum().log())", f"{x}.prod())",
        f"{x}.logsumexp(-1))", f"{x}.std())", f"{x}.exp().exp())", f"{x} ** {y})", f"{x}.norm())", f"{x}.cumprod(0))"])
