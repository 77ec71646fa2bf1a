"""`gradcheck` and `gradgradcheck` against PyTorch: the same verdicts, messages and warnings, in both modes."""

from __future__ import annotations

import re
import sys
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.autograd.gradcheck import BATCHED, BATCHED_DIFFERS, BATCHED_FORWARD, SLOW_IS_FINE
from tests.parity.runner import NUMBER

pytestmark = pytest.mark.torch


def data(m, *shape, dtype="float64", grad=True):
    """Numbers that are not too round."""
    values = np.arange(1.0, 1.0 + int(np.prod(shape))).reshape(shape) / 3 - 0.8
    return m.from_numpy(np.asarray(values, dtype)).requires_grad_(grad)


def function(m, backward, forward=lambda x: x * x, setup=None):
    """A Function of one input and this backward, which gets ctx and the input too."""
    class Mine(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if setup is not None:
                setup(ctx)
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, g):
            return backward(g, *ctx.saved_tensors)

    return Mine.apply


def two(m, backward, materialize=True):
    """A Function of one input and two outputs: its double and its triple."""
    class Two(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return backward(g, h)

    return Two.apply


def drifting():
    """A factor that is another one in each pass."""
    state = [1.0]

    def backward(g, x):
        state[0] += 1
        return g * 2 * x * state[0]

    return backward


def raising(error):
    """A backward that cannot do without its gradient."""
    def backward(g, x):
        if g is None:
            raise error
        return g * 2 * x

    return backward


def growing(m):
    """The output is larger where an input is."""
    return lambda a: m.cat([a, a]) if m.any(a > data(m, 2)) else a


def hooked(hook):
    """The identity, its gradient as a hook leaves it."""
    def func(x):
        y = x.clone()
        y.register_hook(hook)
        return y

    return func


def refusing(g):
    """A hook that cannot do without a gradient."""
    if g is None:
        raise RuntimeError("x is undefined")


def jittered(m, jitter):
    """The double; its derivative differs a little each time."""
    class Jitter(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 * (1 + m.rand_like(g) * jitter)

    return Jitter.apply


UNMATERIALIZED = {"setup": lambda ctx: ctx.set_materialize_grads(False)}
CASES = {  # the function and its inputs
    "right": lambda m: (lambda a: a.exp(), data(m, 2, 3)),
    "right, in a tuple": lambda m: (lambda a: a.exp(), (data(m, 2, 3),)),
    "right, in a list": lambda m: (lambda a: [a.exp()], [data(m, 2, 3)]),
    "two inputs, two outputs": lambda m: (lambda a, b: (a * b, b.exp().sum()), (data(m, 2, 3), data(m, 3))),
    "unused input": lambda m: (lambda a, b: a * 2, (data(m, 2), data(m, 3))),
    "an input that is no tensor": lambda m: (lambda a, n: a * n, (data(m, 2), 3)),
    "an input of integers": lambda m: (lambda a, b: a * b, (data(m, 2), m.arange(2))),
    "an input without grad": lambda m: (lambda a, b: a * b, (data(m, 2), data(m, 2, grad=False))),
    "0-d": lambda m: (lambda a: a * a, data(m)),
    "no element": lambda m: (lambda a: a * a, m.zeros(0, 3, dtype=m.float64, requires_grad=True)),
    "output of no element": lambda m: (lambda a: a[:0], data(m, 2)),
    "identity": lambda m: (lambda a: a, data(m, 2)),
    "result for an input": lambda m: (lambda a: a ** 2, data(m, 2) * 2),
    "view for an input": lambda m: (lambda a: a ** 2, data(m, 2, 3).t()),
    "constant": lambda m: (lambda a: m.ones(2), data(m, 2)),
    "not constant": lambda m: (lambda a: a.detach() * 2, data(m, 2)),
    "integers out": lambda m: (lambda a: (a * 2, (a * 1e9).long()), data(m, 2)),
    "only integers out": lambda m: (lambda a: (a - a).long(), data(m, 2)),
    "integers that change": lambda m: (lambda a: (a * 1e9).long(), data(m, 2)),
    "bools out": lambda m: (lambda a: a > 0, data(m, 2)),
    "a number out": lambda m: (lambda a: 3, data(m, 2)),
    "None out": lambda m: (lambda a: None, data(m, 2)),
    "an error": lambda m: (lambda a: 1 // 0, data(m, 2)),
    "kink": lambda m: (lambda a: a.relu(), m.zeros(2, dtype=m.float64, requires_grad=True)),
    "growing": lambda m: (growing(m), data(m, 2)),
    "changing dtype": lambda m: (lambda a: a if m.any(a > data(m, 2)) else a.float(), data(m, 2)),
    "float32": lambda m: (lambda a: a * 2, data(m, 2, dtype="float32")),
    "float32 and float64": lambda m: (lambda a, b: a * b, (data(m, 2, dtype="float32"), data(m, 2))),
    "float32 wrong": lambda m: (function(m, lambda g, x: g), data(m, 2, dtype="float32")),
    "no input that requires grad": lambda m: (lambda a: a, data(m, 2, grad=False)),
    "nothing": lambda m: (lambda: m.ones(2), ()),
    "stride 0": lambda m: (lambda a: a, data(m, 1).detach().expand(3).requires_grad_()),
    "stride 0 of the second": lambda m: (lambda a, b: b, (data(m, 2), data(m, 1).detach().expand(3).requires_grad_())),
    "expanded to 1": lambda m: (lambda a: a * 2, data(m, 1).detach().expand(1).requires_grad_()),
    "factor": lambda m: (function(m, lambda g, x: g * x), data(m, 2, 3)),
    "sign": lambda m: (function(m, lambda g, x: -2 * g * x), data(m, 3)),
    "small error": lambda m: (function(m, lambda g, x: g * 2 * x * 1.01), data(m, 3)),
    "smaller error": lambda m: (function(m, lambda g, x: g * 2 * x * 1.002 + g * 0.0001), data(m, 30)),
    "zeros": lambda m: (function(m, lambda g, x: g * 0), data(m, 3)),
    "no gradient": lambda m: (function(m, lambda g, x: None), data(m, 3)),
    "wrong for the second": lambda m: ((lambda f: lambda a, b: (a + b, a + f(b)))(function(m, lambda g, x: g)),
                                       (data(m, 2), data(m, 2))),
    "not multiplied": lambda m: (function(m, lambda g, x: 2 * x), data(m, 1)),
    "not multiplied, right elsewhere": lambda m: (function(m, lambda g, x: g * 2 * x + (g.abs().sum() == 0)),
                                                  data(m, 2)),
    "almost multiplied": lambda m: (function(m, lambda g, x: g * 2 * x + 1e-9), data(m, 2)),
    "not reentrant": lambda m: (function(m, drifting()), data(m, 2)),
    "undefined is an error": lambda m: (function(m, raising(RuntimeError("no")), **UNMATERIALIZED), data(m, 2)),
    "undefined is another error": lambda m: (function(m, raising(ValueError("no")), **UNMATERIALIZED), data(m, 2)),
    "undefined is not zero": lambda m: (function(m, lambda g, x: x if g is None else g * 2 * x, **UNMATERIALIZED),
                                        data(m, 2)),
    "undefined stays so": lambda m: (function(m, lambda g, x: None if g is None else g * 2 * x, **UNMATERIALIZED),
                                     data(m, 2)),
    "one of two": lambda m: (two(m, lambda g, h: 2 * g + 3 * h), data(m, 2)),
    "one of two is undefined": lambda m: (two(m, lambda g, h: (0 if g is None else 2 * g) + (0 if h is None else 3 * h)
                                              if g is not None or h is not None else None, False), data(m, 2)),
    "second of two wrong": lambda m: (two(m, lambda g, h: 2 * g + h), data(m, 2)),
    "no output": lambda m: (lambda a: (), data(m, 2)),
    "hook adds": lambda m: (hooked(lambda g: g + 0.01), data(m, 2)),
    "hook adds a little": lambda m: (hooked(lambda g: g + 1e-6), data(m, 2)),
    "hook refuses None": lambda m: (hooked(refusing), data(m, 2)),
    "hook makes something of None": lambda m: (hooked(lambda g: m.ones(2).double() if g is None else g), data(m, 2)),
    "jitter": lambda m: (m.manual_seed(1), (jittered(m, 1e-9), data(m, 2)))[1],
    "forward of a Function": lambda m: (function(m, lambda g, x: g * x.cos(), lambda x: x.sin()), data(m, 2, 2)),
}
OPTIONS = (  # every third in fast mode too
    {}, {"raise_exception": False}, {"check_batched_grad": True, "rtol": 1.0, "atol": 1.0},
    {"nondet_tol": 10.0}, {"masked": True}, {"check_undefined_grad": False, "check_grad_dtypes": True},
    {"eps": 1e-3, "atol": 0.1},
)
# Of these PyTorch's `gradgradcheck` calls the function without its inputs, ours says that no output requires grad.
NO_OUTPUT = {"constant", "not constant", "only integers out", "integers that change", "bools out", "no output"}


def outcome(m, which, case, *given, **options):
    """The verdict or the error, and the warnings."""
    func, inputs = CASES[case](m)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            verdict = str(getattr(m.autograd, which)(func, inputs, *given, **options))
        except Exception as error:  # noqa: BLE001 (whichever it is, it is the answer)
            verdict = f"{type(error).__name__}: {error}"
    told = [str(w.message) for w in heard if w.category is UserWarning]
    return rounded(verdict.replace("<locals>.", "").split("\n\nmini")[0]), told


def rounded(text):
    """Numbers to four digits, without the sign of zeros."""
    return re.sub(r"-(0\.?0*\b)(?!\.)", r"\1", NUMBER.sub(lambda n: f"{float(n[0]):.4g}", re.sub(" +", " ", text)))


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("case", CASES)
def test_gradcheck(torch, case, fast):
    for options in OPTIONS[::3] if fast else OPTIONS:
        assert outcome(minigrad, "gradcheck", case, fast_mode=fast, **options) == outcome(
            torch, "gradcheck", case, fast_mode=fast, **options), options


@pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])
@pytest.mark.parametrize("case", [name for name in CASES if name not in NO_OUTPUT])
def test_gradgradcheck(torch, case, fast):
    """Random `grad_outputs` too are the same under the same seed."""
    for options in ({}, {"gen_non_contig_grad_outputs": True}):
        sides = []
        for m in (minigrad, torch):
            m.manual_seed(7)
            verdict = outcome(m, "gradgradcheck", case, fast_mode=fast, **options)
            sides.append((verdict, verdict[0] == "True" and m.rand(1).item()))
        assert sides[0] == sides[1], options


@pytest.mark.parametrize("case", sorted(NO_OUTPUT))
def test_gradgradcheck_without_outputs(torch, case):
    assert outcome(torch, "gradgradcheck", case)[0].startswith("TypeError")
    assert outcome(minigrad, "gradgradcheck", case)[0].startswith("ValueError: gradgradcheck expects at least one outp")


FLAGS = [
    ("gradcheck", {"check_forward_ad": False, "check_backward_ad": False}),
    ("gradcheck", {"check_forward_ad": True, "check_backward_ad": False, "check_batched_grad": True}),
    ("gradcheck", {"check_batched_forward_grad": True}),
    ("gradgradcheck", {"check_fwd_over_rev": False, "check_rev_over_rev": False}),
    ("gradgradcheck", {"check_fwd_over_rev": True, "check_rev_over_rev": False}),
    ("gradgradcheck", {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False,
                       "check_batched_grad": True}),
]


@pytest.mark.parametrize(("which", "flags"), FLAGS)
def test_flags_that_exclude_each_other(torch, which, flags):
    assert outcome(minigrad, which, "right", **flags) == outcome(torch, which, "right", **flags)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch compiles rules when it first pushes
@pytest.mark.parametrize("options", [{}, {"check_backward_ad": False, "check_undefined_grad": False}])
def test_gradients_are_compared_before_tangents(torch, options):
    def program(m):
        wrong = type("Wrong", (m.autograd.Function,), {
            "forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, g: g * 3),
            "jvp": staticmethod(lambda ctx, t: t * 4)})
        with pytest.raises(sys.modules[f"{m.__name__}.autograd.gradcheck"].GradcheckError) as told:
            m.autograd.gradcheck(wrong.apply, data(m, 2), check_forward_ad=True, **options)
        return rounded(str(told.value))

    assert program(minigrad) == program(torch)


def test_grad_outputs(torch):
    for shape, grad in (((2, 3), True), ((2, 3), False), ((3,), True)):
        for form in (lambda v: v, lambda v: (v,), lambda v: [v]):
            sides = [outcome(m, "gradgradcheck", "right", form(data(m, *shape, grad=grad))) for m in (minigrad, torch)]
            assert sides[0] == sides[1]


def test_where_it_is(torch):
    ours, theirs = sys.modules["minigrad.autograd.gradcheck"], sys.modules["torch.autograd.gradcheck"]
    assert ours.GradcheckError.__mro__[1:] == theirs.GradcheckError.__mro__[1:]
    for m in (minigrad, torch):
        assert callable(m.autograd.gradcheck) and not hasattr(m.autograd, "GradcheckError")
    assert set(ours.__all__) == set(theirs.__all__)


def two_outputs(a, b):
    """Of floats and of integers, by a and b."""
    return a.exp() * b, (a * 0).long(), b * 3


JACOBIANS = {
    "numerical": lambda m, g: g.get_numerical_jacobian(lambda args: two_outputs(*args), (data(m, 2), data(m, 2))),
    "numerical of one": lambda m, g: g.get_numerical_jacobian(lambda args: args[0] ** 2, data(m, 2, 2), eps=1e-6),
    "numerical of a target": lambda m, g: (lambda t: g.get_numerical_jacobian(lambda args: args[0] * t, (data(m, 2),),
                                                                              target=(t,)))(data(m, 2)),
    "numerical, grad_out": lambda m, g: g.get_numerical_jacobian(lambda args: args[0], (data(m, 2),), grad_out=2.0),
    "analytical": lambda m, g: (lambda x: g.get_analytical_jacobian((x,), x.exp() * x.sum()))(data(m, 2)),
    "analytical, not reentrant": lambda m, g: (lambda x: g.get_analytical_jacobian(
        (x,), function(m, drifting())(x)))(data(m, 2)),
    "analytical, tolerant": lambda m, g: (lambda x: g.get_analytical_jacobian(
        (x,), function(m, drifting())(x), nondet_tol=100.0))(data(m, 2)),
    "analytical, grad_out": lambda m, g: (lambda x: g.get_analytical_jacobian((x,), x * 2, grad_out=0.5))(data(m, 2)),
    "specific": lambda m, g: (lambda x: g.get_numerical_jacobian_wrt_specific_input(
        lambda a: (a * 2, a.sum()), 0, (x,), (x * 2, x.sum()), 1e-6))(data(m, 2)),
    "specific, without grad": lambda m, g: g.get_numerical_jacobian_wrt_specific_input(
        lambda a: a, 0, (data(m, 2, grad=False),), (), 1e-6),
}


@pytest.mark.parametrize("name", JACOBIANS)
def test_what_is_deprecated(torch, name):
    sides = []
    for m in (minigrad, torch):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                found = str(JACOBIANS[name](m, sys.modules[f"{m.__name__}.autograd.gradcheck"]))
            except (AssertionError, ValueError) as error:
                found = f"{type(error).__name__}: {error}"
        sides.append((rounded(found), [(w.category, str(w.message)) for w in heard]))
    assert sides[0] == sides[1]


def test_long_texts(torch):
    """Those that no test meets, or meets only in part."""
    theirs = sys.modules["torch.autograd.gradcheck"]
    assert SLOW_IS_FINE == theirs.FAST_FAIL_SLOW_OK_MSG
    for advice, forward in ((BATCHED, False), (BATCHED_FORWARD, True)):
        assert BATCHED_DIFFERS.format(1, 2, advice, "got", "want") == theirs._get_failed_batched_grad_test_msg(
            1, 2, "got", "want", forward)
