"""`autograd.functional` against PyTorch: values, the form of results, their graphs, and every error."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.compare import described, numbers

pytestmark = pytest.mark.torch


def data(m, *shape, grad=False, dtype="float32"):
    """Numbers that are not too round."""
    values = np.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape) / 4
    return m.from_numpy(np.asarray(values, dtype)).requires_grad_(grad)


# functions of one and of two inputs
FUNCTIONS = {
    "rows": lambda x: x.exp().sum(-1),
    "cube": lambda x: x ** 3,
    "number": lambda x: (x ** 3).sum(),
    "linear": lambda x: (x * 2).sum(),
    "constant": lambda x: x.detach().sum(),
    "the input": lambda x: x,
    "a copy": lambda x: x.clone(),
    "a graph of its own": lambda x: x.detach().clone().requires_grad_() * 2,
    "one element of a graph of its own": lambda x: (x.detach().clone().requires_grad_() ** 3).sum(),
    "one element in three dimensions": lambda x: x.exp().sum().view(1, 1, 1),
    "two outputs": lambda x: (x * x, x.sum()),
    "one in a tuple": lambda x: (x * x,),
    "one of two constant": lambda x: (x * x, x.detach() * 2),
    "product": lambda x, y: (x * y).sum(),
    "product and sum": lambda x, y: (x * y, x + y, y.exp().sum()),
    "only the first": lambda x, y: (x ** 3).sum(),
    "only the second": lambda x, y: (y ** 3).sum(),
    "squares": lambda x, y: (x ** 2).sum() + (y ** 2).sum(),
    "cubes": lambda x, y: (x ** 3 + x * y ** 3).sum(),
    "dtypes": lambda x, y: x.double() * y,
    "dtypes out": lambda x, y: ((x * y).half(), (x * y).double()),
    "both twice": lambda x, y: (x, y, x, y),
    "neither": lambda x, y: x.detach().sum(),
    "in place": lambda x: x.clone().mul_(x).sum(),
    "list": lambda x: [x],
    "number 3": lambda x: 3,
    "a number in a tuple": lambda x: (x, 3),
    "None": lambda x: None,
    "integers": lambda x: x.long(),
}
OF_TWO = {name for name, function in FUNCTIONS.items() if function.__code__.co_argcount == 2}
PRODUCTS = ("vjp", "jvp", "vhp", "hvp")
FLAGS = ({}, {"create_graph": True}, {"strict": True}, {"create_graph": True, "strict": True})
MATRICES = ({"vectorize": True}, {"vectorize": True, "strict": True}, {"vectorize": True, "create_graph": True})


def inputs_of(m, name, grad, alone):
    """The inputs of a function: tensors that require grad or not, one of them alone or in a tuple."""
    x = data(m, 1, 3, grad=grad)
    if name in OF_TWO:
        return x, data(m, 1, 3, dtype="float64" if name == "dtypes" else "float32")
    return x if alone else (x,)


def vectors_of(m, name, which):
    """A vector of the form that the product asks for."""
    if which == "vjp":
        found = FUNCTIONS[name](*([data(m, 1, 3)] * (2 if name in OF_TWO else 1)))
        many = isinstance(found, tuple)
        made = tuple(data(m, *o.shape) if hasattr(o, "shape") else data(m) for o in (found if many else (found,)))
        return made if many else made[0]
    return (data(m, 1, 3), -data(m, 1, 3)) if name in OF_TWO else data(m, 1, 3)


def told(value):
    """What is compared of a result: its form, and all about the tensors in it but the names of their nodes."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [told(v) for v in value]
    return described(value), numbers(value).round(3).tolist()


def tried(call, *given):
    """What a call gives, or the error that it raises."""
    try:
        return told(call(*given))
    except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
        return type(error).__name__, str(error).replace("minigrad.Tensor", "torch.Tensor").split("\n\n")[0]


def same(torch, call, *given):
    """Assert that both libraries do the same."""
    assert tried(call, minigrad, *given) == tried(call, torch, *given)


def product(m, which, name, inputs, with_v, flags):
    """One of the four products."""
    v = vectors_of(m, name, which) if with_v else None
    return getattr(m.autograd.functional, which)(FUNCTIONS[name], inputs_of(m, name, *inputs), v, **flags)


def matrix(m, which, name, inputs, flags):
    """The Jacobian or the Hessian."""
    return getattr(m.autograd.functional, which)(FUNCTIONS[name], inputs_of(m, name, *inputs), **flags)


@pytest.mark.parametrize("grad", [False, True], ids=["data", "grad"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("which", PRODUCTS)
def test_products(torch, which, name, grad):
    for flags in FLAGS:
        same(torch, product, which, name, (grad, True), True, flags)
    same(torch, product, which, name, (grad, False), True, {})
    same(torch, product, which, name, (grad, True), False, {"strict": True})


@pytest.mark.parametrize("grad", [False, True], ids=["data", "grad"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("which", ["jacobian", "hessian"])
def test_matrices(torch, which, name, grad):
    for flags in FLAGS + MATRICES:
        same(torch, matrix, which, name, (grad, True), flags)
    same(torch, matrix, which, name, (grad, False), {"strict": True})


FORWARD = {"vectorize": True, "strategy": "forward-mode"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"integers"}))
def test_forward_mode(torch, name):
    for alone in (True, False):
        same(torch, matrix, "jacobian", name, (False, alone), FORWARD)


@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
@pytest.mark.parametrize("name", ["number", "product", "cubes", "squares", "neither", "only the first"])
def test_hessian_by_forward_mode(torch, name):
    """The same numbers; what PyTorch gives has a graph that leads nowhere, ours has none."""
    def values(m):
        found = m.autograd.functional.hessian(FUNCTIONS[name], inputs_of(m, name, False, True), vectorize=True,
                                              outer_jacobian_strategy="forward-mode")
        return [[numbers(v).tolist() for v in row] for row in found] if name in OF_TWO else numbers(found).tolist()
    np.testing.assert_allclose(values(minigrad), values(torch), rtol=1e-5)


def cube(x):
    """One element, with second derivatives."""
    return (x ** 3).sum()


ERRORS = {
    "strategy": lambda m, f: f.jacobian(cube, data(m, 2), strategy="sideways"),
    "strategy of hessian": lambda m, f: f.hessian(cube, data(m, 2), outer_jacobian_strategy="sideways"),
    "forward and create_graph": lambda m, f: f.jacobian(cube, data(m, 2), create_graph=True, strategy="forward-mode"),
    "forward and strict": lambda m, f: f.jacobian(cube, data(m, 2), strict=True, strategy="forward-mode"),
    "forward by a loop": lambda m, f: f.jacobian(cube, data(m, 2), strategy="forward-mode"),
    "forward of a list": lambda m, f: f.jacobian(cube, [data(m, 2)], strategy="forward-mode"),
    "hessian forward by a loop": lambda m, f: f.hessian(cube, data(m, 2), outer_jacobian_strategy="forward-mode"),
    "hessian forward, create_graph": lambda m, f: f.hessian(cube, data(m, 2), True, False, True, "forward-mode"),
    "hessian forward, strict": lambda m, f: f.hessian(cube, data(m, 2), False, True, True, "forward-mode"),
    "integer inputs": lambda m, f: f.jacobian(cube, m.arange(3)),
    "integer inputs of vjp": lambda m, f: f.vjp(cube, m.arange(3)),
    "no element": lambda m, f: f.jacobian(lambda x: x[:0], data(m, 2)),
}
for _which in (*PRODUCTS, "jacobian", "hessian"):
    ERRORS[f"{_which} of a list"] = lambda m, f, w=_which: getattr(f, w)(cube, [data(m, 2)])
    ERRORS[f"{_which} of a number"] = lambda m, f, w=_which: getattr(f, w)(cube, 2.0)
    ERRORS[f"{_which} of numbers"] = lambda m, f, w=_which: getattr(f, w)(lambda x, y: x.sum(), (data(m, 2), 2.0))
    ERRORS[f"{_which} of a None"] = lambda m, f, w=_which: getattr(f, w)(lambda x, y: x.sum(), (None, data(m, 2)))
for _which in PRODUCTS:
    ERRORS[f"v of {_which} is a list"] = lambda m, f, w=_which: getattr(f, w)(cube, data(m, 2), [data(m)])
    ERRORS[f"v of {_which} is a number"] = lambda m, f, w=_which: getattr(f, w)(cube, data(m, 2), 1.0)
    ERRORS[f"v of {_which} holds a number"] = lambda m, f, w=_which: getattr(f, w)(cube, data(m, 2), (data(m), 1.0))
    ERRORS[f"v of {_which}, two for one"] = lambda m, f, w=_which: getattr(f, w)(cube, data(m, 2), (data(m), data(m)))
    ERRORS[f"v of {_which}, one for two"] = lambda m, f, w=_which: getattr(f, w)(
        lambda x, y: (x, y), (data(m, 2), data(m, 2)), data(m, 2))
    ERRORS[f"v of {_which}, another size"] = lambda m, f, w=_which: getattr(f, w)(cube, data(m, 2), data(m, 3))
    ERRORS[f"v of {_which}, another size in a tuple"] = lambda m, f, w=_which: getattr(f, w)(
        lambda x, y: (x, y), (data(m, 2), data(m, 2)), (data(m, 2), data(m, 3)))
    ERRORS[f"{_which} of an error"] = lambda m, f, w=_which: getattr(f, w)(lambda x: 1 // 0, data(m))


@pytest.mark.parametrize("name", ERRORS)
def test_errors(torch, name):
    found = tried(lambda m: ERRORS[name](m, m.autograd.functional), torch)
    assert found[0] not in ("tuple", "list") and isinstance(found[0], str)
    assert tried(lambda m: ERRORS[name](m, m.autograd.functional), minigrad) == found


def of_cube(m, which, shape, flags):
    """One of the six at a leaf of this shape, grad mode off."""
    with m.no_grad():
        return getattr(m.autograd.functional, which)(cube, data(m, *shape, grad=True), **flags)


@pytest.mark.parametrize("which", [*PRODUCTS, "jacobian", "hessian"])
def test_a_number_without_v_and_without_grad_mode(torch, which):
    for shape in ((), (1,), (1, 1)):
        for flags in FLAGS:
            same(torch, of_cube, which, shape, flags)


def of_transposed(m, which, flags):
    """One of the six at a matrix whose memory lies across, of a function with such an output."""
    x, of = data(m, 3, 2).t(), getattr(m.autograd.functional, which)
    v = {"vjp": [x.t()], "jvp": [x], "vhp": [x], "hvp": [x]}.get(which, [])
    return of(lambda x: (x.t() ** 3).sum() if "h" in which else (x ** 2).t(), x, *v, **flags)


def test_memory_that_lies_across(torch):
    for which in (*PRODUCTS, "jacobian", "hessian"):
        same(torch, of_transposed, which, {"create_graph": True})
    for which in ("jacobian", "hessian"):
        same(torch, of_transposed, which, {"vectorize": True})


def through(m, which, vectorize=None):
    """The gradient of a result's sum by the input and by the vector."""
    x, v = data(m, 3, grad=True), data(m, 3, grad=True)
    of = getattr(m.autograd.functional, which)
    if vectorize is not None:
        return m.autograd.grad((of(lambda x: (x ** 4).sum(), x, True, vectorize=vectorize) ** 2).sum(), x)
    outputs, found = of(lambda x: x ** 4 if which == "jvp" else (x ** 4).sum(), x, v[0] * 2 if which == "vjp" else v,
                        create_graph=True)
    return m.autograd.grad(outputs.sum() + (found ** 2).sum(), [x, v])


def test_gradients_of_results(torch):
    for which in PRODUCTS:
        same(torch, through, which)
    for which in ("jacobian", "hessian"):
        for vectorize in (False, True):
            same(torch, through, which, vectorize)
