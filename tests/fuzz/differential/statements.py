"""Draws statements: what autograd programs are made of, with arguments that mostly fit and sometimes do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.fuzz.differential.facts import memory_of

Draw = Callable[["Scope"], "str | None"]
STATEMENTS: list[tuple[int, Draw]] = []
SHAPES = ["()", "(1,)", "(3,)", "(4,)", "(2, 3)", "(3, 3)", "(1, 3)", "(2, 1)", "(2, 3, 2)", "(0,)", "(2, 0)", "(1, 1)"]
DTYPES = ["float32"] * 8 + ["float64"] * 4 + ["float16", "int64", "int64", "int32", "uint8", "int8", "int16", "bool"]
UNARY = ["sin", "cos", "exp", "tanh", "sigmoid", "relu", "abs", "neg", "square", "sign", "floor", "erf", "atan",
         "expm1", "sqrt", "log", "reciprocal", "rsqrt", "log1p", "trunc", "frac", "isnan", "logical_not", "sinh"]
IN_PLACE = ["sin_", "exp_", "tanh_", "sigmoid_", "relu_", "abs_", "neg_", "square_", "zero_", "floor_", "sqrt_",
            "reciprocal_", "detach_", "t_", "squeeze_", "logical_not_"]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "atan2", "eq", "ne", "lt", "ge", "logical_and", "fmod",
          "remainder", "true_divide", "floor_divide", "logaddexp", "hypot", "fmax", "pow"]
BINARY_IN_PLACE = ["add_", "sub_", "mul_", "div_", "copy_", "pow_", "atan2_", "eq_", "logical_or_"]
NUMBERS = ["2", "-1", "0.5", "3", "True", "0", "-1.5", "1e-3", "float('inf')"]
REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "std", "var", "logsumexp", "norm", "any", "all", "count_nonzero",
              "nansum", "median", "max", "min", "argmax"]
ALONG = ["softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "flip", "sort", "argsort", "unbind", "cummax",
         "diff"]
NOT_UNDER_INFERENCE = ("requires_grad", "as_strided", ".data", "deepcopy", "Parameter", "detach_")
HOOKS = ["noted", "doubled", "written", "lambda g: g + 1", "lambda g: None", "lambda g: g.clone()"]


class Scope:
    """What a statement may name: the tensors of the program so far, as PyTorch has them."""

    def __init__(self, random: Random, variables: dict[str, Any], count: int) -> None:
        self.random, self.variables, self.count = random, variables, count
        self.names = [name for name, v in variables.items() if name[0] == "v" and hasattr(type(v), "grad_fn")]

    def new(self) -> str:
        """A name that is not taken."""
        self.count += 1
        return f"v{self.count}"

    def any(self) -> str | None:
        """One of the tensors, later ones more often."""
        if not self.names:
            return None
        return self.random.choice(self.names[-4:] if self.random.random() < 0.5 else self.names)

    def where(self, wanted: Callable[[Any], Any]) -> str | None:
        """A tensor of some kind; now and then any other."""
        found = [name for name in self.names if self.is_so(name, wanted)]
        return self.random.choice(found) if found and self.random.random() < 0.97 else self.any()

    def is_so(self, name: str, wanted: Callable[[Any], Any]) -> bool:
        """Whether something holds of a tensor; a view that refuses to be asked counts as another kind."""
        try:
            return bool(wanted(self.variables[name]))
        except RuntimeError:
            return False

    def floating(self) -> str | None:
        """A tensor of a floating dtype."""
        return self.where(lambda v: v.is_floating_point())

    def with_graph(self) -> str | None:
        """A tensor that requires grad."""
        return self.where(lambda v: v.requires_grad)

    def alike(self, name: str) -> str:
        """A tensor of the same shape."""
        shape = self.variables[name].shape
        return self.random.choice([other for other in self.names if self.variables[other].shape == shape])

    def apart_from(self, name: str | None) -> str:
        """A tensor that lies elsewhere than another, or a number: PyTorch does not say what is read of what it writes
        at the same time."""
        memory = memory_of(self.variables.get(name))
        found = [other for other in self.names if memory_of(self.variables[other]) != memory]
        return self.random.choice(found or ["2"])

    def dim(self, name: str) -> int:
        """A dimension of a tensor; now and then one that it does not have."""
        n = self.variables[name].dim()
        return self.random.randint(-n, n - 1) if n and self.random.random() < 0.97 else self.random.randint(-2, 2)

    def pick(self, options: Any) -> Any:
        """One of several."""
        return self.random.choice(options)


def statement(weight: int, among: list[tuple[int, Draw]] = STATEMENTS) -> Callable[[Draw], Draw]:
    """Register a way to draw a statement; its weight says how often."""
    def register(draw: Draw) -> Draw:
        among.append((weight, draw))
        return draw
    return register


def drawn(scope: Scope, more: Sequence[tuple[int, Draw]] = ()) -> str:
    """The next statement, of the usual kinds or of `more`."""
    kinds = [*STATEMENTS, *more]
    while True:
        draw = scope.random.choices([draw for _, draw in kinds], [weight for weight, _ in kinds])[0]
        if text := draw(scope):
            return in_mode(scope, text) if scope.random.random() < 0.05 else text


def in_mode(scope: Scope, text: str) -> str:
    """A statement under another grad mode."""
    mode = scope.pick(["torch.no_grad()", "torch.enable_grad()", "torch.set_grad_enabled(False)",
                       "torch.inference_mode()", "torch.autograd.graph.save_on_cpu()",
                       "torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t.view_as(t))"])
    if "inference" in mode and any(name in text for name in NOT_UNDER_INFERENCE):
        # PyTorch does not record what is made of such a leaf, and lets a view reach beyond the storage
        return text
    if "grad" in mode and any(name in text for name in ("squeeze_(", "transpose_(", ".t_(")):
        return text  # the graph would keep another shape than the tensor has
    return f"with {mode}:\n    {text}"


def factory(scope: Scope, shape: str | None = None) -> str:
    """An expression that makes a leaf."""
    shape, dtype = shape or scope.pick(SHAPES), scope.pick(DTYPES)
    grad = dtype.startswith("float") and scope.random.random() < 0.75
    if dtype.startswith("float"):
        make = scope.pick(["torch.randn({})", "torch.rand({})", "torch.ones({})", "torch.zeros({})",
                           "torch.full({}, -0.75)", "torch.randn({})"])
    else:
        make = scope.pick(["torch.ones({})", "torch.zeros({})", "torch.randint(0, 3, {})"])
    made = f"{make.format(shape)[:-1]}, dtype=torch.{dtype})"
    return f"{made}.requires_grad_()" if grad else made


@statement(6)
def leaf(scope: Scope) -> str | None:
    return f"{scope.new()} = {factory(scope)}"


@statement(10)
def unary(scope: Scope) -> str | None:
    x = scope.floating()
    return x and f"{scope.new()} = {x}.{scope.pick(UNARY)}()"


@statement(14)
def binary(scope: Scope) -> str | None:
    x, y = scope.any(), scope.any()
    if x is None:
        return None
    right = y if scope.random.random() < 0.7 else scope.pick(NUMBERS)
    if scope.random.random() < 0.5:
        return f"{scope.new()} = {x} {scope.pick(['+', '-', '*', '/', '**', '<', '>=', '%', '//'])} {right}"
    return f"{scope.new()} = torch.{scope.pick(BINARY)}({x}, {right})"


@statement(3)
def reflected(scope: Scope) -> str | None:
    x = scope.any()
    left, sign = scope.pick(NUMBERS), scope.pick(["+", "-", "*", "/", "**"])
    return x and f"{scope.new()} = {'1' if (left, sign) == ('True', '**') else left} {sign} {x}"  # else it asserts


@statement(9)
def reduction(scope: Scope) -> str | None:
    x = scope.floating()
    if x is None:
        return None
    name = scope.pick(REDUCTIONS)
    if name == "median":  # of nothing and of what is expanded, PyTorch gives what lies in memory
        return f"{scope.new()} = {x}.contiguous().median()" if scope.variables[x].numel() else None
    if scope.random.random() < 0.5 and name not in ("logsumexp", "amax", "amin"):
        return f"{scope.new()} = {x}.{name}()"
    first = "[0]" if name in ("max", "min") else ""
    keep = scope.pick(["", ", keepdim=True"]) if name != "count_nonzero" else ""
    return f"{scope.new()} = {x}.{name}(dim={scope.dim(x)}{keep}){first}"


@statement(4)
def along(scope: Scope) -> str | None:
    x = scope.floating()
    if x is None:
        return None
    name = scope.pick(ALONG)
    if name == "cummax" and not scope.variables[x].numel():  # its gradient is the input itself
        return None
    part = "[0]" if name in ("sort", "unbind", "cummax") else ""
    options = "stable=True, " if name == "argsort" else ""  # else PyTorch leaves the order of equal ones open
    return f"{scope.new()} = {x}.{name}({options}{'dim=' if name in ('diff', 'argsort') else ''}{scope.dim(x)}){part}"


def view_of(scope: Scope, x: str) -> str:
    """An expression that is a view of a tensor."""
    value, dim = scope.variables[x], scope.dim(x)
    rest = tuple(value.shape)
    return scope.pick([
        f"{x}.view(-1)", f"{x}.reshape(-1)", f"{x}.flatten()", f"{x}.detach()", f"{x}[None]", f"{x}[..., None]",
        f"{x}.unsqueeze({dim})", f"{x}.squeeze()", f"{x}.squeeze({dim})", f"{x}.transpose({dim}, {scope.dim(x)})",
        f"{x}.t()", f"{x}.mT", f"{x}.movedim({dim}, 0)", f"{x}[0]", f"{x}[-1]", f"{x}[1:]", f"{x}[::2]", f"{x}[..., 0]",
        f"{x}[..., 1:]", f"{x}.select({dim}, 0)", f"{x}.narrow({dim}, 0, 1)", f"{x}.diagonal()", f"{x}[:]", f"{x}[...]",
        f"{x}.expand(2, *{rest})", f"{x}.expand_as({scope.any()})", f"{x}.view_as({x})", f"{x}.unbind({dim})[0]",
        f"{x}.split(1, {dim})[0]", f"{x}.chunk(2, {dim})[-1]", f"{x}.tensor_split(2, {dim})[0]", f"{x}.data",
        f"{x}.permute({', '.join(map(str, scope.random.sample(range(len(rest)), len(rest))))})" if rest else f"{x}.T",
        f"{x}.view({', '.join(map(str, (*rest, 1)))})", f"{x}.unfold({dim}, 2, 1).clone()", f"{x}.swapaxes(0, {dim})",
        f"{x}.unflatten({dim}, (1, -1))", f"{x}.broadcast_to(2, *{rest})",
        f"{x}.as_strided((2,), (1,))" if value.numel() > 1 else f"{x}.data",
        f"{x}[:, None]"])


@statement(16)
def view(scope: Scope) -> str | None:
    x = scope.any()
    return x and f"{scope.new()} = {view_of(scope, x)}"


@statement(9)
def in_place(scope: Scope) -> str | None:
    x = scope.where(lambda v: not (v.is_leaf and v.requires_grad) and v.is_floating_point())
    if x is None:
        return None
    if scope.random.random() < 0.5:
        return f"{x}.{scope.pick(IN_PLACE)}()"
    right = scope.apart_from(x) if scope.random.random() < 0.5 else scope.pick(NUMBERS)
    if scope.random.random() < 0.4:
        return f"{x} {scope.pick(['+=', '-=', '*=', '/='])} {right}"
    name = scope.pick(BINARY_IN_PLACE)
    return None if name in ("copy_", "atan2_", "logical_or_") and right in NUMBERS else f"{x}.{name}({right})"


@statement(4)
def in_place_of_view(scope: Scope) -> str | None:
    x = scope.where(lambda v: not (v.is_leaf and v.requires_grad) and v.is_floating_point())
    right = scope.apart_from(x) if scope.random.random() < 0.3 else scope.pick(NUMBERS[:4])
    return x and f"{view_of(scope, x)}.{scope.pick(['mul_', 'add_', 'sub_'])}({right})"


INDICES = ["0", "-1", "1:", "...", "None", "[0]", "[0, 0]", "torch.tensor([0])", "torch.tensor(0)", ":, 0", "::2", "()",
           "[[0, 1]]", "True", "..., 0", "torch.tensor([True])"]


@statement(5)
def set_item(scope: Scope) -> str | None:
    x = scope.where(lambda v: not (v.is_leaf and v.requires_grad) and v.is_floating_point())
    if x is None:
        return None
    right = scope.apart_from(x) if scope.random.random() < 0.4 else scope.pick(NUMBERS[:6])
    return f"{x}[{scope.pick([*INDICES, f'{x} > 0', f'{x}.abs() > 0.3'])}] = {right}"


@statement(5)
def get_item(scope: Scope) -> str | None:
    x = scope.any()
    return x and f"{scope.new()} = {x}[{scope.pick([*INDICES, f'{x} > 0'])}]"


@statement(4)
def fills(scope: Scope) -> str | None:
    x = scope.where(lambda v: not (v.is_leaf and v.requires_grad))
    if x is None:
        return None
    if not scope.variables[x].is_floating_point():
        return f"{x}.fill_({scope.pick(NUMBERS)})"
    other, dim, first = scope.apart_from(x), scope.dim(x), "torch.tensor([0])"
    parts = [f"{x}.index_fill_({dim}, {first}, 0.5)", f"{x}.index_add_({dim}, {first}, {other})"]
    return scope.pick([
        *(parts if scope.variables[x].numel() else []),
        f"{x}.fill_({scope.pick(NUMBERS)})", f"{x}.masked_fill_({x} > 0, {scope.pick(NUMBERS[:4])})",
        f"{x}.clamp_(-0.5, 0.5)", f"{x}.uniform_()", f"{x}.addcmul_({other}, {other})",
        f"{x}.scatter_({scope.dim(x)}, torch.zeros_like({x}, dtype=torch.int64), 0.5)", f"{x}.lerp_({other}, 0.5)",
        f"{x}.normal_()", f"{x}.transpose_(0, {scope.dim(x)})", f"{x}.unsqueeze_({scope.dim(x)})"])


def is_bounded(tensor: Any) -> bool:
    """Whether no element is infinite or NaN."""
    return bool(tensor.detach().abs().sum() < 1e30) if tensor.is_floating_point() else True


@statement(9)
def functions(scope: Scope) -> str | None:
    x, y, dim = scope.floating(), scope.any(), 0
    if x is None:
        return None
    dim = scope.dim(x)
    functional = "torch.nn.functional"
    bounded = "gelu" if is_bounded(scope.variables[x]) else "silu"  # PyTorch's gelu of infinity is NaN, of few not
    return f"{scope.new()} = " + scope.pick([
        f"{x} @ {y}", f"torch.matmul({x}, {y})", f"{x}.mT @ {x}", f"torch.cat([{x}, {y}], {dim})",
        f"torch.stack([{x}, {x}], {dim})", f"torch.where({x} > 0, {x}, {y})", f"{x}.clamp(-0.5, 0.5)",
        f"torch.where({x} > 0, {x}, 0.)", f"{x}.masked_fill({x} > 0, 0.5)", f"{x}.repeat(2)",
        f"{x}.repeat_interleave(2)",
        f"{x}.roll(1, {dim})", f"{x}.tril()", f"{x}.index_select({dim}, torch.tensor([0, 0]))", f"{x}.clone()",
        f"{x}.gather({dim}, torch.zeros_like({x}, dtype=torch.int64))", f"{x}.contiguous()", f"{x}.lerp({y}, 0.3)",
        f"torch.addcmul({x}, {x}, {y})", f"{functional}.linear({x}, {y})", f"{functional}.mse_loss({x}, {y})",
        f"{functional}.layer_norm({x}, {x}.shape[-1:])", f"{functional}.{bounded}({x})", f"{functional}.softplus({x})",
        f"{functional}.dropout({x}, 0.5)", f"{functional}.leaky_relu({x}, 0.1)", f"{functional}.silu({x})",
        f"{functional}.pad({x}, (1, 1))", f"{functional}.l1_loss({x}, {y})", f"{functional}.normalize({x}, dim={dim})",
        f"{functional}.smooth_l1_loss({x}, {y})", f"{functional}.binary_cross_entropy_with_logits({x}, {y})",
        f"torch.outer({x}.flatten(), {y}.flatten())", f"torch.einsum('...i,...i->...', {x}, {y})",
f"torch.nan_to_num({x})", f"torch.addmm({x}, {y}, {y})", f"{x}.masked_select({x} > 0)",
        f"torch.cdist({x}, {x})", f"{x}.trace()", f"torch.diag({x})", f"torch.atleast_2d({x})",
        f"{x}.clamp(0.1, 0.9).logit()",
        f"torch.zeros_like({x})", f"torch.ones_like({x}, requires_grad=True)", f"torch.tensor({x}.tolist())",
        f"{x}.new_zeros(2)", f"torch.nn.Parameter({x}.detach().clone())", f"{x}.type_as({y})", f"{x}.sum_to_size(())"])


@statement(4)
def conversion(scope: Scope) -> str | None:
    x = scope.any()
    if x is None:
        return None
    value, dtype = scope.variables[x], scope.pick(DTYPES)
    if not dtype.startswith("float") and value.is_floating_point():  # what C leaves open is not compared
        seen = value.detach()
        if not bool(((seen > -0.99 if dtype == "uint8" else seen > -100) & (seen < 100)).all()):
            return None
    return f"{scope.new()} = {x}.to(torch.{dtype}{scope.pick(['', '', ', copy=True'])})"


@statement(7)
def custom(scope: Scope) -> str | None:
    x = scope.floating()
    return x and f"{scope.new()} = " + scope.pick([
        f"Cube.apply({x})", f"Both.apply({x}, 2)[0]", f"Both.apply({x}, 3)[1]", f"Both.apply({x}, 2)[2]",
        f"Once.apply({x})", f"Negated.apply({x})", f"Negated.apply({x}.clone())", f"Negated.apply({x} * 1)",
        f"torch.utils.checkpoint.checkpoint(square, {x}, use_reentrant=False)",
        f"torch.utils.checkpoint.checkpoint(square, {x}, use_reentrant=True)",
        f"torch.utils.checkpoint.checkpoint(Cube.apply, {x}, use_reentrant=False)"])


@statement(7)
def hook(scope: Scope) -> str | None:
    x = scope.with_graph()
    return x and scope.pick([
        f"{x}.register_hook({scope.pick(HOOKS)})", f"{x}.register_hook({scope.pick(HOOKS)})", f"{x}.retain_grad()",
        f"{x}.register_post_accumulate_grad_hook(of_leaf)", f"{x}.grad_fn.register_hook(lambda i, o: None)",
        f"{x}.grad_fn.register_hook(lambda i, o: [noted(g) for g in o if g is not None] and None)",
        f"{x}.grad_fn.register_prehook(lambda o: tuple([g * 2 for g in o]))"])


@statement(10)
def backward(scope: Scope) -> str | None:
    x = scope.with_graph()
    if x is None:
        return None
    keep = scope.pick(["", "", "retain_graph=True", "create_graph=True"])
    wanted = scope.with_graph() if scope.random.random() < 0.2 else None
    # PyTorch crashes in a later pass if such a result is an input of one, and it, or a view of it, is written to.
    if wanted is not None and scope.is_so(wanted, lambda v: type(v.grad_fn).__name__.startswith("Both")):
        wanted = None
    subset = "" if wanted is None else f"inputs=[{wanted}]"
    if scope.random.random() < 0.7:
        return f"{x}.sum().backward({', '.join(filter(None, (keep, subset)))})"
    given = scope.pick([f"torch.ones_like({x})", f"{x}.detach().clone()", "torch.tensor(2.)", "", f"{x} * 2"])
    return f"{x}.backward({', '.join(filter(None, (given, keep, subset)))})"


def backward_of_all(scope: Scope) -> str | None:
    """A pass from every tensor that requires grad at once, so that what was done to the graph shows in gradients."""
    found = [name for name in scope.names if scope.is_so(name, lambda v: v.requires_grad)]
    return f"({' + '.join(f'{name}.double().sum()' for name in found)}).backward()" if found else None


@statement(7)
def grad(scope: Scope) -> str | None:
    y, x = scope.with_graph(), scope.with_graph()
    if x is None:
        return None
    options = scope.pick(["", "", ", create_graph=True", ", retain_graph=True", ", allow_unused=True",
                          ", materialize_grads=True"])
    inputs = f"[{x}, {scope.with_graph()}]" if scope.random.random() < 0.3 else x
    return f"{scope.new()} = torch.autograd.grad({y}.sum(), {inputs}{options})[0].clone()"


@statement(6)
def flags(scope: Scope) -> str | None:
    x, leaf = scope.any(), scope.where(lambda v: v.is_leaf)  # a result's `.data` is not set: what PyTorch saved of it
    return x and scope.pick([                                # keeps the old one, here it gets the new one
        f"{x}.grad = None", f"{x}.requires_grad_()", f"{x}.requires_grad_(False)", f"{scope.new()} = {x}.grad",
        f"{x}.requires_grad = True", f"{leaf}.data = {leaf}.data * 2", f"{x}.grad = torch.ones_like({x})",
        f"{x}.data.mul_(2)", f"{x}.detach().add_(1)", f"{x}.grad.zero_()", f"{scope.new()} = {x}.detach()",
        f"{leaf}.data = {scope.alike(leaf)}.data", f"{scope.new()} = {x}.item()", f"{scope.new()} = {x}.is_leaf",
        f"del {x}",
        f"torch.optim.SGD([{x}], lr=0.1).step()", f"{scope.new()} = copy.deepcopy({x})",
        f"{scope.new()} = {x}._base", f"{scope.new()} = {x}.grad_fn", f"{scope.new()} = bool({x})"])
